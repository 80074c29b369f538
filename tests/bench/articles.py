"""How well articles, dates and structured data are read, beside other tools: run by hand, prints tables.

    python tests/bench/articles.py --shared ../shared
    python tests/bench/articles.py --shared ../shared --every 5

The other tools (trafilatura, resiliparse, readability-lxml, htmldate, extruct) take part where they are installed. All
read the same bytes in the same run; times are CPU milliseconds a page, parsing included. Pages are weighed alike; the
scorer of the material says what the figures mean.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import logging
import tarfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyoxigraph as ox
import turbohtml

from lycosa.content import microformats, rdfa, structured
from lycosa.content.article import read_article
from lycosa.content.page_content import read_html_content
from lycosa.parse import doc

Reader = Callable[[bytes, str], dict[str, Any]]
USES_VOCABULARY = "http://www.w3.org/ns/rdfa#usesVocabulary"


def ours(body: bytes, url: str) -> dict[str, Any]:
    page = doc.read(url or "http://unknown.test/", {"content-type": "text/html"}, body)
    if page.tree is None:
        return {}
    article = read_article(page.tree, url=url, language=page.language)
    return {"text": article.text, "title": article.title, "author": article.authors, "date": article.date}


def by_trafilatura(body: bytes, url: str) -> dict[str, Any]:
    import trafilatura

    found = trafilatura.bare_extraction(body, url=url or None, with_metadata=True, include_comments=False)
    if found is None:
        return {}
    said = found.as_dict()
    return {name: said[name] for name in ("text", "title", "author", "date")}


def by_resiliparse(body: bytes, url: str) -> dict[str, Any]:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import bytes_to_str, detect_encoding

    text = bytes_to_str(body, detect_encoding(body, from_html_meta=True))
    return {"text": extract_plain_text(text, main_content=True, alt_texts=False, links=False)}


def by_readability(body: bytes, url: str) -> dict[str, Any]:
    import lxml.html
    from readability import Document

    from lycosa.parse import charset

    found = Document(charset.decode_body(body, "").text)
    tree = lxml.html.fromstring(found.summary())
    for e in tree.iter("p", "div", "br", "li", "td", "h1", "h2", "h3", "h4"):
        e.tail = "\n" + (e.tail or "")
    return {"text": tree.text_content(), "title": found.short_title()}


def by_turbohtml(body: bytes, url: str) -> dict[str, Any]:
    from lycosa.parse import charset

    found = turbohtml.parse(charset.decode_body(body, "").text).article()
    return {"text": found.text, "title": found.title, "author": found.byline, "date": found.date}


def by_htmldate(body: bytes, url: str) -> dict[str, Any]:
    import htmldate

    return {"date": htmldate.find_date(body, url=url or None, original_date=True)}


def our_content(body: bytes, url: str) -> dict[str, Any]:
    content = read_html_content(body, url=url or "http://unknown.test/")
    return {"kind": content.kind, "text": content.text, "title": content.title, "date": content.date}


OTHERS: dict[str, tuple[str, Reader]] = {
    "trafilatura": ("trafilatura", by_trafilatura),
    "readability-lxml": ("readability", by_readability),
    "resiliparse": ("resiliparse", by_resiliparse),
    "turbohtml": ("turbohtml", by_turbohtml),
    "htmldate": ("htmldate", by_htmldate),
}


def load_scorer(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("article_scorer", path)
    assert spec is not None and spec.loader is not None
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    return scorer


def load_gold(folder: Path, every: int) -> list[dict[str, Any]]:
    with open(folder / "gold.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines][::every]


def load_page_types(shared: Path) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """The gold of pages of every kind, and their bytes."""
    folder = shared / "data" / "page-types"
    with tarfile.open(folder / "pages.tar.xz") as pages:
        files = {Path(each.name).stem: file.read() for each in pages if (file := pages.extractfile(each)) is not None}
    return load_gold(folder, 1), files


def run_page_types(
    gold: list[dict[str, Any]], files: dict[str, bytes], read: Reader
) -> tuple[dict[str, dict[str, Any]], float]:
    """What a tool reads of each page of any kind, and its CPU milliseconds a page."""
    found = {}
    start = time.process_time()
    for row in gold:
        try:
            found[row["id"]] = read(files[row["id"]], row["url"])
        except Exception:  # of other tools: a page that they cannot read counts as empty
            found[row["id"]] = {}
    return found, 1000 * (time.process_time() - start) / max(1, len(gold))


def score_page_types(shared: Path, readers: dict[str, Reader]) -> None:
    gold, files = load_page_types(shared)
    scorer = load_scorer(shared / "data" / "page-types" / "score.py")
    kinds = ["all", *dict.fromkeys(row["type"] for row in gold)]
    print(
        f"\npages of every kind: {len(gold)} pages, F1\n{'':<17}"
        + "".join(f"{kind:>14}" for kind in kinds)
        + "   ms/page"
    )
    for tool, read in readers.items():
        found, cost = run_page_types(gold, files, read)
        figures = [
            scorer.evaluate([row for row in gold if kind in ("all", row["type"])], found)["F1"] for kind in kinds
        ]
        print(f"{tool:<17}" + "".join(f"{figure:14.3f}" for figure in figures) + f"{cost:10.1f}")


def run(folder: Path, gold: list[dict[str, Any]], read: Reader) -> tuple[dict[str, dict[str, Any]], float]:
    """What a tool reads of each page, and its CPU milliseconds a page."""
    found = {}
    spent = 0.0
    for row in gold:
        body = gzip.decompress((folder / "html" / f"{row['id']}.html.gz").read_bytes())
        start = time.process_time()
        try:
            found[row["id"]] = read(body, row["url"] or "")
        except Exception:  # of other tools: a page that they cannot read counts as empty
            found[row["id"]] = {}
        spent += time.process_time() - start
    return found, 1000 * spent / max(1, len(gold))


def score_articles(shared: Path, every: int, readers: dict[str, Reader]) -> None:
    folder = shared / "data" / "articles"
    scorer = load_scorer(folder / "score.py")
    gold = load_gold(folder, every)
    names = ("P", "R", "F1", "F1page", "snip_F1", "title", "title_near", "author_P", "author_R", "date_P", "date_R")
    print(f"articles: {len(gold)} pages; P to F1page over those with their full text, the rest over all")
    print(f"{'':<17}" + "".join(f"{name:>11}" for name in names) + f"{'ms/page':>11}")
    for tool, read in readers.items():
        found, cost = run(folder, gold, read)
        figures = scorer.evaluate(gold, found)
        figures |= {
            name: value
            for name, value in scorer.evaluate([row for row in gold if row["kind"] == "full"], found).items()
            if name in ("P", "R", "F1", "F1page")
        }
        print(f"{tool:<17}" + "".join(f"{figures.get(name, 0.0):11.3f}" for name in names) + f"{cost:11.1f}")


def score_dates(shared: Path, every: int, readers: dict[str, Reader]) -> None:
    folder = shared / "data" / "dates"
    gold = load_gold(folder, every)
    print(f"\ndates: {len(gold)} pages\n{'':<17}{'P':>11}{'R':>11}{'F1':>11}{'ms/page':>11}")
    for tool, read in readers.items():
        found, cost = run(folder, gold, read)
        days = {key: (value.get("date") or "")[:10] for key, value in found.items()}
        right = sum(days[row["id"]] == row["date"] for row in gold)
        given = sum(map(bool, days.values()))
        figures = (right / max(1, given), right / len(gold), 2 * right / (given + len(gold)))
        print(f"{tool:<17}" + "".join(f"{figure:11.3f}" for figure in figures) + f"{cost:11.1f}")


def make_graph(triples: list[rdfa.Triple]) -> ox.Dataset:
    def node(name: str) -> ox.NamedNode | ox.BlankNode:
        return ox.BlankNode(name[2:]) if name.startswith("_:") else ox.NamedNode(name)

    graph = ox.Dataset()
    for t in triples:
        try:
            if t.is_resource:
                value: Any = node(t.object)
            elif t.datatype:
                value = ox.Literal(t.object, datatype=ox.NamedNode(t.datatype))
            else:
                value = ox.Literal(t.object, language=t.language.lower() or None)
            graph.add(ox.Quad(node(t.subject), ox.NamedNode(t.predicate), value))
        except ValueError:  # no address
            continue
    return graph


def score_structured(shared: Path) -> dict[str, tuple[int, int]]:
    """How many pages of the test suites give the right answer, and in how many recipes of JSON-LD are found."""
    folder = shared / "data" / "structured"

    def read(name: str) -> bytes:
        body = (folder / name).read_bytes()
        return gzip.decompress(body) if name.endswith(".gz") else body

    counts = {"microformats": [0, 0], "rdfa": [0, 0], "recipe in json-ld": [0, 0], "recipe in microdata": [0, 0]}
    for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        tree = turbohtml.parse(read(case["html"]).decode("utf-8", "replace"))
        if case["set"] == "rdfa":
            store = ox.Store()
            store.extend(make_graph(rdfa.read_triples(tree, base=case["base"])))
            right = bool(store.query(read(case["ask"]).decode())) == case["expect"]
            key = "rdfa"
        elif case["set"] == "recipes" and case["recipe_in"] != "html":
            things = structured.walk_items(structured.read_structured(tree, base=case["base"]))
            right = any(item.texts("name") for item in things if "recipe" in map(str.lower, item.types))
            key = f"recipe in {case['recipe_in']}"
        elif case["set"] == "microformats":
            items = microformats.read_microformats(tree, base=case["base"])["items"]
            right = items == json.loads(read(case["gold"]))["items"]
            key = "microformats"
        else:
            continue
        counts[key][0] += right
        counts[key][1] += 1
    return {key: (right, every) for key, (right, every) in counts.items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--shared", type=Path, required=True)
    options.add_argument("--every", type=int, default=1, help="take one page in so many")
    given = options.parse_args()
    logging.disable()
    warnings.simplefilter("ignore")
    readers: dict[str, Reader] = {"lycosa": ours}
    readers |= {tool: read for tool, (module, read) in OTHERS.items() if importlib.util.find_spec(module) is not None}
    score_articles(given.shared, given.every, {tool: read for tool, read in readers.items() if tool != "htmldate"})
    score_dates(
        given.shared, given.every, {tool: read for tool, read in readers.items() if tool in ("lycosa", "htmldate")}
    )
    score_page_types(
        given.shared,
        {tool: our_content if tool == "lycosa" else read for tool, read in readers.items() if tool != "htmldate"},
    )
    print("\nstructured data")
    for key, (right, every) in score_structured(given.shared).items():
        print(f"{key:<20} {right} of {every}")


if __name__ == "__main__":
    main()
