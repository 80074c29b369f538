"""Fingerprint store: a fingerprint of the text of each page of a collection, in a side database.

Fingerprints are made when they are asked for, from the archive, page after page: asking again costs only what is new,
and a run that was ended goes on where it was. `near.db` can be deleted at any time.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator

from lycosa.collection.collection import Collection
from lycosa.collection.status import NEAR_NAME
from lycosa.derived.store import Derived, open_derived, place_of, translated, write_meta
from lycosa.text.fingerprint import Fingerprint, hash_text, make_fingerprint, read_lines

_AT_ONCE = 1000
_REPORT_S = 2.0

_TABLES = """
CREATE TABLE print (n INTEGER PRIMARY KEY, digest BLOB, title INTEGER, runs BLOB);
CREATE INDEX print_digest ON print (digest);
CREATE TABLE kin (cluster INTEGER, n INTEGER PRIMARY KEY, similarity REAL);
CREATE INDEX kin_cluster ON kin (cluster);
"""
#: Its version is raised when the meaning of a fingerprint changes. Commands make it.
NEAR = Derived(name=NEAR_NAME, version=1, tables=_TABLES)

#: The newest copy of each page whose text is looked at.
_PAGES = """
    SELECT page.n, page.digest FROM page JOIN url USING (n)
    WHERE page.n > ?1 AND page.status BETWEEN 200 AND 299 AND url.via IS NOT 'sitemap'
      AND (page.mime LIKE '%html%' OR page.mime = 'text/plain')
      AND page.round = (SELECT max(round) FROM page AS later WHERE later.n = page.n AND later.mime <> '')
    ORDER BY page.n LIMIT ?2"""


class FingerprintStore:
    """The fingerprints that were made so far; `database` also holds what was made of them."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        place = place_of(NEAR, collection.path)
        self.path = place / NEAR.name
        self.database = open_derived(NEAR, place)

    def close(self) -> None:
        self.database.close()

    def update(self, tell: Callable[[str], None] | None = None) -> int:
        """Make missing fingerprints, drop those of no page; returns how many changed. `tell` is told how far it got."""
        changed = last = 0
        reported_at = time.monotonic()
        while rows := list(self.collection.rows(_PAGES, [last, _AT_ONCE])):
            changed += self._update_span(dict(rows), after=last, upto=rows[-1][0])
            last = int(rows[-1][0])
            if tell is not None and time.monotonic() - reported_at > _REPORT_S:
                reported_at = time.monotonic()
                tell(f"{changed:,} new fingerprints, up to page {last:,}")
        return changed + self._update_span({}, after=last, upto=1 << 62)

    def __iter__(self) -> Iterator[tuple[int, int, Fingerprint]]:
        """Row number, hash of the title and fingerprint of each page, in the order of their numbers."""
        for n, title, runs in self.database.execute("SELECT n, title, runs FROM print ORDER BY n"):
            yield n, title, array("I", runs)

    def runs(self, n: int) -> Fingerprint:
        """The fingerprint of one page."""
        return array("I", self.database.execute("SELECT runs FROM print WHERE n = ?", (n,)).get or b"")

    def _update_span(self, pages: dict[int, bytes], *, after: int, upto: int) -> int:
        """Bring the fingerprints of a span up to date with its pages and their digests; returns how many changed."""
        with translated(self.path), self.database:
            span = "SELECT n, digest FROM print WHERE n > ? AND n <= ?"
            known = dict(self.database.execute(span, (after, upto)))
            gone = [(n,) for n in known.keys() - pages.keys()]
            self.database.executemany("DELETE FROM print WHERE n = ?", gone)
            missing = [(n, digest) for n, digest in pages.items() if known.get(n) != digest]
            for n, digest in missing:
                self.database.execute("INSERT OR REPLACE INTO print VALUES (?, ?, ?, ?)", self._make(n, digest))
            if missing or gone:
                write_meta(self.database, due=1)  # until clusters are made of them, also by a later run
        return len(missing) + len(gone)

    def _make(self, n: int, digest: bytes) -> tuple[int, bytes, int, bytes]:
        same = self.database.execute("SELECT title, runs FROM print WHERE digest = ? LIMIT 1", (digest,)).fetchone()
        if same is not None:
            return (n, digest, *same)
        page = self.collection.page_at(n)
        if page is None:
            return n, digest, 0, b""
        doc = page.doc
        return n, digest, hash_text("\n".join(read_lines(doc.title))), make_fingerprint(doc.text).tobytes()
