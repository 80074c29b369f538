"""Scope: how far a crawl may go from its seeds; a URL and its host go in, a verdict comes out.

A host is one place at the ports 80 and 443, whatever the scheme; what answers at another port is another place, which a
seed there opens, or `ports = "any"`. Below a host of the seeds, the usual ports and those of its seeds are open.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from lycosa.model import Verdict
from lycosa.urls import host_of, is_address, normalise

Kind = Literal["free", "domain", "host", "path"]
Ports = Literal["seeds", "any"]

#: Hosts whose verdict is remembered; a free crawl never asks.
_REMEMBERED = 100_000

_FREE = Verdict(True, "", "every host is in the scope (scope = free)")


class Scope:
    """The region of the web that a set of seeds opens."""

    def __init__(
        self, kind: Kind, seeds: Iterable[str], *, ports: Ports = "seeds", www_is_domain: bool = False
    ) -> None:
        self.kind = kind
        self._any_port = ports == "any" or kind == "free"
        self._www_is_domain = www_is_domain and kind == "domain"
        urls = [url for url in map(normalise, seeds) if url is not None]
        #: The hosts that count: the seed domain set when the scope is a domain.
        self.hosts = frozenset(map(host_of, urls))
        if self._www_is_domain:
            self.hosts = frozenset(host.removeprefix("www.") for host in self.hosts)
        if kind == "domain":
            self.hosts = frozenset(host for host in self.hosts if not self._parent(host))
        #: For each host the folders that its seeds open: what counts when the scope is a path.
        self.folders: dict[str, dict[str, Verdict]] = {}
        for url in urls:
            folder, host = _folder(url), host_of(url)
            verdict = Verdict(True, "", f"the path lies below {folder}, a folder of the seeds on {host}")
            self.folders.setdefault(host, {})[folder] = verdict
        #: For each host the ports that its seeds open; the usual ones have no number.
        self.ports: dict[str, set[str]] = {}
        for url in urls:
            self.ports.setdefault(host_of(url), set()).add(_port(url))
        self._known: dict[str, Verdict] = {}
        self._open_ports: dict[str, frozenset[str]] = {}

    def widen(self, seeds: Iterable[str]) -> bool:
        """Open what further seeds open; returns whether that is anything."""
        urls = [url for url in map(normalise, seeds) if url is not None and not self.admits(url, host_of(url)).ok]
        if urls:
            which: Ports = "any" if self._any_port else "seeds"
            more = Scope(self.kind, urls, ports=which, www_is_domain=self._www_is_domain)
            self.hosts |= more.hosts
            for host, folders in more.folders.items():
                self.folders.setdefault(host, {}).update(folders)
            for host, ports in more.ports.items():
                self.ports.setdefault(host, set()).update(ports)
            self._known.clear()
            self._open_ports.clear()
        return bool(urls)

    def admits(self, url: str, host: str) -> Verdict:
        """Whether a normalised URL on `host` (as `urls.host_of` gives it) lies in the scope."""
        verdict = self.admits_place(url, host)
        return verdict if self.kind != "path" or not verdict.ok else self._judge_path(url, host)

    def admits_place(self, url: str, host: str) -> Verdict:
        """Whether anything may lie in the scope at the host and port of a URL."""
        if self.kind == "free":
            return _FREE
        verdict = self._known.get(host)
        if verdict is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
                self._open_ports.clear()
            verdict = self._known[host] = self._judge_host(host)
            self._open_ports[host] = self._find_ports(host)
        if self._any_port or not verdict.ok or (port := _port(url)) in self._open_ports[host]:
            return verdict
        place = f"port {port} of {host}" if port else f"{host} at its usual port"
        return Verdict(False, "scope", f'{place} is another place than the seeds\' (ports = "any" admits it)')

    def _find_ports(self, host: str) -> frozenset[str]:
        """The ports that are open at a host."""
        parent = self._parent(host) if self.kind == "domain" else ""
        below = {"", *self.ports[parent]} if parent else set()
        return frozenset(self.ports.get(host, set()) | below)

    def _judge_host(self, host: str) -> Verdict:
        if host in self.hosts:
            return Verdict(True, "", f"{host} is a host of the seeds")
        if self.kind != "domain":
            return Verdict(False, "scope", f"{host} is not a host of the seeds: {_some(self.hosts)}")
        parent = self._parent(host)
        if parent:
            return Verdict(True, "", f"{host} lies below {parent}, a host of the seeds")
        return Verdict(False, "scope", f"{host} is not a host of the seeds, nor below one: {_some(self.hosts)}")

    def _judge_path(self, url: str, host: str) -> Verdict:
        path = _path(url)
        folders = self.folders[host]
        slash = 0
        while slash >= 0:
            verdict = folders.get(path[: slash + 1])
            if verdict is not None:
                return verdict
            slash = path.find("/", slash + 1)
        return Verdict(False, "scope", f"{path} lies below no folder of the seeds on {host}: {_some(folders)}")

    def _parent(self, host: str) -> str:
        """The nearest seed host that `host` lies below, or nothing; an IP address lies below none."""
        if is_address(host):
            return ""
        dot = host.find(".")
        while dot >= 0:
            if host[dot + 1 :] in self.hosts:
                return host[dot + 1 :]
            dot = host.find(".", dot + 1)
        return ""


def _port(url: str) -> str:
    """The port of a normalised URL; empty for 80 and 443."""
    colon = url.find(":", 6)  # behind that of the scheme
    if colon < 0 or colon > (slash := url.find("/", 8)):
        return ""
    port = url[url.rfind(":", 0, slash) + 1 : slash]  # in an address of IPv6 there are other colons
    return port if port.isdigit() and port not in ("80", "443") else ""


def _path(url: str) -> str:
    path = url[url.find("/", url.find("://") + 3) :]
    return path if (mark := path.find("?")) < 0 else path[:mark]


def _folder(url: str) -> str:
    # A path without a slash at its end names a file in its folder: the seed /path opens the whole host, /path/ only
    # itself, as relative links have it.
    path = _path(url)
    return path[: path.rfind("/") + 1]


def _some(names: Iterable[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")
