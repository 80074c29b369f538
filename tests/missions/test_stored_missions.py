"""Collections that earlier versions made: their mission is the path of a class, in the file and in the database."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from support.crawl_runs import crawl
from support.loopback import Web
from support.service_site import GEO, services

from lycosa import Collection
from lycosa.cli.main import main


def make_old(folder: Path, path: str) -> None:
    """Write the mission as versions did that had no setting `missions`."""
    text = (folder / "lycosa.toml").read_text()
    old = re.sub(r'missions = \["\w+"\]\n', "", text).replace('quarry = ""', f'quarry = "{path}"')
    assert old != text
    (folder / "lycosa.toml").write_text(old)
    database = sqlite3.connect(folder / "crawl.db")
    database.execute("UPDATE meta SET value = ? WHERE key = 'mission'", (old,))
    database.commit()
    database.close()


@pytest.mark.parametrize("path", ["lycosa.missions.geo:Geo", "lycosa.missions.geo.quarry:Geo"])
def test_an_old_collection_goes_on(web: Web, tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is read, continued, extracted from and explained; then its mission is stored by name."""
    services(web, 3)
    folder = tmp_path / "c"
    crawl(web, folder, *GEO, "--limit", "2", "http://a.test/", code=5)
    make_old(folder, path)
    with Collection(folder) as collection:
        assert (collection.mission.missions, collection.mission.quarry) == (("geo",), "")
    assert main(["why", "http://map.test/wms1?service=WMS&request=GetCapabilities", "-c", str(folder)]) == 0
    crawl(web, folder, "--limit", "0")
    assert main(["extract", "-c", str(folder), "-q"]) == 0
    capsys.readouterr()
    assert main(["services", "-c", str(folder), "--format", "csv"]) == 0
    assert capsys.readouterr().out.count("WMS,1.3.0") == 3
    stored = (folder / "lycosa.toml").read_text()
    assert 'missions = ["geo"]\nquarry = ""\n' in stored and "lycosa.missions" not in stored


def test_what_an_old_collection_learned_is_of_use(web: Web, tmp_path: Path) -> None:
    """The missions are compared, not how they are written."""
    services(web, 3)
    crawl(web, tmp_path / "old", *GEO, "http://a.test/")
    make_old(tmp_path / "old", "lycosa.missions.geo:Geo")
    taught = ("--learned-from", str(tmp_path / "old"), "http://a.test/")
    said = crawl(web, tmp_path / "new", *GEO, *taught)
    assert "begins with nothing" not in said
    other = crawl(web, tmp_path / "other", "xml", *taught, code=2)
    assert "learned to find another quarry (geo) than this mission (xml)" in other
