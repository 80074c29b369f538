"""Lists of the documents mission: the documents, and the contact sheet of their authors.

Both are made of the catalogue with what people corrected and decided, and kept in memory until something changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lycosa.collection.collection import Collection
from lycosa.derived.store import mark_files
from lycosa.lists.definition import ListCondition, OpenTable, TableList
from lycosa.lists.table_query import KeptTable, TableQuery
from lycosa.missions.documents.catalogue import CATALOGUE, ShownCatalogue, kept_catalogue, shown_catalogue
from lycosa.missions.documents.contacts import COLUMNS, ContactSheet, fill_letter, gather_sheets, sheet_row
from lycosa.missions.documents.decisions import NAME as DECISIONS
from lycosa.missions.documents.decisions import State, permissions
from lycosa.missions.documents.model import DocumentDescription, text_of
from lycosa.missions.web import WebRequest, mark
from lycosa.text.fold import fold
from lycosa.urls import host_of

_FIELDS = (
    "url", "title", "authors", "category", "subcategory", "language", "year", "format", "host", "wanted", "confidence",
    "has_address", "problem", "permission",
)  # fmt: skip
_TABLES = f"""
CREATE TABLE document (n INTEGER PRIMARY KEY, {", ".join(_FIELDS)}, title_key, authors_key, words);
CREATE TABLE part (n INTEGER, name, value, PRIMARY KEY (name, value, n)) WITHOUT ROWID;
CREATE TABLE contact (n INTEGER PRIMARY KEY, {", ".join(COLUMNS)}, reachable, is_open, author_key, words, data);
CREATE TABLE affiliation (n INTEGER, value, PRIMARY KEY (value, n)) WITHOUT ROWID;
"""
_kept = KeptTable(_TABLES)
_encode = msgspec.json.Encoder().encode


@contextmanager
def _open_tables(folder: Path) -> Iterator[OpenTable]:
    """The documents and their authors of now, or of the last time while the catalogue is being made."""
    catalogue, is_current = kept_catalogue(folder)
    state = catalogue.state, mark_files(folder, (DECISIONS, f"{DECISIONS}-wal"))
    with _kept.opened(folder, state, lambda database: _fill(database, catalogue, permissions(folder))) as database:
        yield OpenTable(database, folder / CATALOGUE.name, is_current)


def _fill(database: apsw.Connection, catalogue: ShownCatalogue, states: dict[str, State]) -> None:
    places = ", ".join("?" * (len(_FIELDS) + 4))
    for n, document in enumerate(catalogue.documents, 1):
        row = _document_row(document, states.get(document.url, ""))
        database.execute(f"INSERT INTO document VALUES ({places})", (n, *row))
        parts = {("authors", author.name[:200]) for author in document.authors[:50]}
        parts |= {("keywords", keyword.value[:200]) for keyword in document.keywords[:50]}
        database.executemany("INSERT INTO part VALUES (?, ?, ?)", ((n, *part) for part in parts))
    wanted = (document for document in catalogue.documents if document.wanted)
    places = ", ".join("?" * (len(COLUMNS) + 6))
    for n, sheet in enumerate(gather_sheets(wanted, catalogue.people, states), 1):
        database.execute(f"INSERT INTO contact VALUES ({places})", (n, *_contact_row(sheet)))
        values = {each.value[:200] for each in sheet.person.affiliations}
        database.executemany("INSERT INTO affiliation VALUES (?, ?)", ((n, value) for value in values))


def _document_row(document: DocumentDescription, permission: str) -> tuple[object, ...]:
    title = document.title.value[:500] if document.title else ""
    authors = [author.name[:200] for author in document.authors[:50]]
    return (
        document.url, title, _encode(authors).decode(), document.category, document.subcategory,
        text_of(document.language), document.year, document.format, host_of(document.url),
        "yes" if document.wanted else "no", document.confidence,
        int(any(author.addresses for author in document.authors)), document.problem[:300], permission,
        fold(title), fold("; ".join(authors)), fold("\n".join((title, *authors, document.url))),
    )  # fmt: skip


def _contact_row(sheet: ContactSheet) -> tuple[object, ...]:
    proof = sheet.address.evidence[0] if sheet.address and sheet.address.evidence else None
    affiliations = [*dict.fromkeys(each.value for each in sheet.person.affiliations)]
    row = sheet_row(sheet)
    shown = {
        "name": sheet.name,
        "email": row["email"],
        "confidence": row["confidence"],
        "source": proof.rule if proof else "",
        "source_url": proof.url if proof else "",
        "others": sheet.others,
        "affiliations": affiliations[:5],
        "permission": sheet.permission,
        "documents": [{"url": each.url, "title": text_of(each.title)} for each in sheet.documents[:200]],
        "letter": fill_letter(sheet) if sheet.address else "",
    }
    words = fold("\n".join((sheet.name, str(row["email"]), *affiliations)))
    reachable = "yes" if sheet.address else "no"
    values = (row[name] for name in COLUMNS)
    return (*values, reachable, int(sheet.is_open), fold(sheet.name), words, _encode(shown).decode())


class ContactQuery(TableQuery):
    """Authors: a file has the columns of `lycosa contacts`, a page what is told of each."""

    def _fetch(
        self, collection: Collection | None, numbers: Sequence[int], columns: Sequence[str]
    ) -> tuple[list[list[Any]], list[dict[str, Any]]]:
        rows, _ = super()._fetch(collection, numbers, columns)
        found = (self.db.execute("SELECT data FROM contact WHERE n = ?", (number,)).get for number in numbers)
        return rows, [msgspec.json.decode(data) for data in found]


def _tell_repositories(request: WebRequest) -> Mapping[str, Any]:
    """Those whose records were not taken yet."""
    with shown_catalogue(request.folder) as (catalogue, _):
        return {"repositories": [each for each in catalogue.repositories() if not each.records][:20]}


DOCUMENTS = TableList(
    name="documents",
    counted=(mark("{n} document"), mark("{n} documents")),
    title=mark("Documents"),
    search=mark("Words of title, authors, address"),
    template="document_lists.html",
    lead="title",
    labels={
        "title": mark("Title"), "authors": mark("Authors"), "category": mark("Kind"), "subcategory": mark("Finer kind"),
        "year": mark("Year"), "format": mark("Format"), "wanted": mark("Wanted"), "confidence": mark("Confidence"),
        "has_address": mark("Has an address"), "problem": mark("Problem"), "permission": mark("Permission"),
        "keywords": mark("Keywords"),
    },
    columns=_FIELDS,
    shown=("authors", "category", "language", "year", "confidence", "permission"),
    facets=("category", "language", "year", "permission", "format", "wanted", "host", "authors", "keywords"),
    unasked={"wanted": ("yes",)},  # as `lycosa documents` lists them
    keys={
        "title": "TEXT", "authors": "TEXT", "category": "TEXT", "language": "TEXT", "year": "TEXT",
        "confidence": "REAL",
    },
    numbers=frozenset({"confidence"}),
    open=_open_tables,
    items="document",
    expressions={"title": "item.title_key", "authors": "item.authors_key"},
    many={name: f"SELECT n, value FROM part WHERE name = '{name}'" for name in ("authors", "keywords")},
    text="item.words",
    json=frozenset({"authors"}),
    flags=frozenset({"has_address"}),
    more=_tell_repositories,
)  # fmt: skip

CONTACTS = TableList(
    name="contacts",
    counted=(mark("{n} author"), mark("{n} authors")),
    items_name="people",
    title=mark("Contacts"),
    search=mark("Name, address or affiliation"),
    template="contacts.html",
    labels={
        "author": mark("Author"), "email": mark("E-mail address"), "confidence": mark("Confidence"),
        "source": mark("Where it was read"), "other_emails": mark("Other addresses"),
        "affiliations": mark("Affiliations"), "documents": mark("Documents"), "titles": mark("Titles"),
        "permission": mark("Permission"), "urls": mark("Addresses"), "reachable": mark("Can be reached"),
    },
    columns=COLUMNS,
    shown=COLUMNS,
    facets=("permission", "reachable", "affiliations"),
    keys={"author": "TEXT", "documents": "INTEGER", "confidence": "REAL"},
    numbers=frozenset({"confidence", "documents"}),
    open=_open_tables,
    items="contact",
    expressions={"author": "item.author_key", "confidence": "coalesce(item.confidence, 0)"},
    many={"affiliations": "SELECT n, value FROM affiliation"},
    conditions={
        "all": ListCondition(
            label=mark("Also those who have answered"),
            sql="(? = '1' OR item.is_open)",
            otherwise="item.is_open",
            is_input=True,
        )
    },
    text="item.words",
    query=ContactQuery,
)  # fmt: skip
