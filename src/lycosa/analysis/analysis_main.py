"""Main program of the analysis workers: takes a document through its phases, or does a task that needs several.

Started by `extract/pool.py` as a process of its own (`python -m lycosa.analysis.analysis_main`), which forks workers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import apsw
import msgspec
from msgspec import Struct

from lycosa.analysis.analyzer import Analyzer, Case, Task
from lycosa.analysis.archive_members import ArchiveMembers
from lycosa.analysis.phases import Phases
from lycosa.analysis.plan import AnalysisPlan
from lycosa.analysis.store import open_readonly
from lycosa.analysis.word_index import read_words
from lycosa.extract import fork_server
from lycosa.extract.extract_main import read_doc
from lycosa.extract.messages import ExtractJob, Setup
from lycosa.extract.quarry_loader import load_object
from lycosa.extract.worker import Extract, Unreadable
from lycosa.model import Record
from lycosa.parse import Doc

#: Documents that a worker keeps at hand for tasks that need several.
_KEPT_BYTES = 64 << 20


class WorkerOptions(Struct, frozen=True):
    """The options of the workers of an analysis."""

    folder: str
    plan: AnalysisPlan = AnalysisPlan()
    tasks: bool = False  # tasks that need several documents, instead of single documents
    words: bool = False  # the words of documents, instead of their phases


class CollectedDocuments:
    """The documents of a collection as they were collected, by their numbers in `analysis.db`."""

    def __init__(self, folder: Path, analyzer: Analyzer, setup: Setup) -> None:
        self._folder = folder
        self._members = ArchiveMembers(analyzer)
        self._setup = setup
        self._db: apsw.Connection | None = None
        self._kept: dict[int, Doc] = {}
        self._size = 0

    def rows(self, sql: str, values: Iterable[object] = ()) -> Iterator[tuple[object, ...]]:
        """The rows of a SELECT over `analysis.db`."""
        if self._db is None:  # after the fork: a connection must not cross it
            self._db = open_readonly(self._folder)
        return iter(self._db.execute(sql, tuple(values)).fetchall())

    def read(self, document: int) -> Doc | None:
        """The document as it was collected; None where it cannot be read."""
        if document in self._kept:
            return self._kept[document]
        sql = """SELECT page.warc, page.offset, page.length, page.url, document.member
                 FROM document JOIN page USING (n) WHERE document.id = ?"""
        row = next(self.rows(sql, (document,)), None)
        if row is None:
            return None
        warc, offset, length, url, member = row
        path = self._folder / "archive" / os.path.basename(str(warc))
        job = ExtractJob(1, str(path), int(str(offset)), int(str(length)), str(url))
        try:
            if member:
                case = self._members.find((warc, offset), lambda: read_doc(job, self._setup), str(member))
                return case.doc if case is not None else None
            doc = read_doc(job, self._setup)
        except Unreadable:
            return None
        self._keep(document, doc)
        return doc

    def _keep(self, document: int, doc: Doc) -> None:
        while self._kept and self._size + len(doc.body) > _KEPT_BYTES:
            first = next(iter(self._kept))
            self._size -= len(self._kept.pop(first).body)
        self._kept[document] = doc
        self._size += len(doc.body)


def load_analyzer(setup: Setup) -> Analyzer:
    """The mission's analyzer, with the plugins of the plan."""
    analyzer = load_object(setup.quarry, Analyzer, what="analyzer")
    options = msgspec.json.decode(setup.options, type=WorkerOptions)
    for phase in ("detect", "correct", "trace", "analyse"):
        for kind in ("", *options.plan.kinds):
            options.plan.steps(analyzer, phase, kind)
    return analyzer


def make_extract(setup: Setup, analyzer: Analyzer) -> Extract:
    """The function that a worker runs for each job."""
    options = msgspec.json.decode(setup.options, type=WorkerOptions)
    if options.tasks:
        documents = CollectedDocuments(Path(options.folder), analyzer, setup)

        def perform(job: ExtractJob) -> Iterable[Record]:
            task = msgspec.json.decode(job.url, type=Task)
            yield Record("answer", dict(analyzer.perform(task, documents)))

        return perform
    if options.words:

        def index_words(job: ExtractJob) -> Iterable[Record]:
            doc = read_doc(job, setup)
            for case in (Case(doc), *analyzer.members(doc)):
                case.kind = analyzer.detect(case) or case.doc.kind
                yield Record("words", msgspec.structs.asdict(read_words(case, analyzer.to_utf8(case))))

        return index_words
    phases = Phases(analyzer, options.plan)

    def examine(job: ExtractJob) -> Iterable[Record]:
        return phases.examine(read_doc(job, setup))

    return examine


if __name__ == "__main__":
    fork_server.run(sys.argv[1:], make_extract, load_analyzer)
