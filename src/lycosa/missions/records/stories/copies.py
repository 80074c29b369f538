"""Copies among the texts of a story: who tells it in own words, who took it over, and from whom.

Two texts are copies where a good part of the runs of four words of the shorter one stand in the other. The first to
publish is the source; where an agency is named, its text may have been first without being in the collection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from lycosa.missions.records.database import StoredRecord
from lycosa.missions.records.field_roles import read_roles
from lycosa.text.fingerprint import cut_runs, hash_text, read_lines

#: The share of its runs that makes a text a copy, and a copy of everything.
COPIED = 0.3
WHOLE = 0.8
#: Members whose texts are compared with each other.
_MOST = 200
_AGENCIES = (
    "AFP", "EFE", "Reuters", "REUTERS", "ANSA", "dpa", "DPA", "Europa Press", "EUROPA PRESS", "ČTK", "ΑΠΕ-ΜΠΕ", "ΑΠΕ",
    "Lusa", "PTI", "Xinhua", "TASS", "ТАСС", "РИА Новости", "Interfax", "Интерфакс", "Associated Press", "(AP)", "APA",
    "Belga", "Kyodo", "Yonhap", "PAP", "MTI", "Tanjug", "Anadolu",
)  # fmt: skip
_AGENCY = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, _AGENCIES))})(?!\w)")


class CopyVerdict(Struct, frozen=True):
    """How much of a text was published elsewhere before."""

    record: int
    source: int  # the earlier record that it shares most with; 0: none
    share: float  # of its runs of words that the source has
    agency: str = ""  # that it names

    @property
    def is_copy(self) -> bool:
        """Whether a good part of it is taken over."""
        return self.share >= COPIED

    @property
    def said(self) -> str:
        """The verdict in words."""
        if self.share >= WHOLE:
            return "copy"
        return "partly copied" if self.is_copy else "own words"


def find_copies(records: Sequence[StoredRecord]) -> list[CopyVerdict]:
    """For each record, in the order of their publication, how much of its text an earlier one has."""
    runs: list[tuple[int, frozenset[int]]] = []
    verdicts = []
    for record in records:
        text = read_roles(record.data).text
        own = frozenset(map(hash_text, cut_runs(read_lines(text))))
        named = _AGENCY.search(text[:400]) or _AGENCY.search(text[-200:])
        agency = named[1].strip("()") if named else ""
        source, share = 0, 0.0
        for earlier, theirs in runs:
            common = len(own & theirs) / max(1, len(own))
            if common > share:
                source, share = earlier, common
        verdicts.append(CopyVerdict(record.id, source, round(share, 3), agency))
        if len(runs) < _MOST:
            runs.append((record.id, own))
    return verdicts
