"""The classifier on real pages of an epidemic and close to it: ten and fifty examples of each, drawn at random."""

from __future__ import annotations

import json
import math
import random
import tarfile
from pathlib import Path

import pytest

from lycosa.missions.topic.classifier import train
from lycosa.missions.topic.page_words import PageWords, read_page, read_words
from lycosa.parse import read

DRAWS = 20


@pytest.fixture(scope="module")
def pages(shared: Path) -> list[tuple[PageWords, bool]]:
    folder = shared / "data" / "topic"
    rows = map(json.loads, (folder / "index.jsonl").read_text().splitlines())
    labels = {row["file"]: (row["url"], row["label"] == "positive") for row in rows}
    found = []
    with tarfile.open(folder / "pages.tar.xz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and (label := labels.get(member.name.removeprefix("./"))) is not None:
                doc = read(label[0], {"content-type": "text/html"}, file.read())
                found.append((read_words(read_page(doc)), label[1]))
    return found


@pytest.mark.parametrize(("examples", "least"), [(10, 0.85), (50, 0.92)])
def test_few_examples_find_the_rest(pages: list[tuple[PageWords, bool]], examples: int, least: float) -> None:
    """F1 over the pages that were not drawn, and how far probabilities are from what came true."""
    scores, gaps = [], []
    for draw in range(DRAWS):
        rng = random.Random(draw)
        groups = [[page for page in pages if page[1] is wanted] for wanted in (True, False)]
        drawn = [page for group in groups for page in rng.sample(group, examples)]
        chosen = {id(page) for page in drawn}
        rest = [page for page in pages if id(page) not in chosen]
        model = train(drawn, [words for words, _ in rest]).spread()
        said = [(1 / (1 + math.exp(-model.logit(words))), wanted) for words, wanted in rest]
        right = sum(share >= 0.5 and wanted for share, wanted in said)
        scores.append(2 * right / (sum(share >= 0.5 for share, _ in said) + sum(wanted for _, wanted in said)))
        bins = [[pair for pair in said if int(min(pair[0], 0.999) * 10) == n] for n in range(10)]
        gaps.append(sum(abs(sum(share - wanted for share, wanted in group)) for group in bins) / len(said))
    mean, gap = sum(scores) / DRAWS, sum(gaps) / DRAWS
    print(f"{examples} + {examples}: F1 {mean:.3f}, least {min(scores):.3f}; calibration error {gap:.3f}")
    assert mean >= least
    assert gap <= 0.05
