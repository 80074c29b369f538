"""One crawl for two missions over a small synthetic web, beside a crawl for each: what they find, and at what price."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.synthetic_web import Crawl, SyntheticWeb

from lycosa import Collection
from lycosa.cli.main import main
from lycosa.explain.why import explain
from lycosa.missions.geo.inventory.identity import endpoint_key
from lycosa.missions.geo.inventory.inventory import ServiceInventory

pytestmark = pytest.mark.acceptance

#: Crawl-delays of a second are for another test.
HASTY = (
    "--delay", "0.01", "--set", "fetch.retry_delay_s=0.2", "--set", "fetch.crawl_delay_max_s=0.02",
    "--set", "keep.sync_s=0",
)  # fmt: skip


@dataclass
class Hunt:
    """A crawl, and what it found."""

    crawl: Crawl
    requests: int
    services: set[tuple[str, str]]
    documents: set[str]


@dataclass
class Hunts:
    """The crawls of each mission by itself, and that of both."""

    geo: Hunt
    xml: Hunt
    both: Hunt


@pytest.fixture(scope="module")
def hunts(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hunts]:
    """Forty hosts, crawled three times to the end."""
    world = SyntheticWeb(shared / "world", seed=37, hosts=40, pages=1200)
    folder = tmp_path_factory.mktemp("several")
    geo, xml = world.truth["geo"]["seeds"], world.truth["xml"]["seeds"]
    try:
        yield Hunts(
            hunt(world, folder / "geo", "geo", *geo),
            hunt(world, folder / "xml", "xml", *xml),
            hunt(world, folder / "both", "geo,xml", *dict.fromkeys([*geo, *xml])),
        )
    finally:
        world.close()


def hunt(world: SyntheticWeb, folder: Path, missions: str, *seeds: str) -> Hunt:
    """Crawl for missions until nothing is left."""
    # Hosts that back off, fail or ask for patience are for other tests.
    slow = [name for name, host in world.hosts.items() if host["behaviour"] != "plain"]
    barred = [f"--exclude=^http://{name.replace('.', '[.]')}/" for name in slow]
    crawl = world.crawl(folder, missions, *HASTY, *barred, *seeds, timeout_s=280)
    assert crawl.code == 0, crawl.said
    with Collection(folder) as collection, collection.snapshot():
        entries = [entry for entry in ServiceInventory(collection).entries if entry.sources]
        services = {(entry.service.type, endpoint_key(end)) for entry in entries for end in entry.endpoints}
        documents = {url for record in collection.records(quarry="xml") for url in (record.url, *record.pages)}
    return Hunt(crawl, world.stats()["total"], services, documents)


def test_two_missions_share_a_crawl(hunts: Hunts, capsys: pytest.CaptureFixture[str]) -> None:
    """What each finds by itself, both find together, with fewer requests than the two."""
    services, documents = hunts.geo.services, hunts.xml.documents
    found = len(services & hunts.both.services), len(documents & hunts.both.documents)
    apart = hunts.geo.requests + hunts.xml.requests
    with capsys.disabled():
        print(
            f"\ngeo,xml in one crawl: {found[0]}/{len(services)} endpoints and {found[1]}/{len(documents)} documents"
            f" that single crawls find, {len(hunts.both.services)} and {len(hunts.both.documents)} in all, with"
            f" {hunts.both.requests} requests in {hunts.both.crawl.seconds:.0f} s; apart"
            f" {hunts.geo.requests} + {hunts.xml.requests} = {apart} in"
            f" {hunts.geo.crawl.seconds:.0f} + {hunts.xml.crawl.seconds:.0f} s"
        )
    assert len(services) > 50 and len(documents) > 100
    assert found[0] >= 0.99 * len(services)
    assert found[1] >= 0.99 * len(documents)
    assert hunts.both.requests < apart


def test_their_records_are_kept_apart(hunts: Hunts) -> None:
    """Each under the name of its quarry and its mission; a description that is XML has records of both."""
    kept = hunts.both.crawl.rows("SELECT DISTINCT quarry, mission FROM record ORDER BY quarry")
    assert kept == [("geo", "geo"), ("xml", "xml")]
    both = hunts.both.crawl.rows(
        "SELECT count(*) FROM (SELECT n FROM record GROUP BY n HAVING count(DISTINCT quarry) > 1)"
    )
    assert both[0][0] > 10


def test_what_missions_make_of_a_collection_they_make_of_a_shared_one(hunts: Hunts, tmp_path: Path) -> None:
    """Services, analysis, exports, and the story of a URL, which names the mission that wanted it."""
    folder = str(hunts.both.crawl.folder)
    assert main(["services", "-c", folder, "-o", str(tmp_path / "services.csv")]) == 0
    assert main(["analyse", "xml", folder, "-q"]) == 0
    assert main(["export", "addresses", "--select", "kind = xsd", "-c", folder, "-o", str(tmp_path / "xsd.txt")]) == 0
    assert (tmp_path / "xsd.txt").read_text().count("\n") > 10
    assert main(["export", "stac", "-c", folder, "-o", str(tmp_path / "stac")]) == 0
    with Collection(folder) as collection:
        schema = next(url for (url,) in collection.query("SELECT url FROM pages WHERE kind = 'xsd'"))
        service = next(url for (url,) in collection.query("SELECT url FROM pages WHERE kind GLOB 'ogc:wms*'"))
        assert list(explain(collection, schema).wanted_by) == ["xml"]
        assert list(explain(collection, service).wanted_by) == ["geo", "xml"]
