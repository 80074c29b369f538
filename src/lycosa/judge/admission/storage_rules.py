"""Storage rules: whether a page that was read is stored, by its media type and by whether the quarry recognises it.

A page that is not stored has served when its links are followed.
"""

from __future__ import annotations

from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.judge.admission.rules import Patterns
from lycosa.judge.admission.traps import OK
from lycosa.model import Verdict

_NOT_QUARRY = Verdict(False, "not-quarry", 'keep.what = "recognised", and the quarry does not recognise it')


class StorageRules:
    """The rules of one mission for what is stored."""

    def __init__(self, mission: Mission) -> None:
        self._recognised = mission.keep.what == "recognised"
        self._drop = Patterns(mission.keep.drop, setting="keep.drop") if mission.keep.drop else None
        if self._recognised and not mission.hunted:
            raise UsageError('keep.what = "recognised" stores what a quarry recognises, and there is none: set quarry.')

    def judge(self, mime: str, *, kind: str) -> Verdict:
        """Whether a page of this type is stored; `kind` is what the quarry recognises it as, empty: nothing."""
        if self._recognised and not kind:
            return _NOT_QUARRY
        if self._drop is not None and (pattern := self._drop.find(mime.encode())) is not None:
            return Verdict(False, "dropped-type", f"the type {mime} matches {pattern!r} of keep.drop")
        return OK


def make_storage_rules(mission: Mission) -> StorageRules | None:
    """The rules, or None where everything is stored."""
    return StorageRules(mission) if mission.keep.what != "everything" or mission.keep.drop else None
