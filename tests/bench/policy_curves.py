"""How soon each policy finds the services of the synthetic web: curves from whole crawls, replayed in a replay.

    python tests/bench/policy_curves.py --seeds 11 12 13 14 15 --cues 0.6 0.3 --chart docs/img/harvest.svg

For each world one exhaustive crawl (`geo --policy bfs`), kept below --work and used again if it is there; then replays.
What is a service is said by the world's own truth, by endpoint and type. --live N also lets `learn` and `shark` crawl
each world themselves, one request at a time, until N pages are stored. --cost measures what the mission costs per page.

    python tests/bench/policy_curves.py --teach 21 --max-time 15m
    python tests/bench/policy_curves.py --learned-from harvest/taught-21-0.6 …

crawls another world with `learn`, and shows beside the others how `learn` does with what was learned there (`taught`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.recording import RecordedAnswer, Recording
from bench.simulation import Key, Point, measure
from support.synthetic_web import SyntheticWeb

from lycosa import Collection, urls
from lycosa.config.loading import load
from lycosa.config.mission_files import find_mission
from lycosa.config.settings import Mission
from lycosa.judge.priority.policy_factory import make_policy, make_relevance
from lycosa.missions.geo.inventory.identity import endpoint_key
from lycosa.missions.geo.inventory.inventory import ServiceInventory
from lycosa.missions.geo.inventory.service_state import state_of
from lycosa.missions.geo.quarry import Geo
from lycosa.missions.geo.recognise.endpoint_inference import find_endpoint, strip_request
from lycosa.model import Link, Observation
from lycosa.parse import Doc, read
from lycosa.process import tune

POLICIES = ("bfs", "fish", "shark", "learn")
FAMILIES = {"ATOM-DOWNLOAD": "ATOM", "OGCAPI:LANDING": "OGCAPI"}
POINTS = (500, 1000, 2000, 4000, 8000)
STEP = 250


def crawl(synthetic_web: SyntheticWeb, folder: Path, seeds: list[str], *arguments: str) -> None:
    """Without delays: politeness would change when requests are made, not which."""
    command = [
        sys.executable, "-m", "lycosa", "crawl", "geo", *seeds, "--collection", str(folder), "--delay", "0",
        "--workers", "1", "--connect-to", synthetic_web.connect_to, "--contact", "mailto:bench@lycosa.test", "--quiet",
        "--set", "fetch.crawl_delay_max_s=0", "--set", "fetch.retry_delay_s=0.3", "--set", "extract.workers=0",
        "--set", "traps.queries_per_path=500", *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 5), done.stderr


class World:
    """One world, crawled to its end, with its truth."""

    def __init__(self, shared: Path, work: Path, *, seed: int, cues: float, most: str = "15m") -> None:
        self.name = f"{seed}-{cues}"
        self.folder = work / f"world-{self.name}"
        self._shared, self._seed, self._cues = shared, seed, cues
        self._truth = work / f"truth-{self.name}.json"
        if not self._truth.exists() or not (self.folder / "crawl.db").exists():
            with closing(self.serve()) as synthetic_web:
                self._truth.write_text(json.dumps(synthetic_web.truth["geo"]))
                self.crawl(synthetic_web, self.folder, "--policy", "bfs", "--max-time", most)
        truth = json.loads(self._truth.read_text())
        self.truth: dict[str, Any] = truth.get("geo", truth)
        self.gold = {key_of(row["endpoint"], row["type"].upper()) for row in self.truth["relevant"] if row["reachable"]}
        self.hosts = {urls.host_of(key.split()[0]) for key in self.gold}

    def serve(self) -> SyntheticWeb:
        return SyntheticWeb(self._shared / "world", seed=self._seed, cues=self._cues)

    def crawl(self, synthetic_web: SyntheticWeb, folder: Path, *arguments: str) -> None:
        seeds = (self.truth if hasattr(self, "truth") else json.loads(self._truth.read_text()))["seeds"]
        crawl(synthetic_web, folder, seeds, *arguments)

    def service(self, url: str, kind: str) -> str:
        """Which of the true services a document is; empty: none."""
        family = kind.partition("/")[0].removeprefix("ogc:").upper()
        family = FAMILIES.get(family, family)
        keys = (key_of(find_endpoint(url, family), family), key_of(url.partition("?")[0], family))
        return next((key for key in keys if key in self.gold), "")

    def fates(self) -> dict[str, Fate]:
        """What the inventory says of the true services that cannot be had: dead, answering with an error, forbidden."""
        done = subprocess.run(
            [sys.executable, "-m", "lycosa", "extract", "--collection", str(self.folder), "--quiet"],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said: dict[str, set[str]] = {}
        with Collection(self.folder) as collection, collection.snapshot():
            for url, state, reason in collection.rows("SELECT url, state, reason FROM url WHERE state IN (6, 7, 8)"):
                said.setdefault(place_of(url), set()).add(state_of(state, reason or ""))
            for entry in ServiceInventory(collection).entries:
                for url in (*entry.endpoints, *entry.addresses):
                    said.setdefault(place_of(url), set()).add(entry.state)
        truth = self.truth
        linked = set(map(place_of, truth["reachable"]))
        refusals = [*truth["not_services"], *(row["url"] for row in truth["dead"] if row["why"] == "error500")]
        groups = {
            "dead": ([row["url"] for row in truth["dead"] if row["why"] != "error500"], {"dead"}),
            "refused": (refusals, {"refused", "error", "exception"}),
            "forbidden": ([row["url"] for row in truth["relevant"] if not row["allowed"]], {"forbidden"}),
        }
        fates = {}
        for name, (addresses, words) in groups.items():
            places = list(map(place_of, addresses))
            reported = [place for place in places if said.get(place, set()) & words]
            hidden = [place for place in places if place not in linked and place not in said]
            fates[name] = Fate(len(places), len(reported), len(hidden))
        return fates


class Fate(NamedTuple):
    """How many services of the truth cannot be had, are reported as such, and are mentioned by nobody."""

    count: int
    reported: int
    hidden: int


def place_of(url: str) -> str:
    """Where a service is, however it is asked."""
    return endpoint_key(strip_request(url))


def key_of(endpoint: str, family: str) -> str:
    return f"{endpoint.rstrip('/').lower()} {family}"


def mission_of(name: str, learned_from: str = "") -> Mission:
    """One request at a time, without pauses, as the live crawls have it."""
    mission = load(find_mission("geo")).mission
    fetch = replace(mission.fetch, connections=1, delay_s=0.0)
    return replace(mission, fetch=fetch, policy=replace(mission.policy, name=name, learned_from=learned_from))


def load_reel(world: World, quarry: Geo) -> tuple[Recording, Key]:
    """A crawled world for a replay, and which of the true services an answer is."""
    relevance = make_relevance(mission_of("learn"))

    def weigh(doc: Doc) -> float:
        return relevance.page(f"{doc.title}\n{doc.text}", doc.language)

    with Collection(world.folder) as collection:
        recording = Recording(collection, quarry, weigh=weigh)
    known: dict[str, str] = {}

    def key(frame: RecordedAnswer) -> str:
        if frame.url not in known:
            known[frame.url] = world.service(frame.url, frame.quarry_kind)
        return known[frame.url]

    return recording, key


def replay(world: World, learned_from: str = "") -> dict[str, list[Point]]:
    """The curve of each policy; `found` and `hosts` are those of the truth."""
    missions = {name: mission_of(name) for name in POLICIES}
    if learned_from:
        missions["taught"] = mission_of("learn", learned_from)
    quarry = Geo()
    recording, key = load_reel(world, quarry)
    try:
        return {
            name: list(measure(recording, mission, key=key, identity=quarry.identity, step=STEP))
            for name, mission in missions.items()
        }
    finally:
        recording.close()


def at(curve: list[Point], requests: int) -> Point:
    """The last point that is not beyond a number of requests."""
    return max((point for point in curve if point.requests <= requests), key=lambda point: point.requests)


def tell(world: World, curves: dict[str, list[Point]]) -> dict[str, float]:
    """Print the figures of one world and return those that count."""
    whole = curves["bfs"][-1].requests
    print(
        f"\nworld {world.name}: {len(world.gold)} services on {len(world.hosts)} hosts; all of it: {whole:,} requests"
    )
    for name, curve in curves.items():
        marks = [
            *(f"{n:,}: {at(curve, n).found}" for n in POINTS),
            f"half ({whole // 2:,}): {at(curve, whole // 2).found}",
        ]
        print(f"  {name:6} {'  '.join(marks)}  end: {curve[-1].found} on {curve[-1].hosts} hosts")
    learned = at(curves["learn"], whole // 2)
    figures = {
        "ratio": at(curves["learn"], 2000).found / max(1, at(curves["shark"], 2000).found),
        "half": learned.found / len(world.gold),
        "hosts": learned.hosts / len(world.hosts),
    }
    if "taught" in curves:
        figures["taught"] = at(curves["taught"], 2000).found / max(1, at(curves["shark"], 2000).found)
        print(f"  taught/shark at 2,000: {figures['taught']:.2f}")
    print(
        f"  learn/shark at 2,000: {figures['ratio']:.2f}; with half of the requests learn has {figures['half']:.1%} of"
    )
    print(f"  the services, on {figures['hosts']:.1%} of their hosts.")
    for name, fate in world.fates().items():
        print(
            f"  of {fate.count} {name} ones {fate.reported} are reported as such, {fate.hidden} are linked from nowhere"
        )
    sys.stdout.flush()
    return figures


def live(world: World, pages: int) -> None:
    """Let policies crawl a world themselves."""
    for name in ("shark", "learn"):
        folder = world.folder.with_name(f"live-{name}-{world.name}-{int(time.time())}")
        with closing(world.serve()) as synthetic_web:
            world.crawl(synthetic_web, folder, "--policy", name, "--connections", "1", "--limit", str(pages))
        with Collection(folder) as collection:
            sql = "SELECT url, kind FROM page JOIN url USING (n) WHERE kind <> ''"
            services = {world.service(url, kind) for url, kind in collection.query(sql)} - {""}
            answers = next(iter(collection.query("SELECT count(*) FROM url WHERE state BETWEEN 1 AND 7")))[0]
        print(f"  live {name:6} {answers:,} requests: {len(services)} services", flush=True)


def teach(shared: Path, work: Path, *, seed: int, cues: float, most: str) -> None:
    """Crawl a world with `learn`, for the sake of its lessons."""
    with closing(SyntheticWeb(shared / "world", seed=seed, cues=cues)) as synthetic_web:
        folder = work / f"taught-{seed}-{cues}"
        crawl(synthetic_web, folder, synthetic_web.truth["geo"]["seeds"], "--policy", "learn", "--max-time", most)
    print(f"{folder} has learned")


def cost(world: World, thesaurus: str) -> None:
    """What recognition, hypotheses, relevance and policy cost for each document, the best of five times.

    As in a crawl each document was read just before, and a thesaurus is given its text as people read it.
    """
    mission = mission_of("learn")
    if thesaurus:
        mission = replace(mission, thesaurus=thesaurus, policy=replace(mission.policy, relevance="both"))
    quarry, resolver = Geo(), urls.Resolver()
    with Collection(world.folder) as collection:
        pages = [(page.url, page.headers, page.body) for page in islice(collection.pages(), 1500)]
    tune()  # as a worker does
    best: dict[str, float] = {}
    relevance = make_relevance(mission)
    policy = make_policy(mission, relevance, identity=quarry.identity)
    for _ in range(5):  # words and hosts are known from the second time on, as they are in a long crawl
        met, spent = set[str](), Counter[str]()
        for address, headers, body in pages:
            doc = read(address, headers, body)
            clock = time.process_time()
            kind = quarry.recognise(doc) or ""
            links = [*doc.links, *quarry.links(doc)]
            spent["quarry"] += time.process_time() - clock
            found = [(link, resolver.resolve(link.href, doc.base), at) for at, link in enumerate(links)]
            news = [(link, url, at) for link, url, at in found if url and url not in met]
            met.update(url for _, url, _ in news)
            contexts = [doc.context(at) for _, _, at in news]
            clock = time.process_time()
            weight = relevance.page(f"{doc.title}\n{doc.text}", doc.language)
            spent["relevance"] += time.process_time() - clock
            host = urls.host_of(doc.url)
            policy_data = policy.score(Link(doc.url), doc.url, host=host)[
                1
            ]  # counted where its link is met as a new one
            clock = time.process_time()
            policy.begin_answer(
                Observation(
                    doc.url,
                    host,
                    policy_data,
                    doc_kind=doc.kind,
                    quarry_kind=kind,
                    relevance=weight,
                    title=doc.title,
                )
            )
            fresh = []
            for (link, url, _), context in zip(news, contexts, strict=True):
                target = urls.host_of(url)
                fresh.append((policy.score(link, url, host=target, context=context)[0], target))
            policy.end_answer(fresh)
            spent["policy"] += time.process_time() - clock
        for name, seconds in spent.items():
            best[name] = min(best.get(name, 1e9), seconds / len(pages) * 1e6)
    told = ", ".join(f"{name} {value:.0f}" for name, value in best.items())
    each = len(met) / len(pages)
    print(f"µs a document ({len(pages)} of them, {each:.1f} new links each): {told}; {sum(best.values()):.0f} in all")


def draw(curves: dict[float, list[tuple[World, dict[str, list[Point]]]]], file: Path) -> None:
    """The mean share of services that each policy has found."""
    from bench.line_chart import draw_curves

    series: dict[str, list[tuple[float, float]]] = {}
    for cues, worlds in curves.items():
        longest = max(curve["bfs"][-1].requests for _, curve in worlds)
        for name in ("taught", "learn", "shark", "bfs"):
            if name not in worlds[0][1]:
                continue
            series[f"{name}, cues {cues}"] = [
                (n, 100 * sum(at(curve[name], n).found / len(world.gold) for world, curve in worlds) / len(worlds))
                for n in range(STEP, longest, STEP)
            ]
    count = len(next(iter(curves.values())))
    file.parent.mkdir(parents=True, exist_ok=True)
    title = f"Services found, mean of {count} worlds"
    file.write_text(draw_curves(series, title=title, across="requests", up="% of the services", most=100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[11, 12, 13, 14, 15])
    parser.add_argument("--cues", nargs="+", type=float, default=[0.6, 0.3])
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[3] / "shared")
    parser.add_argument("--work", type=Path, default=Path("harvest"))
    parser.add_argument("--max-time", default="15m", help="of a crawl; all but hosts that put off takes two minutes")
    parser.add_argument("--chart", type=Path)
    parser.add_argument("--live", type=int, default=0, metavar="PAGES")
    parser.add_argument("--learned-from", default="", metavar="COLLECTION", help="compare `learn` with its lessons too")
    parser.add_argument("--teach", type=int, default=0, metavar="SEED", help="crawl that world with learn, no more")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--thesaurus", default="", metavar="FILE", help="with --cost: a compiled thesaurus")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    if args.teach:
        teach(args.shared, args.work, seed=args.teach, cues=args.cues[0], most=args.max_time)
        return
    curves: dict[float, list[tuple[World, dict[str, list[Point]]]]] = {}
    figures = []
    for cues in args.cues:
        for seed in args.seeds:
            world = World(args.shared, args.work, seed=seed, cues=cues, most=args.max_time)
            if args.cost:
                cost(world, args.thesaurus)
                return
            curves.setdefault(cues, []).append((world, replay(world, args.learned_from)))
            figures.append(tell(*curves[cues][-1]))
            if args.live:
                live(world, args.live)
    for name in figures[0]:
        values = [row[name] for row in figures]
        print(f"{name}: least {min(values):.2f}, mean {sum(values) / len(values):.2f}")
    if args.chart:
        draw(curves, args.chart)


if __name__ == "__main__":
    main()
