"""Crawls run to their end as a user would run them, over the small web on loopback, and what their collections hold."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

from support.loopback import Web, html

FAST = ("--delay", "0", "--per-host", "4", "--set", "fetch.retry_delay_s=0.05", "--contact", "mailto:test@lycosa.test")


def command(web: Web, folder: Path, *arguments: str) -> list[str]:
    return [
        sys.executable, "-m", "lycosa", "crawl", "--collection", str(folder), "--connect-to", web.connect_to,
        *FAST, *arguments,
    ]  # fmt: skip


def crawl(web: Web, folder: Path, *arguments: str, code: int = 0) -> str:
    """Run a crawl to its end; returns what it wrote for people."""
    done = subprocess.run(command(web, folder, *arguments), capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr + done.stdout


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True) as database:
        found = database.execute(sql).fetchall()
    database.close()
    return found


def states(folder: Path) -> dict[str, str]:
    """The state of each URL, with its reason."""
    found = rows(folder, "SELECT url, state, reason FROM urls")
    return {str(url): f"{state} {reason or ''}".strip() for url, state, reason in found}


def stored(folder: Path) -> set[str]:
    return {url for url, state in states(folder).items() if state.startswith("fetched")}


def chain(web: Web, host: str, count: int) -> None:
    """A host of `count` pages, each linking to three others; all reachable from /."""
    for n in range(count):
        path = "/" if n == 0 else f"/{n}"
        links = [f"/{m}" for m in (2 * n + 1, 2 * n + 2, (n * 7) % count) if 0 < m < count]
        web[f"{host}{path}"] = html(*links, title=f"{host} {n}")


def holdings(folder: Path) -> list[list[tuple[object, ...]]]:
    """What a collection knows, but for the order in which it came to know it."""
    return [
        rows(folder, sql)
        for sql in (
            "SELECT url, state, reason, depth, via, http, redirect, seed FROM urls ORDER BY url",
            "SELECT url, digest, mime, title, warc, offset, length, size FROM pages ORDER BY url",
            "SELECT url, links FROM link JOIN url USING (n) ORDER BY url",
            "SELECT state, reason, count FROM stat WHERE count <> 0 ORDER BY 1, 2",
            "SELECT name, key, count FROM figure WHERE count <> 0 AND name <> 'answers' ORDER BY 1, 2",
            "SELECT name, pages FROM host ORDER BY name",
            "SELECT name, size FROM warc ORDER BY name",
        )
    ]
