"""Wishes about use: a table of sayings, as the specifications' examples have them and as sites write them."""

from __future__ import annotations

import pytest
import turbohtml

from lycosa.model import USES
from lycosa.wishes.signals import Signal, read_page, read_robots, read_rsl, read_tdmrep, settle

URL = "https://sand.test/articles/7"
ALL = dict.fromkeys(USES, False)


def no(*uses: str) -> dict[str, bool]:
    return dict.fromkeys(uses, False)


def yes(*uses: str) -> dict[str, bool]:
    return dict.fromkeys(uses, True)


CONTENT_USAGE = [
    ("train-ai=n", no("train")),
    ("train-ai=y", yes("train")),
    ("train-ai=n, search=y", no("train") | yes("search")),
    ("search=n", no("search")),
    ("bots=n", ALL),
    ("bots=y, train-ai=n", yes(*USES) | no("train")),
    ("train-genai=n", no("train")),
    ("ai-use=n", no("input")),
    ('train-ai="n"', no("train")),
    ("train-ai = n", no("train")),
    ("TRAIN-AI=N", no("train")),
    ("train-ai=n;exp=5, search=y", no("train") | yes("search")),
    ("train-ai=n, train-ai=y", no("train")),
    ("unknown=n", {}),
    ("train-ai=maybe", {}),
    ("train-ai", {}),
    ("", {}),
    (",,,=;", {}),
]
CONTENT_SIGNAL = [
    ("ai-train=no", no("train")),
    ("search=yes, ai-train=no", yes("search") | no("train")),
    ("search=yes,ai-train=no,ai-input=no", yes("search") | no("train", "input")),
    ("search=yes, ai-input=yes, ai-train=yes", yes("search", "input", "train")),
    ("ai-input=no", no("input")),
    ("search=no", no("search")),
    ("Search=Yes", yes("search")),
    ("ai-train=", {}),
    ("images=no", {}),
]
RESERVATIONS = [
    ("1", no("mining", "train")),
    ("0", yes("mining")),
    (" 1 ", no("mining", "train")),
    ("2", {}),
    ("", {}),
    ("yes", {}),
]
DIRECTIVES = [
    ("noai", no("train", "input")),
    ("noai, noimageai", no("train", "input")),
    ("noml", no("train")),
    ("noarchive", no("archive")),
    ("nocache", no("archive")),
    ("noindex", no("search")),
    ("none", no("search")),
    ("nosnippet", no("input")),
    ("max-snippet:0", no("input")),
    ("max-snippet: 0", no("input")),
    ("max-snippet:20", {}),
    ("noindex, noarchive, noai", no("search", "archive", "train", "input")),
    ("index, follow", {}),
    ("nofollow", {}),
    ("NOAI", no("train", "input")),
    ("all", {}),
    ("unavailable_after: 25 Jun 2030 15:00:00 GMT", {}),
]
LICENCES = [
    ("https://creativecommons.org/licenses/by/4.0/", yes("archive", "mining", "train")),
    ("https://creativecommons.org/licenses/by-sa/4.0/", yes("archive", "mining", "train")),
    ("http://creativecommons.org/licenses/by-nc/2.0/", yes("archive", "mining")),
    ("https://creativecommons.org/licenses/by-nd/4.0/deed.de", yes("archive", "mining")),
    ("https://creativecommons.org/licenses/by-nc-nd/4.0/", yes("archive", "mining")),
    ("https://creativecommons.org/publicdomain/zero/1.0/", yes("archive", "mining", "train")),
    ("https://sand.test/terms", {}),
]
AGENTS = [
    *(
        (name, no("train"))
        for name in ("GPTBot", "Applebot-Extended", "anthropic-ai", "ClaudeBot", "meta-externalagent")
    ),
    *((name, no("train")) for name in ("Bytespider", "cohere-ai", "AI2Bot", "Timpibot", "FacebookBot", "PanguBot")),
    *((name, no("train", "input")) for name in ("Google-Extended", "Amazonbot")),
    *(
        (name, no("input"))
        for name in ("ChatGPT-User", "OAI-SearchBot", "PerplexityBot", "Claude-User", "DuckAssistBot")
    ),
    *((name, no("mining")) for name in ("Diffbot", "omgili", "omgilibot")),
    ("CCBot", no("train", "archive")),
    *((name, no("archive")) for name in ("ia_archiver", "archive.org_bot")),
    ("Googlebot", {}),
    ("bingbot", {}),
]


def header(name: str, value: str) -> list[Signal]:
    return read_page({name: value}, None, url=URL)


def markup(head: str) -> list[Signal]:
    return read_page({}, turbohtml.parse(f"<html><head>{head}</head><body><p>x</body></html>"), url=URL)


def robots(text: str, url: str = URL) -> list[Signal]:
    return read_robots(text.encode(), url=url)


@pytest.mark.parametrize("value, held", CONTENT_USAGE)
def test_content_usage(value: str, held: dict[str, bool]) -> None:
    """In the header, in <meta>, and in robots.txt with and without a path."""
    assert settle(header("content-usage", value)) == held
    assert settle(robots(f"User-Agent: *\nAllow: /\nContent-Usage: {value}\n")) == held
    assert settle(robots(f"User-Agent: *\nContent-Usage: /articles/ {value}\n")) == held
    assert settle(robots(f"User-Agent: *\nContent-Usage: /other/ {value}\n")) == {}


@pytest.mark.parametrize("value, held", CONTENT_SIGNAL)
def test_content_signal(value: str, held: dict[str, bool]) -> None:
    assert settle(header("content-signal", value)) == held
    assert settle(robots(f"User-agent: *\nContent-Signal: {value}\nAllow: /\n")) == held


@pytest.mark.parametrize("value, held", RESERVATIONS)
def test_the_reservation_of_mining(value: str, held: dict[str, bool]) -> None:
    assert settle(header("tdm-reservation", value)) == held
    assert settle(markup(f'<meta name="tdm-reservation" content="{value}">')) == held


@pytest.mark.parametrize("value, held", DIRECTIVES)
def test_directives_of_robots(value: str, held: dict[str, bool]) -> None:
    """For all robots, and for us by name; those for others do not concern us."""
    assert settle(header("x-robots-tag", value)) == held
    assert settle(header("x-robots-tag", f"lycosa: {value}")) == held
    assert settle(header("x-robots-tag", f"otherbot: {value}")) == {}
    assert settle(markup(f'<meta name="robots" content="{value}">')) == held
    assert settle(markup(f'<META NAME="Lycosa" CONTENT="{value}">')) == held
    assert settle(markup(f'<meta name="otherbot" content="{value}">')) == {}


@pytest.mark.parametrize("address, held", LICENCES)
def test_licences(address: str, held: dict[str, bool]) -> None:
    assert settle(header("link", f'<{address}>; rel="license"')) == held
    assert settle(markup(f'<link rel="license" href="{address}">')) == held
    assert settle(markup(f'<a rel="nofollow license" href="{address}">licence</a>')) == held
    assert settle(markup(f'<a href="{address}">licence</a>')) == {}


@pytest.mark.parametrize("name, held", AGENTS)
def test_robots_of_one_use_that_are_shut_out(name: str, held: dict[str, bool]) -> None:
    """Who lets them in says nothing, and neither does who shuts out everybody or another folder."""
    assert settle(robots(f"User-agent: {name}\nDisallow: /\n")) == held
    assert settle(robots(f"User-agent: {name}\nDisallow: /articles\n")) == held
    assert settle(robots(f"User-agent: {name}\nDisallow: /other\n")) == {}
    assert settle(robots(f"User-agent: {name}\nDisallow:\n")) == {}
    assert settle(robots(f"User-agent: *\nDisallow: /\n# {name}\n")) == {}
    assert settle(robots(f"User-agent: {name}\nUser-agent: Otherbot\nDisallow: /\n")) == held


def test_the_longest_path_of_robots_holds_and_our_own_group_goes_first() -> None:
    text = "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /articles/ train-ai=y\n"
    assert settle(robots(text)) == yes("train")
    assert settle(robots(text, "https://sand.test/")) == no("train")
    own = f"{text}\nUser-agent: lycosa\nContent-Usage: search=n\n"
    assert settle(robots(own)) == no("search")
    assert settle(robots("Content-Signal: ai-train=no\n")) == no("train")


TDMREP = [
    ('[{"location": "/", "tdm-reservation": 1}]', no("mining", "train")),
    ('[{"location": "/*", "tdm-reservation": 1, "tdm-policy": "https://sand.test/p.json"}]', no("mining", "train")),
    ('[{"location": "/", "tdm-reservation": 1}, {"location": "/articles/*", "tdm-reservation": 0}]', yes("mining")),
    ('[{"location": "/images/*", "tdm-reservation": 1}]', {}),
    ('[{"location": "/articles/7$", "tdm-reservation": 1}]', no("mining", "train")),
    ('[{"location": "/articles$", "tdm-reservation": 1}]', {}),
    ("[]", {}),
    ("{}", {}),
    ("not json", {}),
    ('[{"location": 7}]', {}),
    ('[{"tdm-reservation": 1}]', {}),
]


@pytest.mark.parametrize("text, held", TDMREP)
def test_tdmrep(text: str, held: dict[str, bool]) -> None:
    assert settle(read_tdmrep(text.encode(), url=URL)) == held


def rsl(inner: str, url: str = "/") -> str:
    return f'<rsl xmlns="https://rslstandard.org/rsl"><content url="{url}"><license>{inner}</license></content></rsl>'


RSL = [
    (rsl('<prohibits type="usage">ai-train</prohibits>'), no("train")),
    (rsl('<prohibits type="usage">all</prohibits>'), ALL),
    (rsl('<prohibits type="usage">ai-all</prohibits>'), no("train", "input", "mining")),
    (rsl('<permits type="usage">search</permits>'), yes("search") | no("train", "input")),
    (rsl('<permits type="usage">search ai-input</permits>'), yes("search", "input") | no("train")),
    (rsl('<permits type="usage">all</permits>'), yes(*USES)),
    (rsl('<permits type="usage">all</permits><prohibits type="usage">ai-train</prohibits>'), yes(*USES) | no("train")),
    (rsl('<permits type="usage">train-ai</permits><payment type="subscription"/>'), no("train", "input", "search")),
    (
        rsl('<permits type="usage">ai-train,ai-input,search</permits><payment type="attribution"/>'),
        yes("train", "input", "search"),
    ),
    (rsl('<permits type="user">commercial</permits>'), {}),
    (rsl('<prohibits type="usage">ai-train</prohibits>', "/articles/*"), no("train")),
    (rsl('<prohibits type="usage">ai-train</prohibits>', "https://sand.test/articles/"), no("train")),
    (rsl('<prohibits type="usage">ai-train</prohibits>', "/other/*"), {}),
    (rsl('<prohibits type="usage">ai-train</prohibits>', "https://other.test/"), {}),
    (rsl("<prohibits>search</prohibits>"), no("search")),
    ("<rsl", {}),
    ("", {}),
    ("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><rsl>&b;</rsl>", {}),
]


@pytest.mark.parametrize("text, held", RSL)
def test_rsl(text: str, held: dict[str, bool]) -> None:
    assert settle(read_rsl(text.encode(), url=URL)) == held
    if text.startswith("<rsl ") and "https://other" not in text:
        assert settle(markup(f'<script type="application/rsl+xml">{text}</script>')) == held


def test_the_strictest_of_contradictory_wishes_holds() -> None:
    signals = [*header("content-usage", "train-ai=y"), *markup('<meta name=robots content="noai">')]
    assert settle(signals) == no("train", "input")
    assert {signal.place for signal in signals if signal.use == "train"} == {"header Content-Usage", "meta robots"}


def test_the_table_has_two_hundred_cases() -> None:
    tables = [
        4 * len(CONTENT_USAGE),
        2 * len(CONTENT_SIGNAL),
        2 * len(RESERVATIONS),
        6 * len(DIRECTIVES),
        4 * len(LICENCES),
    ]
    assert sum(tables) + 6 * len(AGENTS) + len(TDMREP) + len(RSL) >= 200


@pytest.mark.parametrize(
    "junk", [b"\x00" * 100, b"User-agent:" * 9999, b"Content-Usage: " + b"/*" * 5000 + b" train-ai=n", b"\xff\xfe"]
)
def test_nothing_raises_on_what_is_no_robots_file(junk: bytes) -> None:
    assert settle(read_robots(junk, url=URL)).keys() <= set(USES)
