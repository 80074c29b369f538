"""Near-duplicates of a collection: found on demand, kept, listed; and a crawl that leaves what only repeats itself."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from support.loopback import Reply, Web

from lycosa import Collection
from lycosa.collection.status import format_status, read_status
from lycosa.derived.near_duplicates import NEAR, FingerprintStore, NearDuplicate

SITE = "http://a.test"
FRAME = (
    "<nav>Home News Sport</nav><footer>All rights reserved by the town of Sample, its mayor and its council</footer>"
)
TOPICS = ("wolf", "crab", "jumping", "trapdoor", "diving", "fishing", "lynx", "huntsman")


def prose(topic: str, sentences: int = 12) -> str:
    chance = random.Random(topic)
    words = ["hunts", "rests", "jumps", "waits", "by", "night", "under", "stones", "near", "water", "in", "spring"]
    return " ".join(f"The {topic} spider {' '.join(chance.choices(words, k=9))}." for _ in range(sentences))


def page(title: str, body: str, *hrefs: str) -> Reply:
    links = "".join(f"<li><a href='{href}'>more</a></li>" for href in hrefs)
    html = f"<!DOCTYPE html><title>{title}</title><body>{body}<ul>{links}</ul></body>"
    return Reply(html.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def plant(web: Web) -> None:
    """Eight articles in the site's frame, some with a printer's version, a copy, a version with another date."""
    for number, topic in enumerate(TOPICS):
        body = f"<h1>{topic} spiders</h1><p>{prose(topic)}</p>"
        web[f"a.test/news/{topic}.html"] = page(topic, FRAME + body + f"<p>Seen {number} times</p>", "/")
        if number < 4:
            web[f"a.test/print/{topic}"] = page(topic, body)
        if number < 2:
            web[f"a.test/copy/{topic}"] = web.pages[f"a.test/news/{topic}.html"]
            web[f"a.test/old/{topic}"] = page(topic, FRAME + body + "<p>Seen 4711 times on 2024-03-04</p>", "/")
    paths = [address.removeprefix("a.test") for address in web.pages]
    web["a.test/"] = page("Spiders", "<p>All spiders of the town</p>", *paths)


def run(*arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "lycosa", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def crawl(web: Web, folder: Path, *arguments: str) -> None:
    polite = ("--delay", "0", "--per-host", "4", "--workers", "1", "--contact", "mailto:test@lycosa.test")
    run("crawl", f"{SITE}/", "-c", str(folder), "--connect-to", web.connect_to, *polite, *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of the small site."""
    web = Web()
    plant(web)
    path = tmp_path_factory.mktemp("near") / "c"
    crawl(web, path)
    web.close()
    return path


@pytest.fixture
def mine(folder: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(folder, tmp_path / "c"))


def find(folder: Path, host: str = "") -> list[NearDuplicate]:
    with Collection(folder) as collection:
        return list(collection.near_duplicates(host=host))


def grouped(found: list[NearDuplicate]) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = {}
    for kin in found:
        groups.setdefault(kin.representative.removeprefix(SITE), set()).add(kin.url.removeprefix(SITE))
    return groups


def test_pages_that_say_the_same_are_found(mine: Path) -> None:
    """Printer's versions, copies, other dates; articles in one frame are not, however short they are beside it."""
    found = find(mine)
    assert grouped(found) == {
        f"/news/{topic}.html": {f"/news/{topic}.html", f"/print/{topic}"}
        | ({f"/copy/{topic}", f"/old/{topic}"} if number < 2 else set())
        for number, topic in enumerate(TOPICS[:4])
    }
    assert [kin.size for kin in found] == [4] * 8 + [2] * 4  # the largest first
    assert all(kin.similarity == 1.0 for kin in found if kin.url == kin.representative)
    assert all(0.8 <= kin.similarity <= 1.0 for kin in found)


def test_fingerprints_are_made_once(mine: Path) -> None:
    """What is known is not read again, whether the run before came to its end or not."""
    first = find(mine)
    with Collection(mine) as collection:
        prints = FingerprintStore(collection)
        assert prints.update() == 0
        prints.database.execute("DELETE FROM print WHERE n % 2; DELETE FROM meta; DELETE FROM kin")
        assert prints.update() > 0
        prints.close()
    shutil.rmtree(mine / "archive")
    assert find(mine) == first


def test_clusters_are_made_of_what_an_interrupted_run_read(mine: Path) -> None:
    """Fingerprints that came without their clusters are not taken for all there is to know."""
    first = find(mine)
    with Collection(mine) as collection:
        prints = FingerprintStore(collection)
        prints.database.execute("DELETE FROM print WHERE n % 2; DELETE FROM kin")
        assert prints.update() > 0
        prints.close()
    assert find(mine) == first


def test_a_page_that_changed_is_read_again(mine: Path) -> None:
    """A fingerprint belongs to the content that it was made of; that of no page is dropped."""
    find(mine)
    with Collection(mine) as collection:
        prints = FingerprintStore(collection)
        prints.database.execute(
            "UPDATE print SET digest = x'00' WHERE n = 3; INSERT INTO print VALUES (999, x'', 0, x'')"
        )
        assert prints.update() == 2
        assert prints.database.execute("SELECT max(n) FROM print").get < 999
        prints.close()


@pytest.mark.parametrize("damage", [b"no database at all", b""])
def test_the_store_is_made_anew_when_it_is_damaged(mine: Path, damage: bytes) -> None:
    """Everything in it can be had from the archive."""
    expected = find(mine)
    for left in mine.glob(f"{NEAR.name}*"):
        left.unlink()
    (mine / NEAR.name).write_bytes(damage)
    assert find(mine) == expected
    with apsw.Connection(str(mine / NEAR.name)) as database:
        database.execute("PRAGMA user_version = 99")
    assert find(mine) == expected


def test_a_collection_that_may_not_be_written_to_can_be_looked_at(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is then made elsewhere, and forgotten."""
    monkeypatch.setattr("lycosa.derived.store.os.access", lambda path, mode: not mode & os.W_OK)
    assert len(find(mine)) == 12
    assert not (mine / NEAR.name).exists()


def test_a_host_can_be_asked_for(mine: Path) -> None:
    """Clusters with a page of it; a star stands for anything."""
    assert len(find(mine, "a.*")) == 12
    assert find(mine, "b.test") == []


def test_the_list_is_exported(mine: Path, tmp_path: Path) -> None:
    """As lines of JSON, as a table, as a file; a second time from the store."""
    rows = [json.loads(line) for line in run("export", "near-duplicates", "-c", str(mine)).splitlines()]
    assert [list(row) for row in rows] == [["cluster", "size", "similarity", "url", "representative"]] * 12
    assert run("export", "near-duplicates", "-c", str(mine), "--format", "table").count("\n") == 14
    run("export", "near-duplicates", "-c", str(mine), "-o", str(tmp_path / "near.csv"), "--host", "a.test")
    assert (tmp_path / "near.csv").read_text().startswith("cluster,size,similarity,url,representative\n")
    assert "--state goes with urls" in run("export", "near-duplicates", "-c", str(mine), "--state", "gone", code=2)


def test_status_tells_what_was_found(mine: Path) -> None:
    """Nothing before it was looked for; then how many pages say what another says."""
    assert read_status(mine).near is None
    find(mine)
    assert "near-duplicates: 8 of 17 pages say what another says, in 4 clusters" in format_status(read_status(mine))


def test_an_empty_collection_has_none(web: Web, tmp_path: Path) -> None:
    """Also one without a page of text."""
    web["a.test/"] = Reply(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"})
    crawl(web, tmp_path / "c")
    assert find(tmp_path / "c") == []


def make_trap(web: Web) -> None:
    """A few articles, and a calendar that has no end."""

    def answer(address: str) -> Reply | None:
        if not address.startswith("a.test/diary/"):
            return None
        day = int(address.rpartition("/")[2])
        return page("Diary", f"{FRAME}<p>Nothing on day {day}</p>", f"/diary/{day + 1}", f"/diary/{day + 2}")

    plant(web)
    home = web.pages["a.test/"]
    web["a.test/"] = Reply(home.body + b"<a href=/diary/1>diary</a>", headers=home.headers)
    web.make = answer


def test_a_crawl_leaves_what_only_repeats_itself(web: Web, tmp_path: Path) -> None:
    """The trap is bounded and told, everything else fetched; a second run knows of it, a higher bound opens it."""
    make_trap(web)
    off = ("--set", "traps.calendar=0", "--limit", "400")
    crawl(web, tmp_path / "c", "--set", "traps.near_duplicates=20", *off)
    visits = [path for path in web.paths() if "/diary/" in path]
    assert 20 <= len(visits) <= 60
    assert {path for path in web.paths() if "/diary/" not in path} == set(web.pages) | {"a.test/"}
    with Collection(tmp_path / "c") as collection:
        refused = [url.url for url in collection.urls(state="rejected") if url.reason == "trap:near-duplicates"]
        assert refused and all("/diary/" in url for url in refused)
        ruling = next(rule for rule in collection.why(refused[0]).rules if rule.rule == "trap:near-duplicates")
        assert ruling.ok is False
        assert "a.test/diary/: 20 pages one after the other brought nothing new" in ruling.detail

    web.asked.clear()
    web["a.test/"] = page("Spiders", "<p>Again</p>", "/diary/9999")
    run("crawl", f"{SITE}/diary/99", "-c", str(tmp_path / "c"), "--connect-to", web.connect_to, "--delay", "0",
        "--set", "traps.near_duplicates=20", *off)  # fmt: skip
    assert web.paths()[0] == "a.test/diary/99"  # a seed
    assert len(web.paths()) <= 6  # what it links to is refused, but for a sample

    run("crawl", "-c", str(tmp_path / "c"), "--connect-to", web.connect_to, "--delay", "0", "--limit", "100",
        "--set", "traps.near_duplicates=0", "--set", "traps.calendar=0", code=5)  # fmt: skip
    assert len(web.paths()) > 20
