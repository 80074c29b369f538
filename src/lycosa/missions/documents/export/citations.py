"""Citations of documents for reference managers: BibTeX and RIS."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from lycosa.missions.documents.export.dublin_core import inverted, publishers
from lycosa.missions.documents.model import DocumentDescription, text_of
from lycosa.text.fold import fold_words

_ENTRIES = {
    "article": "article",
    "thesis": "phdthesis",
    "report": "techreport",
    "proposal": "techreport",
    "poster": "misc",
}
_RIS_TYPES = {"article": "JOUR", "thesis": "THES", "report": "RPRT", "proposal": "RPRT", "slides": "SLIDE"}
_SPECIAL = re.compile(r"([&%$#_])")


def list_bibtex(documents: Iterable[DocumentDescription]) -> Iterator[bytes]:
    """One entry per document; keys are made of author, year and title, and are each given once."""
    taken: Counter[str] = Counter()
    for document in documents:
        key = _key(document)
        taken[key] += 1
        if taken[key] > 1:
            key += _letters(taken[key] - 1)
        yield _bibtex(document, key).encode()


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(97 + rest) + letters
    return letters


def _key(document: DocumentDescription) -> str:
    surname = (
        fold_words(inverted(document.authors[0].name).partition(",")[0]).replace(" ", "")
        if document.authors
        else "anon"
    )
    words = [word for word in fold_words(text_of(document.title)).split() if len(word) > 3]
    return re.sub(r"[^a-z0-9]", "", f"{surname}{document.year}{words[0] if words else ''}") or "document"


def _bibtex(document: DocumentDescription, key: str) -> str:
    kind = _ENTRIES.get(document.category, "misc")
    if kind == "phdthesis" and document.subcategory and "doctoral" not in document.subcategory:
        kind = "mastersthesis"
    fields = [
        ("title", f"{{{_tex(document.title.value)}}}" if document.title else ""),
        ("author", " and ".join(_tex(inverted(author.name)) for author in document.authors)),
        ("year", document.year),
        (
            "school" if "thesis" in kind else "institution",
            _tex(document.affiliations[0].value) if document.affiliations else "",
        ),
        ("keywords", _tex(", ".join(each.value for each in document.keywords))),
        ("abstract", _tex(document.abstract.value) if document.abstract else ""),
        ("language", text_of(document.language)),
        ("doi", document.doi),
        ("url", document.url.replace("{", "%7B").replace("}", "%7D")),
    ]
    inner = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields if value)
    return f"@{kind}{{{key},\n{inner}\n}}\n\n"


def _tex(text: str) -> str:
    """Text as a field of BibTeX holds it: braces in pairs only, special characters escaped, one line."""
    plain = " ".join(text.replace("\\", " ").replace("{", "(").replace("}", ")").split())
    return _SPECIAL.sub(r"\\\1", plain)


def list_ris(documents: Iterable[DocumentDescription]) -> Iterator[bytes]:
    """One record per document, as RIS has it."""
    for document in documents:
        rows = [("TY", _RIS_TYPES.get(document.category, "GEN"))]
        if document.title:
            rows.append(("TI", document.title.value))
        rows += [("AU", inverted(author.name)) for author in document.authors]
        rows += [
            ("A3", inverted(person.name)) for person in document.contributors if person.role in ("director", "tutor")
        ]
        rows += [("PY", document.year), ("DO", document.doi), ("UR", document.url)]
        rows += [("LA", text_of(document.language))]
        rows += [("PB", value) for value in publishers(document)[:1]]
        rows += [("KW", each.value) for each in document.keywords]
        rows += [("AB", text_of(document.abstract))]
        lines = [f"{tag}  - {' '.join(value.split())}\r\n" for tag, value in rows if value]
        yield ("".join(lines) + "ER  - \r\n\r\n").encode()
