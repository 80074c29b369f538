"""Microformats of a page: those of microformats2, and the older ones by what they are called there.

`read_microformats` gives what the specification of parsers says (microformats.org/wiki/microformats2-parsing);
`read_items` the same as the things of all other syntaxes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from turbohtml import Document, Element, Text

from lycosa import urls
from lycosa.content.structured import StructuredItem

_ROOT = re.compile(r"h-(?:[a-z0-9]+-)?[a-z]+(?:-[a-z]+)*")
_PROPERTY = re.compile(r"(p|u|dt|e)-((?:[a-z0-9]+-)?[a-z]+(?:-[a-z]+)*)")
_SILENT = frozenset({"script", "style", "template"})
_MAX_ITEMS = 2000
_MAX_DEPTH = 30
_DAY = re.compile(r"\d{4}-(?:\d\d-\d\d|\d{3}|\d\d)")
_TIME = re.compile(r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*([ap])?\.?(?:m\.?)?\s*(z|[+-]\d\d:?\d\d|[+-]\d{1,2})?", re.I)
_LINKS = {"a": "href", "area": "href", "link": "href"}
_SOURCES = {"img": "src", "audio": "src", "video": "src", "source": "src", "iframe": "src", "object": "data"}


@lru_cache(maxsize=1)
def _load_older() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("microformats.toml").read_text("utf-8"))


def read_microformats(tree: Document, *, base: str = "") -> dict[str, Any]:
    """The items of a page, its rels, and what it says of the addresses with them."""
    if (e := tree.select_one("base[href]")) is not None:
        base = _join(str(e.attr("href") or ""), base)
    reader = _Reader(base)
    root = tree.root
    items = list(reader.find_items(root)) if root is not None else []
    rels: dict[str, list[str]] = {}
    told: dict[str, dict[str, Any]] = {}
    for e in tree.select("a[rel][href], link[rel][href], area[rel][href]")[:_MAX_ITEMS]:
        address = _join(str(e.attr("href") or ""), base)
        names = str(e.attr("rel") or "").split()
        entry = told.setdefault(address, {"rels": []})
        entry["rels"] = sorted({*entry["rels"], *names})
        for name in names:
            if address not in rels.setdefault(name, []):
                rels[name].append(address)
        if "text" not in entry:
            entry["text"] = e.text.strip()
        for name in ("hreflang", "media", "title", "type"):
            if (said := e.attr(name)) is not None and name not in entry:
                entry[name] = str(said)
    return {"items": items, "rels": rels, "rel-urls": told}


def read_items(tree: Document, *, base: str = "") -> list[StructuredItem]:
    """The items of a page as things; pages without any cost next to nothing."""
    if tree.select_one('[class*="h-"], .vcard, .vevent, .hentry, .hreview, .hrecipe, .hproduct, .hresume') is None:
        return []
    return [_as_item(item, 0) for item in read_microformats(tree, base=base)["items"]]


def _as_item(item: dict[str, Any], depth: int) -> StructuredItem:
    found = StructuredItem(syntax="microformats", types=list(item["type"]), id=str(item.get("id", "")))
    for name, values in item["properties"].items():
        found.properties[name] = [_as_value(value, depth) for value in values]
    return found


def _as_value(value: Any, depth: int) -> str | StructuredItem:
    if isinstance(value, str):
        return value
    if "type" in value and depth < _MAX_DEPTH:
        return _as_item(value, depth + 1)
    return str(value.get("value", ""))


class _Reader:
    def __init__(self, base: str) -> None:
        self._base = base
        self._left = _MAX_ITEMS

    def find_items(self, within: Element, depth: int = 0) -> Iterator[dict[str, Any]]:
        """The outermost items in an element."""
        for child in within.children:
            if not isinstance(child, Element) or depth > 250:
                continue
            types, is_old = _types_of(child)
            if types and self._left > 0:
                yield self.read_item(child, types, is_old=is_old, depth=0)
            else:
                yield from self.find_items(child, depth + 1)

    def read_item(self, e: Element, types: list[str], *, is_old: bool, depth: int) -> dict[str, Any]:
        """An item with its properties and children."""
        self._left -= 1
        item: dict[str, Any] = {"type": sorted(set(types)), "properties": {}}
        if not is_old and (identity := e.attr("id")):
            item["id"] = str(identity)
        state = _ItemState(item, types, is_old=is_old)
        if depth < _MAX_DEPTH:
            self._read_within(e, state, depth)
        if not is_old:
            self._imply(e, state)
        return item

    def _read_within(self, e: Element, state: _ItemState, depth: int, down: int = 0) -> None:
        for child in e.children:
            if not isinstance(child, Element) or child.tag in _SILENT or self._left <= 0 or down > 250:
                continue
            types, is_old = _types_of(child)
            names = list(_properties_of(child, state))
            if not types and state.is_old and ("p", "item") in names and child.select_one(".fn, .url") is not None:
                types, is_old = ["h-item"], True
            state.prefixes.update(prefix for prefix, _ in names)
            if types:
                state.has_nested = True
                nested = self.read_item(child, types, is_old=is_old, depth=depth + 1)
                for prefix, name in names:
                    state.add(name, self._as_property(child, dict(nested), prefix, state))
                if not names:
                    state.item.setdefault("children", []).append(nested)
                continue
            for prefix, name in names:
                value = self._read_value(child, prefix, state)
                if value is not None:
                    state.add(name, value)
            self._read_within(child, state, depth, down + 1)

    def _as_property(self, e: Element, nested: dict[str, Any], prefix: str, state: _ItemState) -> dict[str, Any]:
        properties = nested["properties"]
        value: Any = None
        if prefix == "p":
            value = next(iter(properties.get("name", ())), None)
        elif prefix == "u":
            value = next(iter(properties.get("url", ())), None)
        if value is None:
            value = self._read_value(e, prefix, state)
        if isinstance(value, dict):
            nested.update({key: said for key, said in value.items() if key in ("html", "alt")})
            value = value.get("value", "")
        nested["value"] = value
        return nested

    # values

    def _read_value(self, e: Element, prefix: str, state: _ItemState) -> Any:
        if prefix == "p":
            return self._read_plain(e)
        if prefix == "u":
            return self._read_address(e, state)
        if prefix == "dt":
            return self._read_date(e, state)
        return {"html": e.inner_html.strip(), "value": self.text(e)}

    def _read_plain(self, e: Element) -> str:
        parts = _value_parts(e)
        if parts:
            return "".join(part[1] if part[1] is not None else self.text(part[0]) for part in parts)
        given = _given(
            e, {"abbr": "title", "link": "title", "data": "value", "input": "value", "img": "alt", "area": "alt"}
        )
        return given if given is not None else self.text(e)

    def _read_address(self, e: Element, state: _ItemState) -> Any:
        given = _given(e, {**_LINKS, **_SOURCES})
        if given is None and e.tag == "video":
            given = _given(e, {"video": "poster"})
        if given is not None:
            address = _join(given, self._base)
            if e.tag == "img" and not state.is_old and (alt := e.attr("alt")) is not None:
                return {"value": address, "alt": str(alt)}
            return address
        if parts := _value_parts(e):
            said = "".join(part[1] if part[1] is not None else self.text(part[0]) for part in parts)
            return _join(said, self._base)
        given = _given(e, {"abbr": "title", "data": "value", "input": "value"})
        return _join(given if given is not None else self.text(e), self._base)

    def _read_date(self, e: Element, state: _ItemState) -> str:
        if parts := _value_parts(e, dates=True):
            said = [part[1] if part[1] is not None else self.text(part[0]) for part in parts]
            return _join_moment(said, state)
        names = {
            "time": "datetime",
            "ins": "datetime",
            "del": "datetime",
            "abbr": "title",
            "data": "value",
            "input": "value",
        }
        given = _given(e, names)
        said_whole = " ".join((given if given is not None else self.text(e)).split())
        if _DAY.match(said_whole):
            state.day = said_whole[:10]
        elif state.day and (time := _read_time(said_whole)):
            return f"{state.day} {time}"
        return said_whole

    def text(self, e: Element) -> str:
        """The text of an element, images by what they say, or where they are."""
        out: list[str] = []
        self._write(e, out, 0)
        return "".join(out).strip()

    def _write(self, e: Element, out: list[str], depth: int) -> None:
        for child in e.children:
            if isinstance(child, Text):
                out.append(child.data)
            elif isinstance(child, Element) and child.tag not in _SILENT and depth < 250:
                if child.tag == "img":
                    alt = child.attr("alt")
                    said = str(alt) if alt is not None else _join(str(child.attr("src") or ""), self._base)
                    out.append(said if alt is not None else f" {said} ")
                else:
                    self._write(child, out, depth + 1)

    # what is implied

    def _imply(self, e: Element, state: _ItemState) -> None:
        properties = state.item["properties"]
        if "name" not in properties and not state.prefixes & {"p", "e"} and not state.has_nested:
            properties["name"] = [self._imply_name(e)]
        if "photo" not in properties and "u" not in state.prefixes and not state.has_nested:
            photo = self._imply_one(e, (("img", "src"), ("object", "data")))
            if photo is not None:
                address = _join(str(photo.attr("src") or photo.attr("data") or ""), self._base)
                alt = photo.attr("alt")
                properties["photo"] = [{"value": address, "alt": str(alt)} if alt is not None else address]
        if "url" not in properties and "u" not in state.prefixes and not state.has_nested:
            link = self._imply_one(e, (("a", "href"), ("area", "href")))
            if link is not None:
                properties["url"] = [_join(str(link.attr("href") or ""), self._base)]

    def _imply_name(self, e: Element) -> str:
        names = {"img": "alt", "area": "alt", "abbr": "title"}
        at: Element | None = e
        for _ in range(3):
            if at is None:
                break
            if (said := _given(at, names)) and not (at is not e and _types_of(at)[0]):
                return said
            children = [child for child in at.children if isinstance(child, Element)]
            at = children[0] if len(children) == 1 and not _types_of(children[0])[0] else None
        return self.text(e)

    def _imply_one(self, e: Element, wanted: tuple[tuple[str, str], ...]) -> Element | None:
        """The element itself, or the only one of its kind in it, or in its only child."""
        for tag, name in wanted:
            if e.tag == tag and e.attr(name) is not None:
                return e
        children = [child for child in e.children if isinstance(child, Element)]
        for within in (
            children,
            [c for c in children[0].children if isinstance(c, Element)] if len(children) == 1 else [],
        ):
            if within is not children and children and _types_of(children[0])[0]:
                break
            for tag, name in wanted:
                found = [child for child in within if child.tag == tag and child.attr(name) is not None]
                if len(found) == 1 and not _types_of(found[0])[0]:
                    return found[0]
        return None


class _ItemState:
    """An item while it is read."""

    def __init__(self, item: dict[str, Any], types: list[str], *, is_old: bool) -> None:
        self.item = item
        self.types = types
        self.is_old = is_old
        self.prefixes: set[str] = set()
        self.has_nested = False
        self.day = ""

    def add(self, name: str, value: Any) -> None:
        """Add a value of a property."""
        self.item["properties"].setdefault(name, []).append(value)


def _classes(e: Element) -> list[str]:
    said = e.attr("class")
    return said.split() if isinstance(said, str) else list(said or ())


def _types_of(e: Element) -> tuple[list[str], bool]:
    """The types of an item that an element is, and whether they are older ones."""
    classes = _classes(e)
    types = [name for name in classes if _ROOT.fullmatch(name)]
    if types:
        return types, False
    roots = _load_older()["roots"]
    return [roots[name] for name in classes if name in roots and name != "item"] or [], True


def _properties_of(e: Element, state: _ItemState) -> Iterator[tuple[str, str]]:
    """Prefix and name of the properties that an element is, of an item."""
    classes = _classes(e)
    if not state.is_old:
        yield from dict.fromkeys((m[1], m[2]) for name in classes if (m := _PROPERTY.fullmatch(name)))
        return
    known = {name: said for kind in state.types for name, said in _load_older().get(kind, {}).items()}
    for said in dict.fromkeys(known[name] for name in classes if name in known):
        prefix, _, name = said.partition("-")
        yield prefix, name
    rels = str(e.attr("rel") or "").split()
    if "bookmark" in rels and "h-entry" in state.types:
        yield "u", "url"
    if "tag" in rels and {"h-entry", "h-review", "h-feed"} & set(state.types):
        yield "p", "category"


def _given(e: Element, names: dict[str, str]) -> str | None:
    said = e.attr(names[e.tag]) if e.tag in names else None
    return None if said is None else str(said).strip()


def _value_parts(e: Element, *, dates: bool = False) -> list[tuple[Element, str | None]]:
    """The elements of the value class pattern, each with what an attribute gives."""
    found: list[tuple[Element, str | None]] = []
    names = {"img": "alt", "area": "alt", "data": "value", "abbr": "title"}
    if dates:
        names |= {"time": "datetime", "ins": "datetime", "del": "datetime"}
    todo = [child for child in reversed(list(e.children)) if isinstance(child, Element)]
    while todo and len(found) < 20:
        child = todo.pop()
        classes = _classes(child)
        if "value-title" in classes:
            found.append((child, str(child.attr("title") or "")))
        elif "value" in classes:
            found.append((child, _given(child, names)))
        elif not _types_of(child)[0]:
            todo += [each for each in reversed(list(child.children)) if isinstance(each, Element)]
    return found


def _join_moment(parts: list[str], state: _ItemState) -> str:
    """A day, a time and a zone from the values that together say them."""
    day = time = zone = ""
    for part in (" ".join(each.split()) for each in parts):
        if re.match(r"\d{4}-\d\d-\d\d[T ]\d", part):
            return part
        if not day and _DAY.fullmatch(part):
            day = part
        elif not time and (said := _read_time(part)):
            time = said
        elif not zone and re.fullmatch(r"[+-]\d{1,2}:?\d{0,2}|Z", part):
            zone = part
    day = day or state.day
    if day:
        state.day = day
    zone = zone.replace(":", "")
    return f"{day} {time}{zone}".strip() if time else day or "".join(parts)


def _read_time(text: str) -> str:
    match = _TIME.fullmatch(text.strip())
    if match is None or (match[2] is None and match[4] is None):
        return ""
    hour = int(match[1])
    if match[4]:
        hour = hour % 12 + (12 if match[4].lower() == "p" else 0)
    seconds = f":{match[3]}" if match[3] else ""
    return f"{hour:02}:{match[2] or '00'}{seconds}{match[5] or ''}"


def _join(address: str, base: str) -> str:
    return (urls.parse(address, base) or address) if base else address
