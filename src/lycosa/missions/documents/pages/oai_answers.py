"""Answers by OAI-PMH: the records that a repository sends in Dublin Core, and where its list goes on."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode, urlsplit

from lxml import etree

from lycosa.missions.documents.model import Evidence, HarvestedWork, Person, PresentedWork
from lycosa.missions.documents.pages.landing import (
    find_doi,
    find_year,
    finding,
    kind_of_type,
    split_keywords,
    turn_name,
)
from lycosa.model import Link
from lycosa.parse import Doc

NAMESPACE = "http://www.openarchives.org/OAI/2.0/"
_SURE = 0.93
_MOST = 5_000  # records of one answer
_NO_PERSON = ("http://", "https://")


def is_answer(doc: Doc) -> bool:
    """Whether a document is what a repository says by OAI-PMH."""
    return doc.root is not None and doc.root.namespace == NAMESPACE


def links_of(doc: Doc) -> Iterator[Link]:
    """The rest of a list, and the pages of the works."""
    tree = doc.etree
    if tree is None:
        return
    token = next(tree.iter(f"{{{NAMESPACE}}}resumptionToken"), None)
    if token is not None and (text := (token.text or "").strip()):
        parts = urlsplit(doc.url)
        query = urlencode({"verb": "ListRecords", "resumptionToken": text})
        yield Link(f"{parts.scheme}://{parts.netloc}{parts.path}?{query}")
    for work in read_works(doc):
        yield from (Link(address) for address in work.identifiers if address.startswith(_NO_PERSON))


def read_works(doc: Doc) -> Iterator[HarvestedWork]:
    """The works of an answer; deleted ones have no metadata, and are none."""
    tree = doc.etree
    if tree is None:
        return
    for number, record in enumerate(tree.iter(f"{{{NAMESPACE}}}record")):
        if number >= _MOST:
            return
        fields: dict[str, list[str]] = {}
        for element in record.iter("{http://purl.org/dc/elements/1.1/}*"):
            if text := " ".join("".join(str(part) for part in element.itertext()).split()):
                fields.setdefault(etree.QName(element).localname, []).append(text[:20_000])
        if fields.get("title"):
            yield _make(fields, doc.url)


def _make(fields: dict[str, list[str]], url: str) -> HarvestedWork:
    def said(name: str) -> list[str]:
        return fields.get(name, [])[:200]

    names = [name for text in said("creator") if (name := turn_name(text))]
    evidence = [Evidence(source="page", rule="OAI-PMH dc:creator", url=url, quote=name, distance=1) for name in names]
    work = PresentedWork(
        title=finding(said("title")[0], _SURE, url, "OAI-PMH dc:title"),
        authors=tuple(Person(name, _SURE, evidence=(proof,)) for name, proof in zip(names, evidence, strict=True)),
        doi=find_doi([*said("identifier"), *said("relation")]),
        year=find_year(said("date")),
        abstract=next((finding(text, 0.9, url, "OAI-PMH dc:description") for text in said("description")), None),
        keywords=tuple(split_keywords([finding(text, 0.9, url, "OAI-PMH dc:subject") for text in said("subject")])),
        rights=tuple(finding(text, 0.9, url, "OAI-PMH dc:rights") for text in said("rights")[:5]),
        language=next(iter(said("language")), "")[:2].lower(),
        kind=kind_of_type(said("type")),
        is_told=True,
    )
    return HarvestedWork(identifiers=tuple(said("identifier") + said("relation"))[:20], work=work)
