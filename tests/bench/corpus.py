"""How fast a corpus is made of a collection: pages a second, from the archive to the files of each form.

    python tests/bench/corpus.py [--pages FOLDER] [--count N]

Without a folder of HTML pages, pages of its own: articles of several sites, with boilerplate and near-duplicates.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.make_collection import make_collection

from lycosa import Collection
from lycosa.missions.records.corpus.export import write_corpus
from lycosa.missions.records.corpus.options import CorpusForm, CorpusOptions

_WORDS = "river rain bridge water night street house people mayor road town storm damage repair spring field"
WORDS = _WORDS.split()
FORMS: tuple[CorpusForm, ...] = ("jsonl", "parquet", "markdown", "text")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=Path, help="a folder of HTML files, or of such as .gz")
    parser.add_argument("--count", type=int, default=2000)
    given = parser.parse_args()
    pages = stored(given.pages) if given.pages else own()
    with tempfile.TemporaryDirectory() as folder:
        made = make_collection(Path(folder) / "collection", islice(pages, given.count))
        for form in FORMS:
            begun = time.perf_counter()
            with Collection(made) as collection:
                count = len(collection)
                written = write_corpus(collection, str(Path(folder) / form), CorpusOptions(format=form))
            seconds = time.perf_counter() - begun
            size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print(f"{form:9} {count / seconds:6,.0f} pages/s on {os.cpu_count()} cores, {size} MB  {written.said}")


def stored(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    for number, file in enumerate(sorted(folder.rglob("*.html*"))):
        body = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        yield f"https://site{number % 50}.test/{file.name}", "text/html", body


def own() -> Iterator[tuple[str, str, bytes]]:
    chance = random.Random(1)
    number = 0
    while True:
        number += 1
        body = "".join(
            f"<p>{' '.join(chance.choices(WORDS, k=40)).capitalize()} {number}.</p>"
            f"<p>{''.join(chance.choices('abcdefghij', k=12))} {' '.join(chance.choices(WORDS, k=30))}.</p>"
            for _ in range(8)
        )
        html = (
            f"<html lang=en><title>Page {number}</title><nav><a href=/>Home</a></nav><article><h1>Story {number}</h1>"
            f"{body}<p>Subscribe to our newsletter and never miss a story of this town again.</p></article>"
            "<footer>All rights reserved</footer>"
        )
        for copy in range(2 if number % 10 == 0 else 1):
            yield f"https://site{number % 50}.test/{number}-{copy}", "text/html", (html + " " * copy).encode()


if __name__ == "__main__":
    main()
