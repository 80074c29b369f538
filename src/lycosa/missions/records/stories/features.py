"""Features of a text by which it is compared: its words, the names in it, its numbers.

Words are compared within a language; names and numbers carry across. A name is what is written with a capital within a
sentence, in any script that has capitals; of a name of several words each word counts, and each pair of neighbours.
The names of the authors do not count: a reporter writes about many things.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import lru_cache

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from lycosa.missions.records.field_roles import UNSPACED, Roles
from lycosa.text import terms
from lycosa.text.stopwords import STOP_WORDS

#: Characters that are looked at: a story is told at its beginning.
MAX_CHARS = 3_000
#: A word of the title counts as so many of the text.
_TITLE_COUNTS = 2
_MAX_TOKEN = 40
_MAX_COUNT = 4
#: Languages that write all nouns with a capital.
_CAPITAL_NOUNS = frozenset({"de", "lb"})


class FeatureKind(IntEnum):
    """What a feature is; the two lowest bits of its number."""

    WORD = 0
    NAME = 1
    PAIR = 2  # two words of a name that stand together
    NUMBER = 3


class TextFeatures(Struct, frozen=True):
    """The features of a text: how often each occurs (at most four times), and how it is written."""

    language: str
    counts: Mapping[int, int]
    written: Mapping[int, str]
    parts: frozenset[int]  # names that occur only beside others: "Ana" where the text has "Ana Ruiz" alone


def _capital_class() -> str:
    """The capitals of all scripts that have them, as ranges of a regular expression."""
    capitals = [code for code in range(0x41, 0x590) if chr(code).isupper()]
    return "".join(map(chr, capitals))


_CAPITALS = _capital_class()
_LINKS = "de|del|de la|de las|de los|da|do|dos|di|du|des|van|von|der|den|la|le|el|al|bin|ben|y|e|of"
_CAPITAL_WORD = rf"[{_CAPITALS}][^\W_]*(?:['’\-][^\W\d_]+)*"
_NAME = re.compile(rf"(?<!\w){_CAPITAL_WORD}(?:[ \u00a0](?:(?:{_LINKS})[ \u00a0])?{_CAPITAL_WORD})*")
#: What a name may not stand behind without doubt: the beginning of a sentence, whose first word has a capital anyway.
_BEGINNING = re.compile(r"(?:^|[.!?:;…»”\"\n¿¡(\[«“‘—–•|-])\s*$")
_NUMBER = re.compile(r"(?<![\w.,])\d[\d.,\u00a0\u202f]*\d(?![\w])|(?<![\w.,])\d(?=[ \u00a0]?%)")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_BLANK = re.compile(r"[ \u00a0]")


def read_features(roles: Roles) -> TextFeatures:
    """The features of the beginning of a record's text, and of its title and lead."""
    text = f"{roles.lead}\n{roles.text}"[:MAX_CHARS] if roles.lead not in roles.text else roles.text[:MAX_CHARS]
    language = roles.language or terms.extract(text).language
    counts: dict[int, int] = {}
    written: dict[int, str] = {}
    parts: set[str] = set()
    for kind, feature, times in _all_features(roles, text, language):
        number = feature_number(kind, feature, language if kind is FeatureKind.WORD else "")
        counts[number] = min(counts.get(number, 0) + times, _MAX_COUNT)
        written[number] = feature
        if kind is FeatureKind.PAIR:
            parts.update(feature.split(" "))
    names = frozenset(feature_number(FeatureKind.NAME, part, "") for part in parts)
    return TextFeatures(language, counts, written, names)


@lru_cache(maxsize=100_000)
def feature_number(kind: FeatureKind, feature: str, language: str) -> int:
    """The number that stands for a feature: 61 bits of a hash, two for its kind; a word has one for each language."""
    text = f"{language}\0{feature}"
    return (xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) >> 3) << 2 | kind


def kind_of(number: int) -> FeatureKind:
    """What the feature behind a number is."""
    return _KINDS[number & 3]


_KINDS = tuple(FeatureKind)


def _all_features(roles: Roles, text: str, language: str) -> Iterator[tuple[FeatureKind, str, int]]:
    """The features of a text, each with how often it occurs."""
    names = _find_names(text, language)
    named: set[str] = set()
    authors = [frozenset(terms.fold(person).split()) for person in roles.people]
    for words in (*names, *_title_names(roles.title, language, names) * _TITLE_COUNTS, *_place_names(roles.place)):
        named.update(words, (_stem(word.encode()) for word in words))
        if any(author.issuperset(words) for author in authors):
            continue
        yield from ((FeatureKind.NAME, word, 1) for word in words)
        neighbours = zip(words, words[1:], strict=False)
        yield from ((FeatureKind.PAIR, f"{left} {right}", 1) for left, right in neighbours if left != right)
    # Where no letter is a capital (Arabic, Chinese, Hindi), any word may be a name.
    plain = FeatureKind.WORD if text.lower() != text else FeatureKind.NAME
    stops = STOP_WORDS.get(language, frozenset())
    tokens = Counter(terms.split_words(text))
    tokens.update(terms.split_words(roles.title) * _TITLE_COUNTS)
    for token, times in tokens.items():
        if token in stops or not 3 <= len(token) <= _MAX_TOKEN or token.isdigit():
            continue
        if (word := _stem(token)) not in named:
            yield plain, word, times
    for found in _NUMBER.findall(f"{roles.title}\n{text}"):
        if number := _plain_number(found):
            yield FeatureKind.NUMBER, number, 1
    if not text.isascii():
        for run in UNSPACED.findall(text):
            yield from ((plain, run[at : at + 2], 1) for at in range(len(run) - 1))


@lru_cache(maxsize=50_000)
def _stem(token: bytes) -> str:
    return terms.stem(token).decode("utf-8", "replace")


@lru_cache(maxsize=50_000)
def _fold_name(word: str) -> str:
    return terms.fold(word).replace("’", "'").removesuffix("'s")


def _find_names(text: str, language: str) -> list[list[str]]:
    """The names within the sentences of a text, each as its folded words.

    A single capital at the beginning of a sentence is no name unless the same word is one elsewhere.
    """
    sure: list[list[str]] = []
    doubtful: list[str] = []
    for words, starts in _capitals(text, language):
        if len(words) == 1 and (starts or language in _CAPITAL_NOUNS):
            doubtful += words
        else:
            sure.append(words)
    known = {word for words in sure for word in words}
    return sure + [[word] for word in doubtful if word in known]


def _title_names(title: str, language: str, names: Iterable[Iterable[str]]) -> list[list[str]]:
    """The names of a title: those that the text has too, and others where the title has no Capitals Everywhere."""
    known = {word for words in names for word in words}
    tokens = re.findall(r"[^\W\d_]+", title)
    few = 2 * sum(token[0].isupper() for token in tokens) <= len(tokens) + 1
    found = []
    for words, starts in _capitals(title, language):
        sure = few and not starts and language not in _CAPITAL_NOUNS
        if kept := [word for word in words if sure or word in known]:
            found.append(kept)
    return found


def _capitals(text: str, language: str) -> Iterator[tuple[list[str], bool]]:
    """The words with capitals that stand together, folded, and whether they begin a sentence."""
    stops = STOP_WORDS.get(language, frozenset())
    for found in _NAME.finditer(text):
        words = [word for word in _BLANK.split(found[0]) if word[0].isupper()]
        starts = _BEGINNING.search(text, max(0, found.start() - 4), found.start()) is not None
        while words and words[0].lower().encode() in stops:
            words = words[1:]
            starts = False
        if folded := [_fold_name(word) for word in words if 1 < len(word) <= _MAX_TOKEN]:
            yield folded, starts


def _place_names(place: str) -> list[list[str]]:
    words = [_fold_name(word) for word in re.findall(r"[^\W\d_]{2,}", place)]
    return [words] if 0 < len(words) <= 4 else []


def _plain_number(found: str) -> str:
    """A number without the signs that countries divide it by; years and small numbers say nothing."""
    digits = re.sub(r"\D", "", found)
    if _YEAR.fullmatch(found) or len(digits) > 15:
        return ""
    divided = re.fullmatch(r"(\d{1,3})(?:[.,\u00a0\u202f]\d{3})+", found)
    if divided is None and (point := re.fullmatch(r"(\d+)[.,](\d{1,2})", found)):
        return f"{point[1]}.{point[2]}"
    return digits if len(digits) > 2 else ""
