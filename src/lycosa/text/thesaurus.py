"""Thesaurus: how relevant a text is to its subject, in microseconds; its data model, and its compiled file.

relevance = Σ share(t) · strength(t) over the ten best terms t of a page, where share(t) is the part of their
occurrences that t has, and strength(t) is 1 if t is a label of the thesaurus, n / (n + 2) if it is a word of n labels
of several words, 0 otherwise. Only concepts of the chosen themes, and labels in the language of the page, count.

Compiled, it is one compact file that every worker maps into its memory, so that none of it is read at start. Every
label, and every word of a label of several words, is a 64-bit hash in one sorted array; a look-up is a binary search in
C. Hashes, concepts and marks are parallel arrays; what only people ask for is compressed behind them.
"""

from __future__ import annotations

import mmap
import os
import re
import sys
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import xxhash
import zstandard
from msgspec import Struct

from lycosa.errors import UsageError
from lycosa.text.fold import fold
from lycosa.text.terms import content_words, extract, primary, stem, stop_words


class Concept(Struct, omit_defaults=True):
    """One meaning; other concepts and groups are given by their place in the vocabulary."""

    uri: str
    labels: dict[str, list[str]] = {}  # by language, the preferred one first; "" where none is given
    broader: list[int] = []
    narrower: list[int] = []
    related: list[int] = []
    groups: list[int] = []
    definition: dict[str, str] = {}

    def label(self, language: str = "en") -> str:
        """The preferred label in this language, or else in another one."""
        for code in (language, "en", ""):
            if self.labels.get(code):
                return self.labels[code][0]
        return next((names[0] for names in self.labels.values() if names), self.uri)


class Group(Struct, omit_defaults=True):
    """A theme, a group, a collection, or all that is below a top concept."""

    uri: str
    kind: str  # theme, group, supergroup, collection, top concept, scheme
    labels: dict[str, list[str]] = {}
    members: list[int] = []  # concepts, also those of the groups within it

    def label(self, language: str = "en") -> str:
        """Its name in this language, or else in another one."""
        for code in (language, "en", ""):
            if self.labels.get(code):
                return self.labels[code][0]
        return next((names[0] for names in self.labels.values() if names), self.uri)


class Vocabulary(Struct):
    """The concepts and groups of a whole thesaurus."""

    name: str
    title: str
    concepts: list[Concept]
    groups: list[Group]
    licence: str = ""

    @property
    def languages(self) -> list[str]:
        """The languages that labels are in, those with most labels first."""
        counts: dict[str, int] = {}
        for concept in self.concepts:
            for code, names in concept.labels.items():
                counts[code] = counts.get(code, 0) + len(names)
        return sorted((code for code in counts if code), key=lambda code: (-counts[code], code))


SUFFIX = ".thesaurus"
_MAGIC = b"lycosa thesaurus 2\n"
#: Of files whose labels were folded in another way: they are indexed anew when they are opened.
_FORMER_MAGIC = b"lycosa thesaurus 1\n"
_HEADER_BYTES = 8
_MAX_HEADER = 1 << 20
#: A label of more words is a sentence, which no text repeats.
MAX_WORDS = 6
#: A mark has 16 bits; labels in further languages count as those without one.
_MAX_LANGUAGES = 1000
_QUALIFIER = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
#: The key under which stems are found.
hash_of = xxhash.xxh3_64_intdigest


class Header(Struct):
    """The header of a compiled thesaurus: what it holds, and where."""

    name: str
    title: str
    licence: str
    languages: list[str]  # a mark's language is a place in this list, or their number where a label has none
    concepts: int
    labels: int
    groups: int
    statements: int
    byteorder: str
    sections: dict[str, tuple[int, int]]  # offset behind the header, and bytes
    checksum: int = 0  # of all behind the header


class CompiledThesaurus:
    """A compiled thesaurus that is open for look-ups."""

    def __init__(self, data: bytes | mmap.mmap, *, source: str) -> None:
        self.source = source
        self._view = memoryview(data)
        self.header, self._start = _read_header(self._view, source)
        self.hashes = self._section("hashes").cast("Q")
        self.concepts = self._section("concepts").cast("I")
        self.marks = self._section("marks").cast("H")  # language × 2 + 1 if the whole label

    def _section(self, name: str) -> memoryview:
        offset, size = self.header.sections[name]
        return self._view[self._start + offset : self._start + offset + size]

    def _unpack(self, name: str) -> bytes:
        return zstandard.ZstdDecompressor().decompress(self._section(name))

    def find(self, term: str, language: str = "") -> tuple[list[int], list[int]]:
        """The concepts that have this label in any language, and those that have it as a part of a longer one."""
        whole: dict[int, None] = {}
        parts: dict[int, None] = {}
        # A word may be a stop word in one language and a label in another.
        for code in dict.fromkeys((language, "")):
            key = hash_of(b" ".join(split_label(term, code)))
            place = bisect_left(self.hashes, key)
            while place < len(self.hashes) and self.hashes[place] == key:
                (whole if self.marks[place] & 1 else parts)[self.concepts[place]] = None
                place += 1
        return sorted(whole), sorted(parts)

    def read_groups(self) -> list[Group]:
        """Every theme, group and collection."""
        return msgspec.msgpack.decode(self._unpack("groups"), type=list[Group])

    def read_concepts(self) -> list[Concept]:
        """Every concept, by its number."""
        return msgspec.msgpack.decode(self._unpack("catalogue"), type=list[Concept])

    def read_graph(self) -> bytes:
        """All statements as N-Triples."""
        return self._unpack("graph")


def open_compiled(file: Path) -> CompiledThesaurus:
    """Map a compiled thesaurus into memory; raises UsageError for a file that is none, or damaged."""
    try:
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_size < len(_MAGIC) + _HEADER_BYTES:
                raise UsageError(f"{file}: this is no compiled thesaurus; lycosa thesaurus import makes one")
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise UsageError(f"{file}: the thesaurus cannot be read ({error.strerror})") from None
    found = CompiledThesaurus(data, source=str(file))
    return _index_anew(found, file) if data[: len(_FORMER_MAGIC)] == _FORMER_MAGIC else found


def _index_anew(former: CompiledThesaurus, file: Path) -> CompiledThesaurus:
    """A thesaurus whose labels were folded in another way, compiled as today, in its place if it can be written."""
    header = former.header
    vocabulary = Vocabulary(
        name=header.name,
        title=header.title,
        licence=header.licence,
        concepts=former.read_concepts(),
        groups=former.read_groups(),
    )
    data = compile_vocabulary(vocabulary, former.read_graph(), statements=header.statements)
    with suppress(OSError):  # somebody else's file, which the next one indexes again
        write_compiled(data, file)
    return CompiledThesaurus(data, source=former.source)


def _read_header(view: memoryview, source: str) -> tuple[Header, int]:
    start = len(_MAGIC) + _HEADER_BYTES
    if bytes(view[: len(_MAGIC)]) not in (_MAGIC, _FORMER_MAGIC):
        raise UsageError(f"{source}: this is no compiled thesaurus; lycosa thesaurus import makes one")
    size = int.from_bytes(view[len(_MAGIC) : start], "little")
    try:
        header = msgspec.json.decode(view[start : start + min(size, _MAX_HEADER)], type=Header)
    except msgspec.MsgspecError:
        header = None
    body = view[start + size :]
    if header is None or header.checksum != hash_of(body):
        raise UsageError(f"{source}: the thesaurus is damaged; import it again")
    if header.byteorder != sys.byteorder:
        raise UsageError(f"{source}: the thesaurus was made on another kind of machine; import it again")
    return header, start + size


def compile_vocabulary(vocabulary: Vocabulary, graph: bytes, *, statements: int) -> bytes:
    """The bytes of a compiled thesaurus; `graph` is what SPARQL will read, as N-Triples."""
    languages = vocabulary.languages[:_MAX_LANGUAGES]
    entries = sorted(_index(vocabulary, {code: place for place, code in enumerate(languages)}))
    pack = zstandard.ZstdCompressor(level=6).compress
    parts = {
        "hashes": array("Q", [entry[0] for entry in entries]).tobytes(),
        "marks": array("H", [entry[2] for entry in entries]).tobytes(),
        "concepts": array("I", [entry[3] for entry in entries]).tobytes(),
        "groups": pack(msgspec.msgpack.encode(vocabulary.groups)),
        "catalogue": pack(msgspec.msgpack.encode(vocabulary.concepts)),
        "graph": pack(graph),
    }
    sections: dict[str, tuple[int, int]] = {}
    body = bytearray()
    for name, data in parts.items():
        sections[name] = (len(body), len(data))
        body += data + bytes(-len(data) % 8)
    labels = sum(len(names) for concept in vocabulary.concepts for names in concept.labels.values())
    described = Header(
        name=vocabulary.name,
        title=vocabulary.title,
        licence=vocabulary.licence,
        languages=languages,
        concepts=len(vocabulary.concepts),
        labels=labels,
        groups=len(vocabulary.groups),
        statements=statements,
        byteorder=sys.byteorder,
        sections=sections,
        checksum=hash_of(body),
    )
    header = msgspec.json.encode(described)
    # Arrays begin at a multiple of 8 bytes: blanks behind the JSON fill up to it.
    header += b" " * (-(len(_MAGIC) + _HEADER_BYTES + len(header)) % 8)
    return b"".join((_MAGIC, len(header).to_bytes(_HEADER_BYTES, "little"), header, body))


def _index(vocabulary: Vocabulary, languages: dict[str, int]) -> Iterator[tuple[int, int, int, int]]:
    """Hash, whether it is a part, mark and concept of each label, and of each word in a label of several.

    In this order whole labels come first: a look-up that finds one need not see the hundred that have it as a word.
    """
    for number, concept in enumerate(vocabulary.concepts):
        entries: set[tuple[int, int]] = set()
        for code, names in concept.labels.items():
            mark = 2 * languages.get(code, len(languages))
            for name in names:
                stems = split_label(name, code)
                if 0 < len(stems) <= MAX_WORDS:
                    entries.add((hash_of(b" ".join(stems)), mark + 1))
                    if len(stems) > 1:
                        entries.update((hash_of(word), mark) for word in stems)
        for key, mark in entries:
            yield key, 1 - (mark & 1), mark, number


def split_label(label: str, language: str) -> list[bytes]:
    """The stems of a label's words, without stop words and without what stands in brackets behind it."""
    return [stem(word) for word in content_words(_QUALIFIER.sub("", label), stop_words(language))]


def write_compiled(data: bytes, file: Path) -> None:
    """Write a compiled thesaurus atomically; processes that have the old one open keep it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)
        os.replace(name, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


#: Words and short texts whose relevance is cached: a site's menu stands on each of its pages.
_MAX_CACHED = 20_000
#: Words of a short text that are looked at.
_SHORT_WORDS = 40
_SHORT_CHARS = 1_000
#: Characters of a text that is cached: menus are short, and a hostile page must not fill the memory.
_MAX_CACHED_CHARS = 100
#: A word in so many labels of several words counts half as much as a label of its own.
_HALF = 2


class TermWeight(Struct, frozen=True):
    """What one term adds to the relevance of a page."""

    term: str
    share: float
    strength: float


class RelevanceReport(Struct, frozen=True):
    """The relevance of a page, and the terms that it comes from."""

    relevance: float  # 0 to 1
    language: str  # two letters, or empty
    weights: tuple[TermWeight, ...]


class Thesaurus:
    """A thesaurus restricted to themes and languages, which tells how much a text is about its subject."""

    def __init__(
        self, compiled: CompiledThesaurus, *, themes: Sequence[str] = (), languages: Sequence[str] = ()
    ) -> None:
        self.compiled = compiled
        self.name = compiled.header.name
        self.languages = tuple(compiled.header.languages)
        self._hashes = compiled.hashes
        self._size = len(compiled.hashes)
        wanted = {primary(language) for language in languages}
        if unknown := wanted - set(self.languages):
            raise UsageError(
                f"the thesaurus {self.name} has no labels in {', '.join(sorted(unknown))}; "
                f"allowed: {', '.join(self.languages)}"
            )
        self._masks = self._make_masks(wanted)
        self._allowed = self._restrict(themes) if themes else b""
        self._words: dict[str, dict[bytes, float]] = {language: {} for language in self._masks}
        self._texts: dict[tuple[str, str], float] = {}
        self._stops = {code: stop_words(code) for code in self._masks if code}
        self._all_stops = frozenset().union(*self._stops.values())

    def relevance(self, text: str, language: str = "") -> float:
        """How much a page is about the subject, 0 to 1; `language` as the page declares it."""
        terms = extract(text, language)
        best = terms.best
        if not best:
            return 0.0
        known = self._words.get(terms.language)
        if known is None:
            known = self._words[""]
        total = found = 0.0
        for word, count in best:
            strength = known.get(word)
            if strength is None:
                strength = self._cache_strength(known, word, terms.language)
            total += count
            found += count * strength
        return found / total

    def explain(self, text: str, language: str = "") -> RelevanceReport:
        """The relevance of a page with its language and what each term adds."""
        terms = extract(text, language)
        total = sum(count for _, count in terms.best) or 1
        weights = tuple(
            TermWeight(word.decode("utf-8", "replace"), count / total, self._weigh(stem(word), terms.language))
            for word, count in terms.best
        )
        return RelevanceReport(sum(weight.share * weight.strength for weight in weights), terms.language, weights)

    def relevance_short(self, text: str, language: str = "") -> float:
        """How much of an anchor, a context or a title is made of the thesaurus's labels, 0 to 1.

        Labels of several words count where they stand whole; `language` is the page's, empty where nobody knows.
        """
        key = (text, language)
        value = self._texts.get(key)
        if value is not None:
            return value
        value = self._cover(text, primary(language))
        if len(text) + len(language) <= _MAX_CACHED_CHARS:
            if len(self._texts) >= _MAX_CACHED:
                self._texts.clear()
            self._texts[key] = value
        return value

    def _cache_strength(self, known: dict[bytes, float], word: bytes, language: str) -> float:
        if len(known) >= _MAX_CACHED:
            known.clear()
        strength = known[word] = self._weigh(stem(word), language)
        return strength

    def _cover(self, text: str, language: str) -> float:
        """The part of a short text's words that whole labels cover, the longest first: of a label of several words one
        alone says nothing in an anchor, as "cuatro" of "tourist accommodation of category four".
        """
        stems = [stem(word) for word in content_words(text[:_SHORT_CHARS], self._stops_of(language))[:_SHORT_WORDS]]
        covered = place = 0
        while place < len(stems):
            known = self._weigh(stems[place], language)  # 0: no label has this word
            longest = min(MAX_WORDS, len(stems) - place) if known else 0
            while longest > 1 and self._weigh(b" ".join(stems[place : place + longest]), language) < 1:
                longest -= 1
            covered += longest if longest > 1 or known == 1 else 0
            place += max(1, longest)
        return covered / len(stems) if stems else 0.0

    def _stops_of(self, language: str) -> frozenset[bytes]:
        """The stop words of a language; if it is not known, those of all languages of the thesaurus."""
        return self._stops.get(language, self._all_stops)

    def _weigh(self, stems: bytes, language: str) -> float:
        """The strength of a term."""
        key = hash_of(stems)
        hashes = self._hashes
        place = bisect_left(hashes, key)
        mask = self._masks.get(language) or self._masks[""]
        marks, concepts, allowed = self.compiled.marks, self.compiled.concepts, self._allowed
        labels = 0
        while place < self._size and hashes[place] == key:
            mark = marks[place]
            if mask[mark >> 1] and (not allowed or allowed[concepts[place]]):
                if mark & 1:
                    return 1.0
                labels += 1
            place += 1
        return labels / (labels + _HALF)

    def _make_masks(self, wanted: set[str]) -> dict[str, bytes]:
        """Which languages of labels count for a page in each language; under "": for a page in any other language."""
        codes = [*self.languages, ""]
        wanted = wanted or set(self.languages)
        masks = {code: bytes(other in (code, "") for other in codes) for code in wanted}
        return {**masks, "": bytes(code in wanted or not code for code in codes)}

    def _restrict(self, themes: Sequence[str]) -> bytes:
        """Which concepts are in one of the themes, a byte each."""
        allowed = bytearray(self.compiled.header.concepts)
        for group in find_groups(self.compiled.read_groups(), themes, source=self.name):
            for place in group.members:
                allowed[place] = 1
        return bytes(allowed)


def find_groups(groups: Sequence[Group], themes: Iterable[str], *, source: str) -> list[Group]:
    """The groups that names or URIs mean: the one with the whole name, else every one whose name holds the words."""
    found: dict[str, Group] = {}
    for theme in themes:
        wanted = fold(theme.strip())
        names = [(group, {fold(name) for names in group.labels.values() for name in names}) for group in groups]
        same = [group for group, own in names if wanted in own or theme in (group.uri, group.uri.rpartition("/")[2])]
        # A theme of that name is meant, although a top concept may have it as well.
        same = same[:1] or [
            group
            for group, own in names
            if group.kind != "top concept" and any(set(wanted.split()) <= set(_split_name(name)) for name in own)
        ]
        if not wanted or not same:
            shown = ", ".join(f'"{group.label()}"' for group in groups[:40])
            raise UsageError(
                f'the thesaurus {source} has no theme "{theme}"; allowed: {shown or "none, it has no themes"}'
                + (f" … (lycosa thesaurus themes --thesaurus {source} shows all {len(groups)})" if shown else "")
            )
        found |= {group.uri: group for group in same}
    return list(found.values())


def _split_name(name: str) -> list[str]:
    return "".join(mark if mark.isalnum() else " " for mark in name).split()
