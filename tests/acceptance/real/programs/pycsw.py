"""pycsw with thirty records, none of which names a service."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.points import write_portal
from acceptance.real.site import Site, Truth, environment_of, free_port, running

NAME = "pycsw"
RECORDS = 30
SETTINGS = """
[server]
home={folder}
url={base}/csw
mimetype=application/xml; charset=UTF-8
encoding=UTF-8
language=en-US
maxrecords=10
profiles=apiso
[manager]
transactions=false
[metadata:main]
identification_title=Catalogue of springs
identification_abstract=Records about springs
identification_keywords=springs
identification_keywords_type=theme
identification_fees=None
identification_accessconstraints=None
provider_name=Office of water
provider_url=https://example.org
contact_name=Ada
contact_position=Clerk
contact_address=Street
contact_city=Town
contact_stateorprovince=State
contact_postalcode=1
contact_country=Country
contact_phone=1
contact_fax=1
contact_email=ada@example.org
contact_url=https://example.org
contact_hours=0
contact_instructions=none
contact_role=pointOfContact
[repository]
database=sqlite:///{folder}/records.db
table=records
"""
RECORD = """<csw:Record xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:ows="http://www.opengis.net/ows"><dc:identifier>spring-{n}</dc:identifier><dc:title>Spring {n}</dc:title>
 <dc:type>dataset</dc:type><dc:subject>water</dc:subject><ows:BoundingBox crs="urn:x-ogc:def:crs:EPSG:6.11:4326">
 <ows:LowerCorner>47 9</ows:LowerCorner><ows:UpperCorner>48 10</ows:UpperCorner></ows:BoundingBox></csw:Record>"""
#: pycsw's own server listens on every interface; this one, which is its reference too, on loopback.
SERVE = """
import sys
from wsgiref.simple_server import make_server
from pycsw.wsgi import application
def with_portal(environ, start):
    if environ["PATH_INFO"].startswith("/csw"):
        return application(environ, start)
    start("200 OK", [("Content-Type", "text/html")])
    return [open("portal.html", "rb").read()]
make_server("127.0.0.1", int(sys.argv[1]), with_portal).serve_forever()
"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The service that exists: one catalogue, which a portal links to by its capabilities."""
    programs = environment_of(NAME, "pycsw", "sqlalchemy<2")
    base = f"http://127.0.0.1:{(port := free_port())}"
    settings, records = folder / "pycsw.cfg", folder / "records"
    settings.write_text(SETTINGS.format(folder=folder, base=base))
    records.mkdir()
    for n in range(1, RECORDS + 1):
        (records / f"{n}.xml").write_text(RECORD.format(n=n))
    write_portal(folder / "portal.html", f"{base}/csw?service=CSW&version=2.0.2&request=GetCapabilities")
    admin = [programs / "python", programs / "pycsw-admin.py", "-f", settings]
    for words in (["-c", "setup_db"], ["-c", "load_records", "-p", records]):
        subprocess.run([*admin, *words], check=True, capture_output=True)
    command = [programs / "python", "-c", SERVE, str(port)]
    with running(command, url=f"{base}/", folder=folder, environment={"PYCSW_CONFIG": str(settings)}):
        yield Site(url=f"{base}/", truth=Truth(services=frozenset({("CSW", f"{base}/csw")})))
