"""How often a page is visited, as it changes."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from lycosa.intake.revisits import DAY_S, HOUR_S, IntervalBounds, Rate, interval, learn

BOUNDS = IntervalBounds(least_s=HOUR_S, most_s=30 * DAY_S, step_s=DAY_S)


def visit(changes: list[bool], *, quiet_s: float = 0.0) -> list[float]:
    """The interval, in days, after each of these visits, a day apart."""
    rate, found = Rate(), []
    for changed in changes:
        rate = learn(rate, DAY_S, changed=changed, quiet_s=quiet_s, bounds=BOUNDS)
        found.append(interval(rate, BOUNDS) / DAY_S)
    return found


def test_unchanged_visits_lengthen_and_changes_shorten() -> None:
    """Each quiet visit makes the next one later; a change makes it sooner."""
    quiet = visit([False] * 8)
    assert quiet == sorted(quiet) and quiet[0] > 1 and quiet[-1] > 3 * quiet[0]
    assert visit([False] * 8 + [True])[-1] < quiet[-1] / 2
    assert max(visit([True] * 8)) < 1


def test_a_page_may_change_its_ways() -> None:
    """What was learned long ago fades: a dozen visits make a busy page of a quiet one, and the other way round."""
    assert visit([False] * 30 + [True] * 12)[-1] < 1
    assert visit([True] * 30 + [False] * 30)[-1] > 3


def test_an_old_page_is_believed_in_part() -> None:
    """A page that says it has not changed for a year is not looked at every day."""
    assert visit([False], quiet_s=365 * DAY_S)[0] > 5 * visit([False])[0]
    assert visit([True], quiet_s=365 * DAY_S) == visit([True])


@given(
    st.lists(st.tuples(st.floats(0, 1e8), st.booleans(), st.floats(0, 1e10)), max_size=30),
    st.floats(0, 1e6),
    st.floats(1, 1e8),
)
def test_intervals_stay_within_their_bounds(visits: list[tuple[float, bool, float]], least: float, most: float) -> None:
    """Whatever happens, and whatever dates a server makes up."""
    bounds = IntervalBounds(least_s=min(least, most), most_s=most, step_s=DAY_S)
    rate = Rate()
    for gap_s, changed, quiet_s in visits:
        rate = learn(rate, gap_s, changed=changed, quiet_s=quiet_s, bounds=bounds)
        assert bounds.least_s <= interval(rate, bounds) <= bounds.most_s


def test_half_of_the_visits_find_nearly_all_changes() -> None:
    """Pages that change every day, every few days, once a month and never, looked at for ten days."""
    dice = random.Random(5)
    visits = changes = missed = 0
    for n in range(2000):
        period = (1, 3, 7, 30, 1000, 1000, 1000, 1000)[n % 8]
        phase = dice.randrange(period)
        rate, seen, last, wait = Rate(), phase // period, 0, 0.0
        found: set[int] = set()
        for day in range(1, 11):
            if (day - last + 0.5) * DAY_S < wait:
                continue
            edition = (day + phase) // period
            quiet_s = (day + phase) % period * DAY_S  # most pages tell
            rate = learn(rate, (day - last) * DAY_S, changed=edition != seen, quiet_s=quiet_s, bounds=BOUNDS)
            seen, last, wait = edition, day, interval(rate, BOUNDS)
            visits += 1
            found.add(edition)
        editions = {(day + phase) // period for day in range(1, 11)} - {phase // period}
        changes += len(editions)
        missed += len(editions - found)
    assert visits < 0.5 * 2000 * 10
    assert missed < 0.05 * changes
