"""Analyzer: what a mission brings to analysis, four phases of one document and the tasks that need all documents.

The phases are plain functions of a `Case`; a plugin of the user is one such function (see plan.py). They run in worker
processes that may be killed, and never touch the network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Struct

from lycosa.parse import Doc

if TYPE_CHECKING:
    import apsw

    from lycosa.collection.collection import Collection

#: The value of a fact of a document; facts have names.
Fact = str | int | float | bool | None


class TypedLink(NamedTuple):
    """A link as written in a document."""

    kind: str  # "xsd:import"
    href: str
    strong: bool = True  # the document is not whole without it
    url: str = ""  # where it leads; empty: as it is resolved from the document's address


class Correction(NamedTuple):
    """One thing that was put right, or several of a sort."""

    what: str  # a short code: "encoding", "entity"
    detail: str = ""
    line: int = 0  # 0: not of one line
    times: int = 1


class Facet(NamedTuple):
    """One of several values of a document, with how often it occurs there: a namespace."""

    name: str
    value: str
    times: int = 1


class Case:
    """One document on its way through the phases; each phase sees what the ones before it found."""

    __slots__ = (
        "body", "changes", "data", "doc", "error", "facets", "facts", "kind", "links", "member", "scratch", "url",
    )  # fmt: skip

    def __init__(self, doc: Doc, *, member: str = "", url: str = "") -> None:
        self.doc = doc
        self.url = url or doc.url
        self.member = member  # its name in an archive, empty for a document of its own
        self.body = doc.body  # as it was collected
        self.data = doc.body  # as it is after correction
        self.kind = ""
        self.error = ""  # what the first plugin said that failed
        self.changes: list[Correction] = []
        self.links: list[TypedLink] = []
        self.facts: dict[str, Fact] = {}
        self.facets: list[Facet] = []
        self.scratch: dict[str, Any] = {}  # what phases leave for later ones; it is not kept


class Corrected(NamedTuple):
    """A document put right."""

    data: bytes
    changes: list[Correction]


class Task(Struct, frozen=True, array_like=True):
    """Work for a worker on one document or several, once all documents are known."""

    subject: str  # what the mission calls it
    document: int = 0  # the one that the answer is about; 0: none
    stage: int = 1  # all tasks of a stage are done before the next begins


class DocumentSource(Protocol):
    """The documents of a collection for a worker, by their numbers in `analysis.db`."""

    def read(self, document: int) -> Doc | None:
        """The document as it was collected; None where it cannot be read."""

    def rows(self, sql: str, values: Iterable[object] = ()) -> Iterator[tuple[object, ...]]:
        """The rows of a SELECT over `analysis.db`."""


class AnalysisStore(Protocol):
    """`analysis.db` of one collection, as an analyzer sees it."""

    db: apsw.Connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement."""

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The first value of a statement, or None."""

    def transaction(self) -> AbstractContextManager[None]:
        """A transaction: everything in the block is written, or nothing."""

    def learn(self, document: int, facts: Mapping[str, Fact]) -> None:
        """Add facts to a document; within a transaction."""


class Analyzer:
    """How a mission analyses the documents of a collection. Inherit from it; every method is optional."""

    #: The name of its mission: `analysis.db` keeps it, and finds the analyzer again by it.
    name: str = ""
    #: The version of its rules: under another one, documents that were analysed are due again.
    version: str = "1"
    #: Facts that are columns of `document`, with their SQL type; others are kept in its `extra`, as JSON.
    columns: Mapping[str, str] = {}
    #: Tables of its own, as SQL; `relate` and `record_answer` may write to them.
    tables: str = ""
    #: Clusters that are made where the user's plan names none: name and fact.
    clusters: Mapping[str, str] = {}
    #: Facets that its documents may have.
    facets: Sequence[str] = ()
    #: Kinds of strong links that a document can be used without.
    spare: Sequence[str] = ()

    def members(self, doc: Doc) -> Iterable[Case]:
        """The documents that are packed in this one."""
        return ()

    def detect(self, case: Case) -> str | None:
        """The kind of a document; None leaves it as the crawl saw it."""
        return None

    def correct(self, case: Case) -> Corrected | None:
        """The document put right; None where nothing is wrong with it."""
        return None

    def to_utf8(self, case: Case) -> bytes | None:
        """The document in UTF-8, corrected as far as possible, for the index of words; None: as it is."""
        return None

    def trace(self, case: Case) -> Iterable[TypedLink]:
        """The links of a document."""
        return ()

    def analyse(self, case: Case) -> Mapping[str, Fact] | None:
        """Facts of a document."""
        return None

    def relate(self, store: AnalysisStore, collection: Collection) -> Iterable[Task]:
        """Find out what needs all documents; returns the tasks that workers are to do next."""
        return ()

    def perform(self, task: Task, documents: DocumentSource) -> Mapping[str, Fact]:
        """Do one task, in a worker process."""
        return {}

    def record_answer(self, store: AnalysisStore, task: Task, facts: Mapping[str, Fact]) -> None:
        """Store the answer to a task; within a transaction."""

    def describe_task(self, store: AnalysisStore, task: Task) -> str:
        """What a task is about, for people."""
        return task.subject

    def forget(self, store: AnalysisStore) -> None:
        """Make tasks that were set aside due again."""

    def finish(self, store: AnalysisStore) -> None:
        """Store what follows from the answers, once all tasks are done."""
