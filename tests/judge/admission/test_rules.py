"""Accept and reject lists, depth, and the order in which rules are asked."""

from __future__ import annotations

from typing import Any

import pytest

from lycosa.config.settings import LimitSettings, Mission, TrapSettings
from lycosa.errors import UsageError
from lycosa.judge.admission.rules import Patterns, Rules
from lycosa.judge.priority.policy import score_of
from lycosa.model import Verdict
from lycosa.reasons import RULES
from lycosa.urls import host_of

SEED = "http://www.sample.com/"


def judge(mission: Mission, url: str, **known: Any) -> Verdict:
    rules = Rules(mission, [SEED])
    return rules.judge(url, **{"depth": 1, "host": host_of(url)} | known)


def test_without_lists_everything_in_scope_is_visited() -> None:
    """The default mission refuses nothing on the seed's host."""
    for path in ("", "a", "a/b.html", "x?y=z"):
        assert judge(Mission(), SEED + path).ok


@pytest.mark.parametrize(
    ("pattern", "visited", "refused"),
    [
        (r"\.html$", ["a.html", "", "folder/", "name"], ["a.pdf", "a.html.gz"]),
        (r"^index\.html$", ["", "x/", "x", "x/index.html"], ["x/other.html"]),
        (r"^http://www\.sample\.com/docs/", ["docs/", "docs/a.pdf"], ["a.pdf"]),
        (r"(?i)\.PDF$", ["a.pdf", "a.Pdf"], ["a.html"]),
        (r"^a\.php$", ["x/a.php?id=3"], ["x/b.php"]),
        ("id=[0-9]+$", ["x?id=3"], ["x?id=b"]),
    ],
)
def test_an_accept_pattern_is_tried_on_the_address_and_the_file_name(
    pattern: str, visited: list[str], refused: list[str]
) -> None:
    """A path that ends in / or has no extension counts as index.html."""
    mission = Mission(accept=(r"never matches", pattern))
    for path in visited:
        assert judge(mission, SEED + path).ok
    for path in refused:
        assert judge(mission, SEED + path).reason == "accept-list"


def test_reject_wins_over_accept() -> None:
    """An address that both lists match is refused, and the verdict names the pattern."""
    mission = Mission(accept=(r"\.html$",), reject=("/private/", "/old/"))
    assert judge(mission, SEED + "a.html").ok
    refusal = judge(mission, SEED + "old/a.html")
    assert refusal.reason == "reject-list"
    assert "'/old/'" in refusal.detail


def test_seeds_are_always_visited() -> None:
    """No list, depth or trap keeps a seed out; a scheme that cannot be fetched does."""
    mission = Mission(accept=("never",), reject=(".",), limits=LimitSettings(depth=0), traps=TrapSettings(url_length=5))
    assert judge(mission, SEED, seed=True).ok
    assert judge(mission, "ftp://www.sample.com/", seed=True).reason == "scheme"


@pytest.mark.parametrize(("limit", "deepest"), [(-1, 10_000), (0, 0), (1, 1), (7, 7)])
def test_depth(limit: int, deepest: int) -> None:
    """A depth of 0 is the seeds alone; a negative one has no limit."""
    mission = Mission(limits=LimitSettings(depth=limit))
    assert judge(mission, SEED + "a", depth=deepest).ok
    if limit >= 0:
        assert judge(mission, SEED + "a", depth=deepest + 1).reason == "depth"


def test_the_first_refusal_in_the_fixed_order_is_given() -> None:
    """With everything wrong at once, mending one thing after the other shows the order."""
    bounds = TrapSettings(url_length=60, path_depth=2)
    mission = Mission(accept=("good",), reject=("bad",), limits=LimitSettings(depth=3), traps=bounds)
    worst = "//elsewhere.test/bad/" + "x/" * 40
    steps = [
        ("ftp:" + worst, 9, "scheme"),
        ("http:" + worst, 9, "length"),
        ("http://elsewhere.test/bad/x/x", 9, "scope"),
        (SEED + "bad/x/x", 9, "reject-list"),
        (SEED + "x/x/x", 9, "accept-list"),
        (SEED + "good/x/x", 9, "depth"),
        (SEED + "good/x/x", 3, "trap:path-depth"),
        (SEED + "good/x", 3, ""),
    ]
    for url, depth, reason in steps:
        assert judge(mission, url, depth=depth).reason == reason


def test_every_refusal_has_a_known_code_and_tells_the_setting() -> None:
    """Codes come from one table; the detail names what was found and what is allowed."""
    mission = Mission(accept=("good",), limits=LimitSettings(depth=3), traps=TrapSettings(url_length=60))
    cases = [
        (SEED + "x" * 99, 1, "traps.url_length = 60"),
        (SEED + "good", 4, "limits.depth = 3"),
        (SEED, 1, "index.html"),
    ]
    for url, depth, said in cases:
        verdict = judge(mission, url, depth=depth)
        assert verdict.reason in RULES
        assert said in verdict.detail


#: What cannot be told from an address alone: what its host, its page or the link to it is like.
LATER = [
    "trap:sitemaps", "host-budget", "host-quota", "forgotten", "log-out", "nofollow", "rel-nofollow", "internal-link",
    "whole", "page-limit", "robots", "wishes", "not-quarry", "dropped-type", "noarchive",
]  # fmt: skip


def test_explain_evaluates_every_rule() -> None:
    """In the order of judging, refused or not, and each with its grounds; nothing is counted."""
    mission = Mission(
        accept=(r"\.html$",),
        reject=("/private/",),
        limits=LimitSettings(depth=3),
        traps=TrapSettings(queries_per_path=1),
    )
    rules = Rules(mission, [SEED])
    url = "http://elsewhere.test/private/a.pdf?x"
    for _ in range(3):
        rows = rules.explain(url, depth=9, host=host_of(url))
        assert [code for code, verdict in rows if not verdict.ok] == ["scope", "reject-list", "accept-list", "depth"]
    codes = [code for code, _ in rows]
    known = [code for code in RULES if code != "no-range"]  # only missions that describe where to go have ranges
    assert codes == known[: len(codes)]
    assert known[len(codes) :] == LATER
    assert all(verdict.detail for _, verdict in rows)
    assert all(verdict.reason in ("", code) for code, verdict in rows)
    assert not rules.tallies.drain()


def test_explain_agrees_with_judge() -> None:
    """The first refusal that explain lists is the one that judge gives."""
    mission = Mission(
        scope="path",
        accept=(r"\.html$", "cal"),
        limits=LimitSettings(depth=3),
        traps=TrapSettings(calendar=2, repeats=2),
    )
    rules = Rules(mission, [SEED + "docs/"])
    urls = [f"{SEED}docs/cal/2024/0{n}/" for n in range(1, 6)]
    urls += [SEED + "docs/a.html", SEED + "docs/a.pdf", SEED + "a.html", SEED + "docs/x/x/x/a.html", "ftp://a.test/"]
    for url in urls:
        rows = rules.explain(url, depth=1, host=host_of(url))
        first = next((code for code, verdict in rows if not verdict.ok), "")
        assert rules.judge(url, depth=1, host=host_of(url)).reason == first


def test_explain_says_that_seeds_are_visited() -> None:
    """For a seed no other rule is asked."""
    rows = Rules(Mission(reject=(".",)), [SEED]).explain(SEED, depth=0, host="www.sample.com", seed=True)
    assert [code for code, _ in rows] == ["scheme", "seed"]
    assert all(verdict.ok for _, verdict in rows)


@pytest.mark.parametrize("pattern", ["(", "[a", "*x", "(?=a)b", r"(a)\1", "a{5000}", "(?P<n", "\ud800"])
def test_a_wrong_pattern_is_a_usage_error(pattern: str) -> None:
    """The message has the list, the pattern, what is wrong with it and whose syntax counts."""
    with pytest.raises(UsageError, match="RE2") as caught:
        Rules(Mission(reject=("fine", pattern)), [SEED])
    assert "reject" in str(caught.value)
    assert repr(pattern) in str(caught.value)


def test_patterns_that_are_too_large_together_are_a_usage_error() -> None:
    """Each may be fine alone."""
    with pytest.raises(UsageError, match="too large together"):
        Patterns([f"(a|b)[^x]{{{n},900}}y" for n in range(300)], setting="accept")


def test_patterns_do_not_touch_each_other() -> None:
    """Flags, open quotes and group names end with their pattern, and the first that matches is named."""
    patterns = Patterns([r"(?i)ABC", r"\Qx.y", r"(?P<n>1)", r"(?P<n>2)", "DEF", "abc"], setting="accept")
    assert patterns.find(b"abc") == "(?i)ABC"
    assert patterns.find(b"def") is None
    assert patterns.find(b"xzy", b"x.y") == r"\Qx.y"
    assert patterns.find(b"21") == r"(?P<n>1)"


def test_no_pattern_can_hang_the_crawl() -> None:
    """Patterns that need exponential time elsewhere take linear time here."""
    text = b"http://a.test/" + b"a" * 50_000 + b"!"
    assert Patterns([r"(a+)+$", r"(a|aa)+$", r"(.*a){20}b", r"^(\w+\s?)*$"], setting="accept").find(text) is None


def test_the_three_orders_differ_in_the_score_alone() -> None:
    """bfs prefers the shallow, dfs the newest page, best the promising; equal scores leave the order to the rows."""
    assert score_of("bfs", depth=1, sequence=9, link_score=0.1) > score_of("bfs", depth=2, sequence=1, link_score=0.9)
    assert score_of("dfs", depth=1, sequence=9, link_score=0.1) > score_of("dfs", depth=9, sequence=8, link_score=0.9)
    assert score_of("dfs", depth=1, sequence=9, link_score=0.1) == score_of("dfs", depth=1, sequence=9, link_score=0.2)
    assert score_of("best", depth=9, sequence=1, link_score=0.9) > score_of("best", depth=1, sequence=9, link_score=0.1)


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("/νέα/.*", "http://www.sample.com/%CE%BD%CE%AD%CE%B1/1.html"),
        (r"^νέο.*\.html$", "http://www.sample.com/a/%CE%BD%CE%AD%CE%BF-2.html"),
        (r"//παράδειγμα\.δοκιμή/", "http://xn--hxajbheg2az3al.xn--jxalpdlp/a.html"),
        (r".*\.html$", "http://www.sample.com/a/page.html;jsessionid=12AB"),
        (r"%CE%BD", "http://www.sample.com/%CE%BD.html"),
    ],
)
def test_patterns_match_addresses_as_people_read_them(pattern: str, url: str) -> None:
    """Other alphabets in paths and hosts; parameters of a path are no part of the file's name."""
    accepting = Rules(Mission(scope="free", accept=(pattern,)), [SEED])
    assert accepting.judge(url, depth=1, host="").ok
    assert not accepting.judge("http://www.sample.com/other.pdf", depth=1, host="").ok
    assert Rules(Mission(scope="free", reject=(pattern,)), [SEED]).judge(url, depth=1, host="").reason == "reject-list"
