"""Tally of an extraction or an analysis, as a line while it runs and as a report at its end."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from lycosa.output.wording import counted

SHOWN = 10


_ENDINGS = {
    "": "Nothing is left to extract.",
    "interrupt": "Interrupted; `lycosa extract` continues from here.",
    "error": "It ended with an error; `lycosa extract` continues from here.",
}


class Tally(Struct):
    """The figures of one extraction."""

    quarry: str = ""
    version: str = ""
    documents: int = 0
    records: int = 0
    left: int = 0  # documents that are still to be done, as far as is known
    replaced: int = 0  # workers that ended before their time
    seconds: float = 0.0
    ended_by: str = ""  # a key of _ENDINGS
    outcomes: dict[str, int] = {}
    kinds: dict[str, int] = {}
    aside: list[tuple[str, str]] = []  # the first documents that were set aside, and why
    notes: list[str] = []
    unread: int = 0  # files of which not everything could be read

    def count(self, url: str, outcome: str, error: str, kinds: list[str]) -> None:
        """Count the result of one document."""
        self.documents += 1
        self.left = max(0, self.left - 1)
        self.records += len(kinds)
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        for kind in kinds:
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if outcome != "done" and len(self.aside) < SHOWN:
            self.aside.append((url, f"{outcome}: {error}" if error else outcome))

    def line(self) -> str:
        """The progress line."""
        rate = self.documents / self.seconds if self.seconds else 0.0
        parts = [counted(self.documents, "document"), f"{rate:,.0f}/s", counted(self.records, "record")]
        if self.left:
            parts.append(f"{self.left:,} left")
        if set_aside := self.documents - self.outcomes.get("done", 0):
            parts.append(f"{set_aside:,} set aside")
        return ", ".join(parts)

    @property
    def lines(self) -> list[str]:
        """The report at the end."""
        rate = self.documents / self.seconds if self.seconds else 0.0
        what = f"{counted(self.records, 'record')} from {counted(self.documents, 'document')}"
        speed = f"in {self.seconds:,.1f} s ({rate:,.1f}/s)"
        lines = [f"{what} {speed} by {self.quarry} {self.version}. {_ENDINGS[self.ended_by]}"]
        for title, counts in (("kind", self.kinds), ("outcome", self.outcomes)):
            if counts:
                ranked = sorted(counts.items(), key=lambda pair: -pair[1])[:SHOWN]
                lines.append(f"  by {title:7} " + ", ".join(f"{name} {count:,}" for name, count in ranked))
        lines += [f"  set aside {url}: {why}" for url, why in self.aside]
        more = self.documents - self.outcomes.get("done", 0) - len(self.aside)
        if more > 0:
            lines.append(f"  and {counted(more, 'more document')} set aside")
        return lines + [f"  {note}" for note in self.notes]

    def as_json(self) -> bytes:
        return msgspec.json.encode(self)
