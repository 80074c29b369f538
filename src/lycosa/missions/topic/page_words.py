"""The words of a page as hashed features, at some 100 µs a page, in any language.

Of a page count its title, the lines that are long enough to be sentences, and the words of its address: menus, teasers
and footers are short lines, and say of every page of a site the same. A feature is a word, a pair of words that follow
each other, or a word of the address; where words are not set apart (Chinese, Japanese, Thai), two letters that follow
each other stand for a word. All words of a page are hashed at once, as differences of one running sum over its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lycosa.extras import need
from lycosa.parse import Doc
from lycosa.text.terms import set_apart

need("numpy", extra="topic", what="The topic mission")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

BITS = 18
#: Characters of a page that count.
MOST_CHARS = 12_000
#: A line is a sentence from so many blanks on, or so many letters of a script without blanks.
_BLANKS, _WIDE_LETTERS = 7, 16
#: With fewer characters in sentences, all lines of the page count.
_LITTLE = 200
_SHORT = 300  # of a title, and of an address
_WIDE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f"
_WIDE_RUN = re.compile(f"[{_WIDE}]+")
_WITHOUT_DIGITS = bytes(32 if 48 <= byte <= 57 else byte for byte in range(256))

_PRIME, _ODD = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
_PAIR, _ADDRESS = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x5851F42D4C957F2D)


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    row = np.full(count, base % (1 << 64), np.uint64)
    row[0] = 1
    return np.multiply.accumulate(row)


_SPAN = 4 * (MOST_CHARS + 8 * _SHORT)
_POWERS, _INVERSES = _powers(_PRIME, _SPAN), _powers(pow(_PRIME, -1, 1 << 64), _SPAN)


class PageWords(NamedTuple):
    """The features of a page, each once and in their order, with how often it stands there, as 1 + ln(count)."""

    features: NDArray[np.int32]
    counts: NDArray[np.float32]


class PageText(NamedTuple):
    """What counts of a page, as people read it."""

    url: str
    title: str
    text: str

    @property
    def weighty(self) -> str:
        """The title counts three times."""
        return f"{self.title} " * 3 + self.text


def read_page(doc: Doc) -> PageText:
    """What counts of a page."""
    return choose_text(doc.url, doc.title, doc.text)


def choose_text(url: str, title: str, text: str) -> PageText:
    """The lines of a text that are sentences; all of them where these are too few."""
    text = text[: 8 * MOST_CHARS]
    kept = "\n".join([line for line in text.split("\n") if _is_sentence(line)])[:MOST_CHARS]
    return PageText(url[:_SHORT], title[:_SHORT], kept if len(kept) >= _LITTLE else text[:MOST_CHARS])


def _is_sentence(line: str) -> bool:
    if line.count(" ") >= _BLANKS:
        return True
    return not line.isascii() and sum(map(len, _WIDE_RUN.findall(line))) >= _WIDE_LETTERS


def _set_apart(text: str) -> bytes:
    """The words of a text in small letters, with blanks between them."""
    if not text.isascii():
        text = _WIDE_RUN.sub(_pair_letters, text)
    return set_apart(text).translate(_WITHOUT_DIGITS)


def _pair_letters(run: re.Match[str]) -> str:
    letters = run[0]
    return f" {' '.join(map(''.join, zip(letters, letters[1:], strict=False)))} "


def _hash_words(words: bytes) -> NDArray[np.uint64]:
    """The hash of each word of more than one byte."""
    letters = np.frombuffer(words[:_SPAN], np.uint8)
    if not len(letters):
        return np.empty(0, np.uint64)
    inside = np.zeros(len(letters) + 2, np.int8)
    inside[1:-1] = letters != 32
    edges = np.flatnonzero(np.diff(inside))
    starts, ends = edges[::2], edges[1::2]
    long = ends - starts > 1
    starts, ends = starts[long], ends[long]
    sums = np.zeros(len(letters) + 1, np.uint64)
    np.cumsum(letters * _POWERS[: len(letters)], out=sums[1:])
    hashes: NDArray[np.uint64] = (sums[ends] - sums[starts]) * _INVERSES[starts]
    return hashes


def _fold_hashes(hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
    mixed = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(_ODD)
    return (mixed >> np.uint64(64 - BITS)).astype(np.int32)


def read_words(page: PageText) -> PageWords:
    """The features of a page."""
    words = _hash_words(_set_apart(page.weighty))
    address = _hash_words(_set_apart(page.url.partition("//")[2])) ^ _ADDRESS
    pairs = words[:-1] * _PAIR + words[1:]
    features, counts = np.unique(_fold_hashes(np.concatenate((words, pairs, address))), return_counts=True)
    return PageWords(features, (1 + np.log(counts)).astype(np.float32))


def list_terms(page: PageText) -> Iterator[tuple[str, int]]:
    """The words and pairs of words of a page as people read them, each once, with their features."""
    met = set[int]()
    for salt, prefix, text in ((np.uint64(0), "", page.weighty), (_ADDRESS, "url:", page.url.partition("//")[2])):
        data = _set_apart(text)[:_SPAN]
        names = [word.decode("utf-8", "replace") for word in data.split() if len(word) > 1]
        hashes = _hash_words(data)
        features = _fold_hashes(hashes ^ salt).tolist()
        found = list(zip([prefix + name for name in names], features, strict=False))
        if not prefix:
            pairs = _fold_hashes(hashes[:-1] * _PAIR + hashes[1:]).tolist()
            found += zip([f"{one} {two}" for one, two in zip(names, names[1:], strict=False)], pairs, strict=False)
        for name, feature in found:
            if feature not in met:
                met.add(feature)
                yield name, feature
