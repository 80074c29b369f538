"""Seeds: the addresses at which a crawl begins, from the command line, a mission, and lists of several kinds.

`read_seeds` returns normalised http(s) URLs, each once and in order, or raises one `UsageError` that names all words
that are none. A list is a file of text, CSV or a sitemap, each also compressed by gzip. Every kind but the sitemap is
read as a stream, so that a sample of a huge one (`--sample`) needs only its own memory.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heappush, heapreplace
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from lycosa.config.fields import nearest
from lycosa.config.host_rules import mask
from lycosa.config.settings import Mission
from lycosa.config.value_parsers import SCHEME, Wrong, as_url
from lycosa.errors import UsageError

_SHOWN = 10
#: A sitemap holds at most 50 MB by its protocol (sitemaps.org); somewhat more is let through.
_SITEMAP_BYTES = 64 << 20
_LINE_BYTES = 1 << 17
_BOM = b"\xef\xbb\xbf"

#: What a column of addresses is usually called, best first.
_COLUMN_NAMES = (
    "url",
    "uri",
    "link",
    "href",
    "address",
    "website",
    "homepage",
    "web",
    "site",
    "seed",
    "domain",
    "host",
)


class ListedSeed(Struct, frozen=True, order=True, gc=False):
    """One address as written, and where it stands."""

    text: str
    source: str = ""  # a file; empty for the command line
    line: int = 0


class Seeds(Struct, frozen=True):
    """The seeds of a crawl."""

    urls: tuple[str, ...]  # normalised, each once, in the order given
    read: int  # how many addresses there were before sampling and before equal ones were dropped
    written: dict[str, str] = {}  # by URL, how it was written where that differs


class _Sampled(Struct, frozen=True, order=True, gc=False):
    """A member of the sample; the first of the heap is the next to be replaced."""

    rank: int  # negative hash
    order: int
    entry: ListedSeed


def read_seeds(
    words: Iterable[str] = (),
    *,
    files: Sequence[str] = (),
    column: str = "",
    sample: int = 0,
    sample_seed: int = 0,
    stdin: BinaryIO | None = None,
) -> Seeds:
    """The URLs among `words` and in `files` (`-` is stdin, `FILE.csv:COLUMN` a column); `sample` of them, 0 for all."""
    if sample < 0:
        raise UsageError(f"--sample: found {sample}; allowed: a whole number, 1 or more")
    entries = _entries(words, files, column, stdin or sys.stdin.buffer)
    if sample:
        chosen, read = _sample(entries, sample, sample_seed)
        return _resolve(chosen, read)
    return _resolve(entries, None)


def _entries(words: Iterable[str], files: Sequence[str], column: str, stdin: BinaryIO) -> Iterator[ListedSeed]:
    for word in words:
        yield ListedSeed(word)
    for name in files:
        if re.match(SCHEME, name):
            yield ListedSeed(name)  # a sitemap or a list on the network is the crawler's to follow
        else:
            yield from read_list(name, column=column, stdin=stdin)


def _sample(entries: Iterable[ListedSeed], size: int, seed: int) -> tuple[list[ListedSeed], int]:
    """The entries whose seeded hashes are smallest: uniform, each text once, the same for the same list.

    A reservoir of random draws would choose others when the same command continues a crawl; this does not.
    """
    from xxhash import xxh3_64_intdigest

    heap: list[_Sampled] = []
    held: set[int] = set()
    count = 0
    for count, entry in enumerate(entries, 1):  # noqa: B007
        rank = -xxh3_64_intdigest(entry.text.strip().encode("utf-8", "surrogatepass"), seed)
        if rank in held or (len(heap) == size and rank < heap[0].rank):
            continue
        held.add(rank)
        if len(heap) < size:
            heappush(heap, _Sampled(rank, count, entry))
        else:
            held.discard(heapreplace(heap, _Sampled(rank, count, entry)).rank)
    return [chosen.entry for chosen in sorted(heap, key=lambda chosen: chosen.order)], count


def _resolve(entries: Iterable[ListedSeed], read: int | None) -> Seeds:
    urls: dict[str, str] = {}
    bad: list[str] = []
    count = bad_count = 0
    for count, entry in enumerate(entries, 1):  # noqa: B007
        try:
            urls.setdefault(as_url(entry.text), entry.text.strip())
        except Wrong as wrong:
            bad_count += 1
            if bad_count <= _SHOWN:
                bad.append(_describe_problem(entry, wrong))
    if bad:
        more = f"\n… and {bad_count - _SHOWN} more" if bad_count > _SHOWN else ""
        verb = "seed is no address" if bad_count == 1 else "seeds are no addresses"
        raise UsageError(f"{bad_count} {verb}; nothing was fetched:\n" + "\n".join(bad) + more)
    # Half a surrogate pair (a byte of the command line that is no text) could not be stored.
    written = {url: text.encode(errors="replace").decode() for url, text in urls.items() if text != url}
    return Seeds(tuple(urls), count if read is None else read, written)


def _describe_problem(entry: ListedSeed, wrong: Wrong) -> str:
    place = f"{entry.source}:{entry.line}: " if entry.source else ""
    found = mask(("seeds",), entry.text.strip())
    shown = found if len(found) <= 80 else found[:80] + "…"
    hint = ""
    if not entry.source and len(found) < 4096 and "\0" not in found and os.path.isfile(found):
        hint = f"; for the list in that file: --seeds {shown}"
    return f"  {place}found {shown!r}; allowed: {wrong.allowed}{hint}"


# Seeds of a mission


def settle_seeds(
    mission: Mission,
    words: Sequence[str] = (),
    *,
    files: Sequence[str] = (),
    column: str = "",
    sample: int = 0,
    sample_seed: int = 0,
) -> tuple[Mission, dict[str, str]]:
    """The mission with the seeds that are named, or else its own; and by URL, how one was written where that differs.

    The list that a collection keeps is not read here: the database has it.
    """
    if not words and not files:
        words = mission.seeds
        files = [mission.seeds_file] if mission.seeds_file and not is_kept(mission.seeds_file) else []
    seeds = read_seeds(words, files=files, column=column, sample=sample, sample_seed=sample_seed)
    kept = mission.seeds_file if is_kept(mission.seeds_file) else ""
    return replace(mission, seeds=seeds.urls, seeds_file=kept), seeds.written


def is_kept(name: str) -> bool:
    """Whether this is the name of a list that a collection keeps beside its mission."""
    return bool(re.fullmatch(r"seeds-[0-9a-f]{16}\.txt", name))


# Lists


def read_list(name: str, *, column: str = "", stdin: BinaryIO) -> Iterator[ListedSeed]:
    """The addresses in a file (`-`: stdin) of any of these kinds."""
    path, column = _split_column(name, column)
    source = "stdin" if path == "-" else path
    import zlib

    try:
        with _opened(path, stdin) as stream:
            start = stream.peek(512)[:512]
            if start.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise UsageError(f"{source}:1: the text is in UTF-16; allowed: UTF-8 or Latin-1")
            if b"\r" in start and b"\n" not in start:  # the ends of lines are those of old Macintoshes
                stream = io.BytesIO(stream.read().replace(b"\r", b"\n"))
            if start.removeprefix(_BOM).lstrip().startswith(b"<"):
                yield from _read_sitemap(stream.read(_SITEMAP_BYTES + 1), source)
            elif column or path.removesuffix(".gz").lower().endswith((".csv", ".tsv")):
                yield from _read_csv(stream, source, column)
            else:
                yield from _read_text(stream, source)
    except FileNotFoundError:
        raise UsageError(f"{source}: there is no such file; allowed: a list of addresses, or - for stdin") from None
    except IsADirectoryError:
        raise UsageError(f"{source}: this is a folder; allowed: a list of addresses") from None
    except (EOFError, zlib.error, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{source}: the list cannot be read ({reason})") from None


def _split_column(name: str, column: str) -> tuple[str, str]:
    path, colon, last = name.rpartition(":")
    if not column and colon and path and last and not os.path.exists(name):
        return path, last
    return name, column


@contextmanager
def _opened(path: str, stdin: BinaryIO) -> Iterator[Any]:
    """The file's bytes, decompressed; the stream can be peeked into."""
    raw: Any = stdin if path == "-" else open(path, "rb")  # noqa: SIM115
    try:
        stream = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
        if stream.peek(2)[:2] == b"\x1f\x8b":
            import gzip

            stream = io.BufferedReader(gzip.GzipFile(fileobj=stream))
        yield stream
    finally:
        if path != "-":
            raw.close()


def _read_text(stream: BinaryIO, source: str) -> Iterator[ListedSeed]:
    for text, line in _lines(stream):
        word = text.strip()
        if word and word[0] != "#":
            comment = word.find(" #")
            yield ListedSeed(word if comment < 0 else word[:comment].rstrip(), source, line)


def _lines(stream: BinaryIO) -> Iterator[tuple[str, int]]:
    """The lines as text, UTF-8 or else Latin-1; of a line that is too long, its first part."""
    line = 0
    while chunk := stream.readline(_LINE_BYTES):
        line += 1
        rest = chunk
        while len(rest) == _LINE_BYTES and rest[-1:] != b"\n":
            rest = stream.readline(_LINE_BYTES)
        if line == 1:
            chunk = chunk.removeprefix(_BOM)
        try:
            yield chunk.decode(), line
        except UnicodeDecodeError:
            yield chunk.decode("latin-1"), line


def _read_csv(stream: BinaryIO, source: str, column: str) -> Iterator[ListedSeed]:
    import csv

    lines = _lines(stream)
    first = next(lines, None)
    if first is None:
        return
    delimiter = max("\t;,|", key=re.sub('"[^"]*"', "", first[0]).count)
    reader = csv.reader(_with_first(first[0], lines), delimiter=delimiter)
    try:
        head = next(reader)
        at, named = _find_column(head, column, source)
        if not named and at < len(head):
            yield ListedSeed(head[at], source, 1)
        for row in reader:
            if at < len(row) and row[at].strip():
                yield ListedSeed(row[at], source, reader.line_num)
    except csv.Error as error:
        raise UsageError(f"{source}:{reader.line_num}: not valid CSV: {error}") from None


def _with_first(first: str, lines: Iterator[tuple[str, int]]) -> Iterator[str]:
    yield first
    for text, _ in lines:
        yield text


def _find_column(head: list[str], column: str, source: str) -> tuple[int, bool]:
    """The index of the column, and whether the first row only names it."""
    names = [cell.strip().lower() for cell in head]
    word = column.strip().lower()
    has_names = not any("://" in name for name in names)
    # A number counts columns, also where such a number stands in the first row of the data.
    if word in names and not (word.isdecimal() and any(map(_is_address, head))):
        return names.index(word), True
    if word.isdecimal() and 0 < int(word[:9]) <= len(names):
        at = int(word) - 1
        return at, has_names and not _is_address(head[at])
    listed = ", ".join(cell.strip()[:40] for cell in head[:50])
    if column:
        meant = nearest(column, [cell.strip() for cell in head])
        hint = f" (did you mean {meant}?)" if meant else ""
        raise UsageError(f"{source}:1: no column {column[:60]!r}{hint}; allowed: {listed}, or 1 to {len(names)}")
    if not has_names:
        return next(i for i, name in enumerate(names) if "://" in name), False
    found = next((names.index(name) for name in _COLUMN_NAMES if name in names), 0 if len(names) == 1 else None)
    if found is None:
        raise UsageError(
            f"{source}:1: which column holds the addresses? Allowed: {source}:COLUMN with one of {listed},"
            f" or 1 to {len(names)}"
        )
    return found, not _is_address(head[found])


def _is_address(cell: str) -> bool:
    """Whether a cell of the first row is a seed rather than the name of a column, which may be an abbreviation."""
    try:
        as_url(cell)
    except Wrong:
        return False
    return "." in cell.strip()[:-1] or ":" in cell


def _read_sitemap(data: bytes, source: str) -> Iterator[ListedSeed]:
    """The `loc` of each `url` (or `sitemap`, in an index of sitemaps); entities are refused, nothing else is loaded."""
    from xml.parsers import expat

    if len(data) > _SITEMAP_BYTES:
        raise UsageError(f"{source}: larger than {_SITEMAP_BYTES >> 20} MiB; allowed: a sitemap of up to that size")
    parser = expat.ParserCreate()
    parser.buffer_text = True
    walk = _SitemapWalk(parser, source)
    parser.StartElementHandler = walk.start
    parser.EndElementHandler = walk.end
    parser.CharacterDataHandler = walk.text
    parser.EntityDeclHandler = walk.refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise UsageError(f"{source}:{parser.CurrentLineNumber}: not well-formed XML: {error}") from None
    yield from walk.found


class _SitemapWalk:
    """The handlers of an expat parser that collects the addresses of a sitemap."""

    def __init__(self, parser: Any, source: str) -> None:
        self.parser = parser
        self.source = source
        self.depth = 0
        self.parent = ""
        self.line = 0
        self.parts: list[str] | None = None
        self.found: list[ListedSeed] = []

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        self.depth += 1
        local = name.rpartition(":")[2]
        if self.depth == 1 and local not in ("urlset", "sitemapindex"):
            line = self.parser.CurrentLineNumber
            raise UsageError(
                f"{self.source}:{line}: found <{name[:60]}>; allowed: a sitemap (<urlset>, <sitemapindex>)"
            )
        if self.depth == 2:
            self.parent = local
        elif self.depth == 3 and local == "loc" and self.parent in ("url", "sitemap"):
            self.parts, self.line = [], self.parser.CurrentLineNumber

    def end(self, _name: str) -> None:
        if self.depth == 3 and self.parts is not None:
            self.found.append(ListedSeed("".join(self.parts), self.source, self.line))
            self.parts = None
        self.depth -= 1

    def text(self, data: str) -> None:
        if self.parts is not None and self.depth == 3:
            self.parts.append(data)

    def refuse(self, name: str, *_rest: object) -> None:
        line = self.parser.CurrentLineNumber
        raise UsageError(f"{self.source}:{line}: found the declaration of an entity ({name[:60]}); allowed: none")
