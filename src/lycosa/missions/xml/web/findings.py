"""Findings: what the analysis of a collection knows of its documents, as pages show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from lycosa.analysis.store import NAME, find_mission, open_readonly
from lycosa.derived.store import translated
from lycosa.missions.web import View
from lycosa.missions.xml.closure import NEEDS, UNCHECKED, quote
from lycosa.missions.xml.quarry import Xml
from lycosa.missions.xml.report import FAMILY

#: Documents that a closure is followed to on a page.
_MOST_NEEDED = 2_000
#: What validity is called where nothing was checked.
VALIDITY = f"coalesce(nullif(validity, ''), iif(kind IN ({quote(UNCHECKED)}), 'not checked', 'no schema'))"
_COLUMNS = f"id, url, kind, bytes, root, namespace, {VALIDITY}, closure, closure_size, missing, well_formed"


class XmlRow(Struct, frozen=True):
    """A document in a list."""

    id: int
    url: str
    kind: str
    bytes: int
    root: str
    namespace: str
    validity: str
    closure: str  # complete, guessed, incomplete; empty: it needs nothing
    closure_size: int
    missing: int
    well_formed: bool | None


class FindingCount(Struct, frozen=True):
    """A value, and how many documents have it."""

    value: str
    count: int


class TypedLinkRow(Struct, frozen=True):
    """A link of a document, and the document that it leads to; none: it was not collected."""

    kind: str
    href: str
    target: str
    found: int | None
    how: str
    strong: bool


class XmlFindings:
    """The analysis of a collection, open for reading."""

    def __init__(self, db: apsw.Connection, path: Path) -> None:
        self.db = db
        self.path = path

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with translated(self.path):
            return list(self.db.execute(sql, values))

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        with translated(self.path):
            return self.db.execute(sql, values).get

    def documents(self, where: str, values: Sequence[Any], *, limit: int, offset: int = 0) -> list[XmlRow]:
        """Documents that fit a condition, in the order of their addresses."""
        sql = f"SELECT {_COLUMNS} FROM document WHERE {where} ORDER BY url, id LIMIT ? OFFSET ?"
        return [_make_row(row) for row in self.rows(sql, [*values, limit, offset])]

    def of_ids(self, numbers: Iterable[int]) -> list[XmlRow]:
        """Documents by their numbers."""
        wanted = msgspec.json.encode(sorted(numbers)).decode()
        return self.documents("id IN (SELECT value FROM json_each(?))", [wanted], limit=_MOST_NEEDED)

    def count(self, where: str, values: Sequence[Any]) -> int:
        return int(self.value(f"SELECT count(*) FROM document WHERE {where}", values))

    def find(self, number: int, url: str) -> int | None:
        """The document of a number, or at an address."""
        if number:
            found = self.value("SELECT id FROM document WHERE id = ?", [number])
        else:
            found = self.value(f"SELECT min(id) FROM document WHERE url = ? AND {FAMILY}", [url])
        return None if found is None else int(found)

    def closure(self, root: int) -> tuple[list[int], list[str], bool]:
        """What a document needs, level by level: documents, addresses that are missing, and whether that is all."""
        seen, missing = {root: None}, dict[str, None]()
        level = [root]
        while level and len(seen) < _MOST_NEEDED:
            wanted = msgspec.json.encode(level).decode()
            level = []
            sql = f"{NEEDS} AND document.id IN (SELECT value FROM json_each(?))"
            for _, found, target, href, _how in self.rows(sql, [wanted]):
                if found is None:
                    missing[target or href] = None
                elif found not in seen:
                    seen[found] = None
                    level.append(found)
        return list(seen)[1:], list(missing), not level


@contextmanager
def open_findings(folder: Path, mission: str) -> Iterator[XmlFindings | None]:
    """The analysis of a collection by a mission; None where there is none."""
    if not (folder / NAME).exists():
        yield None
        return
    with closing(open_readonly(folder)) as db:
        yield XmlFindings(db, folder / NAME) if find_mission(db) == mission else None


def _make_row(row: tuple[Any, ...]) -> XmlRow:
    number, url, kind, size, root, space, validity, closure, closure_size, missing, well_formed = row
    return XmlRow(
        id=number,
        url=url or "",
        kind=kind or "",
        bytes=size or 0,
        root=root or "",
        namespace=space or "",
        validity=validity or "",
        closure=closure or "",
        closure_size=closure_size or 0,
        missing=missing or 0,
        well_formed=None if well_formed is None else bool(well_formed),
    )


class NoFindings(Struct, frozen=True):
    """A collection that was not analysed."""

    analysed: bool = False


NOT_ANALYSED = ("not_analysed.html", NoFindings())


def show_findings(folder: Path, view: Callable[[XmlFindings], View]) -> View:
    """A view of what was found, or of what is to be done first."""
    with open_findings(folder, Xml.name) as found:
        return View(*NOT_ANALYSED) if found is None else view(found)
