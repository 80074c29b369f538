"""How fast the records database is: refresh, queries by field, export, changes, and re-extraction by other rules.

    python tests/bench/records.py [--records 100000] [--articles 3000] [--folder DIR]

The collection is made in a temporary folder: records as an extraction leaves them, with texts of two kilobytes; and,
for the re-extraction, pages of 30 KB that a described schema of six fields reads. Times are wall clock, with the CPU
time of this process and its workers behind them.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.make_collection import AT, make_collection  # noqa: E402

from lycosa import Collection  # noqa: E402
from lycosa.config.loading import load  # noqa: E402
from lycosa.extract.run import ExtractOptions, extract_collection  # noqa: E402
from lycosa.frontier.sqlite.extraction_store import ExtractedDocument, ExtractionStore, Label  # noqa: E402
from lycosa.missions.records.database.record_xml import read_xml  # noqa: E402
from lycosa.missions.records.database.store import RecordStore, open_store  # noqa: E402
from lycosa.missions.records.database.xml_queries import ask_xpath  # noqa: E402
from lycosa.missions.records.exports import RecordXmlOptions, write_xml  # noqa: E402
from lycosa.missions.records.record_changes import before_last, net_changes  # noqa: E402

MISSION = """
missions = ["records"]
seeds = ["https://bench.example/"]
[[records.ranges]]
match = '/article/'
mode = "leaf"
category = "article"
[records.categories.article]
schema = "story"
[records.schemas.story]
version = "{version}"
[records.schemas.story.fields.title]
rule = ["css:h1.headline", "css:h1"]
required = true
[records.schemas.story.fields.author]
rule = "css:.byline a"
list = true
[records.schemas.story.fields.date]
rule = "css:time"
take = "attribute datetime"
convert = "date"
[records.schemas.story.fields.section]
rule = "xpath://nav/a[last()]"
[records.schemas.story.fields.tags]
rule = 'algebra:elem("a") inside elem("footer")'
list = true
[records.schemas.story.fields.text]
rule = "css:article p"
list = true
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--articles", type=int, default=3000)
    parser.add_argument("--folder", default=None, help="where the collections are made; default: the temporary folder")
    options = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-", dir=options.folder) as name:
        bench_database(Path(name) / "records", options.records)
        bench_extraction(Path(name) / "articles", options.articles)


@contextmanager
def timed(what: str, count: int = 0) -> Iterator[None]:
    """Print how long the block takes."""
    began, cpu = time.perf_counter(), cpu_s()
    yield
    seconds, used = time.perf_counter() - began, cpu_s() - cpu
    rate = f"  {count / seconds:>9,.0f} a second; {count / max(used, 1e-9):,.0f} a CPU second" if count else ""
    print(f"{what:<46} {seconds * 1000:>10,.1f} ms  CPU {used * 1000:>9,.1f} ms{rate}", flush=True)


def cpu_s() -> float:
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def bench_database(folder: Path, count: int) -> None:
    pages = ((f"https://h{n % 97}.example/{n}", "text/html", b"<p>%d" % n) for n in range(count))
    make_collection(folder, pages)
    extract(folder, "1", lambda n: n % 1000)
    print(f"\n{count:,} records")
    with timed("refresh, the first", count), open_store(folder):
        pass
    with timed("refresh, nothing new"), open_store(folder):
        pass
    extract(folder, "2", lambda n: n % 1000 + (n % 10 == 0))
    with timed("refresh after other rules, one in ten changed", count), open_store(folder):
        pass
    with open_store(folder) as store:
        with timed("changes, net", count // 10):
            assert sum(1 for _ in net_changes(store, after=before_last(store))) == count // 10
        ask(store, "query by field ", "json_extract(data, '$.price') = 417")
        ask(store, "query by field: price = 417", "json_extract(data, '$.price') = 417")
        ask(store, "query by field: author ->>", "data ->> 'author' = 'Author 4711'")
        ask(store, "query by field and kind", "kind = 'album' AND json_extract(data, '$.price') BETWEEN 3 AND 4")
        with timed("all records as objects", count):
            assert sum(1 for _ in store.records()) == count
    with Collection(folder) as collection:
        with timed("export records-xml", count):
            write_xml(collection, str(folder / "out.xml"), RecordXmlOptions())
        with timed("export records, JSONL", count):
            export_lines(folder)
        with timed("XPath over all records", count):
            rows = list(ask_xpath(collection, '//album[author="Author 4711"]/title')[1])
        assert rows
    with timed("import of the same XML", count), open_store(folder) as store:
        assert not sum(store.put(read_xml(folder / "out.xml")).values())
    sizes = [sum(file.stat().st_size for file in folder.glob(f"{name}.db*")) >> 20 for name in ("records", "crawl")]
    print(f"records.db {sizes[0]} MiB, crawl.db {sizes[1]} MiB")


def extract(folder: Path, version: str, price: Callable[[int], int]) -> None:
    """Commit records as an extraction does."""
    store = ExtractionStore(folder / "crawl.db", Label("bench", version))
    words = [f"word{n}" for n in range(2000)]
    chance = random.Random(7)
    text = " ".join(chance.choices(words, k=1200))
    rows = []
    for due in store.due(after=0, limit=1 << 40):
        start = due.row * 7 % 5000
        data = {
            "title": f"Title {due.row}",
            "author": f"Author {due.row % 20_000}",
            "price": price(due.row),
            "tags": [words[due.row % 2000], words[due.row % 1999]],
            "text": text[start : start + 2000],
        }
        rows.append(ExtractedDocument(due, "done", records=(("album", json.dumps(data)),)))
    store.commit(rows, now=AT + float(version))
    store.close()


def ask(store: RecordStore, what: str, where: str) -> None:
    with timed(what):
        found = list(store.records(where=where))
    assert found


def export_lines(folder: Path) -> None:
    from lycosa.collection.records import RecordFilter, write_records

    with open(folder / "out.jsonl", "w", encoding="utf-8") as out, redirect_stdout(io.StringIO()):
        write_records(folder, out, RecordFilter(), form="jsonl")


def bench_extraction(folder: Path, count: int) -> None:
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 11))) for _ in range(5000)]
    pages = ((f"https://bench.example/article/{n}", "text/html", article(n, words, chance)) for n in range(count))
    make_collection(folder, pages, mission=MISSION.format(version="1"))
    print(f"\n{count:,} articles of 30 KB, a described schema of six fields, one worker")
    for version in ("1", "2"):
        mission = load(text=MISSION.format(version=version)).mission
        with timed(f"extraction by rules of version {version}", count):
            (tally,) = extract_collection(folder, mission, ExtractOptions(workers=1, quiet=True))
        assert set(tally.outcomes) == {"done"}, tally.outcomes
        print(f"{'':<46} {tally.documents / tally.seconds:,.0f} a second from the first document to the last commit")


def article(n: int, words: list[str], chance: random.Random) -> bytes:
    paragraphs = "".join(f"<p>{' '.join(chance.choices(words, k=60))}.</p>" for _ in range(30))
    aside = "".join(
        f'<li class="teaser"><a href="/article/{chance.randint(0, 9999)}"><span>{" ".join(chance.choices(words, k=6))}'
        "</span></a></li>"
        for _ in range(120)
    )
    return f"""<!DOCTYPE html><html lang="en"><head><title>Story {n}</title></head><body>
<nav><a href="/">Home</a> <a href="/sports/">Sports {n % 9}</a></nav>
<article><h1 class="headline">Headline of story {n}</h1><div class="byline"><a href="/a/1">Ana Ruiz</a></div>
<time datetime="2026-11-{n % 28 + 1:02}T10:00:00Z">a day</time>{paragraphs}
<footer><a href="/t/1">river</a> <a href="/t/2">flood</a></footer></article><aside><ul>{aside}</ul></aside>
</body></html>""".encode()


if __name__ == "__main__":
    main()
