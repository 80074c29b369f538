"""What the tag algebra costs on pages of about 100 KB: the walk over the page, and rules of five operators.

    python tests/bench/algebra.py [--pages FOLDER]

Without a folder of HTML pages, two of its own: a page as most are, and one that is a single dense table. Each figure is
the best of many runs; a rule is timed on a page that no rule has looked at before ("first"), and on one where its
elements and matches are remembered ("again").
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import turbohtml

from lycosa.missions.records.algebra import TaggedPage, parse_expression

RULES = (
    'elem("a") inside (elem("div") contain elem("h1")) before elem("p") !inside elem("ul") - elem("li")',
    'elem("td") directlyafter (elem("td") contain pat("Price:")) inside elem("tr") - elem("th")',
    'elem("b") directlyinside (elem("td") + elem("p")) after elem("h1") without elem("i")',
)
RUNS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=Path, help="a folder of HTML files")
    given = parser.parse_args().pages
    pages = ((file.name, file.read_text(errors="replace")) for file in sorted(given.glob("*.html"))) if given else own()
    for name, html in pages:
        tree = turbohtml.parse(html, positions=False, scripting=False)
        elements = len(TaggedPage(tree).elem())
        print(f"{name}: {len(html):,} characters, {elements:,} elements, walk {best(partial(TaggedPage, tree)):.2f} ms")
        for source in RULES:
            rule, page = parse_expression(source), TaggedPage(tree)
            first = min(once(partial(rule.evaluate, TaggedPage(tree))) for _ in range(RUNS))
            print(f"  first {first:.2f} ms, again {best(partial(rule.evaluate, page)):.2f} ms  {source}")


def own() -> Iterator[tuple[str, str]]:
    words = "Some words of a paragraph that goes on for a while, as they do on most pages of the web. " * 6
    link = '<ul><li><a href="/t">t</a></li></ul>'
    block = f'<div class="story"><h2><a href="/s">A heading</a></h2><p>{words}<b>so</b></p>{link}</div>'
    yield "a usual page", f"<h1>News</h1><div><h1>All</h1>{block * 140}<table><tr><td>Price:<td><b>1</b></table></div>"
    row = '<tr><td><a href="/p/1">A product of the catalogue</a></td><td>Price:</td><td><b>1.99</b></td></tr>'
    yield "a dense table", f"<h1>Shop</h1><table>{row * 700}</table>"


def once(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


def best(call: Callable[[], object]) -> float:
    return min(once(call) for _ in range(RUNS))


if __name__ == "__main__":
    main()
