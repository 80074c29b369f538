"""Marks and model of a topic, beside a collection: `marks.db` holds what people said of pages, `topic.model` what was
learned of it.

Marks are no derived data: no extraction replaces them, and `lycosa merge` brings them along. The model is made again
after each mark and each round, from examples, marks, and pages of the collection that nobody marked; whoever judges
pages takes a newer one from its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from lycosa import clock
from lycosa.collection.collection import Collection
from lycosa.config.mission_table import read_own
from lycosa.derived.store import translated
from lycosa.errors import CollectionError, UsageError
from lycosa.missions.topic.classifier import MOST_UNMARKED, TopicModel
from lycosa.missions.topic.examples import MarkedPage, learn, make_example, merge, unpack
from lycosa.missions.topic.harvest import measure_harvest, tell_harvest
from lycosa.missions.topic.page_words import PageText, read_page, read_words
from lycosa.missions.topic.settings import TopicSettings
from lycosa.output.atomic_file import whole_file

MARKS, MODEL = "marks.db", "topic.model"
_VERSION = 1
_TABLES = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE IF NOT EXISTS mark (url TEXT PRIMARY KEY, title TEXT, text TEXT, wanted INTEGER, at REAL) WITHOUT ROWID;
"""
_ALL = "SELECT url, title, text, wanted FROM mark ORDER BY at, url"
_PAGES = "SELECT url.url FROM page JOIN url USING (n) ORDER BY n"


@contextmanager
def _opened(folder: Path, *, write: bool) -> Iterator[apsw.Connection | None]:
    """The marks of a collection; None where nobody made any, and none is to be made."""
    path = folder / MARKS
    if not write and not path.exists():
        yield None
        return
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
    with translated(path), closing(apsw.Connection(str(path), flags=flags)) as database:
        database.set_busy_timeout(30_000)
        version = int(database.execute("PRAGMA user_version").get)
        if version > _VERSION:
            raise CollectionError(f"{path} was written by a newer version of lycosa: use that one.")
        if version < _VERSION and write:
            with database:
                database.execute(_TABLES)
        yield database


def read_marks(folder: Path) -> list[MarkedPage]:
    """The marked pages, in the order in which they were marked."""
    with _opened(folder, write=False) as database:
        rows = database.execute(_ALL) if database is not None else ()
        return [MarkedPage(url, title, text, bool(wanted)) for url, title, text, wanted in rows]


def mark(collection: Collection, url: str, *, is_wanted: bool | None) -> TopicModel | None:
    """Mark a page of a collection, or take its mark back (None); returns what is known then."""
    page = collection.page(url)
    if page is None or page.problem:
        raise UsageError(f"There is no page {url} in {collection.path}: mark one that the collection has stored.")
    example = make_example(read_page(page.doc), is_wanted=bool(is_wanted))
    with _opened(collection.path, write=True) as database:
        assert database is not None
        with database:
            if is_wanted is None:
                database.execute("DELETE FROM mark WHERE url = ?", (page.url,))
            else:
                row = (page.url, example.title, example.text, is_wanted, clock.now())
                database.execute("INSERT OR REPLACE INTO mark VALUES (?, ?, ?, ?, ?)", row)
    return learn_again(collection)


def all_examples(collection: Collection) -> list[MarkedPage]:
    """Examples and marks; what was marked last counts."""
    settings = read_own(collection.mission, "topic", TopicSettings)
    return merge(unpack(settings.examples), read_marks(collection.path))


def learn_again(collection: Collection) -> TopicModel | None:
    """Make the model anew from all that is known, and keep it."""
    examples = all_examples(collection)
    marked = {example.url for example in examples}
    model = learn(examples, map(read_words, _draw_pages(collection, marked)))
    path = collection.path / MODEL
    if model is None:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_bytes() != model.encode():
        with whole_file(path) as part:
            Path(part).write_bytes(model.encode())
    return model


def _draw_pages(collection: Collection, marked: set[str]) -> Iterator[PageText]:
    """Pages that nobody marked, from all of the collection."""
    addresses: Sequence[str] = [url for (url,) in collection.rows(_PAGES) if url not in marked]
    for url in addresses[:: max(1, -(-len(addresses) // MOST_UNMARKED))]:
        page = collection.page(url)
        if page is not None and not page.problem and page.doc.title + page.doc.text[:1]:
            yield read_page(page.doc)


def read_model(folder: Path) -> TopicModel | None:
    """The model of a collection; None where there is none that can be read."""
    try:
        return TopicModel.decode((folder / MODEL).read_bytes())
    except (OSError, ValueError):
        return None


def merge_marks(into: Path, source: Path, *, name: str) -> list[str]:
    """Bring marks into another collection, as often as it is called; what is newer counts."""
    with _opened(source, write=False) as there, _opened(into, write=True) as here:
        assert here is not None
        rows = list(there.execute("SELECT url, title, text, wanted, at FROM mark")) if there is not None else []
        with here:
            here.executemany(
                "INSERT INTO mark VALUES (?, ?, ?, ?, ?) ON CONFLICT (url) DO UPDATE SET"
                " title = excluded.title, text = excluded.text, wanted = excluded.wanted, at = excluded.at"
                " WHERE excluded.at > mark.at",
                rows,
            )
    return [f"{len(rows)} marks of {name} are taken over."] if rows else []


def refresh(collection: Collection) -> list[str]:
    """Learn anew, with what a round has brought; the harvest so far."""
    learn_again(collection)
    return tell_harvest(measure_harvest(collection))
