"""What finds change in a crawl: quotas of hosts (X7), links that leave a host, answers cut off unless wanted (X8)."""

from __future__ import annotations

from pathlib import Path

from support.crawl_runs import crawl, rows
from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.collection.status import format_status, read_status
from lycosa.config.settings import LimitSettings
from lycosa.explain.narrative import format_why
from lycosa.explain.why import explain
from lycosa.judge.admission.fetch_rules import HostQuota
from lycosa.judge.admission.traps import Tallies

NOTES = """
from lycosa.model import Link
from lycosa.quarry import Quarry

class Notes(Quarry):
    vouched = frozenset({"see"})

    def recognise(self, doc):
        return "note" if doc.body.startswith(b"note") else None

    def links(self, doc):
        if self.recognise(doc):
            for word in doc.body.decode().split():
                if "://" in word:
                    yield Link(word, kind="see")

    def refused(self, doc, status):
        if status == 404 and "lost" in doc.url:
            yield Link("/found.txt", kind="guess")
"""


def quarry(folder: Path) -> tuple[str, ...]:
    (folder / "notes.py").write_text(NOTES)
    return "--set", f"quarry={folder}/notes.py:Notes", "--set", "keep.what=recognised", "--per-host", "1"


def note(text: str = "") -> Reply:
    return Reply(f"note {text}".encode(), headers={"Content-Type": "text/plain"})


def test_a_quota_grows_with_finds_up_to_its_ceiling() -> None:
    """So many at first, more with each find, never beyond the ceiling."""
    quota = HostQuota(LimitSettings(host_urls=2, host_urls_growth=3, host_urls_max=6), Tallies())
    assert (quota.room("a"), quota.judge("a").ok) == (2, True)
    quota.try_one("a")
    quota.try_one("a")
    assert quota.judge("a").reason == "host-quota"
    quota.find_one("a")
    assert quota.room("a") == 3
    for _ in range(9):
        quota.find_one("a")
    assert quota.allowance("a") == 6
    assert quota.allowance("b") == 2


def make_site(web: Web) -> None:
    """Host a is dull; host b has a note behind every page."""
    web["a.test/"] = html(*(f"/{n}" for n in range(30)), "http://b.test/")
    web["b.test/"] = html(*(f"/{n}" for n in range(30)))
    for n in range(30):
        web[f"a.test/{n}"] = html(title=str(n))
        web[f"b.test/{n}"] = note(f"{n}")


def test_a_host_without_finds_is_left_when_its_quota_is_spent(web: Web, tmp_path: Path) -> None:
    """The rest is refused with a reason; where something is found the crawl goes on. A restart counts on."""
    make_site(web)
    folder = tmp_path / "c"
    options = (
        *quarry(tmp_path),
        "--scope",
        "free",
        "--set",
        "limits.host_urls=5",
        "--set",
        "limits.host_urls_growth=2",
    )
    crawl(web, folder, "http://a.test/", *options, "--max-time", "60", "--workers", "2")
    assert len(web.paths("a.test")) == 5
    assert len(web.paths("b.test")) == 31
    assert rows(folder, "SELECT count(*) FROM urls WHERE reason = 'host-quota' AND host = 'a.test'") == [(26,)]
    web.asked.clear()
    crawl(web, folder, "http://a.test/", *options)
    assert web.paths() == []
    crawl(web, folder, "http://a.test/", *options, "--set", "limits.host_urls=9")
    assert len(web.paths("a.test")) == 4


def test_addresses_far_beyond_a_quota_are_counted_and_not_kept(web: Web, tmp_path: Path) -> None:
    """So many are kept, of which a find brings more back; the summary, the status and `why` tell of the others."""
    web["a.test/"] = html(*(f"/{n}" for n in range(1_200)), "/note")
    for n in range(1_200):
        web[f"a.test/{n}"] = html(title=str(n))
    folder = tmp_path / "c"
    options = (*quarry(tmp_path), "--set", "limits.host_urls=3", "--set", "limits.host_urls_growth=2")
    told = crawl(web, folder, "http://a.test/", *options)
    assert rows(folder, "SELECT count(*) FROM urls WHERE reason = 'host-quota'") == [(998,)]
    assert rows(folder, "SELECT count(*) FROM url WHERE url GLOB '*/1100'") == [(0,)]
    assert "998 addresses were NOT FETCHED" in told
    assert "beyond them 201 addresses were only counted (host-quota): once the bound is lifted" in told
    assert "only counted (host-quota): 201 addresses" in format_status(read_status(folder))
    with Collection(folder) as collection:
        told_why = format_why(explain(collection, "http://a.test/1100"))
    assert "it is not visited (host-quota): 1,000 addresses of a.test are kept" in told_why
    crawl(web, folder, "http://a.test/", *options, "--set", "limits.host_urls=0", "--recrawl", "--full")
    assert len(rows(folder, "SELECT 1 FROM url WHERE fetched_at > 0")) == 1_202


def test_the_ceiling_ends_it(web: Web, tmp_path: Path) -> None:
    """However much is found."""
    make_site(web)
    options = (*quarry(tmp_path), "--set", "limits.host_urls=5", "--set", "limits.host_urls_growth=9")
    crawl(web, tmp_path / "c", "http://b.test/", *options, "--set", "limits.host_urls_max=12")
    assert len(web.paths("b.test")) == 12


def test_a_vouched_link_is_never_refused_and_opens_the_host_again(web: Web, tmp_path: Path) -> None:
    """What a find refers to is fetched beyond the quota; being one itself, it brings back what was refused."""
    web["a.test/"] = html(*(f"/{n}" for n in range(9)), "/note", "http://b.test/")
    for n in range(9):
        web[f"a.test/{n}"] = html(title=str(n))
    web["b.test/"] = Reply(b"note http://a.test/far", headers={"Content-Type": "text/plain"}, delay_s=1.0)
    web["a.test/far"] = note()
    folder = tmp_path / "c"
    options = (
        *quarry(tmp_path),
        "--scope",
        "free",
        "--set",
        "limits.host_urls=3",
        "--set",
        "limits.host_urls_growth=4",
    )
    crawl(web, folder, "http://a.test/", *options)
    assert "a.test/far" in web.paths("a.test")
    assert len(web.paths("a.test")) == 7  # three, and four more for the find, which is one of them
    assert rows(folder, "SELECT count(*) FROM urls WHERE reason = 'host-quota'") == [(5,)]


def test_only_links_that_leave_the_host_are_followed(web: Web, tmp_path: Path) -> None:
    """A link to the same host is none to follow, unless a find vouches for it or it comes from elsewhere."""
    web["a.test/"] = html("/in", "http://b.test/")
    web["b.test/"] = html("/own", "http://a.test/from-b", "http://a.test/note")
    web["a.test/from-b"] = html("/in")
    web["a.test/note"] = note("http://a.test/seen")
    web["a.test/seen"] = note()
    crawl(web, tmp_path / "c", "http://a.test/", *quarry(tmp_path), "--scope", "free", "--set", "fetch.follow=external")
    assert set(web.paths()) == {"a.test/", "b.test/", "a.test/from-b", "a.test/note", "a.test/seen"}


def test_what_is_not_quarry_is_cut_off_and_quarry_is_fetched_whole(web: Web, tmp_path: Path) -> None:
    """The beginning shows what it is; of a page the links before the cut are followed."""
    filler = "x" * 50_000
    web["a.test/"] = html("/first", "/long-note")
    web.pages["a.test/"].body += filler.encode()
    web["a.test/first"] = note()
    web["a.test/long-note"] = note(filler)
    folder = tmp_path / "c"
    crawl(web, folder, "http://a.test/", *quarry(tmp_path), "--set", "limits.probe_bytes=10000", "--workers", "1")
    assert rows(folder, "SELECT url, size FROM pages ORDER BY url") == [
        ("http://a.test/first", 5),
        ("http://a.test/long-note", 50_005),
    ]
    assert rows(folder, "SELECT url, reason FROM urls WHERE reason <> ''") == [("http://a.test/", "too-large")]
    assert sorted(web.paths()) == ["a.test/", "a.test/first", "a.test/long-note", "a.test/long-note"]


def test_what_is_missing_is_looked_for(web: Web, tmp_path: Path) -> None:
    """A guess of the quarry's is fetched like a link, and marked."""
    web["a.test/"] = html("/lost.txt")
    web["a.test/found.txt"] = note()
    web["a.test/lost.txt"] = Reply(status=404)
    folder = tmp_path / "c"
    crawl(web, folder, "http://a.test/", *quarry(tmp_path))
    assert rows(folder, "SELECT url, via FROM urls WHERE via = 'guess'") == [("http://a.test/found.txt", "guess")]
    assert len(rows(folder, "SELECT 1 FROM pages")) == 1
