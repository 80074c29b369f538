"""What changes in the synthetic web as its clock moves, and how much of that a crawl's rounds have seen."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from support.synthetic_web import Crawl, SyntheticWeb


@dataclass
class Truth:
    """What the pages held at the end of each hour looked at: a digest for each address, None where there is no page."""

    synthetic_web: SyntheticWeb
    hours: list[dict[str, bytes | None]] = field(default_factory=list)

    def look(self, addresses: set[str]) -> None:
        """Note the state of these addresses now."""
        found = {}
        for url in addresses:
            content = self.synthetic_web.content(url)
            found[url] = None if content is None else hashlib.sha1(content, usedforsecurity=False).digest()
        self.hours.append(found)

    def changes(self, before: int, after: int) -> dict[str, str]:
        """What a reader of everything would call new, changed and gone."""
        first, last = self.hours[before], self.hours[after]
        found = {}
        for url, now in last.items():
            then = first.get(url)
            if now != then:
                found[url] = "new" if then is None else "gone" if now is None else "changed"
        return found

    def judge(self, crawl: Crawl) -> tuple[int, int, int]:
        """How many changes were seen in the round after them, how many later, how many never.

        A change counts as seen if the page was visited while it had the content that the change gave it.
        """
        visits: dict[str, set[int]] = {}
        for url, number in crawl.rows("SELECT url, visit.round FROM visit JOIN url USING (n)"):
            visits.setdefault(url, set()).add(number - 1)
        seen = late = missed = 0
        last = len(self.hours) - 1
        for at in range(1, last + 1):
            for url in self.changes(at - 1, at):
                version = self.hours[at].get(url)
                until = at
                while until < last and self.hours[until + 1].get(url) == version:
                    until += 1
                found = [tick for tick in range(at, until + 1) if tick in visits.get(url, ())]
                seen += bool(found) and found[0] == at
                late += bool(found) and found[0] > at
                missed += not found
        return seen, late, missed


def seeds_of(synthetic_web: SyntheticWeb) -> list[str]:
    """The front pages of all hosts that answer plainly, without traps."""
    traps = {
        urlsplit(trap.get("prefix", "")).hostname or trap.get("host")
        for trap in synthetic_web.truth["crawler"]["traps"]
    }
    return sorted(
        f"http://{name}/"
        for name, host in synthetic_web.hosts.items()
        if host["behaviour"] == "plain" and name not in traps and not host["crawl_delay"]
    )


def hidden_in(synthetic_web: SyntheticWeb, seeds: list[str]) -> set[str]:
    """The pages of these hosts that only sitemaps name."""
    hosts = {urlsplit(seed).hostname for seed in seeds}
    named = synthetic_web.truth["crawler"]["sitemap_only"]
    return {url for url in named if urlsplit(url).hostname in hosts and synthetic_web.may_fetch(url)}


def reach(synthetic_web: SyntheticWeb, seeds: list[str]) -> set[str]:
    """All pages of these hosts that links lead to now."""
    hosts = {urlsplit(seed).hostname for seed in seeds}
    return set(synthetic_web.reach(seeds, lambda url: urlsplit(url).hostname in hosts, depth=10**6))
