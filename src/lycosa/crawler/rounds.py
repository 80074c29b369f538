"""Rounds of a collection: when one begins, goes on and ends, and the wait for the next one.

A round is unfinished as long as something of it is left to fetch, unless its page limit ended it: that is as much as
the user wanted of it. What such a round left waiting is not left for ever: half of the next one is kept for it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lycosa import clock
from lycosa.config.settings import LimitSettings, RecrawlSettings
from lycosa.frontier.contract import Frontier
from lycosa.intake.revisits import HOUR_S, step_of
from lycosa.output.wording import counted

NAP_S = 1.0  # a clock that is put forward, or a machine that slept, is noticed after this time

Say = Callable[[str], None]


def begin(
    frontier: Frontier,
    recrawl: RecrawlSettings,
    *,
    anew: bool,
    everything: bool,
    limits: LimitSettings,
    due: float = 0.0,
) -> list[str]:
    """Begin the next round if one is asked for and the last one is finished; returns what was done, for people.

    `due`: the time that was waited for, with other machines: one of them may have begun the round, and ended it; with
    a clock that goes fast, a little before that time.
    """
    last, notes = frontier.rounds.listing()[-1], []
    if anew and 0 < due <= last.started + recrawl.period_h * HOUR_S / 2:
        anew = False
    if anew and last.ended is None and frontier.targets.pending():
        notes.append(f"Round {last.round} was not finished: it is continued, and the next one begins after it.")
    elif anew:
        number = frontier.rounds.begin(
            now=clock.now(), step_s=step_of(recrawl), everything=everything or not recrawl.adapt
        )
        notes.append(f"Round {number} begins.")
    opened = frontier.rounds.open_due(
        max_s=max(recrawl.min_h, recrawl.max_h) * HOUR_S, pages=limits.pages, host_pages=limits.host_pages
    )
    if opened or (anew and len(notes) == 1 and "begins." in notes[0]):
        notes.append(f"{counted(opened, 'known URL', 'is')} visited again.")
    frontier.rounds.end(now=None, why="")
    return notes


def end(frontier: Frontier, ended_by: str) -> None:
    """Record whether the round is finished."""
    frontier.rounds.end(now=clock.now() if ended_by in ("", "limit") else None, why=ended_by)


def next_start(frontier: Frontier, recrawl: RecrawlSettings, *, began: float, ended_by: str) -> float:
    """When the next round begins; a round that its time limit interrupted goes on one period after this run of it."""
    start = began if ended_by == "time" else frontier.rounds.listing()[-1].started
    return start + recrawl.period_h * HOUR_S


def wait(until: float, say: Say) -> bool:
    """Sleep until a time; False if the user ended it."""
    if time.time() >= until:
        return True
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(until))
    say(f"The next round begins at {at} (in {_span(until - time.time())}); Ctrl-C ends the wait.")
    try:
        with _interruptible():
            while (left := until - time.time()) > 0:
                time.sleep(min(left, NAP_S))
    except KeyboardInterrupt:
        say("The wait was ended; the same command goes on with it.")
        return False
    return True


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let a service manager's SIGTERM, and the end of the terminal, end the wait as Ctrl-C does."""
    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
    try:
        before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
