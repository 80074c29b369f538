"""Export of originals: the descriptions of services as they came, in a folder with a catalogue.

FOLDER/documents/…       each where its URL's path leads, as in a mirror
FOLDER/catalogue.csv     which file is which document of which service
FOLDER/catalogue.json    the same
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lycosa.archive.reader import read_record
from lycosa.collection.collection import Collection
from lycosa.disk import make_fault
from lycosa.errors import UsageError
from lycosa.export.mirror import MANIFEST, MirrorCount, write_mirror
from lycosa.fetch.decode import decode
from lycosa.missions.geo.inventory.inventory import DescriptionSource, ServiceEntry
from lycosa.output.atomic_file import refuse_collection_path, whole_file
from lycosa.output.table import write

COLUMNS = (
    "file", "url", "service", "type", "version", "kind", "title", "provider", "endpoint", "layers", "state", "fetched",
    "mime", "bytes", "sha256",
)  # fmt: skip
_DOCUMENTS, _CSV, _JSON = "documents", "catalogue.csv", "catalogue.json"
_BODY_BYTES = 256 << 20
_GUEST = "SELECT warc, offset, length FROM guest WHERE id = ?"


class _Facts(dict[str, tuple[ServiceEntry, DescriptionSource, str, int, str]]):
    """The facts of each document by its URL, and how many documents the archive has lost."""

    lost = 0


def write_originals(collection: Collection, entries: Iterable[ServiceEntry], folder: Path) -> MirrorCount:
    """Write every description and the catalogue; what the archive does not hold any more is counted as lost."""
    facts = _Facts()
    refuse_collection_path(folder)
    ours = (folder / _DOCUMENTS / MANIFEST).is_file()
    if foreign := [name for name in (_CSV, _JSON) if not ours and os.path.lexists(folder / name)]:
        raise UsageError(f"{folder} holds {foreign[0]}, which no export wrote: name another folder.")
    count = write_mirror(_read_all(collection, entries, facts), folder / _DOCUMENTS)
    try:
        rows = list(_list_rows(folder, facts))
        with whole_file(folder / _CSV) as part, open(part, "w", encoding="utf-8", newline="") as out:
            write(rows, COLUMNS, out, form="csv")
        named = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        with whole_file(folder / _JSON) as part:
            Path(part).write_bytes(msgspec.json.format(msgspec.json.encode(named), indent=1) + b"\n")
    except OSError as error:
        raise make_fault(error, f"The catalogue in {folder}") from None
    return replace(count, lost=facts.lost)


def _read_all(
    collection: Collection, entries: Iterable[ServiceEntry], facts: _Facts
) -> Iterator[tuple[str, str, bytes]]:
    for entry in entries:
        for source in entry.sources:
            found = _read(collection, source)
            if found is None:  # an empty file would pass for an empty document
                facts.lost += 1
                continue
            mime, body = found
            facts[source.url] = (entry, source, mime, len(body), hashlib.sha256(body).hexdigest())
            yield source.url, mime, body


def _read(collection: Collection, source: DescriptionSource) -> tuple[str, bytes] | None:
    """Type and bytes of a document of the collection, or of an archive file from which it was extracted."""
    page = collection.page_at(source.n) if source.n > 0 else None
    if page is not None:
        return (page.mime, page.body) if not page.problem else None
    for path, offset, length in collection.rows(_GUEST, [-source.n]):
        stored = read_record(path, offset, length=length or 0)
        if stored.problem:
            return None
        mime = stored.headers.get("content-type", "").partition(";")[0].strip().lower()
        return mime, decode(stored.body_raw, stored.headers.get("content-encoding", ""), limit=_BODY_BYTES).body
    return None


def _list_rows(folder: Path, facts: _Facts) -> Iterator[list[str | int | None]]:
    with open(folder / _DOCUMENTS / MANIFEST, encoding="utf-8", newline="") as manifest:
        for line in manifest:
            path, _, url = line.rstrip("\n").partition("\t")
            if url not in facts:
                continue
            entry, source, mime, size, digest = facts[url]
            service = source.service
            described = (service.type, service.version, service.kind, service.title, service.provider)
            found = (entry.service.endpoint, service.items, entry.state, entry.fetched)
            yield [f"{_DOCUMENTS}/{path}", url, entry.id, *described, *found, mime, size, digest]
