"""Types of settings: each says what may stand there, and reads it from a text or from a value that has a type already.

A type stands in the annotation of a setting: a number with its bounds (`Meta`), a choice, a text with what it must be
beyond that. `type_of` makes it from the annotation; its `parse` takes a text (environment, command line, Crawler.conf),
`validate` a value from TOML, and both raise `Wrong` with what is allowed. Units come from names (`_s`, `_h`, `_bytes`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Meta, Struct

from lycosa.config.value_parsers import Wrong, parse_duration, parse_size


def nearest(word: str, choices: Iterable[str]) -> str:
    """The choice that was most likely meant, or nothing."""
    known = {choice.lower(): choice for choice in choices}
    word = word.lower()
    longer = [name for name in known if name.startswith(word)] if len(word) > 2 else []
    if len(longer) == 1:
        return known[longer[0]]
    from difflib import get_close_matches  # 10 ms that only a mistake has to pay

    close = get_close_matches(word[:100], list(known), n=1, cutoff=0.6)
    return known[close[0]] if close else ""


_YES, _NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}
_FORMS = {"": "", "s": ', also as "90s" or "1h30m"', "h": ' of hours, also as "3d"', "bytes": ', also as "10 MB"'}
#: Beyond it a JSON reader and SQLite's 64-bit columns no longer agree on the number.
_LARGEST = 2**53
#: Bounds of a table whose content is a mission's own.
_TABLE_CHARS = 10_000_000
_TABLE_DEPTH = 20


class SettingType(Struct, frozen=True):
    """What may be the value of a setting."""

    @property
    def words(self) -> str:
        """What the documentation calls it."""
        raise NotImplementedError

    def parse(self, text: str) -> object:
        """The value that a text stands for."""
        return self.validate(text)

    def validate(self, value: object) -> object:
        """The value as the mission holds it."""
        raise NotImplementedError


class SwitchType(SettingType, frozen=True):
    """Yes or no."""

    @property
    def words(self) -> str:
        return "true or false"

    def parse(self, text: str) -> object:
        word = text.strip().lower()
        return self.validate(word in _YES if word in _YES | _NO else text)

    def validate(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise Wrong("true or false")
        return value


class NumberType(SettingType, frozen=True):
    """A number within bounds, whole or not; with a unit it is also written as a duration or as a size."""

    whole: bool = False
    unit: Literal["", "s", "h", "bytes"] = ""
    low: float | None = None
    above: float | None = None  # must be greater, where `low` may be equalled
    high: float | None = None

    @property
    def words(self) -> str:
        bound = (
            f" from {self.low}" if self.low is not None else f" above {self.above}" if self.above is not None else ""
        )
        return ("whole number" if self.whole else "number") + bound + ("" if self.high is None else f" to {self.high}")

    def parse(self, text: str) -> object:
        return self.validate(_as_number(text))

    def validate(self, value: object) -> float:
        if isinstance(value, str) and self.unit:
            value = self._read_unit(value)
        kinds = int if self.whole else int | float
        if not isinstance(value, kinds) or isinstance(value, bool) or not self._holds(value):
            raise Wrong(self._allowed())
        if abs(value) > _LARGEST:
            raise Wrong(f"a whole number up to {_LARGEST}" if self.whole else self._allowed())
        return value if self.whole else float(value)

    def _read_unit(self, text: str) -> object:
        if self.unit == "bytes":
            return parse_size(text)
        number = _as_number(text)
        return parse_duration(text) / (3600 if self.unit == "h" else 1) if isinstance(number, str) else number

    def _holds(self, value: float) -> bool:
        return not (
            value != value  # no number at all
            or (self.low is not None and value < self.low)
            or (self.above is not None and value <= self.above)
            or (self.high is not None and value > self.high)
        )

    def _allowed(self) -> str:
        text = "a whole number" if self.whole else "a number"
        if self.low is not None:
            text += f", {self.low} or more" if self.high is None else f" from {self.low} to {self.high}"
        elif self.above is not None:
            text += f" greater than {self.above}"
        return text + _FORMS[self.unit]


class ChoiceType(SettingType, frozen=True):
    """One of several words; what earlier crawlers call them is understood as well."""

    choices: tuple[str, ...]
    aliases: Mapping[str, str] = {}

    @property
    def words(self) -> str:
        return ", ".join(f"`{choice}`" for choice in self.choices)

    def validate(self, value: object) -> str:
        word = value.strip().lower() if isinstance(value, str) else ""
        squeezed = re.sub(r"[\s_-]+", "", word)  # "PathScope", "Breadth First Search"
        names = (name for name in self.aliases if squeezed in (name.replace("-", ""), name.replace("-", "") + "search"))
        word = next((self.aliases[name] for name in names), word)
        if word not in self.choices:
            words = [*self.choices, *self.aliases]
            meant = nearest(word, words) if word else ""
            raise Wrong(", ".join(words) + (f" (did you mean {meant}?)" if meant else ""))
        return word


class TextType(SettingType, frozen=True):
    """A text, which `check` returns as the mission holds it, or refuses. Several in one are split at `separator`."""

    check: Callable[[str], str] | None = None
    separator: str = r"[,\s]\s*"

    @property
    def words(self) -> str:
        return "text"

    def validate(self, value: object) -> str:
        if not isinstance(value, str):
            raise Wrong("a text in quotes")
        if "\0" in value:
            raise Wrong("a text without NUL characters")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Wrong("a text in UTF-8") from None
        return self.check(value) if self.check else value


class TextsType(SettingType, frozen=True):
    """A list of texts."""

    item: TextType = TextType()

    @property
    def words(self) -> str:
        return "list of texts"

    def parse(self, text: str) -> object:
        return self.validate(self.split(text))

    def split(self, text: str) -> list[str]:
        """The items in one text: a TOML array, or items between commas or white space (patterns: lines)."""
        word = text.strip()
        if word.startswith("[") and word.endswith("]"):
            items = _as_table(word)  # a pattern may begin and end so as well: [0-9]+[a-z]
            if isinstance(items, list) and all(isinstance(item, str) for item in items):
                return items
        return [item for item in re.split(self.item.separator, word) if item]

    def validate(self, value: object) -> tuple[str, ...]:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            raise Wrong("a list of texts")
        good: list[str] = []
        bad: list[Wrong] = []
        for at, item in enumerate(items):
            try:
                text = self.item.validate(item)
                if not text.strip():
                    raise Wrong("a text that is not empty")
                good.append(text)
            except Wrong as wrong:
                bad.append(Wrong(wrong.allowed, item=at))
        if bad:
            raise Wrong(bad[0].allowed, item=bad[0].item, others=tuple(bad[1:]))
        return tuple(good)


class TableType(SettingType, frozen=True):
    """A table of plain values, or a list of them; what they mean is the mission's to check."""

    several: bool = False

    @property
    def words(self) -> str:
        return "list of tables" if self.several else "table"

    def parse(self, text: str) -> object:
        return self.validate(_as_table(text))

    def validate(self, value: object) -> object:
        items = value if isinstance(value, list | tuple) else [None]
        if not isinstance(value, Mapping) and (
            not self.several or not all(isinstance(item, Mapping) for item in items)
        ):
            raise Wrong(f"a {self.words}")
        plain = _as_plain(value, depth=0)
        if len(repr(plain)) > _TABLE_CHARS:
            raise Wrong(f"tables of up to {_TABLE_CHARS:,} characters")
        return plain


def type_of(name: str, annotation: object) -> SettingType:
    """The type of a setting, from the annotation of its field."""
    if get_origin(annotation) in (Union, UnionType):  # only HostRule has these: a value, or None for "as everywhere"
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    extra: Any = None
    if get_origin(annotation) is Annotated:
        annotation, extra = get_args(annotation)[:2]
    arguments: tuple[Any, ...] = get_args(annotation)
    if annotation is int or annotation is float:
        last = name.rpartition("_")[2]
        unit: Any = last if last in (("bytes",) if annotation is int else ("s", "h")) and name != last else ""
        bounds = extra or Meta()
        return NumberType(annotation is int, unit, bounds.ge, bounds.gt, bounds.le)
    if annotation is bool:
        return SwitchType()
    if get_origin(annotation) is Literal:
        return ChoiceType(arguments, extra or {})
    if get_origin(annotation) is dict:
        return TableType()
    if get_origin(annotation) is tuple:
        if get_origin(arguments[0]) is dict:
            return TableType(several=True)
        item = type_of(name, arguments[0])
        return TextsType(item if isinstance(item, TextType) else TextType())
    return extra or TextType()


def _as_plain(value: object, *, depth: int) -> object:
    """Nested tables and lists as dicts and lists of plain values."""
    if depth > _TABLE_DEPTH:
        raise Wrong(f"tables that are nested up to {_TABLE_DEPTH} deep")
    if isinstance(value, Mapping):
        return {TextType().validate(key): _as_plain(item, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_plain(item, depth=depth + 1) for item in value]
    if isinstance(value, str):
        return TextType().validate(value)
    if isinstance(value, bool | float) or isinstance(value, int) and abs(value) <= _LARGEST:
        return value
    raise Wrong(f"texts, numbers, true, false, lists and tables, and no {type(value).__name__} within them")


def _as_table(text: str) -> object:
    """The tables or the list that a text holds as TOML writes them on one line, or else the text."""
    import tomllib

    try:
        return tomllib.loads(f"it = {text}")["it"]
    except (ValueError, RecursionError):
        return text


def _as_number(text: str) -> object:
    """The number that a text without a unit stands for, or else the text."""
    word = text.strip()
    if re.fullmatch(r"[+-]?\d{1,100}", word, re.ASCII):
        return int(word)
    return float(word) if re.fullmatch(r"[+-]?\d{1,18}\.\d{0,18}", word, re.ASCII) else text
