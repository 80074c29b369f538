"""Compiled thesaurus: one compact file that every worker maps into its memory, so that none of it is read at start.

Every label, and every word of a label of several words, is a 64-bit hash in one sorted array; a look-up is a binary
search in C. Hashes, concepts and marks are parallel arrays; what only people ask for is compressed behind them.
"""

from __future__ import annotations

import mmap
import os
import re
import sys
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import xxhash
import zstandard
from msgspec import Struct

from lycosa.errors import UsageError
from lycosa.text.terms import content_words, stem, stop_words
from lycosa.text.vocabulary import Concept, Group, Vocabulary

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
