"""Whether other programs take what `lycosa export stac` and `lycosa export iso` write: pystac validates, pycsw loads.

    python -m venv /tmp/others && /tmp/others/bin/pip install "pystac[validation]" pycsw "sqlalchemy<2"
    lycosa export stac -o stac && lycosa export iso -o iso && lycosa export iso -o iso.xml
    /tmp/others/bin/python tests/bench/catalogues.py --stac stac --iso iso --transaction iso.xml

Neither is a dependency of lycosa. The STAC documents are checked against the core schemas that come with pystac; the
records are validated against the ISO 19139 schemas that come with pycsw, loaded into an SQLite repository with
pycsw-admin, and asked for with GetRecords: all of them, by a word of each title, and by boxes; a transaction inserts
them into another.
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
<gml:Envelope><gml:lowerCorner>{1} {0}</gml:lowerCorner><gml:upperCorner>{3} {2}</gml:upperCorner></gml:Envelope>
</ogc:BBOX></ogc:Filter></csw:Constraint>"""
WORD = """<csw:Constraint version="1.1.0"><ogc:Filter><ogc:PropertyIsLike wildCard="%" singleChar="_" escapeChar="!">
<ogc:PropertyName>apiso:AnyText</ogc:PropertyName><ogc:Literal>%{0}%</ogc:Literal></ogc:PropertyIsLike></ogc:Filter>
</csw:Constraint>"""
#: Near Madrid, in Finland, Nova Scotia, Australia and New Zealand.
PLACES = ((-4, 40, -3, 41), (20, 60, 25, 65), (-70, 42, -60, 47), (140, -40, 150, -30), (170, -45, 179, -35))
EDGES = ("westBoundLongitude", "southBoundLatitude", "eastBoundLongitude", "northBoundLatitude")


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


def search(configuration: Path, constraint: str = "") -> dict[str, Any]:
    """The records that are found, by their identifiers."""
    answer = ask(configuration, QUERY.format(constraint=constraint).encode())
    found = answer.find("{*}SearchResults")
    return {identify(record): record for record in (() if found is None else found)}


def identify(record: Any) -> str:
    return str(record.findtext("{*}fileIdentifier/{*}CharacterString"))


def describe(record: Any) -> tuple[str, list[tuple[float, ...]]]:
    """Title and boxes of a record."""
    title = record.findtext("{*}identificationInfo//{*}citation//{*}title/{*}CharacterString") or ""
    boxes = record.iter("{*}EX_GeographicBoundingBox")
    return title, [tuple(float(box.findtext(f"{{*}}{edge}/{{*}}Decimal")) for edge in EDGES) for box in boxes]


def check_search(configuration: Path, folder: Path) -> bool:
    """Compare what the catalogue gives back with what was loaded."""
    from lxml import etree

    roots = [etree.parse(path).getroot() for path in folder.glob("*.xml")]
    loaded = {identify(root): describe(root) for root in roots}
    found = {name: describe(record) for name, record in search(configuration).items()}
    same = sum(found[name] == loaded[name] for name in found)
    words = {name: next((w for w in loaded[name][0].split() if len(w) > 4 and w.isalnum()), "") for name in found}
    asked = {word: set(search(configuration, WORD.format(word))) for word in set(words.values()) if word}
    hits = sum(name in asked[word] for name, word in words.items() if word)
    right = 0
    for place in PLACES:
        meant = {name for name in found if any(_meet(box, place) for box in found[name][1][:1])}
        right += set(search(configuration, BOX.format(*place))) == meant
    total = sum(map(bool, words.values()))
    print(
        f"pycsw: {len(found)} of {len(loaded)} records found, {same} with the same title and boxes;"
        f" {hits} of {total} found by a word of their titles; {right} of {len(PLACES)} boxes find what lies in them"
    )
    return len(found) == min(len(loaded), 1000) and same == len(found) and hits == total and right == len(PLACES)


def _meet(box: tuple[float, ...], place: tuple[float, ...]) -> bool:
    return box[0] <= place[2] and box[2] >= place[0] and box[1] <= place[3] and box[3] >= place[1]


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
            good &= check_search(server, chosen.iso)
    if chosen.transaction:
        with tempfile.TemporaryDirectory() as folder:
            server = make_server(Path(folder))
            answer = ask(server, chosen.transaction.read_bytes())
            inserted, found = int(answer.findtext(".//{*}totalInserted") or 0), len(search(server))
        print(f"pycsw CSW-T: {inserted} records inserted, {found} found by GetRecords")
        good &= inserted > 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
