"""Schema export: a schema and all that it needs, in a folder that programs use without a network.

Files stand as their addresses do, so that relative links lead where they should; for the others there is an OASIS
catalog (`catalog.xml`), which xmllint, Xerces, Saxon and editors read. The bytes are those that were collected.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from msgspec import Struct

from lycosa import urls
from lycosa.analysis.selection import Document, Selection
from lycosa.errors import UsageError
from lycosa.export.mirror import add_suffix, fold_path, path_of
from lycosa.missions.xml.closure import NEEDS, Closures, fold_public
from lycosa.output.export_folder import write_folder

CATALOG = "catalog.xml"
MISSING = "missing.txt"
_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog" prefer="system">
"""


class SchemaExport(Struct):
    """The result of an export: what the folder holds, and what it lacks."""

    entry: str  # path of the schema itself, below the folder
    files: int
    bytes: int
    missing: list[str]  # addresses that it needs and that were not collected
    lost: int  # documents that the archive does not hold any more
    guessed: bool = False  # something of it was found elsewhere than at its address


def export_schema(selection: Selection, address: str, folder: Path) -> SchemaExport:
    """Write the closure of the document at an address; UsageError where it was not collected."""
    root = _find(selection, address)
    closures = Closures(selection.db.execute(NEEDS))
    closure = closures.of(root)
    documents = {
        row[0]: Document(*row)
        for row in selection.db.execute("SELECT id, n, url, coalesce(member, ''), kind, mime FROM document")
        if row[0] in closure
    }
    places = _lay_out(selection, documents)
    missing = sorted(closures.missing(closure))
    entries: list[tuple[str, str]] = []
    size = lost = 0

    def list_files() -> Iterator[tuple[str, bytes]]:
        nonlocal size, lost
        for number, paths in places.items():
            body = selection.read(documents[number])
            if body is None:  # an empty file would pass for an empty schema
                lost += 1
                continue
            entries.extend(paths)
            for path in dict.fromkeys(path for _, path in paths):
                size += len(body)
                yield path, body
        yield CATALOG, _write_catalog(entries, _list_publics(selection, {path for _, path in entries}, places))
        if missing:
            yield MISSING, "".join(f"{each}\n" for each in missing).encode()

    write_folder(folder, list_files(), kind="schema")
    files, guessed = len({path for _, path in entries}), not closures.guessing.isdisjoint(closure)
    entry = places[root][0][1]
    return SchemaExport(entry=entry, files=files, bytes=size, missing=missing, lost=lost, guessed=guessed)


def _find(selection: Selection, address: str) -> int:
    url = urls.normalise(address)
    sql = "SELECT min(id) FROM document WHERE url = ? AND kind NOT IN ('', 'html')"
    found = selection.db.execute(sql, (url,)).get if url else None
    if found is None and url:
        found = selection.db.execute("SELECT min(found) FROM link WHERE strong AND target = ?", (url,)).get
    if found is None:
        raise UsageError(f"{address} was not collected, or is none of the XML family.")
    return int(found)


def _lay_out(selection: Selection, documents: dict[int, Document]) -> dict[int, list[tuple[str, str]]]:
    """The addresses of each document, its own first, with the path of each; no two have one."""
    places: dict[int, list[tuple[str, str]]] = {number: [] for number in documents}
    files: set[str] = set()
    folders: set[str] = set()
    for number, address in _list_addresses(selection, documents):
        path = path_of(address, documents[number].mime)
        if urls.normalise(address) is None:  # a name, for which only the catalog can stand
            places[number].append((address, places[number][0][1]))
            continue
        if _is_taken(path, files, folders):  # then only the catalog leads there
            path = add_suffix(path, address)
            if _is_taken(path, files, folders):
                continue
        files.add(fold_path(path))
        folders.update(fold_path(str(parent)) for parent in PurePosixPath(path).parents)
        places[number].append((address, path))
    return places


def _is_taken(path: str, files: set[str], folders: set[str]) -> bool:
    """Whether a file or folder stands there, or a file where one of its folders would be."""
    above = {fold_path(str(parent)) for parent in PurePosixPath(path).parents}
    return fold_path(path) in files or fold_path(path) in folders or bool(above & files)


def _list_addresses(selection: Selection, documents: dict[int, Document]) -> Iterator[tuple[int, str]]:
    """Each document's own address, then those that lead to it."""
    for number, document in documents.items():
        yield number, document.url
    sql = "SELECT DISTINCT found, target FROM link WHERE strong AND found IS NOT NULL AND target <> ''"
    for number, target in selection.db.execute(sql):
        if number in documents and target != documents[number].url:
            yield number, target


def _list_publics(
    selection: Selection, written: set[str], places: dict[int, list[tuple[str, str]]]
) -> list[tuple[str, str]]:
    """The public identifiers by which documents ask for what was written, with the path of each."""
    sql = """SELECT DISTINCT link.found, document.dtd FROM link JOIN document ON document.id = link.document
             WHERE link.kind = 'doctype-system' AND link.found IS NOT NULL AND document.dtd NOT IN ('', link.href)"""
    rows = ((fold_public(public), places.get(number, [])) for number, public in selection.db.execute(sql))
    return sorted({(public, paths[0][1]) for public, paths in rows if paths and paths[0][1] in written})


def _write_catalog(entries: list[tuple[str, str]], publics: list[tuple[str, str]]) -> bytes:
    lines = [_HEAD]
    for address, path in sorted(entries):
        name, where = quoteattr(address), quoteattr(_as_uri(path))
        lines.append(f"  <system systemId={name} uri={where}/>\n  <uri name={name} uri={where}/>\n")
    if publics:  # documents name an address as well, mostly another one
        lines.append('  <group prefer="public">\n')
        for public, path in publics:
            lines.append(f"    <public publicId={quoteattr(public)} uri={quoteattr(_as_uri(path))}/>\n")
        lines.append("  </group>\n")
    lines.append("</catalog>\n")
    return "".join(lines).encode()


def _as_uri(path: str) -> str:
    return quote(path, safe="/!$&'()*+,;=@~-._")
