"""Outputs of a digest: HTML, Markdown and plain text by its report, an Atom feed, a message for the outbox."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from lycosa.missions.records.database import StoredRecord
from lycosa.missions.records.delivery import Message
from lycosa.missions.records.reports.digest import Digest, DigestStore
from lycosa.missions.records.reports.feed import FeedEntry, entry_id, write_feed
from lycosa.missions.records.reports.record_view import view_record
from lycosa.missions.records.reports.report_file import ReportFile
from lycosa.output.wording import counted

#: Entries of a feed: new ones push the oldest out.
MAX_ENTRIES = 200
ENDINGS = {"html": "html", "markdown": "md", "text": "txt", "atom": "atom", "mail": "eml"}
_SLUG = 60


def gather_data(report: ReportFile, digest: Digest, store: DigestStore) -> dict[str, Any]:
    """All that the templates of a report see of a digest."""
    values = {"reader": digest.reader.name, "since": digest.since}
    about = {
        "name": report.name,
        "made": iso_time(digest.made_at),
        "since": iso_time(digest.since) if digest.since else "",
        "issue": digest.issue,
    }
    return {**report.gather(store.store, values), **digest.as_data(), "report": about}


def make_message(report: ReportFile, digest: Digest, data: Mapping[str, Any], *, feed_id: str) -> Message:
    """The mail of a digest: text and HTML, whichever of them the report has."""
    texts = [form for form in ("text", "markdown") if form in report.templates]
    subject = f"{counted(digest.total, 'record')} for {digest.reader.name}: {_name_best(digest)}"
    return Message(
        key=f"digest {feed_id} {digest.issue}",
        channel="mail",
        to=digest.reader.mail,
        subject=subject,
        text=report.write(data, texts[0]) if texts else f"{subject}\n",
        html=report.write(data, "html") if "html" in report.templates else "",
    )


def _name_best(digest: Digest) -> str:
    best = next((item for group in digest.groups for item in group.items), None)
    return str(view_record(best.record)["title"]) if best else "nothing new"


def make_feed(digest: Digest, store: DigestStore) -> bytes:
    """The feed of a reader: what the digest has, and what was delivered before it."""
    name = digest.reader.name
    entries = {}
    for record, published, updated, interests in store.delivered(name, limit=MAX_ENTRIES):
        entries[record.id] = make_entry(record, published=published, updated=updated, interests=interests)
    for item in digest.items[:MAX_ENTRIES]:
        record = item.record
        before = entries.get(record.id)
        entries[record.id] = make_entry(
            record,
            published=before.published if before else record.first_at,
            updated=record.changed_at,
            interests=item.interests,
        )
    newest = sorted(entries.values(), key=lambda entry: -entry.updated)[:MAX_ENTRIES]
    return write_feed(newest, id=store.feed_id(name), title=f"News for {name}", updated=digest.made_at, author="lycosa")


def make_entry(record: StoredRecord, *, published: float, updated: float, interests: Iterable[str] = ()) -> FeedEntry:
    """The entry of a record."""
    view = view_record(record)
    return FeedEntry(
        id=entry_id(record.kind, record.url, record.key),
        title=view["title"],
        url=view["url"],
        published=published,
        updated=max(updated, published),
        authors=tuple(view["authors"]) or (record.host or "unknown",),
        summary=view["summary"],
        paragraphs=tuple(view["paragraphs"]),
        categories=tuple(interests),
        language=view["language"],
    )


def make_slug(text: str, taken: Iterable[str] = ()) -> str:
    """A name for a file or folder: small letters, digits and hyphens, other than those that are taken."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:_SLUG].strip("-") or "x"
    taken = set(taken)
    names = (slug, *(f"{slug}-{nth}" for nth in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def iso_time(at: float) -> str:
    """A time in ISO form, in UTC."""
    return datetime.fromtimestamp(min(max(at, 0.0), 4e9), UTC).isoformat(timespec="seconds")
