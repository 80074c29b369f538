"""Rate history: answers per second over time, from some places of the crawl's log and from samples of the server.

The log has one line per answer, in the order of time. Where it is long, only parts of it are read: the time at a place
and how many lines a piece has there tell how many answers lie between two places, so the cost does not grow with it.
"""

from __future__ import annotations

import calendar
import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from lycosa.output.plain import escape_controls

LOG = "logs/crawl.log"
POINTS = 120  # of a chart
_PIECE = 4096  # bytes that are read at a place
_TAIL_BYTES = 64 << 10
_WHOLE_BYTES = 512 << 10  # a part of the log that is read whole, and counted
_LATE_S = 15.0


class RatePoint(Struct, frozen=True):
    """The speed of a crawl at a time."""

    at: float  # Unix time, of the end of the span that it is the mean of
    rate: float  # answers per second


class _Place(NamedTuple):
    at: float
    answers: float  # up to there


def read_rates(log: Path, *, since: float = 0.0, until: float = 0.0, points: int = POINTS) -> list[RatePoint]:
    """The speed since a time, by the log; empty where it has none. `until` is now, while the crawl runs.

    A crawl writes its log every few seconds: that it has nothing of the last ones does not mean that it stood still.
    The last second that it has may not be whole.
    """
    try:
        with open(log, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            begin = _find_time(file.fileno(), size, since) if since else 0
            is_counted = size - begin <= _WHOLE_BYTES
            if is_counted:
                places = _count_lines(os.pread(file.fileno(), size - begin, begin), since)
            else:
                places = _read_places(file.fileno(), begin, size, points * 2)
    except OSError:
        return []
    if len(places) < 2:
        return []
    last = places[-1].at
    if not until or until - last > _LATE_S:
        return spread_evenly(places, until=max(until, last), points=points)
    rates = spread_evenly(places, until=last - 1, points=points)
    return rates if is_counted else rates[:-1]


def spread_evenly(places: Sequence[tuple[float, float]], *, until: float, points: int) -> list[RatePoint]:
    """The mean speeds of equal spans of time, from how many answers there were up to some times.

    What is left behind the last whole span does not count: it would look as if the crawl became slower.
    """
    begin = places[0][0]
    span = max(1.0, (until - begin) / points)
    count = min(points, int((until - begin) / span + 1e-6))
    rates, before, nth = [], places[0][1], 0
    for number in range(1, count + 1):
        end = begin + span * number
        while nth + 1 < len(places) and places[nth + 1][0] <= end:
            nth += 1
        now = _interpolate(places, nth, end)
        rates.append(RatePoint(round(end, 1), round(max(0.0, now - before) / span, 2)))
        before = now
    return rates


def _interpolate(places: Sequence[tuple[float, float]], nth: int, at: float) -> float:
    if nth + 1 >= len(places):
        return places[-1][1]
    (left, low), (right, high) = places[nth], places[nth + 1]
    return low if right <= left else low + (high - low) * (at - left) / (right - left)


def _count_lines(text: bytes, since: float) -> list[_Place]:
    """How many answers there were up to each second, exactly."""
    seconds = Counter(line[:20] for line in text.split(b"\n") if _is_answer(line))
    places: list[_Place] = []
    answers = 0
    for stamp, count in sorted(seconds.items()):
        at = _time_of(stamp)
        if not at or at < int(since):
            continue
        if not places or at > places[-1].at:
            places.append(_Place(at, answers))
        answers += count
        places.append(_Place(at + 1, answers))
    return places


def _read_places(file: int, begin: int, end: int, count: int) -> list[_Place]:
    """Times and numbers of answers at places of the log, from one end to the other."""
    places: list[_Place] = []
    step = max(_PIECE, (end - begin) // count)
    answers, line_bytes = 0.0, 100.0
    for offset in range(begin, end, step):
        piece = os.pread(file, min(_PIECE, end - offset), offset)
        lines = [line for line in piece.split(b"\n")[1 if offset else 0 : -1] if _is_answer(line)]
        if not lines:
            continue
        line_bytes = len(piece) / (len(lines) + 1) if len(piece) == _PIECE else len(piece) / len(lines)
        at = _time_of(lines[0])
        if at and (not places or at >= places[-1].at):
            places.append(_Place(at, answers))
        answers += min(step, end - offset) / line_bytes
        if step == _PIECE and (last := _time_of(lines[-1])) and places and last >= places[-1].at:
            places.append(_Place(last, answers))
    if end - begin > _PIECE:
        tail = os.pread(file, _PIECE, end - _PIECE).split(b"\n")[1:-1]
        ended = max((_time_of(line) for line in tail), default=0.0)
        if places and ended >= places[-1].at:
            places.append(_Place(ended + 1, answers))
    elif places:
        places.append(_Place(places[-1].at + 1, answers))
    return places


def _find_time(file: int, size: int, since: float) -> int:
    """The place in a log from which on its lines are younger, by halving."""
    low, high = 0, size
    while high - low > _PIECE:
        middle = (low + high) // 2
        lines = os.pread(file, _PIECE, middle).split(b"\n")[1:-1]
        at = next((found for line in lines if (found := _time_of(line))), 0.0)
        if at and at < since:
            low = middle
        else:
            high = middle
    return low


def _is_answer(line: bytes) -> bool:
    return line[:2] == b"20" and line[20:26] != b" debug" and line[20:26] != b"debug "


def _time_of(line: bytes) -> float:
    """The time at the beginning of a line; 0 where there is none."""
    try:
        return float(calendar.timegm(time.strptime(line[:20].decode("ascii"), "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return 0.0


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of a log, with what could move a cursor made visible."""
    try:
        with open(log, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    whole = lines[1:] if size > _TAIL_BYTES else lines
    return [escape_controls(line if len(line) <= 500 else f"{line[:500]}…") for line in whole if line][-count:]
