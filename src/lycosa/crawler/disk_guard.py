"""Disk guard: pauses or ends a crawl before the disk of its collection is full."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from lycosa.config.settings import KeepSettings
from lycosa.disk import free_bytes

LOOK_S = 1.0
_SHARE = 20  # the reserve is at most this part of the disk: a small one would never have room

Measure = Callable[[Path], tuple[int, int]]  # the bytes that are free, and those of the whole disk


class DiskGuard:
    """Measures once a second how much of a disk is free, and says what is lacking."""

    def __init__(self, folder: Path, keep: KeepSettings, *, measure: Measure = free_bytes) -> None:
        self._folder = folder
        self._measure = measure
        self._wanted = keep.reserve_bytes
        self._patience_s = keep.wait_s
        self._look_at = 0.0
        self._since: float | None = None  # when the room was first found wanting
        self._lack = ""

    def lack(self) -> str:
        """What is lacking, in a sentence; empty: nothing."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_S
            self._lack = self._find_lack()
            if not self._lack:
                self._since = None
            elif self._since is None:
                self._since = now
        return self._lack

    @property
    def is_hopeless(self) -> bool:
        """Whether the crawl has waited for room as long as the user wants."""
        return self._since is not None and time.monotonic() - self._since >= self._patience_s

    def _find_lack(self) -> str:
        try:
            free, size = self._measure(self._folder)
        except OSError as error:
            return f"The disk of {self._folder} does not answer: {error.strerror}."
        reserve = min(self._wanted, size // _SHARE)
        if self._lack:
            reserve += reserve // 10  # a little more than it lacked, or it would pause again at once
        if free >= reserve:
            return ""
        left, wanted = f"{free / 1e6:,.1f}", f"{reserve / 1e6:,.1f}"
        return f"Only {left} MB of room are left on the disk of {self._folder}, and {wanted} MB must stay free."
