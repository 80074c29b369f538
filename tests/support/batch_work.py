"""Batch work to compare executors by: small documents, some of them poison, and all that was found in them."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import apsw
from support.make_collection import make_collection

from lycosa.analysis.run import AnalysisOptions, AnalysisTally, analyse_collection
from lycosa.config.settings import ExtractSettings, Mission
from lycosa.extract.job_runner import Tally
from lycosa.extract.run import ExtractOptions, extract_collection
from lycosa.missions.xml.analysis import XmlAnalyzer

#: Counts the words of a document; of a poisoned one its process dies.
QUARRY = """
import os, time
from collections import Counter
from lycosa.model import Record
from lycosa.quarry import Quarry

class Words(Quarry):
    version = "1"

    def extract(self, doc):
        time.sleep(EACH_S)
        words = doc.text.split()
        if "abortus" in words:
            os.abort()
        if "erratum" in words:
            raise ValueError("a wrong word")
        if "mora" in words:
            time.sleep(100)
        for word, count in sorted(Counter(words).items())[:5]:
            yield Record("word", {"word": word, "count": count})
"""
POISON = ("abortus", "erratum", "mora")


def make_documents(folder: Path, count: int, *, poisoned: bool = True, each_s: float = 0.0) -> str:
    """Make a collection of small pages and XML documents; the name of its quarry, which takes its time for each."""
    make_collection(folder, _pages(count, poisoned=poisoned))
    path = folder / "words.py"
    path.write_text(QUARRY.replace("EACH_S", str(each_s)))
    return f"{path}:Words"


def _pages(count: int, *, poisoned: bool) -> Iterator[tuple[str, str, bytes]]:
    randomness = random.Random(3)
    words = ["".join(randomness.choices("abcdefghijklmnop", k=randomness.randint(2, 9))) for _ in range(2000)]
    for n in range(count):
        text = " ".join(randomness.choices(words, k=100))
        if poisoned and n % 100 == 50 and n // 100 < len(POISON):
            text = POISON[n // 100]
        if n % 2:
            yield f"http://h.test/{n}.html", "text/html", f"<title>{n}</title><p>{n} {text}".encode()
        else:
            link = f'<see href="{n + 2}.xml"/>'
            yield f"http://h.test/{n}.xml", "application/xml", f"<a><n>{n}</n><b>{text}</b>{link}</a>".encode()


def extract_words(folder: Path, quarry: str, *, on: str = "", workers: int = 1, again: bool = False) -> Tally:
    """Extract what is due."""
    mission = Mission(quarry=quarry, extract=ExtractSettings(timeout_s=2.0))
    options = ExtractOptions(workers=workers, on=on, again=again, quiet=True)
    (tally,) = extract_collection(folder, mission, options)
    return tally


def analyse_documents(folder: Path, *, on: str = "", workers: int = 1) -> AnalysisTally:
    """Analyse what is due."""
    return analyse_collection(folder, XmlAnalyzer(), AnalysisOptions(workers=workers, on=on, quiet=True))


def read_records(folder: Path) -> list[tuple[object, ...]]:
    """What became of each document, and its records."""
    outcomes = "SELECT n, round, quarry, version, outcome, error, strikes, records, '' FROM extracted"
    records = "SELECT n, round, quarry, mission, kind, json, '', '', '' FROM record"
    return _rows(folder / "crawl.db", f"{outcomes} UNION ALL {records} ORDER BY 1, 2, 3, 4, 5, 6")


def read_findings(folder: Path) -> list[tuple[object, ...]]:
    """What an analysis found in each document and between them, without the numbers that it gave them."""
    path = folder / "analysis.db"
    columns = [row[1] for row in _rows(path, "PRAGMA table_info(document)")]
    wanted = ", ".join(f'"{name}"' for name in columns if name not in ("id",))
    rows = _rows(path, f"SELECT {wanted} FROM document ORDER BY n, url")
    rows += _rows(path, "SELECT n, version, outcome, error, strikes, url FROM page ORDER BY n")
    here = "JOIN document ON document.id = {}.document ORDER BY 1, 2, 3, 4, 5"
    rows += _rows(path, "SELECT document.url, nth, link.kind, href, target, how FROM link " + here.format("link"))
    rows += _rows(path, "SELECT document.url, name, value, count, '' FROM facet " + here.format("facet"))
    rows += _rows(path, "SELECT document.url, cluster, collection, '', '' FROM membership " + here.format("membership"))
    return rows


def _rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    # With the library that writes it: a second one in this process would drop the first one's locks.
    with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        db.set_busy_timeout(30_000)
        return db.execute(sql).fetchall()


@contextlib.contextmanager
def when_done(path: Path, sql: str, count: int, act: Callable[[], object]) -> Iterator[None]:
    """Act once when a table of a database has so many rows, beside what the block does."""

    def watch() -> None:
        limit = time.monotonic() + 600
        while time.monotonic() < limit:
            with contextlib.suppress(apsw.Error):
                if int(str(_rows(path, sql)[0][0])) >= count:
                    act()
                    return
            time.sleep(0.05)

    thread = Thread(target=watch, daemon=True)
    thread.start()
    yield
    thread.join(30)
    assert not thread.is_alive(), "it was over before there was anything to act upon"
