"""A crawl that is run again with other settings, or after something went wrong: what counts is what is said now."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

from support.crawl_runs import command, crawl, rows, states
from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.explain.narrative import conclude


def test_narrower_settings_count_for_what_was_found_before(web: Web, tmp_path: Path) -> None:
    """What waits is judged by the settings of the run that would fetch it; not even its robots.txt is asked for."""
    web["a.test/"] = html("/1", "/print/2", "/3", "http://b.test/4", text="start")
    for page in ("/1", "/print/2", "/3"):
        web[f"a.test{page}"] = html(f"{page}/deep", text=page)
    web["a.test/1/deep"] = html(text="deep")
    crawl(web, tmp_path / "c", "http://a.test/", "--scope", "free", "--limit", "1", code=5)
    web.asked.clear()
    narrow = ("--scope", "host", "--exclude", "/print/", "--depth", "1")
    crawl(web, tmp_path / "c", "http://a.test/", *narrow)
    assert sorted(web.paths()) == ["a.test/1", "a.test/3"]
    assert not [asked for asked in web.asked if asked.host == "b.test"]
    found = states(tmp_path / "c")
    assert found["http://b.test/4"] == "rejected scope"
    assert found["http://a.test/print/2"] == "rejected reject-list"
    assert found["http://a.test/1/deep"] == "rejected depth"
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "reject=", "--depth", "-1")
    assert states(tmp_path / "c")["http://a.test/print/2"] == "fetched"
    assert "b.test/4" not in web.paths()


def test_a_round_leaves_out_what_is_excluded_by_now(web: Web, tmp_path: Path) -> None:
    """The copy of the page stays, but nobody asks for it again."""
    web["a.test/"] = html("/1", "/2", text="start")
    web["a.test/1"], web["a.test/2"] = html(text="one"), html(text="two")
    crawl(web, tmp_path / "c", "http://a.test/")
    web.asked.clear()
    said = crawl(web, tmp_path / "c", "http://a.test/", "--recrawl", "--full", "--exclude", "/2")
    assert sorted(web.paths()) == ["a.test/", "a.test/1"]
    assert "0 gone" in said and "The collection holds 3 pages" in said
    told = conclude(Collection(tmp_path / "c").why("http://a.test/2"))
    assert told.startswith("It is not visited any more, and what is held of it stays (reject-list): the pattern '/2'")
    crawl(web, tmp_path / "c", "http://a.test/", "--recrawl", "--full", "--set", "reject=")
    assert web.paths().count("a.test/2") == 1


def test_links_that_are_not_followed_are_written_down(web: Web, tmp_path: Path) -> None:
    """What a page or a link forbids to follow has a reason; a link elsewhere lifts it, and so does the setting."""
    web["a.test/"] = html("/closed", "/half", text="start")
    web["a.test/closed"] = html("/1", "/2", "http://b.test/", head='<meta name="robots" content="nofollow">')
    half = b'<a rel="nofollow" href="/3">three</a> <a rel="ugc nofollow" href="/2">two</a> <a href="/1">one</a>'
    web["a.test/half"] = Reply(half, headers={"Content-Type": "text/html"})
    for page in ("/1", "/2", "/3"):
        web[f"a.test{page}"] = html(text=page)
    obey = ("--set", "fetch.rel_nofollow=obey", "--per-host", "1")
    crawl(web, tmp_path / "c", "http://a.test/", *obey)
    found = states(tmp_path / "c")
    assert found["http://a.test/1"] == "fetched"
    assert found["http://a.test/2"] == "rejected nofollow"
    assert found["http://a.test/3"] == "rejected rel-nofollow"
    assert found["http://b.test/"] == "rejected scope"
    why = Collection(tmp_path / "c").why("http://a.test/3")
    assert why.fate is not None and "rel=nofollow" in why.fate.meaning and why.visited is False
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "fetch.nofollow=ignore", *obey)
    found = states(tmp_path / "c")
    assert (found["http://a.test/2"], found["http://a.test/3"]) == ("fetched", "rejected rel-nofollow")
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "fetch.rel_nofollow=ignore")
    assert states(tmp_path / "c")["http://a.test/3"] == "fetched"


def test_nofollow_bars_neither_sitemaps_nor_moves(web: Web, tmp_path: Path) -> None:
    """The pages of a sitemap, and where a page moves to, are visited though it says nofollow; other links are not."""
    closed = {"X-Robots-Tag": "noindex, nofollow"}
    web["a.test/robots.txt"] = Reply(b"Sitemap: /map.xml\nSitemap: /list.txt")
    web["a.test/map.xml"] = Reply(b"<urlset><url><loc>http://a.test/1</loc></url></urlset>", headers=closed)
    web["a.test/list.txt"] = Reply(b"http://a.test/2\n", headers={"Content-Type": "text/plain", **closed})
    head = '<meta name="robots" content="nofollow"><meta http-equiv="refresh" content="0; url=/3">'
    web["a.test/"] = html("/4", head=head, text="start")
    for page in ("/1", "/2", "/3", "/4"):
        web[f"a.test{page}"] = html(text=page)
    crawl(web, tmp_path / "c", "http://a.test/", "--workers", "1")
    found = states(tmp_path / "c")
    assert [found[f"http://a.test/{n}"] for n in (1, 2, 3, 4)] == ["fetched"] * 3 + ["rejected nofollow"]


def test_a_page_that_asked_not_to_be_kept_is_kept_later(web: Web, tmp_path: Path) -> None:
    """Once its wish is no longer heeded, the page is fetched again."""
    web["a.test/"] = html("/shy")
    web["a.test/shy"] = html(head='<meta name="robots" content="noarchive">')
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "fetch.noarchive=obey")
    assert states(tmp_path / "c")["http://a.test/shy"] == "rejected noarchive"
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "fetch.noarchive=ignore")
    assert states(tmp_path / "c")["http://a.test/shy"] == "fetched"


def test_links_beyond_the_bound_are_told_and_taken_later(web: Web, tmp_path: Path) -> None:
    """The page says that it has more, and so does the end; with a higher bound, or none, it is fetched again."""
    web["a.test/"] = html(*(f"/{n}" for n in range(9)))
    said = crawl(web, tmp_path / "c", "http://a.test/", "--set", "traps.links_per_page=4")
    found = states(tmp_path / "c")
    assert found["http://a.test/"] == "fetched links-limit" and len(found) == 5
    assert "1 page was taken with a part of its links only: --set traps.links_per_page=0 takes all" in said
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "traps.links_per_page=4")
    assert web.paths().count("a.test/") == 1
    said = crawl(web, tmp_path / "c", "http://a.test/", "--set", "traps.links_per_page=0")
    assert "1 page is fetched again" in said
    found = states(tmp_path / "c")
    assert found["http://a.test/"] == "fetched" and len(found) == 10


def test_the_links_of_a_large_page_are_all_known_and_the_last_of_them_wait(web: Web, tmp_path: Path) -> None:
    """Beyond the first 6,000 they are fetched after those of other pages; `why` knows of each."""
    web["a.test/"] = html(*(f"/{n}" for n in range(6600)), text="start")
    web["a.test/0"] = html("/other", text="first")
    web.make = lambda address: html(text=address)
    crawl(web, tmp_path / "c", "http://a.test/", "--limit", "3", code=5)
    found = states(tmp_path / "c")
    assert found["http://a.test/"] == "fetched"
    assert len(found) == 6602
    waiting = rows(tmp_path / "c", "SELECT url FROM urls WHERE score < -1e6 ORDER BY n")
    assert [url for (url,) in waiting] == [f"http://a.test/{n}" for n in range(6000, 6600)]
    with Collection(tmp_path / "c") as collection:
        assert "never seen" not in conclude(collection.why("http://a.test/6599"))


def test_a_page_that_was_too_large_is_fetched_whole_later(web: Web, tmp_path: Path) -> None:
    """With a higher limit, and not before."""
    web["a.test/"] = html("/large")
    web["a.test/large"] = html("/behind", text="much " * 400)
    for limit, state in ((1000, "fetched too-large"), (1000, "fetched too-large"), (9000, "fetched")):
        crawl(web, tmp_path / "c", "http://a.test/", "--set", f"limits.html_bytes={limit}")
        assert states(tmp_path / "c")["http://a.test/large"] == state
    assert web.paths().count("a.test/large") == 2 and "a.test/behind" in web.paths()


def test_what_a_size_limit_cut_is_named(web: Web, tmp_path: Path) -> None:
    """The report at the end says which pages are not whole, and which setting would have them so."""
    web["a.test/"] = html("/data.bin", text="x" * 5000)
    web["a.test/data.bin"] = Reply(bytes(5000), headers={"Content-Type": "application/octet-stream"})
    limits = ("--set", "limits.html_bytes=2000000", "--set", "limits.body_bytes=2000")
    said = crawl(web, tmp_path / "c", "http://a.test/", *limits)
    assert "  cut at limits.body_bytes = 2,000: http://a.test/data.bin; with a higher limit it is fetched whole" in said
    assert "html_bytes" not in said
    assert "  cut at" not in crawl(web, tmp_path / "c", "http://a.test/", "--set", "limits.body_bytes=9000")


def test_what_failed_is_tried_again_when_asked_for(web: Web, tmp_path: Path) -> None:
    """A crawl that goes on leaves failures alone, and says how to try them again."""
    web["a.test/"] = html("/1", "/2", "/3")
    web["a.test/1"], web["a.test/2"] = Reply(b"", 500), Reply(b"", 403)
    once = ("http://a.test/", "--set", "fetch.retries=0")
    assert "2 failed: lycosa crawl --retry tries them again" in crawl(web, tmp_path / "c", *once)
    web["a.test/1"] = html("/deeper", text="one")
    web.asked.clear()
    crawl(web, tmp_path / "c", *once)
    assert web.paths() == []
    assert "Of what failed, 2 URLs are tried again." in crawl(web, tmp_path / "c", *once, "--retry")
    assert sorted(web.paths()) == ["a.test/1", "a.test/2", "a.test/deeper"]
    assert states(tmp_path / "c")["http://a.test/1"] == "fetched"


def test_settings_that_never_changed_are_not_asked_again(web: Web, tmp_path: Path) -> None:
    """Once they changed, what waits is judged for good, also by later runs that change nothing."""
    web["a.test/"] = html("/1", "/2", "/print/3", "/print/4", text="start")
    for page in ("/1", "/2", "/print/3", "/print/4"):
        web[f"a.test{page}"] = html(text=page)
    mark = "SELECT value FROM meta WHERE key = 'uniform'"
    wide, narrow = ("http://a.test/", "--limit", "1"), ("http://a.test/", "--limit", "2", "--exclude", "/print/")
    for _ in range(2):
        crawl(web, tmp_path / "c", *wide, code=5)
        assert rows(tmp_path / "c", mark) == [("1",)]
    for _ in range(2):
        crawl(web, tmp_path / "c", *narrow, code=5)
        assert rows(tmp_path / "c", mark) == [("",)]
    crawl(web, tmp_path / "c", "http://a.test/", "--exclude", "/print/")
    assert sorted(web.paths()) == ["a.test/", "a.test/1", "a.test/2"]


def test_a_seed_that_is_tried_again_is_counted(web: Web, tmp_path: Path) -> None:
    """With --retry it is one of those that failed, whether it is named again or not."""
    web["a.test/"] = Reply(status=500)
    once = ("--set", "fetch.retries=0")
    crawl(web, tmp_path / "c", "http://a.test/", *once, code=4)
    for named in (["http://a.test/"], []):
        assert "Of what failed, 1 URL is tried again." in crawl(web, tmp_path / "c", *named, *once, "--retry", code=4)


def test_a_closed_trap_stays_closed_whatever_else_changes(web: Web, tmp_path: Path) -> None:
    """A bound counts over all runs: only a higher one lets more of the calendar be fetched, but for a sample."""
    web["a.test/"] = html("/calendar/2024-01-01", text="start")

    def make(address: str) -> Reply | None:
        if "/calendar/2024-" not in address:
            return None
        month, day = map(int, address.rpartition("/2024-")[2].split("-"))
        later = [
            f"/calendar/2024-{(month * 31 + day + n) // 31 % 12 + 1:02}-{(day + n) % 28 + 1:02}" for n in range(40)
        ]
        return html(*later, text=f"news of {address} only")

    web.make = make

    def visited() -> int:
        return sum("/calendar/" in url and state == "fetched" for url, state in states(tmp_path / "c").items())

    bound = ("--set", "traps.near_duplicates=0", "--set")
    crawl(web, tmp_path / "c", "http://a.test/", *bound, "traps.calendar=30")
    first = visited()
    assert 30 <= first <= 50
    for seconds in ("1000", "1001", "1002"):
        crawl(web, tmp_path / "c", "http://a.test/", *bound, "traps.calendar=30", "--max-time", seconds)
        assert visited() == first
    crawl(web, tmp_path / "c", "http://a.test/", *bound, "traps.calendar=50")
    assert first < visited() <= 80


def test_a_seed_that_cannot_be_reached_is_told_at_once(tmp_path: Path) -> None:
    """With the cause, while it is still being tried again."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        command = [sys.executable, "-m", "lycosa", "crawl", f"http://127.0.0.1:{port}/", "--max-time", "2"]
        done = subprocess.run(
            [*command, "--collection", str(tmp_path / "c")], capture_output=True, text=True, timeout=60
        )
    assert "127.0.0.1 cannot be reached so far: the host refused the connection." in done.stderr


def test_a_name_that_is_no_host_is_given_up_at_once(tmp_path: Path) -> None:
    """A mistyped seed ends the crawl with its cause, and is not tried again for a minute."""
    host = "x" * 64 + ".test"  # no label of a name may be so long
    command = [sys.executable, "-m", "lycosa", "crawl", f"http://{host}/", "-c", str(tmp_path / "c")]
    settings = ["--contact", "mailto:test@lycosa.test", "--set", "fetch.retry_delay_s=1000"]
    done = subprocess.run([*command, *settings], capture_output=True, text=True, timeout=120)
    assert done.returncode == 4, done.stderr
    assert f"http://{host}/: failed: dns" in done.stderr


def test_a_site_behind_a_log_in_form_is_told(web: Web, tmp_path: Path) -> None:
    """Where every page leads to a form for members, nothing was collected; a form that is linked is a page."""
    form = '<form action="/in"><input name="user"><input type="password" name="word"></form>'
    web["a.test/login"] = html(text=form, title="Log in")
    web["a.test/"] = Reply(status=302, headers={"Location": "/login?next=/"})
    web["a.test/login?next=/"] = html(text=form, title="Log in")
    said = crawl(web, tmp_path / "c", "http://a.test/", code=4)
    assert "http://a.test/: failed: login" in said and "a log-in form stands in the place" in said
    web["b.test/"] = html("/login", text="Welcome")
    web["b.test/login"] = html(text=form, title="Log in")
    crawl(web, tmp_path / "d", "http://b.test/")
    assert states(tmp_path / "d")["http://b.test/login"] == "fetched"


def test_a_site_that_says_nofollow_is_told(web: Web, tmp_path: Path) -> None:
    """A crawl that ends with its first page says why, and what to do."""
    web["a.test/"] = html("/1", "/2", head='<meta name="robots" content="nofollow">', text="start")
    said = crawl(web, tmp_path / "c", "http://a.test/")
    assert "2 links were not followed, as the pages say nofollow: --set fetch.nofollow=ignore follows them" in said
    web["a.test/1"] = web["a.test/2"] = html(text="page")
    said = crawl(web, tmp_path / "c", "http://a.test/", "--set", "fetch.nofollow=ignore")
    assert len(web.paths()) == 3 and "as the pages say nofollow" not in said


def test_what_is_not_named_is_kept(web: Web, tmp_path: Path) -> None:
    """The URL named again goes on with the collection's settings; what changes is told, and bounds are of one run."""
    folder, url = tmp_path / "c", "http://a.test/"
    web["a.test/"] = html("/1", "/print/2", text="start")
    web["a.test/1"] = web["a.test/print/2"] = html(text="page")
    crawl(web, folder, url, "--set", "fetch.total_timeout_s=50", "--exclude", "/print/", "--limit", "1", code=5)
    said = crawl(web, folder, url, "--set", "fetch.redirects=3")
    assert "goes on: fetch.redirects 10 → 3 (" in said
    mission = Collection(folder).mission
    assert (mission.fetch.total_timeout_s, mission.reject, mission.limits.pages) == (50, ("/print/",), 0)
    assert "goes on" not in crawl(web, folder, url)
    assert "goes on: fetch.total_timeout_s 50 → 60 (" in crawl(web, folder, url, "--set", "fetch.total_timeout_s=60")
    assert states(folder)["http://a.test/print/2"] == "rejected reject-list"


def test_what_was_named_beside_a_mission_is_kept(web: Web, tmp_path: Path) -> None:
    """A mission named again brings what its file says now; what the command line said stays, but for secrets."""
    folder, file = tmp_path / "c", tmp_path / "m.toml"
    web["a.test/"] = html(text="start")
    file.write_text("name = 'mine'\nseeds = ['http://a.test/']\nreject = ['/print/']\n[fetch]\ntotal_timeout_s = 40\n")
    secret = 'hosts."a.test".password=hush'
    crawl(web, folder, str(file), "--set", "fetch.redirects=3", "--exclude", "/x/", "--set", secret, "--limit", "9")
    file.write_text("name = 'mine'\nseeds = ['http://a.test/']\n[fetch]\ntotal_timeout_s = 30\n")
    said = crawl(web, folder, str(file))
    assert "fetch.total_timeout_s 40 → 30" in said and "redirects" not in said
    mission = Collection(folder).mission
    assert (mission.fetch.redirects, mission.reject, mission.limits.pages) == (3, ("/x/",), 0)
    assert "hush" not in (folder / "lycosa.toml").read_text()


def test_another_mission_in_a_collection_is_asked_about_on_a_terminal(web: Web, tmp_path: Path) -> None:
    """Whoever sits there may have meant another collection; what nobody sits at goes on, and tells what changes."""
    folder, file = tmp_path / "c", tmp_path / "m.toml"
    web["a.test/"] = html(text="start")
    crawl(web, folder, "http://a.test/")
    file.write_text("name = 'other'\n[fetch]\ntotal_timeout_s = 30\n")
    ours, theirs = pty.openpty()
    words = command(web, folder, str(file), "http://a.test/")
    with subprocess.Popen(words, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.write(ours, b"n\n")
        process.wait(timeout=60)
    asked = os.read(ours, 4096).decode()
    assert process.returncode == 2 and 'made by the mission "mirror"' in asked
    assert Collection(folder).mission.name == "mirror"
    said = crawl(web, folder, str(file), "http://a.test/")
    assert 'this is "other"; fetch.total_timeout_s' in said
    os.close(ours)
    os.close(theirs)
