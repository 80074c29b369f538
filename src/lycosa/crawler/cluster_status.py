"""Figures for those who watch crawls: metrics of collections; what a crawl of several machines holds, and what lags."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from lycosa.collection import database
from lycosa.collection.reading_source import SharedPlaces, find_shared, label_of
from lycosa.collection.status import read_status, running_crawl
from lycosa.crawler.frontier_choice import load_postgres
from lycosa.frontier.contract import MachineStatus, statuses_of
from lycosa.frontier.postgres.address import machine_of
from lycosa.model import STATE_NAMES, State
from lycosa.output.plain import counted
from lycosa.output.prometheus import MetricFamily, by_label, format_metrics, single

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


#: A machine that has not told of itself for so long, though its run has not ended, is late.
LATE_S = 30.0
PATIENCE_S = 2.0  # how long a database that does not answer is waited for
_STATUSES_MAX = 1000


class ClusterStatus(Struct):
    """The figures of a shared collection."""

    collection: str
    name: str  # in the database
    round: int
    pages: int
    urls: int
    unfetched: int
    states: dict[str, int]
    statuses: dict[str, int]
    hosts: int
    hosts_backing_off: int
    machines: list[MachineStatus]
    pages_per_minute: float  # of the machines at work
    lags: list[str]  # sentences: what is late
    running: int  # process id of the crawl on this machine; 0: none runs here


def read_cluster_status(places: SharedPlaces, folder: Path) -> ClusterStatus:
    """Ask the database; CollectionError where it cannot be reached."""
    address, name = places.collection.address, places.name
    frontier = load_postgres()(address, name, machine=machine_of(folder), patience_s=PATIENCE_S)
    try:
        states = frontier.figures.counts()
        machines = frontier.machines.listing()
        hosts, backing_off = frontier.figures.count_hosts()
        return ClusterStatus(
            collection=label_of(folder),
            name=name,
            round=frontier.rounds.listing()[-1].round,
            pages=frontier.figures.pages(),
            urls=sum(states.values()),
            unfetched=states.get(State.PENDING, 0) + states.get(State.WAITING, 0),
            states={STATE_NAMES[State(state)]: count for state, count in sorted(states.items()) if count},
            statuses=dict(sorted(frontier.figures.summary(top=_STATUSES_MAX).statuses.items())),
            hosts=hosts,
            hosts_backing_off=backing_off,
            machines=machines,
            pages_per_minute=sum(one.pages_per_minute for one in machines if is_at_work(one)),
            lags=find_lags(machines, has_store=bool(places.archive)),
            running=running_crawl(folder),
        )
    finally:
        frontier.close()


def is_at_work(machine: MachineStatus) -> bool:
    """Whether a machine's run is under way, as far as the others can know."""
    return machine.ended_by is None and machine.silent_s is not None and machine.silent_s < LATE_S


def find_lags(machines: list[MachineStatus], *, has_store: bool) -> list[str]:
    """Sentences on what is late."""
    lags = []
    for one in machines:
        if one.ended_by is None and one.silent_s is not None and one.silent_s >= LATE_S:
            lags.append(f"{one.name} has been silent for {_duration(one.silent_s)}, and its run has not ended")
        if one.workers_late:
            late = counted(one.workers_late, "worker")
            lags.append(f"{one.name}: the leases of {late} are over; others take what they hold")
        if has_store and one.archive_files_here and not is_at_work(one):
            files = counted(one.archive_files_here, "archive file", "is")
            lags.append(f"{one.name}: {files} not in the store yet; it moves them as it ends, or in its next run")
    return lags


def describe_machine(machine: MachineStatus) -> str:
    """How a machine stands, in a word or two."""
    if machine.silent_s is None:
        return "unknown"
    if is_at_work(machine):
        return "at work"
    if machine.ended_by is None:
        return f"silent {_duration(machine.silent_s)}"
    return f"ended {_duration(machine.silent_s)} ago" + (f" ({machine.ended_by})" if machine.ended_by else "")


def list_machines(machines: list[MachineStatus]) -> list[str]:
    """A table of the machines for people."""
    heads = ["machine", "state", "workers", "leases", "pages", "pages/min", "requests", "MB", "permits", "files"]
    rows = [
        [
            one.name,
            describe_machine(one),
            f"{one.workers_alive}/{one.workers}",
            f"{one.leases:,}",
            f"{one.pages:,}",
            f"{one.pages_per_minute if is_at_work(one) else 0:,.0f}",
            f"{one.requests:,}",
            f"{one.bytes / 1e6:,.1f}",
            f"{one.permits_used:,}/{one.permits_granted:,}",
            f"{one.archive_files:,}",
        ]
        for one in machines
    ]
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    lines = []
    for row in (heads, *rows):
        cells = [f"{text:{'<' if column < 2 else '>'}{widths[column]}}" for column, text in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return lines


def format_cluster_status(status: ClusterStatus) -> str:
    """The figures as people read them."""
    known = f"{counted(status.pages, 'page')} of {counted(status.hosts, 'host')}, {counted(status.urls, 'URL')} known"
    lines = [f"{status.collection}: {known}, in the database as {status.name}"]
    if status.round > 1:
        lines[0] += f", round {status.round}"
    width = max((len(name) for name in status.states), default=0)
    lines += [f"  {name:{width}}  {count:>12,}" for name, count in status.states.items()]
    at_work = sum(map(is_at_work, status.machines))
    lines.append(f"  {counted(at_work, 'machine')} at work, {status.pages_per_minute:,.0f} pages a minute")
    lines += [f"  {line}" for line in list_machines(status.machines)] if status.machines else []
    lines += [f"  late: {lag}" for lag in status.lags]
    return "\n".join(lines)


def format_collection_metrics(folder: Path) -> str:
    """The metrics of a collection, shared or not, in Prometheus's text form."""
    shared = find_shared(folder)
    metrics = read_metrics(folder) if shared is None else cluster_metrics(read_cluster_status(shared, folder))
    return format_metrics(metrics, {"collection": folder.absolute().name})


def cluster_metrics(status: ClusterStatus) -> list[MetricFamily]:
    """The metrics of a shared collection, those of each machine with its name."""
    machines = status.machines
    figures = CollectionFigures(
        round=status.round,
        pages=status.pages,
        states=status.states,
        statuses=status.statuses,
        archive_files=sum(one.archive_files for one in machines),
        archive_bytes=sum(one.archive_bytes for one in machines),
        hosts=status.hosts,
        hosts_backing_off=status.hosts_backing_off,
    )

    def family(name: str, kind: str, text: str, field: str) -> MetricFamily:
        values = ((one.name, getattr(one, field)) for one in machines)
        samples = [({"machine": name}, float("nan") if value is None else value) for name, value in values]
        return MetricFamily(f"lycosa_machine_{name}", kind, text, samples)

    return [
        *list_metrics(figures),
        single("lycosa_machines_at_work", "gauge", "Machines whose run is under way.", sum(map(is_at_work, machines))),
        family("pages_total", "counter", "Pages that the machine stored in its run.", "pages"),
        family("requests_total", "counter", "Requests of the machine in its run.", "requests"),
        family("received_bytes_total", "counter", "Bytes that the machine received in its run.", "bytes"),
        family("workers", "gauge", "Workers whose leases hold.", "workers_alive"),
        family("leases", "gauge", "Partitions that are leased.", "leases"),
        family("silent_seconds", "gauge", "Seconds since the machine told of itself; NaN: it never did.", "silent_s"),
        family("unmoved_archive_files", "gauge", "Archive files that are on the machine alone.", "archive_files_here"),
    ]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
