"""Fingerprints of texts: alike for texts that are alike, by which near-duplicates are found.

A text counts line by line (a block of the page is a line), in lower case and without whatever has a digit or a slash in
it, so that dates, counters, session ids and echoed addresses make no difference. The lines are cut into runs of four
words; the fingerprint is the 192 smallest hashes of its runs. Two fingerprints tell how much two texts share (bottom-k
sketches), fingerprints of many pages of one site tell which runs are its frame; neither needs the texts.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from xxhash import xxh3_64_intdigest

SIZE = 192
SLOTS = 64
_WORDS = 4
#: Characters of a run where words are not written apart.
_CHARACTERS = 8
#: In a line of longer words on average, words are not written apart (Chinese, Japanese, Thai).
_LONG_WORD = 16
#: Characters and runs of a text that count, so that no page takes a second.
_MAX_CHARS = 1 << 20
_MAX_RUNS = 50_000

#: Pages of a site or folder from which its frame is found, at least and at most.
FRAME_LEAST, FRAME_MOST = 4, 48
#: A run that this share of them has belongs to the frame.
_FRAME_SHARE = 0.3

_NUMBER = re.compile(r"\d+")
_NUMBERED = re.compile(r"(?<!\S)[^\s\d/]*+[\d/]\S*+")

#: A fingerprint: 32 bits of hash each, in order.
Fingerprint: TypeAlias = "array[int]"


def read_lines(text: str) -> list[str]:
    """The lines of a text in the form that is compared; empty ones are left out."""
    plain = _NUMBERED.sub("", text[:_MAX_CHARS].lower())
    return [" ".join(words) for line in plain.splitlines() if (words := line.split())]


def read_numbers(text: str, *, without: str) -> frozenset[str]:
    """The words of a text that have a digit in them, but for those that say no more than the address `without`: all
    their numbers stand there, or are one or two away, as on links to the next page.
    """
    echoed = {number.lstrip("0") for number in _NUMBER.findall(without)}
    echoed |= {str(int(number or 0) + step) for number in tuple(echoed) if len(number) < 10 for step in (-2, -1, 1, 2)}
    return frozenset(
        word
        for word in _NUMBERED.findall(text[:_MAX_CHARS].lower())
        if not echoed.issuperset(number.lstrip("0") for number in _NUMBER.findall(word))
    )


def cut_runs(lines: Iterable[str]) -> Iterator[str]:
    """The runs of four words in each line, a shorter line being one; of a text without end, the first of them."""
    return islice(_cut(lines), _MAX_RUNS)


def _cut(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        words = line.split(" ")
        if len(line) > _LONG_WORD * len(words):
            yield from (line[at : at + _CHARACTERS] for at in range(max(1, len(line) - _CHARACTERS + 1)))
        elif len(words) <= _WORDS:
            yield line
        else:
            yield from (" ".join(words[at : at + _WORDS]) for at in range(len(words) - _WORDS + 1))


def hash_text(text: str) -> int:
    """A number of 32 bits that stands for a text."""
    return xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) >> 32


def make_fingerprint(text: str) -> Fingerprint:
    """The fingerprint of a text; empty when the text has no words."""
    return array("I", sorted(set(map(hash_text, cut_runs(read_lines(text)))))[:SIZE])


def find_frame(pages: Sequence[Fingerprint]) -> frozenset[int]:
    """The runs that pages of one site or folder have in common; too few pages have none."""
    if len(pages) < FRAME_LEAST:
        return frozenset()
    counts = Counter(run for page in pages for run in page)
    least = max(FRAME_LEAST - 1, _FRAME_SHARE * len(pages))
    return frozenset(run for run, count in counts.items() if count >= least)


class Content:
    """The fingerprint of a page without the frame of its site; with it, if the page is nothing but frame."""

    __slots__ = ("bare", "limit", "runs", "sketch")

    def __init__(self, runs: Fingerprint, *frames: frozenset[int]) -> None:
        kept = frozenset(runs).difference(*frames)
        self.bare = not kept  # nothing but frame
        self.runs = kept or frozenset(runs)
        self.limit = runs[-1] if len(runs) == SIZE else 1 << 32  # larger hashes may have been cut off
        self.sketch = _make_sketch(self.runs)

    def compare(self, other: Content) -> float:
        """The share of their runs that two pages have in common, 0 to 1."""
        limit = min(self.limit, other.limit)
        mine = self.runs if limit >= self.limit else {run for run in self.runs if run <= limit}
        theirs = other.runs if limit >= other.limit else {run for run in other.runs if run <= limit}
        return 2 * len(mine & theirs) / max(1, len(mine) + len(theirs))


def _make_sketch(runs: Iterable[int]) -> bytes:
    """64 minima of one byte each (one-permutation minwise hashing): like texts have like bytes at like places.

    A slot that no run falls into borrows from the next that has one, marked by the distance.
    """
    minima: list[int | None] = [None] * SLOTS
    for run in runs:
        least = minima[run % SLOTS]
        if least is None or run < least:
            minima[run % SLOTS] = run
    if not any(least is not None for least in minima):
        return b""
    packed = bytearray(SLOTS)
    for slot in range(SLOTS):
        distance = 0
        while (least := minima[(slot + distance) % SLOTS]) is None:
            distance += 1
        packed[slot] = (least // SLOTS + 37 * distance) & 255
    return bytes(packed)
