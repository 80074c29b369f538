"""The exports of an analysed collection: documents chosen by what was found of them, and what needs what (X12)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from lycosa.cli.analyse import load_part
from lycosa.cli.output import check_ending, check_form, conclude, opened, opened_bytes
from lycosa.errors import UsageError
from lycosa.output.wording import counted

if TYPE_CHECKING:
    from lycosa.analysis.selection import Selected, Selection

KINDS = ("folder", "addresses", "dependencies", "schema")
#: Other exports that can be of chosen documents alone.
OF_DOCUMENTS = (*KINDS, "warc")
#: How names of files may end; a name without such an ending is a folder.
_ENDINGS: dict[str, tuple[str, ...]] = {
    "folder": ("zip", "tar", "tar.gz", "tgz"),
    "addresses": ("txt", "csv"),
    "schema": (),
    "warc": ("warc.gz",),
}


class Wish(Struct, frozen=True):
    """What was asked for on the command line."""

    output: str
    form: str | None = None
    address: str = ""
    select: str = ""
    cluster: str = ""
    host: str = ""
    corrected: bool = False
    missing: bool = False
    raw: bool = False


def export_documents(kind: str, collection: str, wish: Wish) -> None:
    """Write what was asked for."""
    from lycosa.analysis.selection import Selected
    from lycosa.analysis.selection import opened as picked

    _check(kind, wish)
    pick = Selected(wish.select, wish.cluster, wish.host, wish.corrected)
    with picked(collection, load_part("xml")) as picker:
        partial = False
        if kind == "folder":
            said, partial = _write_folder(picker, pick, wish)
        elif kind == "addresses":
            said = _write_addresses(picker, pick, wish)
        elif kind == "dependencies":
            said = _write_dependencies(picker, pick, wish)
        elif kind == "warc":
            said = _write_warc(picker, pick, wish)
        else:
            said, partial = _write_schema(picker, wish)
    conclude(wish.output, said, partial=partial)


def _check(kind: str, wish: Wish) -> None:
    if kind not in OF_DOCUMENTS:
        raise UsageError(f"--select and --cluster go with {', '.join(OF_DOCUMENTS)}, not with {kind}.")
    for option, given, only in (
        ("--corrected", wish.corrected, "folder"),
        ("--missing", wish.missing, "addresses"),
        ("an address", wish.address, "schema"),
        ("--format", wish.form, "dependencies"),
    ):
        if given and kind != only:
            raise UsageError(f"{option} goes with {only}, not with {kind}.")
    if kind == "schema" and not wish.address:
        raise UsageError("Name the schema that is wanted: lycosa export schema URL -o DIR.")
    if kind in ("folder", "schema") and wish.output == "-":
        what = "a folder, or a .zip, .tar or .tar.gz file," if kind == "folder" else "its folder"
        raise UsageError(f"A {kind} cannot go into a pipe: name {what} with -o.")
    if kind in _ENDINGS:
        check_ending(wish.output, _ENDINGS[kind])


def _write_folder(picker: Selection, pick: Selected, wish: Wish) -> tuple[str, bool]:
    from lycosa.analysis.package import write_parcel

    documents = ((each.url, each.mime, picker.read(each, corrected=pick.corrected)) for each in picker.find(pick))
    parcel = write_parcel(documents, wish.output)
    return f"{counted(parcel.files, 'file')}, {parcel.bytes:,} bytes{_tell_lost(parcel.lost)}", bool(parcel.lost)


def _tell_lost(lost: int) -> str:
    if not lost:
        return ""
    return f"; {counted(lost, 'document', 'is')} left out, as the archive cannot be read there (see lycosa verify)"


def _write_addresses(picker: Selection, pick: Selected, wish: Wish) -> str:
    from lycosa.analysis.package import write_addresses

    if wish.missing:
        addresses = picker.find_missing(pick)
    else:
        addresses = (each.url.partition("!/")[0] if each.member else each.url for each in picker.find(pick))
    if wish.output == "-":
        count = write_addresses(addresses, sys.stdout.buffer)
    else:
        with opened_bytes(wish.output) as out:
            count = write_addresses(addresses, out)
    return counted(count, "address")


def _write_dependencies(picker: Selection, pick: Selected, wish: Wish) -> str:
    from lycosa.analysis.dependencies import COLUMNS, list_edges, write_graphml
    from lycosa.output.table import write

    condition = picker.condition(pick)
    if wish.form == "graphml" or (wish.form is None and wish.output.lower().endswith(".graphml")):
        check_form(wish.output, "graphml")
        with opened(wish.output, "jsonl") as (out, _):
            return counted(write_graphml(picker.db, condition, out), "link")
    with opened(wish.output, wish.form) as (out, form):
        return counted(write(list_edges(picker.db, condition), COLUMNS, out, form=form, raw=wish.raw), "link")


def _write_warc(picker: Selection, pick: Selected, wish: Wish) -> str:
    from lycosa.export.files import export_records

    numbers = dict.fromkeys(each.n for each in picker.find(pick))
    pages = (page for n in numbers if (page := picker.collection.page_at(n)) is not None)
    with opened_bytes(wish.output) as out:
        return counted(export_records(picker.collection, out, pages), "record")


def _write_schema(picker: Selection, wish: Wish) -> tuple[str, bool]:
    import importlib

    offline = importlib.import_module("lycosa.missions.xml.schema_export")
    made = offline.export_schema(picker, wish.address, Path(wish.output))
    lines = [f"{counted(made.files, 'file')}, {made.bytes:,} bytes; the schema is {made.entry}{_tell_lost(made.lost)}"]
    if made.missing:
        shown = "".join(f"\n  {address}" for address in made.missing[:10])
        number = counted(len(made.missing), "document")
        lines.append(f"\nIt is not complete: {number} that it needs, not collected, in missing.txt:{shown}")
    elif not made.lost:
        lines.append("; complete" + (", but for what was guessed" if made.guessed else ""))
    return "".join(lines), bool(made.missing or made.lost)
