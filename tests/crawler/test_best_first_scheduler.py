"""Crawls under a policy: the best host first, what is learned is kept, error answers lead on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from support.command_line import run
from support.crawl_runs import command, crawl, rows
from support.loopback import Reply, Web, html
from support.memory_frontier import MemoryFrontier
from support.service_site import GEO, WMS, services

from lycosa.collection.status import format_status, read_status
from lycosa.config.settings import KeepSettings, Mission, PolicySettings
from lycosa.crawler.batch_commit import BatchTiming
from lycosa.crawler.target_loading import BestFirstHosts, BestFirstScheduler, TargetLoader
from lycosa.frontier.contract import Frontier
from lycosa.intake.batch import PendingBatch
from lycosa.intake.guidance import LinkScoring
from lycosa.judge.priority.policy_factory import resolve_order
from lycosa.model import Batch, HostRow, Target, WeightUpdate
from lycosa.politeness.host_queue import HostQueue
from lycosa.politeness.shared_state import SharedState

COMPLAINT = b"""<?xml version="1.0"?><ServiceExceptionReport version="1.3.0">
<ServiceException code="MissingParameterValue">service is missing</ServiceException></ServiceExceptionReport>"""


def make_queue(host: str, row: HostRow | None) -> HostQueue:
    return HostQueue(row or HostRow(host), delay_s=1.0, per_host=1)


def host_queue(host: str, promise: float, next_at: float = 0.0) -> HostQueue:
    made = HostQueue(HostRow(host, next_at=next_at), delay_s=1.0, per_host=1)
    made.promise = promise
    return made


def test_the_most_promising_host_goes_first() -> None:
    """Of the hosts that may be asked; one that must wait does not hold up the others."""
    promises = {"low": 0.1, "high": 0.9, "late": 1.0, "idle": None}
    hosts = BestFirstHosts(64, make_queue, lambda host_queue: promises[host_queue.host])
    for host, told in (("low", 0.1), ("high", 0.9), ("idle", 0.95)):
        hosts.enlist(host_queue(host, told))
    hosts.enlist(host_queue("late", 1.0, next_at=5.0))
    order = [hosts.ready(1.0), hosts.ready(1.0), hosts.ready(1.0)]
    assert [host_queue.host if host_queue else None for host_queue in order] == ["high", "low", None]
    assert hosts.waiting() == 1 and hosts.wait_s(1.0) == 4.0
    found = hosts.ready(5.0)
    assert found is not None and found.host == "late"


def test_a_promise_that_was_too_high_is_seen_through() -> None:
    """What a host queue was taken for is looked at when its turn comes; then another may go first."""
    promises = {"boast": 0.2, "true": 0.5}
    hosts = BestFirstHosts(64, make_queue, lambda host_queue: promises[host_queue.host])
    hosts.enlist(host_queue("boast", float("inf")))
    hosts.enlist(host_queue("true", 0.5))
    order = [hosts.ready(1.0), hosts.ready(1.0)]
    assert [host_queue.host for host_queue in order if host_queue] == ["true", "boast"]


def test_a_mission_with_a_policy_finds_its_quarry_first(web: Web, tmp_path: Path) -> None:
    """The services come before the offers, although those stand first on the page."""
    services(web, 12)
    for policy in ("shark", "learn"):
        web.asked.clear()
        crawl(web, tmp_path / policy, *GEO, "--policy", policy, "http://a.test/")
        asked = [path.partition("/")[0] for path in web.paths()]
        assert asked.count("map.test") == 13  # their host's first page is asked for as well
        assert asked[1:13].count("map.test") >= 11


def test_an_error_answer_leads_on(web: Web, tmp_path: Path) -> None:
    """A service that complains with status 400 is asked for its capabilities, once for each hypothesis."""
    web["a.test/"] = html("http://map.test/maps/ows")
    web["map.test/maps/ows"] = Reply(COMPLAINT, 400, {"Content-Type": "text/xml"})
    web["map.test/maps/ows?service=WMS&request=GetCapabilities"] = Reply(WMS % b"here")
    crawl(web, tmp_path / "c", *GEO, "http://a.test/")
    assert rows(tmp_path / "c", "SELECT kind FROM pages WHERE kind <> ''") == [("ogc:wms/1.3.0",)]
    assert len(web.paths()) == len(set(web.paths()))


def test_why_tells_the_parts_of_a_score(web: Web, tmp_path: Path) -> None:
    """By the policy, as of now."""
    services(web, 3)
    crawl(web, tmp_path / "c", *GEO, "http://a.test/")
    url = "http://map.test/wms1?service=WMS&request=GetCapabilities"
    why = [sys.executable, "-m", "lycosa", "why", "-c", str(tmp_path / "c"), "--format", "text", url]
    told = subprocess.run(why, capture_output=True, text=True, timeout=60).stdout
    assert "by the policy learn" in told and "prior" in told and "anchor" in told


def test_what_was_learned_survives_a_kill(web: Web, tmp_path: Path) -> None:
    """The model stands in the collection with the pages that it was learned from; the next run goes on with both."""
    services(web, 60)
    for n in range(60):
        web.pages[f"map.test/wms{n}?service=WMS&request=GetCapabilities"].delay_s = 0.02
    folder = tmp_path / "c"
    running = subprocess.Popen(
        command(web, folder, *GEO, "http://a.test/"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    while len(web.paths("map.test")) < 30:
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert running.stdout is not None
    running.stdout.close()
    hosts = "SELECT weight, energy FROM lesson WHERE key > 1 << 62"
    learned = rows(folder, hosts)
    kept = rows(folder, "SELECT count(*) FROM url WHERE state BETWEEN 1 AND 7")[0][0]
    finds = rows(folder, "SELECT count(*) FROM page WHERE kind <> ''")[0][0]
    assert sum(row[0] for row in learned) == kept and sum(row[1] for row in learned) == finds  # type: ignore[misc]
    crawl(web, folder, *GEO, "http://a.test/")
    learned = rows(folder, hosts)
    assert sum(row[1] for row in learned) == 60  # type: ignore[misc]
    assert sum(row[0] for row in learned) == 122  # type: ignore[misc]
    assert len(rows(folder, "SELECT 1 FROM lesson WHERE key < 1 << 20 AND weight <> 0")) > 50
    for name in ("crawl.db", "crawl.db-wal", "crawl.db-shm"):
        (folder / name).unlink(missing_ok=True)
    crawl(web, folder, *GEO, "http://a.test/")  # from the archive: what can be learned from it is learned again
    learned = rows(folder, hosts)
    assert sum(row[1] for row in learned) == 60  # type: ignore[misc]


def test_cycles_fetch_the_best_of_what_is_known(web: Web, tmp_path: Path) -> None:
    """With `generate` what a cycle finds waits for the next one, however promising it is."""
    services(web, 6)
    web["a.test/"] = html("/list", "/one", "/two", text="start")
    web["a.test/one"], web["a.test/two"] = html(title="one"), html(title="two")
    web["a.test/list"] = web.pages["a.test/"]
    links = " ".join(f'<a href="http://map.test/wms{n}?service=WMS&request=GetCapabilities">WMS</a>' for n in range(6))
    web["a.test/list"] = Reply(f"<p>services {links}".encode(), headers={"Content-Type": "text/html"})
    crawl(web, tmp_path / "c", *GEO, "--set", "policy.generate=3", "http://a.test/")
    assert sorted(web.paths()[1:4]) == ["a.test/list", "a.test/one", "a.test/two"]
    assert len(web.paths("map.test")) == 7  # with the first page of the host


def test_cycles_are_told_and_end_the_crawl(web: Web, tmp_path: Path) -> None:
    """Each stands in the log, in the status and in a table; the crawl ends after as many as were asked for."""
    services(web, 6)
    folder, cycles = tmp_path / "c", ("--set", "policy.generate=3")
    done = crawl(web, folder, *GEO, *cycles, "--set", "policy.cycles=2", "http://a.test/", code=5)
    assert "policy.cycles" in done
    told = read_status(folder).cycles
    assert [cycle.cycle for cycle in told] == [1, 2]
    assert sum(cycle.answers for cycle in told) == rows(folder, "SELECT count(*) FROM url WHERE http > 0")[0][0]
    assert told[0].new > 0 and all(0 < cycle.answers <= 3 for cycle in told)
    lines = [line for line in (folder / "logs/crawl.log").read_text().splitlines() if line.split()[1] == "cycle"]
    assert [line.split()[2] for line in lines] == ["1:", "2:"]
    crawl(web, folder, *GEO, *cycles, "--set", "policy.cycles=0", "http://a.test/")
    told = read_status(folder).cycles
    assert [cycle.cycle for cycle in told] == list(range(1, len(told) + 1)) and len(told) > 2
    assert sum(cycle.finds for cycle in told) == 6
    assert "cycles; the last brought" in format_status(read_status(folder))
    table = run("export", "cycles", "-c", str(folder), "--format", "csv").output.splitlines()
    assert table[0] == "cycle,answers,pages,finds,new,seconds" and len(table) > len(told)


def test_free_hands_wait_for_better_hosts(web: Web, tmp_path: Path) -> None:
    """With more connections than hosts a host that promises little is asked seldom, until the others are done."""
    services(web, 30)
    for n in range(30):
        web.pages[f"map.test/wms{n}?service=WMS&request=GetCapabilities"].delay_s = 0.01
    order = {}
    for focus in ("0", "1"):
        web.asked.clear()
        options = ("--connections", "8", "--per-host", "1", "--set", f"policy.focus={focus}", "--policy", "shark")
        crawl(web, tmp_path / focus, *GEO, *options, "http://a.test/")
        hosts = [path.partition("/")[0] for path in web.paths()][1:]
        order[focus] = hosts[:30].count("shop.test")
        assert len(hosts) == 61
    assert order["1"] < order["0"]


def make_best_first(mission: Mission, frontier: Frontier) -> BestFirstScheduler:
    """The scheduler of the only worker of a machine."""
    mission = resolve_order(mission)
    timing = BatchTiming(SharedState(1, folder=""), 0, PendingBatch())
    return BestFirstScheduler(
        LinkScoring(mission, None),
        TargetLoader(frontier, timing),
        mission,
        frontier=frontier,
        workers=1,
        make_queue=make_queue,
    )


def test_nothing_is_waited_for_when_no_better_host_has_anything() -> None:
    """A host that promises little goes when none that rests has better to offer; else, or meanwhile, it is held."""
    best_first = make_best_first(Mission(policy=PolicySettings(name="terms", focus=1.0)), MemoryFrontier())
    best, poor = host_queue("best", 0.9), host_queue("poor", 0.1)
    for each in (best, poor):
        each.targets.append(Target(1, 1, f"http://{each.host}.test/", each.host, score=each.promise))
    assert best_first.admits(best, 100.0, in_flight=0)
    best.next_at = 101.0
    best_first.scheduler.enlist(best)
    assert not best_first.admits(poor, 100.0, in_flight=0)  # the best rests, and has more
    best.targets.clear()
    assert not best_first.admits(poor, 100.0, in_flight=1)  # what is under way may bring something
    assert best_first.admits(poor, 100.0, in_flight=0)
    poor.targets.clear()
    zero = host_queue("zero", 0.0)
    zero.targets.append(Target(1, 1, "http://zero.test/", "zero"))
    best_first.scheduler.enlist(zero)
    assert best_first.admits(zero, 100.0, in_flight=0)  # nor does it wait for its like


def test_the_only_worker_of_a_machine_learns_from_those_of_others() -> None:
    """It is not the only one of the crawl."""
    keep = KeepSettings(database="postgresql://db.test/crawls")
    frontier = MemoryFrontier()
    best_first = make_best_first(Mission(policy=PolicySettings(name="learn"), keep=keep), frontier)
    best_first.begin()
    learned = Batch([], [], hosts=[], robots=[], trap_counts={}, weight_updates=[WeightUpdate(1, 1.0, 1.0)])
    frontier.commit(learned, owner="there:0", now=0.0)
    best_first.end_batch([], 0)
    assert best_first._lessons_stamp == frontier.known.lessons()[0] > 0


def test_nobody_waits_for_a_host_that_rests_for_long() -> None:
    """One that failed and is tried again in ten seconds holds nothing up, however much it promises."""
    best_first = make_best_first(Mission(policy=PolicySettings(name="terms", focus=1.0)), MemoryFrontier())
    best, poor = host_queue("best", 0.9), host_queue("poor", 0.1)
    for each in (best, poor):
        each.targets.append(Target(1, 1, f"http://{each.host}.test/", each.host, score=each.promise))
    assert best_first.admits(best, 100.0, in_flight=0)
    best.next_at = 110.0
    best_first.scheduler.enlist(best)
    assert best_first.admits(poor, 100.0, in_flight=0)


def test_a_host_that_is_gone_is_a_lesson(web: Web, tmp_path: Path) -> None:
    """What led to a host that cannot be reached is learned from at once, though no page of it is asked for."""
    web["a.test/"] = html("http://gone.test/", title="a")
    gone = ("--connect-to", "gone.test=127.0.0.1:1", "--set", "fetch.retries=0")
    crawl(web, tmp_path / "c", *GEO, *gone, "http://a.test/")
    answers = rows(tmp_path / "c", "SELECT weight, energy FROM lesson WHERE key > 1 << 62")
    assert answers == [(1.0, 0.0), (1.0, 0.0)]


def sheets(web: Web, place: str, count: int = 10) -> None:
    """Offers and sheets in turns, each on a host of its own; nothing but the word tells that sheets are services."""
    links = []
    for n in range(count):
        links += [
            f'<a href="http://{place}{n}.test/">oferta</a>',
            f'<a href="http://{place}{count + n}.test/">ficha</a>',
        ]
        web[f"{place}{n}.test/"] = html(title=f"Offer {n}", text=f"number {n} is cheap in {place}")
        web[f"{place}{count + n}.test/"] = Reply(WMS % f"{place} {n}".encode())
    page = f"<!DOCTYPE html><title>{place}</title>{''.join(links)}"
    web[f"{place}.test/"] = Reply(page.encode(), headers={"Content-Type": "text/html"})


def test_a_crawl_begins_with_what_another_learned(web: Web, tmp_path: Path) -> None:
    """Words and kinds of addresses speak on other hosts too; what became of the hosts themselves is not taken over."""
    sheets(web, "old")
    crawl(web, tmp_path / "old", *GEO, "http://old.test/")
    early = {}
    for name, options in (("alone", ()), ("taught", ("--learned-from", str(tmp_path / "old")))):
        sheets(web, name)
        web.asked.clear()
        crawl(web, tmp_path / name, *GEO, *options, f"http://{name}.test/")
        found = {f"{name}{n}.test/" for n in range(10, 20)}
        early[name] = len(found.intersection(web.paths()[1:11]))
        assert found < set(web.paths())  # in the end both have all of them
    assert early["taught"] == 10 > early["alone"]
    hosts = "SELECT count(*), sum(energy) FROM lesson WHERE key > 1 << 62"
    assert rows(tmp_path / "taught", hosts) == [(21, 10.0)]


def test_lessons_are_borrowed_once(web: Web, tmp_path: Path) -> None:
    """A collection goes on with its own, also where those that it began with are gone; others are not mixed in."""
    sheets(web, "old", 3)
    crawl(web, tmp_path / "old", *GEO, "http://old.test/")
    sheets(web, "new", 3)
    taught = (*GEO, "--learned-from", str(tmp_path / "old"), "http://new.test/")
    crawl(web, tmp_path / "new", *taught)
    learned = rows(tmp_path / "new", "SELECT * FROM lesson")
    (tmp_path / "old").rename(tmp_path / "gone")
    assert "not used" not in crawl(web, tmp_path / "new", *taught)
    other = crawl(web, tmp_path / "new", *GEO, "--learned-from", str(tmp_path / "gone"), "http://new.test/")
    assert "not used: this collection has lessons of its own" in other
    assert rows(tmp_path / "new", "SELECT * FROM lesson") == learned


def test_lessons_that_are_of_no_use_are_refused(web: Web, tmp_path: Path) -> None:
    """Before anything is fetched or written, with what to do."""
    sheets(web, "old", 3)
    crawl(web, tmp_path / "plain", *GEO, "--policy", "shark", "http://old.test/")
    crawl(web, tmp_path / "learned", *GEO, "http://old.test/")
    web.asked.clear()
    cases = {
        (*GEO, "--learned-from", str(tmp_path / "nowhere")): "nowhere",
        (*GEO, "--learned-from", str(tmp_path / "plain")): "has learned nothing",
        (*GEO, "--policy", "shark", "--learned-from", str(tmp_path / "learned")): "use --policy learn",
        ("--learned-from", str(tmp_path / "learned")): "use --policy learn",
        ("xml", "--policy", "learn", "--learned-from", str(tmp_path / "learned")): "another quarry",
    }
    for options, said in cases.items():
        done = subprocess.run(
            command(web, tmp_path / "c", *options, "http://old.test/"), capture_output=True, text=True
        )
        assert done.returncode == 2 and said in done.stderr, done.stderr
        assert not (tmp_path / "c").exists()
    assert not web.paths()


def test_data_is_not_downloaded_and_large_capabilities_are(web: Web, tmp_path: Path) -> None:
    """What services describe may be as large as a disk: of anything that is no description, the first bytes do."""
    padding = b"<!-- " + b"x" * 5_000_000 + b" -->"
    web["a.test/"] = html("/tile.zip", "/wms?service=WMS&request=GetCapabilities")
    web["a.test/tile.zip"] = Reply(b"PK\3\4" + padding, headers={"Content-Type": "application/zip"})
    web["a.test/wms?service=WMS&request=GetCapabilities"] = Reply(WMS % b"1" + padding)
    folder = tmp_path / "c"
    crawl(web, folder, *GEO, "http://a.test/")
    sizes = dict(rows(folder, "SELECT url, size FROM pages"))
    assert sizes["http://a.test/tile.zip"] == 4_000_000
    assert sizes["http://a.test/wms?service=WMS&request=GetCapabilities"] > 5_000_000
