"""The policies on a small world of the synthetic web: one whole crawl, replayed; two workers that learn together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from bench.replay_policies import compare
from support.synthetic_web import SyntheticWeb

LIMIT = 800


@pytest.fixture(scope="module")
def synthetic_web(shared: Path) -> Iterator[SyntheticWeb]:
    with closing(SyntheticWeb(shared / "world", seed=3, hosts=150, pages=4000)) as synthetic_web:
        yield synthetic_web


def arguments(synthetic_web: SyntheticWeb, *more: str) -> list[str]:
    seeds = synthetic_web.truth["geo"]["seeds"]
    return [
        "geo", *seeds, "--delay", "0", "--set", "fetch.crawl_delay_max_s=0", "--set", "fetch.retry_delay_s=0.2",
        "--set", "extract.workers=0", "--max-time", "40", *more,
    ]  # fmt: skip


def test_the_learning_policy_finds_sooner(synthetic_web: SyntheticWeb, tmp_path: Path) -> None:
    """More than Shark-Search with the same requests, and nearly all with half of those that it takes to fetch all."""
    synthetic_web.crawl(tmp_path / "c", *arguments(synthetic_web, "--workers", "1", "--policy", "bfs"))
    points = compare(str(tmp_path / "c"), ["bfs", "shark", "learn"], step=100)
    whole = max(point.requests for point in points)
    total = max(point.found for point in points)
    found = {(point.policy, point.requests): point.found for point in points}
    half = found["learn", whole // 200 * 100]
    early = {name: found[name, LIMIT] for name in ("bfs", "shark", "learn")}
    print(f"{total} services with {whole} requests; after {LIMIT}: {early}; learn with half of them: {half}")
    assert early["learn"] >= 1.1 * early["shark"]
    assert half >= 0.85 * total


def test_two_workers_learn_together(synthetic_web: SyntheticWeb, tmp_path: Path) -> None:
    """What one of them learns the other one uses; a page limit holds, and services come early."""
    crawl = synthetic_web.crawl(tmp_path / "c", *arguments(synthetic_web, "--workers", "2", "--limit", str(LIMIT // 2)))
    kinds = crawl.rows("SELECT count(*) FROM pages WHERE kind <> ''")[0][0]
    learned = crawl.rows("SELECT sum(weight), sum(energy) FROM lesson WHERE key > 1 << 62")[0]
    print(f"two workers: {kinds} services with {crawl.stored} pages; learned from {learned[0]:.0f} answers")
    assert crawl.stored <= LIMIT // 2
    assert kinds >= LIMIT // 100  # without a policy there are none among them
