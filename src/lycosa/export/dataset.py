"""A data set that says what it is: an export in a folder, described as Frictionless, RO-Crate and Croissant want it.

Each description names the files with their sizes and checksums, the columns of tables with their types, the licence as
the user gives it, and where all comes from: the collection, its seeds and rounds, the command, the version of lycosa
and of the rules that extracted.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.export.definition import Export, Written
from lycosa.output.atomic_file import refuse_collection_path, whole_file
from lycosa.output.plain import counted
from lycosa.version import __version__

_SAMPLE = 1000  # rows of a table whose types are looked at
_MOST_FILES = 10_000  # that are named one by one
_CRATE, _PACKAGE, _CROISSANT = "ro-crate-metadata.json", "datapackage.json", "croissant.json"
_TOOL = "https://pypi.org/project/lycosa/"
_NO_LICENCE = "The rights in collected pages are those of their authors; nothing is said here of their use."
_MEDIA_TYPES = {
    "csv": "text/csv", "tsv": "text/tab-separated-values", "jsonl": "application/jsonl", "html": "text/html",
    "parquet": "application/vnd.apache.parquet", "xml": "application/xml", "json": "application/json",
    "graphml": "application/graphml+xml", "geojson": "application/geo+json", "wacz": "application/wacz",
    "gz": "application/gzip", "zip": "application/zip", "txt": "text/plain", "md": "text/markdown",
}  # fmt: skip
#: Types of values as each of the three calls them.
_FRICTIONLESS = {"integer": "integer", "number": "number", "boolean": "boolean", "object": "object", "array": "array"}
_SCHEMA_ORG = {"integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean"}


class DataFile(Struct):
    """A file of a data set; `fields` are the columns of a table with the types of their values."""

    path: str
    bytes: int
    sha256: str
    media_type: str
    fields: dict[str, str] = {}


def write_dataset(
    collection: Collection,
    export: Export,
    folder: Path,
    write: Callable[[str], Written],
    *,
    form: str,
    licence: str,
    command: Mapping[str, Any],
) -> Written:
    """Have an export written into a folder, and describe there what it is."""
    refuse_collection_path(str(folder))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir()) and not (folder / _CRATE).is_file()):
        raise UsageError(f"{folder} is no data set of lycosa and not empty; name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    ending = form or next(iter(export.endings), "")
    target = folder / (f"{export.name}.{ending}" if ending else "data")
    written = write(str(target))
    files = [*_list_files(folder)]
    about = _describe(collection, export, written.said, licence=licence, command=command)
    for name, data in (
        (_PACKAGE, _make_package(about, files)),
        (_CROISSANT, _make_croissant(about, files)),
        (_CRATE, _make_crate(about, files)),
    ):
        with whole_file(str(folder / name)) as part:
            Path(part).write_bytes(json.dumps(data, indent=2, ensure_ascii=False).encode("utf-8", "replace"))
    said = f"{written.said}; described in {_PACKAGE}, {_CRATE}, {_CROISSANT}"
    return Written(said, partial=written.partial)


def _list_files(folder: Path) -> Iterator[DataFile]:
    names = sorted(
        Path(place, name).relative_to(folder).as_posix() for place, _, files in os.walk(folder) for name in files
    )
    own = {_CRATE, _PACKAGE, _CROISSANT}
    for name in islice((name for name in names if name not in own), _MOST_FILES):
        path = folder / name
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        ending = name.rpartition(".")[2].lower()
        media_type = _MEDIA_TYPES.get(ending, "application/octet-stream")
        fields = _read_fields(path, ending) if "/" not in name else {}
        yield DataFile(name, path.stat().st_size, digest, media_type, fields)


def _read_fields(path: Path, ending: str) -> dict[str, str]:
    """The columns of a table, with the type that its first values have in common."""
    rows: list[dict[str, Any]]
    if ending == "jsonl":
        with open(path, encoding="utf-8") as lines:
            read = map(msgspec.json.decode, islice(lines, _SAMPLE))
            rows = [row for row in read if isinstance(row, dict)]
    elif ending in ("csv", "tsv"):
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t" if ending == "tsv" else ",")
            rows = [{name: _guess(value) for name, value in row.items() if name} for row in islice(reader, _SAMPLE)]
            rows = rows or [dict.fromkeys(reader.fieldnames or ())]
    else:
        return {}
    found: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, set()).update(() if value is None else {_type_name(value)})
    return {name: kinds.pop() if len(kinds) == 1 else "string" for name, kinds in found.items()}


def _guess(text: str) -> Any:
    """A cell as the number that it spells; nothing where it is empty."""
    if not text:
        return None
    if text.removeprefix("-").isdecimal() and text.isascii() and (text == "0" or not text.startswith("0")):
        return int(text)
    return text


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
    return names.get(type(value), "string")


class _About(Struct):
    """What all three descriptions say."""

    name: str
    title: str
    description: str
    licence: str  # an address; empty: nobody gave one
    made: str
    sources: list[str]
    began: str
    ended: str
    command: dict[str, Any]
    rules: list[str]


def _describe(collection: Collection, export: Export, said: str, *, licence: str, command: Mapping[str, Any]) -> _About:
    rounds = collection.rounds
    seeds = [*islice(collection.seeds(), 100)]
    rules = collection.query("SELECT DISTINCT quarry, version FROM records LIMIT 20")
    last = rounds[-1] if rounds else None
    ended = (last.ended or last.started) if last else None
    label = collection.path.resolve().name
    return _About(
        name=f"{label}-{export.name}".lower().replace(" ", "-"),
        title=f"{export.summary[:1].upper()}{export.summary[1:]} of the collection {label}",
        description=(
            f"{said}, from {counted(len(collection), 'page')} that lycosa collected in"
            f" {counted(len(rounds), 'round')}, beginning at {', '.join(seeds[:5]) or 'no seed'}."
        ),
        licence=licence,
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        sources=seeds,
        began=rounds[0].started.isoformat() if rounds else "",
        ended=ended.isoformat() if ended else "",
        command=dict(command),
        rules=[f"{quarry} {version}" for quarry, version in rules],
    )


def _make_package(about: _About, files: Sequence[DataFile]) -> dict[str, Any]:
    """The data package of Frictionless (specs.frictionlessdata.io)."""
    resources = []
    for nth, file in enumerate(files):
        ending = file.path.rpartition(".")[2].lower()
        resource: dict[str, Any] = {
            "name": f"file-{nth}", "path": file.path, "bytes": file.bytes, "hash": f"sha256:{file.sha256}",
            "mediatype": file.media_type, "format": ending,
        }  # fmt: skip
        if file.fields and ending in ("csv", "tsv"):
            fields = [{"name": name, "type": _FRICTIONLESS.get(kind, "string")} for name, kind in file.fields.items()]
            resource |= {"profile": "tabular-data-resource", "encoding": "utf-8", "schema": {"fields": fields}}
        resources.append(resource)
    licences = [{"name": about.licence.rstrip("/").rpartition("/")[2], "path": about.licence}] if about.licence else []
    return {
        "profile": "data-package", "name": about.name, "title": about.title, "description": about.description,
        "created": about.made, "sources": [{"title": url, "path": url} for url in about.sources],
        **({"licenses": licences} if licences else {}), "resources": resources,
    }  # fmt: skip


def _make_croissant(about: _About, files: Sequence[DataFile]) -> dict[str, Any]:
    """The description for machine learning (Croissant 1.0, MLCommons)."""
    record_sets = []
    for nth, file in enumerate(files):
        is_json = file.path.endswith(".jsonl")
        fields = [
            {
                "@type": "cr:Field", "@id": f"table-{nth}/{name}", "name": name,
                "dataType": _SCHEMA_ORG.get(kind, "sc:Text"),
                "source": {
                    "fileObject": {"@id": f"file-{nth}"},
                    "extract": {"jsonPath": f"$.{name}"} if is_json else {"column": name},
                },
            }
            for name, kind in file.fields.items()
        ]  # fmt: skip
        if fields:
            record_sets.append(
                {"@type": "cr:RecordSet", "@id": f"table-{nth}", "name": f"table-{nth}", "field": fields}
            )
    distribution = [
        {
            "@type": "cr:FileObject", "@id": f"file-{nth}", "name": file.path, "contentUrl": file.path,
            "contentSize": f"{file.bytes} B", "encodingFormat": file.media_type, "sha256": file.sha256,
        }
        for nth, file in enumerate(files)
    ]  # fmt: skip
    return {
        "@context": _CONTEXT, "@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": about.name, "description": about.description, "url": _first(about.sources),
        "license": about.licence or _NO_LICENCE, "datePublished": about.made, "version": "1.0.0",
        "citeAs": f"{about.title}, made by lycosa {__version__} on {about.made[:10]}.",
        "creator": {"@type": "sc:Organization", "name": "lycosa", "url": _TOOL},
        "distribution": distribution, "recordSet": record_sets,
    }  # fmt: skip


def _make_crate(about: _About, files: Sequence[DataFile]) -> dict[str, Any]:
    """The research object (RO-Crate 1.1), with the crawl and the export as what made it."""
    licence_id = about.licence or "#licence"
    licence = {"@id": licence_id, "@type": "CreativeWork", "name": about.licence or "not stated"}
    licence["description"] = "As whoever made the data set gave it." if about.licence else _NO_LICENCE
    rules = ", ".join(about.rules) or "none"
    crawl = {
        "@id": "#crawl", "@type": "CreateAction", "name": "Crawl", "startTime": about.began, "endTime": about.ended,
        "instrument": {"@id": _TOOL}, "object": [{"@id": url} for url in about.sources],
        "description": f"Rules that extracted: {rules}.", "result": {"@id": "./"},
    }  # fmt: skip
    export = {
        "@id": "#export", "@type": "CreateAction", "name": "Export", "endTime": about.made,
        "instrument": {"@id": _TOOL}, "result": [{"@id": file.path} for file in files],
        "description": f"lycosa export {json.dumps(about.command, ensure_ascii=False, default=str)}",
    }  # fmt: skip
    tool = {
        "@id": _TOOL, "@type": "SoftwareApplication", "name": "lycosa", "version": __version__, "url": _TOOL,
        "softwareVersion": __version__,
    }  # fmt: skip
    root = {
        "@id": "./", "@type": "Dataset", "name": about.title, "description": about.description,
        "datePublished": about.made, "license": {"@id": licence_id}, "hasPart": [{"@id": file.path} for file in files],
        "mentions": [{"@id": "#crawl"}, {"@id": "#export"}],
    }  # fmt: skip
    graph: list[dict[str, Any]] = [
        {
            "@id": _CRATE, "@type": "CreativeWork", "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        root, licence, crawl, export, tool,
        *({"@id": url, "@type": "WebPage", "name": url, "url": url} for url in about.sources),
        *(
            {
                "@id": file.path, "@type": "File", "name": file.path, "contentSize": str(file.bytes),
                "encodingFormat": file.media_type, "sha256": file.sha256,
            }
            for file in files
        ),
    ]  # fmt: skip
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


def _first(urls: Sequence[str]) -> str:
    return urls[0] if urls else _TOOL


_CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/", "dct": "http://purl.org/dc/terms/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"}, "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{
        name: f"cr:{name}"
        for name in (
            "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet",
            "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
            "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField",
            "transform",
        )
    },
}  # fmt: skip
