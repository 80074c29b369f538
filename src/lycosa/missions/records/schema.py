"""Schemas: the fields of one kind of record, each with its rules, read from TOML and applied to pages.

    [schema]
    name = "book"
    records = "css:div.product"     # each match is a record; without it the page is one
    [fields.title]
    rule = ["css:h1.title", "xpath://h1"]   # the first that gives something counts
    [fields.pages]
    rule = 'algebra:pat("\\d+ pages")'
    pattern = '(\\d+) pages'
    convert = "integer"

What a page holds never raises: a rule that fails on one is noted in the record's problems.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from lycosa.config.toml import find_lines
from lycosa.content.converters import KINDS, convert
from lycosa.errors import LycosaError, UsageError
from lycosa.missions.records.guards import compile_pattern
from lycosa.missions.records.rules import Rule, RuleMatch, RuleScope, SourceMap, SourcePlace, parse_rule
from lycosa.parse import Doc

MAX_FILE = 1 << 20
MAX_FIELDS = 500
MAX_NESTING = 5
MAX_RECORDS = 10_000
MAX_VALUES = 1000
MAX_TEXT = 1_000_000
_SCHEMAS = Path(__file__).parent / "schemas"
#: Tables and keys of no schema are deeper; the time of the standard library's reader grows with the square.
_MAX_DOTS = 60
_Result = TypeVar("_Result")
_FIELD_KEYS = ("rule", "take", "pattern", "convert", "required", "list", "after", "fields")
_SCHEMA_KEYS = ("name", "version", "records", "key")


class SchemaProblem(UsageError):
    """A mistake in a schema: the path of the tables and keys to it, and what is allowed there."""

    def __init__(self, text: str, *, path: tuple[str, ...], said: str) -> None:
        super().__init__(text)
        self.path = path
        self.said = said

    @property
    def within(self) -> tuple[str, ...]:
        """The path in a table of a mission file, where the keys of [schema] stand beside the fields."""
        return self.path[1:] if self.path[:1] == ("schema",) else self.path


class SchemaField(Struct, frozen=True, kw_only=True):
    """How the value of a field is found, and what becomes of it."""

    name: str
    rules: tuple[Rule, ...]
    take: str = ""  # empty: what the rule says, or its text
    pattern: str = ""
    convert: str = "text"
    required: bool = False
    list: bool = False
    after: str = ""
    fields: tuple[SchemaField, ...] = ()  # of a nested record


class FieldValue(Struct):
    """A value of a record, with the rule that gave it and where it stands."""

    value: Any
    rule: str
    locate: Callable[[], SourcePlace | None]

    @property
    def place(self) -> SourcePlace | None:
        """Line and column in the source; None for what stands nowhere by itself. The page is read for it again."""
        return self.locate()


class FoundRecord(Struct):
    """A record that a schema found on a page."""

    schema: str
    version: str
    values: dict[str, list[FieldValue]] = field(default_factory=dict)  # a nested record is a value, too
    lists: frozenset[str] = frozenset()  # the fields that may have several values
    missing: list[str] = field(default_factory=list)  # required fields without a value
    problems: list[str] = field(default_factory=list)  # rules that failed on this page, with why

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values: a list for fields that may have several."""
        plain: dict[str, Any] = {}
        for name, values in self.values.items():
            items = [v.value.as_dict() if isinstance(v.value, FoundRecord) else v.value for v in values]
            plain[name] = items if name in self.lists else items[0]
        return plain


class Schema(Struct, frozen=True, kw_only=True):
    """A kind of record: how its records are found on a page, and their fields."""

    name: str
    version: str = ""
    records: Rule | None = None
    key: tuple[str, ...] = ()  # fields by which a record is known again; empty: the first, or its place
    fields: tuple[SchemaField, ...]

    def extract(self, doc: Doc, *, incomplete: bool = False) -> list[FoundRecord]:
        """The records of a page; `incomplete`: also those without any value, or without a required one."""
        page = RuleScope(doc, SourceMap(doc))
        scopes = [page]
        problems: list[str] = []
        if self.records is not None:
            scopes = [page.within(found) for found in _try_rule(self.records, page, problems)[:MAX_RECORDS]]
        found = [self._extract_one(self.fields, scope, problems) for scope in scopes]
        return [record for record in found if incomplete or (record.values and not record.missing)]

    def _extract_one(self, fields: Sequence[SchemaField], scope: RuleScope, problems: list[str]) -> FoundRecord:
        record = FoundRecord(self.name, self.version, problems=list(problems))
        record.lists = frozenset(one.name for one in fields if one.list)
        for one in fields:
            if values := list(self._find_values(one, scope, record)):
                record.values[one.name] = values
            elif one.required:
                record.missing.append(one.name)
        return record

    def _find_values(self, one: SchemaField, scope: RuleScope, record: FoundRecord) -> Iterator[FieldValue]:
        """The values of the first rule that gives any: all of them, or the first."""
        for rule in one.rules:
            values: dict[str, FieldValue] = {}
            for found in _try_rule(rule, scope, record.problems):
                if one.after and not found.follows(one.after):
                    continue
                value = (
                    self._nested(one, scope.within(found))
                    if one.fields
                    else _read_value(one, rule, found, scope.doc, record.problems)
                )
                if value is None:
                    continue
                key = str(id(value)) if one.fields else repr(value)
                values.setdefault(key, FieldValue(value, rule.source, lambda f=found: f.locate(scope.source)))  # type: ignore[misc]
                if not one.list or len(values) >= MAX_VALUES:
                    break
            if values:
                yield from values.values()
                return

    def _nested(self, one: SchemaField, scope: RuleScope) -> FoundRecord | None:
        record = self._extract_one(one.fields, scope, [])
        return record if record.values and not record.missing else None


def _try_rule(rule: Rule, scope: RuleScope, problems: list[str]) -> list[RuleMatch]:
    """What a rule finds; what it cannot do on this page becomes a problem."""
    try:
        return rule.find(scope)
    except (LycosaError, ValueError, RecursionError, MemoryError) as error:
        problems.append(f"{rule.source[:80]}: {error}")
        return []


def _read_value(one: SchemaField, rule: Rule, found: RuleMatch, doc: Doc, problems: list[str]) -> Any:
    """The value of a match: taken, cut by the pattern, converted; None when nothing is left."""
    take = one.take or rule.take or "text"
    text = found.take(take) or ""
    if len(text) > MAX_TEXT:
        problems.append(f"{one.name}: only the first {MAX_TEXT:,} of {len(text):,} characters are taken")
        text = text[:MAX_TEXT]
    if one.pattern:
        matched = compile_pattern(one.pattern).search(text)
        text = (matched[1 if matched.re.groups else 0] or "") if matched else ""
    if rule.source.startswith("built-in:") or take == "markup":
        text = text.strip()  # paragraphs stay
    else:
        text = " ".join(text.split())
    if not text or one.convert == "text":
        return text or None
    return convert(text, one.convert, language=doc.language, base=doc.base)


def check_convert(kind: str) -> None:
    """Refuse what nothing is converted to."""
    if kind not in KINDS:
        raise UsageError(f'Found "{kind}"; allowed: {", ".join(KINDS)}.')


def load_schema(source: str | Path) -> Schema:
    """Read a schema: a file, the name of a built-in one, or the text itself, which has several lines."""
    if isinstance(source, str) and "\n" in source:
        return read_schema(source, where="the schema")
    path = Path(source)
    if has_built_in(str(source)) and not path.exists():
        path = _SCHEMAS / f"{path.name}.toml"
    return read_schema(read_file(path), where=str(source))


def has_built_in(name: str) -> bool:
    """Whether a schema of this name comes with lycosa."""
    return name.isidentifier() and (_SCHEMAS / f"{name}.toml").is_file()


def read_file(path: Path) -> str:
    """The text of a schema's file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
        text = content.decode()
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise UsageError(f"{path}: byte {error.start} is no UTF-8, which TOML is written in.") from None
        known = ", ".join(sorted(file.stem for file in _SCHEMAS.glob("*.toml")))
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: {reason}; a schema is a TOML file, or one of those built in: {known}.") from None
    if len(content) > MAX_FILE:
        raise UsageError(f"{path} is larger than {MAX_FILE:,} bytes, the most that a schema may have.")
    return text


def read_table(name: str, table: Mapping[str, Any]) -> Schema:
    """Read a schema from its table in a mission file, which names it; SchemaProblem says what is wrong."""
    head = {key: value for key, value in table.items() if key != "fields"}
    if "name" in head:
        raise SchemaProblem(
            f"{name}: it has two names.", path=("name",), said="its table names it; allowed: no other name"
        )
    data = {"schema": head | {"name": name}, "fields": table.get("fields", {})}
    return _SchemaReader(f"records.schemas.{name}", "").read(data)


def read_schema(text: str, *, where: str) -> Schema:
    """Read the TOML of a schema; `where` names it in what is said of it."""
    if any(line.count(".") > _MAX_DOTS and line.lstrip().startswith("[") for line in text.splitlines()):
        raise UsageError(f"{where}: a table is nested more than {MAX_NESTING} deep.")
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is no TOML: {error}.") from None
    return _SchemaReader(where, text).read(data)


class _SchemaReader:
    """Makes a schema of tables; says of what is wrong where it stands and what is allowed."""

    def __init__(self, where: str, text: str) -> None:
        self.where = where
        self.lines = find_lines(text)
        self.count = 0

    def read(self, data: Mapping[str, Any]) -> Schema:
        self._check_keys(data, ("schema", "fields"), ())
        head = self._table(data, "schema", ())
        self._check_keys(head, _SCHEMA_KEYS, ("schema",))
        name = self._text(head, "name", ("schema",))
        if not name:
            raise self._wrong(("schema",), 'it has no name; allowed: [schema] with name = "…"')
        records = self._text(head, "records", ("schema",))
        rule = self._rule(records, ("schema", "records"), nested=False) if records else None
        fields = self._fields(self._table(data, "fields", ()), ("fields",), nested=rule is not None)
        return Schema(
            name=name,
            version=self._text(head, "version", ("schema",)),
            records=rule,
            key=self._key(head, fields),
            fields=fields,
        )

    def _key(self, head: Mapping[str, Any], fields: Sequence[SchemaField]) -> tuple[str, ...]:
        value = head.get("key", [])
        names = [value] if isinstance(value, str) else value
        known = [one.name for one in fields]
        if not isinstance(names, list) or not all(name in known for name in names):
            raise self._wrong(("schema", "key"), f"found {value!r:.40}; allowed: one or several of {', '.join(known)}")
        return tuple(names)

    def _fields(self, tables: Mapping[str, Any], path: tuple[str, ...], *, nested: bool) -> tuple[SchemaField, ...]:
        if not tables:
            raise self._wrong(path, "there is no field; allowed: at least one [fields.NAME] with a rule")
        if len(path) // 2 >= MAX_NESTING:
            raise self._wrong(path, f"records are nested more than {MAX_NESTING} deep")
        return tuple(self._field(name, self._table(tables, name, path), (*path, name), nested) for name in tables)

    def _field(self, name: str, table: Mapping[str, Any], path: tuple[str, ...], nested: bool) -> SchemaField:
        self.count += 1
        if self.count > MAX_FIELDS:
            raise self._wrong(path, f"there are more than {MAX_FIELDS} fields")
        self._check_keys(table, _FIELD_KEYS, path)
        rules = table.get("rule", [])
        rules = [rules] if isinstance(rules, str) else rules
        if not isinstance(rules, list) or not rules or not all(isinstance(rule, str) for rule in rules):
            raise self._wrong((*path, "rule"), 'allowed: rule = "LANGUAGE:EXPRESSION", or a list of such')
        take = self._text(table, "take", path)
        if take not in ("", "text", "markup", "name") and not take.startswith("attribute "):
            raise self._wrong((*path, "take"), f'found "{take}"; allowed: text, markup, attribute NAME')
        kind = self._text(table, "convert", path) or "text"
        self._checked((*path, "convert"), lambda: check_convert(kind))
        pattern = self._text(table, "pattern", path)
        if pattern:
            self._checked((*path, "pattern"), lambda: compile_pattern(pattern))
        inner = self._table(table, "fields", path)
        return SchemaField(
            name=name,
            rules=tuple(self._rule(rule, (*path, "rule"), nested=nested) for rule in rules),
            take=" ".join(take.split()),
            pattern=pattern,
            convert=kind,
            required=self._flag(table, "required", path, default=False),
            list=self._flag(table, "list", path, default=bool(inner)),
            after=self._text(table, "after", path),
            fields=self._fields(inner, (*path, "fields"), nested=True) if inner else (),
        )

    def _rule(self, source: str, path: tuple[str, ...], *, nested: bool) -> Rule:
        return self._checked(path, lambda: parse_rule(source, nested=nested))

    def _checked(self, path: tuple[str, ...], read: Callable[[], _Result]) -> _Result:
        try:
            return read()
        except UsageError as error:
            raise self._wrong(path, str(error).removesuffix(".")) from None

    def _table(self, table: Mapping[str, Any], key: str, path: tuple[str, ...]) -> Mapping[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong((*path, key), f"allowed: a table [{'.'.join((*path, key))}]")
        return value

    def _text(self, table: Mapping[str, Any], key: str, path: tuple[str, ...]) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise self._wrong((*path, key), f'found {value!r:.40}; allowed: {key} = "TEXT"')
        return value.strip()

    def _flag(self, table: Mapping[str, Any], key: str, path: tuple[str, ...], *, default: bool) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong((*path, key), f"found {value!r:.40}; allowed: true, false")
        return value

    def _check_keys(self, table: Mapping[str, Any], allowed: Sequence[str], path: tuple[str, ...]) -> None:
        for key in table:
            if key not in allowed:
                raise self._wrong((*path, key), f"there is no such setting; allowed: {', '.join(allowed)}")

    def _wrong(self, path: tuple[str, ...], said: str) -> UsageError:
        line = next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 0)
        text = f"{self.where}{f', line {line}' if line else ''}: {'.'.join(path)}: {said}."
        return SchemaProblem(text, path=path, said=said)
