"""Dublin Core of documents, and packages of it for DSpace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from lycosa.collection.collection import Collection
from lycosa.missions.documents.formats import MIMES
from lycosa.missions.documents.model import DocumentDescription, text_of
from lycosa.missions.documents.names import given_names
from lycosa.missions.documents.pages.blocks import find_organisations
from lycosa.output.plain import fit_xml
from lycosa.text.fold import fold_words

NAMESPACES = (
    'xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://www.openarchives.org/OAI/2.0/oai_dc/ http://www.openarchives.org/OAI/2.0/oai_dc.xsd"'
)
#: The words of the driver guidelines for the kinds of documents.
TYPES = {
    "article": "article", "thesis": "thesis", "report": "report", "slides": "lecture", "notes": "lecture",
    "exercises": "learning object", "exam": "learning object", "poster": "conference object", "proposal": "report",
}  # fmt: skip


#: What roles are called as qualifiers of a contributor; other people are none.
_ROLES = {"director": "advisor", "tutor": "advisor", "editor": "editor"}
#: Simple elements whose qualified form has another name.
_SIMPLE = {("contributor", "author"): "creator"}


class _Value(NamedTuple):
    """A value by its qualified element."""

    element: str
    qualifier: str
    text: str
    tongue: str = ""


def _values(document: DocumentDescription) -> Iterator[_Value]:
    """What Dublin Core says of a document, qualified; without title and format."""
    language = text_of(document.language)
    for author in document.authors:
        yield _Value("contributor", "author", inverted(author.name))
    for person in document.contributors:
        if qualifier := _ROLES.get(person.role):
            yield _Value("contributor", qualifier, inverted(person.name))
    for each in document.keywords:
        yield _Value("subject", "none", each.value, language)
    if document.abstract:
        yield _Value("description", "abstract", document.abstract.value, language)
    for value in publishers(document)[:3]:
        yield _Value("publisher", "none", value)
    yield _Value("date", "issued", document.year)
    yield _Value("type", "none", TYPES.get(document.category, document.category))
    yield _Value("identifier", "uri", document.url)
    yield _Value("identifier", "uri", f"https://doi.org/{document.doi}" if document.doi else "")
    yield _Value("language", "iso", language)
    for each in document.rights:
        yield _Value("rights", "none", each.value)


def elements(document: DocumentDescription) -> Iterator[tuple[str, str]]:
    """The simple Dublin Core elements of a document, by name and value."""
    if document.title:
        yield "title", document.title.value
    yield "format", MIMES.get(document.format, document.format)
    for value in _values(document):
        if value.text:
            yield _SIMPLE.get(value[:2], value.element), value.text


def publishers(document: DocumentDescription) -> list[str]:
    """The institutions that publish a document: of theses and teaching material those of the authors.

    Papers have another publisher, whom they seldom name; a line with more than institutions gives these alone.
    """
    if document.category in ("article", "poster", "proposal"):
        return []
    found: dict[str, None] = {}
    for each in document.affiliations:
        found |= dict.fromkeys(find_organisations(each.value) if "@" in each.value else [each.value])
    return list(found)


def inverted(name: str) -> str:
    """A name with the surname first, as catalogues have it; a Spanish one keeps both surnames together."""
    if "," in name:
        return name
    parts = name.split()
    if len(parts) < 2:
        return name
    given = _given_count(parts)
    return f"{' '.join(parts[given:])}, {' '.join(parts[:given])}"


def _given_count(parts: list[str]) -> int:
    """How many of the parts of a name are given names."""
    known = given_names()
    count = 1
    while count < len(parts) - 1 and (fold_words(parts[count]) in known or len(parts[count].strip(".")) == 1):
        count += 1
    return count


def write_dc(document: DocumentDescription) -> str:
    """The `oai_dc:dc` element of a document."""
    inner = "".join(
        f"  <dc:{name}>{fit_xml(value)}</dc:{name}>\n" for name, value in elements(document) if value.strip()
    )
    return f"<oai_dc:dc {NAMESPACES}>\n{inner}</oai_dc:dc>\n"


def write_all(documents: Iterator[DocumentDescription]) -> Iterator[bytes]:
    """One XML document with the records of all."""
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n<records>\n'
    for document in documents:
        yield write_dc(document).encode()
    yield b"</records>\n"


def list_packages(
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
    language = text_of(document.language)
    title = _Value("title", "none", text_of(document.title) or document.url, language)
    values = "".join(_write_value(value) for value in (title, *_values(document)) if value.text.strip())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<dublin_core schema="dc">\n{values}</dublin_core>\n'


def _write_value(value: _Value) -> str:
    language = f' language="{fit_xml(value.tongue)}"' if value.tongue else ""
    place = f'element="{value.element}" qualifier="{value.qualifier}"'
    return f"  <dcvalue {place}{language}>{fit_xml(value.text)}</dcvalue>\n"
