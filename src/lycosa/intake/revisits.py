"""Revisits: when a page is visited again, how it is asked for, how much of it, and what its answer says about the next.

How often a page has changed in, when to visit it again out. Changes are taken for a Poisson process. Its rate is
estimated from the changes seen and the time watched, which both begin with a guess and fade, so that a page may change
its ways (the mean of a gamma posterior, as in Cho and Garcia-Molina, "Estimating frequency of change"). The next visit
is when so many changes are expected. The constants were chosen on the synthetic web and on random pages
(docs/recrawling.md): less than half of the visits, and next to no change missed.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from lycosa.config.settings import RecrawlSettings
from lycosa.fetch.headers import quiet_time
from lycosa.frontier.contract import RoundRow
from lycosa.model import Answer, Target, VisitHistory

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


HOUR_S = 3600.0
DAY_S = 24 * HOUR_S

#: A page that is gone, or refused by its host, is visited again after this many rounds, then after twice as many.
AWAY_ROUNDS = 2


def step_of(recrawl: RecrawlSettings) -> float:
    """What one round stands for at least, however soon it follows; seconds."""
    return recrawl.period_h * HOUR_S or DAY_S


class Revisits:
    """The rounds of a collection up to this one, and the history of a page after a visit in it."""

    def __init__(self, recrawl: RecrawlSettings, rounds: list[RoundRow]) -> None:
        self.number = rounds[-1].round
        self.started = rounds[-1].started
        self._at = {row.round: row.at for row in rounds}
        self._now = rounds[-1].at
        self._adapt = recrawl.adapt
        step_s = self._now - rounds[-2].at if len(rounds) > 1 else step_of(recrawl)
        self._bounds = IntervalBounds(
            least_s=recrawl.min_h * HOUR_S, most_s=max(recrawl.min_h, recrawl.max_h) * HOUR_S, step_s=step_s
        )

    def ask(self, target: Target) -> Target:
        """The target as it is asked for: whole, if for too long nothing but a date has vouched for its content."""
        if not target.modified or target.etag or self._since(target.history.checked) <= self._bounds.most_s:
            return target
        return replace(target, unconditional=True)

    def _since(self, number: int) -> float:
        return self._now - self._at.get(max(number, 1), self._now)

    def after_page(self, target: Target) -> VisitHistory:
        """The history of a page that brought content which it did not have before."""
        known = target.round or target.digest
        return self._learn(target, changed=True) if known else VisitHistory(checked=self.number)

    def after_unchanged(self, answer: Answer) -> VisitHistory:
        """The history of a page that has not changed; the answer may or may not have brought its content."""
        target = answer.target
        modified = answer.headers.get("last-modified", "") or target.modified
        quiet_s = quiet_time(modified, answer.headers.get("date", ""), answer.began)
        history = self._learn(target, changed=False, quiet_s=quiet_s)
        return history if answer.status != 304 else replace(history, checked=target.history.checked)

    def after_redirect(self, target: Target, location: str) -> VisitHistory:
        """The history of an address that leads elsewhere."""
        if not target.round:
            return VisitHistory(checked=self.number)
        return self._learn(target, changed=location != target.redirect)

    def after_refusal(self, target: Target) -> VisitHistory:
        """The history of a page that is gone, or that its host refuses: the longer so, the later the next look."""
        gap_s = self._since(target.round) if target.round else 0.0
        wait_s = min(max(AWAY_ROUNDS * self._bounds.step_s, 2 * gap_s), self._bounds.most_s)
        return replace(target.history, interval=wait_s if self._adapt else 0.0)

    def _learn(self, target: Target, *, changed: bool, quiet_s: float = 0.0) -> VisitHistory:
        history = target.history
        rate = Rate(history.changes, history.watched)
        rate = learn(rate, self._since(target.round), changed=changed, quiet_s=quiet_s, bounds=self._bounds)
        wait_s = interval(rate, self._bounds) if self._adapt else 0.0
        return VisitHistory(wait_s, rate.changes, rate.watched, self.number)


class RequestConditions:
    """Makes a request unconditional where a date is not enough, and asks first for a beginning that shows the kind."""

    def __init__(self, revisits: Revisits, *, probe_bytes: int, asks_anew: bool = False) -> None:
        """`probe_bytes`: how much of a document is asked for at first; 0: all. `asks_anew`: never with conditions."""
        self._revisits = revisits
        self._asks_anew = asks_anew
        self._probe_bytes = probe_bytes
        self._whole: set[int] = set()  # rows whose beginning is quarry

    def apply(self, target: Target) -> Target:
        """The target as it is asked for."""
        target = replace(target, etag="", modified="") if self._asks_anew else self._revisits.ask(target)
        if self._probe_bytes and target.row not in self._whole:
            return replace(target, max_bytes=self._probe_bytes)
        return target

    def want_whole(self, target: Target) -> None:
        """The beginning is quarry: the next time, ask for all of it."""
        self._whole.add(target.row)
