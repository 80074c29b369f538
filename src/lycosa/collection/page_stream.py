"""A page's content in pieces, for files: memory holds one piece, however long the body is.

A file's name may promise a compression that the server undid for the browser alone: `data.tar.gz` with the header
`Content-Encoding: gzip` is the tar file to a browser that shows it, but the `.tar.gz` to everybody who saves it. So a
body that is saved under such a name keeps the coding that makes it what the name says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from itertools import chain
from pathlib import Path

from lycosa.archive.reader import StoredAnswer, opened_record
from lycosa.fetch.decode import decode, decode_pieces
from lycosa.model import ArchivePlace

#: The codings that are a file format of their own, each with its endings and how such files begin (brotli's anyhow).
_FORMATS = (
    (("gzip", "x-gzip"), (".gz", ".tgz", ".taz", ".svgz", ".emz", ".wmz"), b"\x1f\x8b"),
    (("zstd",), (".zst", ".tzst"), b"\x28\xb5\x2f\xfd"),
    (("br",), (".br",), b""),
)
_PEEKED = 4096  # bytes of which the first few are decoded


class PageStream:
    """Iterates over the content of a page; then `problem` says what could not be read, and `is_cut` whether it is cut.

    `find_holder` tells where the bytes stand if the page's own record does not hold them; `limit` bounds what is
    decompressed; `name` is that of the file.
    """

    def __init__(
        self,
        archive: Path,
        place: ArchivePlace,
        *,
        find_holder: Callable[[], ArchivePlace | None],
        limit: int,
        name: str = "",
    ) -> None:
        self.problem = ""
        self.is_cut = False
        self._archive = archive
        self._place = place
        self._find_holder = find_holder
        self._limit = limit
        self._name = name

    def __iter__(self) -> Iterator[bytes]:
        with ExitStack() as closing:
            record, pieces = closing.enter_context(self._opened(self._place))
            holder = record
            if record.kind == "revisit":  # the bytes stand once, with the first page that had them
                place = self._find_holder()
                if place is None:
                    self.problem = "no record holds its bytes"
                    return
                holder, pieces = closing.enter_context(self._opened(place))
            # Each page says for itself how equal bytes are to be read; but "not modified" says nothing of them.
            speaker = holder if record.status == 304 else record
            coding, pieces = keep_promise(self._name, speaker.headers.get("content-encoding", ""), pieces)
            problems: list[str] = []
            yield from decode_pieces(pieces, coding, limit=self._limit, problems=problems)
            self.is_cut = "too-large" in problems
            self.problem = holder.problem or ("damaged" if holder.kind == "unreadable" else "")

    def _opened(self, place: ArchivePlace) -> AbstractContextManager[tuple[StoredAnswer, Iterator[bytes]]]:
        return opened_record(self._archive / place.file, place.offset, length=place.length)


def keep_promise(name: str, coding: str, pieces: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """The codings that are to be undone before a body is saved under a name, and the body again."""
    codings = [each.strip().lower() for each in coding.split(",") if each.strip()]
    for known, endings, magic in _FORMATS:
        if codings and codings[0] in known and name.lower().endswith(endings):
            first = next(pieces, b"")
            pieces = chain((first,), pieces)
            content = decode(first[:_PEEKED], coding, limit=len(magic)).body
            if not magic or content != magic:  # else it was compressed twice, and is so without the coding
                return ", ".join(codings[1:]), pieces
    return coding, pieces
