"""Pages that are read and not stored: what is remembered of them, as an `UnstoredPage` and a line of the archive.

A page whose only use was its links must not be forgotten with them: without a trace of it, a database that is made
anew from the archive would know neither that it was visited nor where it led.
"""

from __future__ import annotations

from collections.abc import Sequence

from lycosa.archive import unstored_log
from lycosa.frontier import link_codec
from lycosa.model import Answer, Discovery, Link, State, Target, UnstoredPage
from lycosa.parse import Doc

Rows = list[tuple[str, str, bool]]


def note_page(
    answer: Answer, doc: Doc, *, reason: str, kind: str, rows: Rows, news: Sequence[Discovery]
) -> tuple[UnstoredPage, bytes]:
    """A page that was read for its links, `rows`; `news` are the addresses that nobody had named before.

    Those alone are in the line: so each address is written once, which takes a fifth of what all links would.
    """
    entry = unstored_log.UnstoredAnswer(
        answer.target.url, answer.began, answer.status, reason, doc.mime, kind, answer.size
    )
    entry.links = [
        (found.url, found.anchor, "" if found.via == "a" else found.via)
        for found in news
        if found.state == State.PENDING
    ]
    return UnstoredPage(doc.mime, kind, answer.size, link_codec.pack(rows)), unstored_log.encode(entry)


def note_other(answer: Answer) -> bytes:
    """An answer that brought no page."""
    location = answer.headers.get("location", "")
    return unstored_log.encode(
        unstored_log.UnstoredAnswer(answer.target.url, answer.began, answer.status, location=location)
    )


def recall(entry: unstored_log.UnstoredAnswer, target: Target) -> tuple[Answer, Doc]:
    """The answer that a line tells of, as far as it does, and the document with the links that were followed."""
    headers = {"content-type": entry.mime} | ({"location": entry.location} if entry.location else {})
    doc = Doc(target.url, b"", kind=entry.kind, mime=entry.mime)
    doc.links = [Link(url, text, kind or "a") for url, text, kind in entry.links]
    return Answer(target, entry.status, headers=headers, size=entry.size, began=entry.at), doc
