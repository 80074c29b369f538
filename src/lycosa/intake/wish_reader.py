"""Wish reader: what is said of the use of each page when it is visited, by the files of its site and by itself.

Nothing is looked for in markup that cannot hold it: of pages that say nothing a crawl notices little.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from lycosa.config.settings import Mission
from lycosa.frontier.contract import Knowledge
from lycosa.model import USES, Answer, PageWishes, RobotsRow, Target, Verdict, WishSet
from lycosa.parse import Doc
from lycosa.wishes.signals import Signal, forbid, read_page, settle, speaks_of_use
from lycosa.wishes.sites import SiteWishes, address_of_tdmrep, addresses_of_licences

_SILENT = WishSet(0)
_FRESH = 1_000  # files that may not be committed yet
_SETS = 10_000  # sets that are remembered


class WishReader:
    """Reads the wishes for one worker, and judges by those that the mission heeds."""

    def __init__(self, mission: Mission, known: Knowledge) -> None:
        self._known = known
        self._agent = mission.agent.name
        self._heeded = mission.fetch.uses
        self._files = mission.fetch.wish_files
        self._fresh: dict[str, bytes] = {}
        self._sites = SiteWishes(self._find, agent=self._agent)
        self._sets: dict[tuple[Signal, ...], WishSet] = {}

    def _find(self, key: str) -> bytes:
        if key in self._fresh:
            return self._fresh[key]
        row = self._known.robots(key)
        return row.body if row is not None and 200 <= row.status < 300 else b""

    def files_of(self, origin: str, robots: bytes) -> list[str]:
        """The files beside its robots.txt that an origin is asked for."""
        if self._files == "never":
            return []
        asks = self._files == "always" or bool(self._heeded)
        return [*addresses_of_licences(origin, robots), *([address_of_tdmrep(origin)] if asks else [])]

    def learn(self, row: RobotsRow, origin: str) -> None:
        """Take over a robots.txt, or a file that belongs to it, that has just come."""
        self._fresh.pop(row.origin, None)
        self._fresh[row.origin] = row.body if 200 <= row.status < 300 else b""
        if len(self._fresh) > _FRESH:
            del self._fresh[next(iter(self._fresh))]
        self._sites.forget(origin)

    def of_page(self, answer: Answer, doc: Doc) -> PageWishes | None:
        """The wishes about a page that was read."""
        target = answer.target
        site, own = self._sites.of(target.url), self._read_own(answer, doc)
        if not site and not own and not target.digest:
            return None
        return PageWishes(self._make_set(site), self._make_set(own))

    def of_unchanged(self, target: Target) -> PageWishes:
        """The wishes about a page that has not changed: what its site says may have."""
        return PageWishes(self._make_set(self._sites.of(target.url)), None)

    def _read_own(self, answer: Answer, doc: Doc) -> list[Signal]:
        if not speaks_of_use(answer.headers, doc.tree, doc.robots):
            return []
        return read_page(answer.headers, doc.tree, url=answer.target.url, agent=self._agent)

    def judge_url(self, url: str) -> Verdict | None:
        """Why an address is not fetched: its site forbids a use that the mission heeds; None: it does not."""
        return forbid(self._sites.of(url), self._heeded) if self._heeded else None

    def judge_page(self, answer: Answer, doc: Doc) -> Verdict | None:
        """Why a page is not kept: it forbids such a use itself; None: it does not."""
        return forbid(self._read_own(answer, doc), self._heeded) if self._heeded else None

    def _make_set(self, signals: Sequence[Signal]) -> WishSet:
        if not signals:
            return _SILENT
        key = tuple(signals)
        found = self._sets.get(key)
        if found is None:
            if len(self._sets) > _SETS:
                self._sets.clear()
            found = self._sets[key] = _encode(signals)
        return found


def _encode(signals: Sequence[Signal]) -> WishSet:
    text = msgspec.json.encode(signals)
    number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1
    held = settle(signals)
    forbids, allows = (
        sum(1 << USES.index(use) for use, ok in held.items() if ok is wanted) for wanted in (False, True)
    )
    return WishSet(number or 1, forbids, allows, text.decode())
