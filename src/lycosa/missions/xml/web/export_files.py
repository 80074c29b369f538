"""Exports as files: a report, the documents or lists of them, and a schema with all that it needs."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

from starlette.responses import FileResponse

from lycosa.analysis import document_writers
from lycosa.analysis.document_writers import AddressOptions, DependencyOptions, FolderOptions
from lycosa.analysis.selection import opened_selection
from lycosa.errors import UsageError
from lycosa.missions.web import WebRequest
from lycosa.missions.web_files import send_made_file
from lycosa.missions.xml.report import make_report
from lycosa.missions.xml.schema_export import export_schema
from lycosa.output.html_page import write_page


def send_file(request: WebRequest) -> FileResponse:
    """An export as a file, by its `?name=`; documents and lists may be of one collection, a schema has its `&url=`."""
    name, query = request.query.get("name", ""), request.query
    if name not in _FILES:
        raise UsageError(f"There is no file {name[:40]!r}; allowed: {', '.join(_FILES)}.")
    cluster = "/".join(filter(None, (query.get("cluster", ""), query.get("collection", ""))))
    return send_made_file(name, lambda target: _FILES[name](request, target, cluster))


def _write_report(request: WebRequest, target: Path, _: str) -> None:
    report = make_report(request.collection)
    with target.open("w", encoding="utf-8") as out:
        out.writelines(write_page(report.title, report.subtitle, report.sections))


def _pack_schema(request: WebRequest, target: Path, _: str) -> None:
    files = target.with_name("schema")
    with opened_selection(request.folder) as selection:
        export_schema(selection, request.query.get("url", "")[:10_000], files)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in files.rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(files))


def _pack_documents(request: WebRequest, target: Path, cluster: str) -> None:
    document_writers.write_folder(request.collection, str(target), FolderOptions(cluster=cluster))


def _list_addresses(request: WebRequest, target: Path, cluster: str) -> None:
    options = AddressOptions(cluster=cluster, missing=target.stem == "missing")
    document_writers.write_addresses(request.collection, str(target), options)


def _list_dependencies(request: WebRequest, target: Path, cluster: str) -> None:
    document_writers.write_dependencies(request.collection, str(target), DependencyOptions(cluster=cluster))


_FILES: dict[str, Callable[[WebRequest, Path, str], None]] = {
    "report.html": _write_report,
    "schema.zip": _pack_schema,
    "documents.zip": _pack_documents,
    "addresses.txt": _list_addresses,
    "missing.txt": _list_addresses,
    "dependencies.csv": _list_dependencies,
}
