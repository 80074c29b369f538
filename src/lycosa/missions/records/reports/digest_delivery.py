"""Delivery of digests: mails are queued in the transaction that counts a digest as delivered, then sent."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.records.alerts.settings import read_alerts
from lycosa.missions.records.database import open_store
from lycosa.missions.records.delivery import Message, Outbox
from lycosa.missions.records.readers import ReadersFile, load_readers
from lycosa.missions.records.reports.digest import Digest, DigestStore
from lycosa.missions.records.reports.digest_output import gather_data, make_message
from lycosa.missions.records.reports.report_file import load_report
from lycosa.output.wording import counted


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
