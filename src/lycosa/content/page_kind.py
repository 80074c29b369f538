"""The kind of a page: article, forum, product, collection, listing, documentation, service, profile, media or error.

Signals vote (`kinds.toml`): what the page says of itself, its address, the names of its elements. Where they do not
decide, its structure does: whether it leads to others, has posts or prose.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from turbohtml import Document

from lycosa import urls
from lycosa.content.main_text import MainText
from lycosa.content.page_blocks import joined
from lycosa.content.structured import StructuredItem, read_json_ld, read_meta, walk_items

KINDS = (
    "article", "forum", "product", "collection", "listing", "documentation", "service", "profile", "media", "error",
)  # fmt: skip
_MOST_TYPES = 300
_MAX_NAMES = 2000
#: Parts of things that say nothing of the page.
_PARTS = frozenset({"itemListElement", "hasPart", "isPartOf", "publisher", "author", "comment", "review", "mentions"})


class KindSignal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What speaks for a kind."""

    kind: str
    weight: float
    where: str
    pattern: str
    count: int = 1


class PageKind(NamedTuple):
    """A kind, and what told it, in words."""

    kind: str
    why: str


class _Rules(msgspec.Struct, forbid_unknown_fields=True):
    least: float
    signal: list[KindSignal]


@lru_cache(maxsize=1)
def _load_rules() -> tuple[float, list[tuple[KindSignal, re.Pattern[str] | None]]]:
    rules = msgspec.convert(tomllib.loads(Path(__file__).with_name("kinds.toml").read_text("utf-8")), _Rules)
    whole = {"type", "top", "og"}
    return rules.least, [
        (signal, None if signal.where == "select" else _compile(signal.pattern, whole=signal.where in whole))
        for signal in rules.signal
    ]


def _compile(pattern: str, *, whole: bool) -> re.Pattern[str]:
    return re.compile(rf"^(?:{pattern})$" if whole else pattern, re.IGNORECASE)


def find_kind(tree: Document, found: MainText | None, *, url: str, title: str = "") -> PageKind:
    """The kind of a page, by the strongest signals."""
    least, signals = _load_rules()
    facts = _gather(tree, url, title)
    votes: dict[str, float] = defaultdict(float)
    told: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for signal, pattern in signals:
        if pattern is None:
            holds = len(tree.select(signal.pattern)) >= signal.count
            said = f"{signal.count} of its elements" if signal.count > 1 else "its elements"
        else:
            match = next((text for text in facts[signal.where] if pattern.search(text)), None)
            holds, said = match is not None, f"{signal.where} {match[:60]}" if match else ""
        if holds:
            votes[signal.kind] += signal.weight
            told[signal.kind].append((signal.weight, said))
    _vote_by_structure(votes, told, found, facts)
    best = max(votes, key=votes.__getitem__, default="article")
    if votes[best] < least:
        return PageKind("article", "nothing says otherwise")
    return PageKind(best, ", ".join(said for _, said in sorted(told[best], reverse=True)[:3]))


def _vote_by_structure(
    votes: dict[str, float],
    told: dict[str, list[tuple[float, str]]],
    found: MainText | None,
    facts: dict[str, list[str]],
) -> None:
    def vote(kind: str, weight: float, why: str) -> None:
        votes[kind] += weight
        told[kind].append((weight, why))

    if found is None or found.page is None:
        return
    blocks = found.page.blocks
    kept = [blocks[place] for place in found.places]
    prose = sum(len(block.text) for block in kept if block.weight > 0)
    shown = sum(len(block.text) for block in blocks)
    if found.is_list:
        vote("listing", 4, "its text leads to others")
    elif prose > 1500 and prose > 0.4 * shown:
        vote("article", 3, "most of it is one text")
    elif prose > 0.25 * shown and prose > 600:
        vote("article", 1, "it has a text")
    if prose < 0.2 * shown and not found.is_list:
        vote("service", 2, "it has no long text")


def _gather(tree: Document, url: str, title: str) -> dict[str, list[str]]:
    """The texts that signals are looked for in."""
    items = read_json_ld(tree)
    types = [kind for item in walk_items(items, without=_PARTS) for kind in item.types][:_MOST_TYPES]
    types += [_last(str(e.attr("itemtype"))) for e in tree.select("[itemtype]")[:_MOST_TYPES]]
    tops = [kind for item in items for kind in (*item.types, *_main_types(item))]
    tops += [_last(str(e.attr("itemtype"))) for e in tree.select("[itemtype]:not([itemprop])")[:50]]
    meta: dict[str, list[str]] = defaultdict(list)
    for item in read_meta(tree):
        for name, values in item.properties.items():
            meta[name] += [value for value in values if isinstance(value, str)]
    parts = urlsplit(url)
    body = [
        joined(e.attrs.get(name))[:_MAX_NAMES]
        for e in (tree.select_one("body"), tree.root)
        if e is not None and e.attrs
        for name in ("class", "id")
    ]
    return {
        "type": types,
        "top": tops,
        "og": meta.get("og:type", []),
        "generator": [*meta.get("generator", []), *(["DocBook"] if "DocBook" in title else [])],
        "meta": list(meta),
        "title": [title],
        "host": [urls.host_of(url)],
        "path": [parts.path + (f"?{parts.query}" if parts.query else "")],
        "body": body,
    }


def _main_types(item: StructuredItem) -> Iterable[str]:
    for value in (*item.properties.get("mainEntity", ()), *item.properties.get("mainEntityOfPage", ())):
        if isinstance(value, StructuredItem):
            yield from value.types


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]
