"""Destination of an output: the file of `-o FILE` or the pipe, and the format, for people on a terminal or programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from lycosa.errors import Partial, UsageError
from lycosa.output.atomic_file import refuse_collection_path, whole_file
from lycosa.output.table import FORMATS, NO_TERMINAL, Format

_ALIASES = {"ndjson": "jsonl", "tab": "tsv"}
LISTS = ("csv", "tsv", "jsonl", "parquet", *_ALIASES)
#: Endings by which people and programs tell what is in a file; others may be part of any name.
_PROMISES = (
    *LISTS, "warc.gz", "tar.gz", "csv.gz", "gz", "tgz", "tar", "zip", "bz2", "xz", "zst", "7z", "rar", "json",
    "geojson", "html", "htm", "svg", "graphml", "gexf", "xml", "gml", "kml", "xlsx", "xls", "ods", "db",
    "sqlite", "sqlite3", "pdf", "png", "jpg", "jpeg", "warc", "wacz", "docx", "doc", "odt", "md", "yaml", "yml", "ttl",
    "rdf",
)  # fmt: skip


@contextmanager
def opened(output: str, form: str | None) -> Iterator[tuple[TextIO, Format]]:
    """The stream to write to and the format; a file appears under its name only when it is whole."""
    if output == "-":
        yield sys.stdout, _choose_format(form, "table" if sys.stdout.isatty() else "jsonl")
        return
    check_form(output, form)
    suffix = os.path.splitext(output)[1].removeprefix(".").lower()
    chosen_format = _choose_format(form, _ALIASES.get(suffix, suffix if suffix in FORMATS else "jsonl"))
    with whole_file(output) as part, open(part, "w", encoding="utf-8", newline="") as out:
        yield out, chosen_format


@contextmanager
def opened_bytes(output: str) -> Iterator[BinaryIO]:
    """The binary stream to write to; a terminal is refused."""
    if output != "-":
        with whole_file(output) as part, open(part, "wb") as out:
            yield out
    elif sys.stdout.isatty():
        raise UsageError(NO_TERMINAL)
    else:
        yield sys.stdout.buffer


def write_parts(output: str, parts: Iterable[bytes]) -> int:
    """Write the parts of a file, whole or not at all, or into the pipe; returns how many there were."""
    count = 0
    with opened_bytes(output) as out:
        for part in parts:
            out.write(part)
            count += 1
    return count


def report_written(output: str, said: str, *, partial: bool = False) -> None:
    """Print what a file or folder holds now; raises Partial where something could not be put into it."""
    if partial:
        raise Partial(f"{output}: {said}")
    if output != "-":
        print(f"lycosa: {output}: {said}", file=sys.stderr)


def check_ending(output: str, endings: Sequence[str] = (), *, choice: bool = False) -> None:
    """Refuse a name whose ending promises something else than these; without any, for a folder, every such ending.

    With `choice` the error text also names the option --format.
    """
    promised = next((ending for ending in _PROMISES if output.lower().endswith(f".{ending}")), "")
    if not promised or promised in endings or output == "-" or os.path.isdir(output):
        return
    refuse_collection_path(output)  # its error matters more
    known = ", ".join(f".{ending}" for ending in endings if ending not in _ALIASES)
    also = ", or a format with --format" if choice else ""
    named = f"a file that ends in {known}{also}" if endings else "a folder"
    raise UsageError(f"{output} ends in .{promised}, which this does not write: name {named}.")


def check_form(output: str, form: str | None) -> None:
    """Refuse a name that promises another list than the chosen format; without a format, any that promises no list."""
    if form is None:
        check_ending(output, LISTS, choice=True)
        return
    suffix = os.path.splitext(output)[1].removeprefix(".").lower()
    if output == "-" or suffix not in LISTS or _ALIASES.get(suffix, suffix) == form or os.path.isdir(output):
        return
    refuse_collection_path(output)
    raise UsageError(f"{output} ends in .{suffix}, and --format is {form}: name another file, or leave --format out.")


def check_place(output: str, form: str | None = None) -> None:
    """Refuse a file that could not be written, or not in the format that its name promises, before the work is done."""
    if output == "-":
        return
    check_form(output, form)
    if os.path.isdir(output):
        raise UsageError(f"{output} is a folder; name a file.")
    if os.path.exists(output) and not os.path.isfile(output):
        return
    refuse_collection_path(output)
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"{output} cannot be written: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{output} cannot be written: no permission to write to {folder}.")


def _choose_format(form: str | None, default: str) -> Format:
    word = form or default
    return next(known for known in FORMATS if known == word)
