"""The catalogue of a collection's documents: what fusion found, derived data kept in `documents.db`.

It is due when the records or the links of the collection changed, when settings of the mission did, or the rules of
this version. What a person corrected is laid over it when it is read, and stands in another file (`decisions.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

import apsw
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.collection.graph import scratch
from lycosa.collection.records import RecordInfo
from lycosa.config.mission_table import read_own
from lycosa.derived.reading import reading
from lycosa.derived.store import Derived, KeptValues, bring_up_to_date
from lycosa.extract.messages import OUTCOMES
from lycosa.missions.documents.decisions import Corrections, apply_corrections, read_corrections
from lycosa.missions.documents.evidence.fusion import Fusion
from lycosa.missions.documents.evidence.site_graph import SiteDocument, build_graph
from lycosa.missions.documents.formats import format_by_mime
from lycosa.missions.documents.model import DocumentDescription, DocumentFacts, Finding, KnownPerson, text_of
from lycosa.missions.documents.repositories import HarvestSource, find_repositories
from lycosa.missions.documents.settings import DocumentSettings

_TABLES = """
CREATE TABLE document (
    n INTEGER PRIMARY KEY, url TEXT UNIQUE, key TEXT, category TEXT, wanted INTEGER, title TEXT, confidence REAL,
    data TEXT
);
CREATE TABLE person (number INTEGER PRIMARY KEY, name TEXT, data TEXT);
CREATE TABLE authorship (
    document INTEGER, position INTEGER, person INTEGER, PRIMARY KEY (document, position)
) WITHOUT ROWID;
CREATE INDEX authorship_person ON authorship (person);
CREATE TABLE repository (base TEXT, pages INTEGER, records INTEGER);
"""
#: What was gathered and could not be read: it is no record.
_SET_ASIDE = """
SELECT pages.url, pages.mime, pages.fetched, pages.digest, extracted.outcome, extracted.error
FROM extracted JOIN pages USING (n, round)
WHERE quarry = 'documents' AND outcome <> 'done' AND outcome NOT IN ('strike', 'due') ORDER BY n"""
CATALOGUE = Derived(
    name="documents.db",
    version=4,  # of the tables and of the rules of fusion
    tables=_TABLES,
    make="lycosa.missions.documents.catalogue:make_catalogue",
    depends_on="lycosa.missions.documents.catalogue:state_of",
    counted="document",
)
_decode = msgspec.json.Decoder(DocumentDescription).decode
_decode_person = msgspec.json.Decoder(KnownPerson).decode
_encode = msgspec.json.Encoder().encode


class Catalogue:
    """The documents of a collection and their authors; can be used with `with`."""

    def __init__(self, folder: Path, database: apsw.Connection, *, state: str) -> None:
        self.folder = folder  # of the collection
        self._database = database
        self._corrections: Corrections = read_corrections(folder)
        self._state = state

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
    def state(self) -> str:
        """A short text that is another one when anything in the catalogue has changed."""
        return f"{self._state} {hashlib.sha256(_encode(self._corrections)).hexdigest()[:16]}"

    def count(self, *, unwanted: bool = False) -> int:
        """How many documents there are."""
        return int(self._database.execute(f"SELECT count(*) FROM document {'' if unwanted else 'WHERE wanted'}").get)

    def repositories(self) -> list[HarvestSource]:
        """Where records can be had by OAI-PMH."""
        return [HarvestSource(*row) for row in self._database.execute("SELECT base, pages, records FROM repository")]

    def people(self) -> Iterator[KnownPerson]:
        """Every author of a document, by their numbers."""
        for (data,) in self._database.execute("SELECT data FROM person ORDER BY number"):
            yield _decode_person(data)


@contextmanager
def open_catalogue(collection: Collection) -> Iterator[Catalogue]:
    """The catalogue of a collection as it is now, made first where it is missing or out of date."""
    with closing(bring_up_to_date(CATALOGUE, collection)) as database:
        (state,) = next(database.execute("SELECT value FROM meta WHERE key = 'made_of'"))
        yield Catalogue(collection.path, database, state=state)


@contextmanager
def shown_catalogue(folder: Path) -> Iterator[tuple[Catalogue, bool]]:
    """The catalogue as pages show it, as it was made last, and whether it is that of now."""
    with reading(CATALOGUE, folder) as found:
        yield Catalogue(folder, found.database, state=found.state), found.is_current


class ShownCatalogue(Struct, frozen=True):
    """The documents of a catalogue without their texts and references, and their authors."""

    state: str
    documents: tuple[DocumentDescription, ...]
    people: tuple[KnownPerson, ...]


_kept = KeptValues[ShownCatalogue](2)


def kept_catalogue(folder: Path) -> tuple[ShownCatalogue, bool]:
    """What lists need of the catalogue, kept between two requests, and whether it is that of now."""
    with shown_catalogue(folder) as (catalogue, is_current):

        def read() -> ShownCatalogue:
            documents = (
                replace(document, head="", references=(), linked_from=(), contributors=())
                for document in catalogue.documents(unwanted=True)
            )
            return ShownCatalogue(catalogue.state, tuple(documents), tuple(catalogue.people()))

        return _kept.get(folder, catalogue.state, read), is_current


def state_of(collection: Collection) -> str:
    """What the catalogue depends on, as a short text."""
    settings = read_own(collection.mission, "documents", DocumentSettings)
    counts = list(collection.rows("SELECT max(id), count(*) FROM record WHERE quarry = 'documents'"))
    pages = list(collection.rows("SELECT max(key), count(*) FROM link"))
    aside = list(collection.rows(_SET_ASIDE))
    parts = [msgspec.json.encode(settings), repr(counts).encode(), repr(pages).encode(), repr(aside).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def make_catalogue(collection: Collection, database: apsw.Connection) -> None:
    """Weigh everything anew: one pass over the documents to learn whom they name, one to describe them."""
    settings = read_own(collection.mission, "documents", DocumentSettings)
    unread = list(_read_unread(collection))
    addresses = {document.url for document in unread}
    for record in collection.records(kind="document", quarry="documents"):
        addresses.update(record.pages)
    with scratch() as store:
        graph = build_graph(collection, addresses, store)
        fusion = Fusion(settings, graph)
        fusion.learn_pages()
        for record in collection.records(kind="document", quarry="documents"):
            fusion.learn_document(_read(record))
        documents = map(_read, collection.records(kind="document", quarry="documents"))
        for n, document in enumerate(chain(documents, unread), 1):
            _store(database, n, fusion, fusion.describe(document))
        for entry in fusion.directory.entries:
            if entry.documents:
                person = entry.freeze()
                database.execute(
                    "INSERT INTO person VALUES (?, ?, ?)", (person.number, person.name, _encode(person).decode())
                )
    for repository in find_repositories(collection):
        row = (repository.base, repository.pages, repository.records)
        database.execute("INSERT INTO repository VALUES (?, ?, ?)", row)


def _read(record: RecordInfo) -> SiteDocument:
    return SiteDocument(
        url=record.url,
        facts=msgspec.convert(record.data, DocumentFacts),
        addresses=record.pages,
        fetched=record.fetched.isoformat(timespec="seconds") if record.fetched else "",
        digest=record.digest,
    )


def _read_unread(collection: Collection) -> Iterator[SiteDocument]:
    """The documents over which their reader ended, each with that as its problem."""
    for url, mime, fetched, digest, outcome, error in collection.rows(_SET_ASIDE):
        if found := format_by_mime(mime, url):
            why = f"it could not be read: {OUTCOMES.get(outcome, outcome)}{f' ({error[:300]})' if error else ''}"
            facts = DocumentFacts(format=found, kind=Finding("other", 0.1), problem=why)
            yield SiteDocument(url, facts, (url,), f"{fetched.replace(' ', 'T')}+00:00", digest)


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
        authors.append(replace(author, person=entry.number))
        database.execute("INSERT INTO authorship VALUES (?, ?, ?)", (n, position, entry.number))
    kept = replace(description, authors=tuple(authors))
    title = text_of(kept.title)
    key = hashlib.md5(kept.url.encode(), usedforsecurity=False).hexdigest()
    row = (n, kept.url, key, kept.category, kept.wanted, title, kept.confidence, _encode(kept).decode())
    database.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
