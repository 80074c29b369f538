"""Request conditions: how much of a target is asked for, so that no more comes than is needed."""

from __future__ import annotations

from msgspec.structs import replace

from lycosa.intake.revisits import Revisits
from lycosa.model import Target


class RequestConditions:
    """Makes a request unconditional where a date is not enough, and asks first for a beginning that shows the kind."""

    def __init__(self, revisits: Revisits, *, probe_bytes: int) -> None:
        """`probe_bytes`: how much of a document is asked for at first; 0: all of it."""
        self._revisits = revisits
        self._probe_bytes = probe_bytes
        self._whole: set[int] = set()  # rows whose beginning is quarry

    def apply(self, target: Target) -> Target:
        """The target as it is asked for."""
        target = self._revisits.ask(target)
        if self._probe_bytes and target.row not in self._whole:
            return replace(target, max_bytes=self._probe_bytes)
        return target

    def want_whole(self, target: Target) -> None:
        """The beginning is quarry: the next time, ask for all of it."""
        self._whole.add(target.row)
