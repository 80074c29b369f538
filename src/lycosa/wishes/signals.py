"""Signals about use: every place where a site says what its texts may be used for is read into one form.

Places: robots.txt (Content-Usage, Content-Signal, License, groups for robots of one use), header fields, <meta>,
tdmrep.json, RSL licences, and licence links. Where signals contradict each other, the strictest holds.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from lxml import etree
from msgspec import Struct
from turbohtml import Document

from lycosa.fetch.robots import Robots
from lycosa.model import Use, Verdict
from lycosa.parse.doc import parse_robots_header
from lycosa.parse.link_lists import parse_link_header

_WORDS: dict[str, dict[str, list[Use]]] = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))
_RESERVED: tuple[Use, ...] = ("mining", "train")
_MEMBER = re.compile(r"([a-z][\w*.-]*)\s*=\s*\??\"?([a-z0-9]+)", re.IGNORECASE)
_YES, _NO = frozenset({"y", "yes", "1", "true", "allow"}), frozenset({"n", "no", "0", "false", "disallow"})
_COMMONS = re.compile(r"creativecommons\.org/(?:licen[sc]es/([a-z-]+)|publicdomain/)", re.IGNORECASE)
_AGENT = "user-agent"
_LINE = re.compile(
    r"\s*(user-agent|allow|disallow|content-usage|content-signal|license)\s*:\s*([^#\r\n]*)", re.IGNORECASE
)
_RSL_TYPE = "application/rsl+xml"
#: What a robots.txt has that speaks of use.
_SPEAKS = re.compile("|".join(map(re.escape, ("content-", *_WORDS["agents"]))).encode(), re.IGNORECASE)
_FREE = frozenset({"", "free", "attribution"})
_LONGEST = 200
_FIELDS = frozenset({"content-usage", "content-signal", "tdm-reservation", "x-robots-tag"})
_DIRECTIVES = frozenset(_WORDS["robots"])
_SAYING = (
    "meta[name='tdm-reservation' i], meta[name='content-usage' i], meta[name='content-signal' i],"
    f" link[rel~=license i], a[rel~=license i], script[type='{_RSL_TYPE}' i]"
)


class Signal(Struct, frozen=True):
    """One saying: whether a use is allowed, where that is said, and in which words."""

    use: Use
    allowed: bool
    place: str
    words: str


def settle(signals: Iterable[Signal]) -> dict[Use, bool]:
    """What holds for each use that anything is said of: one refusal outweighs all permissions."""
    found: dict[Use, bool] = {}
    for signal in signals:
        found[signal.use] = found.get(signal.use, True) and signal.allowed
    return found


def forbid(signals: Iterable[Signal], uses: Sequence[str]) -> Verdict | None:
    """The refusal of the first signal that forbids one of these uses: the strictest holds."""
    for signal in signals:
        if not signal.allowed and signal.use in uses:
            return Verdict(False, "wishes", f"{signal.place} forbids {signal.use} ({signal.words}); fetch.uses has it")
    return None


def _make(uses: Iterable[Use], allowed: bool, place: str, words: str) -> Iterator[Signal]:
    for use in uses:
        yield Signal(use, allowed, place, " ".join(words.split())[:_LONGEST])


def _read_members(value: str, table: str, place: str) -> Iterator[Signal]:
    """`train-ai=n, search=y`: words without a meaning, and values that are neither, say nothing."""
    for word, answer in _MEMBER.findall(value):
        uses = _WORDS[table].get(word.lower(), ())
        if answer.lower() in _YES | _NO:
            yield from _make(uses, answer.lower() in _YES, place, f"{word}={answer}")


def read_page(headers: Mapping[str, str], tree: Document | None, *, url: str, agent: str = "lycosa") -> list[Signal]:
    """What an answer says in its header fields (lower-case names) and in its markup."""
    signals = list(_read_headers(headers, agent=agent))
    if tree is not None:
        signals += _read_markup(tree, url=url, agent=agent)
    return signals


def speaks_of_use(headers: Mapping[str, str], tree: Document | None, directives: Set[str]) -> bool:
    """Whether an answer may say anything; `directives`: those for robots, of its header and its markup."""
    return (
        not _FIELDS.isdisjoint(headers)
        or not _DIRECTIVES.isdisjoint(directives)
        or (tree is not None and tree.select_one(_SAYING) is not None)
        or "license" in headers.get("link", "").lower()
    )


def _read_headers(headers: Mapping[str, str], *, agent: str) -> Iterator[Signal]:
    yield from _read_members(headers.get("content-usage", ""), "content_usage", "header Content-Usage")
    yield from _read_members(headers.get("content-signal", ""), "content_signal", "header Content-Signal")
    yield from _read_reservation(headers.get("tdm-reservation", ""), "header tdm-reservation")
    yield from _read_directives(parse_robots_header(headers.get("x-robots-tag", ""), agent), "header X-Robots-Tag")
    for address, relation in parse_link_header(headers.get("link", "")):
        if relation == "license":
            yield from _read_licence(address, "header Link rel=license")


def _read_markup(tree: Document, *, url: str, agent: str) -> Iterator[Signal]:
    for meta in tree.select("meta[name][content]"):
        name, content = (meta.attr("name") or "").strip().lower(), meta.attr("content") or ""
        place = f"meta {name}"
        if name in ("robots", agent.lower()):
            yield from _read_directives(content.lower().split(","), place)
        elif name == "tdm-reservation":
            yield from _read_reservation(content, place)
        elif name in ("content-usage", "content-signal"):
            yield from _read_members(content, name.replace("-", "_"), place)
    for link in tree.select('link[rel~="license" i], a[rel~="license" i]')[:20]:
        yield from _read_licence(link.attr("href") or "", f"{link.tag} rel=license")
    for script in tree.select(f'script[type="{_RSL_TYPE}" i]')[:20]:
        yield from read_rsl(script.text.encode(), url=url, place="script of RSL")


def _read_reservation(value: str, place: str) -> Iterator[Signal]:
    """The TDM Reservation Protocol: 1 reserves the rights of mining, which training is a case of."""
    value = value.strip().strip('"')
    if value in ("0", "1"):
        yield from _make(_RESERVED if value == "1" else ("mining",), value == "0", place, f"tdm-reservation: {value}")


def _read_directives(directives: Iterable[str], place: str) -> Iterator[Signal]:
    for directive in directives:
        word = directive.replace(" ", "")
        yield from _make(_WORDS["robots"].get(word, ()), False, place, word)


def _read_licence(address: str, place: str) -> Iterator[Signal]:
    """A Creative Commons licence lets everybody copy; training is allowed where neither NC nor ND is a condition."""
    found = _COMMONS.search(address)
    if found is not None:
        yield from _make(("archive", "mining"), True, place, address)
        if not {"nc", "nd"} & set((found[1] or "").lower().split("-")):
            yield from _make(("train",), True, place, address)


class RobotsWishes:
    """What a robots.txt says of the uses of the addresses of its site."""

    def __init__(self, body: bytes, *, agent: str = "lycosa") -> None:
        text = body.decode("utf-8", "replace") if _SPEAKS.search(body) else ""
        own, general = _read_groups(text, agent.lower())
        self._rules: list[tuple[str, list[str]]] = []
        for key in ("content-usage", "content-signal"):
            lines = [value for name, value in own if name == key] or [value for name, value in general if name == key]
            if lines:
                self._rules.append((key, lines))
        lowered = text.lower()
        self._agents = {name: uses for name, uses in _WORDS["agents"].items() if _names_group(lowered, name)}
        self._robots = Robots.parse(body) if self._agents else None

    @property
    def is_silent(self) -> bool:
        """Whether it says nothing of any use."""
        return not self._rules and not self._agents

    def of(self, url: str) -> list[Signal]:
        """What it says of one address."""
        path = urlsplit(url).path or "/"
        signals: list[Signal] = []
        for key, lines in self._rules:
            best = max((_reach(value, path) for value in lines), default=-1)
            for value in lines:
                if best >= 0 and _reach(value, path) == best:
                    rules = value.partition(" ")[2] if value.startswith("/") else value
                    signals += _read_members(rules, key.replace("-", "_"), f"robots.txt {key.title()}")
        for name, uses in self._agents.items():
            if self._robots is not None and not self._robots.allows(url, name):
                signals += _make(uses, False, f"robots.txt User-agent: {name}", "Disallow")
        return signals


def read_robots(body: bytes, *, url: str, agent: str = "lycosa") -> list[Signal]:
    """What a robots.txt says of the uses of one address."""
    return RobotsWishes(body, agent=agent).of(url)


def _read_groups(text: str, agent: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The lines about use of the groups for `agent`, and of those for all; lines before any group are for all."""
    own: list[tuple[str, str]] = []
    general: list[tuple[str, str]] = []
    names, is_open = ["*"], False
    for found in filter(None, map(_LINE.match, text.splitlines())):
        key, value = found[1].lower(), found[2].strip()
        if key == _AGENT:
            names = [*names, value.lower()] if is_open else [value.lower()]
            is_open = True
            continue
        is_open = False
        if key.startswith("content-"):
            own += [(key, value)] if any(name and name != "*" and agent.startswith(name) for name in names) else []
            general += [(key, value)] if "*" in names else []
    return own, general


def _reach(value: str, path: str) -> int:
    """How much of a path a rule names: `/a train-ai=n` holds below /a, a rule without a path everywhere."""
    if not value.startswith("/"):
        return 0
    pattern = value.partition(" ")[0]
    return len(pattern) if re.match(_to_regex(pattern), path) else -1


def _to_regex(pattern: str) -> str:
    """A path pattern of robots.txt, tdmrep.json or RSL, where * stands for anything and $ for the end."""
    inner = ".*?".join(map(re.escape, re.sub(r"\*{2,}", "*", pattern[:500]).removesuffix("$").split("*", 20)))
    return inner + "$" if pattern.endswith("$") else inner


def _names_group(lowered: str, name: str) -> bool:
    line = rf"^\s*user-?agent\s*:\s*{re.escape(name)}\s*(?:#|$)"
    return name in lowered and re.search(line, lowered, re.MULTILINE) is not None


def find_rsl_addresses(body: bytes) -> list[str]:
    """The addresses of RSL licences that a robots.txt names."""
    lines = filter(None, map(_LINE.match, body.decode("utf-8", "replace").splitlines()))
    return [found[2].strip() for found in lines if found[1].lower() == "license"]


def read_tdmrep(body: bytes, *, url: str) -> list[Signal]:
    """What `/.well-known/tdmrep.json` says of an address: the longest location that matches."""
    try:
        rows = msgspec.json.decode(body)
        path = urlsplit(url).path or "/"
        fitting = [row for row in rows if re.match(_to_regex(str(row["location"])), path)]
        if not fitting:
            return []
        row = max(fitting, key=lambda row: len(str(row["location"])))
        return list(_read_reservation(str(int(row.get("tdm-reservation", 0))), f"tdmrep.json {row['location']}"))
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return []


def read_rsl(body: bytes, *, url: str, place: str = "RSL") -> list[Signal]:
    """What an RSL document says of an address: what it permits for money is not allowed without paying."""
    try:
        root = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False))
    except (etree.XMLSyntaxError, ValueError):
        return []
    signals: list[Signal] = []
    for content in root.iter("{*}content"):
        given = content.get("url") or "/"
        parts = urlsplit(given)
        if parts.netloc not in ("", urlsplit(url).netloc) or not re.match(
            _to_regex(parts.path or "/"), urlsplit(url).path or "/"
        ):
            continue
        for licence in content.iter("{*}license"):
            signals += _read_terms(licence, place)
    return signals


def _read_terms(licence: etree._Element, place: str) -> Iterator[Signal]:
    payments = [payment.get("type") or "" for payment in licence.iter("{*}payment")]
    is_free = all(payment in _FREE for payment in payments)
    permitted: set[Use] = set()
    has_permits = False
    for element in licence.iter("{*}permits", "{*}prohibits"):
        if (element.get("type") or "usage") != "usage":
            continue
        words = "".join(str(part) for part in element.itertext()).replace(",", " ").lower().split()
        uses = [use for word in words for use in _WORDS["rsl"].get(word, ())]
        is_permit = etree.QName(element).localname == "permits"
        said = f"{'permits' if is_permit else 'prohibits'} {' '.join(words)}"
        if is_permit:
            has_permits = True
            permitted |= set(uses)
        yield from _make(uses, is_permit and is_free, place, said if is_free else f"{said}, payment {payments[0]}")
    if has_permits:
        yield from _make(
            [use for use in ("train", "input", "search") if use not in permitted], False, place, "not permitted"
        )
