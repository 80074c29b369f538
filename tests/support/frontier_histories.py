"""Random histories of a frontier: steps that name URLs, never rows, so that any frontier can go through them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from msgspec import Struct, structs

from lycosa.frontier.contract import BARRED, Frontier, LeaseLost
from lycosa.frontier.partitions import PARTITIONS, part_of
from lycosa.model import (
    ArchivePlace,
    Batch,
    Discovery,
    HostRow,
    LastmodHint,
    Outcome,
    PageRow,
    RobotsRow,
    State,
    Target,
    UnstoredPage,
    Verdict,
    VisitHistory,
    WarcRow,
    WeightUpdate,
)
from lycosa.urls import host_of, url_id

HOSTS = ("a.test", "d.test", "g.test")  # the first and the second lie in different halves of the partitions
NAMES = 6  # URLs of each host
DAY = 86_400.0
TTL_S = 60.0
REASONS = ("robots", "scope", "depth", "host-budget", "host-quota")
#: What a run asks to be fetched again when its settings change.
REQUEUED = ("not-quarry", "too-large", "noarchive")


def url_of(number: int) -> str:
    return f"http://{HOSTS[number % len(HOSTS)]}/{number // len(HOSTS)}"


URLS = tuple(url_of(number) for number in range(len(HOSTS) * NAMES))
_url = st.integers(0, len(URLS) - 1)


class FoundLink(Struct, frozen=True):
    """A link that a page has; `parent` is the number of the page."""

    url: int
    refused: str = ""
    score: float = 0.0
    depth: int = 1
    parent: int = 0
    via: str = "a"
    seed: bool = False
    lore: bytes = b""
    needed: bool = False


class Ending(Struct, frozen=True):
    """What became of a target, which is chosen among those that are under way."""

    which: int
    kind: str
    digest: int = 0
    links: tuple[int, ...] = ()
    onward: int = 0
    interval: float = 0.0


class Step(Struct, frozen=True):
    """One call of a frontier."""

    what: str
    worker: int = 0
    number: int = 0
    found: tuple[FoundLink, ...] = ()
    endings: tuple[Ending, ...] = ()
    hints: tuple[tuple[int, float], ...] = ()
    others: bool = False  # a commit brings other archive files and traps as well
    reason: str = ""
    flag: bool = False
    max_depth: int = -1


_found = st.builds(
    FoundLink,
    url=_url,
    refused=st.sampled_from(("", "", "", "", "", *REASONS, *BARRED)),
    score=st.sampled_from((0.0, 0.5, 2.0, -2.0)),
    depth=st.integers(0, 4),
    parent=_url,
    via=st.sampled_from(("a", "a", "frame", "sitemap", "refresh", "xml")),
    lore=st.sampled_from((b"", b"", b"noted")),
    needed=st.sampled_from((False, False, True)),
)
_KINDS = (
    "page", "page", "page", "cut", "unchanged", "moved", "moved for good", "gone", "failed", "forbidden", "waiting",
    "robots", "unstored", "unstored", "quota", "noarchive",
)  # fmt: skip
_ending = st.builds(
    Ending,
    which=st.integers(0, 30),
    kind=st.sampled_from(_KINDS),
    digest=st.integers(0, 5),
    links=st.lists(_url, max_size=3).map(tuple),
    onward=_url,
    interval=st.sampled_from((0.0, DAY, 10 * DAY)),
)
_links = st.lists(_found, max_size=5).map(tuple)
_depths = st.sampled_from((-1, 2))


def _steps(*, workers: int) -> st.SearchStrategy[Step]:
    worker = st.integers(0, workers - 1)
    commit = st.builds(
        Step,
        what=st.just("commit"),
        worker=worker,
        found=_links,
        endings=st.lists(_ending, max_size=4).map(tuple),
        hints=st.lists(st.tuples(_url, st.sampled_from((10.0, 20.0, 30.0))), max_size=2).map(tuple),
        others=st.booleans(),
        max_depth=_depths,
    )
    load = st.builds(Step, what=st.just("load"), worker=worker)
    reasons = st.sampled_from(REASONS)
    rare = st.one_of(
        st.builds(Step, what=st.just("seeds"), found=_links, max_depth=_depths),
        st.builds(Step, what=st.sampled_from(("lease", "renew", "release", "die", "due", "inbox")), worker=worker),
        st.builds(Step, what=st.just("lease"), worker=worker, flag=st.just(True)),
        st.builds(Step, what=st.sampled_from(("later", "later", "retry", "cap waits", "end round", "restart"))),
        st.builds(Step, what=st.sampled_from(("archive", "forget lessons")), flag=st.booleans()),
        st.builds(Step, what=st.just("round"), number=st.sampled_from((0, 2, 4)), flag=st.booleans()),
        st.builds(
            Step,
            what=st.sampled_from(("reject host", "readmit", "reopen")),
            number=st.integers(0, 2),
            reason=reasons,
            flag=st.booleans(),
        ),
        st.builds(Step, what=st.sampled_from(("requeue", "set aside", "strike")), number=_url),
        st.builds(Step, what=st.just("requeue reason"), reason=st.sampled_from(REQUEUED)),
    )
    return st.sampled_from((load, commit, commit, commit, rare)).flatmap(lambda chosen: chosen)


#: How many workers, and what they do.
histories = st.integers(1, 2).flatmap(
    lambda workers: st.tuples(st.just(workers), st.lists(_steps(workers=workers), min_size=12, max_size=40))
)


def differences(first: object, second: object, where: str = "") -> list[str]:
    """Where two answers differ, a line each."""
    if isinstance(first, dict) and isinstance(second, dict):
        keys = sorted(first.keys() | second.keys(), key=repr)
        return [line for key in keys for line in differences(first.get(key), second.get(key), f"{where}/{key}")]
    if isinstance(first, list | tuple) and isinstance(second, list | tuple) and len(first) == len(second):
        pairs = enumerate(zip(first, second, strict=True))
        return [line for number, pair in pairs for line in differences(*pair, f"{where}/{number}")]
    return [] if first == second else [f"{where}: {first!r}, not {second!r}"]


class Player:
    """Plays histories on one frontier; `look` gives all that can be seen of it, without row numbers."""

    def __init__(self, open_one: Callable[[], Frontier], workers: int) -> None:
        self._open_one = open_one
        self._frontiers = [open_one() for _ in range(workers)]
        self._now = 100.0
        self._under_way: list[dict[str, Target]] = [{} for _ in range(workers)]
        self._rows: dict[str, int] = {}
        self._archived = 100
        self._lessons = [0] * workers  # the stamp of the last lesson that each has read
        for slot in range(workers):
            self.play(Step("lease", worker=slot))
        self.play(Step("seeds", found=tuple(FoundLink(number) for number in range(5))))
        for slot in range(workers):
            self.play(Step("load", worker=slot))

    @property
    def _frontier(self) -> Frontier:
        return self._frontiers[0]

    @property
    def is_alone(self) -> bool:
        """Whether there is one worker: then the order of finding is the order of row numbers."""
        return len(self._frontiers) == 1

    def play(self, step: Step) -> object:
        """What the frontier answers to a step."""
        method = getattr(self, "_" + step.what.replace(" ", "_"))
        return method(step, self._frontiers[step.worker])

    # Leases and time

    def _lease(self, step: Step, frontier: Frontier) -> object:
        want = PARTITIONS if step.flag else PARTITIONS // len(self._frontiers)
        return sorted(frontier.leases.acquire(f"here:{step.worker}", want=want, now=self._now, ttl_s=TTL_S))

    def _renew(self, step: Step, frontier: Frontier) -> object:
        return sorted(frontier.leases.renew(f"here:{step.worker}", now=self._now, ttl_s=TTL_S))

    def _release(self, step: Step, frontier: Frontier) -> object:
        frontier.leases.release(f"here:{step.worker}", range(0, PARTITIONS, 2))
        return self._renew(step, frontier)

    def _die(self, step: Step, frontier: Frontier) -> object:
        """A worker was killed, and another one takes its place."""
        self._frontiers[-1 - step.worker].leases.clear_slot(step.worker)
        self._start(step.worker)
        return self._lease(step, self._frontiers[step.worker])

    def _later(self, step: Step, frontier: Frontier) -> object:
        self._now += 50.0
        return None

    # Targets out

    def _load(self, step: Step, frontier: Frontier) -> object:
        held = frontier.leases.renew(f"here:{step.worker}", now=self._now, ttl_s=TTL_S)
        targets = [
            target for host in HOSTS if part_of(host) in held for target in frontier.targets.load(host, limit=100)
        ]
        names = self._names()
        shown = [structs.asdict(one) | {"row": 0, "parent": names.get(one.parent, "")} for one in targets]
        self._under_way[step.worker].update({target.url: target for target in targets})
        return shown if self.is_alone else sorted(shown, key=repr)

    def _names(self) -> dict[int, str]:
        return {row: url for number, url in enumerate(URLS) if (row := self._row(number))}

    def _row(self, number: int) -> int:
        """The row of a URL, which never changes; 0: it is not known."""
        url = URLS[number]
        if url not in self._rows and (row := self._frontier.known.find(url)) is not None:
            self._rows[url] = row.row
        return self._rows.get(url, 0)

    def _due(self, step: Step, frontier: Frontier) -> object:
        parts = sorted(frontier.leases.renew(f"here:{step.worker}", now=self._now, ttl_s=TTL_S))
        return sorted(frontier.targets.wake_due(parts, self._now)), frontier.targets.next_due(parts)

    def _inbox(self, step: Step, frontier: Frontier) -> object:
        return sorted(frontier.targets.inbox(frontier.leases.renew(f"here:{step.worker}", now=self._now, ttl_s=TTL_S)))

    # Results in

    def _discover(self, one: FoundLink, *, given: bool = False) -> Discovery:
        url = URLS[one.url]
        return Discovery(
            url_hash=url_id(url),
            url=url,
            host=host_of(url),
            state=State.REJECTED if one.refused else State.PENDING,
            reason=one.refused,
            score=one.score,
            hops=one.depth // 2,
            anchor=f"{one.parent} {one.via}",
            depth=0 if given else one.depth,
            parent=0 if given else self._row(one.parent),
            seed=given or one.seed,
            via="seed" if given else one.via,
            policy_data=one.lore,
            needed=one.needed,
        )

    def _seeds(self, step: Step, frontier: Frontier) -> object:
        seeds = {one.url: self._discover(one, given=True) for one in step.found if one.refused not in BARRED}
        return frontier.seeds.add(seeds.values(), max_depth=step.max_depth)

    def _commit(self, step: Step, frontier: Frontier) -> object:
        found = [self._discover(one) for one in step.found]
        outcomes: dict[str, Outcome] = {}
        under_way = self._under_way[step.worker]
        for ending in step.endings:
            if not under_way:
                break
            target = under_way[sorted(under_way)[ending.which % len(under_way)]]
            if target.url in outcomes:
                continue
            outcomes[target.url] = self._end(target, ending)
            if ending.kind.startswith("moved"):
                needed = target.via == "xml"
                moved = FoundLink(
                    ending.onward,
                    refused="scope" if ending.interval == DAY else "",
                    depth=target.depth,
                    parent=URLS.index(target.url),
                    via=target.via if target.via == "sitemap" or needed else "redirect",
                    seed=target.seed,
                    lore=target.policy_data,
                    needed=needed,
                )
                found.append(self._discover(moved))
        batch = Batch(
            discoveries=found,
            outcomes=list(outcomes.values()),
            hosts=[HostRow(one.host, self._now, 1.0, 2, 3) for one in outcomes.values()],
            robots=[RobotsRow(f"http://{one.host}:80", self._now, 200, b"x") for one in outcomes.values()],
            trap_counts={(host, f"trap {number}"): number for number, host in enumerate(HOSTS) if step.others},
            warc="w" if outcomes else "",
            warc_size=self._archived,
            warc_synced=self._archived // 2 if step.others else 0,
            warcs=[WarcRow(f"v{number}", number * self._archived, 1) for number in range(3) if step.others],
            weight_updates=[WeightUpdate(one.http, 1.0, 0.5) for one in outcomes.values()],
            hints=[LastmodHint(url_id(URLS[url]), host_of(URLS[url]), at) for url, at in step.hints],
        )
        try:
            done = frontier.commit(batch, owner=f"here:{step.worker}", now=self._now, max_depth=step.max_depth)
        except LeaseLost as lost:
            for url in [url for url in under_way if part_of(host_of(url)) in lost.parts]:
                del under_way[url]
            return "lost", sorted(lost.parts)
        for url in outcomes:
            del under_way[url]
        names = self._names()
        self._lessons[step.worker], lessons = frontier.known.lessons(self._lessons[step.worker])
        known = [frontier.known.recall(one.url) for one in found] if self.is_alone else []
        return (
            sorted(done.woken_hosts),
            sorted(names[row] for row in done.duplicates),
            done.stored,
            sorted(map(tuple, lessons)),
            known,
        )

    def _end(self, target: Target, ending: Ending) -> Outcome:
        history = VisitHistory(interval=ending.interval, checked=1)
        place = ArchivePlace("w", self._archived, 5)
        self._archived += 5
        end = Outcome(
            target.row, target.host, State.FETCHED, http=200, at=self._now, via=target.via, archive_place=place
        )
        links = " ".join(URLS[link] for link in ending.links).encode()
        match ending.kind:
            case "page" | "cut":
                page = PageRow(
                    self._now, 200, f"text/{'html' if ending.digest % 2 else 'plain'}", digest=b"%d" % ending.digest,
                    etag='"e"', warc="w", offset=self._archived, length=10, links=links,
                )  # fmt: skip
                self._archived += 10
                reason = "too-large" if ending.kind == "cut" else ""
                return structs.replace(end, page=page, history=history, reason=reason)
            case "unchanged":
                state = State.UNCHANGED if target.digest else State.FAILED
                return structs.replace(end, state=state, http=304, history=history, validators=('"f"', "yesterday"))
            case "moved" | "moved for good":
                state = State.MOVED if ending.kind == "moved" else State.MOVED_FOR_GOOD
                return structs.replace(end, state=state, http=301, redirect=URLS[ending.onward], history=history)
            case "gone":
                return structs.replace(end, state=State.GONE, http=404, history=history)
            case "failed":
                return structs.replace(end, state=State.FAILED, http=0, reason="timeout", retries=3)
            case "forbidden":
                return structs.replace(end, state=State.FAILED, http=403, reason="http-403", history=history)
            case "waiting":
                due = self._now + 10.0 * (1 + ending.digest)
                return structs.replace(end, state=State.WAITING, http=503, due=due, retries=target.retries + 1)
            case "robots" | "quota":
                reason = "host-quota" if ending.kind == "quota" else "robots"
                return structs.replace(end, state=State.REJECTED, http=0, reason=reason)
            case "noarchive":
                return structs.replace(end, state=State.REJECTED, reason="noarchive", history=history)
        unstored = UnstoredPage("text/html", links=links)
        return structs.replace(end, reason="not-quarry", unstored=unstored, history=history)

    # Rounds and changes of mind

    def _round(self, step: Step, frontier: Frontier) -> object:
        """A round begins when the workers have ended, and new ones are started in it."""
        number = frontier.rounds.begin(now=self._now, step_s=DAY, everything=step.flag)
        host_pages = step.number if self.is_alone else 0
        pages = host_pages + 1 if step.flag and host_pages else 0
        opened = frontier.rounds.open_due(max_s=30 * DAY, pages=pages, host_pages=host_pages)
        again = frontier.rounds.open_due(max_s=DAY)
        self._restart(step, frontier)
        return number, opened, again

    def _restart(self, step: Step, frontier: Frontier) -> object:
        """Start new workers, as a run does after it has changed what they remember."""
        self._frontier.leases.clear()
        return [
            self._start(slot) or self._lease(Step("lease", worker=slot), self._frontiers[slot])
            for slot in range(len(self._frontiers))
        ]

    def _start(self, slot: int) -> None:
        """Let a new process be a worker."""
        self._frontiers[slot].close()
        self._frontiers[slot] = self._open_one()
        self._under_way[slot] = {}
        self._lessons[slot] = 0

    def _end_round(self, step: Step, frontier: Frontier) -> object:
        return frontier.rounds.end(now=self._now, why="limit")

    def _holder_of(self, host: str) -> Frontier | None:
        """The worker that holds a host: no other one may change it."""
        for slot, frontier in enumerate(self._frontiers):
            if part_of(host) in frontier.leases.renew(f"here:{slot}", now=self._now, ttl_s=TTL_S):
                return frontier
        return None

    def _reject_host(self, step: Step, _frontier: Frontier) -> object:
        if (frontier := self._holder_of(HOSTS[step.number])) is None:
            return None
        if step.flag:
            under = f"http://{HOSTS[step.number]}/1"
            return frontier.changes.end_host(HOSTS[step.number], "timeout", state=State.FAILED, under=under)
        return frontier.changes.end_host(HOSTS[step.number], step.reason)

    def _readmit(self, step: Step, _frontier: Frontier) -> object:
        if (frontier := self._holder_of(HOSTS[step.number])) is None:
            return None
        return frontier.changes.readmit(HOSTS[step.number], step.reason, limit=1 if self.is_alone else 100)

    def _reopen(self, step: Step, frontier: Frontier) -> object:
        def judge(url: str, depth: int, host: str) -> Verdict:
            ok = int(url[-1]) % 2 == 0 and depth < 4
            return Verdict(ok, "" if ok else "scope")

        return frontier.changes.judge_again([step.reason], judge)

    def _requeue(self, step: Step, frontier: Frontier) -> object:
        row = frontier.known.find(URLS[step.number])
        count = None if row is None or row.state == State.PENDING else frontier.losses.requeue([row.row])
        self._restart(step, frontier)
        return count

    def _set_aside(self, step: Step, frontier: Frontier) -> object:
        row = frontier.known.find(URLS[step.number])
        return (
            None if row is None or row.state != State.PENDING else frontier.changes.set_aside(row.row, "killed-worker")
        )

    def _strike(self, step: Step, frontier: Frontier) -> object:
        row = frontier.known.find(URLS[step.number])
        if row is None:
            return None
        target = frontier.targets.of_row(row.row)
        return frontier.changes.strike(row.row), target and (target.url, target.depth, target.score, target.retries)

    def _requeue_reason(self, step: Step, frontier: Frontier) -> object:
        count = frontier.losses.requeue_reason(step.reason)
        self._restart(step, frontier)
        return count

    def _retry(self, step: Step, frontier: Frontier) -> object:
        return frontier.changes.retry()

    def _cap_waits(self, step: Step, frontier: Frontier) -> object:
        return frontier.changes.cap_waits(self._now + 20.0)

    def _archive(self, step: Step, frontier: Frontier) -> object:
        """The second half of the archive file was lost, or all of it."""
        start = 0 if step.flag else self._archived // 2
        frontier.segments.record([WarcRow("w", start, 0, mtime_ns=7)])
        count = frontier.losses.requeue_archive("w", [(start, self._archived)])
        self._restart(step, frontier)
        return count

    def _forget_lessons(self, step: Step, frontier: Frontier) -> object:
        frontier.known.forget_lessons()
        self._restart(step, frontier)
        return self._frontier.known.lessons()[1]

    # What can be seen

    def look(self) -> dict[str, object]:
        """Everything that a frontier tells a process that was just started."""
        frontier = self._open_one()
        try:
            return self._look(frontier)
        finally:
            frontier.close()

    def _look(self, frontier: Frontier) -> dict[str, object]:
        known = {url: row for url in URLS if (row := frontier.known.find(url)) is not None}
        names = {row.row: url for url, row in known.items()}
        rows = {
            url: structs.asdict(row) | {"row": 0, "parent": names.get(row.parent, "")} for url, row in known.items()
        }
        summary = structs.asdict(frontier.figures.summary(top=1000, tell=REASONS))
        for reason, (_, example) in summary["told"].items():
            assert known[example].reason == reason
        summary["told"] = {reason: count for reason, (count, _) in summary["told"].items()}
        loaded: dict[str, object] = {}
        for host in HOSTS:
            targets = [structs.asdict(target) for target in frontier.targets.load(host, limit=100)]
            shown = [target | {"row": 0, "parent": names.get(target["parent"], "")} for target in targets]
            loaded[host] = shown if self.is_alone else sorted(shown, key=repr)
        held = {}
        for digest in range(6):
            holder = frontier.known.content_holder(b"%d" % digest)
            held[digest] = (holder and (holder.url, holder.at), frontier.known.content_place(b"%d" % digest))
        seeds = (frontier.seeds.all(), frontier.seeds.given())
        rounds = frontier.rounds.listing()
        parts = range(PARTITIONS)
        return {
            "counts": frontier.figures.counts(),
            "rows": rows,
            "loaded": loaded,
            "busy": sorted(frontier.targets.hosts(parts), key=lambda row: row.host),
            "hosts": [frontier.known.host(host) for host in HOSTS],
            "seeds": seeds if self.is_alone else [sorted(some) for some in seeds],
            "failed seeds": frontier.seeds.failed(),
            "stored": frontier.figures.stored(),
            "pages": frontier.figures.pages(),
            "pending": frontier.targets.pending(),
            "next due": frontier.targets.next_due(parts),
            "summary": summary,
            "rounds": [structs.replace(row, at=row.at - rounds[0].at) for row in rounds],
            "cut": frontier.figures.cut_pages(top=100),
            "first cut": frontier.figures.cut_pages(top=2) if self.is_alone else None,
            "held": held,
            "tallies": [frontier.known.tallies(host) for host in HOSTS],
            "robots": [frontier.known.robots(f"http://{host}:80") for host in HOSTS],
            "warcs": sorted(frontier.segments.here(), key=lambda row: row.name),
            "lessons": sorted(tuple(lesson) for lesson in frontier.known.lessons()[1]),
        }
