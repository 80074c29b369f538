"""Validation of settings: the value that a mission holds, from a setting's path and what was given for it.

`parse` is for text (environment, command line, Crawler.conf), whose type the setting decides; `validate` for values
that have a type already (TOML). Both raise `Wrong`, whose text says what is allowed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping

from lycosa.config import value_parsers
from lycosa.config.fields import Field, Path, field_at, nearest
from lycosa.config.value_parsers import Wrong

#: What earlier crawlers call our choices.
ALIASES: dict[Path, dict[str, str]] = {
    ("scope",): {"free-spanning": "free", "domain-scope": "domain", "host-scope": "host", "path-scope": "path"},
    ("order",): {"breadth-first": "bfs", "depth-first": "dfs", "best-first": "best"},
}

#: What each text, or each item of a list, must be beyond its type.
CHECKS: dict[Path, Callable[[str], str]] = {
    ("name",): value_parsers.check_product,
    ("seeds",): value_parsers.check_seed,
    ("accept",): value_parsers.check_pattern,
    ("reject",): value_parsers.check_pattern,
    ("missions",): value_parsers.check_mission,
    ("quarry",): value_parsers.check_quarry,
    ("policy", "anchor_terms"): value_parsers.check_term,
    ("policy", "url_terms"): value_parsers.check_term,
    ("policy", "hint_terms"): value_parsers.check_hint,
    ("agent", "name"): value_parsers.check_product,
    ("agent", "contact"): value_parsers.check_contact,
    ("agent", "header"): value_parsers.check_line,
    ("fetch", "proxy"): value_parsers.check_proxy,
    ("fetch", "connect_to"): value_parsers.check_connect_to,
    ("fetch", "allow_private"): value_parsers.check_network,
    ("fetch", "ca"): value_parsers.check_file,
    ("keep", "collection"): value_parsers.check_folder,
}
_HOST_CHECKS: dict[str, Callable[[str], str]] = {
    "user": value_parsers.check_user,
    "password": value_parsers.check_password,
    "proxy": value_parsers.check_proxy,
    "headers": value_parsers.check_line,
    "cookies": value_parsers.check_cookie,
}

#: The separators of lists that are given in one text. A pattern may hold anything but a line break.
_SEPARATORS: dict[Path, str] = {("accept",): r"\n", ("reject",): r"\n", ("seeds",): r"\s+", ("themes",): r"\s*,\s*"}

_YES, _NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}

#: Beyond it a JSON reader and SQLite's 64-bit columns no longer agree on the number.
_LARGEST = 2**53
#: Bounds of a table whose content is a mission's own: worker processes get it with their command line.
_TABLE_CHARS = 100_000
_TABLE_DEPTH = 20


def validate(path: Path, value: object) -> object:
    """The value as the mission holds it."""
    field = field_at(path)
    assert field is not None, path
    if field.kind == "whole":
        return _validate_whole(field, value)
    if field.kind == "number":
        return _validate_number(field, value)
    if field.kind == "yes-no":
        if not isinstance(value, bool):
            raise Wrong("true or false")
        return value
    if field.kind == "choice":
        return _validate_choice(path, field, value)
    check = _HOST_CHECKS.get(path[2]) if path[0] == "hosts" else CHECKS.get(path)
    if field.kind == "text":
        return _validate_text(value, check)
    if field.kind in ("table", "tables"):
        return _validate_tables(field, value)
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise Wrong("a list of texts")
    return _validate_items(items, check)


def parse(path: Path, text: str) -> object:
    """The value that a text stands for, typed by the setting and checked."""
    field = field_at(path)
    assert field is not None, path
    if field.kind == "list":
        return validate(path, split_list(path, text))
    if field.kind in ("text", "choice"):
        return validate(path, text)
    if field.kind in ("table", "tables"):
        return validate(path, _as_table(text))
    if field.kind == "yes-no":
        word = text.strip().lower()
        return validate(path, word in _YES if word in _YES | _NO else text)
    return validate(path, _as_number(text))


def split_list(path: Path, text: str) -> list[str]:
    """The items of a list in one text: a TOML array, or items between commas or white space (patterns: lines)."""
    word = text.strip()
    if word.startswith("[") and word.endswith("]"):
        import tomllib

        try:
            items = tomllib.loads(f"items = {word}")["items"]
        except (ValueError, RecursionError):
            items = None  # a pattern may begin and end so as well: [0-9]+[a-z]
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return items
    return [item for item in re.split(_SEPARATORS.get(path, r"[,\s]\s*"), word) if item]


def _validate_whole(field: Field, value: object) -> int:
    if isinstance(value, str) and field.unit == "bytes":
        value = value_parsers.parse_size(value)
    if not isinstance(value, int) or isinstance(value, bool) or not _within(field, value):
        raise Wrong(_span(field, "a whole number"))
    if abs(value) > _LARGEST:
        raise Wrong(f"a whole number up to {_LARGEST}")
    return value


def _validate_number(field: Field, value: object) -> float:
    if isinstance(value, str) and field.unit:
        value = _as_number(value)
    if isinstance(value, str) and field.unit:
        value = value_parsers.parse_duration(value) / (3600 if field.unit == "h" else 1)
    good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    if not good or not isinstance(value, int | float) or math.isnan(value) or not _within(field, value):
        raise Wrong(_span(field, "a number"))
    return float(value)


def _validate_choice(path: Path, field: Field, value: object) -> str:
    aliases = ALIASES.get(path, {})
    word = value.strip().lower() if isinstance(value, str) else ""
    word = aliases.get(word, word)
    if word not in field.choices:
        listed = ", ".join([*field.choices, *aliases])
        meant = nearest(word, [*field.choices, *aliases]) if word else ""
        raise Wrong(listed + (f" (did you mean {meant}?)" if meant else ""))
    return word


def _validate_text(value: object, check: Callable[[str], str] | None) -> str:
    if not isinstance(value, str):
        raise Wrong("a text in quotes")
    if "\0" in value:
        raise Wrong("a text without NUL characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Wrong("a text in UTF-8") from None
    return check(value) if check else value


def _validate_items(items: Iterable[object], check: Callable[[str], str] | None) -> tuple[str, ...]:
    good: list[str] = []
    bad: list[Wrong] = []
    for at, item in enumerate(items):
        try:
            text = _validate_text(item, check)
            if not text.strip():
                raise Wrong("a text that is not empty")
            good.append(text)
        except Wrong as wrong:
            bad.append(Wrong(wrong.allowed, item=at))
    if bad:
        raise Wrong(bad[0].allowed, item=bad[0].item, others=tuple(bad[1:]))
    return tuple(good)


def _validate_tables(field: Field, value: object) -> object:
    """A table, or a list of them, of plain values; what they mean is the mission's to check."""
    if field.kind == "table" and not isinstance(value, Mapping):
        raise Wrong("a table")
    items = value if isinstance(value, list | tuple) else [None]
    if field.kind == "tables" and not all(isinstance(item, Mapping) for item in items):
        raise Wrong("a list of tables")
    plain = _as_plain(value, depth=0)
    if len(repr(plain)) > _TABLE_CHARS:
        raise Wrong(f"tables of up to {_TABLE_CHARS:,} characters")
    return plain


def _as_plain(value: object, *, depth: int) -> object:
    """Nested tables and lists as dicts and lists of plain values."""
    if depth > _TABLE_DEPTH:
        raise Wrong(f"tables that are nested up to {_TABLE_DEPTH} deep")
    if isinstance(value, Mapping):
        return {_validate_text(key, None): _as_plain(item, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_plain(item, depth=depth + 1) for item in value]
    if isinstance(value, str):
        return _validate_text(value, None)
    if isinstance(value, bool | float) or isinstance(value, int) and abs(value) <= _LARGEST:
        return value
    raise Wrong(f"texts, numbers, true, false, lists and tables, and no {type(value).__name__} within them")


def _as_table(text: str) -> object:
    """The tables that a text holds as TOML writes them on one line, or else the text."""
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


def _within(field: Field, value: float) -> bool:
    return (
        (field.low is None or value >= field.low)
        and (field.above is None or value > field.above)
        and (field.high is None or value <= field.high)
    )


def _span(field: Field, what: str) -> str:
    if field.low is not None and field.high is not None:
        span = f"{what} from {field.low} to {field.high}"
    elif field.low is not None:
        span = f"{what}, {field.low} or more"
    elif field.above is not None:
        span = f"{what} greater than {field.above}"
    else:
        span = what
    form = {"s": ', also as "90s" or "1h30m"', "h": ' of hours, also as "3d"', "bytes": ', also as "10 MB"'}
    return span + form.get(field.unit, "")
