"""Members of archives (ZIP, tar) by name: an archive is opened once for all members that are asked for in a row.

A large archive has thousands of members; opened for each of them, it would be read for hours.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from lycosa.analysis.analyzer import Analyzer, Case
from lycosa.parse import Doc


class ArchiveMembers:
    """A cache of one archive: holds the members of the one that was opened last."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._key: Hashable = None
        self._cases: dict[str, Case] = {}

    def find(self, key: Hashable, read: Callable[[], Doc], member: str) -> Case | None:
        """A member of the archive that `key` stands for and `read` gives; None where it has none of that name."""
        if key != self._key:
            self._key, self._cases = None, {}  # the old one goes before the new one comes
            self._cases = {case.member: case for case in self._analyzer.members(read())}
            self._key = key
        return self._cases.get(member)
