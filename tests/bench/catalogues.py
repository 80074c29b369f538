"""Whether other programs take what `lycosa export stac` and `lycosa export iso` write: pystac validates, pycsw loads.

    python -m venv /tmp/others && /tmp/others/bin/pip install "pystac[validation]" pycsw "sqlalchemy<2"
    lycosa export stac -o stac && lycosa export iso -o iso && lycosa export iso -o iso.xml
    /tmp/others/bin/python tests/bench/catalogues.py --stac stac --iso iso --transaction iso.xml

Neither is a dependency of lycosa. The STAC documents are checked against the core schemas that come with pystac; the
records are validated against the ISO 19139 schemas that come with pycsw, loaded into an SQLite repository with
pycsw-admin, and asked for with GetRecords, once by a box; a transaction inserts them into another.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SERVER = """
[server]
home=.
url=http://localhost/csw
mimetype=application/xml; charset=UTF-8
encoding=UTF-8
language=en-US
maxrecords=1000
profiles=apiso
[manager]
transactions=true
allowed_ips=127.0.0.1
[metadata:main]
identification_title=test
identification_abstract=test
identification_keywords=test
identification_keywords_type=theme
identification_fees=none
identification_accessconstraints=none
provider_name=test
provider_url=http://localhost/
{contact}
[repository]
database=sqlite:///{database}
table=records
"""
CONTACT = "name position address city stateorprovince postalcode country phone fax email url hours instructions role"
QUERY = """<csw:GetRecords xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" xmlns:gmd="http://www.isotc211.org/2005/gmd"
 xmlns:ogc="http://www.opengis.net/ogc" xmlns:gml="http://www.opengis.net/gml" service="CSW" version="2.0.2"
 resultType="results" maxRecords="1000" outputSchema="http://www.isotc211.org/2005/gmd">
<csw:Query typeNames="gmd:MD_Metadata"><csw:ElementSetName>full</csw:ElementSetName>{constraint}</csw:Query>
</csw:GetRecords>"""
BOX = """<csw:Constraint version="1.1.0"><ogc:Filter><ogc:BBOX><ogc:PropertyName>apiso:BoundingBox</ogc:PropertyName>
<gml:Envelope><gml:lowerCorner>40 -4</gml:lowerCorner><gml:upperCorner>41 -3</gml:upperCorner></gml:Envelope></ogc:BBOX>
</ogc:Filter></csw:Constraint>"""


def check_stac(folder: Path) -> bool:
    """Validate every document, and walk the catalogue."""
    import pystac
    from pystac.validation import validate_dict

    valid, faults = 0, []
    for path in sorted(folder.rglob("*.json")):
        document = json.loads(path.read_text())
        document["stac_extensions"] = []  # whose schemas are on the network
        try:
            validate_dict(document, href=str(path))
            valid += 1
        except Exception as fault:
            faults.append(f"{path}: {str(fault)[:300]}")
    catalogue = pystac.Catalog.from_file(str(folder / "catalog.json"))
    children, items = len(list(catalogue.get_children())), len(list(catalogue.get_items(recursive=True)))
    said = f"{valid} documents valid, {len(faults)} not; {children} collections, {items} items"
    print(f"pystac {pystac.__version__}: {said}")
    print(*faults[:5], sep="\n", end="\n" if faults else "")
    return not faults


def check_schema(folder: Path) -> bool:
    """Validate every record."""
    import pycsw
    from lxml import etree

    schemas = Path(pycsw.__file__).parent / "plugins/profiles/apiso/schemas/ogc/iso/19139/20060504"
    imports = "".join(
        f'<xs:import namespace="http://www.isotc211.org/2005/{name}" schemaLocation="{schemas}/{name}/{name}.xsd"/>'
        for name in ("gmd", "srv")
    )
    frame = f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{imports}</xs:schema>'
    schema = etree.XMLSchema(etree.fromstring(frame))
    files = sorted(folder.glob("*.xml"))
    wrong = [str(schema.error_log)[:500] for path in files if not schema.validate(etree.parse(path))]
    print(f"ISO 19139: {len(files) - len(wrong)} of {len(files)} records valid", *wrong[:5], sep="\n")
    return not wrong


def make_server(folder: Path) -> Path:
    """A catalogue with an empty repository; returns its configuration."""
    path = folder / "pycsw.cfg"
    contact = "\n".join(f"contact_{name}=test" for name in CONTACT.split())
    path.write_text(SERVER.format(contact=contact, database=folder / "records.db"))
    run_admin("setup_db", path)
    return path


def run_admin(command: str, configuration: Path, *words: str) -> None:
    program = Path(sys.executable).parent / "pycsw-admin.py"
    subprocess.run([sys.executable, "-W", "ignore", program, "-c", command, "-f", configuration, *words], check=True)


def ask(configuration: Path, body: bytes) -> Any:
    """Post a request and give the root of the answer."""
    from lxml import etree
    from pycsw.server import Csw

    environment = {
        "REQUEST_METHOD": "POST", "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), "QUERY_STRING": "",
        "local.app_root": ".", "SCRIPT_NAME": "", "HTTP_HOST": "localhost", "wsgi.url_scheme": "http",
        "REMOTE_ADDR": "127.0.0.1", "SERVER_PORT": "80", "SERVER_NAME": "localhost",
    }  # fmt: skip
    server = Csw(str(configuration), environment, version="2.0.2")
    server.requesttype, server.request = "POST", body
    return etree.fromstring(server.dispatch()[1])


def count(configuration: Path, constraint: str = "") -> int:
    """How many records are found."""
    answer = ask(configuration, QUERY.format(constraint=constraint).encode())
    found = answer.find("{*}SearchResults")
    return len(found) if found is not None else -1


def main() -> int:
    """Check what is named; the exit code is 1 if anything was refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stac", type=Path, help="folder of `lycosa export stac`")
    parser.add_argument("--iso", type=Path, help="folder of `lycosa export iso`")
    parser.add_argument("--transaction", type=Path, help="file of `lycosa export iso -o FILE.xml`")
    chosen = parser.parse_args()
    good = check_stac(chosen.stac) if chosen.stac else True
    if chosen.iso:
        good &= check_schema(chosen.iso)
        with tempfile.TemporaryDirectory() as folder:
            server = make_server(Path(folder))
            run_admin("load_records", server, "-p", str(chosen.iso))
            files, found, near = len(list(chosen.iso.glob("*.xml"))), count(server), count(server, BOX)
        print(f"pycsw-admin load_records: {found} of {files} records found by GetRecords, {near} near Madrid")
        good &= found == min(files, 1000)
    if chosen.transaction:
        with tempfile.TemporaryDirectory() as folder:
            server = make_server(Path(folder))
            answer = ask(server, chosen.transaction.read_bytes())
            inserted, found = int(answer.findtext(".//{*}totalInserted") or 0), count(server)
        print(f"pycsw CSW-T: {inserted} records inserted, {found} found by GetRecords")
        good &= inserted > 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
