"""How well rules are learned from one, three, five and ten pages of real sites, and how long that takes.

    python tests/bench/wrappers.py [--draws 3] [--site NAME]

F is the scorer's exact macro: the mean over all fields of all sites. Each further draw takes other pages to learn from.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.wrapper_sites import load_site, site_names  # noqa: E402

TEACHING = (1, 3, 5, 10)
FOLDER = Path(os.environ.get("LYCOSA_SHARED", "../shared")) / "data/wrappers"

Row = tuple[str, int, int, str, float, float]


def measure(name: str, draws: int) -> list[Row]:
    """Site, pages, draw, field, F and the seconds of learning, for all of them."""
    site = load_site(FOLDER, name)
    rows = []
    for draw in range(draws):
        train = list(site.train)
        if draw:
            random.Random(draw).shuffle(train)
        for size in TEACHING:
            start = time.process_time()
            scores = site.f_scores(train[:size])
            spent = time.process_time() - start
            rows += [(name, size, draw, field, f, spent) for field, f in scores.items()]
    return rows


def main() -> None:
    """Print the table: by vertical, over all, and the worst fields."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--site", default="")
    options = parser.parse_args()
    names = [name for name in site_names(FOLDER) if options.site in name]
    with ProcessPoolExecutor() as pool:
        rows = [row for found in pool.map(measure, names, [options.draws] * len(names)) for row in found]
    print(f"{'pages':12}" + "".join(f"{size:>8}" for size in TEACHING))
    for vertical in [*sorted({name.partition("-")[0] for name in names}), ""]:
        means = [_mean([r[4] for r in rows if r[1] == size and r[0].startswith(vertical)]) for size in TEACHING]
        print(f"{vertical or 'all':12}" + "".join(f"{mean:8.3f}" for mean in means))
    seconds = {(r[0], r[1], r[2]): r[5] for r in rows}
    for what, of in (("seconds", _mean), ("at most", max)):
        print(
            f"{what:12}" + "".join(f"{of([s for k, s in seconds.items() if k[1] == size]):8.2f}" for size in TEACHING)
        )
    worst = defaultdict(list)
    for name, size, _, field, f, _ in rows:
        if size > 1:
            worst[f"{name} {field}"].append(f)
    for name, scores in sorted(worst.items(), key=lambda item: _mean(item[1]))[:12]:
        print(f"  {_mean(scores):.3f} {name}")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
