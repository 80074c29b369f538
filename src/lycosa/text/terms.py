"""Term extraction: the ten words that say what a text is about, in tens of microseconds.

Symbols are dropped, letters made small, stop words of the page's language left out. The other words are weighted by
(occurrences / distinct words) × total words, which within one page is the order of their occurrences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter

from msgspec import Struct

from lycosa.text.fold import fold
from lycosa.text.stopwords import LANGUAGES_OF, STOP_WORDS

#: How many terms of a page count.
BEST = 10
#: Characters that are looked at: beyond them a page repeats its topic, and a word costs 0.15 µs.
MAX_CHARS = 3_000
#: The most frequent words, whose stop words reveal the language.
_BALLOT = 24
#: A declared language is believed unless another one has so many times its votes: templates say "en" everywhere.
_OUTVOTED = 3
#: As many votes as make a language sure enough.
_ENOUGH_VOTES = 3
_MAX_WORD = 60

#: ASCII letters small, digits as they are, bytes of other letters as they are, all else a blank.
_ASCII = bytes(ord(chr(byte).lower()) if chr(byte).isalnum() else 32 for byte in range(128))
_TABLE = _ASCII + bytes(range(128, 256))
#: The same for Latin-1, in which 128 to 191 are symbols too.
_LATIN = _ASCII + b" " * 64 + bytes(ord(chr(byte).lower()) for byte in range(192, 256))
_LATIN_SYMBOLS = re.compile(rb"\xc2[\x80-\xbf]")  # U+0080 to U+00BF: « » ¿ · no-break space
_SYMBOLS = re.compile(rb"\xe2[\x80-\x9f].", re.DOTALL)  # U+2000 to U+27FF: dashes, quotes, arrows, bullets
_NONE: frozenset[bytes] = frozenset()
_occurrences = itemgetter(1)


class Term(Struct, frozen=True, gc=False):
    """A word that a text is about."""

    word: str
    count: int
    score: float


class Terms(Struct, frozen=True):
    """The best words of a text."""

    language: str  # two letters; empty when neither the page nor its stop words reveal it
    best: tuple[tuple[bytes, int], ...]  # words as UTF-8 with their occurrences, the most frequent first
    total: int  # words of the text
    distinct: int

    def scored(self) -> list[Term]:
        """The best words with their scores."""
        factor = self.total / self.distinct if self.distinct else 0.0
        return [Term(word.decode("utf-8", "replace"), count, count * factor) for word, count in self.best]


def split_words(text: str) -> list[bytes]:
    """The words of a text in its order, small, as UTF-8: three times as fast as a regular expression over letters."""
    try:
        latin = text.encode("latin-1").translate(_LATIN)
    except UnicodeEncodeError:
        pass
    else:
        return (latin if latin.isascii() else latin.decode("latin-1").encode()).split()
    data = text.lower().encode("utf-8", "ignore")
    if b"\xc2" in data:
        data = _LATIN_SYMBOLS.sub(b" ", data)
    if b"\xe2" in data:
        data = _SYMBOLS.sub(b" ", data)
    return data.translate(_TABLE).split()


def extract(text: str, language: str = "") -> Terms:
    """The ten best terms of a text; `language` is what the page declares (es, en-GB), which may be empty or wrong."""
    words = split_words(text[:MAX_CHARS])
    counts = Counter(words)
    often = [pair for pair in counts.items() if pair[1] > 1]
    often.sort(key=_occurrences, reverse=True)
    if len(often) < _BALLOT:
        often += [pair for pair in counts.items() if pair[1] == 1]
    code = _choose_language(often[:_BALLOT], primary(language))
    stops = STOP_WORDS.get(code, _NONE)
    best: list[tuple[bytes, int]] = []
    for pair in often:
        word = pair[0]
        if word not in stops and 1 < len(word) <= _MAX_WORD and not word.isdigit():
            best.append(pair)
            if len(best) == BEST:
                break
    return Terms(code, tuple(best), len(words), len(counts))


def stop_words(language: str) -> frozenset[bytes]:
    """The stop words of a language; none if it is not known."""
    return STOP_WORDS.get(language, _NONE)


def primary(language: str) -> str:
    """The language of a tag, without region and script: es for es-MX, ES_es."""
    return language[:16].replace("_", "-").partition("-")[0].strip().lower() if language else ""


def _choose_language(ballot: Sequence[tuple[bytes, int]], declared: str) -> str:
    """The declared language, unless the stop words of the page vote clearly for another."""
    if declared in STOP_WORDS and _agrees(ballot, STOP_WORDS[declared]):
        return declared
    votes: dict[str, int] = {}
    for word, count in ballot:
        for language in LANGUAGES_OF.get(word, ()):
            votes[language] = votes.get(language, 0) + count
    if not votes:
        return declared
    winner = max(votes, key=votes.__getitem__)
    most = votes[winner]
    if declared in STOP_WORDS:
        return winner if most >= _ENOUGH_VOTES and most > _OUTVOTED * votes.get(declared, 0) else declared
    alone = sum(count == most for count in votes.values()) == 1  # "a" and "to" are words of many languages
    return winner if most >= _ENOUGH_VOTES and alone and not declared else declared


def _agrees(ballot: Iterable[tuple[bytes, int]], stops: frozenset[bytes]) -> bool:
    """Whether the other votes together could not outvote a language; mostly so, and cheaper than a count of each."""
    own = others = 0
    for word, count in ballot:
        if word in stops:
            own += count
        elif word in LANGUAGES_OF:
            others += count
    return own + others <= _OUTVOTED * own


@lru_cache(maxsize=20_000)
def stem(word: bytes) -> bytes:
    """The form under which a word is looked up: no accents, and plurals in -s and -es as their singular.

    It knows no language: "rivers", "ríos" and "cities" are "river", "rio" and "citi", as are their singulars.
    """
    text = fold(word.decode("utf-8", "replace"))
    if len(text) > 3 and text[-1] == "s" and text[-2] not in "sui":
        text = text[:-1]
    if len(text) > 3 and text[-1] == "e":
        text = text[:-1]
    if len(text) > 3 and text[-1] == "y":
        text = text[:-1] + "i"
    return text.encode("utf-8", "ignore")


def content_words(text: str, stops: frozenset[bytes]) -> list[bytes]:
    """The words of a short text that are no stop words, numbers or single letters."""
    return [
        word for word in split_words(text) if word not in stops and 1 < len(word) <= _MAX_WORD and not word.isdigit()
    ]
