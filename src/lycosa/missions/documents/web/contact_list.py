"""The contact sheet: authors, how they are reached, what they wrote, what they answered."""

from __future__ import annotations

import io

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.missions.documents.catalogue import kept_catalogue, shown_catalogue
from lycosa.missions.documents.contacts import (
    COLUMNS,
    ContactSheet,
    contact_sheets,
    fill_letter,
    gather_sheets,
    sheet_row,
)
from lycosa.missions.documents.decisions import permissions
from lycosa.missions.web_lists import count_pages
from lycosa.output.table import Format, write
from lycosa.text.fold import fold_words

PAGE_SIZE = 50


class ContactDocument(Struct, frozen=True):
    """A document of an author."""

    url: str
    title: str


class ShownContact(Struct, frozen=True):
    """An author in the sheet."""

    name: str
    email: str
    confidence: float | None
    source: str
    source_url: str
    others: tuple[str, ...]
    affiliations: tuple[str, ...]
    permission: str
    documents: tuple[ContactDocument, ...]
    letter: str


class ContactList(Struct, frozen=True):
    """A page of the sheet."""

    people: tuple[ShownContact, ...]
    total: int
    reachable: int
    page: int
    pages: int
    q: str
    everything: bool
    is_current: bool


def list_contacts(collection: Collection, *, words: str = "", everything: bool = False, page: int = 1) -> ContactList:
    """The authors whose name, address or affiliation has these words."""
    catalogue, is_current = kept_catalogue(collection)
    sought = fold_words(words).split()
    wanted = (document for document in catalogue.documents if document.wanted)
    sheets = [
        sheet
        for sheet in gather_sheets(wanted, catalogue.people, permissions(collection.path))
        if (everything or sheet.is_open)
        and (not sought or all(word in fold_words(_words_of(sheet)) for word in sought))
    ]
    pages = count_pages(len(sheets), PAGE_SIZE)
    page = min(max(page, 1), pages)
    return ContactList(
        people=tuple(_show(sheet) for sheet in sheets[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]),
        total=len(sheets),
        reachable=sum(sheet.address is not None for sheet in sheets),
        page=page,
        pages=pages,
        q=words,
        everything=everything,
        is_current=is_current,
    )


def _words_of(sheet: ContactSheet) -> str:
    email = sheet.address.email if sheet.address else ""
    return f"{sheet.name} {email} {' '.join(each.value for each in sheet.person.affiliations)}"


def _show(sheet: ContactSheet) -> ShownContact:
    proof = sheet.address.evidence[0] if sheet.address and sheet.address.evidence else None
    return ShownContact(
        name=sheet.name,
        email=sheet.address.email if sheet.address else "",
        confidence=sheet.address.confidence if sheet.address else None,
        source=proof.rule if proof else "",
        source_url=proof.url if proof else "",
        others=sheet.others,
        affiliations=tuple(dict.fromkeys(each.value for each in sheet.person.affiliations))[:5],
        permission=sheet.permission,
        documents=tuple(
            ContactDocument(each.url, each.title.value if each.title else "") for each in sheet.documents[:200]
        ),
        letter=fill_letter(sheet) if sheet.address else "",
    )


def write_contacts(collection: Collection, form: Format = "csv", *, everything: bool = False) -> bytes:
    """The whole sheet as a file, with the columns of `lycosa contacts`."""
    body = io.BytesIO()
    out = io.TextIOWrapper(body, encoding="utf-8", errors="replace", newline="", write_through=True)
    with shown_catalogue(collection) as (catalogue, _):
        rows = map(sheet_row, contact_sheets(catalogue, everything=everything))
    write(([row[name] for name in COLUMNS] for row in rows), COLUMNS, out, form=form)
    out.flush()
    return body.getvalue()
