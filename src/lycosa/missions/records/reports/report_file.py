"""Report files: the queries, the selection and the templates of a report, in TOML.

    name = "Prices"
    [queries]
    cheap = "SELECT url, data ->> '$.title' AS title FROM records WHERE data ->> '$.price.amount' < 10"
    [selection]                     # records, by an interest as readers have them
    kind = "album"
    [templates]
    html = "prices.html"            # a file beside this one, or the template itself
    markdown = '''{% for row in cheap %}- {{ row.title }}
    {% endfor %}'''

The digest and the statistics are such files, too. Templates of users run in a process of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from lycosa import clock
from lycosa.clock import iso_time
from lycosa.collection.collection import Collection
from lycosa.collection.database import guard
from lycosa.errors import UsageError
from lycosa.missions.records.database import RecordStore, open_store
from lycosa.missions.records.interests import Interest, match_interests
from lycosa.missions.records.readers import ReadersFile, read_interest, read_toml
from lycosa.missions.records.reports.digest import view_record
from lycosa.missions.records.reports.template_engine import (
    FORMATS,
    TEMPLATES,
    TemplateFormat,
    built_in,
    render,
    render_apart,
)

MAX_ROWS = 10_000
MAX_CELL = 20_000
SECONDS = 20.0


def run_query(path: Path, sql: str, values: Mapping[str, Any], *, seconds: float = SECONDS) -> list[dict[str, Any]]:
    """The rows of a statement, each by the names of its columns."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        connection.set_busy_timeout(10_000)
        guard(connection, seconds=seconds)
        try:
            cursor = connection.execute(sql, {**values})
            columns = [name for name, *_ in cursor.get_description()]
            if not columns:
                raise UsageError("a query can only read: SELECT … or WITH … SELECT")
            rows = []
            for row in cursor:
                rows.append({name: _plain(cell) for name, cell in zip(columns, row, strict=True)})
                if len(rows) >= MAX_ROWS:
                    break
            cursor.close(True)
            return rows
        except apsw.ExecutionCompleteError:
            return []
        except apsw.InterruptError:
            raise UsageError(f"the query took longer than {seconds:g} s and was ended") from None
        except (apsw.AuthError, apsw.ReadOnlyError):
            raise UsageError("a query can only read: SELECT … or WITH … SELECT") from None
        except (apsw.Error, ValueError, TypeError) as problem:
            raise UsageError(f"the query cannot be run: {problem}; views are records and record_versions") from None


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell[:MAX_CELL].hex()
    return cell[:MAX_CELL] if isinstance(cell, str) else cell


_KEYS = ("name", "queries", "selection", "templates", "limit")
_ENDINGS = {"html": "html", "markdown": "md", "text": "txt"}
_MAX_QUERIES = 50
_MAX_TEMPLATE = 1 << 20
_MAX_SELECTED = 10_000
#: What every template gets; a query cannot have these names.
_RESERVED = ("report", "reader", "items", "groups", "total", "more", "selected")


class ReportFile(Struct, frozen=True, kw_only=True):
    """A report: where its data come from and how it looks in each format."""

    path: Path
    name: str
    queries: dict[str, str]
    selection: Interest | None = None
    limit: int = 1000  # records of the selection
    templates: dict[TemplateFormat, str]
    is_ours: bool = False

    def gather(self, store: RecordStore, values: Mapping[str, Any]) -> dict[str, Any]:
        """The rows of its queries and the records of its selection."""
        path = Path(store.connection.filename)
        data: dict[str, Any] = {}
        for name, sql in self.queries.items():
            try:
                data[name] = run_query(path, sql, values)
            except UsageError as error:
                raise UsageError(f"{self.path}: queries.{name}: {error}.") from None
        if self.selection is not None:
            data["selected"] = list(self._select(store, self.selection))
        return data

    def _select(self, store: RecordStore, selection: Interest) -> Iterator[dict[str, Any]]:
        found = []
        for record in store.records():
            if matches := match_interests([selection], record):
                found.append((-matches[0].score, -record.changed_at, record, matches[0].told()))
                if len(found) >= _MAX_SELECTED:
                    break
        for _, _, record, why in sorted(found, key=lambda one: one[:2])[: self.limit]:
            yield {**view_record(record), "why": [why]}

    def write(self, data: Mapping[str, Any], form: TemplateFormat) -> str:
        """The report in a format."""
        template = self.templates.get(form)
        if template is None:
            known = ", ".join(self.templates)
            raise UsageError(f"{self.path} has no template for {form}; it has {known}. Add one under [templates].")
        try:
            return render(template, data, form) if self.is_ours else render_apart(template, data, form)
        except UsageError as error:
            raise UsageError(f"{self.path}: templates.{form}: {str(error).removesuffix('.')}.") from None


def fill_report(collection: Collection, name: str, form: str | None) -> str:
    """A report over the records of a collection, in a format or the first that it has."""
    loaded = load_report(name)
    if loaded.is_ours and loaded.name == "Digest":
        raise UsageError("The digest is made for readers: lycosa digest READERS.toml.")
    chosen = next((known for known in FORMATS if known == form), next(iter(loaded.templates)))
    with open_store(collection) as store:
        made = iso_time(clock.now())
        data = loaded.gather(store, {"since": 0.0, "reader": ""})
    return loaded.write({**data, "report": {"name": loaded.name, "made": made, "since": ""}}, chosen)


def load_report(name: str, *, beside: Path | None = None) -> ReportFile:
    """Read a report: the name of one that is built in, or a file, looked for beside another file first."""
    ours = TEMPLATES / f"{name}.toml"
    is_ours = name.isidentifier() and ours.is_file()
    path = ours if is_ours else Path(name)
    if not is_ours and beside is not None and not path.is_absolute():
        path = beside.parent / path
    if not is_ours and not path.suffix:
        known = ", ".join(sorted(file.stem for file in TEMPLATES.glob("*.toml")))
        raise UsageError(f"There is no report {name!r}: name a FILE.toml, or one of those built in: {known}.")
    text, data = read_toml(path, what="a report")
    file = ReadersFile(path, text, data)
    file.check_keys(data, _KEYS, ())
    title = data.get("name", path.stem)
    if not isinstance(title, str) or not title.strip() or len(title) > 200:
        raise file.wrong(("name",), f'found {title!r:.40}; allowed: name = "…"')
    limit = data.get("limit", 1000)
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= _MAX_SELECTED:
        raise file.wrong(("limit",), f"found {limit!r:.40}; allowed: 1 to {_MAX_SELECTED:,} records")
    selection = data.get("selection")
    if selection is not None and not isinstance(selection, dict):
        raise file.wrong(("selection",), 'allowed: a table [selection], such as kind = "article"')
    return ReportFile(
        path=path,
        name=title,
        queries=_read_queries(file),
        selection=None if selection is None else read_interest(file, selection, ("selection",)),
        limit=limit,
        templates=_read_templates(file, is_ours=is_ours),
        is_ours=is_ours,
    )


def _read_queries(file: ReadersFile) -> dict[str, str]:
    queries = file.data.get("queries", {})
    if not isinstance(queries, dict) or len(queries) > _MAX_QUERIES:
        raise file.wrong(("queries",), f"allowed: a table [queries] of at most {_MAX_QUERIES}")
    for name, sql in queries.items():
        if not isinstance(sql, str) or not sql.strip():
            raise file.wrong(("queries", name), f'found {sql!r:.40}; allowed: {name} = "SELECT …"')
        if not name.isidentifier() or name in _RESERVED:
            raise file.wrong(("queries", name), f"allowed: a name of letters other than {', '.join(_RESERVED)}")
    return queries


def _read_templates(file: ReadersFile, *, is_ours: bool) -> dict[TemplateFormat, str]:
    tables = file.data.get("templates")
    if not isinstance(tables, dict) or not tables:
        raise file.wrong(("templates",), f"allowed: a table [templates] with one of {', '.join(FORMATS)}")
    file.check_keys(tables, FORMATS, ("templates",))
    templates: dict[TemplateFormat, str] = {}
    for form in FORMATS:
        given = tables.get(form)
        if given is None:
            continue
        if not isinstance(given, str) or not given.strip():
            raise file.wrong(("templates", form), f"found {given!r:.40}; allowed: a FILE, or the template itself")
        is_file = "\n" not in given and "{" not in given and len(given) < 300
        if is_file:
            templates[form] = built_in(given) if is_ours else _read_template(file, given, form)
        else:
            templates[form] = given
    return templates


def _read_template(file: ReadersFile, name: str, form: str) -> str:
    path = file.path.parent / name
    try:
        with path.open("rb") as source:
            content = source.read(_MAX_TEMPLATE + 1)
        text = content.decode()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        said = (
            f"{path}: {reason}; allowed: a template in a file, such as report.{_ENDINGS[form]}, or the template itself"
        )
        raise file.wrong(("templates", form), said) from None
    if len(content) > _MAX_TEMPLATE:
        raise file.wrong(("templates", form), f"{path} is larger than {_MAX_TEMPLATE:,} bytes")
    return text
