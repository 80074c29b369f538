"""Schedules compared: which share of visits each needs, and what it misses. Run by hand, without a network.

    python tests/bench/revisit_intervals.py ../shared/world

The pages of the synthetic web (those of 24,000 that are there from the start) and 20,000 that change at random, with
rates from twice a day to once in two years, a third of them never; half of these tell when they last changed. A
schedule sees a page at the end of each round that it visits it in. Missed is a change whose content no visit saw.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from lycosa.intake.revisits import IntervalBounds, Rate, interval, learn

DAY_S = 86_400.0
MOST_S = 30 * DAY_S


class Page(NamedTuple):
    editions: list[int]  # at the start, and at the end of each round
    changed: list[float] | None  # day of the last change as the page tells it, None if it does not


class Schedule(Protocol):
    def visit(self, gap_s: float, *, changed: bool, quiet_s: float) -> float:
        """Seconds until the next visit."""


class Always:
    def visit(self, gap_s: float, *, changed: bool, quiet_s: float) -> float:
        return 0.0


class Nutch:
    """Nutch's AdaptiveFetchSchedule with its defaults: 40 % longer when unchanged, 20 % shorter when changed."""

    def __init__(self, step_s: float, *, longer: float = 1.4, shorter: float = 0.8) -> None:
        self._wait_s, self._factors = step_s, {False: longer, True: shorter}

    def visit(self, gap_s: float, *, changed: bool, quiet_s: float) -> float:
        self._wait_s = min(max(self._wait_s * self._factors[changed], 3600.0), MOST_S)
        return self._wait_s


class Ours:
    def __init__(self, step_s: float) -> None:
        self._rate, self._bounds = Rate(), IntervalBounds(least_s=3600.0, most_s=MOST_S, step_s=step_s)

    def visit(self, gap_s: float, *, changed: bool, quiet_s: float) -> float:
        self._rate = learn(self._rate, gap_s, changed=changed, quiet_s=quiet_s, bounds=self._bounds)
        return interval(self._rate, self._bounds)


def world_pages(source: Path, rounds: int, days: int) -> list[Page]:
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(source))
    from webworld.universe import World

    found = []
    for site in World(7, 300, 20_000).sites.values():
        for page in site.pages.values():
            if page.kind == "redirect" or page.born > 0:
                continue
            own = page.data if page.kind in ("alias", "print") else page
            hours = [24 * days * number for number in range(rounds + 1)]
            if site.stamped:  # prints the time: other bytes in every hour
                found.append(Page(hours, [hour / 24 for hour in hours] if site.has_modified else None))
                continue
            dates = [site.modified(own, hour) / 24 for hour in hours] if site.has_modified else None
            found.append(Page([site.revision(own, hour) for hour in hours], dates))
    return found


def random_pages(rounds: int, days: int) -> Iterator[Page]:
    dice = random.Random(3)
    for _ in range(20_000):
        period = math.inf if dice.random() < 0.35 else math.exp(dice.uniform(math.log(0.5), math.log(730)))
        last, following = (-9000.0, math.inf) if period == math.inf else (-dice.expovariate(1 / period), 0.0)
        following = following or dice.expovariate(1 / period)
        editions, dates = [0], [last]
        for number in range(1, rounds + 1):
            edition = editions[-1]
            while following <= number * days:
                edition, last = edition + 1, following
                following += dice.expovariate(1 / period)
            editions.append(edition)
            dates.append(last)
        yield Page(editions, dates if dice.random() < 0.5 else None)


def judge(pages: list[Page], make: Callable[[], Schedule], days: int) -> str:
    """Shares: visits made, changes seen late, changes missed."""
    visits = chances = changes = late = missed = 0
    step_s = days * DAY_S
    for page in pages:
        schedule, wait_s, last, seen = make(), 0.0, 0, set[int]()
        for number in range(1, len(page.editions)):
            chances += 1
            if (number - last + 0.5) * step_s < wait_s:
                continue
            quiet_s = (number * days - page.changed[number]) * DAY_S if page.changed else 0.0
            changed = page.editions[number] != page.editions[last]
            wait_s = schedule.visit((number - last) * step_s, changed=changed, quiet_s=quiet_s)
            visits, last = visits + 1, number
            seen.add(number)
        for number in range(1, len(page.editions)):
            if page.editions[number] == page.editions[number - 1]:
                continue
            changes += 1
            held = [tick for tick in range(number, len(page.editions)) if page.editions[tick] == page.editions[number]]
            found = [tick for tick in held if tick in seen]
            late += bool(found) and found[0] > number
            missed += not found
    return f"{visits / chances:6.1%} {late / changes:6.1%} {missed / changes:6.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("world", type=Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--days", type=int, default=1, help="from one round to the next")
    options = parser.parse_args()
    step_s = options.days * DAY_S
    schedules: dict[str, Callable[[], Schedule]] = {
        "every page in every round": Always,
        "twice as long, half as long": lambda: Nutch(step_s, longer=2.0, shorter=0.5),
        "Nutch": lambda: Nutch(step_s),
        "lycosa": lambda: Ours(step_s),
    }
    populations = {
        "world": world_pages(options.world, options.rounds, options.days),
        "random": list(random_pages(options.rounds, options.days)),
    }
    print(f"{'':28} " + "   ".join(f"{name:8} visits   late missed" for name in populations))
    for name, make in schedules.items():
        print(
            f"{name:28} " + "   ".join(f"{'':8} {judge(pages, make, options.days)}" for pages in populations.values())
        )


if __name__ == "__main__":
    main()
