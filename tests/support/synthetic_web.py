"""The shared synthetic web as acceptance tests use it: served by a child process, known as a graph in memory.

What a test expects of a crawl comes from here (the world's own truth, statistics, graph), never from the crawler.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

CONTROL = "http://truth.world.test"
_FREE = {"redirect", "refresh"}  # a page that moved is as deep as the page that said so
_INFERRED = {"img", "script", "text"}  # addresses that nobody links to: found only by a mission that infers them


@dataclass
class Crawl:
    """A crawl that ended."""

    folder: Path
    code: int
    said: str
    seconds: float

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.folder}/crawl.db?mode=ro", uri=True)) as database:
            return database.execute(sql).fetchall()

    @cached_property
    def states(self) -> dict[str, tuple[str, str]]:
        """State and reason of each URL."""
        return {url: (state, reason or "") for url, state, reason in self.rows("SELECT url, state, reason FROM urls")}

    @property
    def kept(self) -> set[str]:
        """The pages that were stored, those with equal content included; a sitemap is no page."""
        sql = "SELECT url FROM urls WHERE state IN ('fetched', 'duplicate') AND via <> 'sitemap'"
        return {url for (url,) in self.rows(sql)}

    @property
    def stored(self) -> int:
        """How many pages count against a limit."""
        return int(
            self.rows("SELECT count(*) FROM urls WHERE state IN ('fetched', 'duplicate') AND via <> 'sitemap'")[0][0]
        )

    def log(self) -> list[list[str]]:
        """The lines of the log, in words: time, status, size, URL, depth, via, type, state and a reason if any."""
        return [line.split() for line in (self.folder / "logs/crawl.log").read_text().splitlines()]


class SyntheticWeb:
    """The world of one seed; `close` ends its server."""

    def __init__(
        self, source: Path, *, seed: int = 7, hosts: int = 300, pages: int = 20_000, cues: float = 0.6
    ) -> None:
        self._source = source
        self._size = (seed, hosts, pages, 0.7, cues)
        options = [f"--seed={seed}", f"--hosts={hosts}", f"--pages={pages}", f"--cues={cues}", "--port=0"]
        command = [sys.executable, "-B", str(source / "world.py"), *options]
        self._server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout
        self.port = int(self._server.stdout.readline().rstrip().rstrip("/").rpartition(":")[2])
        self.connect_to = f"*=127.0.0.1:{self.port}"
        self._open = build_opener(ProxyHandler({"http": f"http://127.0.0.1:{self.port}"})).open

    def close(self) -> None:
        self._server.terminate()
        self._server.communicate(timeout=20)

    def reset(self) -> None:
        """Forget who asked for what; difficult hosts are difficult again."""
        self._get("/__world__/reset", method="POST")

    def stats(self) -> dict[str, Any]:
        """What was asked for since the reset."""
        return self._get("/stats.json")

    @cached_property
    def truth(self) -> dict[str, Any]:
        return self._get("/truth.json")

    @cached_property
    def hosts(self) -> dict[str, dict[str, Any]]:
        """The peculiarities of each host."""
        return {host["host"]: host for host in self.truth["crawler"]["hosts"]}

    @cached_property
    def graph(self) -> Any:
        """The same world in this process; its modules are used in place and leave nothing behind there."""
        writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        sys.path.insert(0, str(self._source))
        try:
            from webworld.graph import Graph
            from webworld.universe import World
        finally:
            sys.path.remove(str(self._source))
            sys.dont_write_bytecode = writes
        return Graph(World(*self._size))

    def tick(self, hours: int) -> None:
        """Let time pass, here and on the server: pages are edited, appear and vanish."""
        self._get(f"/__world__/tick?hours={hours}", method="POST")
        self.graph.world.clock.hour += hours
        self.graph.nodes.clear()
        for name in ("truth", "hosts"):
            self.__dict__.pop(name, None)

    def content(self, url: str) -> bytes | None:
        """What the world would send now; None where there is no page."""
        host, _, target = url.partition("://")[2].partition("/")
        found = self.graph.world.locate(host, f"/{target}")
        if not hasattr(found, "status"):
            found = self.graph.world.deliver(found, target.partition("?")[2])
        return bytes(found.body) if found.status == 200 else None

    def body(self, url: str) -> bytes:
        """The content that the world serves at this address."""
        host, _, target = url.partition("://")[2].partition("/")
        page = self.graph.world.locate(host, f"/{target}")
        return bytes(self.graph.world.deliver(page).body)

    def may_fetch(self, url: str) -> bool:
        """Whether the host's robots.txt lets lycosa in."""
        world = self.graph.world  # which also finds the module
        from webworld import robots

        host, _, target = url.partition("://")[2].partition("/")
        site = world.sites.get(world.aliases.get(host, host))
        return site is None or robots.allowed(site, f"/{target}")

    def reach(self, seeds: Iterable[str], admits: Callable[[str], bool], *, depth: int) -> dict[str, int]:
        """Every address that at most so many links lead to within a scope, with the least number that it takes."""
        depths = dict.fromkeys(seeds, 0)
        queue = deque(depths)
        while queue:
            url = queue.popleft()
            for link in self.graph.visit(url).links:
                target, steps = link.url, depths[url] + (link.how not in _FREE)
                if link.how in _INFERRED or depths.get(target, depth + 1) <= steps:
                    continue
                if admits(target) and self.may_fetch(target):
                    depths[target] = steps
                    (queue.appendleft if steps == depths[url] else queue.append)(target)
        return depths

    def crawl(self, folder: Path, *arguments: str, timeout_s: float = 90) -> Crawl:
        """Crawl this world with fresh statistics; a crawl that hangs fails the test."""
        self.reset()
        command = [
            sys.executable, "-m", "lycosa", "crawl", "--collection", str(folder), "--connect-to", self.connect_to,
            "--contact", "mailto:test@lycosa.test", *arguments,
        ]  # fmt: skip
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        return Crawl(folder, done.returncode, said, time.monotonic() - began)

    def offences(self, stats: dict[str, Any], *, delay_s: float) -> list[str]:
        """What a host's owner could complain of: two requests at once, too little rest, a robots.txt not obeyed."""
        found = []
        for name, host in stats["hosts"].items():
            gaps = [host[key] for key in ("min_gap", "min_rest") if host[key] is not None]
            if host["concurrency_peak"] > 1 or any(gap < delay_s for gap in gaps):
                found.append(f"{name}: {host['concurrency_peak']} at once, gaps {gaps}")
            if host["robots_violations"] or host["requests_before_robots"]:
                found.append(f"{name}: robots.txt {host['violated']}, {host['requests_before_robots']} before it")
        return found

    def _get(self, path: str, *, method: str = "GET") -> Any:
        with self._open(Request(CONTROL + path, method=method), timeout=60) as answer:
            return json.loads(answer.read())
