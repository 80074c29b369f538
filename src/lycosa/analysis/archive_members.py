"""Members of archives by their names: an archive is opened once for all that is asked of it in a row.

A large archive has thousands of members; opened for each of them, it would be read for hours.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from lycosa.analysis.analyzer import Analyzer, Case
from lycosa.parse import Doc


class ArchiveMembers:
    """Holds the members of the archive that was opened last."""

    def __init__(self, part: Analyzer) -> None:
        self._part = part
        self._key: Hashable = None
        self._cases: dict[str, Case] = {}

    def find(self, key: Hashable, read: Callable[[], Doc], member: str) -> Case | None:
        """A member of the archive that `key` stands for and `read` gives; None where it has none of that name."""
        if key != self._key:
            self._key, self._cases = None, {}  # the old one goes before the new one comes
            self._cases = {case.member: case for case in self._part.members(read())}
            self._key = key
        return self._cases.get(member)
