"""Revisit interval: how often a page has changed in, when to visit it again out.

Changes are taken for a Poisson process. Its rate is estimated from the changes seen and the time watched, which both
begin with a guess and fade, so that a page may change its ways (the mean of a gamma posterior, as in Cho and
Garcia-Molina, "Estimating frequency of change"). The next visit is when so many changes are expected. The constants
were chosen on the synthetic web and on random pages (docs/recrawling.md): less than half of the visits, and
next to no change missed.
"""

from __future__ import annotations

from msgspec import Struct

#: What is assumed before anything was seen: half a change in one round.
GUESS = 0.5
#: What is left of the evidence at each further visit: after seven visits half of it.
FADE = 0.9
#: Changes expected at the next visit: the chance to find one is then three in ten.
EXPECTED = 0.35
#: How much of the quiet time before the first visit counts, as Last-Modified tells it.
TRUST = 0.5


class IntervalBounds(Struct, frozen=True):
    """Between which times a page is visited again, and what one round stands for; seconds."""

    least_s: float
    most_s: float
    step_s: float

    def clip(self, interval_s: float) -> float:
        """The interval within the bounds."""
        return min(max(interval_s, self.least_s), self.most_s)


class Rate(Struct, frozen=True, gc=False):
    """The evidence on one page: changes seen, and time watched."""

    changes: float = 0.0
    watched: float = 0.0  # seconds


def learn(rate: Rate, gap_s: float, *, changed: bool, quiet_s: float, bounds: IntervalBounds) -> Rate:
    """Add a visit, so long after the one before; `quiet_s` is for how long the page says that it has not changed."""
    changes, watched = (rate.changes, rate.watched) if rate.watched else (GUESS, bounds.step_s)
    changes, watched = changes * FADE + changed, watched * FADE + gap_s
    if not changed:
        watched = max(watched, TRUST * min(quiet_s, bounds.most_s))
    return Rate(changes, watched)


def interval(rate: Rate, bounds: IntervalBounds) -> float:
    """Seconds until the page is worth another look."""
    if not rate.watched:
        return 0.0  # seen once: the next round looks at it
    return bounds.clip(EXPECTED * rate.watched / rate.changes) if rate.changes else bounds.most_s
