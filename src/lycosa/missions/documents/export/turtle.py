"""Documents, authors and affiliations as RDF in Turtle."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from lycosa.missions.documents.export.dublin_core import publishers
from lycosa.missions.documents.formats import MIMES
from lycosa.missions.documents.graph import author_key
from lycosa.missions.documents.model import DocumentDescription
from lycosa.text.fold import fold_words

_PREFIXES = {
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "https://schema.org/",
    "bibo": "http://purl.org/ontology/bibo/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_CLASSES = {"article": "bibo:Article", "thesis": "bibo:Thesis", "report": "bibo:Report", "slides": "bibo:Slideshow"}
_SEPARATOR = " ;\n    "
_IRI_UNFIT = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


def write_turtle(documents: Iterable[DocumentDescription]) -> Iterator[bytes]:
    """Documents, authors and affiliations as RDF in Turtle: Dublin Core terms, FOAF, schema.org."""
    for prefix, address in _PREFIXES.items():
        yield f"@prefix {prefix}: <{address}> .\n".encode()
    people: dict[str, str] = {}
    places: dict[str, str] = {}  # by folded name
    for document in documents:
        rows = [f"a foaf:Document, {_CLASSES.get(document.category, 'schema:DigitalDocument')}"]
        tongue = (
            f"@{document.language.value}"
            if document.language and re.fullmatch("[a-z]{2,3}", document.language.value)
            else ""
        )
        if document.title:
            rows.append(f"dcterms:title {_literal(document.title.value)}{tongue}")
        for at, author in enumerate(document.authors):
            node = f"_:{_node(author_key(document, at))}"
            rows.append(f"dcterms:creator {node}")
            people.setdefault(
                node,
                _describe_person(
                    author.name, [a.email for a in author.addresses], author.orcid, author.affiliations, places
                ),
            )
        rows += [f"dcterms:publisher _:{_place(value, places)}" for value in publishers(document)]
        rows += [f"dcterms:subject {_literal(each.value)}" for each in document.keywords]
        rows += [f"dcterms:abstract {_literal(document.abstract.value)}{tongue}"] if document.abstract else []
        rows += [f"dcterms:language {_literal(document.language.value)}"] if document.language else []
        rows += (
            [f"dcterms:issued {_literal(document.year)}^^xsd:gYear"] if re.fullmatch(r"\d{4}", document.year) else []
        )
        rows += [f"dcterms:rights {_literal(each.value)}" for each in document.rights]
        rows += [f"bibo:doi {_literal(document.doi)}"] if document.doi else []
        rows.append(f"dcterms:format {_literal(MIMES.get(document.format, document.format))}")
        rows.append(f"dcterms:type {_literal(document.category)}")
        address = _IRI_UNFIT.sub(lambda found: f"%{ord(found[0]):02X}", document.url)
        yield f"\n<{address}> {_SEPARATOR.join(rows)} .\n".encode()
    for node, text in people.items():
        yield f"\n{node} {text} .\n".encode()
    for key, name in places.items():
        rows = ["a foaf:Organization, schema:Organization", f"foaf:name {_literal(name)}"]
        yield f"\n_:{_node('a' + key)} {_SEPARATOR.join(rows)} .\n".encode()


def _describe_person(
    name: str, emails: list[str], orcid: str, affiliations: tuple[str, ...], places: dict[str, str]
) -> str:
    rows = ["a foaf:Person, schema:Person", f"foaf:name {_literal(name)}"]
    rows += [f"foaf:mbox <mailto:{_IRI_UNFIT.sub('', email)}>" for email in emails]
    rows += [f"schema:identifier <https://orcid.org/{_IRI_UNFIT.sub('', orcid)}>"] if orcid else []
    rows += [f"schema:affiliation _:{_place(each, places)}" for each in affiliations]
    return _SEPARATOR.join(rows)


def _place(name: str, places: dict[str, str]) -> str:
    key = fold_words(name)
    places.setdefault(key, name)
    return _node("a" + key)


def _node(key: str) -> str:
    return "n" + hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()


def _literal(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return '"' + re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "", escaped) + '"'
