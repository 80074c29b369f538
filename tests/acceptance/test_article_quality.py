"""Articles, dates and structured data of real pages: floors below what is reached, over a sample of the pages."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.acceptance

EVERY = 6  # one page in so many


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    path = Path(__file__).resolve().parents[1] / "bench" / "articles.py"
    spec = importlib.util.spec_from_file_location("bench_articles", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_articles_of_unknown_sites_are_read(shared: Path, bench: ModuleType, say: Callable[[str], None]) -> None:
    """Main text, title, authors and day, each at least as good as the best of other tools (docs/decisions/0006)."""
    folder = shared / "data" / "articles"
    gold = bench.load_gold(folder, EVERY)
    found, _ = bench.run(folder, gold, bench.ours)
    scorer = bench.load_scorer(folder / "score.py")
    every = scorer.evaluate(gold, found)
    full = scorer.evaluate([row for row in gold if row["kind"] == "full"], found)
    say(f"articles: F1 {full['F1']:.3f}, title {every['title']:.3f}, date {every['date_R']:.3f}")
    assert full["F1"] >= 0.90
    assert every["snip_F1"] >= 0.84
    assert every["title"] >= 0.74
    assert every["author_R"] >= 0.65 and every["author_P"] >= 0.60
    assert every["date_R"] >= 0.85


def test_days_of_publication_are_found(shared: Path, bench: ModuleType) -> None:
    """On a third of the pages, as often as htmldate finds them."""
    folder = shared / "data" / "dates"
    gold = bench.load_gold(folder, 3)
    found, _ = bench.run(folder, gold, bench.ours)
    assert sum(found[row["id"]].get("date") == row["date"] for row in gold) >= 0.82 * len(gold)


def test_structured_data_is_read(shared: Path, bench: ModuleType) -> None:
    """RDFa by the W3C's test suite; recipes of real sites."""
    counts = bench.score_structured(shared)
    assert counts["rdfa"][0] >= counts["rdfa"][1] - 4
    assert counts["recipe in json-ld"][0] >= counts["recipe in json-ld"][1] - 1
    assert counts["recipe in microdata"][0] == counts["recipe in microdata"][1]
