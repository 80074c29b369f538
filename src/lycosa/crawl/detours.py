"""Redirects in, and whether one of them closes a loop out."""

from __future__ import annotations

from lycosa.frontier import Frontier
from lycosa.model import State, Target

REDIRECTS_MAX = 10_000  # redirects that are remembered without asking the frontier
_MOVED = (State.MOVED, State.MOVED_FOR_GOOD)


class Detours:
    """The latest redirects, which may not be committed yet, and those that the frontier knows."""

    def __init__(self, frontier: Frontier, *, longest: int) -> None:
        self._frontier = frontier
        self._longest = longest
        self._latest: dict[str, str] = {}

    def closes_loop(self, url: str, target: Target) -> bool:
        """Whether the redirects that are known lead from `url` back to where this one came from.

        Those of earlier runs and other workers are in the frontier, which is asked from the second hop on: most
        redirects are the first of their kind.
        """
        origin = target.url
        if len(self._latest) > REDIRECTS_MAX:
            self._latest.clear()
        self._latest[origin] = url
        for _ in range(self._longest + 1):
            if url == origin:
                return True
            onward = self._latest.get(url, "")
            asked = not onward and target.hops > 0
            if asked and (row := self._frontier.find(url)) is not None and row.state in _MOVED:
                onward = row.redirect
            if not onward:
                return False
            url = onward
        return False
