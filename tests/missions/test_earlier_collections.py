"""Collections that an earlier version made, with the paths of quarries in their settings, open and continue."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.crawl_runs import crawl, stored
from support.loopback import Reply, Web, html

#: Three crawls of the site below, each ended by its page limit: without a mission, and by the missions geo and xml.
EARLIER = Path(__file__).parents[1] / "support/collections_before_rooms.zip"
WMS = b"""<?xml version="1.0"?><WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms">
<Service><Name>WMS</Name><Title>Maps %s</Title></Service><Capability/></WMS_Capabilities>"""
CAPABILITIES = "service=WMS&request=GetCapabilities"


@pytest.fixture
def earlier(web: Web, tmp_path: Path) -> Path:
    web["a.test/"] = html(f"/wms?{CAPABILITIES}", "/doc.xml", "/page.html", "/late.html", title="start")
    web["a.test/page.html"] = html("/", "/late.html", title="page")
    web["a.test/late.html"] = html(f"/wms2?{CAPABILITIES}", "/late.xml", title="late")
    for name, title in (("wms", b"one"), ("wms2", b"two")):
        web[f"a.test/{name}?{CAPABILITIES}"] = Reply(WMS % title, headers={"Content-Type": "text/xml"})
    for name, text in (("doc", b'<book xmlns="urn:b"><title>x</title></book>'), ("late", b"<late/>")):
        web[f"a.test/{name}.xml"] = Reply(b'<?xml version="1.0"?>' + text, headers={"Content-Type": "application/xml"})
    with zipfile.ZipFile(EARLIER) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def lycosa(folder: Path, *arguments: str) -> list[dict[str, object]]:
    """The rows that a command prints."""
    command = [sys.executable, "-m", "lycosa", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("name", ["plain", "geo", "xml"])
def test_an_earlier_collection_continues(web: Web, earlier: Path, name: str) -> None:
    """With its own settings and quarry; nothing that was fetched is fetched again."""
    before = stored(earlier / name)
    assert 2 <= len(before) <= 3
    crawl(web, earlier / name, "--limit", "0")
    assert stored(earlier / name) >= {f"http://{address}" for address in web.pages}
    assert not before & {f"http://{path}" for path in web.paths()}
    (row,) = lycosa(earlier, "query", "SELECT count(*) AS kept FROM pages", "-c", name)
    assert row["kept"] == (4 if name == "xml" else 7)  # pages are read for their links, XML is stored


def test_what_an_earlier_collection_holds_can_be_asked(earlier: Path) -> None:
    """Its records, its services, and why a URL waits."""
    (service,) = lycosa(earlier, "services", "-c", "geo")
    assert service["title"] == "Maps one"
    (story,) = lycosa(earlier, "why", "http://a.test/late.html", "-c", "xml")
    assert story["url"] == "http://a.test/late.html"
