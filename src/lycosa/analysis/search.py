"""Full-text search: the documents of a collection that fit a question, the best first, each with a snippet.

The index is `search.db`, beside the crawl's database. A search brings it up to date from the archive first; it may be
deleted. It holds no text: snippets are read from the archive again.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lycosa import urls
from lycosa.analysis.analysis_main import WorkerOptions
from lycosa.analysis.analyzer import Analyzer, Case
from lycosa.analysis.archive_members import ArchiveMembers
from lycosa.analysis.run import AnalysisOptions, AnalysisQueue, AnalysisTally, run_queues
from lycosa.analysis.store import PageStore, Place
from lycosa.analysis.word_index import Words, read_words
from lycosa.collection.collection import Collection
from lycosa.derived.store import Derived, open_derived, place_of, translated
from lycosa.errors import UsageError
from lycosa.text.fold import fold, fold_in_place, fold_pattern

_CONTEXT = 80  # characters on each side of the first word that was found
FILTERS = ("kind", "ns", "host", "element", "url", "title")

_TABLES = """
CREATE TABLE page (n INTEGER PRIMARY KEY, digest BLOB, version TEXT, outcome TEXT, strikes INTEGER);
CREATE TABLE doc (id INTEGER PRIMARY KEY, n INTEGER, member TEXT, url TEXT, host TEXT, kind TEXT, title TEXT);
CREATE INDEX doc_of ON doc (n);
CREATE TABLE space (doc INTEGER, namespace TEXT);
CREATE INDEX space_of ON space (doc);
CREATE INDEX space_named ON space (namespace);
CREATE VIRTUAL TABLE word USING fts5(
    title, text, names, url, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
"""
#: Its version is raised when a table, or what counts as a word, changes.
WORDS = Derived(name="search.db", version=4, tables=_TABLES)
_decode = msgspec.json.Decoder(Words).decode


class Hit(NamedTuple):
    """A document that fits a question."""

    url: str
    kind: str
    title: str
    snippet: str  # the words that were asked for stand between MARK characters
    score: float


#: Stands before and behind each word of a snippet that was asked for.
MARK = "\x02", "\x03"


class Question(NamedTuple):
    """A parsed question, as FTS5 and SQL take it."""

    match: str  # for FTS5; empty: no words
    where: str
    values: tuple[Any, ...]
    words: tuple[str, ...]  # to be marked
    kinds: tuple[str, ...] = ()  # that were asked for


class SearchIndex(PageStore):
    """The index of one collection; `update` brings it up to date, `search` asks it."""

    def __init__(self, collection: Collection, analyzer: Analyzer, *, place: Path | None = None) -> None:
        """`place` is the folder of the index, where that is not the collection's."""
        self.collection = collection
        self.analyzer = analyzer
        place = place or place_of(WORDS, collection.path)
        self.path = place / WORDS.name
        self.db = open_derived(WORDS, place)
        self._members = ArchiveMembers(analyzer)

    # Updating

    def update(self, options: AnalysisOptions) -> AnalysisTally:
        """Index the pages that are new; the tally says how many."""
        queue = AnalysisQueue(self.collection, self, str(self.analyzer.version))
        tally = AnalysisTally(left=queue.left(), what="documents indexed")
        worker_options = WorkerOptions(str(self.collection.path.resolve()), words=True)
        tally = run_queues(
            self.collection, self.analyzer, [queue], worker_options=worker_options, tally=tally, options=options
        )
        if not tally.ended_by:
            queue.finish()
        return tally

    def undone(self, places: Iterable[Place], version: str) -> list[Place]:
        """Pages that are not in the index as they are now."""
        places = list(places)
        span = (min(place.n for place in places), max(place.n for place in places))
        rows = self.db.execute("SELECT n, digest, version, outcome FROM page WHERE n BETWEEN ? AND ?", span)
        done = {row[0]: row[1:3] for row in rows if row[3] != "strike"}
        return [place for place in places if done.get(place.n) != (place.digest, version)]

    def count_done(self, version: str) -> int:
        """How many pages are in the index."""
        sql = "SELECT count(*) FROM page WHERE version = ? AND outcome <> 'strike'"
        return int(self.db.execute(sql, (version,)).get)

    def put(self, place: Place, version: str, *, outcome: str, error: str, items: Sequence[str]) -> None:
        """Replace the words of a page; within a transaction."""
        strikes = place.strikes + (outcome == "strike")
        row = (place.n, place.digest, version, outcome, strikes)
        self.db.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?)", row)
        if outcome == "strike":
            return
        self._drop_documents(place.n)
        host = urls.host_of(place.url)
        for item in items:
            words = _decode(item)
            sql = "INSERT INTO doc (n, member, url, host, kind, title) VALUES (?, ?, ?, ?, ?, ?)"
            self.db.execute(sql, (place.n, words.member, words.url, host, words.kind, words.title))
            number = self.db.last_insert_rowid()
            sql = "INSERT INTO word (rowid, title, text, names, url) VALUES (?, ?, ?, ?, ?)"
            self.db.execute(sql, (number, *map(fold, (words.title, words.text, words.names, words.url))))
            self.db.executemany("INSERT INTO space VALUES (?, ?)", [(number, space) for space in words.spaces])

    def _drop_documents(self, n: int) -> None:
        for (number,) in self.db.execute("SELECT id FROM doc WHERE n = ?", (n,)).fetchall():
            for table, key in (("word", "rowid"), ("space", "doc"), ("doc", "id")):
                self.db.execute(f"DELETE FROM {table} WHERE {key} = ?", (number,))

    # Searching

    def count(self, question: Question) -> int:
        """How many documents fit."""
        with translated(self.path):
            return int(self.db.execute(f"SELECT count(*) {_from(question)}", _bound(question)).get)

    def explain_nothing(self, question: Question) -> str:
        """Why no document may fit: a kind that none has; empty where that is not it."""
        known = [kind for (kind,) in self.db.execute("SELECT DISTINCT kind FROM doc WHERE kind <> '' ORDER BY kind")]
        for kind in question.kinds:
            if not any(fnmatchcase(each, kind) for each in known):
                near = get_close_matches(kind, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(known) or 'none at all'}"
                return f"no document is of kind {kind} ({hint})"
        return ""

    def search(
        self, question: Question, *, limit: int, skip: int = 0, ranked: int = 0, seconds: float = 0.0
    ) -> Iterator[Hit]:
        """The documents that fit, the best first, after `skip` of them.

        `ranked` bounds how many are compared (0: all), and after `seconds` (0: never) hits come without a snippet.
        """
        score = "-bm25(word, 5.0, 1.0, 2.0, 2.0)" if question.match else "0.0"
        sql = f"SELECT doc.n, doc.member, doc.url, doc.kind, doc.title, {score} AS score, doc.id {_from(question)}"
        if ranked:
            sql = f"SELECT * FROM ({sql} LIMIT {ranked:d})"
        with translated(self.path):
            rows: list[Any] = self.db.execute(
                f"{sql} ORDER BY score DESC, id LIMIT ? OFFSET ?", (*_bound(question), limit, skip)
            ).fetchall()
        end = time.process_time() + (seconds or math.inf)
        for n, member, url, kind, title, value, _ in rows:
            snippet = self._quote(n, member, question.words) if time.process_time() < end else ""
            yield Hit(url, kind, title, snippet, round(value, 3))

    def _quote(self, n: int, member: str, words: Sequence[str]) -> str:
        """A snippet around the first word that was asked for, from the archive."""
        page = self.collection.page_at(n)
        if page is None:
            return ""
        packed = self._members.find(n, lambda: page.doc, member) if member else None
        case = packed or Case(page.doc)
        case.kind = self.analyzer.detect(case) or case.doc.kind
        return mark_words(read_words(case, self.analyzer.to_utf8(case)).text, words)


def _from(question: Question) -> str:
    source = "FROM word JOIN doc ON doc.id = word.rowid WHERE word MATCH ?" if question.match else "FROM doc WHERE 1"
    return f"{source}{question.where}"


def _bound(question: Question) -> tuple[Any, ...]:
    return ((question.match,) if question.match else ()) + question.values


_PART = re.compile(r'(-?)(?:([a-z]+):)?(?:"([^"]*)"|(\S+))')


def read_question(text: str) -> Question:
    """Parse words, "phrases", begin*, -without, and filters: kind:xsd ns:http://…* host:*.org element:name."""
    match: list[str] = []
    unwanted: list[str] = []
    where, values, words = "", [], []
    kinds: list[str] = []
    for found in _PART.finditer(text.replace("\0", " ")):  # which ends a text of FTS5
        is_unwanted, is_phrase = bool(found[1]), found[3] is not None
        name, word = _read_part(found)
        if name in _WHERE:
            word = _fit_filter(name, word)
            where += f" AND {'NOT ' if is_unwanted else ''}{_WHERE[name]}"
            values.append(word.replace("[", "[[]"))
            if name == "kind" and not is_unwanted:
                kinds.append(word)
        elif term := _match(word, _COLUMNS.get(name, ""), quoted=is_phrase):
            (unwanted if is_unwanted else match).append(term)
            if not name and not is_unwanted:
                words.append(word)
    if unwanted and not match:
        raise UsageError("What is unwanted (-word) goes with words that are wanted.")
    if not match and not where:
        raise UsageError("Name at least one word, or a filter: kind:xsd.")
    query = " AND ".join(match) + "".join(f" NOT {each}" for each in unwanted)
    return Question(query, where, tuple(values), tuple(words), tuple(kinds))


def _read_part(found: re.Match[str]) -> tuple[str, str]:
    """The filter that a part of a question names, or none, and the word that goes with it."""
    _, name, phrase, bare = found.groups()
    if not name or name in FILTERS:
        return name or "", phrase if phrase is not None else bare
    if phrase is not None:
        raise UsageError(f"There is no filter {name}:; there is {', '.join(f'{each}:' for each in FILTERS)}.")
    if near := get_close_matches(name, FILTERS, 1, cutoff=0.75):
        hint = f'did you mean {near[0]}:? As a word it stands in quotation marks: "{name}:{bare}"'
        raise UsageError(f"There is no filter {name}: ({hint}).")
    return "", f"{name}:{bare}"  # http://…, or a prefix: ordinary words


def _fit_filter(name: str, word: str) -> str:
    """The word of a filter as the index has it."""
    return urls.host_pattern(word) if name == "host" else word.lower() if name == "kind" else word


#: Where the words of these filters are looked for.
_COLUMNS = {"element": "names", "title": "title"}
_WHERE = {
    "kind": "doc.kind GLOB ?",
    "host": "doc.host GLOB ?",
    "url": "doc.url GLOB ?",
    "ns": "EXISTS (SELECT 1 FROM space WHERE space.doc = doc.id AND namespace GLOB ?)",
}


def _match(word: str, column: str, *, quoted: bool) -> str:
    """A word as FTS5 takes it, whatever is in it; empty where nothing of it counts as a word."""
    prefix = "*" if word.endswith("*") and not quoted else ""
    inner = fold(word).rstrip("*").replace('"', '""')
    if not re.search(r"\w", inner):
        return ""
    return f'{f"{column} : " if column else ""}"{inner}"{prefix}'


def mark_words(text: str, words: Sequence[str]) -> str:
    """A piece of the text around the first phrase or word that was asked for, all of them marked."""
    phrases = [parts for word in words if (parts := re.findall(r"\w+", word))]
    whole = _pattern([r"\W+".join(map(fold_pattern, parts)) for parts in phrases])
    single = _pattern([fold_pattern(part) for parts in phrases for part in parts])
    folded = fold_in_place(text)
    first = whole.search(folded)
    pattern = whole if first else single
    first = first or single.search(folded)
    at, after = first.span() if first else (0, 0)
    begin = max(0, at - _CONTEXT)
    end = min(len(text), max(after, begin + 2 * _CONTEXT))
    piece = " ".join(text[begin:end].split())
    if begin and " " in piece:
        piece = "…" + piece[piece.index(" ") :].lstrip()
    if end < len(text):
        piece = piece.rpartition(" ")[0] + "…" if " " in piece else piece + "…"
    return _mark(piece, [found.span() for found in pattern.finditer(fold_in_place(piece))])


def _mark(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = f"{text[:start]}{MARK[0]}{text[start:end]}{MARK[1]}{text[end:]}"
    return text


def _pattern(parts: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(parts)})\w*" if parts else r"(?!)")
