"""Reader pages: readers, their digests, alerts and the outbox.

Which readers file a crawl was given is not kept: `readers.toml` in the collection counts, else the one beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.errors import LycosaError, UsageError
from lycosa.missions.records.alerts.settings import read_alerts
from lycosa.missions.records.delivery import Outbox
from lycosa.missions.records.readers import ReadersFile, load_readers, read_readers, read_toml
from lycosa.missions.records.reports.digest import DigestStore
from lycosa.missions.records.reports.digest_output import gather_data
from lycosa.missions.records.reports.report_file import load_report
from lycosa.missions.records.web.current_store import changed_store, shown_store
from lycosa.missions.records.web.edited_readers import NAME, find_readers, reader_places
from lycosa.missions.web import WebRequest

#: Changes that the preview of a digest looks at, the newest ones.
PREVIEWED = 1_000


class ShownReader(Struct, frozen=True):
    """A reader, what they are interested in, and what they got."""

    name: str
    mail: str
    interests: tuple[str, ...]
    report: str
    group: str
    limit: int
    issue: int  # digests that they got
    last_at: float
    delivered: int  # records that they got


class ReaderList(Struct, frozen=True):
    """The readers of a file; `problem` says what is wrong with it."""

    path: str  # empty: there is none
    places: tuple[str, ...]  # where it is looked for
    readers: tuple[ShownReader, ...]
    alerts: tuple[str, ...]
    mail_server: str
    problem: str = ""


class DigestPreview(Struct, frozen=True):
    """What a reader would get now."""

    reader: str
    readers: tuple[str, ...]
    path: str
    issue: int
    since: float
    total: int
    new: int
    is_current: bool
    looked_at: int  # so many of the newest changes, as there are more; 0: all


def list_readers(collection: Collection) -> ReaderList:
    """The readers of the file that is found, with what each got."""
    path = find_readers(collection)
    places = tuple(map(str, reader_places(collection)))
    if path is None:
        return ReaderList("", places, (), (), "")
    try:
        file = read_readers(path, *read_toml(path, what="a readers file"))
        alerts = tuple(alert.name for alert in read_alerts(file))
    except LycosaError as problem:
        return ReaderList(str(path), places, (), (), "", str(problem))
    server = f"{file.mail.host}:{file.mail.port}" if file.mail is not None else ""
    with shown_store(collection.path) as (store, _):
        states: dict[str, tuple[int, float, int]] = {}
        if store.has_table("digest_reader"):
            sql = """SELECT reader, issue, at, (SELECT count(*) FROM digest_delivered AS d WHERE d.reader = r.reader)
                     FROM digest_reader AS r"""
            states = {name: (issue, at, count) for name, issue, at, count in store.rows(sql)}
    readers = tuple(
        ShownReader(
            name=reader.name,
            mail=reader.mail,
            interests=tuple(interest.name for interest in reader.interests),
            report=reader.report,
            group=reader.group,
            limit=reader.limit,
            issue=states.get(reader.name, (0, 0.0, 0))[0],
            last_at=states.get(reader.name, (0, 0.0, 0))[1],
            delivered=states.get(reader.name, (0, 0.0, 0))[2],
        )
        for reader in file.readers
    )
    return ReaderList(str(path), places, readers, alerts, server)


def _load(collection: Collection) -> ReadersFile:
    path = find_readers(collection)
    if path is None:
        raise UsageError(f"There is no readers file: put {NAME} into the collection or beside it.")
    return load_readers(path)


def preview_digest(collection: Collection, name: str) -> DigestPreview:
    """The figures of a reader's next digest; nothing counts as delivered."""
    file = _load(collection)
    reader = file.find(name)
    with shown_store(collection.path) as (store, is_current):
        made = DigestStore(store).make(reader, newest=PREVIEWED)
        return DigestPreview(
            reader=reader.name,
            readers=tuple(each.name for each in file.readers if each.report != "none"),
            path=str(file.path),
            issue=made.issue,
            since=made.since,
            total=made.total,
            new=sum(item.what == "new" for item in made.items),
            is_current=is_current,
            looked_at=PREVIEWED if made.is_cut else 0,
        )


def write_digest(collection: Collection, name: str) -> str:
    """A reader's next digest as the mail would show it, in HTML; nothing counts as delivered."""
    file = _load(collection)
    reader = file.find(name)
    if reader.report == "none":
        raise UsageError(f'{reader.name} gets no digests (report = "none").')
    report = load_report(reader.report, beside=file.path)
    with shown_store(collection.path) as (store, _):
        digests = DigestStore(store)
        return report.write(gather_data(report, digests.make(reader, newest=PREVIEWED), digests), "html")


def tell_watched(request: WebRequest) -> Mapping[str, Any]:
    """What the readers file watches, and what is wrong with it."""
    collection = request.collection
    try:
        watched = read_alerts(_load(collection)) if find_readers(collection) is not None else ()
    except LycosaError as error:
        return {"watched": (), "problem": str(error)}
    return {"watched": watched, "problem": ""}


def change_outbox(collection: Collection, action: str, numbers: list[str]) -> int:
    """Have messages tried again at the next sending, or drop them; how many there were."""
    if action not in ("retry", "drop"):
        raise UsageError(f"The action is {action[:40]!r}; allowed: retry, drop.")
    if not numbers or not all(number.isdecimal() and len(number) < 18 for number in numbers):
        raise UsageError("Choose messages first.")
    with changed_store(collection) as store:
        box = Outbox(store)
        chosen = [int(number) for number in numbers]
        return box.retry(chosen) if action == "retry" else box.drop(chosen)
