"""`lycosa why`: the right grounds for URLs of every fate, over a real crawl of a small web."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.command_line import run
from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.errors import CollectionError, UsageError
from lycosa.explain.narrative import conclude, format_why
from lycosa.explain.why import Why
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Link
from lycosa.parse import Doc
from lycosa.quarry import Quarry
from lycosa.reasons import RULES

LYCOSA = (sys.executable, "-m", "lycosa")
SETTINGS = (
    "--delay", "0", "--per-host", "4", "--depth", "3", "--exclude", "/print/", "--include", "^http://[a-z.]+/[^.]*$",
    "--max-host-pages", "40", "--contact", "mailto:test@lycosa.test",
    "--set", "fetch.retries=1", "--set", "fetch.retry_delay_s=0.05", "--set", "limits.html_bytes=20000",
    "--set", "fetch.total_timeout_s=0.5", "--set", "traps.repeats=2", "--set", "urls.drop_tracking=true",
    "--set", "urls.sort_query=true",
)  # fmt: skip


def fill(web: Web) -> None:
    """A web in which every fate can be met."""
    site = "site.test"
    web[f"{site}/robots.txt"] = Reply(b"User-agent: *\nDisallow: /secret\nAllow: /\nCrawl-delay: 0.01\n")
    web[f"{site}/"] = html(
        "/kept", "/copy", "/moved", "/moved-for-good", "/lost", "/forbidden", "/broken", "/slow", "/large", "/loop",
        "/print/kept", "/data.pdf", "/1", "/a/a/a/a", "/secret/plan", "/wrong", "http://elsewhere.test/",
        "http://dead.site.test/", "http://nowhere.site.test/", "http://small.site.test/", "/wild?b=2&a=1&utm_source=x",
        title="Site",
    )  # fmt: skip
    web[f"{site}/kept"] = html(title="Kept")
    web[f"{site}/copy"] = web.pages[f"{site}/kept"]
    web[f"{site}/wild?a=1&b=2"] = html(title="Wild")
    web[f"{site}/moved"] = Reply(status=302, headers={"Location": "/kept"})
    web[f"{site}/moved-for-good"] = Reply(status=301, headers={"Location": "/hop"})
    web[f"{site}/hop"] = Reply(status=302, headers={"Location": "http://elsewhere.test/new"})
    web[f"{site}/loop"] = Reply(status=302, headers={"Location": "/loop"})
    web[f"{site}/forbidden"] = Reply(b"no", 403)
    web[f"{site}/broken"] = Reply(b"oops", 500)
    web[f"{site}/slow"] = Reply(b"late", delay_s=0.8)
    web[f"{site}/large"] = html(title="Large", text="x" * 30_000)
    for n in (1, 2, 3):
        web[f"{site}/{n}"] = html(f"/{n + 1}", title=str(n), text="The next is here:")
    web["small.site.test/"] = html(*(f"/{n}" for n in range(60)), title="Small")
    web.make = lambda address: html(title=address) if address.startswith("small.site.test/") else None


def crawl(folder: Path, *words: str, code: int = 0) -> None:
    done = subprocess.run([*LYCOSA, "crawl", "-c", str(folder), *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """The collection of a crawl that came to its end."""
    folder, web = tmp_path_factory.mktemp("why") / "c", Web()
    fill(web)
    there = ["--connect-to", "dead.site.test=127.0.0.1:9"]
    for host in ("site.test", "small.site.test"):
        there += ["--connect-to", f"{host}=127.0.0.1:{web.port}"]
    try:
        crawl(folder, "Site.test#top", "http://site.test/x/../wrong", *SETTINGS, *there)
    finally:
        web.close()
    with Collection(folder) as collection:
        yield collection


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """One that a limit stopped: it has URLs that are still to be fetched, one that waits, one that was set aside."""
    folder, web = tmp_path_factory.mktemp("why") / "c", Web()
    web["a.test/"] = html("/busy", "/b", "/c", "/d", "http://b.test/", title="A")
    web["a.test/busy"] = Reply(b"later", 503, headers={"Retry-After": "300"})
    web["a.test/b"] = html("/refused", title="B", head='<meta name="robots" content="nofollow">')
    settings = ("--delay", "0", "--limit", "2", "--scope", "free", "--contact", "mailto:test@lycosa.test")
    slow = ("--set", "fetch.retry_after_max_s=0", "--set", "fetch.retry_delay_s=600", "--workers", "1")
    try:
        crawl(folder, "http://a.test/", "--connect-to", web.connect_to, *settings, *slow, code=5)
    finally:
        web.close()
    frontier = SqliteFrontier(folder / "crawl.db")
    row = frontier.known.find("http://a.test/d")
    assert row is not None
    frontier.changes.strike(row.row)
    frontier.changes.strike(row.row)
    frontier.changes.set_aside(row.row, "killed-worker")
    frontier.close()
    with Collection(folder) as collection:
        yield collection


#: URL of the crawl that ended, its state, the rule or reason that decided, and what a person is told of it.
FATES = [
    ("http://site.test/", "fetched", "", "It was fetched and kept."),
    ("http://site.test/kept", "fetched", "", "It was fetched and kept."),
    ("http://site.test/copy", "duplicate", "", "its content is that of http://site.test/kept"),
    ("http://site.test/moved", "redirected for now", "", "to http://site.test/kept, which is fetched"),
    (
        "http://site.test/moved-for-good", "redirected for good", "",
        "to http://site.test/hop, and from there to http://elsewhere.test/new, which is rejected (scope)",
    ),
    ("http://elsewhere.test/new", "rejected", "scope", "elsewhere.test is not a host of the seeds"),
    ("http://site.test/lost", "gone", "http-404", "the host has no such page"),
    ("http://site.test/wrong", "gone", "http-404", "the host has no such page"),
    ("http://site.test/forbidden", "failed", "http-403", "the host forbids it. Ask its owner"),
    ("http://site.test/broken", "failed", "http-500", "the host answered 500"),
    ("http://site.test/slow", "failed", "timeout", "longer than fetch.total_timeout_s = 0.5"),
    ("http://site.test/large", "fetched", "too-large", "larger than limits.html_bytes = 20000"),
    ("http://site.test/loop", "failed", "redirect-loop", "the page redirects to itself"),
    ("http://site.test/print/kept", "rejected", "reject-list", "the pattern '/print/' of the reject list matches"),
    ("http://site.test/data.pdf", "rejected", "accept-list", "its file name, data.pdf. Add a pattern with --include"),
    ("http://site.test/4", "rejected", "depth", "4 links from a seed; limits.depth = 3. Raise --depth"),
    ("http://site.test/a/a/a/a", "rejected", "trap:repeat", "'a' occurs 4 times in the path; traps.repeats = 2"),
    ("http://site.test/secret/plan", "rejected", "robots", "disallowed by line 2 of robots.txt, Disallow: /secret"),
    ("http://elsewhere.test/", "rejected", "scope", "elsewhere.test is not a host of the seeds"),
    ("http://dead.site.test/", "failed", "connect", "the host refused the connection. Check that it is up"),
    ("http://nowhere.site.test/", "failed", "dns", "the name of the host has no address"),
    ("http://site.test/wild?b=2&a=1&utm_source=x", "fetched", "", "It was fetched and kept."),
]  # fmt: skip


@pytest.mark.parametrize(("url", "state", "reason", "said"), FATES, ids=[fate[0] for fate in FATES])
def test_every_fate_has_its_grounds(ended: Collection, url: str, state: str, reason: str, said: str) -> None:
    """The stored state, the reason, and a sentence with what was found, what is allowed, what to do."""
    story = ended.why(url)
    assert story.fate is not None
    assert (story.fate.state, story.fate.reason) == (state, reason)
    assert said in conclude(story)
    refused = [ruling.rule for ruling in story.rules if ruling.ok is False]
    assert refused == ([reason] if state == "rejected" else [])
    assert format_why(story).startswith(f"{story.url}: {state}")


def test_a_host_that_spent_its_budget(ended: Collection) -> None:
    """Its other pages are refused for that, with both numbers."""
    (url,) = next(ended.rows("SELECT url FROM url WHERE reason = 'host-budget' LIMIT 1"))
    assert "40 pages of small.site.test are stored; limits.host_pages = 40. Raise --max" in conclude(ended.why(url))


def test_rules_are_told_in_the_order_of_the_crawl(ended: Collection) -> None:
    """Each with its own grounds; a seed passes them by."""
    rules = [ruling.rule for ruling in ended.why("http://site.test/kept").rules]
    assert rules[:6] == ["scheme", "length", "scope", "reject-list", "accept-list", "depth"]
    assert rules[-3:] == ["robots", "host-budget", "page-limit"]
    assert all(rule.startswith("trap:") for rule in rules[6:-3])
    assert set(rules) <= RULES.keys()
    assert [ruling.rule for ruling in ended.why("site.test").rules][:2] == ["scheme", "seed"]


def test_the_way_from_a_seed_is_told(ended: Collection) -> None:
    """Each step with the kind of its link, its text and the words beside it."""
    path = ended.why("http://site.test/3").path
    assert [(step.url, step.via, step.anchor) for step in path] == [
        ("http://site.test/", "seed", ""),
        ("http://site.test/1", "a", "to /1"),
        ("http://site.test/2", "a", "to /2"),
        ("http://site.test/3", "a", "to /3"),
    ]
    assert path[-1].context == "The next is here:"
    redirected = ended.why("http://elsewhere.test/new").path
    assert [step.via for step in redirected] == ["seed", "a", "redirect", "redirect"]


def test_a_long_way_is_told_in_short(tmp_path: Path, web: Web) -> None:
    """Also to programs: the first steps and the last ones, and how many lie between."""
    for n in range(40):
        web[f"long.test/{n or ''}"] = html(f"/{n + 1}", title=str(n), text=f"the words of page {n}")
    words = ("crawl", "http://long.test/", "-c", str(tmp_path / "c"), "--connect-to", web.connect_to, "--delay", "0")
    run(*words, "--quiet")
    with Collection(tmp_path / "c") as source:
        why = source.why("http://long.test/39")
    assert (len(why.path), why.path_left_out) == (11, 29)
    assert [step.url for step in why.path[:3]] == ["http://long.test/", "http://long.test/1", "http://long.test/2"]
    assert why.path[-1].url == "http://long.test/39" and "… 29 more …" in format_why(why)


def test_who_is_named_already_is_not_told_to_be(tmp_path: Path, web: Web) -> None:
    """A host that forbids it has been told who asks."""
    web["a.test/"] = Reply(b"", 403)
    for name, contact, remedy in (("one", "mailto:a@b.test", "ask its owner"), ("two", "", "with --contact")):
        place = ("-c", str(tmp_path / name), "--connect-to", web.connect_to)
        run("crawl", "http://a.test/", *place, "--quiet", *(["--contact", contact] if contact else []))
        with Collection(tmp_path / name) as source:
            fate = source.why("http://a.test/").fate
        assert fate is not None and fate.remedy.endswith(remedy)


def test_what_is_stored_of_a_page_is_told(ended: Collection) -> None:
    """Type, size, title, archive record, spelling; the host's pace as its robots.txt asks."""
    story = ended.why("site.test/")
    assert story.fate and story.fate.page and story.fate.seed
    page = story.fate.page
    assert (page.mime, page.title, story.fate.copies, story.fate.original) == ("text/html", "Site", 1, "Site.test#top")
    assert (ended.archive / page.warc).stat().st_size >= page.offset + page.length
    assert (story.host.known, story.host.delay_s, story.host.robots_status) == (True, 0.01, 200)
    assert story.score and story.score.parts == {"links from a seed": 0}


def test_addresses_are_taken_as_the_crawl_takes_them(ended: Collection) -> None:
    """What normalising and cleaning changed is told, by the setting that wants it."""
    story = ended.why("HTTP://ana:secret@Site.test:80/wild?b=2&utm_source=x&a=1#top")
    assert story.url == "http://site.test/wild?a=1&b=2"
    assert "secret" not in format_why(story)
    said = "\n".join(story.address.changes)
    for part in (
        "#top",
        "user and password",
        "Site.test was written as site.test",
        "port 80",
        "utm_source=x was dropped",
    ):
        assert part in said
    assert "urls.drop_tracking" in said and "urls.sort_query" in said


@pytest.mark.parametrize("word", ["", "nonsense", "mailto:ana@site.test", "javascript:alert(1)", "http://", "/path"])
def test_nonsense_is_refused(ended: Collection, word: str) -> None:
    """What is no address has no story."""
    with pytest.raises(UsageError, match="not an address"):
        ended.why(word)


def test_a_url_that_was_never_seen(ended: Collection) -> None:
    """Whether it would be visited, whether its host is known, and which like it are known."""
    story = ended.why("http://site.test/never")
    assert story.fate is None and story.visited and story.host.known and not story.near
    assert "never seen. If a link to it is found, it is visited." in conclude(story)
    far = ended.why("ftp://far.test/x")
    assert not far.visited and not far.host.known
    assert "not visited (scheme)" in conclude(far)
    assert ended.why("http://other.site.test/").visited is None
    assert "if its robots.txt allows" in conclude(ended.why("http://other.site.test/"))


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("https://www.site.test/kept/", "http://site.test/kept"),
        ("http://site.test/kept?", "http://site.test/kept"),
        ("http://site.test/index.html", "http://site.test/"),
        ("http://site.test/KEPT/?utm_medium=1", "http://site.test/kept"),
    ],
)
def test_known_addresses_that_are_nearly_the_same(ended: Collection, word: str, known: str) -> None:
    """Other scheme, www, slash, index file, query: the one that is known is named."""
    assert known in [hop.url for hop in ended.why(word).near]


def test_who_links_there_is_told_on_demand(ended: Collection, stopped: Collection) -> None:
    """Pages with the text of their links; a URL that was only ever named under nofollow is explained by them."""
    links = ended.why("http://site.test/kept", links=True).links
    assert links and [(link.source, link.text, link.kind) for link in links.first] == [
        ("http://site.test/", "to /kept", "link"),
        ("http://site.test/moved", "", "redirect"),
    ]
    assert ended.why("http://site.test/kept").links is None
    story = stopped.why("http://a.test/refused", links=True)
    assert story.fate and story.fate.reason == "nofollow" and story.links and story.links.count == 1
    assert not story.links.first[0].accepted
    assert "not followed from there" in format_why(story)


def test_what_is_still_to_be_done(stopped: Collection) -> None:
    """Where it stands in the queue of its host, when it is tried again, and what the limit says."""
    story = stopped.why("http://a.test/c")
    assert story.fate and story.fate.state == "unfetched"
    assert story.queue and (story.queue.ahead, story.queue.pending) == (0, 1)
    assert "2 pages were fetched; limits.pages = 2. Raise --limit" in conclude(story)
    busy = stopped.why("http://a.test/busy")
    assert busy.fate and (busy.fate.state, busy.fate.http, busy.fate.retries) == ("waiting for a retry", 503, 1)
    assert 300 < busy.fate.due - time.time() < 700
    assert "It is tried again, not before" in conclude(busy)
    assert busy.host.next_at > 0
    aside = stopped.why("http://a.test/d")
    assert aside.fate and (aside.fate.reason, aside.fate.strikes) == ("killed-worker", 2)


def test_settings_that_changed_since(stopped: Collection, tmp_path: Path) -> None:
    """A refusal that would not be repeated is told as such."""
    shutil.copytree(stopped.path, tmp_path / "c")
    frontier = SqliteFrontier(tmp_path / "c/crawl.db")
    frontier.changes.end_host("a.test", "scope")
    frontier.close()
    with Collection(tmp_path / "c") as collection:
        assert "it would be admitted: the next crawl judges it again" in conclude(collection.why("http://a.test/c"))


class Hunter(Quarry):
    """Scores by the length of the link's text."""

    def score(self, link: Link, doc: Doc) -> float:
        return sum(self.explain(link, doc).values())

    def explain(self, link: Link, doc: Doc) -> dict[str, float]:
        return {"anchor": len(link.text) / 100, "page": len(doc.title) / 100}


def test_a_quarry_tells_the_parts_of_its_score(ended: Collection, tmp_path: Path) -> None:
    """Worked out anew from the page that the link stands on."""
    shutil.copytree(ended.path, tmp_path / "c")
    text = (tmp_path / "c/lycosa.toml").read_text()
    (tmp_path / "c/lycosa.toml").write_text(text.replace('order = "bfs"', 'order = "best"'))
    with Collection(tmp_path / "c") as collection:
        score = collection.why("http://site.test/kept", quarry=Hunter()).score
        assert score and score.parts == {"anchor": 0.08, "page": 0.04}
    for name, parts in ((f"{__file__}:Hunter", {"anchor": 0.08, "page": 0.04}), ("nowhere.py:Hunter", {})):
        text = text.replace('quarry = ""', f'quarry = "{name}"').replace('order = "bfs"', 'order = "best"')
        (tmp_path / "c/lycosa.toml").write_text(text)
        with Collection(tmp_path / "c") as collection:
            score = collection.why("http://site.test/kept").score
            assert score and score.parts == parts
            assert bool(parts) != ("not known" in score.rule)
        text = text.replace(name, "")


def test_the_command(ended: Collection, tmp_path: Path) -> None:
    """One line of JSON an address for programs, an account for people; nonsense ends with 2."""

    def run(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [*LYCOSA, "why", "-c", str(ended.path), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, input=given)

    lines = run("http://site.test/4", "-", given="site.test\n\nsite.test/never\n").stdout.splitlines()
    stories = [json.loads(line) for line in lines]
    assert [story["fate"] and story["fate"]["state"] for story in stories] == ["rejected", "fetched", None]
    told = run("http://site.test/4", "--format", "text").stdout
    assert told.splitlines()[0] == "http://site.test/4: rejected (depth)"
    for words, code in ((["nonsense"], 2), ([], 2), (["-c", str(tmp_path / "none"), "a.test"], 2)):
        done = run(*words)
        assert done.returncode == code and "Traceback" not in done.stderr and done.stderr.startswith("lycosa: ")


def test_a_crawl_that_is_running_can_be_asked(tmp_path: Path, web: Web) -> None:
    """Reading does not disturb it, and says that it runs."""
    web["a.test/"] = html("/b", "/c", title="A")
    web["a.test/b"] = Reply(b"b", delay_s=2.0)
    settings = ("--delay", "0", "--connect-to", web.connect_to, "--contact", "mailto:test@lycosa.test")
    crawling = subprocess.Popen([*LYCOSA, "crawl", "http://a.test/", "-c", str(tmp_path / "c"), "-q", *settings])
    try:
        story = wait_for(tmp_path / "c", "http://a.test/c")
    finally:
        assert crawling.wait(timeout=60) == 0
    assert story.running == crawling.pid
    assert story.fate and story.fate.state == "unfetched"
    assert story.queue and story.queue.ahead == 1


def wait_for(folder: Path, url: str) -> Why:
    """The story of a URL as soon as it is known."""
    for _ in range(300):
        time.sleep(0.02)
        with suppress(CollectionError), Collection(folder) as collection:  # there is none yet
            story = collection.why(url)
            if story.fate is not None:
                return story
    raise AssertionError(f"{url} was never found")


def test_how_long_a_host_asks_to_be_left_alone(stopped: Collection) -> None:
    """Also where that is longer than the mission waits."""
    asked = "it asked to be left alone for 300 s (Retry-After), and was for 0 s: a higher fetch.retry_after_max_s obeys"
    assert asked in format_why(stopped.why("http://a.test/busy"))
    assert "Retry-After" not in format_why(stopped.why("http://b.test/"))
