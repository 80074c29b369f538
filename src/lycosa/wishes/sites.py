"""Sites: what the files of each site say of use, its robots.txt and those that belong to it, read once and kept."""

from __future__ import annotations

from collections.abc import Callable

from lycosa import urls
from lycosa.wishes.signals import RobotsWishes, Signal, find_rsl_addresses, read_rsl, read_tdmrep

#: Licences of one site that are read.
LICENCES = 5
_KEPT = 10_000  # sites that are remembered


def address_of_tdmrep(origin: str) -> str:
    """Where a site says what it reserves (TDM Reservation Protocol); without the port that is usual."""
    root = urls.normalise(f"{origin}/") or f"{origin}/"
    return f"{root}.well-known/tdmrep.json"


def addresses_of_licences(origin: str, robots: bytes) -> list[str]:
    """Where the licences are that a robots.txt names (RSL)."""
    found = (urls.normalise(address, f"{origin}/robots.txt") for address in find_rsl_addresses(robots)[:LICENCES])
    return [address for address in found if address]


class _Site:
    """The files of one origin that speak of use."""

    def __init__(self, origin: str, robots: bytes, *, find: Callable[[str], bytes], agent: str) -> None:
        self._robots = RobotsWishes(robots, agent=agent)
        self._tdmrep = find(address_of_tdmrep(origin))
        self._licences = [body for address in addresses_of_licences(origin, robots) if (body := find(address))]
        self.is_silent = self._robots.is_silent and not self._tdmrep and not self._licences

    def of(self, url: str) -> list[Signal]:
        signals = self._robots.of(url)
        signals += read_tdmrep(self._tdmrep, url=url) if self._tdmrep else []
        return signals + [signal for body in self._licences for signal in read_rsl(body, url=url)]


class SiteWishes:
    """What sites say of the use of their addresses."""

    def __init__(self, find: Callable[[str], bytes], *, agent: str) -> None:
        """`find` gives the robots.txt of an origin, or another file by its address; empty: there is none."""
        self._find = find
        self._agent = agent
        self._sites: dict[str, _Site | None] = {}
        self._prefix = "\0"
        self._latest: _Site | None = None

    def of(self, url: str) -> list[Signal]:
        """What the files of a site say of one address."""
        if not url.startswith(self._prefix):
            self._latest = self._site(urls.origin_of(url))
            self._prefix = url[: url.index("/", 8) + 1] if url.find("/", 8) > 0 else "\0"
        return self._latest.of(url) if self._latest is not None else []

    def forget(self, origin: str) -> None:
        """Read the files of an origin again: one of them is new."""
        self._sites.pop(origin, None)
        self._prefix = "\0"

    def _site(self, origin: str) -> _Site | None:
        """The files of an origin; None where they say nothing."""
        if origin not in self._sites:
            if len(self._sites) > _KEPT:
                self._sites.clear()
            site = _Site(origin, self._find(origin), find=self._find, agent=self._agent)
            self._sites[origin] = None if site.is_silent else site
        return self._sites[origin]
