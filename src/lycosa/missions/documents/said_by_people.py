"""What people say of documents, at the command line or in the browser: checked, then kept in `decisions.db`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lycosa.config.fields import nearest
from lycosa.errors import UsageError
from lycosa.missions.documents.catalogue import Catalogue
from lycosa.missions.documents.decisions import SEVERAL, SINGLE, STATES, check_values, correct, decide
from lycosa.missions.documents.model import DocumentDescription
from lycosa.missions.documents.names import same_person

_MAX_VALUE = 20_000
_MAX_VALUES = 200


def _find(catalogue: Catalogue, url: str) -> DocumentDescription:
    document = catalogue.document(url)
    if document is None:
        raise UsageError(f"{url[:1000]} is no document of this collection; lycosa documents lists them.")
    return document


def split_values(field: str, text: str) -> list[str]:
    """The values that a person typed: a line each where a field has several."""
    lines = text.replace("\r\n", "\n").split("\n") if field in SEVERAL else [text]
    return [value for line in lines if (value := " ".join(line.split()))]


def keep_correction(catalogue: Catalogue, url: str, field: str, values: Sequence[str], *, undo: bool = False) -> str:
    """Keep the right values of a field, or take the correction back; gives the document's address."""
    allowed = (*SINGLE, *SEVERAL)
    if field not in allowed:
        guess = f" (did you mean {meant}?)" if (meant := nearest(field, allowed)) else ""
        raise UsageError(f"There is no field {field[:100]}{guess}; allowed: {', '.join(allowed)}.")
    if undo and values:
        raise UsageError("--undo takes no values.")
    if len(values) > _MAX_VALUES or any(len(value) > _MAX_VALUE for value in values):
        raise UsageError(f"{field} is too long; allowed: {_MAX_VALUES} values of {_MAX_VALUE:,} characters.")
    check_values(field, values)
    document = _find(catalogue, url)
    correct(catalogue.folder, document.url, field, None if undo else list(values))
    return document.url


def _choose(catalogue: Catalogue, urls: Sequence[str], author: str) -> Iterator[tuple[str, str]]:
    """The documents that are meant, each with those of its authors who are; without `author` with all of them."""
    wanted = [_find(catalogue, url) for url in urls]
    for document in wanted or catalogue.documents(unwanted=True):
        authors = [each.name for each in document.authors]
        names = [name for name in authors if same_person(name, author) >= 0.75] if author else authors or [""]
        if not names and wanted:
            known = ", ".join(authors) or "none is known"
            raise UsageError(f"{author[:200]} is no author of {document.url}: {known}.")
        yield from ((document.url, name) for name in names)


def keep_decision(catalogue: Catalogue, urls: Sequence[str], author: str, state: str, note: str = "") -> int:
    """Record that an author was asked, or the answer: of these documents, or of all of theirs; how many those are."""
    kind = next((each for each in STATES if each == state), None)
    if kind is None:
        raise UsageError(f"The decision is {state[:100]!r}; allowed: {', '.join(STATES)}.")
    if not urls and not author:
        raise UsageError("Say what was decided on: the URLs of documents, or --author NAME for all of theirs.")
    if len(note) > _MAX_VALUE:
        raise UsageError(f"The note has {len(note):,} characters; allowed: {_MAX_VALUE:,}.")
    chosen = list(_choose(catalogue, urls, author))
    if not chosen:
        raise UsageError(f"No document of this collection has the author {author[:200]}; lycosa contacts lists them.")
    for url, name in chosen:
        decide(catalogue.folder, url, name, kind, note)
    return len({url for url, _ in chosen})
