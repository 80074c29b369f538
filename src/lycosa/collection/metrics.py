"""Metrics of a collection, for those who watch many of them."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from lycosa.collection import database
from lycosa.collection.status import read_status
from lycosa.frontier.contract import statuses_of
from lycosa.output.prometheus import MetricFamily, by_label, single

_STATUSES = "SELECT key, sum(count) FROM figure WHERE name = ? GROUP BY key HAVING sum(count) > 0 ORDER BY key"
_BACKING_OFF = "SELECT count(*) FROM host WHERE delay_s > 0"


class CollectionFigures(Struct):
    """The figures of a collection that are watched."""

    round: int
    pages: int
    states: dict[str, int]
    statuses: dict[str, int]  # answers of the round
    archive_files: int
    archive_bytes: int
    hosts: int
    hosts_backing_off: int


def read_metrics(folder: Path) -> list[MetricFamily]:
    """The metrics of a collection in a folder."""
    status = read_status(folder)
    connection = database.connect(folder)
    try:
        statuses = {key: int(count) for key, count in database.rows(connection, _STATUSES, [statuses_of(status.round)])}
        ((backing_off,),) = database.rows(connection, _BACKING_OFF)
    finally:
        connection.close()
    figures = CollectionFigures(
        round=status.round,
        pages=status.pages,
        states=status.states,
        statuses=statuses,
        archive_files=status.archive_files,
        archive_bytes=status.archive_bytes,
        hosts=status.hosts,
        hosts_backing_off=int(backing_off),
    )
    return [
        *list_metrics(figures),
        single("lycosa_database_bytes", "gauge", "Size of the crawl's database.", status.database_bytes),
        single("lycosa_crawl_running", "gauge", "Whether a crawl runs on this machine.", bool(status.running)),
        single(
            "lycosa_pages_per_second", "gauge", "Speed of the run under way, or else of the last.", status.pages_per_s
        ),
    ]


def list_metrics(figures: CollectionFigures) -> list[MetricFamily]:
    """The metrics that every collection has."""
    answers = "Answers of the round, by HTTP status."
    return [
        by_label("lycosa_urls", "gauge", "URLs that are known, by state.", "state", figures.states),
        single("lycosa_pages", "gauge", "Pages that the collection holds, equal content once.", figures.pages),
        by_label("lycosa_round_answers_total", "counter", answers, "status", figures.statuses),
        single("lycosa_archive_bytes", "gauge", "Bytes of the archive files.", figures.archive_bytes),
        single("lycosa_archive_files", "gauge", "Archive files.", figures.archive_files),
        single("lycosa_hosts", "gauge", "Hosts that are known.", figures.hosts),
        single("lycosa_hosts_backing_off", "gauge", "Hosts that are left alone for longer.", figures.hosts_backing_off),
        single("lycosa_round", "gauge", "The number of the round.", figures.round),
    ]
