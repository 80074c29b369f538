"""Import: takes what other tools kept of the web into a collection, as if the crawl had fetched it.

Each answer is written into an archive file of the collection's own, once; then the answers are processed as those are
that a crash left uncommitted: pages, links, redirects and refusals come out of them as out of a crawl. A kill leaves a
marker, by which the next who opens the collection goes on.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import apsw
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from lycosa import urls
from lycosa.archive import unstored_log
from lycosa.archive.reader import read_record
from lycosa.archive.record_bytes import digest_of
from lycosa.archive.surt import surt_of
from lycosa.archive.writer import ArchiveWriter
from lycosa.collection.collection import Collection
from lycosa.collection.folder import keep_mission, list_seeds, lock, open_folder
from lycosa.collection.foreign_answers import ForeignAnswer, ForeignAnswers
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.derived.answer_list import ANSWERS
from lycosa.derived.store import bring_up_to_date
from lycosa.disk import make_fault, replace_text
from lycosa.errors import UsageError
from lycosa.frontier.contract import FORGOTTEN, Frontier
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Answer, Discovery, Target
from lycosa.output.atomic_file import SPOOL
from lycosa.output.plain import counted
from lycosa.repair.rebuild import IMPORTING, finish_import
from lycosa.repair.recovery import reconcile_archive, repair_database
from lycosa.repair.replay import CollectionSetup
from lycosa.version import __version__

_BUFFER_BYTES = 8 << 20
#: Times lose a microsecond where they are written and read.
_KNOWN = "SELECT 1 FROM answer WHERE key = ?1 AND at BETWEEN ?2 - 2 AND ?2 + 2 AND url = ?3 LIMIT 1"
_HELD = """
SELECT file.name, offset, length FROM answer JOIN file ON file.id = file
WHERE digest = ? AND kind = 'response' LIMIT 1"""
_SCRATCH = """
CREATE TABLE taken (id INTEGER PRIMARY KEY, digest BLOB);
CREATE TABLE body (stated TEXT PRIMARY KEY, digest BLOB) WITHOUT ROWID;
CREATE TABLE held (digest BLOB PRIMARY KEY) WITHOUT ROWID"""
_DIGEST_BYTES = 20


class ImportReport(Struct):
    """What an import did."""

    collection: str
    answers: int = 0  # that are new here
    known: int = 0  # that were here already
    forgotten: int = 0  # whose addresses are not to come back
    pages: int = 0  # by which the collection has grown
    seconds: float = 0.0
    notes: list[str] = []
    damaged: int = 0  # sources that are not in as a whole

    @property
    def text(self) -> str:
        """The report as people read it."""
        known = f", {self.known:,} {'was' if self.known == 1 else 'were'} here already" if self.known else ""
        forgotten = f", {counted(self.forgotten, 'forgotten one')} left out" if self.forgotten else ""
        new = f"{counted(self.answers, 'new answer')}{known}{forgotten}"
        lines = [f"{self.collection}: {new}; {counted(self.pages, 'new page')}, {self.seconds:,.1f} s"]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def import_sources(
    paths: Sequence[Path],
    setup: CollectionSetup,
    *,
    seeds: Sequence[str] = (),
    base: str = "",
    only: Sequence[str] = (),
) -> ImportReport:
    """Take files and folders into a collection, which is made if there is none; done twice it is as done once.

    A new collection begins with `seeds`, or with those that the sources name, or else with the first page of each.
    """
    began, folder, mission = time.time(), setup.folder, setup.mission
    spool = folder / SPOOL
    is_new = not (folder / "lycosa.toml").exists()
    for path in paths:
        if path.is_dir() and folder.resolve().is_relative_to(path.resolve()):
            raise UsageError(f"{folder} lies in {path}, which is imported: name another with --collection DIR.")
    ForeignAnswers(paths, spool=spool)  # refuses what is none before anything is made
    open_folder(folder, replace(mission, seeds=mission.seeds or ("http://import.invalid/",)), new=False)
    with lock(folder) as held, contextlib.ExitStack() as closing:
        if is_new:
            replace_text(folder / "lycosa.toml", to_toml(mission))
        report = ImportReport(str(folder), notes=repair_database(setup, held.before))
        if not (folder / "crawl.db").exists():
            SqliteFrontier.create(folder / "crawl.db", mission_toml=to_toml(mission), now=time.time())
        frontier = setup.open(folder / "crawl.db")
        closing.callback(frontier.close)
        report.notes += reconcile_archive(setup, frontier)
        before = frontier.figures.pages()
        shutil.rmtree(spool, ignore_errors=True)
        try:
            spool.mkdir()
        except OSError as error:
            raise make_fault(error, str(spool)) from None
        closing.callback(shutil.rmtree, spool, ignore_errors=True)
        source = ForeignAnswers(paths, spool=spool, base=base, only=only)
        prefix = f"import-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}-{os.getpid()}"
        replace_text(folder / IMPORTING, prefix)
        _Conversion(setup, frontier, report, prefix=prefix).run(source)
        if seeds or not list_seeds(mission, folder):
            setup = replace(setup, mission=_plant(setup, frontier, seeds or source.seeds))
        frontier.suspend()
        finish_import(setup)
        frontier.resume()
        report.pages = frontier.figures.pages() - before
        report.notes += source.notes
        report.damaged += source.damaged
        closing.close()
        held.record_state(folder / "crawl.db")
    report.seconds = time.time() - began
    return report


def _plant(setup: CollectionSetup, frontier: Frontier, words: Sequence[str] | dict[str, None]) -> Mission:
    """Make addresses seeds of the collection; returns its mission with them."""
    found = [url for word in words if (url := urls.normalise(word))]
    frontier.seeds.add(
        [Discovery(urls.url_id(url), url, urls.host_of(url), seed=True, via="seed") for url in found],
        max_depth=setup.mission.limits.depth,
    )
    known = list_seeds(setup.mission, setup.folder)
    return keep_mission(setup.folder, replace(setup.mission, seeds=tuple(dict.fromkeys((*known, *found)))), known)


class _Conversion:
    """Writes foreign answers into archive files of a collection that is locked."""

    def __init__(self, setup: CollectionSetup, frontier: Frontier, report: ImportReport, *, prefix: str) -> None:
        self._setup = setup
        self._frontier = frontier
        self._report = report
        mission = setup.mission
        self._archive = ArchiveWriter(
            setup.archive,
            prefix=prefix,
            max_bytes=mission.keep.warc_bytes,
            software=f"lycosa/{__version__}",
            info={"isPartOf": mission.name, "description": "imported"},
            requests=mission.keep.requests,
        )
        with Collection(setup.folder) as collection:
            self._answers = bring_up_to_date(ANSWERS, collection)
        self._scratch = apsw.Connection("")  # on the disk, as far as memory does not hold it
        self._scratch.execute(_SCRATCH)
        self._scratch.execute("BEGIN")
        self._bodiless = 0

    def run(self, source: ForeignAnswers) -> None:
        with contextlib.closing(self._answers), contextlib.closing(self._scratch), self._archive:
            for foreign in source:
                self._add(foreign)
                if foreign.spool:
                    os.unlink(foreign.spool)
                if self._archive.buffered > _BUFFER_BYTES:
                    self._archive.flush(last=True)
            self._archive.flush(last=True)
        if self._bodiless:
            what = counted(self._bodiless, "answer", "refers")
            self._report.notes.append(f"{what} to a body that is in none of the files: a crawl fetches it.")
            self._report.damaged += 1

    def _add(self, foreign: ForeignAnswer) -> None:
        if foreign.kind == "unstored":
            self._add_unstored(foreign.body)
            return
        target = Target(0, urls.url_id(foreign.url), foreign.url, urls.host_of(foreign.url))
        answer = Answer(
            target,
            foreign.status,
            head=foreign.head,
            headers=foreign.headers,
            body=foreign.body,
            spool=foreign.spool,
            size=os.stat(foreign.spool).st_size if foreign.spool else len(foreign.body),
            request=foreign.request,
            address=foreign.address,
            began=foreign.at,
        )
        digest = digest_of(answer) if foreign.kind == "response" else b""
        if self._is_known(foreign.url, foreign.at, f"{foreign.method} {foreign.status} {digest.hex()}"):
            return
        self._scratch.execute("INSERT OR IGNORE INTO taken VALUES (?, ?)", (_number(foreign.url, foreign.at), digest))
        if foreign.kind == "response":
            self._add_response(foreign, answer, digest)
        else:
            self._add_revisit(foreign, answer)

    def _add_response(self, foreign: ForeignAnswer, answer: Answer, digest: bytes) -> None:
        self._scratch.execute("INSERT OR IGNORE INTO held VALUES (?)", (digest,))
        if foreign.digest:
            self._scratch.execute("INSERT OR IGNORE INTO body VALUES (?, ?)", (foreign.digest, digest))
        is_rules = foreign.url.endswith("/robots.txt") and foreign.url.count("/") == 3
        mime = ""
        if 200 <= foreign.status < 300 and not foreign.is_part and not is_rules:
            mime = foreign.headers.get("content-type", "").partition(";")[0].strip() or "application/octet-stream"
        if foreign.html:
            made = digest_of(Answer(answer.target, body=foreign.html))
            self._archive.add_conversion(answer, foreign.html, mime="text/html; charset=utf-8", digest=made)
        self._archive.add(answer, digest=digest, mime=mime, truncated=foreign.truncated)

    def _add_revisit(self, foreign: ForeignAnswer, answer: Answer) -> None:
        """Write a record which refers to another one; or the body itself, where only the collection has it."""
        url, at = foreign.refers_to
        if "identical" not in foreign.profile:
            self._archive.add_revisit(
                answer, refers_to_url=url, refers_to_date=at or None, digest=b"", profile="not-modified"
            )
            return
        digest = self._find_digest(foreign)
        if not self._scratch.execute("SELECT 1 FROM held WHERE digest = ?", (digest,)).get:
            stated = f"sha1:{base64.b32encode(digest).decode()}"
            place = self._answers.execute(_HELD, (stated,)).fetchone()
            if place is not None:
                held = read_record(self._setup.archive / place[0], place[1], length=place[2])
                answer.body, answer.size = held.body_raw, len(held.body_raw)
                self._add_response(foreign, answer, digest_of(answer))
                return
            self._bodiless += 1
        self._archive.add_revisit(
            answer, refers_to_url=url, refers_to_date=at or None, digest=digest, profile="identical"
        )

    def _find_digest(self, foreign: ForeignAnswer) -> bytes:
        """The digest of the body that a record refers to, as it is computed here."""
        ask = self._scratch.execute
        found = ask("SELECT digest FROM body WHERE stated = ?", (foreign.digest,)).get
        found = found or ask("SELECT digest FROM taken WHERE id = ?", (_number(*foreign.refers_to),)).get
        if not found:
            kind, _, value = foreign.digest.partition(":")
            with contextlib.suppress(ValueError, binascii.Error):
                found = bytes.fromhex(value) if len(value) == 2 * _DIGEST_BYTES else base64.b32decode(value.upper())
            found = found if kind == "sha1" else b""
        return bytes(found) if found and len(found) == _DIGEST_BYTES else b""

    def _add_unstored(self, lines: bytes) -> None:
        for line in lines.splitlines(keepends=True):
            entry = unstored_log.decode(line)[0]
            if entry is not None and urls.normalise(entry.url) and not self._is_known(entry.url, entry.at, "unstored"):
                self._archive.add_unstored(line)

    def _is_known(self, url: str, at: float, what: str) -> bool:
        """Whether an answer is here already, or is not to come back; counted."""
        row = self._frontier.known.find(url)
        if row is not None and row.reason == FORGOTTEN:
            self._report.forgotten += 1
            return True
        number = _number(f"{what} {url}", at)
        is_known = bool(self._answers.execute(_KNOWN, (surt_of(url), round(at * 1e6), url)).get)
        if is_known or self._scratch.execute("SELECT 1 FROM taken WHERE id = ?", (number,)).get:
            self._report.known += 1
            return True
        self._scratch.execute("INSERT INTO taken VALUES (?, x'')", (number,))
        self._report.answers += 1
        return False


def _number(text: str, at: float) -> int:
    return xxh3_64_intdigest(f"{text} {round(at * 1e6)}".encode("utf-8", "replace")) - (1 << 63)
