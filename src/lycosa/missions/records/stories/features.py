"""Features of a text by which it is compared: its words, the names in it, its numbers, and the identifiers of things.

Words are compared within a language; names and numbers carry across. A name is what is written with a capital within a
sentence, in any script that has capitals; of a name of several words each word counts, and each pair of neighbours.
The names of the authors do not count: a reporter writes about many things.

How frequent a feature is, all together and on each host, is known in memory that does not grow. It counts in one of
four million places; those that share a place count together, so that a feature may seem more frequent than it is,
never rarer. What a third of a site's pages say is its frame, however rare it is elsewhere.
"""

from __future__ import annotations

import math
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct
from xxhash import xxh3_64_intdigest

from lycosa.missions.records.field_roles import UNSPACED, Roles, as_texts
from lycosa.text import terms
from lycosa.text.fingerprint import hash_text
from lycosa.text.fold import fold
from lycosa.text.terms import STOP_WORDS

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
    authors = [frozenset(fold(person).split()) for person in roles.people]
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
    return fold(word).replace("’", "'").removesuffix("'s")


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


_PLACES = 1 << 22
_MOST = 65_535
#: Texts that count as known before the first: in a collection of ten, a word is not rare because two of them have it.
_BEFORE = 500
_HOST_BEFORE = 50
#: Texts of a host from which on its own frequencies count.
_HOST_LEAST = 12
#: What so many of a host's texts have is its frame, and weighs nothing.
_FRAME_SHARE = 0.3
_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class _Totals(msgspec.Struct):
    """How many texts there are."""

    languages: dict[str, int]
    hosts: dict[str, int]


class FeatureFrequencies:
    """How many texts have a feature, and what it weighs for that."""

    def __init__(self) -> None:
        self._everywhere = array("H", bytes(2 * _PLACES))
        self._on_host = array("H", bytes(2 * _PLACES))
        self.languages: Counter[str] = Counter()
        self.hosts: Counter[str] = Counter()

    @property
    def texts(self) -> int:
        """How many texts were counted."""
        return self.languages.total()

    def add(self, features: Iterable[int], *, language: str, host: str) -> None:
        """Count a text."""
        self.languages[language] += 1
        self.hosts[host] += 1
        everywhere, on_host, salt = self._everywhere, self._on_host, hash_text(host)
        for feature in features:
            place = (feature * _MIX & _MASK) >> 42
            if (count := everywhere[place]) < _MOST:
                everywhere[place] = count + 1
            place = ((feature ^ salt << 20) * _MIX & _MASK) >> 42
            if (count := on_host[place]) < _MOST:
                on_host[place] = count + 1

    def weigh(self, features: Iterable[int], *, language: str, host: str) -> list[float]:
        """What each feature weighs: the logarithm of how rare it is, on its host or everywhere, whichever is less."""
        texts = math.log(self.texts + _BEFORE)
        of_language = math.log(self.languages[language] + _BEFORE)
        on_host = self.hosts[host]
        own = math.log(on_host + _HOST_BEFORE) if on_host >= _HOST_LEAST else 0.0
        salt = hash_text(host)
        weights = []
        for feature in features:
            known = of_language if feature & 3 == FeatureKind.WORD else texts
            weight = known - math.log(self._everywhere[(feature * _MIX & _MASK) >> 42] + 0.5)
            if own:
                here = self._on_host[((feature ^ salt << 20) * _MIX & _MASK) >> 42]
                if here >= _FRAME_SHARE * on_host:
                    weight = 0.0
                elif here > 2:
                    weight = min(weight, 1.5 * (own - math.log(here + 0.5)))
            weights.append(max(0.0, weight))
        return weights

    def to_bytes(self) -> tuple[bytes, bytes]:
        """The totals and the frequencies, to be kept."""
        totals = msgspec.json.encode(_Totals(dict(self.languages), dict(self.hosts)))
        return totals, zlib.compress(self._everywhere.tobytes() + self._on_host.tobytes(), 1)

    @classmethod
    def from_bytes(cls, totals: bytes, frequencies: bytes) -> FeatureFrequencies:
        """What `to_bytes` gave."""
        made = cls()
        kept = msgspec.json.decode(totals, type=_Totals)
        made.languages, made.hosts = Counter(kept.languages), Counter(kept.hosts)
        whole = zlib.decompress(frequencies)
        made._everywhere = array("H", whole[: 2 * _PLACES])
        made._on_host = array("H", whole[2 * _PLACES :])
        return made


_BARCODES = ("isbn", "ean", "gtin", "upc", "barcode", "codigodebarras", "jan")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]{1,200}", re.IGNORECASE)
_ISSN = re.compile(r"(?<![\dX])(\d{4})-?(\d{3}[\dX])(?![\dX])", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![\dX])\d(?:[ -]?\d){6,16}(?:[ -]?X)?(?![\dX])", re.IGNORECASE)
_MAX_FIELDS = 200
_MAX_TITLE = 300
#: Words that catalogues put behind a title: the form of a record or book, not what it is.
_EDITION = re.compile(r"\s*[\[(][^\])]{0,60}[\])]\s*$")


def read_identifiers(data: Mapping[str, Any]) -> list[str]:
    """The identifiers of a record, each with its scheme before a colon; the digits of nested records count too."""
    found: dict[str, None] = {}
    for name, text in _walk(data):
        plain = re.sub(r"[\W_\d]+", "", fold(name))
        if plain.startswith(_BARCODES) or plain.endswith(_BARCODES):
            found.update(dict.fromkeys(_read_barcodes(text)))
        elif plain == "issn":
            found.update((f"issn:{a}-{b.upper()}", None) for a, b in _ISSN.findall(text) if _issn_is_right(a + b))
        elif "doi" in plain or plain in ("identifier", "url", "sameas"):
            found.update((f"doi:{doi.lower().rstrip('.,;)')}", None) for doi in _DOI.findall(text))
    return list(found)


def read_name_keys(kind: str, data: Mapping[str, Any], roles: Roles) -> list[str]:
    """What a thing without an identifier is known by: its kind and title with each person behind it."""
    title = " ".join(re.findall(r"\w+", fold(_EDITION.sub("", roles.title))))[:_MAX_TITLE]
    if len(title) < 2:
        return []
    return [f"{kind}:{title}:{person}" for name in roles.people[:10] if (person := person_key(name))]


def person_key(name: str) -> str:
    """The words of a name in one order: "Bowie, David" and "David Bowie" are one."""
    return " ".join(sorted(word for word in re.findall(r"\w+", fold(name)) if len(word) > 1))[:_MAX_TITLE]


def _walk(data: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    for name, value in list(data.items())[:_MAX_FIELDS]:
        if str(name).startswith("@"):
            continue
        if isinstance(value, Mapping) and depth < 3:
            yield from _walk(value, depth + 1)
        else:
            yield from ((str(name), text[:500]) for text in as_texts(value))


def _read_barcodes(text: str) -> Iterator[str]:
    for found in _DIGITS.findall(text):
        digits = re.sub(r"[ -]", "", found).upper()
        if len(digits) == 10 and _isbn10_is_right(digits):
            digits = "978" + digits[:9]
            digits += _check_digit(digits)
        if not digits.isdigit() or len(digits) not in (8, 12, 13, 14) or len(set(digits)) < 3:
            continue
        digits = digits.zfill(14)
        if _check_digit(digits[:-1]) == digits[-1]:
            bare = digits.lstrip("0").zfill(13)[-13:] if digits[0] == "0" else digits
            yield f"{'isbn' if bare[:3] in ('978', '979') else 'ean'}:{bare}"


def _check_digit(digits: str) -> str:
    """The last digit of an EAN, for those before it."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits)))
    return str(-total % 10)


def _isbn10_is_right(digits: str) -> bool:
    if not digits[:9].isdigit():
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(value * (10 - place) for place, value in enumerate(values)) % 11 == 0


def _issn_is_right(digits: str) -> bool:
    values = [10 if digit in "xX" else int(digit) for digit in digits]
    return sum(value * (8 - place) for place, value in enumerate(values)) % 11 == 0
