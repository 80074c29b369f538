"""Readers file: who reads, what each is interested in, and by which mail server they are reached, in TOML.

    [mail]
    sender = "lycosa@example.org"
    [[readers]]
    name = "Ana"
    mail = "ana@example.org"
    interests = [ { terms = ["río", "inundación"] }, { field = "section", is = "Deportes" } ]

What is wrong is said with file and line, what is allowed there, and what was probably meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeGuard, TypeVar

import msgspec
from msgspec import Struct

from lycosa.config.mission_table import Place
from lycosa.config.toml import find_lines, parse_tables
from lycosa.config.types import nearest
from lycosa.errors import UsageError
from lycosa.missions.records.delivery import MailSettings, WebhookSettings
from lycosa.missions.records.delivery.message import is_mailbox
from lycosa.missions.records.guards import compile_pattern
from lycosa.missions.records.interests import (
    AllOf,
    AnyOf,
    Bound,
    Condition,
    FieldCondition,
    HostCondition,
    Interest,
    KindCondition,
    NoneOf,
    PatternCondition,
    TermCondition,
    as_time,
    fold_term,
)

MAX_FILE = 1 << 20
MAX_READERS = 1000
MAX_CONDITIONS = 10_000
MAX_TERMS = 5000
MAX_NESTING = 8
MAX_NAME = 100
MAX_ITEMS = 1000
_TABLES = ("mail", "webhooks", "readers", "alerts")
_CONDITION_KEYS = (
    "name", "terms", "pattern", "field", "is", "at_least", "at_most", "kind", "host", "all", "any", "not", "weight",
)  # fmt: skip
_MAX_DOTS = 60
_Settings = TypeVar("_Settings", MailSettings, WebhookSettings)


class Reader(Struct, frozen=True, kw_only=True):
    """Somebody who gets digests."""

    name: str
    mail: str = ""
    interests: tuple[Interest, ...] = ()  # none: everything
    report: str = "digest"  # a built-in one, or a FILE.toml; "none": alerts only
    group: Literal["interest", "story"] = "interest"
    limit: int = 50  # records that a digest shows
    since: date | None = None  # nothing that was found before


class ReadersFile:
    """The tables of a readers file, what of them is read, and the lines on which they stand."""

    def __init__(self, path: Path, text: str, data: dict[str, Any]) -> None:
        self.path = path
        self.data = data
        self.lines = find_lines(text)
        self.mail: MailSettings | None = None
        self.webhooks = WebhookSettings()
        self.readers: tuple[Reader, ...] = ()

    def wrong(self, path: Sequence[str | int], said: str) -> UsageError:
        """A complaint about what stands at this path."""
        place = tuple(path)
        line = next((self.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in self.lines), 0)
        return UsageError(f"{self.path}{f':{line}' if line else ''}: {_dotted(place)}{said}.")

    def check_keys(self, table: Mapping[str, Any], allowed: Sequence[str], path: Sequence[str | int]) -> None:
        """Refuse keys that mean nothing."""
        for key in table:
            if key not in allowed:
                meant = nearest(key, allowed)
                hint = f"did you mean {meant}? " if meant else ""
                raise self.wrong((*path, key), f"there is no such setting; {hint}allowed: {', '.join(allowed)}")

    def find(self, name: str) -> Reader:
        """The reader of a name."""
        found = next((reader for reader in self.readers if reader.name == name), None)
        if found is None:
            names = [reader.name for reader in self.readers]
            meant = nearest(name, names)
            hint = f"; did you mean {meant}?" if meant else ""
            raise UsageError(f"{self.path} has no reader {name!r}; it has {', '.join(names)}{hint}")
        return found


def _dotted(path: Place) -> str:
    """A path as people write it: readers[2].interests[1].terms, counted from one."""
    said = ""
    for part in path:
        said += f"[{part + 1}]" if isinstance(part, int) else f"{'.' if said else ''}{part}"
    return f"{said}: " if said else ""


def load_readers(path: str | Path) -> ReadersFile:
    """Read a readers file, or say what is wrong with it."""
    text, data = read_toml(path, what="a readers file")
    file = read_readers(Path(path), text, data)
    if not file.readers and not data.get("alerts"):
        raise UsageError(f"{path}: there is no reader; allowed: [[readers]] with name, mail, interests.")
    return file


def read_readers(path: Path, text: str, data: dict[str, Any]) -> ReadersFile:
    """The readers file of a text and its tables, which may not have readers yet."""
    file = ReadersFile(path, text, data)
    file.check_keys(data, _TABLES, ())
    file.mail = _read_settings(file, "mail", MailSettings)
    if file.mail is not None and file.mail.password_file and (beside := path.parent / file.mail.password_file).exists():
        file.mail = msgspec.structs.replace(file.mail, password_file=str(beside))
    file.webhooks = _read_settings(file, "webhooks", WebhookSettings) or WebhookSettings()
    tables = data.get("readers", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise file.wrong(("readers",), "allowed: one [[readers]] for each reader")
    if len(tables) > MAX_READERS:
        raise file.wrong(("readers",), f"there are {len(tables):,}; allowed: {MAX_READERS:,}")
    names: dict[str, int] = {}
    readers = []
    reading = _ConditionReader(file)
    for nth, table in enumerate(tables):
        reader = _read_reader(file, table, ("readers", nth), reading)
        if reader.name.casefold() in names:
            raise file.wrong(("readers", nth, "name"), f"two are called {reader.name}; allowed: a name for each")
        names[reader.name.casefold()] = nth
        readers.append(reader)
    file.readers = tuple(readers)
    return file


def read_toml(path: str | Path, *, what: str) -> tuple[str, dict[str, Any]]:
    """The text and the tables of a TOML file, within bounds."""
    try:
        with open(path, "rb") as source:
            content = source.read(MAX_FILE + 1)
        text = content.decode().replace("\r\n", "\n")
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            line = content[: error.start].count(b"\n") + 1
            raise UsageError(f"{path}:{line}: found the byte {content[error.start]:02x}; TOML is UTF-8.") from None
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: {reason}; name {what} in TOML.") from None
    if len(content) > MAX_FILE:
        raise UsageError(f"{path} is larger than {MAX_FILE:,} bytes, the most that {what} may have.")
    if any(line.count(".") > _MAX_DOTS and line.lstrip()[:1] in ("[", "{") for line in text.splitlines()):
        raise UsageError(f"{path}: a table is nested more than {MAX_NESTING} deep.")
    try:
        return text, parse_tables(text)
    except ValueError as error:
        said = str(error)
        hint = r"; put a pattern with backslashes between single quotes: '\d+'" if "escape" in said.lower() else ""
        raise UsageError(f"{path} is no TOML: {said}{hint}.") from None


def _read_settings(file: ReadersFile, name: str, form: type[_Settings]) -> _Settings | None:
    table = file.data.get(name)
    if table is None:
        return None
    if not isinstance(table, dict):
        raise file.wrong((name,), f"allowed: a table [{name}]")
    file.check_keys(table, form.__struct_fields__, (name,))
    for key, value in table.items():
        try:
            msgspec.convert({key: value}, form)
        except msgspec.ValidationError as error:
            raise file.wrong((name, key), f"found {value!r:.60}: {str(error).partition(' - ')[0]}") from None
    settings = msgspec.convert(table, form)
    for key, said in settings.find_problems():
        raise file.wrong((name, key), said)
    return settings


def _is_line(value: object, most: int) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= most and value.isprintable()


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


class _Setting(NamedTuple):
    """A setting of a reader: what it is where nothing is said, which values are right, and how that is said."""

    default: object
    is_right: Callable[[Any], bool]
    allowed: str


_READER_SETTINGS = {
    "name": _Setting(None, lambda v: _is_line(v, MAX_NAME), f'name = "…", of 1 to {MAX_NAME} characters'),
    "mail": _Setting(
        "", lambda v: not v or (isinstance(v, str) and is_mailbox(v)), "a mailbox such as ana@example.org"
    ),
    "group": _Setting("interest", lambda v: v in ("interest", "story"), "interest, story"),
    "limit": _Setting(50, lambda v: _is_whole(v) and 1 <= v <= MAX_ITEMS, f"1 to {MAX_ITEMS:,} records"),
    "report": _Setting("digest", lambda v: isinstance(v, str) and bool(v.strip()), "digest, a FILE.toml, or none"),
    "since": _Setting(None, lambda v: v is None or isinstance(v, date), "a date, since = 2026-11-18"),
}
_READER_KEYS = ("name", "mail", "interests", *(key for key in _READER_SETTINGS if key not in ("name", "mail")))


def _read_reader(file: ReadersFile, table: dict[str, Any], path: Place, reading: _ConditionReader) -> Reader:
    file.check_keys(table, _READER_KEYS, path)
    given: dict[str, Any] = {}
    for key, setting in _READER_SETTINGS.items():
        value = table.get(key, setting.default)
        if not setting.is_right(value):
            raise file.wrong((*path, key), f"found {value!r:.60}; allowed: {setting.allowed}")
        given[key] = value.date() if isinstance(value, datetime) else value
    tables = table.get("interests", [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise file.wrong((*path, "interests"), 'allowed: a list of interests, [ { terms = ["river"] } ]')
    interests = tuple(reading.read_interest(one, (*path, "interests", nth)) for nth, one in enumerate(tables))
    return Reader(**{**given, "name": given["name"].strip()}, interests=interests)


def read_interest(file: ReadersFile, table: dict[str, Any], path: Sequence[str | int]) -> Interest:
    """The interest of a table that stands at a path of a file."""
    return _ConditionReader(file).read_interest(table, tuple(path))


class _ConditionReader:
    """Makes conditions of tables; counts them, as all together have a bound."""

    def __init__(self, file: ReadersFile) -> None:
        self.file = file
        self.count = 0

    def read_interest(self, table: dict[str, Any], path: Place) -> Interest:
        condition = self._read_condition(table, path, depth=0)
        name = self._text(table, "name", path) or _name_condition(table)
        weight = table.get("weight", 1.0)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= 1000:
            raise self.file.wrong((*path, "weight"), f"found {weight!r:.40}; allowed: a number from 0 to 1000")
        return Interest(name[:MAX_NAME], condition, float(weight))

    def _read_condition(self, table: dict[str, Any], path: Place, *, depth: int) -> Condition:
        self.count += 1
        if self.count > MAX_CONDITIONS:
            raise self.file.wrong(path, f"there are more than {MAX_CONDITIONS:,} conditions")
        if depth > MAX_NESTING:
            raise self.file.wrong(path, f"conditions are nested more than {MAX_NESTING} deep")
        self.file.check_keys(table, _CONDITION_KEYS, path)
        if depth and (strange := {"name", "weight"} & table.keys()):
            raise self.file.wrong((*path, min(strange)), "it belongs to the interest, not to a part of it")
        conditions = list(self._read_parts(table, path, depth))
        if not conditions:
            allowed = ", ".join(key for key in _CONDITION_KEYS if key not in ("name", "weight"))
            raise self.file.wrong(path, f"the interest says nothing; allowed: {allowed}")
        return conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))

    def _read_parts(self, table: dict[str, Any], path: Place, depth: int) -> Iterator[Condition]:
        if kinds := self._texts(table, "kind", path):
            yield KindCondition(kinds)
        if hosts := self._texts(table, "host", path):
            yield HostCondition(tuple(host.lower().rstrip(".") for host in hosts))
        fields = self._texts(table, "field", path)
        if terms := self._texts(table, "terms", path, most=MAX_TERMS):
            for nth, term in enumerate(terms):
                if not fold_term(term):
                    raise self.file.wrong((*path, "terms", nth), f"found {term!r:.40}; allowed: words")
            yield TermCondition(terms, fields)
        if pattern := self._text(table, "pattern", path):
            try:
                compile_pattern(pattern)
            except UsageError as error:
                raise self.file.wrong((*path, "pattern"), str(error).removesuffix(".")) from None
            yield PatternCondition(pattern, fields)
        yield from self._read_field(table, path, fields)
        if "all" in table:
            yield AllOf(self._read_list(table, "all", path, depth))
        if "any" in table:
            yield AnyOf(self._read_list(table, "any", path, depth))
        if "not" in table:
            yield NoneOf(self._read_list(table, "not", path, depth))

    def _read_field(self, table: dict[str, Any], path: Place, fields: tuple[str, ...]) -> Iterator[Condition]:
        """The condition on the values of a field; one that says nothing more than its name must be there."""
        bounds = {key: self._bound(table, key, path) for key in ("at_least", "at_most") if key in table}
        values = self._values(table, path)
        if not fields:
            if said := next((key for key in ("is", *bounds) if key in table), ""):
                raise self.file.wrong((*path, said), f'it needs a field; allowed: {{ field = "…", {said} = … }}')
            return
        if values or bounds or not ({"terms", "pattern"} & table.keys()):
            yield FieldCondition(fields, values, bounds.get("at_least"), bounds.get("at_most"))

    def _read_list(self, table: dict[str, Any], key: str, path: Place, depth: int) -> tuple[Condition, ...]:
        given = table[key]
        single = isinstance(given, dict)
        tables = [given] if single else given
        if not isinstance(tables, list) or not tables or not all(isinstance(one, dict) for one in tables):
            raise self.file.wrong((*path, key), f"found {given!r:.40}; allowed: {key} = [ {{ … }}, {{ … }} ]")
        places = [(*path, key) if single else (*path, key, nth) for nth in range(len(tables))]
        return tuple(self._read_condition(one, at, depth=depth + 1) for one, at in zip(tables, places, strict=True))

    def _text(self, table: dict[str, Any], key: str, path: Place) -> str:
        value = table.get(key, "")
        if not isinstance(value, str) or (key in table and not value.strip()):
            raise self.file.wrong((*path, key), f'found {value!r:.40}; allowed: {key} = "TEXT"')
        return value

    def _texts(self, table: dict[str, Any], key: str, path: Place, *, most: int = 100) -> tuple[str, ...]:
        given = table.get(key, [])
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
            raise self.file.wrong((*path, key), f'found {given!r:.40}; allowed: "TEXT", or a list of texts')
        if key in table and not texts:
            raise self.file.wrong((*path, key), 'the list is empty; allowed: "TEXT", or a list of texts')
        if len(texts) > most:
            raise self.file.wrong((*path, key), f"there are {len(texts):,}; allowed: {most:,}")
        return tuple(text.strip() for text in texts)

    def _values(self, table: dict[str, Any], path: Place) -> tuple[str | int | float | bool, ...]:
        if "is" not in table:
            return ()
        given = table["is"] if isinstance(table["is"], list) else [table["is"]]
        values = tuple(value.isoformat() if isinstance(value, date | datetime) else value for value in given)
        if not values or not all(isinstance(value, str | int | float) for value in values):
            raise self.file.wrong((*path, "is"), "allowed: a text, a number, a date, true, false, or a list of such")
        return values

    def _bound(self, table: dict[str, Any], key: str, path: Place) -> Bound:
        value = table[key]
        if isinstance(value, str) and (found := as_time(value)) is not None:
            return found.date() if len(value) == 10 else found
        if isinstance(value, bool) or not isinstance(value, int | float | date):
            raise self.file.wrong((*path, key), f"found {value!r:.40}; allowed: a number, or a date as 2026-11-18")
        return value


def _name_condition(table: Mapping[str, Any]) -> str:
    """What an interest without a name is called: the words that it is about."""
    for key in ("terms", "pattern", "is", "kind", "host"):
        if key in table:
            return _listed(table[key])
    if "field" in table:
        bounds = (("at_least", "≥"), ("at_most", "≤"))
        said = " ".join(f"{sign} {table[key]}" for key, sign in bounds if key in table)
        return f"{_listed(table['field'])} {said}".strip()
    for key in ("all", "any", "not"):
        inner = table.get(key)
        first = inner[0] if isinstance(inner, list) and inner else inner
        if isinstance(first, dict):
            return f"not {_name_condition(first)}" if key == "not" else _name_condition(first)
    return "everything"


def _listed(given: Any) -> str:
    texts = [str(text) for text in given] if isinstance(given, list) else [str(given)]
    return ", ".join(texts[:4]) + (" …" if len(texts) > 4 else "")
