"""A round of a crawl: brings the records database up to date, and tells readers what is new to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lycosa.collection.collection import Collection
from lycosa.errors import LycosaError
from lycosa.missions.api import FinishedRound
from lycosa.missions.records.alerts import alert_run as alerts
from lycosa.missions.records.database import open_store
from lycosa.missions.records.health import refresh_and_watch, watch_navigation
from lycosa.missions.records.reports import digest_output as digests
from lycosa.missions.records.stories import refresh_stories


def refresh(collection: Collection) -> list[str]:
    """Bring the records database and its stories up to date, and tell where fields are found no more."""
    sentences = refresh_and_watch(collection)
    with open_store(collection, refresh=False) as store:
        if not store.connection.readonly("main"):
            refresh_stories(store)
            sentences += watch_navigation(store, collection)
    return sentences


def tell_readers(collection: Collection, finished: FinishedRound) -> Iterator[str]:
    """Tell readers what they asked for. What goes wrong is a sentence: the rounds of a crawl go on."""
    if "readers" not in finished.asked:
        return
    readers = Path(finished.asked["readers"])
    problems: dict[str, None] = {}
    for tell in (digests.after_round, alerts.after_round):
        try:
            yield from tell(collection, readers, finished.quiet)
        except LycosaError as problem:
            problems[f"readers are not told after this round: {problem}"] = None
    yield from problems
