"""Liveness over time: the rounds of checks, and what changed between the last two."""

from __future__ import annotations

from contextlib import closing
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from lycosa.derived.freshness import mark_files
from lycosa.missions.geo.check import check_history
from lycosa.missions.geo.check.check_history import CheckHistory, CheckRound
from lycosa.missions.geo.web.known_services import CHECKS
from lycosa.missions.geo.web.outcome_words import WORDS

_MOST_ROUNDS = 100
_MOST_DIFFERENCES = 300


class CheckRoundRow(Struct, frozen=True):
    """A round of checks."""

    round: int
    started: float
    ended: float  # 0: it is unfinished
    filter: str
    outcomes: dict[str, int]
    total: int


class ServiceChange(Struct, frozen=True):
    """What became of a service between the last two rounds."""

    change: str
    detail: str
    service: str
    type: str
    title: str
    endpoint: str


class ChecksPage(Struct, frozen=True):
    """Liveness over time."""

    rounds: list[CheckRoundRow]  # the last one first
    changes: list[ServiceChange]


def list_rounds(folder: Path) -> ChecksPage:
    """The rounds of a collection's checks."""
    if not (folder / check_history.NAME).exists():
        return ChecksPage(rounds=[], changes=[])
    return _read_rounds(folder, mark_files(folder, CHECKS))


@lru_cache(maxsize=8)
def _read_rounds(folder: Path, mark: str) -> ChecksPage:
    """The page of the rounds, kept until there is another result."""
    with closing(CheckHistory(folder, write=False)) as history:
        rounds = history.rounds()
        changes = []
        if len(rounds) > 1:
            since, until = history.find_span(None, None)
            changes = [
                ServiceChange(
                    change=found.change,
                    detail=found.detail,
                    service=found.result.id,
                    type=found.result.type,
                    title=found.result.title,
                    endpoint=found.result.endpoint,
                )
                for _, found in zip(range(_MOST_DIFFERENCES), history.differences(since, until), strict=False)
            ]
    return ChecksPage([_round_row(row) for row in rounds[: -_MOST_ROUNDS - 1 : -1]], changes)


def _round_row(row: CheckRound) -> CheckRoundRow:
    outcomes = {word: row.outcomes[word] for word in WORDS if word in row.outcomes}
    return CheckRoundRow(row.round, row.started, row.ended or 0.0, row.filter, outcomes, sum(outcomes.values()))
