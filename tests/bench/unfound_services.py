"""What `learn` has not found of a synthetic web after some requests, and what finding everything would take at least.

    python tests/bench/unfound_services.py --seeds 21 22 23 --cues 0.6 0.3 --requests 2000

The worlds are those of harvest.py, crawled once and kept below --work. For each: the services that are missing, and how
many of them are on hosts that nothing the policy has read names; how many pages link to such a host; the requests of
somebody who knows all links and always goes to the nearest service.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.policy_curves import Geo, World, load_reel, mission_of
from bench.recording import RecordedAnswer, Recording
from bench.simulation import Simulation

from lycosa import urls


class Graph:
    """Everything that the seeds of a recording lead to, by the ids of addresses."""

    def __init__(self, recording: Recording, key: Callable[[RecordedAnswer], str]) -> None:
        self.links: dict[int, list[int]] = {}
        self.services: dict[int, str] = {}
        self.hosts: dict[int, str] = {}
        self.seeds = [urls.url_id(seed) for seed in recording.seeds]
        waiting = list(zip(self.seeds, recording.seeds, strict=True))
        while waiting:
            ident, url = waiting.pop()
            if ident in self.links or ident not in recording:
                continue
            frame = recording.answer(ident, url)
            onward = [(step.url_hash, step.url) for step in frame.links]
            if frame.redirect:
                onward = [(urls.url_id(frame.redirect), frame.redirect)]
            self.links[ident] = [n for n, _ in dict(onward).items()]
            self.services[ident] = key(frame) if frame.quarry_kind else ""
            self.hosts[ident] = urls.host_of(url)
            waiting += onward

    def shortest(self) -> int:
        """The requests of who always goes to the nearest service that is not found yet."""
        asked, found, known = set[int](), set[str](), dict.fromkeys(self.seeds)
        while path := self._nearest(known, asked, found):
            for ident in path:
                asked.add(ident)
                found.add(self.services[ident])
                known.pop(ident, None)
                known.update(dict.fromkeys(n for n in self.links[ident] if n not in asked))
        return len(asked)

    def _nearest(self, known: dict[int, None], asked: set[int], found: set[str]) -> list[int]:
        before: dict[int, int] = dict.fromkeys(known, 0)
        queue = deque(known)
        while queue:
            ident = queue.popleft()
            if self.services.get(ident) and self.services[ident] not in found:
                path = [ident]
                while before[path[-1]]:
                    path.append(before[path[-1]])
                return path[::-1]
            for onward in self.links.get(ident, ()):
                if onward not in before and onward not in asked:
                    before[onward] = ident
                    queue.append(onward)
        return []


def tell(world: World, requests: int) -> tuple[int, int]:
    """Print what is missing in one world; returns how much, and how much of it on hosts that are not known."""
    quarry = Geo()
    recording, key = load_reel(world, quarry)
    replay, found = Simulation(recording, mission_of("learn"), identity=quarry.identity), set[str]()
    named = {urls.host_of(seed) for seed in recording.seeds}
    for _, frame in zip(range(requests), replay.run(), strict=False):
        found.add(key(frame) if frame.quarry_kind else "")
        named |= {step.host for step in frame.links} | {urls.host_of(frame.redirect or frame.url)}
    graph = Graph(recording, key)
    missing = {service: graph.hosts[n] for n, service in graph.services.items() if service and service not in found}
    unknown = set(missing.values()) - named
    pages = dict.fromkeys(unknown, 0)
    for ident, onward in graph.links.items():
        for host in {graph.hosts[n] for n in onward if n in graph.hosts} & unknown - {graph.hosts[ident]}:
            pages[host] += 1
    far = sum(host in unknown for host in missing.values())
    print(
        f"world {world.name}: {len(missing)} services missing, {far} on {len(unknown)} hosts that nothing read names,"
        f" to each of which {sorted(set(pages.values())) or 'no'} pages link; {graph.shortest()} requests find all",
        flush=True,
    )
    recording.close()
    return len(missing), far


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[21, 22, 23])
    parser.add_argument("--cues", nargs="+", type=float, default=[0.6, 0.3])
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[3] / "shared")
    parser.add_argument("--work", type=Path, default=Path("harvest"))
    parser.add_argument("--requests", type=int, default=2000)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    rows = [
        tell(World(args.shared, args.work, seed=seed, cues=cues), args.requests)
        for cues in args.cues
        for seed in args.seeds
    ]
    print(f"in all {sum(missing for missing, _ in rows)} missing, {sum(far for _, far in rows)} on hosts not named")


if __name__ == "__main__":
    main()
