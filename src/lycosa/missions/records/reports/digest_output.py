"""Outputs of a digest: HTML, Markdown and plain text by its report, an Atom feed, a mail; and their delivery.

Mails are queued in the transaction that counts a digest as delivered, then sent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lycosa.clock import iso_time
from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.records.alerts.settings import read_alerts
from lycosa.missions.records.database import StoredRecord, open_store
from lycosa.missions.records.delivery import Message, Outbox
from lycosa.missions.records.readers import ReadersFile, load_readers
from lycosa.missions.records.reports.digest import Digest, DigestStore, view_record
from lycosa.missions.records.reports.feed import FeedEntry, entry_id, write_feed
from lycosa.missions.records.reports.report_file import ReportFile, load_report
from lycosa.output.plain import counted

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


def check_readers(path: str) -> None:
    """Refuse a readers file by which nothing could be told after a round."""
    file = load_readers(path)
    for reader in file.readers:
        if reader.report != "none":
            load_report(reader.report, beside=file.path)
    read_alerts(file)
    if any(reader.mail for reader in file.readers):
        refuse_without_server(file)


def after_round(collection: Collection, readers_path: Path, quiet: bool) -> list[str]:
    """Mail every reader what a round found for them; gives sentences for people."""
    file = load_readers(readers_path)
    readers = [reader for reader in file.readers if reader.mail and reader.report != "none"]
    if not readers:
        return []
    refuse_without_server(file)
    with open_store(collection) as store:
        digests = DigestStore(store)
        made = [digest for reader in readers if (digest := digests.make(reader)).total]
        count = deliver(file, digests, made)
        report = Outbox(store).send(file.mail, webhooks=file.webhooks, proxy=collection.mission.fetch.proxy)
    told = [f"{counted(count, 'digest')} queued, {counted(report.sent, 'message')} sent"] if count else []
    return [*([] if quiet else told), *report.sentences]


def refuse_without_server(file: ReadersFile) -> None:
    """Refuse to send where the readers file does not say by which server."""
    if file.mail is None:
        raise UsageError(f"{file.path} has no table [mail]: add one with host and sender, by which digests are sent.")


def deliver(file: ReadersFile, store: DigestStore, digests: Iterable[Digest]) -> int:
    """Queue the mails of digests and count them as delivered; returns how many have something to tell.

    A reader without a mail address gets files only, which the caller has written.
    """
    count = 0
    outbox = Outbox(store.store)
    for digest in digests:
        if not digest.total:
            continue
        messages: list[Message] = []
        if digest.reader.mail:
            report = load_report(digest.reader.report, beside=file.path)
            data = gather_data(report, digest, store)
            messages.append(make_message(report, digest, data, feed_id=store.feed_id(digest.reader.name)))
        with store.store.transaction():
            outbox.put(messages)
            store.deliver(digest)
        count += 1
    return count
