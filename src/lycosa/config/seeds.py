"""Seeds: the addresses at which a crawl begins, from the command line, a mission, and lists of several kinds.

`read_seeds` returns normalised http(s) URLs, each once and in order, or raises one `UsageError` that names all words
that are none. A list is read as a stream, so that a sample of a huge one (`--sample`) needs only its own memory.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappush, heapreplace
from typing import BinaryIO

from msgspec import Struct

from lycosa.config.secrets import mask
from lycosa.config.seed_lists import ListedSeed, read_list
from lycosa.config.value_parsers import SCHEME, Wrong, as_url
from lycosa.errors import UsageError

_SHOWN = 10


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
