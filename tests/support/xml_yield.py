"""A crawl of the XML mission over the synthetic web, measured against the truth of that web."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.synthetic_web import Crawl, SyntheticWeb

#: Fast enough for a test. Hosts that limit the rate of requests, or refuse some at first, make a polite crawl wait for
#: minutes: they are left out.
HASTE = (
    "--delay", "0.02", "--connections", "16", "--render", "never",
    "--set", "fetch.retry_delay_s=0.3", "--set", "fetch.crawl_delay_max_s=0.1",
)  # fmt: skip
_FAMILY = "SELECT url.url, page.size, url.state <> 3 FROM page JOIN url USING (n) WHERE page.kind <> ''"
_READ = "SELECT total(count) FROM figure WHERE name = 'read bytes'"


@dataclass
class Yield:
    """What a crawl brought."""

    crawl: Crawl
    reachable: int  # documents of the family that the truth calls so
    stored: int  # of those
    strays: int  # pages that are stored and no XML: what the truth calls look-alikes
    fetched_bytes: int
    stored_bytes: int
    family_bytes: int  # of those that the truth lists as the family, without capabilities of services
    archive_bytes: int
    requests: int  # for pages
    early: float  # share of the family among the documents of the first fifth of the requests

    @property
    def recall(self) -> float:
        return self.stored / self.reachable


def hunt(synthetic_web: SyntheticWeb, folder: Path, *arguments: str, timeout_s: float = 120) -> Yield:
    """Crawl with the XML mission from the seeds of the truth."""
    truth = synthetic_web.truth["xml"]
    slow = sorted(name for name, host in synthetic_web.hosts.items() if host["behaviour"] not in ("plain", "cutting"))
    left_out = [word for name in slow for word in ("--exclude", f"^http://{name.replace('.', '[.]')}/")]
    crawl = synthetic_web.crawl(folder, "xml", *HASTE, *left_out, *arguments, *truth["seeds"], timeout_s=timeout_s)
    wanted = {row["url"] for row in truth["relevant"] if row["reachable"] and row["url"].split("/")[2] not in slow}
    return _measure(crawl, truth, wanted)


def _measure(crawl: Crawl, truth: dict[str, Any], wanted: set[str]) -> Yield:
    family = crawl.rows(_FAMILY)
    held = {url for url, _, _ in family}
    known = {row["url"] for row in truth["relevant"]}
    size = sum(size for _, size, _ in family)
    read = crawl.rows(_READ)[0][0]
    requests, early = early_share(crawl, held)
    return Yield(
        crawl, len(wanted), len(wanted & held), len(held & set(truth["lookalikes"])), int(size + read),
        sum(size for _, size, first in family if first),
        sum(size for url, size, first in family if first and url in known),
        sum(path.stat().st_size for path in (crawl.folder / "archive").iterdir()), requests, early,
    )  # fmt: skip


def early_share(crawl: Crawl, held: set[str]) -> tuple[int, float]:
    """How many requests were made for pages, and the family's share of the documents in the first fifth of them."""
    lines = [words for words in crawl.log() if words[1] != "debug" and words[5] != "sitemap"]
    lines = [words for words in lines if not words[3].endswith("/robots.txt")]
    first = lines[: len(lines) // 5]
    documents = [words[3] for words in first if words[1] == "200"]
    return len(lines), sum(url in held for url in documents) / max(1, len(documents))
