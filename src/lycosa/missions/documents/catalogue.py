"""The catalogue of a collection's documents: what fusion found, kept in `documents.db`, and made anew when it is due.

It is due when the records or the links of the collection changed, when settings of the mission did, or the rules of
this version. What a person corrected is laid over it when it is read, and stands in another file (`decisions.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import apsw
import msgspec

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.collection.graph import scratch
from lycosa.collection.records import RecordInfo
from lycosa.collection.side_database import open_versioned, translated
from lycosa.config.mission_settings import read_own
from lycosa.errors import CollectionError
from lycosa.missions.documents.decisions import Corrections, apply_corrections, read_corrections
from lycosa.missions.documents.evidence.fusion import Fusion
from lycosa.missions.documents.evidence.site_graph import SiteDocument, build_graph
from lycosa.missions.documents.model import DocumentDescription, DocumentFacts, KnownPerson
from lycosa.missions.documents.settings import DocumentSettings

#: The version of the tables and of the rules of fusion.
_VERSION = 1
_TABLES = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE document (
    n INTEGER PRIMARY KEY, url TEXT UNIQUE, key TEXT, category TEXT, wanted INTEGER, title TEXT, confidence REAL,
    data TEXT
);
CREATE TABLE person (number INTEGER PRIMARY KEY, name TEXT, data TEXT);
CREATE TABLE authorship (
    document INTEGER, position INTEGER, person INTEGER, PRIMARY KEY (document, position)
) WITHOUT ROWID;
CREATE INDEX authorship_person ON authorship (person);
"""
_decode = msgspec.json.Decoder(DocumentDescription).decode
_decode_person = msgspec.json.Decoder(KnownPerson).decode
_encode = msgspec.json.Encoder().encode


class Catalogue:
    """The documents of a collection and their authors; can be used with `with`."""

    def __init__(self, path: Path, database: apsw.Connection, *, state: str) -> None:
        self._database = database
        self._corrections: Corrections = read_corrections(path.parent)
        self._state = state

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def documents(self, *, unwanted: bool = False, corrected: bool = True) -> Iterator[DocumentDescription]:
        """Every document in the order of its finding; with those of unwanted kinds, or without."""
        for (data,) in self._database.execute("SELECT data FROM document ORDER BY n"):
            document = _decode(data)
            if corrected:
                document = apply_corrections(document, self._corrections)
            if document.wanted or unwanted:
                yield document

    def document(self, url: str) -> DocumentDescription | None:
        """One document, or None."""
        row = self._database.execute("SELECT data FROM document WHERE url = ?", (urls.normalise(url) or url,)).get
        return None if row is None else apply_corrections(_decode(row), self._corrections)

    @property
    def is_complete(self) -> bool:
        """Whether it was ever made to its end."""
        return bool(self._state)

    @property
    def state(self) -> str:
        """A short text that is another one when anything in the catalogue has changed."""
        return f"{self._state} {hashlib.sha256(_encode(self._corrections)).hexdigest()[:16]}"

    def count(self, *, unwanted: bool = False) -> int:
        """How many documents there are."""
        return int(self._database.execute(f"SELECT count(*) FROM document {'' if unwanted else 'WHERE wanted'}").get)

    def people(self) -> Iterator[KnownPerson]:
        """Every author of a document, by their numbers."""
        for (data,) in self._database.execute("SELECT data FROM person ORDER BY number"):
            yield _decode_person(data)


def open_catalogue(collection: Collection, *, renew: bool = True) -> Catalogue:
    """The catalogue of a collection, made first where it is missing or out of date.

    Without `renew` it is as it was made last, if its file can be written to.
    """
    path = collection.path / "documents.db"
    settings = read_own(collection.mission, "documents", DocumentSettings)
    try:
        database = open_versioned(path, version=_VERSION, tables=_TABLES)
    except (CollectionError, OSError):
        database = apsw.Connection(":memory:")  # a folder that cannot be written to
        database.execute(_TABLES)
        renew = True
    if not renew:
        with translated(path):
            kept = database.execute("SELECT value FROM meta WHERE key = 'state'").get
        return Catalogue(path, database, state=kept or "")
    state = _state_of(collection, settings)
    with translated(path):
        if database.execute("SELECT value FROM meta WHERE key = 'state'").get != state:
            _make(collection, settings, database, state)
    return Catalogue(path, database, state=state)


def _state_of(collection: Collection, settings: DocumentSettings) -> str:
    """What the catalogue depends on, as a short text."""
    counts = list(collection.rows("SELECT max(id), count(*) FROM record WHERE quarry = 'documents'"))
    pages = list(collection.rows("SELECT max(key), count(*) FROM link"))
    parts = [msgspec.json.encode(settings), repr(counts).encode(), repr(pages).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _make(collection: Collection, settings: DocumentSettings, database: apsw.Connection, state: str) -> None:
    """Weigh everything anew: one pass over the documents to learn whom they name, one to describe them."""
    addresses: set[str] = set()
    for record in collection.records(kind="document", quarry="documents"):
        addresses.update(record.pages)
    with scratch() as store, database:
        graph = build_graph(collection, addresses, store)
        fusion = Fusion(settings, graph)
        fusion.learn_pages()
        for record in collection.records(kind="document", quarry="documents"):
            fusion.learn_document(_read(record))
        for table in ("document", "person", "authorship"):
            database.execute(f"DELETE FROM {table}")
        for n, record in enumerate(collection.records(kind="document", quarry="documents"), 1):
            _store(database, n, fusion, fusion.describe(_read(record)))
        for entry in fusion.directory.entries:
            if entry.documents:
                person = entry.freeze()
                database.execute(
                    "INSERT INTO person VALUES (?, ?, ?)", (person.number, person.name, _encode(person).decode())
                )
        database.execute("INSERT OR REPLACE INTO meta VALUES ('state', ?)", (state,))


def _read(record: RecordInfo) -> SiteDocument:
    return SiteDocument(
        url=record.url,
        facts=msgspec.convert(record.data, DocumentFacts),
        addresses=record.pages,
        fetched=record.fetched.isoformat(timespec="seconds") if record.fetched else "",
        digest=record.digest,
    )


def _store(database: apsw.Connection, n: int, fusion: Fusion, description: DocumentDescription) -> None:
    """Keep a description, its authors tied to the people of the collection."""
    authors = []
    for position, author in enumerate(description.authors):
        found = next((entry for entry in fusion.directory.find(author.name) if entry.number == author.person), None)
        entry = found or fusion.directory.get_or_add(author.name)
        entry.documents[description.url] = None
        for address in author.addresses:
            if not address.is_current:
                entry.printed.setdefault(address.email, address)
        for name in author.affiliations:
            entry.add_affiliation(name, author.confidence, author.evidence)
        authors.append(msgspec.structs.replace(author, person=entry.number))
        database.execute("INSERT INTO authorship VALUES (?, ?, ?)", (n, position, entry.number))
    kept = msgspec.structs.replace(description, authors=tuple(authors))
    title = kept.title.value if kept.title else ""
    key = hashlib.md5(kept.url.encode(), usedforsecurity=False).hexdigest()
    row = (n, kept.url, key, kept.category, kept.wanted, title, kept.confidence, _encode(kept).decode())
    database.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
