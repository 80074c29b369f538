"""Reader of `Parameters.xml`, the older form of a documents mission: its values as those of a mission file.

    <PARAMETERS>
      <SEEDS><SEED>http://www.example.edu/</SEED></SEEDS>
      <ONLY_SUBPATHS>true</ONLY_SUBPATHS>
      <LABELS>
        <LABEL category="thesis" subcategory="phd" maxCharactersInDoc="2000" matchingWords="tesis, doctorado"/>
      </LABELS>
    </PARAMETERS>

A value may stand in an element's text, in elements below it, or in attributes; names count without case, `_` and `-`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from lxml import etree

_MAX_CHARS = 4 << 20
_TRUE = frozenset({"true", "yes", "1", "on", "si", "sí"})
#: Which setting a name stands for, by the words in it.
_NUMBERS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"depth"}), "depth"),
    (frozenset({"max", "potential"}), "depth"),
    (frozenset({"decay"}), "decay"),
    (frozenset({"author", "match"}), "author_match"),
    (frozenset({"author", "dup"}), "author_duplicates"),
    (frozenset({"filiation", "match"}), "affiliation_match"),
    (frozenset({"filiation", "dup"}), "affiliation_duplicates"),
    (frozenset({"confidence"}), "min_confidence"),
)
#: Elements that say nothing themselves, what is read elsewhere, and programs that lycosa does not need.
_KNOWN = frozenset({"seeds", "onlysubpaths", "labels", "label", "postcrawllabeling", "parscithome", "neo4jhome"})


def read_parameters(text: str) -> dict[str, Any] | None:
    """The settings that a file of the older form gives, as nested tables; None where it is none."""
    if len(text) > _MAX_CHARS or "SEEDS" not in text.upper():
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        root = etree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text).encode(), parser)
    except etree.XMLSyntaxError:
        return None
    found = {_plain(element.tag): element for element in root.iter() if isinstance(element.tag, str)}
    if "seeds" not in found:
        return None
    own: dict[str, Any] = {}
    for element in root.iter():
        if isinstance(element.tag, str) and not _take_number(element, own) and not _is_known(element):
            print(f"lycosa: {element.tag} of these parameters is not understood, and left out", file=sys.stderr)
    for name, setting in (("author", "author_stop_words"), ("filiation", "affiliation_stop_words")):
        words = [word for key, element in found.items() if "stop" in key and name in key for word in _items(element)]
        if words:
            own[setting] = list(dict.fromkeys(words))
    if labels := list(_labels(root)):
        own["labels"] = labels
    scope = "path" if _first(found.get("onlysubpaths")).lower() in _TRUE else "domain"
    return {
        "name": "documents",
        "missions": ["documents"],
        "seeds": _items(found["seeds"]),
        "scope": scope,
        "documents": own,
    }


def _take_number(element: Any, own: dict[str, Any]) -> bool:
    """Whether an element is a number of a setting, which is then taken; of several depths the greatest."""
    name = _plain(element.tag)
    text = _first(element)
    if len(element) or not re.fullmatch(r"\d{1,4}(?:[.,]\d{1,6})?", text):
        return False
    setting = next((setting for words, setting in _NUMBERS if all(word in name for word in words)), "")
    number = float(text.replace(",", "."))
    if setting == "depth":
        own[setting] = max(int(number), own.get(setting, 0))
    elif setting and number <= 100:
        own.setdefault(setting, number if number <= 1 else number / 100)
    return bool(setting)


def _is_known(element: Any) -> bool:
    """Whether an element, or one around it, is read elsewhere, or only holds others."""
    names = [_plain(each.tag) for each in (element, *element.iterancestors())]
    is_stop = "stop" in names[0] and ("author" in names[0] or "filiation" in names[0])
    return bool(len(element)) or is_stop or not _KNOWN.isdisjoint(names) or any("stop" in name for name in names[1:])


def _labels(root: Any) -> Iterator[str]:
    """The labels as the setting writes them."""
    for element in root.iter():
        if not isinstance(element.tag, str) or _plain(element.tag) != "label":
            continue
        values = {_plain(name): value.strip() for name, value in element.attrib.items()}
        for child in element:
            if isinstance(child.tag, str):
                values[_plain(child.tag)] = ", ".join(_items(child))
        words, category = values.get("matchingwords", ""), values.get("category") or values.get("name", "")
        if not words or not category:
            continue
        sub = values.get("subcategory", "")
        sub = f" / {_safe(sub)}" if sub not in ("", "null") else ""
        chars = values.get("maxcharactersindoc", "")
        bounds = [chars] if chars.isdigit() else []
        bounds += ["header"] if values.get("shouldapplyparscitrule", "").lower() in _TRUE else []
        bound = f" [{' '.join(bounds)}]" if bounds else ""
        listed = ", ".join(re.split(r"[,;|]\s*", words))
        yield f"{_safe(category)}{sub}{bound}: {listed}"


def _safe(text: str) -> str:
    return re.sub(r"[:/\[\]]", " ", text).strip()


def _plain(tag: str) -> str:
    return re.sub(r"[_\-.]|\{[^}]*\}", "", tag).lower()


def _items(element: Any) -> list[str]:
    """The values of an element: those of the elements below it, or the words of its text between commas or lines."""
    below = [
        child for child in element.iter() if child is not element and isinstance(child.tag, str) and not len(child)
    ]
    texts = [_first(child) for child in below] if below else re.split(r"[,;\n]\s*", element.text or "")
    return [text.strip() for text in texts if text and text.strip()]


def _first(element: Any) -> str:
    if element is None:
        return ""
    value = (element.text or "").strip() or str(element.get("value", "")).strip()
    return value if not len(element) or value else _first(element[0])
