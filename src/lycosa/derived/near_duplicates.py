"""Near-duplicates of a collection: clusters of pages that say the same, by their fingerprints.

Three passes, each linear in the number of pages and flat in memory, with SQLite's sorter for what has to be sorted:
what the pages of a site and of a folder have in common is their frame; what remains of each page gets a sketch of 64
bytes; pages whose sketches agree in one of 16 bands are compared (locality-sensitive hashing), each with the first few
of its band, never all with all.

Fingerprints and clusters stand in `near.db`. Fingerprints are made when they are asked for, from the archive, page
after page: asking again costs only what is new, and a run that was ended goes on where it was.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.collection.status import NEAR_NAME
from lycosa.derived.store import Derived, open_derived, place_of, translated, write_meta
from lycosa.judge.admission.folders import keys_of
from lycosa.model import IS_PAGE
from lycosa.text.fingerprint import (
    FRAME_MOST,
    SLOTS,
    Content,
    Fingerprint,
    find_frame,
    hash_text,
    make_fingerprint,
    read_lines,
)

#: Pages that have so much of their text in common are near-duplicates; of pages that are nothing but frame, more.
ALIKE = 0.8
_ALIKE_BARE = 0.9
#: Sketches that agree less are not worth a closer look.
_WORTH = 0.5
_BAND = 4  # bytes: pages that share four fifths of their text meet in one of 16 bands with a chance above 0.999
_LEADERS = 16  # pages of one band that others are compared with
_FRAMES = 4096  # frames that are held at a time
_CONTENTS = 1024  # and pages

_SCRATCH = """
    CREATE TEMP TABLE place (n INTEGER PRIMARY KEY, host INTEGER, folder INTEGER);
    CREATE TEMP TABLE frame (key INTEGER PRIMARY KEY, runs BLOB);
    CREATE TEMP TABLE sketch (n INTEGER PRIMARY KEY, title INTEGER, sketch BLOB)"""

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
_PAGES = f"""
    SELECT page.n, page.digest FROM page JOIN url USING (n)
    WHERE page.n > ?1 AND page.status BETWEEN 200 AND 299 AND {IS_PAGE}
      AND (page.mime LIKE '%html%' OR page.mime = 'text/plain')
      AND page.round = (SELECT max(round) FROM page AS later WHERE later.n = page.n AND later.mime <> '')
    ORDER BY page.n LIMIT ?2"""

#: The columns that listings show.
COLUMNS = ("cluster", "size", "similarity", "url", "representative")


class NearDuplicate(Struct, frozen=True):
    """One page of a cluster."""

    cluster: int
    size: int  # pages of the cluster
    representative: str  # the page of the cluster that was found first
    url: str
    similarity: float  # how much of its text it shares with the representative, 0 to 1


def find_near_duplicates(
    collection: Collection, *, host: str = "", tell: Callable[[str], None] | None = None
) -> Iterator[NearDuplicate]:
    """The clusters of a collection, the largest first, page by page; with `host`, those with a page of it.

    Missing fingerprints are made first; `tell` is told how far that got.
    """
    fingerprints = FingerprintStore(collection)
    try:
        fingerprints.update(tell)
        with translated(fingerprints.path):
            keys = {key for (key,) in fingerprints.database.execute("SELECT key FROM meta")}
            if not keys or "due" in keys:
                _Clusters(fingerprints).make()
            yield from _read(fingerprints, host)
    finally:
        fingerprints.close()


def _read(fingerprints: FingerprintStore, host: str) -> Iterator[NearDuplicate]:
    """The stored clusters, with the addresses of their pages."""
    host = urls.host_pattern(host)
    url_of = lru_cache(maxsize=1024)(lambda n: next(iter(fingerprints.collection.rows(_URL, [n])), ("", ""))[0])
    order = """
        SELECT cluster, n, similarity FROM kin JOIN (SELECT cluster, count(*) AS size FROM kin GROUP BY cluster)
        USING (cluster) ORDER BY size DESC, cluster, n <> cluster, similarity DESC, n"""
    for cluster, rows in groupby(fingerprints.database.execute(order), key=lambda row: row[0]):
        members = [(n, similarity) for _, n, similarity in rows]
        names = [str(url_of(n)) for n, _ in members]
        if host and not any(_is_on(host, name) for name in names):
            continue
        for (_, similarity), name in zip(members, names, strict=True):
            yield NearDuplicate(cluster, len(members), names[0], name, round(similarity, 3))


_URL = "SELECT url FROM url WHERE n = ?"


def _is_on(host: str, url: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(urls.host_of(url), host)


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


class _Clusters:
    """The three passes over one set of fingerprints."""

    def __init__(self, fingerprints: FingerprintStore) -> None:
        self._fingerprints = fingerprints
        self._db = fingerprints.database
        self._parents: dict[int, int] = {}  # of the pages that are like another: one that came before them
        self._frame = lru_cache(maxsize=_FRAMES)(self._load_frame)
        self._content = lru_cache(maxsize=_CONTENTS)(self._load_content)

    def make(self) -> None:
        """Find all clusters and store them in place of those that were known."""
        self._db.execute(_SCRATCH)
        with self._db:
            self._place()
            for column in ("host", "folder"):
                self._find_frames(column)
            compared = self._sketch()
        for band in range(SLOTS // _BAND):
            self._join(band)
        with self._db:
            self._store(compared)
        self._db.execute("DROP TABLE place; DROP TABLE frame; DROP TABLE sketch")

    def _place(self) -> None:
        """Store the site and the folder of each page."""
        numbers = (n for (n,) in self._db.execute("SELECT n FROM print WHERE runs <> x'' ORDER BY n"))
        self._db.executemany("INSERT INTO place VALUES (?, ?, ?)", self._places(numbers))

    def _places(self, numbers: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        for n in numbers:
            url = next(self._fingerprints.collection.rows(_URL, [n]), ("",))[0]
            if url:
                host = urls.host_of(url)
                yield n, _hash(host), _hash(f"{host}{keys_of(url)[0]}")

    def _find_frames(self, column: str) -> None:
        rows = self._db.execute(f"SELECT {column}, n FROM place ORDER BY {column}, n")
        for key, group in groupby(rows, key=lambda row: row[0]):
            pages = array("q", (n for _, n in group))
            step = max(1, len(pages) // FRAME_MOST)
            frame = find_frame([self._fingerprints.runs(n) for n in pages[::step][:FRAME_MOST]])
            if frame:
                self._db.execute("INSERT INTO frame VALUES (?, ?)", (key, array("I", frame).tobytes()))

    def _sketch(self) -> int:
        """Make the sketches; returns how many."""
        count = 0
        places = self._db.execute("SELECT n, host, folder, title, runs FROM place JOIN print USING (n) ORDER BY n")
        for n, host, folder, title, runs in places:
            content = Content(array("I", runs), self._frame(host), self._frame(folder))
            # Pages that are nothing but frame are alike only under the same title: those of a gallery differ in that.
            row = (n, title if content.bare else -1, content.sketch)
            self._db.execute("INSERT INTO sketch VALUES (?, ?, ?)", row)
            count += 1
        return count

    def _join(self, band: int) -> None:
        """Join the pages whose sketches agree in one band."""
        order = (
            f"SELECT title, substr(sketch, {_BAND * band + 1}, {_BAND}) AS band, n, sketch FROM sketch ORDER BY 1, 2, n"
        )
        for (title, _), group in groupby(self._db.execute(order), key=lambda row: (row[0], row[1])):
            leaders: list[tuple[int, bytes]] = []
            for _, _, n, sketch in group:
                for leader, other in leaders:
                    if self._find(n) == self._find(leader) or self._is_alike(leader, n, other, sketch, title >= 0):
                        self._union(leader, n)
                        break
                else:
                    if len(leaders) < _LEADERS:
                        leaders.append((n, sketch))

    def _is_alike(self, one: int, other: int, sketch: bytes, others: bytes, bare: bool) -> bool:
        same = (int.from_bytes(sketch) ^ int.from_bytes(others)).to_bytes(SLOTS).count(0)
        if same < _WORTH * SLOTS:
            return False
        return self._content(one).compare(self._content(other)) >= (_ALIKE_BARE if bare else ALIKE)

    def _store(self, compared: int) -> None:
        components: dict[int, list[int]] = {}
        for n in self._parents:
            components.setdefault(self._find(n), []).append(n)
        self._db.execute("DELETE FROM kin; DELETE FROM meta")
        clusters = pages = 0
        for root, members in components.items():
            for cluster in self._split(sorted({root, *members})):
                leader = cluster[0][0]
                self._db.executemany("INSERT INTO kin VALUES (?, ?, ?)", ((leader, n, alike) for n, alike in cluster))
                clusters += 1
                pages += len(cluster) - 1
        figures = {"clusters": clusters, "pages": pages, "compared": compared}
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", figures.items())

    def _split(self, members: list[int]) -> Iterator[list[tuple[int, float]]]:
        """Split pages that are joined through others alone: each stays with the first that it is like itself."""
        groups: list[list[tuple[int, float]]] = []
        for n in members:
            content = self._content(n)
            for group in groups[:_LEADERS]:
                similarity = self._content(group[0][0]).compare(content)
                if similarity >= ALIKE:
                    group.append((n, similarity))
                    break
            else:
                groups.append([(n, 1.0)])
        return (group for group in groups if len(group) > 1)

    def _load_frame(self, key: int) -> frozenset[int]:
        runs = self._db.execute("SELECT runs FROM frame WHERE key = ?", (key,)).get
        return frozenset(array("I", runs)) if runs else frozenset()

    def _load_content(self, n: int) -> Content:
        ((host, folder),) = self._db.execute("SELECT host, folder FROM place WHERE n = ?", (n,))
        return Content(self._fingerprints.runs(n), self._frame(host), self._frame(folder))

    def _find(self, n: int) -> int:
        parents = self._parents
        root = n
        while (parent := parents.get(root, root)) != root:
            root = parent
        while (parent := parents.get(n, n)) != root:
            parents[n] = root
            n = parent
        return root

    def _union(self, one: int, other: int) -> None:
        one, other = sorted((self._find(one), self._find(other)))
        if one != other:
            self._parents[other] = one


def _hash(text: str) -> int:
    return int(xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))) >> 1
