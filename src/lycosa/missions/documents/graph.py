"""The graph of documents: pages, documents, authors and affiliations, with the relations between them.

Nodes Html, Pdf (documents of any format), Author, Affiliation; relations Links, HasAuthor, HasAffiliation and
HasConnection (an author to an affiliation). A page or document is known by the MD5 of its URL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lycosa import urls
from lycosa.collection.collection import Collection, Page
from lycosa.graph.properties import GraphRow, NodeTable, PropertyGraph, RelationTable
from lycosa.missions.documents.catalogue import Catalogue, open_catalogue
from lycosa.missions.documents.model import DocumentDescription, text_of
from lycosa.text.fold import fold_words

#: Characters of a page's or document's text that a node carries.
TEXT_CHARS = 4_000

_PLACE = {"domain": "STRING", "subdomain": "STRING", "parent": "STRING"}
_HTML = {"key": "STRING", "url": "STRING", "title": "STRING", "text": "STRING", "language": "STRING"} | _PLACE
_PDF = {
    "key": "STRING", "url": "STRING", "title": "STRING", "text": "STRING", "language": "STRING", **_PLACE,
    "category": "STRING", "subcategory": "STRING", "wanted": "BOOLEAN", "authors": "STRING", "affiliations": "STRING",
    "emails": "STRING", "keywords": "STRING", "abstract": "STRING", "rights": "STRING", "doi": "STRING",
    "year": "STRING", "format": "STRING", "pages": "INT64", "confidence": "DOUBLE",
}  # fmt: skip
_AUTHOR = dict.fromkeys(("key", "name", "names", "email", "emails", "orcid"), "STRING")
_AFFILIATION = {"key": "STRING", "name": "STRING"}
_SURE = {"confidence": "DOUBLE"}


@contextmanager
def open_graph(collection: Collection) -> Iterator[PropertyGraph]:
    """The graph of a collection's documents, as it is now."""
    with open_catalogue(collection) as catalogue:
        yield _make_graph(collection, catalogue)


def _make_graph(collection: Collection, catalogue: Catalogue) -> PropertyGraph:
    source = _Graph(collection, catalogue)
    return PropertyGraph(
        nodes=(
            NodeTable("Html", _HTML, source.pages, is_around=True),  # type: ignore[arg-type]
            NodeTable("Pdf", _PDF, source.documents),  # type: ignore[arg-type]
            NodeTable("Author", _AUTHOR, source.authors),  # type: ignore[arg-type]
            NodeTable("Affiliation", _AFFILIATION, source.affiliations),  # type: ignore[arg-type]
        ),
        relations=(
            RelationTable("Links", "Html", "Html", {"text": "STRING"}, partial(source.links, to_documents=False)),
            RelationTable("Links", "Html", "Pdf", {"text": "STRING"}, partial(source.links, to_documents=True)),
            RelationTable("HasAuthor", "Pdf", "Author", _SURE, source.written_by),  # type: ignore[arg-type]
            RelationTable("HasAffiliation", "Pdf", "Affiliation", _SURE, source.made_at),  # type: ignore[arg-type]
            RelationTable("HasConnection", "Author", "Affiliation", _SURE, source.works_at),  # type: ignore[arg-type]
        ),
        state=f"documents {catalogue.state}",
    )


def key_of(url: str) -> str:
    """The key of a page or document."""
    return hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()


def author_key(document: DocumentDescription, position: int) -> str:
    """The key of an author: the person's number, or the name where it is not known."""
    author = document.authors[position]
    return f"p{author.person}" if author.person else f"n{fold_words(author.name)}"


class _Graph:
    """The rows of each table."""

    def __init__(self, collection: Collection, catalogue: Catalogue) -> None:
        self._collection = collection
        self._catalogue = catalogue
        self._documents = {document.url for document in catalogue.documents(unwanted=True)}

    def pages(self) -> Iterator[GraphRow]:
        for page in self._html():
            text = page.text[:TEXT_CHARS]
            yield key_of(page.url), page.url, page.title, text, page.language, *_place(page.url)

    def documents(self) -> Iterator[GraphRow]:
        for document in self._catalogue.documents(unwanted=True):
            yield (
                key_of(document.url),
                document.url,
                text_of(document.title),
                document.head[:TEXT_CHARS],
                text_of(document.language),
                *_place(document.url),
                document.category,
                document.subcategory,
                document.wanted,
                "; ".join(author.name for author in document.authors),
                "; ".join(each.value for each in document.affiliations),
                "; ".join(each.value for each in document.emails),
                "; ".join(each.value for each in document.keywords),
                text_of(document.abstract),
                "; ".join(each.value for each in document.rights),
                document.doi,
                document.year,
                document.format,
                document.pages,
                document.confidence,
            )

    def authors(self) -> Iterator[GraphRow]:
        people = {person.number: person for person in self._catalogue.people()}
        seen: set[str] = set()
        for document in self._catalogue.documents(unwanted=True):
            for position, author in enumerate(document.authors):
                key = author_key(document, position)
                if key in seen:
                    continue
                seen.add(key)
                person = people.get(author.person)
                emails = [each.email for each in (person.addresses if person else author.addresses)]
                names = "; ".join(person.names if person else (author.name,))
                name = person.name if person else author.name
                yield key, name, names, emails[0] if emails else "", "; ".join(emails), author.orcid

    def affiliations(self) -> Iterator[GraphRow]:
        seen: set[str] = set()
        for document in self._catalogue.documents(unwanted=True):
            names = [each.value for each in document.affiliations]
            names += [name for author in document.authors for name in author.affiliations]
            for name in names:
                if (key := fold_words(name)) and key not in seen:
                    seen.add(key)
                    yield key, name

    def links(self, *, to_documents: bool) -> Iterator[GraphRow]:
        pages = {page.url for page in self._html()}
        for edge in self._collection.graph():
            wanted = edge.target in self._documents if to_documents else edge.target in pages
            if wanted and edge.source in pages:
                yield key_of(edge.source), key_of(edge.target), edge.text

    def _html(self) -> Iterator[Page]:
        for page in self._collection.pages():
            if page.url not in self._documents and page.mime in ("text/html", "application/xhtml+xml"):
                yield page

    def written_by(self) -> Iterator[GraphRow]:
        for document in self._catalogue.documents(unwanted=True):
            found = {author_key(document, at): author.confidence for at, author in enumerate(document.authors)}
            yield from ((key_of(document.url), key, sure) for key, sure in found.items())

    def made_at(self) -> Iterator[GraphRow]:
        for document in self._catalogue.documents(unwanted=True):
            found = {
                fold_words(each.value): each.confidence for each in document.affiliations if fold_words(each.value)
            }
            yield from ((key_of(document.url), key, sure) for key, sure in found.items())

    def works_at(self) -> Iterator[GraphRow]:
        seen: set[tuple[str, str]] = set()
        for document in self._catalogue.documents(unwanted=True):
            for position, author in enumerate(document.authors):
                for name in author.affiliations:
                    pair = (author_key(document, position), fold_words(name))
                    if pair[1] and pair not in seen:
                        seen.add(pair)
                        yield *pair, author.confidence


def _place(url: str) -> tuple[str, str, str]:
    """The registered domain of a URL, its host, and the folder above it."""
    host = urls.host_of(url)
    path = url.partition("?")[0]
    cut = path.rstrip("/").rfind("/")
    parent = path[: cut + 1] if cut > path.find("://") + 2 else ""
    return urls.registered_domain(host) or host, host, parent
