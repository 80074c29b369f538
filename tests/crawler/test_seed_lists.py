"""Long lists of seeds: they stand beside the mission, and a crawl goes on with all of them after any end."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.crawl_runs import command, crawl, rows, stored
from support.interrupted_crawls import kill_group
from support.loopback import Reply, Web, html

from lycosa.collection.collection import Collection
from lycosa.collection.folder import keep_mission, list_seeds
from lycosa.config.settings import Mission
from lycosa.frontier.sqlite.frontier import SqliteFrontier

COUNT = 1200
SEEDS = [f"http://s{n % 3}.test/{n}" for n in range(COUNT)]


@pytest.fixture
def site(web: Web) -> Web:
    for number, seed in enumerate(SEEDS):
        web[seed.removeprefix("http://")] = html(title=f"page {number}")
    return web


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """A file of all seeds, one of them written in another way."""
    file = tmp_path / "seeds.txt"
    file.write_text("\n".join(["HTTP://S0.test/0", *SEEDS[1:]]))
    return file


def test_long_list_stands_beside_the_mission(site: Web, listed: Path, tmp_path: Path) -> None:
    """More seeds than people write are kept in a file of their own, which the mission names."""
    crawl(site, tmp_path / "c", "--seeds", str(listed))
    mission = Collection(tmp_path / "c").mission
    assert (tmp_path / "c" / "lycosa.toml").stat().st_size < 20_000
    assert mission.seeds == () and len(list_seeds(mission, tmp_path / "c")) == COUNT
    assert rows(tmp_path / "c", "SELECT original FROM url WHERE n = 1") == [("HTTP://S0.test/0",)]
    assert stored(tmp_path / "c") == set(SEEDS)


@pytest.mark.parametrize("named", [True, False])
def test_killed_crawl_goes_on_with_every_seed(site: Web, listed: Path, tmp_path: Path, *, named: bool) -> None:
    """After a kill while seeds are being fetched, the same command and the collection alone fetch the rest."""
    folder, words = tmp_path / "c", ("--seeds", str(listed))
    killed, pages = threading.Event(), site.pages
    site.pages = {}

    def answer(address: str) -> Reply | None:
        if len(site.asked) > 20:
            killed.wait(60)
        return pages.get(address)

    site.make = answer
    process = subprocess.Popen(command(site, folder, *words), start_new_session=True)
    try:
        while process.poll() is None and len(site.asked) <= 20:
            time.sleep(0.01)
    finally:
        kill_group(process)
        killed.set()
    crawl(site, folder, *(words if named else ()))
    assert stored(folder) == set(SEEDS)


def test_seeds_that_are_not_in_the_database_yet_are_put_there(site: Web, tmp_path: Path) -> None:
    """A crawl that was killed between the list and its last seed goes on with all of them, without being told again."""
    folder = tmp_path / "c"
    (folder / "archive").mkdir(parents=True)
    keep_mission(folder, Mission(seeds=tuple(SEEDS)), {SEEDS[5]: "S2.test/5"})
    SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=time.time())
    crawl(site, folder)
    assert stored(folder) == set(SEEDS)
    assert rows(folder, "SELECT original FROM url WHERE original <> ''") == [("S2.test/5",)]


def test_further_seeds_join_the_list(tmp_path: Path) -> None:
    """Another long list adds to the first; the same list changes nothing."""
    first = keep_mission(tmp_path, Mission(seeds=tuple(SEEDS)))
    assert keep_mission(tmp_path, replace(first, seeds=tuple(SEEDS))) == first
    more = keep_mission(tmp_path, replace(first, seeds=tuple(f"{seed}/more" for seed in SEEDS)))
    assert len(list_seeds(more, tmp_path)) == 2 * COUNT
    assert [path.name for path in tmp_path.glob("seeds-*")] == [more.seeds_file]


def test_mission_names_a_list(site: Web, listed: Path, tmp_path: Path) -> None:
    """A mission file may name a list that lies beside it."""
    file = tmp_path / "mission.toml"
    file.write_text('seeds_file = "seeds.txt"\n')
    crawl(site, tmp_path / "c", str(file))
    assert stored(tmp_path / "c") == set(SEEDS)


def test_mission_of_an_earlier_version_with_more_seeds_than_can_be_read(site: Web, tmp_path: Path) -> None:
    """Earlier versions wrote all seeds into the mission: one that is too large goes on with those of the database."""
    folder = tmp_path / "c"
    site["s.test/"] = html("/a", title="start")
    site["s.test/a"] = html(title="end")
    crawl(site, folder, "http://s.test/", "--limit", "1", code=5)
    file = folder / "lycosa.toml"
    many = "".join(f'  "http://s.test/{"x" * 1000}{n}",\n' for n in range(35_000))
    assert 'seeds = ["http://s.test/"]' in file.read_text()
    file.write_text(file.read_text().replace('seeds = ["http://s.test/"]', f"seeds = [\n{many}]"))
    crawl(site, folder, "--limit", "0")
    assert stored(folder) == {"http://s.test/", "http://s.test/a"}
    told = subprocess.run(
        [sys.executable, "-m", "lycosa", "why", "http://s.test/a", "-c", str(folder)], capture_output=True, timeout=60
    )
    assert told.returncode == 0


def test_collection_without_any_seed_is_refused(site: Web, tmp_path: Path) -> None:
    """A crawl that was killed before it had a seed does not go on as if nothing were left."""
    folder = tmp_path / "c"
    (folder / "archive").mkdir(parents=True)
    SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=time.time())
    assert "There is no seed" in crawl(site, folder, code=2)
