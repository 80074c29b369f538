"""The ledger of a corpus: for each text the signals about its use, where they stand, and whether it was taken.

With the ledger of an earlier corpus it tells which texts must go, as their sites changed their minds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lycosa.collection.collection import Collection, Page
from lycosa.errors import UsageError
from lycosa.missions.records.corpus.options import CorpusOptions
from lycosa.output.plain import counted
from lycosa.wishes.collected import CollectedWishes
from lycosa.wishes.signals import Signal, forbid

LEDGER, WITHDRAWN = "ledger.jsonl", "withdrawn.jsonl"
_decode_signals = msgspec.json.Decoder(list[Signal]).decode


class Ledger:
    """Judges texts by the wishes about one use; without a use all are allowed and nothing is written."""

    def __init__(self, folder: Path, collection: Collection, options: CorpusOptions) -> None:
        #: What the texts are for: that of the export, or else those of the crawl.
        self.uses: tuple[str, ...] = (options.use,) if options.use else collection.mission.fetch.uses
        self._previous = options.previous
        if self._previous and not self.uses:
            raise UsageError("--previous needs --use: which use must be allowed?")
        if self._previous and not os.path.isfile(self._previous):
            raise UsageError(f"--previous is {self._previous!r}; it must be the ledger.jsonl of an earlier corpus.")
        self._wishes = CollectedWishes(collection) if self.uses else None
        self._rows = apsw.Connection(str(folder / "ledger.db"))
        self._rows.execute(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE text (url TEXT PRIMARY KEY, place TEXT,"
            " digest TEXT, fetched TEXT, allowed INTEGER, taken INTEGER DEFAULT 0, signals BLOB,"
            " fault TEXT DEFAULT '') WITHOUT ROWID"
        ).fetchall()
        self._withdrawn = 0

    def begin(self, page: Page) -> None:
        """Note a page that is read now, with what its header and its site say."""
        if self._wishes is None:
            return
        signals = self._wishes.of_page(page, markup=False)
        place = "{}:{}+{}".format(*page.place)
        row = (page.url, place, page.digest, page.fetched.isoformat(), msgspec.json.encode(signals))
        self._rows.execute("INSERT INTO text (url, place, digest, fetched, signals) VALUES (?, ?, ?, ?, ?)", row)

    def allows(self, url: str, markup: Iterable[Signal]) -> bool:
        """Whether the use is not forbidden; `markup`: what the page itself says."""
        if not self.uses:
            return True
        stored = next(iter(self._rows.execute("SELECT signals FROM text WHERE url = ?", (url,))))[0]
        signals = [*_decode_signals(stored), *markup]
        is_allowed = forbid(signals, self.uses) is None
        self._rows.execute(
            "UPDATE text SET allowed = ?, signals = ? WHERE url = ?", (is_allowed, msgspec.json.encode(signals), url)
        )
        return is_allowed

    def leave(self, url: str, fault: str) -> None:
        """Note why a text that is allowed does not stand in the corpus."""
        if self.uses:
            self._rows.execute("UPDATE text SET fault = ? WHERE url = ?", (fault, url))

    def take(self, url: str) -> None:
        """Note that a text stands in the corpus."""
        if self.uses:
            self._rows.execute("UPDATE text SET taken = 1 WHERE url = ?", (url,))

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """The names of the files that a corpus gets, and the lines of each."""
        if self.uses:
            yield LEDGER, self._lines()
        if self._previous:
            yield WITHDRAWN, self._find_withdrawn()

    def write_beside(self, target: str) -> None:
        """Write the files of a corpus that is one file: `corpus.jsonl` has `corpus.jsonl.ledger.jsonl`."""
        for name, lines in self.files() if target != "-" else ():
            with open(f"{target}.{name}", "wb") as out:
                out.writelines(lines)

    @property
    def summary(self) -> str:
        """What is said of an earlier corpus."""
        if not self._previous:
            return ""
        return f"; {counted(self._withdrawn, 'text')} of {self._previous} must go ({WITHDRAWN})"

    def _lines(self) -> Iterator[bytes]:
        query = "SELECT url, place, digest, fetched, allowed, taken, signals, fault FROM text WHERE allowed IS NOT NULL"
        for url, place, digest, fetched, allowed, taken, *about in self._rows.execute(query):
            yield self._line(url, (place, digest, fetched, *about), allowed=bool(allowed), taken=bool(taken))

    def _line(self, url: str, about: tuple[Any, ...], *, allowed: bool, taken: bool) -> bytes:
        place, digest, fetched, stored, fault = about
        signals = _decode_signals(stored)
        row = {
            "url": url,
            "use": " ".join(self.uses),
            "allowed": allowed,
            "taken": taken,
            **({"fault": fault} if fault else {}),  # of its quality
            "contradictory": any(
                len({signal.allowed for signal in signals if signal.use == use}) > 1 for use in self.uses
            ),
            "archive": place,
            "digest": digest,
            "fetched": fetched,
            "signals": signals,
        }
        return msgspec.json.encode(row) + b"\n"

    def _find_withdrawn(self) -> Iterator[bytes]:
        """The lines of texts that the earlier corpus took and that are forbidden now."""
        query = "SELECT place, digest, fetched, signals, fault FROM text WHERE url = ? AND allowed = 0"
        with open(self._previous, "rb") as file:
            for line in file:
                try:
                    row = msgspec.json.decode(line)
                    url, was_taken = str(row["url"]), bool(row["taken"])
                except (msgspec.DecodeError, KeyError, TypeError):
                    raise UsageError(f"{self._previous} is no ledger of a corpus: {line[:60]!r}.") from None
                for about in self._rows.execute(query, (url,)) if was_taken else ():
                    self._withdrawn += 1
                    yield self._line(url, about, allowed=False, taken=False)
