"""The quality of a text as builders of corpora measure it: repetition, symbols, length, share of the page, language.

Each bound is a number in quality.toml, or in a file of the user's with the same names; the name says what is measured
and to which side it bounds. A text is left out for the first bound that it does not keep.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from lycosa.errors import UsageError
from lycosa.missions.records.readers import read_toml

#: Characters of scripts in which words are not written apart.
WIDE = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_COUNTED_WORDS = re.compile(rf"[^\W_{WIDE}]+|[{WIDE}]")
WORDS = re.compile(r"[^\W_]+")
#: Words of a text that are looked at for repetition; what repeats itself does so before that.
_MOST_WORDS = 50_000
_SYMBOLS = re.compile(r"#|…|\.\.\.")
_BULLET = re.compile(r"\s*(?:[-*+•‣▪●◦–]|\d+[.)])\s")
_WIDE = re.compile(f"[{WIDE}]")
_CLOSING = " \t\"'”’»)]」』"
_ELLIPSES = ("…", "...")
_ENDS = tuple(".!?…:;。！？؟۔।")
_SHORT = 30  # characters
_FEW_LINES = 4  # do not tell how the lines of a text are


def find_words(text: str) -> list[str]:
    """The words of a text; a character is one where words are not written apart."""
    return (WORDS if text.isascii() else _COUNTED_WORDS).findall(text)


def count_words(text: str) -> int:
    """How many words a text has."""
    return len(find_words(text))


class MeasuredText:
    """A text with what is measured of it, each when it is first asked for."""

    def __init__(self, text: str, *, markdown: str = "", whole: str = "", language_score: float | None = None) -> None:
        """`whole`: all text of the page; empty where the text is all there is."""
        self.text = text
        self.language_score = language_score
        self._whole = whole
        self._marked = [line for line in (markdown or text).split("\n") if line.strip()]
        self.lines = [line for line in text.split("\n") if line.strip()]

    @cached_property
    def words(self) -> list[str]:
        return find_words(self.text.casefold())

    @cached_property
    def _letters(self) -> int:
        """Of the words that are looked at; never 0."""
        return sum(map(len, self.words[:_MOST_WORDS])) or 1

    @property
    def letters_a_word(self) -> float | None:
        """How long words are on average; None where they are not written apart."""
        words = self.text.split()
        return None if _WIDE.search(self.text) else sum(map(len, words)) / max(1, len(words))

    @property
    def main_share(self) -> float | None:
        """The share of the page's text that is main text."""
        whole = sum(map(len, self._whole.split()))
        return min(1.0, sum(map(len, self.text.split())) / whole) if whole else None

    @property
    def repeated_lines(self) -> float:
        return 1 - len(set(self.lines)) / max(1, len(self.lines))

    @property
    def repeated_characters(self) -> float:
        """The share of the characters that stand in lines which an earlier one repeats."""
        return 1 - sum(map(len, set(self.lines))) / max(1, sum(map(len, self.lines)))

    @property
    def symbols(self) -> float:
        return len(_SYMBOLS.findall(self.text)) / max(1, len(self.words))

    @property
    def bullets(self) -> float:
        return sum(bool(_BULLET.match(line)) for line in self._marked) / max(1, len(self._marked))

    @property
    def ellipses(self) -> float:
        return sum(line.rstrip(_CLOSING).endswith(_ELLIPSES) for line in self.lines) / max(1, len(self.lines))

    @property
    def ended_lines(self) -> float | None:
        few = len(self.lines) < _FEW_LINES
        return None if few else sum(line.rstrip(_CLOSING).endswith(_ENDS) for line in self.lines) / len(self.lines)

    @property
    def short_lines(self) -> float | None:
        few = len(self.lines) < _FEW_LINES
        return None if few else sum(len(line) <= _SHORT for line in self.lines) / len(self.lines)

    def top_run(self, length: int) -> float:
        """The share of the letters that stand in the commonest run of so many words, where it comes again."""
        words = self.words[:_MOST_WORDS]
        runs = Counter(zip(*(words[at:] for at in range(length)), strict=False))
        run, count = max(runs.items(), key=lambda item: item[1], default=((), 0))
        return count * sum(map(len, run)) / self._letters if count > 1 else 0.0

    def repeated_runs(self, length: int) -> float:
        """The share of the letters that stand in runs of so many words which came before."""
        words = self.words[:_MOST_WORDS]
        seen: set[int] = set()
        letters = at = 0
        while at + length <= len(words):
            run = hash(tuple(words[at : at + length]))
            if run in seen:
                letters += sum(map(len, words[at : at + length]))
                at += length
            else:
                seen.add(run)
                at += 1
        return letters / self._letters


#: What is measured under a name, and the reason of the texts that are left out for it; the cheap ones first.
_MEASURES: dict[str, tuple[str, Callable[[MeasuredText], float | None]]] = {
    "language_score": ("language unsure", lambda text: text.language_score),
    "words": ("too long", lambda text: len(text.words)),
    "letters_a_word": ("odd words", lambda text: text.letters_a_word),
    "main_share": ("mostly boilerplate", lambda text: text.main_share),
    "symbols": ("many symbols", lambda text: text.symbols),
    "bullets": ("mostly bullets", lambda text: text.bullets),
    "ellipses": ("many ellipses", lambda text: text.ellipses),
    "ended_lines": ("few sentences", lambda text: text.ended_lines),
    "short_lines": ("short lines", lambda text: text.short_lines),
    "repeated_lines": ("repeated lines", lambda text: text.repeated_lines),
    "repeated_characters": ("repeated lines", lambda text: text.repeated_characters),
    "top_pairs": ("repeated words", lambda text: text.top_run(2)),
    "top_triples": ("repeated words", lambda text: text.top_run(3)),
    "top_fours": ("repeated words", lambda text: text.top_run(4)),
    "repeated_fives": ("repeated words", lambda text: text.repeated_runs(5)),
    "repeated_tens": ("repeated words", lambda text: text.repeated_runs(10)),
}
BOUNDS = [f"{side}_{name}" for name in _MEASURES for side in ("least", "most")]


def read_bounds(level: str, file: str = "") -> dict[str, float]:
    """The bounds of a level of quality, with those of a file over them; empty: nothing is judged."""
    levels = tomllib.loads(Path(__file__).with_name("quality.toml").read_text("utf-8"))
    bounds = dict(levels.get(level, {}))
    if file:
        _, own = read_toml(file, what="the bounds of a corpus")
        for name, bound in own.items():
            if name not in BOUNDS or isinstance(bound, bool) or not isinstance(bound, (int, float)):
                raise UsageError(f"{file} has {name} = {bound!r}; allowed: numbers for {', '.join(BOUNDS)}.")
        bounds |= own
    return bounds


def find_fault(text: MeasuredText, bounds: Mapping[str, float]) -> str:
    """Why a text is left out: the first bound that it does not keep; empty: none."""
    for name, (reason, measure) in _MEASURES.items() if bounds else ():
        least, most = bounds.get(f"least_{name}"), bounds.get(f"most_{name}")
        if least is None and most is None:
            continue
        value = measure(text)
        if value is not None and not (least or 0.0) <= value <= (float("inf") if most is None else most):
            return reason
    return ""
