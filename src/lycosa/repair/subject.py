"""The subject of a forgetting: addresses, patterns of addresses and persons, and whether something names one of them.

A person is sought as letters are compared: without case and accents, in either order of the names, whatever stands
between them, also in addresses, mail addresses, entities and escapes.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator, Sequence
from html import unescape
from io import BytesIO
from urllib.parse import unquote

from lycosa import urls
from lycosa.archive.packages import BAD_ZIP
from lycosa.errors import UsageError
from lycosa.extract.pdf_process import PdfProcess
from lycosa.parse import read
from lycosa.text.fold import fold

_LEAST_LETTERS = 4
_LEAST_SAID = 2  # letters or digits of a pattern, beside its scheme
_MEMBER_BYTES = 64 << 20
_URL = re.compile(r"""https?://[^\s"'<>\\^`{|}]+""")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_TAG = re.compile(r"<[^<>]{0,2000}>")


class ForgetSubject:
    """What is to be forgotten; `unread` counts documents of which not everything could be looked at."""

    def __init__(self, words: Sequence[str], persons: Sequence[str]) -> None:
        """`words` are addresses, or patterns of them with *; `persons` names or mail addresses."""
        self.words = (*words, *persons)
        self._urls = {_normalise(word) for word in words if "*" not in word}
        patterns = [".*".join(map(re.escape, _check_pattern(word).split("*"))) for word in words if "*" in word]
        self._patterns = re.compile("|".join(patterns)) if patterns else None
        self._persons = re.compile("|".join(map(_pattern_of, persons))) if persons else None
        self._pdf = PdfProcess()
        self.unread = 0

    @property
    def has_persons(self) -> bool:
        return self._persons is not None

    def close(self) -> None:
        self._pdf.close()

    def is_address(self, url: str) -> bool:
        """Whether an address is meant, or names a person."""
        if url in self._urls or (self._patterns is not None and self._patterns.fullmatch(url)):
            return True
        return self.is_named(url)

    def is_named(self, text: str) -> bool:
        """Whether a text names a person."""
        if self._persons is None or not text:
            return False
        plain = fold(text)
        if self._persons.search(plain):
            return True
        if "&" in plain or "%" in plain or "\\u" in plain:
            read_out = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), unescape(unquote(text)))
            return self._persons.search(fold(read_out)) is not None
        return False

    def is_meant(self, text: str) -> bool:
        """Whether a text names a person or has one of the addresses in it."""
        if self.is_named(text):
            return True
        return "://" in text and any(
            self.is_address(url) or self.is_address(url.rstrip(".,;:!?)]"))
            for found in _URL.findall(text)
            if (url := urls.normalise(found)) is not None
        )

    def is_value(self, value: object) -> bool:
        """The same of a value of a database."""
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        return isinstance(value, str) and self.is_meant(value)

    def is_in(self, url: str, headers: dict[str, str], body: bytes, *, addresses: bool = False) -> bool:
        """Whether a document names a person; with `addresses`, or has one of the addresses in it."""
        meant = self.is_meant if addresses else self.is_named
        return any(map(meant, self._texts(url, headers, body)))

    def _texts(self, url: str, headers: dict[str, str], body: bytes) -> Iterator[str]:
        """What a document says, in every form in which it may be read."""
        doc = read(url, headers, body, read_pdf=self._pdf)
        raw = body.decode(doc.charset or "utf-8", "replace") if _is_codec(doc.charset) else body.decode("latin-1")
        yield raw
        if "\0" in raw[:200]:
            yield body.decode("utf-16", "replace")
        if doc.kind == "pdf":
            yield from (pdf := self._pdf(body)).info.values()
            yield from pdf.links()
            yield " ".join(" ".join(pdf).split())
            self.unread += bool(pdf.problem)
        elif body[:2] == b"PK":
            yield from self._members(body)
        else:
            yield doc.text
            yield " ".join(_TAG.sub("", raw).split())

    def _members(self, body: bytes) -> Iterator[str]:
        try:
            with zipfile.ZipFile(BytesIO(body)) as archive:
                for info in archive.infolist():
                    yield info.filename
                    with archive.open(info) as member:
                        text = member.read(_MEMBER_BYTES).decode("utf-8", "replace")
                    yield text
                    yield _TAG.sub("", text)
        except BAD_ZIP:
            self.unread += 1


def _normalise(word: str) -> str:
    url = urls.normalise(word) if "://" in word else None
    if url is None:
        raise UsageError(f"{word!r} is no address; allowed: a URL, a pattern of URLs with *, or --person NAME.")
    return url


def _check_pattern(word: str) -> str:
    """A pattern that says of which addresses it speaks."""
    said = re.sub(r"^(?:https?|[*:/])+|[\W_]", "", word)
    if len(said) < _LEAST_SAID:
        raise UsageError(f"The pattern {word!r} means nearly every address: name a host, or a part of the path.")
    return word


def _pattern_of(person: str) -> str:
    words = re.findall(r"[^\W_]+", fold(person))
    if sum(map(len, words)) < _LEAST_LETTERS:
        raise UsageError(f"The name {person!r} is too short: it would be found everywhere.")
    between = r"[\W_]{0,5}"
    orders = [between.join(words)] + ([between.join(reversed(words))] if "@" not in person and len(words) > 1 else [])
    return rf"(?<![^\W\d_])(?:{'|'.join(orders)})(?![^\W\d_])"


def _is_codec(name: str) -> bool:
    try:
        "".encode(name or "utf-8")
    except LookupError:
        return False
    return True


def hash_of(text: str) -> str:
    """What stands for a text in the log: it shows nothing, and whoever knows the text can recognise it."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"
