"""Admission rules: a normalised URL and what is known of it go in, the first refusal comes out.

`Rules.judge` is asked once for each new address of a crawl; `Rules.explain` tells a person of every rule in turn. The
order is fixed: scheme, length, scope, reject list, accept list, ranges of the mission, depth, folders that only repeat
themselves, traps. Seeds are always visited. What each refusal's code means stands in `reasons.py`.

Scope: how far a crawl may go from its seeds; a URL and its host go in, a verdict comes out.

A host is one place at the ports 80 and 443, whatever the scheme; what answers at another port is another place, which a
seed there opens, or `ports = "any"`. Below a host of the seeds, the usual ports and those of its seeds are open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Literal, Protocol
from urllib.parse import unquote

import re2

from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.judge.admission.repetition import Repetition
from lycosa.judge.admission.traps import OK, Recall, Tallies, Traps
from lycosa.model import REQUISITE, Target, Verdict
from lycosa.output.plain import counted
from lycosa.urls import file_name, host_of, is_address, normalise

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
        urls = [url for url in map(normalise, seeds) if url is not None] if kind != "free" else []
        if kind != "path":  # there may be a million
            urls = list({url[: url.find("/", 8) + 1] for url in urls})
        #: The hosts that count: the seed domain set when the scope is a domain.
        self.hosts = frozenset(map(host_of, urls))
        if self._www_is_domain:
            self.hosts = frozenset(host.removeprefix("www.") for host in self.hosts)
        if kind == "domain":
            self.hosts = frozenset(host for host in self.hosts if not self._parent(host))
        #: For each host the folders that its seeds open: what counts when the scope is a path.
        self.folders: dict[str, set[str]] = {}
        for url in urls:
            self.folders.setdefault(host_of(url), set()).add(_folder(url))
        #: For each host the ports that its seeds open; the usual ones have no number.
        self.ports: dict[str, set[str]] = {}
        for url in urls:
            for host in {host_of(url), host_of(url).removeprefix("www.") if self._www_is_domain else host_of(url)}:
                self.ports.setdefault(host, set()).add(_port(url))
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
                self.folders.setdefault(host, set()).update(folders)
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
            if (folder := path[: slash + 1]) in folders:
                return Verdict(True, "", f"the path lies below {folder}, a folder of the seeds on {host}")
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


def _texts(url: str) -> tuple[bytes, ...]:
    """What patterns are tried against: the address and its file name, both also as people read them."""
    texts = url.encode(), file_name(url).encode()
    if "%" not in url and "xn--" not in url:
        return texts
    readable = unquote(url)
    if "xn--" in url:
        with suppress(UnicodeError):
            host = host_of(url)
            readable = readable.replace(host, host.encode().decode("idna"), 1)
    return *texts, readable.encode(), file_name(readable).encode()


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


#: Bytes of memory for the automaton of one list of patterns; what RE2 takes by default is meant for one pattern.
_MAX_MEM = 64 << 20


#: Lists that list lists; sitemaps.org knows one level, and an endless chain of them is a trap.
SITEMAP_LEVELS = 5
NO_RANGE = "no-range"


class Patterns:
    """A list of regular expressions, tried together in time linear in the text."""

    def __init__(self, patterns: Iterable[str], *, setting: str) -> None:
        self.patterns = tuple(patterns)
        options = re2.Options()
        options.max_mem = _MAX_MEM
        options.log_errors = False
        # The set says only that a pattern is wrong; compiled alone, the pattern says why.
        for pattern in self.patterns:
            try:
                re2.compile(pattern, options)
            except (re2.error, UnicodeError) as error:
                raise UsageError(_complaint(setting, pattern, error)) from None
        self._set = re2.Set.SearchSet(options)
        for pattern in self.patterns:
            self._set.Add(pattern)
        try:
            self._set.Compile()
        except re2.error:
            raise UsageError(
                f"{setting}: {len(self.patterns)} regular expressions are too large together; "
                "write fewer or shorter ones, above all smaller counts in braces."
            ) from None

    def find(self, *texts: bytes) -> str | None:
        """The first pattern that is found in one of the texts; `None` when none is."""
        for text in texts:
            found: list[int] | None = self._set.Match(text)
            if found:
                return self.patterns[min(found)]
        return None


def _complaint(setting: str, pattern: str, error: Exception) -> str:
    problem = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
    return (
        f"{setting}: the regular expression {pattern!r} is wrong: {problem}. "
        "The syntax is that of RE2, which has no look-around and no back-references."
    )


class UrlJudge(Protocol):
    """Who knows which addresses a mission visits, beyond what every crawl can be told: its quarry."""

    def refuses(self, url: str) -> str:
        """Why an address is in none of its ranges; empty: it is admitted."""

    def describe_url(self, url: str) -> str:
        """What it makes of an address, in a sentence; empty: nothing."""


class Rules:
    """The rules of one mission for the addresses that its seeds lead to."""

    def __init__(
        self,
        mission: Mission,
        seeds: Iterable[str],
        *,
        tallies: Tallies | None = None,
        spent: bool = True,
        uniform: bool = False,
        recall: Recall | None = None,
        url_judge: UrlJudge | None = None,
        insists: Collection[str] = (),
    ) -> None:
        """`spent`: the stored tallies may hold folders that are refused as repetitions, so they are read.

        `uniform`: every known URL was admitted under these same settings, so that none need be judged again. `recall`
        says what became of an address that is known, so that it is counted once. `url_judge` knows the ranges of the
        mission; None: it has none. `insists`: kinds of links that the reject list does not hold back.
        """
        self.insists = frozenset(insists)
        www_is_domain = mission.urls.www_is_domain
        self.scope = Scope(mission.scope, seeds, ports=mission.ports, www_is_domain=www_is_domain)
        self.accept = Patterns(mission.accept, setting="accept") if mission.accept else None
        self.reject = Patterns(mission.reject, setting="reject") if mission.reject else None
        self.tallies = Tallies() if tallies is None else tallies
        self.traps = Traps(mission.traps, self.tallies, recall)
        traps = mission.traps
        self.repetition = Repetition(
            traps.near_duplicates,
            self.tallies,
            calendar=traps.calendar,
            copies=traps.copies,
            tarpits=traps.tarpits,
            stored=spent,
        )
        self._url_judge = url_judge
        self._depth = mission.limits.depth
        self._length = mission.traps.url_length
        self._requisites_in_scope = mission.requisites.hosts == "scope"
        self.uniform = uniform

    def judge(self, url: str, *, depth: int, host: str, seed: bool = False, via: str = "") -> Verdict:
        """The first refusal, or a verdict that is ok and counts the address against the traps' bounds.

        Ask once for each address; `host` is what `urls.host_of` gives for it.
        """
        if not url.startswith(("http://", "https://")):
            return self._judge_scheme(url)
        if seed:
            return OK
        refusal = self._judge_settings(url, depth, host, via)
        if refusal is not None:
            return refusal
        verdict = self.repetition.judge(url, host, depth=depth)
        return self.traps.admit(url, host) if verdict.ok else verdict

    def forget_hosts(self, is_meant: Callable[[str], bool]) -> None:
        """Read anew what was counted of some hosts, when it is next asked for: others may have counted, too."""
        self.tallies.forget(is_meant)
        self.repetition.forget(is_meant)

    def review(self, target: Target) -> Verdict | None:
        """Why a target that an earlier run may have found with other settings is refused now; nothing is counted."""
        if self.uniform or target.seed:
            return None
        if target.via == "sitemap":
            verdict = self.scope.admits_place(target.url, target.host)
            return None if verdict.ok else verdict
        if target.via == REQUISITE:
            return self.review_requisite(target.url, host=target.host)
        return self.refusal(target.url, depth=target.depth, host=target.host, via=target.via)

    def judge_sitemap(self, url: str, *, host: str, level: int = 0) -> Verdict:
        """Judge a sitemap; `level` counts the sitemaps that lead to it.

        It is followed whatever the accept list says, and wherever it lies on its host: the pages of a folder stand in
        the list of the whole site, too.
        """
        verdict = self.scope.admits_place(url, host)
        if verdict.ok and level > SITEMAP_LEVELS:
            return Verdict(False, "trap:sitemaps", f"{level} sitemaps lead to it, one after the other")
        return verdict

    def judge_requisite(self, url: str, *, host: str) -> Verdict:
        """Judge what a page needs to be shown, once: it may lie beyond the scope, and no accept list is about it."""
        refusal = self.review_requisite(url, host=host)
        return refusal if refusal is not None else self.traps.admit(url, host)

    def review_requisite(self, url: str, *, host: str) -> Verdict | None:
        """Why what a page needs to be shown is refused, whatever was counted before; nothing is counted."""
        if not url.startswith(("http://", "https://")):
            return self._judge_scheme(url)
        if 0 < self._length < len(url):
            return self._judge_length(url)
        if self._requisites_in_scope and not (verdict := self.scope.admits_place(url, host)).ok:
            return verdict
        if self.reject is not None and self.reject.find(*(texts := _texts(url))) is not None:
            return self._judge_reject(texts)
        return None

    def refusal(self, url: str, *, depth: int, host: str, via: str = "") -> Verdict | None:
        """Why an address is refused, whatever was counted before; nothing is counted."""
        if not url.startswith(("http://", "https://")):
            return self._judge_scheme(url)
        return self._judge_settings(url, depth, host, via) or self.traps.review(url)

    def _judge_settings(self, url: str, depth: int, host: str, via: str) -> Verdict | None:
        """The refusal by a rule that depends on nothing but the address and the settings."""
        if 0 < self._length < len(url):
            return self._judge_length(url)
        verdict = self.scope.admits(url, host)
        if not verdict.ok:
            return verdict
        if self.reject is not None or self.accept is not None:
            texts = _texts(url)
            if self.reject is not None and via not in self.insists and self.reject.find(*texts) is not None:
                return self._judge_reject(texts)
            if self.accept is not None and self.accept.find(*texts) is None:
                return self._judge_accept(texts)
        if self._url_judge is not None and (refusal := self._url_judge.refuses(url)):
            return Verdict(False, NO_RANGE, refusal)
        if 0 <= self._depth < depth:
            return self._judge_depth(depth)
        return None

    def explain(self, url: str, *, depth: int, host: str, seed: bool = False) -> list[tuple[str, Verdict]]:
        """Every rule in order, by the code of its refusal, with its verdict; nothing is counted."""
        rows = [("scheme", self._judge_scheme(url))]
        if seed:
            return [
                *rows,
                ("seed", Verdict(True, "", "seeds are always visited")),
                *self._explain_range(url, seed=True),
            ]
        texts = _texts(url)
        rows += [
            ("length", self._judge_length(url)),
            ("scope", self.scope.admits(url, host)),
            ("reject-list", self._judge_reject(texts)),
            ("accept-list", self._judge_accept(texts)),
            *self._explain_range(url),
            ("depth", self._judge_depth(depth)),
        ]
        return [*rows, *self.repetition.explain(url, host), *self.traps.explain(url, host)]

    def _explain_range(self, url: str, *, seed: bool = False) -> list[tuple[str, Verdict]]:
        if self._url_judge is None:
            return []
        refusal = "" if seed else self._url_judge.refuses(url)
        detail = self._url_judge.describe_url(url) or refusal or "the mission admits it"
        return [(NO_RANGE, Verdict(not refusal, NO_RANGE if refusal else "", detail))]

    def _judge_scheme(self, url: str) -> Verdict:
        scheme = url[: url.find(":")]
        ok = scheme in ("http", "https")
        return Verdict(ok, "" if ok else "scheme", f"the scheme is {scheme}; http and https are fetched")

    def _judge_length(self, url: str) -> Verdict:
        ok = not 0 < self._length < len(url)
        return Verdict(
            ok, "" if ok else "length", f"{len(url)} characters; traps.url_length = {self._length or 'none'}"
        )

    def _judge_reject(self, texts: tuple[bytes, ...]) -> Verdict:
        if self.reject is None:
            return Verdict(True, "", "the reject list is empty")
        pattern = self.reject.find(*texts)
        if pattern is not None:
            return Verdict(False, "reject-list", f"the pattern {pattern!r} of the reject list matches")
        return Verdict(True, "", f"none of the {len(self.reject.patterns)} patterns of the reject list matches")

    def _judge_accept(self, texts: tuple[bytes, ...]) -> Verdict:
        if self.accept is None:
            return Verdict(True, "", "the accept list is empty: it accepts everything")
        pattern = self.accept.find(*texts)
        if pattern is not None:
            return Verdict(True, "", f"the pattern {pattern!r} of the accept list matches")
        count, name = len(self.accept.patterns), texts[1].decode()
        detail = f"none of the {count} patterns of the accept list matches the address or its file name, {name}"
        return Verdict(False, "accept-list", detail)

    def _judge_depth(self, depth: int) -> Verdict:
        ok = not 0 <= self._depth < depth
        allowed = self._depth if self._depth >= 0 else "none"
        return Verdict(ok, "" if ok else "depth", f"{counted(depth, 'link')} from a seed; limits.depth = {allowed}")
