"""What a thesaurus costs: compiling GEMET, opening it in a worker, and judging 20 KB pages.

    python tests/bench/thesaurus.py [FOLDER WITH SKOS FILES]

Without a folder the starter vocabulary is measured. Pages are generated: 20 KB, half of it Spanish text.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lycosa.missions.geo.quarry import Geo
from lycosa.parse import Doc, read
from lycosa.text import Thesaurus, extract, thesaurus_library
from lycosa.text.terms import STOP_WORDS
from lycosa.text.thesaurus import open_compiled, write_compiled

PAGES = 100
ROUNDS = 15


def make_pages(words: list[str]) -> list[Doc]:
    """Pages as sites have them: menus, lists of links, paragraphs with as many stop words as a language has."""
    rng = random.Random(7)
    stops = sorted(word.decode() for word in STOP_WORDS["es"])
    docs = []
    for _ in range(PAGES):
        topic = rng.sample(words, min(150, len(words)))
        blocks = []
        for number in range(36):
            text = " ".join(rng.choice(stops) if rng.random() < 0.45 else rng.choice(topic) for _ in range(35))
            links = "".join(
                f'<li class="menu-item menu-item-{item}"><a class="menu-link" href="/part/{number}/page-{item}.html">'
                f"{rng.choice(topic)}</a></li>"
                for item in range(2)
            )
            blocks.append(f'<div class="block" id="block-{number}"><p class="text">{text}.</p><ul>{links}</ul></div>')
        body = f'<!DOCTYPE html><html lang="es"><head><title>x</title></head><body>{"".join(blocks)}</body></html>'
        docs.append(read("http://site.test/", {"content-type": "text/html; charset=utf-8"}, body.encode()))
    return docs


def measure(work: Callable[[Doc], object], docs: list[Doc]) -> float:
    """Microseconds of processor time a page, the best of many rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for doc in docs:
            work(doc)
        best = min(best, time.process_time() - began)
    return best / len(docs) * 1e6


def forget_text(doc: Doc) -> Doc:
    """As a page comes: its text not yet made."""
    doc._text = None
    return doc


def measure_worker(file: Path) -> tuple[float, float]:
    """Seconds to open a thesaurus and judge a first text, and the memory that it adds, in a process of its own."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        before = resident()
        began = time.perf_counter()
        Thesaurus(open_compiled(file)).relevance("agua y mapas de la cuenca", "es")
        os.write(writer, f"{time.perf_counter() - began} {resident() - before}".encode())
        os._exit(0)
    os.wait()
    seconds, memory = os.read(reader, 100).split()
    return float(seconds), float(memory)


def resident() -> float:
    """Private and shared memory of this process, in MB."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1000
    return 0.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.thesaurus"
        if sys.argv[1:]:
            files = list(thesaurus_library.find_skos_files(sys.argv[1:]))
            began = time.perf_counter()
            data = thesaurus_library.compile_files(files, name="bench")
            write_compiled(data, file)
            size = sum(path.stat().st_size for path in files)
            print(
                f"import: {size / 1e6:.1f} MB in {time.perf_counter() - began:.2f} s, compiled {len(data) / 1e6:.1f} MB"
            )
        else:
            began = time.perf_counter()
            thesaurus_library.find_compiled()
            print(f"the starter vocabulary: {(time.perf_counter() - began) * 1e3:.0f} ms, compiled in memory")
            write_compiled(thesaurus_library.compile_files([thesaurus_library.STARTER_FILE], name="starter"), file)
        seconds, memory = measure_worker(file)
        volume = open_compiled(file)
        head = volume.header
        print(f"{head.concepts:,} concepts, {head.labels:,} labels in {len(head.languages)} languages")
        print(
            f"a worker opens it and judges a first text in {seconds * 1e3:.1f} ms; {memory:.1f} MB more, shared by all"
        )
        words = sorted({name.split()[0] for concept in volume.read_concepts() for name in concept.labels.get("es", ())})
        docs = make_pages(words)
        thesaurus = Thesaurus(volume)
        print(f"pages of {len(docs[0].body) / 1e3:.1f} KB with {len(docs[0].text) / 1e3:.1f} K characters of text:")
        print(f"  text of the parsed page        {measure(lambda doc: forget_text(doc).text, docs):6.1f} µs")
        print(f"  ten best terms                 {measure(lambda doc: extract(doc.text, doc.language), docs):6.1f} µs")
        relevance = measure(lambda doc: thesaurus.relevance(doc.text, doc.language), docs)
        print(f"  terms and relevance            {relevance:6.1f} µs  (budget 150)")
        whole = measure(lambda doc: thesaurus.relevance(forget_text(doc).text, doc.language), docs)
        print(f"  text, terms and relevance      {whole:6.1f} µs")
        quarry = Geo()
        mission = measure(lambda doc: (quarry.recognise(doc), list(quarry.links(doc))), docs)
        print(f"  recognising, inferring links   {mission:6.1f} µs")
        print(f"  all of that                    {mission + whole:6.1f} µs  (budget 300)")
        anchors = [f"mapa de {word} en {number}" for number, word in enumerate(words[:1000])]
        began = time.process_time()
        for anchor in anchors:
            thesaurus.relevance_short(anchor, "es")
        print(f"  an anchor, never seen          {(time.process_time() - began) / len(anchors) * 1e6:6.1f} µs")
        again = measure(lambda doc: thesaurus.relevance_short("mapa del agua", "es"), docs)
        print(f"  an anchor, seen before         {again:6.2f} µs")


if __name__ == "__main__":
    main()
