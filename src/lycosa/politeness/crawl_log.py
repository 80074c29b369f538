"""Crawl log: one line per answer and, at level 2, one per decision.

A line of level 1 has time, status, size, URL, depth, via, type, state, reason. Level 2 adds lines whose second word is
`debug`: every link that was refused, robots.txt, retries, connections, hosts that are given a rest. A log whose name
ends in .jsonl has the same as JSON, one object per line. Of a crawl in cycles each one's beginning is told (`cycle`).
"""

from __future__ import annotations

import time
from typing import TextIO

from msgspec.json import encode

from lycosa.clock import iso_time
from lycosa.disk import make_fault
from lycosa.model import Answer, Link, Outcome, State, Verdict
from lycosa.output.plain import escape_controls
from lycosa.render.messages import RenderResult

LONG = 4096  # characters of a line; a link may be a megabyte long
_NAMES = ("time", "status", "size", "url", "depth", "via", "type", "state", "reason")
_STATE_WORDS = {int(state): state.name.lower() for state in State}


class CrawlLog:
    """Gathers the lines of one worker until its next commit; callers ask `deep` first: level 1 costs nothing."""

    __slots__ = ("deep", "_file", "_json", "_lines", "_second", "_stamp")

    def __init__(self, file: TextIO | None, *, level: int) -> None:
        self.deep = file is not None and level >= 2
        self._file = file
        self._json = str(getattr(file, "name", "")).endswith((".jsonl", ".ndjson"))
        self._lines: list[str] = []
        self._second, self._stamp = 0, ""

    def record(self, answer: Answer, outcome: Outcome, mime: str) -> None:
        """Record an answer, and what became of its target."""
        if self._file is None:
            return
        target = answer.target
        self._add(answer, target.depth, target.via or "seed", mime, _STATE_WORDS[outcome.state], outcome.reason)
        if self.deep:
            self.connection(answer)
            if outcome.due:
                due = iso_time(outcome.due)
                self.debug("retry", f"{target.url} number {outcome.retries}, not before {due}: {outcome.reason}")

    def subresource(self, answer: Answer, failure: str) -> None:
        """Record what a page in a browser asked for, as `extra`, or as `refused` when no request was made."""
        if self._file is None:
            return
        state = "extra" if answer.status or answer.took_s else "refused"
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().replace(" ", "")
        self._add(answer, 0, "render", kind, state, failure)

    def _add(self, answer: Answer, depth: int, via: str, mime: str, state: str, reason: str) -> None:
        at, status, size, url = self._time(answer.began), answer.status, answer.size, answer.target.url
        if self._json:
            values = (at, status, size, url, depth, via, mime, state, reason)
            self._lines.append(encode(dict(zip(_NAMES, values, strict=True))).decode() + "\n")
            return
        self._lines.append(
            f"{at} {status or '-'} {size} {url} {depth} {via} {mime or '-'} {state}{' ' if reason else ''}{reason}\n"
        )

    def rendering(self, answer: Answer, result: RenderResult) -> None:
        """Record how a page fared in a browser."""
        if self.deep:
            text = f"{answer.target.url} {result.seconds:.1f} s, {result.requests} requests, {result.refused} refused"
            why = f"; {result.failure}: {result.detail}" if result.failure else ""
            self.debug("rendered", text + f", {len(result.html)} bytes{why}")

    def connection(self, answer: Answer) -> None:
        """Record who answered, how long it took, and what libcurl says of a failure."""
        text = (
            f"{answer.target.url} peer {answer.address or '-'}, {answer.took_s:.3f} s, {len(answer.head)} bytes of head"
        )
        coding = answer.headers.get("content-encoding", "")
        text += f", {coding}" if coding else ""
        self.debug("answer", text + (f"; {answer.failure}: {answer.detail}" if answer.failure else ""))

    def refusal(self, url: str, verdict: Verdict, *, source: str, link: Link | None = None) -> None:
        """Record a link that is not followed, and why."""
        text = f" {link.text!r}" if link is not None and link.text else ""
        self.debug("refused", f"{url} {verdict.reason}: {verdict.detail}; linked from {source}{text}")

    def debug(self, event: str, text: str) -> None:
        """Record a fact for debugging; text may come from the network, so it stays on one line and moves no cursor."""
        if self.deep:
            if len(text) > LONG:
                text = f"{text[:LONG]}…"
            if not text.isprintable():
                text = escape_controls(" ".join(text.split()))
            at = self._time(time.time())
            line = encode({"time": at, "debug": event, "text": text}).decode() if self._json else ""
            self._lines.append(f"{line or f'{at} debug {event} {text}'}\n")

    def cycle(self, text: str) -> None:
        """Record that a cycle begins, and with what."""
        if self._file is not None:
            at = self._time(time.time())
            line = encode({"time": at, "cycle": text}).decode() if self._json else f"{at} cycle {text}"
            self._lines.append(line + "\n")

    def write(self) -> None:
        """Append what happened since the last commit to the log."""
        if self._file is None:
            return
        lines, self._lines = "".join(self._lines), []
        try:
            self._file.write(lines)
            self._file.flush()
        except OSError as error:
            raise make_fault(error, "The log") from None

    def _time(self, at: float) -> str:
        second = int(at)
        if second != self._second:
            self._second, self._stamp = second, iso_time(second)
        return self._stamp
