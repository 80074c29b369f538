"""Crawls one real program and holds what was found against the truth."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from acceptance.real.site import Site

from lycosa import urls
from lycosa.missions.geo.inventory.identity import endpoint_key

#: As fast as one's own machine may be asked.
HASTY = (
    "--delay", "0", "--per-host", "4", "--workers", "1", "--render", "never", "--contact", "mailto:test@lycosa.test",
    "--set", "fetch.retry_delay_s=0.2", "--set", "keep.sync_s=0",
)  # fmt: skip
#: False services for each true one that are borne.
FALSE_SHARE = 1 / 20
#: Reasons of rules that keep a crawl from seeing what lies behind.
BOUNDS = ("trap:", "links-limit")
#: The exit code of a crawl whose time is over.
TIME_OVER = 5
_EXAMPLES = 3


@dataclass(kw_only=True)
class Figures:
    """What one crawl came to."""

    name: str
    requests: int
    pages: int
    seconds: float = 0.0
    ended: bool = True  # by itself, before its time was over
    said: str = ""
    lost: dict[str, str] = field(default_factory=dict)  # pages that are not in the collection, and the rule
    services: int = 0
    missed: list[tuple[str, str]] = field(default_factory=list)
    false: list[tuple[str, str]] = field(default_factory=list)

    @property
    def rules(self) -> Counter[str]:
        """How many pages each rule lost."""
        return Counter(self.lost.values())

    def faults(self) -> list[str]:
        """What is below the floor, one sentence each."""
        found = []
        if not self.ended:
            found.append("the crawl did not end by itself")
        for rule, count in self.rules.most_common():
            some = [page for page, lost_by in self.lost.items() if lost_by == rule][:_EXAMPLES]
            found.append(f"{count} pages lost: {rule} ({', '.join(some)}{', …' if count > _EXAMPLES else ''})")
        if self.missed:
            found.append(f"services missed: {_list(self.missed)}")
        if len(self.false) > FALSE_SHARE * self.services:
            found.append(f"false services: {_list(self.false)}")
        return found


def _list(services: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} {endpoint}" for kind, endpoint in services)


def measure(program: ModuleType, folder: Path, *, max_s: int) -> Figures:
    """Serve a program and crawl it; raises `Absent` where it is not installed."""
    home, collection = folder / "server", folder / "collection"
    home.mkdir(parents=True)
    with program.serve(home) as site:
        mission = ("geo",) if site.truth.services else ()
        command = [
            sys.executable, "-m", "lycosa", "crawl", *mission, site.url, "--collection", str(collection),
            "--max-time", str(max_s), *HASTY, *site.options,
        ]  # fmt: skip
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=max_s + 120)
        seconds = time.monotonic() - began
    said = done.stdout + done.stderr
    if done.returncode not in (0, TIME_OVER) or "Traceback" in said:
        raise RuntimeError(f"the crawl of {program.NAME} failed with {done.returncode}: {said[-2000:]}")
    figures = judge(program.NAME, site, collection)
    figures.seconds, figures.ended, figures.said = seconds, done.returncode == 0, said
    return figures


def judge(name: str, site: Site, collection: Path) -> Figures:
    """Hold a collection against the truth."""
    with closing(sqlite3.connect(f"file:{collection}/crawl.db?mode=ro", uri=True)) as database:
        states = {
            url: (state, reason or "") for url, state, reason in database.execute("SELECT url, state, reason FROM urls")
        }
    asked = sum(state not in ("unfetched", "rejected") for state, _ in states.values())
    figures = Figures(name=name, requests=asked, pages=len(site.truth.pages))
    bounds = Counter(reason for _, reason in states.values() if reason.startswith(BOUNDS)).most_common(1)
    unseen = ("never seen", f"beside {bounds[0][0]}" if bounds else "")
    for page in sorted(site.truth.pages):
        state, reason = states.get(urls.normalise(page) or page, unseen)
        if state not in ("fetched", "duplicate"):
            figures.lost[page] = f"{state} {reason}".strip()
    if site.truth.services:
        compare_services(figures, site, list_services(collection))
    return figures


def list_services(collection: Path) -> list[dict[str, object]]:
    """The rows of `lycosa services`, as a user has them."""
    command = [sys.executable, "-m", "lycosa", "services", "--collection", str(collection), "--format", "jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare_services(figures: Figures, site: Site, rows: list[dict[str, object]]) -> None:
    """Found is what is listed as live; whatever else is listed, and each further listing of one service, is false."""
    wanted = {(kind, endpoint_key(endpoint)): (kind, endpoint) for kind, endpoint in site.truth.services}
    same = {
        (kind, endpoint_key(endpoint)): (real[0], endpoint_key(real[1]))
        for (kind, endpoint), real in site.truth.aliases.items()
    }
    found: set[tuple[str, str]] = set()
    for row in rows:
        kind, endpoint = str(row["type"]), str(row["endpoint"])
        key = (kind, endpoint_key(endpoint))
        key = same.get(key, key)
        if key in wanted and key not in found and row["state"] == "live":
            found.add(key)
        else:
            figures.false.append((f"{row['state']} {kind}", endpoint))
    figures.services = len(wanted)
    figures.missed = [service for key, service in sorted(wanted.items()) if key not in found]
