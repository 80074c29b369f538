"""Rules learned from one, three and ten pages of real sites, measured on the other pages of each site."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.wrapper_sites import WrapperSite, load_site

pytestmark = pytest.mark.acceptance

#: One site of each vertical; all of them are in tests/bench/wrappers.py.
SITES = (
    "auto-msn", "book-amazon", "camera-compsource", "job-dice", "movie-imdb", "nbaplayer-wiki",
    "restaurant-tripadvisor", "university-studentaid",
)  # fmt: skip
FLOORS = {1: 0.80, 3: 0.94, 5: 0.96, 10: 0.97}


@pytest.fixture(scope="module")
def sites(shared: Path) -> list[WrapperSite]:
    """The sites, with their pages."""
    return [load_site(shared / "data/wrappers", name) for name in SITES]


@pytest.mark.parametrize("size", FLOORS)
def test_learned_rules_hold_on_other_pages(sites: list[WrapperSite], size: int, say: Callable[[str], None]) -> None:
    """The mean F over all fields of the sites is above what was promised for so many example pages."""
    scores = [f for site in sites for f in site.f_scores(site.train[:size]).values()]
    mean = sum(scores) / len(scores)
    say(f"rules learned from {size} pages: mean F {mean:.3f} over {len(scores)} fields of {len(sites)} sites")
    assert mean >= FLOORS[size]
