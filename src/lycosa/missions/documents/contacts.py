"""Contact sheets: per author the documents, the best address with its evidence, and the letter that asks."""

from __future__ import annotations

import re
import string
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.config.mission_table import read_own
from lycosa.errors import UsageError
from lycosa.missions.documents.catalogue import Catalogue
from lycosa.missions.documents.decisions import permissions
from lycosa.missions.documents.model import DocumentDescription, KnownPerson, MailAddress, text_of
from lycosa.missions.documents.names import same_person
from lycosa.missions.documents.settings import DocumentSettings
from lycosa.output.destination import opened
from lycosa.output.export_folder import write_folder
from lycosa.output.plain import counted
from lycosa.output.table import write
from lycosa.text.fold import fold_words

COLUMNS = (
    "author",
    "email",
    "confidence",
    "source",
    "other_emails",
    "affiliations",
    "documents",
    "titles",
    "permission",
    "urls",
)
_SHORT = ("author", "email", "confidence", "source", "documents", "permission")

_FIELDS = frozenset({"name", "email", "documents", "count"})


class ContactSheet(Struct, frozen=True):
    """An author to be asked."""

    person: KnownPerson
    name: str
    address: MailAddress | None
    others: tuple[str, ...]
    documents: tuple[DocumentDescription, ...]
    permission: str  # asked, granted, refused; empty: open

    @property
    def is_open(self) -> bool:
        """Whether there is something left to ask."""
        return self.permission not in ("granted", "refused")

    @property
    def language(self) -> str:
        """The language of most of their documents."""
        found = Counter(each.language.value for each in self.documents if each.language)
        return found.most_common(1)[0][0] if found else "en"


def contact_sheets(catalogue: Catalogue, *, author: str = "", everything: bool = False) -> list[ContactSheet]:
    """The authors of wanted documents, those with the most documents first."""
    sheets = gather_sheets(catalogue.documents(), catalogue.people(), permissions(catalogue.folder))
    if author:
        sheets = [sheet for sheet in sheets if same_person(sheet.name, author) >= 0.75]
        if not sheets:
            raise UsageError(
                f"No wanted document of this collection has the author {author}; lycosa contacts lists them all."
            )
    elif not everything:
        sheets = [sheet for sheet in sheets if sheet.is_open]
    return sheets


def gather_sheets(
    wanted: Iterable[DocumentDescription], known: Iterable[KnownPerson], states: Mapping[str, str]
) -> list[ContactSheet]:
    """The sheets of all authors of documents, given what each document was answered."""
    people = {person.number: person for person in known}
    written: dict[int, list[DocumentDescription]] = {}
    loose: dict[str, list[DocumentDescription]] = {}
    for document in wanted:
        for each in document.authors:
            if each.person in people:
                written.setdefault(each.person, []).append(document)
            else:
                loose.setdefault(each.name, []).append(document)
    sheets = [_sheet(people[number], people[number].name, documents, states) for number, documents in written.items()]
    sheets += [_sheet(KnownPerson(number=0, name=name), name, documents, states) for name, documents in loose.items()]
    return sorted(sheets, key=lambda sheet: (-len(sheet.documents), fold_words(sheet.name)))


def _sheet(
    person: KnownPerson, name: str, documents: list[DocumentDescription], states: Mapping[str, str]
) -> ContactSheet:
    """The sheet of one author; the best address is the one that the site gives today, then the surest printed one."""
    found: dict[str, MailAddress] = {}
    for document in documents:
        for author in document.authors:
            if author.person == person.number and (person.number or author.name == name):
                for address in author.addresses:
                    known = found.get(address.email)
                    if known is None or address.confidence > known.confidence:
                        found[address.email] = address
    ranked = sorted(found.values(), key=lambda each: (not each.is_current, -each.confidence))
    answers = {states.get(document.url, "") for document in documents}
    state = answers.pop() if len(answers) == 1 else "partly" if answers - {""} else ""
    return ContactSheet(
        person=person,
        name=name,
        address=ranked[0] if ranked else None,
        others=tuple(each.email for each in ranked[1:]),
        documents=tuple(documents),
        permission=state,
    )


def write_sheets(sheets: Iterable[ContactSheet], output: str, *, form: str | None, raw: bool) -> str:
    """Write the list of authors; returns what was written."""
    with opened(output, form) as (out, chosen):
        columns = _SHORT if chosen == "table" else COLUMNS
        count = write(
            ([row[name] for name in columns] for row in map(sheet_row, sheets)), columns, out, form=chosen, raw=raw
        )
    if not count:
        print("lycosa: no author is left to be asked (--all lists those who answered, too)", file=sys.stderr)
    return counted(count, "author")


def sheet_row(sheet: ContactSheet) -> dict[str, str | int | float | None]:
    """A sheet as a row of the list."""
    proof = sheet.address.evidence[0] if sheet.address and sheet.address.evidence else None
    source = "" if proof is None else f"{proof.rule}, {proof.url or f'page {proof.page} of a document'}"
    return {
        "author": sheet.name,
        "email": sheet.address.email if sheet.address else "",
        "confidence": sheet.address.confidence if sheet.address else None,
        "source": source,
        "other_emails": "; ".join(sheet.others),
        "affiliations": "; ".join(dict.fromkeys(each.value for each in sheet.person.affiliations)),
        "documents": len(sheet.documents),
        "titles": "; ".join(text_of(each.title) or each.url for each in sheet.documents),
        "permission": sheet.permission,
        "urls": "; ".join(each.url for each in sheet.documents),
    }


def write_letters(collection: Collection, sheets: Iterable[ContactSheet], folder: str) -> str:
    """Write a letter to each author who can be reached, and a list of those who cannot; returns what was written."""
    settings = read_own(collection.mission, "documents", DocumentSettings)
    own = _read_template(settings.letter) if settings.letter else ""
    without: list[str] = []

    def files() -> Iterator[tuple[str, bytes]]:
        taken: Counter[str] = Counter()
        for sheet in sheets:
            if sheet.address is None:
                without.append(sheet.name)
                continue
            stem = re.sub(r"[^a-z0-9]+", "-", fold_words(sheet.name))[:60].strip("-") or "author"
            taken[stem] += 1
            name = f"{stem}.txt" if taken[stem] == 1 else f"{stem}-{taken[stem]}.txt"
            yield name, fill_letter(sheet, own).encode()
        if without:
            yield "~without-address.txt", ("\n".join(without) + "\n").encode()

    count = write_folder(Path(folder), files(), kind="letters") - bool(without)
    lack = f"; {len(without)} authors have no address (~without-address.txt)" if without else ""
    return counted(count, "letter") + lack


def _read_template(path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
        names = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except (OSError, ValueError) as error:
        raise UsageError(f"documents.letter: {path} cannot be read as a letter ({error}).") from None
    if unknown := names - _FIELDS:
        raise UsageError(
            f"documents.letter: {path} has {{{sorted(unknown)[0]}}};"
            " allowed: {name}, {email}, {documents}, {count}."
        )
    return text


@cache
def _letters() -> dict[str, dict[str, str]]:
    """The letters that ask, by language."""
    return tomllib.loads(Path(__file__).with_name("letters.toml").read_text(encoding="utf-8"))


def fill_letter(sheet: ContactSheet, template: str = "") -> str:
    """The letter to an author, in the language of their documents unless a template is given."""
    letters = _letters()
    letter = letters.get(sheet.language, letters["en"])
    listed = "\n".join(f"  - {text_of(each.title) or each.url}\n    {each.url}" for each in sheet.documents)
    count = f"{len(sheet.documents)} {letter['one' if len(sheet.documents) == 1 else 'many']}"
    email = sheet.address.email if sheet.address else ""
    body = (template or letter["text"]).format(name=sheet.name, email=email, documents=listed, count=count)
    return f"To: {email}\n{body}" if not template else body
