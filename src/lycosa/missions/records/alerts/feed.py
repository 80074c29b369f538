"""Alerts as an Atom feed: the newest items, in a file that is replaced as a whole.

Several collections may tell through one feed: entries of the file that are not of this one stay.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

from lycosa.missions.records.alerts.alert_log import AlertItem
from lycosa.missions.records.alerts.telling import describe, write_differences
from lycosa.missions.records.reports.feed import FeedEntry, read_feed, write_feed
from lycosa.output.atomic_file import whole_file

MAX_ENTRIES = 100


def replace_feed(path: Path, items: Sequence[AlertItem], *, now: float) -> None:
    """Replace a feed's file; a feed without items was made `now`."""
    entries = [_make_entry(item) for item in items[:MAX_ENTRIES]]
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"lycosa:alerts:{path.stem}").urn
    ours = {entry.id for entry in entries}
    others = [entry for entry in read_feed(path, id=name) if entry.id not in ours]
    newest = sorted([*entries, *others], key=lambda entry: -entry.updated)[:MAX_ENTRIES]
    content = write_feed(newest, id=name, title=f"Alerts: {path.stem}", updated=now, author="lycosa")
    with whole_file(path) as part:
        Path(part).write_bytes(content)


def _make_entry(item: AlertItem) -> FeedEntry:
    return FeedEntry(
        id=item.id,
        title=describe(item),
        url=item.url,
        published=item.at,
        updated=item.at,
        authors=(),
        html=write_differences(item),
        categories=(item.alert,),
    )
