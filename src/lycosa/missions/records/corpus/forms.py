"""The forms of a corpus: each writes the documents of one file, or one document as a file of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

import msgspec

from lycosa import urls
from lycosa.missions.records.corpus.options import CorpusForm
from lycosa.missions.records.corpus.scratch import CorpusDocument
from lycosa.output.parquet import write_parquet

COLUMNS = ("url", "host", "title", "authors", "date", "language", "fetched", "digest", "licence", "words", "text")
ENDINGS: dict[CorpusForm, str] = {
    "jsonl": "jsonl",
    "parquet": "parquet",
    "markdown": "md",
    "text": "txt",
}
#: Forms of a file for each document.
FILES = ("markdown", "text")
_NAME = re.compile(r"[^\w.-]+")
_MAX_NAME = 60
#: What would make a line of plain text a heading, an item or the like of Markdown.
_MARKED = re.compile(r"^(\s*)([#>*+|=`~-]|\d+[.)]\s)")


def write_documents(documents: Iterable[CorpusDocument], out: BinaryIO, form: CorpusForm) -> int:
    """Write the documents of one file, and return how many there were."""
    if form == "parquet":
        return write_parquet(([*_values(each).values()] for each in documents), COLUMNS, out)
    count = 0
    for document in documents:
        count += 1
        values = {**_values(document), "fetched": format_time(document.fetched)}
        out.write(msgspec.json.encode(values) + b"\n")
    return count


def write_file(document: CorpusDocument, form: CorpusForm) -> bytes:
    """A document as a file of its own."""
    if form == "text":
        return f"{document.text}\n".encode()
    body = document.markdown or "\n\n".join(_MARKED.sub(r"\1\\\2", line) for line in document.text.split("\n"))
    title = " ".join(document.title.split())
    heading = "" if not title or body.startswith("# ") else f"# {title}\n\n"
    return "".join([*_write_front_matter(document), heading, body, "\n"]).encode()


def name_file(document: CorpusDocument, form: CorpusForm) -> str:
    """Where a document stands below its folder."""
    return name_page(document.url, ENDINGS[form])


def name_page(url: str, ending: str) -> str:
    """A path for a page: always the same for one address, another for every other."""
    path = unquote(urlsplit(url).path, errors="replace").strip("/")
    last = path.rpartition("/")[2]
    stem = _NAME.sub("-", last.rpartition(".")[0] or last).strip("-.")
    host = _NAME.sub("-", urls.host_of(url))
    return f"{host}/{stem[:_MAX_NAME] or 'index'}-{urls.url_id(url) & 0xFFFFFFFF:08x}.{ending}"


def format_time(at: float) -> str | None:
    """A time as ISO 8601 has it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


def _values(document: CorpusDocument) -> dict[str, Any]:
    values = {name: getattr(document, name) for name in COLUMNS}
    values["fetched"] = datetime.fromtimestamp(document.fetched, UTC) if document.fetched else None
    return {name: None if value == "" else value for name, value in values.items()}


def _describe(document: CorpusDocument) -> dict[str, str]:
    """The metadata as texts; what is not known is left out."""
    about = {name: getattr(document, name) for name in COLUMNS if name != "text"}
    about |= {"authors": "; ".join(document.authors), "fetched": format_time(document.fetched) or ""}
    return {name: str(value) for name, value in about.items() if value}


def _write_front_matter(document: CorpusDocument) -> Iterator[str]:
    yield "---\n"
    for name, text in _describe(document).items():
        if name == "authors":
            yield "authors:\n" + "".join(f"  - {_quote(author)}\n" for author in document.authors)
        else:
            yield f"{name}: {text if name == 'words' else _quote(text)}\n"
    yield "---\n\n"


def _quote(text: str) -> str:
    return msgspec.json.encode(text).decode()  # which YAML reads, too
