"""Guarded quarry: a quarry whose exceptions cost one answer each, and are counted and logged."""

from __future__ import annotations

import contextlib
import time
from itertools import islice
from pathlib import Path

from lycosa.clock import iso_time
from lycosa.extract.quarry_loader import describe_error
from lycosa.judge.admission.rules import UrlJudge
from lycosa.model import Link
from lycosa.parse import Doc, read
from lycosa.quarry import Quarry, QuarryUnion, overrides

LOGGED = 1000  # exceptions of one worker that are logged; all are counted


def warm() -> None:
    """Load what quarries ask documents for, before workers are forked: no host is to be charged for it."""
    for body in (b"<html><p>", b"<a/>"):
        doc = read("http://warm.invalid/", {}, body)
        assert doc.text is not None and (doc.etree is None or doc.kind == "xml")


class GuardedQuarry:
    """The quarry of one worker."""

    def __init__(self, quarry: Quarry, *, log: Path, max_links: int) -> None:
        self.errors = 0
        self.quarry = QuarryUnion(quarry.parts, on_error=self._log_error) if isinstance(quarry, QuarryUnion) else quarry
        self.hears_errors = overrides(quarry, "links_of_error")
        self.trusted_kinds = frozenset(quarry.trusted_kinds)
        self.reads_pdf = bool(quarry.reads_pdf)
        self.scores = overrides(quarry, "score")
        self.chooses_links = overrides(quarry, "chosen_links")
        #: This, where the rules have to ask it for each address; None: it has no ranges.
        self.url_judge: UrlJudge | None = self if overrides(quarry, "refuses") else None
        self._log = log
        self._max_links = max_links or None

    def links(self, doc: Doc) -> list[Link]:
        """Links that the quarry sees beside those of the document."""
        try:
            return [link for link in islice(self.quarry.links(doc), self._max_links) if isinstance(link, Link)]
        except (Exception, SystemExit) as error:
            self._log_error("links", doc.url, error)
            return []

    def chosen_links(self, doc: Doc) -> list[Link] | None:
        """The links of a document that are followed; None: all of them."""
        try:
            chosen = self.quarry.chosen_links(doc)
            return None if chosen is None else [link for link in chosen if isinstance(link, Link)]
        except (Exception, SystemExit) as error:
            self._log_error("chosen_links", doc.url, error)
            return None

    def refuses(self, url: str) -> str:
        """Why an address is in none of the mission's ranges; empty: it is admitted."""
        try:
            return str(self.quarry.refuses(url))
        except (Exception, SystemExit) as error:
            self._log_error("refuses", url, error)
            return ""

    def describe_url(self, url: str) -> str:
        """What the quarry makes of an address."""
        try:
            return str(self.quarry.describe_url(url))
        except (Exception, SystemExit) as error:
            self._log_error("describe_url", url, error)
            return ""

    def links_of_error(self, doc: Doc, status: int) -> list[Link]:
        """What an answer with an error status leads to."""
        try:
            links = islice(self.quarry.links_of_error(doc, status), self._max_links)
            return [link for link in links if isinstance(link, Link)]
        except (Exception, SystemExit) as error:
            self._log_error("links_of_error", doc.url, error)
            return []

    def identity(self, url: str) -> str:
        """What an address stands for; empty: for itself."""
        try:
            return str(self.quarry.identity(url))
        except (Exception, SystemExit) as error:
            self._log_error("identity", url, error)
            return ""

    def score(self, link: Link, doc: Doc) -> float:
        """How promising a link is, 0 to 1."""
        try:
            score = float(self.quarry.score(link, doc))
        except (Exception, SystemExit) as error:
            self._log_error("score", doc.url, error)
            return 0.0
        return min(1.0, max(0.0, score)) if score == score else 0.0  # NaN is not itself

    def recognise(self, doc: Doc, relation: str = "") -> str:
        """The refined kind; empty where there is none. `relation` is the kind of the link that leads to it."""
        try:
            kind = self.quarry.recognise(doc)
            if not kind and relation in self.trusted_kinds:
                kind = self.quarry.recognise_part(doc, relation)
            return str(kind or "")[:200]
        except (Exception, SystemExit) as error:
            self._log_error("recognise", doc.url, error)
            return ""

    def _log_error(self, method: str, url: str, error: BaseException) -> None:
        self.errors += 1
        if self.errors > LOGGED:
            return
        stamp = iso_time(time.time())
        with contextlib.suppress(OSError):
            self._log.parent.mkdir(exist_ok=True)
            with open(self._log, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{stamp} quarry {method} {url} {describe_error(error)}\n")
