"""Rounds over a small web on loopback: what is asked again, and how; what is stored, and what is told of it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest
from support.loopback import Asked, Reply, Web, html
from support.memory_frontier import MemoryFrontier

from lycosa.config.settings import LimitSettings, RecrawlSettings
from lycosa.crawler import preparation

FAST = (
    "--delay", "0", "--per-host", "4", "--workers", "1", "--set", "fetch.retry_delay_s=0.05",
    "--contact", "mailto:test@lycosa.test",
)  # fmt: skip
OLD = "Mon, 04 Mar 2024 10:00:00 GMT"


class Careful(Web):
    """A web that answers conditional requests as HTTP wants it, and none beyond `most` until there is more."""

    most = 10**9

    def answer(self, asked: Asked) -> Reply:
        reply = super().answer(asked)
        while len(self.asked) > self.most:
            time.sleep(0.01)
        etag, modified = reply.headers.get("ETag"), reply.headers.get("Last-Modified")
        if "if-none-match" in asked.headers:
            same = etag is not None and etag == asked.headers["if-none-match"]
        else:
            same = modified is not None and modified == asked.headers.get("if-modified-since")
        return Reply(status=304, headers=reply.headers) if same and reply.status == 200 else reply


@pytest.fixture
def web() -> Iterator[Careful]:
    server = Careful()
    yield server
    server.close()


def page(*hrefs: str, text: str = "", **headers: str) -> Reply:
    reply = html(*hrefs, text=text)
    reply.headers |= {name.replace("_", "-"): value for name, value in headers.items()}
    return reply


def command(web: Web, folder: Path, *words: str) -> list[str]:
    place = ("--collection", str(folder), "--connect-to", web.connect_to)
    return [sys.executable, "-m", "lycosa", "crawl", *place, *FAST, *words]


def crawl(web: Web, folder: Path, *words: str, code: int = 0) -> str:
    """Run to the end, with nothing remembered of what was asked before; returns what was said."""
    web.asked.clear()
    done = subprocess.run(command(web, folder, *words), capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr + done.stdout


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    database = sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True)
    found = database.execute(sql).fetchall()
    database.close()
    return found


def states(folder: Path) -> dict[str, str]:
    return {str(url).rpartition("/")[2]: str(state) for url, state in rows(folder, "SELECT url, state FROM urls")}


def events(folder: Path, number: int) -> dict[str, str]:
    sql = f"SELECT url, event FROM visit JOIN url USING (n) WHERE visit.round = {number}"
    return {str(url).rpartition("/")[2]: str(event) for url, event in rows(folder, sql)}


def asked(web: Web, path: str) -> dict[str, str]:
    """The header fields of the last request for a path."""
    return [one.headers for one in web.asked if one.path == path][-1]


def test_a_round_stores_what_changed(web: Careful, tmp_path: Path) -> None:
    """What has not changed is confirmed, by ETag, date or content; new links are followed, what is gone is told."""
    folder = tmp_path / "c"
    web["a.test/"] = page("/etag", "/date", "/bare", "/edited", "/lost", ETag='"1"')
    web["a.test/etag"] = page(text="etag", ETag='"e"')
    web["a.test/date"] = page(text="date", Last_Modified=OLD)
    web["a.test/bare"] = page(text="bare")
    web["a.test/edited"] = page(text="first", ETag='"x"')
    web["a.test/lost"] = page(text="lost", ETag='"l"')
    crawl(web, folder, "http://a.test/")
    size = sum(path.stat().st_size for path in (folder / "archive").iterdir())
    assert crawl(web, folder, "http://a.test/").startswith("0 pages stored")
    assert web.asked == []  # a plain crawl begins no round

    web["a.test/edited"] = page("/new", text="second", ETag='"y"')
    web["a.test/new"] = page(text="new")
    del web.pages["a.test/lost"]
    said = crawl(web, folder, "--recrawl")
    assert "1 new, 1 changed, 4 unchanged, 1 gone, 0 back" in said
    assert asked(web, "/etag")["if-none-match"] == '"e"'
    assert asked(web, "/date")["if-modified-since"] == OLD
    assert "if-none-match" not in asked(web, "/bare")
    assert events(folder, 2) == {
        "": "unchanged", "etag": "unchanged", "date": "unchanged", "bare": "unchanged", "edited": "changed",
        "new": "new", "lost": "gone",
    }  # fmt: skip
    assert rows(folder, "SELECT count(*) FROM page WHERE round = 2") == [(2,)]
    assert states(folder)["bare"] == "not modified"
    assert sum(path.stat().st_size for path in (folder / "archive").iterdir()) > size

    web["a.test/lost"] = page(text="lost", ETag='"l"')
    said = crawl(web, folder, "--recrawl", "--full")
    assert "0 new, 0 changed, 6 unchanged, 0 gone, 1 back" in said
    assert states(folder)["lost"] == "not modified"


def test_revisits_are_records_that_others_read(web: Careful, tmp_path: Path) -> None:
    """Each visit that brought nothing new is a revisit record which names the one that holds the bytes."""
    from warcio.archiveiterator import ArchiveIterator

    web["a.test/"] = page("/same", ETag='"1"')
    web["a.test/same"] = page(text="same")
    crawl(web, tmp_path / "c", "http://a.test/")
    crawl(web, tmp_path / "c", "--recrawl")
    held, revisits = {}, []
    for path in sorted((tmp_path / "c/archive").iterdir()):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                get = record.rec_headers.get_header
                if record.rec_type == "response":
                    held[get("WARC-Target-URI"), get("WARC-Date")] = get("WARC-Payload-Digest")
                elif record.rec_type == "revisit":
                    revisits.append(
                        (get("WARC-Refers-To-Target-URI"), get("WARC-Refers-To-Date"), get("WARC-Payload-Digest"))
                    )
    assert len(revisits) == 2
    assert all(held[url, date] == digest for url, date, digest in revisits)


def test_content_that_returns_is_stored_once(web: Careful, tmp_path: Path) -> None:
    """A page that takes an edit back changes again, and its bytes are those of its first copy."""
    from lycosa import Collection

    folder = tmp_path / "c"
    for words, text in ((("http://a.test/",), "one"), (("--recrawl",), "two"), (("--recrawl",), "one")):
        web["a.test/"] = page(text=text)
        crawl(web, folder, *words)
    assert events(folder, 3) == {"": "changed"}
    with Collection(folder) as collection:
        found = collection.page("http://a.test/")
        assert found is not None and found.body == page(text="one").body
        assert found.place[2] < 600  # the record has no body


def test_what_is_known_does_not_spend_a_bound_again(web: Careful, tmp_path: Path) -> None:
    """A site that stays within the bounds of traps does so in every round: new pages are taken, known links stand."""
    from lycosa import Collection

    folder = tmp_path / "c"
    for number in range(33):
        web[f"a.test/p?id={number}"] = page(text=f"page {number}")
    first = ("http://a.test/", "--set", "traps.queries_per_path=40")
    for count, words in ((31, first), (32, ("--recrawl",)), (33, ("--recrawl",))):
        web["a.test/"] = page(*(f"/p?id={number}" for number in range(count)))
        crawl(web, folder, *words)
        assert rows(folder, "SELECT key, count FROM tally") == [("queries:/p", count)]
        with Collection(folder) as collection:
            front = collection.page("http://a.test/")
            assert front is not None and [link.accepted for link in front.links] == [True] * count


def test_failures_keep_the_copy(web: Careful, tmp_path: Path) -> None:
    """A page that cannot be had now is none that is gone: its copy stays, and the next round asks again."""
    folder = tmp_path / "c"
    web["a.test/"] = page("/x", ETag='"1"')
    web["a.test/x"] = page(text="x", ETag='"x"')
    crawl(web, folder, "http://a.test/")
    web["a.test/x"] = Reply(b"busy", 500)
    crawl(web, folder, "--recrawl", "--set", "fetch.retries=0")
    assert states(folder)["x"] == "failed"
    assert events(folder, 2) == {"": "unchanged"}
    web["a.test/x"] = page(text="x", ETag='"x"')
    crawl(web, folder, "--recrawl")
    assert events(folder, 3)["x"] == "unchanged"
    assert rows(folder, "SELECT count(*) FROM pages") == [(2,)]


def test_redirects_are_looked_at_again(web: Careful, tmp_path: Path) -> None:
    """Where it leads now is followed in the same round; what was a page and moved is gone from its address."""
    folder = tmp_path / "c"
    web["a.test/"] = page("/old", "/page", ETag='"1"')
    web["a.test/old"] = Reply(status=302, headers={"Location": "/one"})
    web["a.test/one"] = page(text="one", ETag='"1"')
    web["a.test/page"] = page(text="page")
    crawl(web, folder, "http://a.test/")
    web["a.test/old"] = Reply(status=301, headers={"Location": "/two"})
    web["a.test/two"] = page(text="two")
    web["a.test/page"] = Reply(status=301, headers={"Location": "/one"})
    crawl(web, folder, "--recrawl")
    assert events(folder, 2) == {"": "unchanged", "one": "unchanged", "two": "new", "page": "gone"}
    assert states(folder)["old"] == "redirected for good"


def test_robots_and_sitemaps_are_asked_again(web: Careful, tmp_path: Path) -> None:
    """What a new robots.txt forbids is not visited, what it admits is; pages that a sitemap names anew are found."""
    folder = tmp_path / "c"
    listed = "<urlset><url><loc>http://a.test/{}</loc></url></urlset>"
    web["a.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /a\nSitemap: http://a.test/map.xml")
    web["a.test/map.xml"] = Reply(listed.format("one").encode(), headers={"Content-Type": "application/xml"})
    web["a.test/"] = page("/a", "/b", ETag='"1"')
    for name in ("a", "b", "one", "two"):
        web[f"a.test/{name}"] = page(text=name, ETag='"1"')
    crawl(web, folder, "http://a.test/")
    web["a.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /b\nSitemap: http://a.test/map.xml")
    web["a.test/map.xml"] = Reply(listed.format("two").encode(), headers={"Content-Type": "application/xml"})
    crawl(web, folder, "--recrawl")
    assert events(folder, 2) == {"": "unchanged", "one": "unchanged", "a": "new", "two": "new"}
    assert states(folder)["b"] == "rejected"
    assert rows(folder, "SELECT count(*) FROM pages") == [(5,)]


def test_a_sitemap_tells_what_changed(web: Careful, tmp_path: Path) -> None:
    """A page that is not due is visited all the same when its sitemap has a new date for it."""
    folder = tmp_path / "c"
    listed = "<urlset><url><loc>/x</loc><lastmod>2024-03-0{}</lastmod></url><url><loc>/y</loc></url></urlset>"
    web["a.test/robots.txt"] = Reply(b"Sitemap: http://a.test/map.xml")
    web["a.test/"] = page(Last_Modified=OLD)
    for name in "xy":
        web[f"a.test/{name}"] = page(text=name, Last_Modified=OLD)
    for number, text in enumerate("1112", 1):
        web["a.test/map.xml"] = Reply(listed.format(text).encode(), headers={"Content-Type": "application/xml"})
        if text == "2":
            web["a.test/x"] = page(text="edited", Last_Modified="Tue, 05 Mar 2024 10:00:00 GMT")
        crawl(web, folder, *(("--recrawl",) if number > 1 else ("http://a.test/",)))
        assert len(web.paths()) == (4 if number < 3 else number - 2)
    assert events(folder, 4) == {"x": "changed"}


def test_limits_are_those_of_a_round(web: Careful, tmp_path: Path) -> None:
    """A round stores or confirms so many pages; one that its limit ended is over, and the next one begins."""
    folder = tmp_path / "c"
    for n in range(9):
        web[f"a.test/{n or ''}"] = page(f"/{n + 1}", text=str(n), ETag=f'"{n}"')
    crawl(web, folder, "http://a.test/", "--limit", "4", code=5)
    said = crawl(web, folder, "http://a.test/", "--limit", "4", "--recrawl", code=5)
    assert "1 new, 0 changed, 3 unchanged" in said
    assert rows(folder, "SELECT round, why FROM round") == [(1, "limit"), (2, "limit")]
    assert "2 new" in crawl(web, folder, "http://a.test/", "--limit", "5", code=5)
    said = crawl(web, folder, "http://a.test/", "--max-host-pages", "6", "--recrawl")
    assert "1 new, 0 changed, 5 unchanged" in said


@pytest.mark.parametrize("limit", ["--limit", "--max-host-pages"])
def test_what_a_limit_left_waiting_comes_in_later_rounds(web: Careful, tmp_path: Path, limit: str) -> None:
    """A round does not spend its limit on the pages of the first one alone: a few rounds have been everywhere."""
    web["a.test/"] = page(*(f"/{n}" for n in range(1, 9)), text="0", ETag='"0"')
    for n in range(1, 9):
        web[f"a.test/{n}"] = page(text=str(n), ETag=f'"{n}"')
    code = 5 if limit == "--limit" else 0
    for number in range(4):
        crawl(web, tmp_path / "c", "http://a.test/", limit, "4", *(("--recrawl",) if number else ()), code=code)
    assert rows(tmp_path / "c", "SELECT count(*) FROM urls WHERE state = 'unfetched'") == [(0,)]
    assert rows(tmp_path / "c", "SELECT count(DISTINCT url) FROM pages") == [(9,)]
    assert rows(tmp_path / "c", "SELECT count(*) FROM urls WHERE state = 'not modified'") > [(0,)]  # known ones, too


def test_an_unfinished_round_is_continued(web: Careful, tmp_path: Path) -> None:
    """Killed or interrupted, a round goes on where it was; only then the next one begins."""
    folder = tmp_path / "c"
    for n in range(80):
        web[f"a.test/{n or ''}"] = page(f"/{n + 1}", f"/{n + 2}", text=str(n), ETag=f'"{n}"')
    crawl(web, folder, "http://a.test/")
    web.asked.clear()
    killed_at = 0
    for end in (signal.SIGKILL, signal.SIGINT):
        web.most = len(web.asked) + 20
        running = subprocess.Popen(
            command(web, folder, "--recrawl"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert running.stderr is not None
        while len(web.asked) <= web.most:
            time.sleep(0.02)
        if end == signal.SIGKILL:
            os.killpg(running.pid, end)
            while killed_at < len(web.asked):  # what was sent before arrives even now
                killed_at = len(web.asked)
                time.sleep(0.2)
        else:
            running.send_signal(end)
            while "Finishing" not in running.stderr.readline():
                pass
        web.most = 10**9
        running.communicate(timeout=30)
    assert rows(folder, "SELECT round, ended IS NULL, why FROM round ORDER BY round")[1] == (2, 1, "interrupt")
    said = subprocess.run(command(web, folder, "--recrawl"), capture_output=True, text=True, timeout=60)
    assert "Round 2 was not finished" in said.stderr
    assert set(web.paths()) == set(web.pages)
    assert len(web.paths()) - len(web.pages) <= killed_at  # what had not been committed when it was killed
    assert set(events(folder, 2).values()) == {"unchanged"} and len(events(folder, 2)) == 80
    assert rows(folder, "SELECT count(*) FROM round") == [(2,)]
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]


def test_a_period_begins_rounds_by_itself(web: Careful, tmp_path: Path) -> None:
    """Rounds begin one period apart, as many as were asked for."""
    folder = tmp_path / "c"
    web["a.test/"] = page(ETag='"1"')
    said = crawl(web, folder, "http://a.test/", "--period", "1500ms", "--rounds", "3")
    assert said.count("The next round begins at") == 2
    times = [float(str(started)) for (started,) in rows(folder, "SELECT started FROM round ORDER BY round")]
    assert len(times) == 3
    assert all(later - earlier > 1.4 for earlier, later in zip(times, times[1:], strict=False))
    assert "need a period" in crawl(web, folder, "http://a.test/", "--rounds", "2", code=2)
    assert "--full goes with" in crawl(web, folder, "http://a.test/", "--full", code=2)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_wait_can_be_ended(web: Careful, tmp_path: Path, how: signal.Signals) -> None:
    """While a round is waited for, Ctrl-C ends the program cleanly; started again, it waits on."""
    web["a.test/"] = page(ETag='"1"')
    words = command(web, tmp_path / "c", "http://a.test/", "--period", "72")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None and running.stdout is not None
        assert "1 page stored" in running.stdout.readline()
        assert "The next round begins at" in running.stderr.readline()
        status = [sys.executable, "-m", "lycosa", "status", "-c", str(tmp_path / "c"), "--format", "text"]
        assert "round 2 begins at" in subprocess.run(status, capture_output=True, text=True, check=True).stdout
        running.send_signal(how)
        assert running.wait(60) == 130
        assert "Traceback" not in running.stderr.read()


def test_pages_are_visited_as_often_as_they_change(web: Careful, tmp_path: Path) -> None:
    """Of quiet pages fewer and fewer are asked for; one that changes is seen in every round."""
    folder = tmp_path / "c"
    quiet = [f"q{n}" for n in range(8)]
    web["a.test/"] = page(*quiet, "busy", ETag='"1"')
    for name in quiet:
        web[f"a.test/{name}"] = page(text=name, Last_Modified=OLD)
    counts = []
    for n in range(5):
        web["a.test/busy"] = page(text=f"edition {n}", Date=formatdate(usegmt=True))
        crawl(web, folder, *(("--recrawl",) if n else ("http://a.test/",)))
        counts.append(len(web.paths()))
    assert counts[0] == counts[1] == 10
    assert sum(counts[2:]) < 1.5 * 10
    assert all(events(folder, number)["busy"] == "changed" for number in range(2, 6))
    intervals = dict(rows(folder, "SELECT url, interval_h FROM urls"))
    assert intervals["http://a.test/busy"] < 24 < intervals["http://a.test/q1"] <= 720  # type: ignore[operator]


def test_a_date_that_lies_hides_no_change(web: Careful, tmp_path: Path) -> None:
    """Dates of the future and of 1970 are not asked with; one that stays while the content changes is found out."""
    folder = tmp_path / "c"
    dates = {"future": "Fri, 01 Jan 2100 00:00:00 GMT", "zero": "Thu, 01 Jan 1970 00:00:00 GMT", "liar": OLD}
    web["a.test/"] = page(*dates, ETag='"1"')
    for name, date in dates.items():
        web[f"a.test/{name}"] = page(text=name, Last_Modified=date)
    crawl(web, folder, "http://a.test/")
    for name, date in dates.items():
        web[f"a.test/{name}"] = page(text=f"{name} edited", Last_Modified=date)
    crawl(web, folder, "--recrawl")
    assert events(folder, 2) == {"": "unchanged", "future": "changed", "zero": "changed", "liar": "unchanged"}
    # After the longest interval, only the content counts.
    crawl(web, folder, "--recrawl", "--full", "--set", "recrawl.max_h=24")
    assert events(folder, 3)["liar"] == "changed"
    web["a.test/liar"] = page(text="edited again", Last_Modified=OLD)
    crawl(web, folder, "--recrawl", "--full")
    assert "if-modified-since" not in asked(web, "/liar")
    assert events(folder, 4)["liar"] == "changed"


def test_links_are_refused_by_the_rules_of_their_round(web: Web, tmp_path: Path) -> None:
    """That an address is known, from a round with other rules, does not make a link to it one that is followed."""
    from lycosa import Collection

    web["a.test/"] = html("/one", "/two", text="first")
    web["a.test/one"] = html("/two")
    web["a.test/two"] = html()
    folder = tmp_path / "c"
    crawl(web, folder, "http://a.test/")
    web["a.test/"] = html("/one", "/two", text="second")
    crawl(web, folder, "http://a.test/", "--recrawl", "--full", "--exclude", "two")
    with Collection(folder) as collection:
        page = collection.page("http://a.test/")
        assert page is not None
        assert {link.url: link.accepted for link in page.links} == {
            "http://a.test/one": True,
            "http://a.test/two": False,
        }


def test_a_round_that_another_machine_began_and_ended_is_not_begun_again() -> None:
    """Machines wait for the same time; the last one to look finds the round of that time over."""
    frontier = MemoryFrontier()
    waited = {"anew": True, "everything": True, "limits": LimitSettings()}
    frontier.rounds.begin(now=500.0, step_s=1.0, everything=True)
    frontier.rounds.end(now=501.0, why="")
    for due, count in ((500.0, 2), (504.0, 2), (900.0, 3)):  # one whose clock goes fast was 4 seconds early
        preparation.begin_round(frontier, RecrawlSettings(period_h=0.1), **waited, due=due)  # type: ignore[arg-type]
        assert len(frontier.rounds.listing()) == count
