"""The scratch of a corpus: what was read of the pages, on the disk, until it is known which of it is written.

Three passes, each linear in the number of pages and flat in memory: pages come in as workers read them; then, in the
order in which they were found, texts that repeat others are dropped and the paragraphs of the rest are counted; at last
the documents come out, without the paragraphs that a site repeats.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Container, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct
from xxhash import xxh3_64_intdigest

from lycosa import urls
from lycosa.derived.near_duplicates import ALIKE
from lycosa.missions.records.corpus.page_reader import ReadPage
from lycosa.missions.records.corpus.text_quality import WORDS, count_words
from lycosa.text.fingerprint import Content

_TARGETS = re.compile(r"\]\([^()\s]*\)")
_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)


def hash_words(text: str) -> int:
    """A number of 63 bits for the words of a paragraph; 0 where it has none."""
    words = " ".join(WORDS.findall(text.casefold()))
    return xxh3_64_intdigest(words.encode("utf-8", "surrogatepass")) >> 1 if words else 0


def drop_paragraphs(text: str, repeated: Container[int]) -> str:
    """A text without the lines whose words are among the repeated ones."""
    return "\n".join(line for line in text.split("\n") if hash_words(line) not in repeated)


def drop_blocks(markdown: str, repeated: Container[int]) -> str:
    """The same of the blocks of Markdown, and of the items of its lists; code stays as it is."""
    kept: list[str] = []
    in_code = False
    for block in markdown.split("\n\n"):
        code = in_code or bool(_FENCE.match(block))
        in_code ^= len(_FENCE.findall(block)) % 2 == 1
        lines = [block] if code else [line for line in block.split("\n") if _hash_marked(line) not in repeated]
        if lines and (code or _hash_marked(block) not in repeated):
            kept.append("\n".join(lines))
    return "\n\n".join(kept).strip()


def _hash_marked(block: str) -> int:
    return hash_words(_TARGETS.sub("]", block))


_BAND = 4  # bytes of a sketch; texts that share four fifths meet in one of 16 bands with a chance above 0.999
_COMPARED = 8  # texts of one band that another is compared with
_HELD = 4096  # texts, and sites, that are held at a time
_COUNTED = 200_000  # paragraphs that are counted before they are stored
#: A paragraph is boilerplate on this share of a site's texts; a long one on so many of them, however many there are.
_SHARE = 0.3
_LEAST, _MOST = 3, 10
_LONG = 5  # words

_TABLES = """
    PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
    CREATE TABLE found (digest BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE chosen (digest BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE record (digest BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID;
    CREATE TABLE document (
        n INTEGER PRIMARY KEY, site TEXT, language TEXT, month TEXT, words INTEGER, runs BLOB, paragraphs BLOB,
        data BLOB, leader INTEGER, portion TEXT DEFAULT '');
    CREATE TABLE exact (hash INTEGER PRIMARY KEY, n INTEGER);
    CREATE TABLE band (key INTEGER, n INTEGER);
    CREATE INDEX band_key ON band (key);
    CREATE TABLE paragraph (site TEXT, hash INTEGER, long INTEGER, count INTEGER, PRIMARY KEY (site, hash))
        WITHOUT ROWID;
"""
_COUNT = """
    INSERT INTO paragraph VALUES (?, ?, ?, ?)
    ON CONFLICT (site, hash) DO UPDATE SET count = count + excluded.count"""
_FORGET_RARE = f"""
    CREATE TABLE size (site TEXT PRIMARY KEY, documents INTEGER) WITHOUT ROWID;
    INSERT INTO size SELECT site, count(*) FROM document WHERE leader IS NULL GROUP BY site;
    DELETE FROM paragraph WHERE count < (
        SELECT max({_LEAST}, iif(long, min({_MOST}, {_SHARE} * documents), {_SHARE} * documents))
        FROM size WHERE size.site = paragraph.site)"""

_encode = msgspec.msgpack.encode


class CorpusDocument(Struct, frozen=True):
    """A text of a corpus, and what is known of it."""

    url: str
    host: str
    site: str
    title: str
    authors: list[str]
    date: str
    language: str
    language_score: float | None
    kind: str
    fetched: float
    digest: str
    licence: str
    words: int
    text: str
    markdown: str = ""
    portion: str = ""


class _Kept(Struct):
    """What of a document is only needed when it is written."""

    url: str
    host: str
    fetched: float
    digest: str
    page: ReadPage


class Scratch:
    """The documents of one export."""

    def __init__(self, folder: Path, *, keep_duplicates: bool = False, least_words: int = 0) -> None:
        self._db = apsw.Connection(str(folder / "corpus.db"))
        self._db.execute(f"{_TABLES}; BEGIN").fetchall()
        self._keep_duplicates = keep_duplicates
        self._least_words = least_words
        self._parents: dict[int, int] = {}
        self._content = lru_cache(maxsize=_HELD)(self._load_content)
        self._repeated = lru_cache(maxsize=_HELD)(self._load_repeated)
        self._counts: Counter[tuple[str, int, int]] = Counter()
        self.dropped: Counter[str] = Counter()  # documents by the reason why they are left out
        self.paragraphs = 0  # that were dropped as boilerplate

    def close(self) -> None:
        self._db.close()

    # Pages come in

    def add_record(self, digest: str, data: dict[str, Any]) -> None:
        """Note what was extracted from a content; several records of one are one text."""
        key = bytes.fromhex(digest)
        before = self._db.execute("SELECT data FROM record WHERE digest = ?", (key,)).get
        if before:
            first = msgspec.msgpack.decode(before)
            data = {**first, "text": f"{first['text']}\n{data['text']}"}
        self._db.execute("INSERT OR REPLACE INTO record VALUES (?, ?)", (key, _encode(data)))

    def choose(self, digest: str) -> None:
        """Note that a content is one of those that are wanted."""
        self._db.execute("INSERT OR IGNORE INTO chosen VALUES (?)", (bytes.fromhex(digest),))

    def is_chosen(self, digest: str) -> bool:
        """Whether a content is one of these."""
        return bool(self._db.execute("SELECT 1 FROM chosen WHERE digest = ?", (bytes.fromhex(digest),)).get)

    def is_new(self, digest: str) -> bool:
        """Whether no page with these bytes came before."""
        key = bytes.fromhex(digest)
        if self._db.execute("SELECT 1 FROM found WHERE digest = ?", (key,)).get:
            return False
        self._db.execute("INSERT INTO found VALUES (?)", (key,))
        return True

    def record(self, digest: str) -> dict[str, Any] | None:
        """What was extracted from a content."""
        found = self._db.execute("SELECT data FROM record WHERE digest = ?", (bytes.fromhex(digest),)).get
        return msgspec.msgpack.decode(found) if found else None

    def add(self, n: int, url: str, page: ReadPage, *, fetched: float, digest: str) -> None:
        """Take a page in; `n` is its place among all."""
        host = urls.host_of(url)
        site = urls.registered_domain(host) or host
        words = count_words(page.text)
        if words < self._least_words:
            self.dropped["few words"] += 1
            return
        paragraphs = array(
            "Q", (hash_words(line) << 1 | (len(line.split()) >= _LONG) for line in page.text.split("\n"))
        )
        runs = array("I", page.runs)
        page.runs = []
        kept = _Kept(url=url, host=host, fetched=fetched, digest=digest, page=page)
        row = (n, site, page.language, page.date[:7], words, runs.tobytes(), paragraphs.tobytes(), _encode(kept))
        self._db.execute(
            "INSERT INTO document (n, site, language, month, words, runs, paragraphs, data)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )

    # Texts that repeat others

    def compare(self) -> None:
        """Find what repeats an earlier text, or nearly; count the paragraphs of the others."""
        for n, site, runs, paragraphs in self._rows("n, site, runs, paragraphs"):
            fate, leader = self._find_like(n, runs, paragraphs)
            if fate:
                self._db.execute("UPDATE document SET leader = ? WHERE n = ?", (leader, n))
                if not self._keep_duplicates:
                    self.dropped[fate] += 1
                continue
            self._counts.update((site, each >> 1, each & 1) for each in set(array("Q", paragraphs)) if each > 1)
            if len(self._counts) > _COUNTED:
                self._store_counts()
        self._store_counts()
        self._db.execute(_FORGET_RARE).fetchall()
        if not self._keep_duplicates:
            self._db.execute("DELETE FROM document WHERE leader IS NOT NULL")

    def _rows(self, columns: str) -> Iterator[Any]:
        """The documents in their order, a page of rows at a time, as they change meanwhile."""
        last = -1
        while rows := self._rows_of(f"SELECT {columns} FROM document WHERE n > ? ORDER BY n LIMIT 200", last):
            yield from rows
            last = rows[-1][0]

    def _rows_of(self, sql: str, *values: int) -> list[Any]:
        return self._db.execute(sql, values).fetchall()

    def _find_like(self, n: int, runs: bytes, paragraphs: bytes) -> tuple[str, int]:
        """Why a text is a duplicate, and of which; nothing where it is none."""
        hashed = _hash(paragraphs)
        for (same,) in self._rows_of("SELECT n FROM exact WHERE hash = ?", hashed):
            return "exact duplicate", self._join(same, n)
        self._db.execute("INSERT INTO exact VALUES (?, ?)", (hashed, n))
        content = Content(array("I", runs))
        sketch = content.sketch
        keys = [_hash(bytes([at]) + sketch[at : at + _BAND]) for at in range(0, len(sketch), _BAND)]
        seen: set[int] = set()
        leader = None
        for key in keys:
            for (other,) in self._rows_of("SELECT n FROM band WHERE key = ? LIMIT ?", key, _COMPARED):
                if other in seen:
                    continue
                seen.add(other)
                if content.compare(self._content(other)) >= ALIKE:
                    leader = self._join(other, n)
                    if not self._keep_duplicates:
                        return "near duplicate", leader
        # Where duplicates stay, others may be like this one that are not like its leader.
        self._db.executemany("INSERT INTO band VALUES (?, ?)", ((key, n) for key in keys))
        return ("", n) if leader is None else ("near duplicate", leader)

    def _load_content(self, n: int) -> Content:
        return Content(array("I", self._db.execute("SELECT runs FROM document WHERE n = ?", (n,)).get or b""))

    def _store_counts(self) -> None:
        rows = [(*key, count) for key, count in self._counts.items()]
        with self._db:
            self._db.executemany(_COUNT, rows)
        self._counts.clear()

    def _join(self, one: int, other: int) -> int:
        one, other = sorted((self._root(one), self._root(other)))
        if one != other:
            self._parents[other] = one
        return one

    def _root(self, n: int) -> int:
        while (parent := self._parents.get(n, n)) != n:
            n = parent
        return n

    # Portions

    def divide(self, shares: dict[str, float]) -> None:
        """Give every document a portion, by its site, or by that of the first text that it is like."""
        for n, site in self._rows("n, site"):
            root = self._root(n) if self._keep_duplicates else n
            if root != n:
                site = self._db.execute("SELECT site FROM document WHERE n = ?", (root,)).get
            place = _hash(site.encode()) % 1_000_000 / 10_000
            portion = ""
            for name, share in shares.items():
                portion = name if share else portion
                if place < share:
                    break
                place -= share
            self._db.execute("UPDATE document SET portion = ? WHERE n = ?", (portion, n))

    # Documents come out

    def documents(self, *, split: str = "none") -> Iterator[tuple[str, CorpusDocument]]:
        """The documents with the name of their file, without boilerplate; those of a file follow each other."""
        key = {"none": "''", "site": "site", "date": "iif(month <> '', month, 'undated')"}[split]
        rows = self._db.execute(f"SELECT portion, {key}, n, site, data FROM document ORDER BY 1, 2, 3")
        for portion, name, _, site, data in rows:
            kept = msgspec.msgpack.decode(data, type=_Kept)
            document = self._finish(kept, site, portion)
            if document is not None:
                yield name, document

    def _finish(self, kept: _Kept, site: str, portion: str) -> CorpusDocument | None:
        page = kept.page
        text, markdown = page.text, page.markdown
        if repeated := self._repeated(site):
            text = drop_paragraphs(text, repeated)
            self.paragraphs += page.text.count("\n") - text.count("\n")
            markdown = drop_blocks(markdown, repeated) if text != page.text else markdown
        words = count_words(text)
        if words < max(1, self._least_words):
            self.dropped["few words without boilerplate"] += 1
            return None
        known = {name: getattr(kept, name) for name in ("url", "host", "fetched", "digest")}
        names = ("title", "authors", "date", "language", "language_score", "kind", "licence")
        known |= {name: getattr(page, name) for name in names}
        return CorpusDocument(**known, site=site, words=words, text=text, markdown=markdown, portion=portion)

    def _load_repeated(self, site: str) -> frozenset[int]:
        rows = self._db.execute("SELECT hash FROM paragraph WHERE site = ?", (site,))
        return frozenset(hashed for (hashed,) in rows)


def _hash(data: bytes) -> int:
    return int(xxh3_64_intdigest(data)) >> 1
