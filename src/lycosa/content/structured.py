"""Structured data of a page as one model: JSON-LD, microdata, RDFa, Open Graph and other named <meta> elements.

Whatever the syntax, a thing is a `StructuredItem`: its types, its address, and per property a list of values, each
text or another thing. The vocabulary of schema.org is left out of names, so that rules read alike for all syntaxes.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import re2
from msgspec import Struct, field
from turbohtml import Document, Element

from lycosa import urls
from lycosa.content import rdfa

_MAX_SCRIPT = 4_000_000
_MAX_ITEMS = 5000
_MAX_DEPTH = 40
_MAX_NAMING = 3
_SCHEMA = re.compile(r"https?://(?:www\.)?schema\.org/|schema:")
#: RE2, whose cost is linear: these run over megabytes that others wrote.
_COMMENTS = re2.compile(r"(?ms)/\*.*?\*/|^\s*//[^\n]*$|<!--|-->|<!\[CDATA\[|\]\]>")
_WRAPPED = re.compile(
    r"\s*(?:<!--(?:(?!-->)[^{\[]){0,500}(?:-->)?|/\*.{0,500}?\*/|//[^\n]{0,500}\n|<!\[CDATA\[|;)", re.DOTALL
)
_TRAILING = re.compile(r",(?=\s*[}\]])")
_MISSING = re.compile(r'(["}\]])(\s+)(?=["{])')
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrtu])')


class StructuredItem(Struct):
    """A thing that a page describes."""

    syntax: str  # json-ld, microdata, rdfa, opengraph, meta
    types: list[str] = field(default_factory=list)
    id: str = ""
    properties: dict[str, list[str | StructuredItem]] = field(default_factory=dict)

    def texts(self, *names: str, depth: int = 0) -> list[str]:
        """The values of the first of these properties that has any, as text; a thing stands for its name."""
        for name in names:
            found = [_name(value, depth) for value in self.properties.get(name, ())]
            if any(found):
                return [text for text in found if text]
        return []

    def text(self, *names: str) -> str:
        """The first value of these properties, or nothing."""
        return next(iter(self.texts(*names)), "")


def _name(value: str | StructuredItem, depth: int = 0) -> str:
    if isinstance(value, str):
        return value
    # A thing may be named by itself: references make rings.
    names = value.texts("name", "headline", "text", "url", depth=depth + 1) if depth < _MAX_NAMING else []
    return next(iter(names), value.id)


def read_structured(tree: Document, *, base: str = "") -> list[StructuredItem]:
    """Everything that a page describes, in the order of syntaxes: JSON-LD, microdata, RDFa, Open Graph, <meta>."""
    return [
        *read_json_ld(tree),
        *read_microdata(tree, base=base),
        *read_rdfa(tree, base=base),
        *read_meta(tree),
    ][:_MAX_ITEMS]


def walk_items(items: list[StructuredItem], *, without: frozenset[str] = frozenset()) -> Iterator[StructuredItem]:
    """The items and all that stand in their properties but those named in `without`, outer ones first."""
    todo = list(reversed(items))
    seen: set[int] = set()
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        for name, values in reversed(item.properties.items()):
            if name not in without:
                todo += (value for value in reversed(values) if isinstance(value, StructuredItem))


def load_json_ld(tree: Document) -> list[Any]:
    """The JSON of each script that holds JSON-LD, mended where people write it wrong."""
    found = []
    for script in tree.select('script[type*="ld+json" i]'):
        value = _load(script.text[:_MAX_SCRIPT])
        if isinstance(value, dict | list):
            found.append(value)
    return found


def _load(text: str) -> Any:
    """Decode JSON, first as it stands, then without comments and stray commas; None where nothing helps."""
    text = text.strip().strip("\ufeff").rstrip(";")
    for mend in (str, _unwrapped, _without_comments, partial(_MISSING.sub, r"\1,\2"), html.unescape):
        text = mend(text)
        try:
            return json.loads(text, strict=False)
        except RecursionError:
            return None
        except ValueError:
            continue
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value


def _unwrapped(text: str) -> str:
    """Leave out comments before the JSON."""
    start = 0
    while (match := _WRAPPED.match(text, start)) is not None and match.end() > start:
        start = match.end()
    return text[start:]


def _without_comments(text: str) -> str:
    return _BAD_ESCAPE.sub(r"\\\\", _TRAILING.sub("", _COMMENTS.sub("", text))).strip().rstrip(";")


def read_json_ld(tree: Document) -> list[StructuredItem]:
    """The things of JSON-LD; what stands in @graph or a list is a thing of its own, references to it are followed.

    Things may so refer to each other in rings: `walk_items` visits each once.
    """
    items: list[StructuredItem] = []
    for value in load_json_ld(tree):
        items += _read_nodes(value, 0)
    known = {item.id: item for item in items if item.id and item.properties}
    for item in list(walk_items(items)):
        for values in item.properties.values():
            for place, value in enumerate(values):
                if isinstance(value, StructuredItem) and not value.properties and value.id in known:
                    values[place] = known[value.id]
    return items[:_MAX_ITEMS]


def _read_nodes(value: Any, depth: int) -> list[StructuredItem]:
    if isinstance(value, list):
        value = value if depth < _MAX_DEPTH else []
        return [item for each in value[:_MAX_ITEMS] for item in _read_nodes(each, depth + 1)]
    if not isinstance(value, dict):
        return []
    graph = _read_nodes(value.get("@graph"), depth + 1) if "@graph" in value else []
    if graph and set(value) <= {"@context", "@graph", "@id", "@type"}:
        return graph
    return [_read_node(value, depth), *graph]


def _read_node(value: dict[str, Any], depth: int) -> StructuredItem:
    types = value.get("@type", value.get("type"))
    item = StructuredItem(
        syntax="json-ld",
        types=[short_name(each) for each in (types if isinstance(types, list) else [types]) if isinstance(each, str)],
        id=value["@id"] if isinstance(value.get("@id"), str) else "",
    )
    if depth < _MAX_DEPTH:
        for name, content in value.items():
            if name not in ("@context", "@type", "@id", "@graph"):
                values = _read_values(content, depth + 1)
                if values:
                    item.properties[short_name(name)] = values
    return item


def _read_values(content: Any, depth: int) -> list[str | StructuredItem]:
    if isinstance(content, list):
        content = content if depth < _MAX_DEPTH else []
        return [value for each in content[:_MAX_ITEMS] for value in _read_values(each, depth + 1)]
    if isinstance(content, dict):
        for name in ("@value", "@list", "@set"):
            if name in content:
                return _read_values(content[name], depth + 1) if depth < _MAX_DEPTH else []
        return [_read_node(content, depth + 1)]
    if content is None:
        return []
    if isinstance(content, bool):
        return ["true" if content else "false"]
    return [str(content)] if not isinstance(content, str) or content.strip() else []


def short_name(name: str) -> str:
    """A type or property without the address of schema.org."""
    return _SCHEMA.sub("", name, count=1) if name.startswith(("http", "schema:")) else name


def read_microdata(tree: Document, *, base: str = "") -> list[StructuredItem]:
    """The top items of microdata (HTML standard, 5.2), `itemref` followed, each element at most once an item."""
    if tree.select_one("[itemscope]") is None:
        return []
    tops = [e for e in tree.select("[itemscope]") if e.attr("itemprop") is None]
    refers = tree.select_one("[itemref]") is not None
    by_id = {str(e.attr("id")): e for e in reversed(tree.select("[id]"))} if refers else {}
    reader = _MicrodataReader(by_id, base)
    return [reader.read(e, frozenset()) for e in tops[:_MAX_ITEMS]]


class _MicrodataReader:
    """Reads items; references can multiply them, so that only so many are read of a page."""

    def __init__(self, by_id: dict[str, Element], base: str) -> None:
        self._by_id = by_id
        self._base = base
        self._left = _MAX_ITEMS

    def read(self, scope: Element, above: frozenset[Element]) -> StructuredItem:
        """Read an element with @itemscope, within those `above`."""
        types = (scope.attr("itemtype") or "").split()
        item = StructuredItem(syntax="microdata", types=[short_name(each) for each in types])
        if (identity := scope.attr("itemid")) is not None:
            item.id = _resolve(identity, self._base)
        self._left -= 1
        if scope in above or len(above) > _MAX_DEPTH or self._left < 0:
            return item
        above = above | {scope}
        seen: set[Element] = {scope}
        todo = list(reversed(self._find_roots(scope)))
        while todo:
            e = todo.pop()
            if e in seen:
                continue
            seen.add(e)
            names = (e.attr("itemprop") or "").split()
            is_scope = e.attr("itemscope") is not None
            if names:
                value = self.read(e, above) if is_scope else _read_value(e, self._base)
                for name in dict.fromkeys(names):
                    item.properties.setdefault(short_name(name), []).append(value)
            if not is_scope:
                todo += [child for child in reversed(list(e.children)) if isinstance(child, Element)]
        return item

    def _find_roots(self, scope: Element) -> list[Element]:
        """Where the properties of an item are looked for: in it, and in what it refers to."""
        roots = [e for e in scope.children if isinstance(e, Element)]
        for name in (scope.attr("itemref") or "").split()[:100]:
            if (other := self._by_id.get(name)) is not None:
                # Who refers to an item that is no property means what is in it.
                is_lone = other.attr("itemscope") is not None and other.attr("itemprop") is None
                roots += [e for e in other.children if isinstance(e, Element)] if is_lone else [other]
        return roots


_ADDRESSES = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip
_VALUES = {"data": "value", "meter": "value", "time": "datetime", "meta": "content"}


def _read_value(e: Element, base: str) -> str:
    content = e.attr("content")
    if content is not None:
        return content
    name = _ADDRESSES.get(e.tag)
    if name is not None:
        return _resolve(e.attr(name) or "", base)
    given = e.attr(_VALUES[e.tag]) if e.tag in _VALUES else None
    return given if given is not None else e.to_text().strip() if len(e.text) < 100_000 else ""


def _resolve(address: str, base: str) -> str:
    """An address as a browser resolves it; as written where there is nothing to resolve against."""
    return (urls.parse(address.strip(), base) or address) if base and address else address


def read_rdfa(tree: Document, *, base: str = "") -> list[StructuredItem]:
    """The things of RDFa: the subjects of its triples, nested where one states another that no other states."""
    items: dict[str, StructuredItem] = {}
    inner: dict[str, int] = {}
    for triple in rdfa.read_triples(tree, base=base):
        item = items.setdefault(
            triple.subject, StructuredItem(syntax="rdfa", id="" if triple.subject.startswith("_:") else triple.subject)
        )
        if triple.predicate == rdfa.TYPE:
            item.types.append(short_name(triple.object))
            continue
        value: str | StructuredItem = triple.object
        if triple.is_resource:
            inner[triple.object] = inner.get(triple.object, 0) + (triple.object != triple.subject)
            value = StructuredItem(syntax="rdfa", id=triple.object)
        item.properties.setdefault(short_name(triple.predicate), []).append(value)
    for subject, item in items.items():
        for values in item.properties.values():
            for place, value in enumerate(values):
                if isinstance(value, StructuredItem):
                    other = items.get(value.id)
                    values[place] = other if other is not None and value.id != subject else value.id
    # What only others refer to is theirs; a ring of references keeps all its members.
    tops = [item for subject, item in items.items() if not inner.get(subject)]
    return tops or list(items.values())


def read_meta(tree: Document) -> list[StructuredItem]:
    """Open Graph and its relatives (`property`), and the other named <meta> elements, names in lower case."""
    graph = StructuredItem(syntax="opengraph")
    named = StructuredItem(syntax="meta")
    for e in tree.iter_elements(("meta",)):
        content = e.attr("content")
        if content is None or not content.strip():
            continue
        for key in ("property", "name", "itemprop", "http-equiv"):
            name = (e.attr(key) or "").strip().lower()
            if name:
                target = graph if ":" in name and not name.startswith(("twitter:", "dc:", "dcterms:")) else named
                target.properties.setdefault(name, []).append(content.strip())
                break
    graph.types = [value for value in graph.properties.get("og:type", []) if isinstance(value, str)]
    return [item for item in (graph, named) if item.properties]
