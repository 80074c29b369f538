"""The graph of documents as files: GraphML, the CSV files of Neo4j's import, RDF."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import quoteattr

from lycosa.collection.property_graph import Cell, ColumnType, PropertyGraph
from lycosa.missions.documents.export.dublin_core import fit_xml
from lycosa.missions.documents.formats import MIMES
from lycosa.missions.documents.graph import author_key
from lycosa.missions.documents.model import DocumentDescription
from lycosa.missions.documents.reading.words import fold

_GRAPHML = {"STRING": "string", "INT64": "long", "DOUBLE": "double", "BOOLEAN": "boolean"}
_NEO4J = {"STRING": "string", "INT64": "long", "DOUBLE": "double", "BOOLEAN": "boolean"}


def write_graphml(graph: PropertyGraph) -> Iterator[bytes]:
    """The graph as GraphML; each node and edge has its label."""
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    columns: dict[tuple[str, str], ColumnType] = {}
    for node in graph.nodes:
        columns |= {("node", name): kind for name, kind in node.columns.items()}
    for relation in graph.relations:
        columns |= {("edge", name): kind for name, kind in relation.columns.items()}
    for (place, name), kind in {("node", "label"): "STRING", ("edge", "label"): "STRING", **columns}.items():
        yield f'<key id="{place}_{name}" for="{place}" attr.name="{name}" attr.type="{_GRAPHML[kind]}"/>\n'.encode()
    yield b'<graph edgedefault="directed">\n'
    for node in graph.nodes:
        for row in node.rows():
            yield f"<node id={quoteattr(_id(node.label, row[0]))}>".encode()
            yield _data("node", {"label": node.label, **dict(zip(node.columns, row, strict=True))})
            yield b"</node>\n"
    for relation in graph.relations:
        for row in relation.rows():
            ends = f"source={quoteattr(_id(relation.source, row[0]))} target={quoteattr(_id(relation.target, row[1]))}"
            yield f"<edge {ends}>".encode()
            yield _data("edge", {"label": relation.type, **dict(zip(relation.columns, row[2:], strict=True))})
            yield b"</edge>\n"
    yield b"</graph>\n</graphml>\n"


def _id(label: str, key: Cell) -> str:
    return fit_xml(f"{label}:{key}")


def _data(place: str, values: dict[str, Cell]) -> bytes:
    parts = []
    for name, value in values.items():
        if value is not None and value != "":
            text = ("true" if value else "false") if isinstance(value, bool) else str(value)
            parts.append(f'<data key="{place}_{name}">{fit_xml(text)}</data>')
    return "".join(parts).encode()


def list_neo4j(graph: PropertyGraph) -> Iterator[tuple[str, bytes]]:
    """The files of `neo4j-admin database import`: a header and rows per label and relation, and the command."""
    options = []
    for node in graph.nodes:
        first, *others = node.columns
        header = [f"{first}:ID({node.label})", *(f"{name}:{_NEO4J[node.columns[name]]}" for name in others), ":LABEL"]
        yield f"{node.label}.csv", _csv([header, *([*row, node.label] for row in node.rows())])
        options.append(f"--nodes={node.label}.csv")
    for relation in graph.relations:
        name = f"{relation.source}_{relation.type}_{relation.target}.csv"
        header = [f":START_ID({relation.source})", f":END_ID({relation.target})"]
        header += [f"{column}:{_NEO4J[kind]}" for column, kind in relation.columns.items()] + [":TYPE"]
        yield name, _csv([header, *([*row, relation.type] for row in relation.rows())])
        options.append(f"--relationships={name}")
    command = "neo4j-admin database import full " + " ".join(options) + " --multiline-fields=true documents\n"
    yield "import.sh", f"#!/bin/sh\n{command}".encode()


def _csv(rows: Iterable[Iterable[Cell]]) -> bytes:
    out = io.StringIO()
    put = csv.writer(out, lineterminator="\n").writerow
    for row in rows:
        put(
            [
                "" if value is None else ("true" if value else "false") if isinstance(value, bool) else value
                for value in row
            ]
        )
    return out.getvalue().encode("utf-8", "replace")


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
        rows += [f"dcterms:publisher _:{_place(each.value, places)}" for each in document.affiliations]
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
    key = fold(name)
    places.setdefault(key, name)
    return _node("a" + key)


def _node(key: str) -> str:
    return "n" + hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()


def _literal(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return '"' + re.sub(r"[\x00-\x1f\x7f\ud800-\udfff]", "", escaped) + '"'
