"""DSpace Simple Archive Format: one folder per item, with its metadata, its file and the list of its files.

The format is that of DSpace's manual, "Importing and Exporting Items via Simple Archive Format": each item has
`dublin_core.xml`, `contents` and the files that it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from lycosa.collection.collection import Collection
from lycosa.missions.documents.export.dublin_core import TYPES, inverted
from lycosa.missions.documents.model import DocumentDescription
from lycosa.output.plain import fit_xml


def list_files(
    collection: Collection, documents: Iterable[DocumentDescription], lost: list[str]
) -> Iterator[tuple[str, bytes]]:
    """The files of an archive, by path; documents whose bytes cannot be read are put into `lost`."""
    for number, document in enumerate(documents, 1):
        page = collection.page(document.url)
        body = page.body if page is not None else b""
        if not body:
            lost.append(document.url)
            continue
        folder = f"item_{number:05}"
        name = file_name(document)
        yield f"{folder}/dublin_core.xml", write_metadata(document).encode()
        yield f"{folder}/contents", f"{name}\tbundle:ORIGINAL\tprimary:true\n".encode()
        yield f"{folder}/{name}", body


def file_name(document: DocumentDescription) -> str:
    """A name for the file that every system takes, with the suffix of its format."""
    last = unquote(document.url.partition("?")[0].rstrip("/").rpartition("/")[2])
    stem = re.sub(r"[^\w.-]+", "_", last, flags=re.ASCII).strip("._-") or "document"
    stem = stem[:80]
    return stem if stem.lower().endswith(f".{document.format}") else f"{stem}.{document.format}"


def write_metadata(document: DocumentDescription) -> str:
    """`dublin_core.xml` of an item."""
    language = document.language.value if document.language else ""
    rows: list[tuple[str, str, str, str]] = []

    def add(element: str, qualifier: str, value: str, tongue: str = "") -> None:
        if value.strip():
            rows.append((element, qualifier, value, tongue))

    add("title", "none", document.title.value if document.title else document.url, language)
    for author in document.authors:
        add("contributor", "author", inverted(author.name))
    for person in document.contributors:
        if person.role in ("director", "tutor"):
            add("contributor", "advisor", inverted(person.name))
        elif person.role == "editor":
            add("contributor", "editor", inverted(person.name))
    add("date", "issued", document.year)
    add("identifier", "uri", document.url)
    add("identifier", "uri", f"https://doi.org/{document.doi}" if document.doi else "")
    add("language", "iso", language)
    if document.abstract:
        add("description", "abstract", document.abstract.value, language)
    for each in document.keywords:
        add("subject", "none", each.value, language)
    for each in document.affiliations:
        add("publisher", "none", each.value)
    for each in document.rights:
        add("rights", "none", each.value)
    add("type", "none", TYPES.get(document.category, document.category))
    values = "".join(_write_value(*row) for row in rows)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<dublin_core schema="dc">\n{values}</dublin_core>\n'


def _write_value(element: str, qualifier: str, value: str, tongue: str) -> str:
    language = f' language="{fit_xml(tongue)}"' if tongue else ""
    return f'  <dcvalue element="{element}" qualifier="{qualifier}"{language}>{fit_xml(value)}</dcvalue>\n'
