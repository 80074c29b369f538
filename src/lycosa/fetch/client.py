"""HTTP client: libcurl's multi interface on our own epoll loop, many transfers in one thread.

`Client.start` begins a transfer, `Client.poll` returns those that ended. Redirects are not followed here (each hop is a
decision of its own), bodies are not decoded (the archive keeps them as received), and the address guard
checks every socket.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import select
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pycurl

from lycosa import clock, urls
from lycosa.config.host_rules import HostRules, has_secrets, make_public
from lycosa.config.settings import FetchSettings, HostRule, LimitSettings, Mission
from lycosa.fetch.address_guard import (
    DNS_CACHE_S,
    DNS_KEEP,
    DNS_SWEEP_S,
    SCHEMES,
    AddressGuard,
    apply_rule,
    has_ipv6,
    make_handle,
    read_hosts_file,
    share_cookies,
)
from lycosa.fetch.continuation import Continuations
from lycosa.fetch.headers import condition_headers, parse_head
from lycosa.fetch.web_bot_auth import Signer
from lycosa.model import Answer, Target
from lycosa.version import __version__

SPOOL_BYTES = 2 << 20  # a body beyond this goes to a file, so that 64 transfers of 100 MB do not need 6 GB
EVENTS = 16  # sockets served before their answers are read: few, so that a body is still in the cache when it is parsed
KEPT_MAX = 1000  # connections kept open
FIELDS_MAX = 1000  # lines of a head, those of interim answers included; servers that mean well send fifty
UNASKED_READS = 128  # of 64 kB: more than a system holds for one connection
CUT_SHORT = "cut-short"  # the connection ended before the announced end of the body
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ENCODINGS = "gzip, deflate, br, zstd"

_FAILURES = {
    pycurl.E_URL_MALFORMAT: "bad-url",
    pycurl.E_UNSUPPORTED_PROTOCOL: "protocol",  # an answer that is not HTTP/1 at least; schemes are checked before
    pycurl.E_COULDNT_RESOLVE_HOST: "dns",
    pycurl.E_COULDNT_RESOLVE_PROXY: "proxy",
    pycurl.E_COULDNT_CONNECT: "connect",
    pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_GOT_NOTHING: "empty-answer",
    pycurl.E_PARTIAL_FILE: CUT_SHORT,
    pycurl.E_RECV_ERROR: CUT_SHORT,
    pycurl.E_SEND_ERROR: CUT_SHORT,
    pycurl.E_SSL_CONNECT_ERROR: "handshake",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls",
    pycurl.E_SSL_CERTPROBLEM: "tls",
    pycurl.E_SSL_CIPHER: "tls",
    pycurl.E_SSL_CACERT_BADFILE: "tls",
    pycurl.E_SSL_ISSUER_ERROR: "tls",
    97: "proxy",  # CURLE_PROXY, which pycurl does not name: a SOCKS server cannot go on
    100: "header-too-large",  # CURLE_TOO_LARGE, which pycurl does not name: a header line beyond libcurl's own cap
}

#: How libcurl speaks of a time that was over before a request could be sent; its figures do not tell that apart.
_UNCONNECTED = ("Connection timed out", "Resolving timed out", "SSL connection timeout", "Failed to connect")
#: How OpenSSL speaks of an answer that is no TLS: text stands where a record should begin.
_NO_TLS = ("wrong version number", "packet length too long", "http request")
_HTML = re.compile(rb"\ncontent-type:[^\n]*text/html")
#: The value of a cookie: what a session is recognised by is kept nowhere.
_SET_COOKIE = re.compile(rb"(?im)^(set-cookie:[^=;\r\n]*=)[^;\r\n]*")
_TLS_RECORDS = range(20, 24)  # RFC 8446, 5.1
_POLL_MASK = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}


class _Transfer:
    """One reusable libcurl handle and what its present transfer has received."""

    def __init__(self, mission: Mission, address_guard: AddressGuard, folder: str) -> None:
        self.settings: FetchSettings = mission.fetch
        self.limits: LimitSettings = mission.limits
        self.address_guard = address_guard
        self.folder = folder
        self.headers: tuple[str, ...] = ()
        self.rule: HostRule | None = None
        self.family = pycurl.IPRESOLVE_WHATEVER
        self.dns_cache_s = DNS_KEEP
        self.drops_dns_entry = False
        self.is_retry = False
        self.request = b""
        self.sockets: list[socket.socket] = []
        self.curl = make_handle(mission, address_guard)
        self.head: list[bytes] = []
        self.curl.setopt(pycurl.HEADERFUNCTION, self.head.append)  # libcurl itself refuses more than 300 KB
        self.curl.setopt(pycurl.WRITEFUNCTION, self.receive_body)
        self.curl.setopt(pycurl.OPENSOCKETFUNCTION, self.open_socket)
        self.clear()

    def clear(self) -> None:
        while self.sockets:
            self.sockets.pop().close()
        self.target: Target | None = None
        self.head.clear()
        self.chunks: list[bytes] = []
        self.size = 0
        self.limit = -1
        self.spool: Any = None
        self.failure = ""
        self.detail = ""
        self.began = 0.0

    def open_socket(self, _purpose: int, address: Any) -> Any:
        """Called by libcurl with the address that it is about to connect to: here rebinding is refused."""
        family, kind, protocol, where = address
        assert self.target is not None
        if family not in (socket.AF_INET, socket.AF_INET6):
            self.failure, self.detail = "address", "not an internet address"
            return pycurl.SOCKET_BAD
        if not self.is_proxied():
            refusal = self.address_guard.refuse_address(self.target.host, where[0], where[1])
            if refusal:
                self.failure, self.detail = "address", refusal
                return pycurl.SOCKET_BAD
        if self.failure == "address":  # another address of the host is fine
            self.failure = self.detail = ""
        opened = socket.socket(family, kind, protocol)
        self.sockets.append(opened)  # pycurl takes a duplicate of it
        return opened

    def is_proxied(self) -> bool:
        """Whether the peer is a proxy, which the user named."""
        return bool(self.rule.proxy if self.rule is not None and self.rule.proxy is not None else self.settings.proxy)

    def receive_body(self, chunk: bytes) -> int | None:
        """Called by libcurl with a part of the body; 0 ends the transfer."""
        if self.limit < 0:
            self.limit = self._find_limit()
        self.size += len(chunk)
        if self.size > self.limit:
            self.failure, self.detail = "too-large", f"over {self.limit} bytes"
            self._store(chunk[: len(chunk) - (self.size - self.limit)])
            self.size = self.limit
            return 0
        self._store(chunk)
        return 0 if self.failure else None

    def _store(self, chunk: bytes) -> None:
        try:
            self._keep(chunk)
        except OSError as error:  # nothing may be raised into libcurl
            self.failure, self.detail = "disk", f"the body could not be put aside: {error.strerror}"

    def _keep(self, chunk: bytes) -> None:
        if self.spool is None and self.size > SPOOL_BYTES:
            self.spool = tempfile.NamedTemporaryFile(dir=self.folder, delete=False)  # noqa: SIM115  read after the transfer
            self.spool.writelines(self.chunks)
            self.chunks = []
        if self.spool is None:
            self.chunks.append(chunk)
        else:
            self.spool.write(chunk)

    def _find_limit(self) -> int:
        assert self.target is not None
        if self.target.max_bytes:
            return self.target.max_bytes
        head = b"".join(self.head).lower()
        start = head.rfind(b"\nhttp/") + 1  # behind the heads of interim answers
        return self.limits.html_bytes if _HTML.search(head, start) else self.limits.body_bytes

    def answer(self, failure: str, detail: str, now: float) -> Answer:
        """The finished transfer as an answer."""
        assert self.target is not None
        head = b"".join(self.head)
        if len(self.head) > FIELDS_MAX:
            failure, detail = "header-too-large", f"{len(self.head)} lines in the head"
        if head.find(b"\r\n\r\n") != len(head) - 4:
            head = _last_head(head)
        if self.rule is not None and self.rule.login_url:
            head = _SET_COOKIE.sub(rb"\1***", head)
        parsed = parse_head(head)
        spool = ""
        if self.spool is not None:
            self.spool.close()
            spool = self.spool.name
        return Answer(
            target=self.target,
            status=parsed.status,
            failure=self.failure or failure,
            detail=self.detail or detail,
            head=head,
            headers=parsed.fields,
            body=b"".join(self.chunks) if len(self.chunks) != 1 else self.chunks[0],
            spool=spool,
            size=self.size,
            request=self.request,
            address=self.curl.getinfo(pycurl.PRIMARY_IP) or "" if head else "",
            began=self.began,
            took_s=now - self.began,
        )


class Client:
    """Runs at most `mission.fetch.connections` transfers at once. Not thread-safe; make it after forking."""

    def __init__(
        self, mission: Mission, address_guard: AddressGuard, *, spool_folder: str, cookies: Sequence[str] = ()
    ) -> None:
        """`cookies`: lines of a cookies.txt to begin with."""
        self._mission = mission
        self._address_guard = address_guard
        self._folder = spool_folder
        self._free: list[_Transfer] = []
        self._busy: dict[pycurl.Curl, _Transfer] = {}
        self._deadline: float | None = None
        self._epoll = select.epoll()
        self._idle: set[int] = set()  # connections without work, still registered or closed
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, _kept_connections(mission.fetch.connections))
        accept = f"text/markdown,{ACCEPT}" if mission.fetch.markdown else ACCEPT
        self._headers = (f"Accept: {accept}", f"Accept-Encoding: {ENCODINGS}")
        keeps_cookies = mission.fetch.cookies or cookies or any(rule.login_url for rule in mission.hosts.values())
        self._share = share_cookies() if keeps_cookies else None
        self._cookies = cookies
        self._continuations = Continuations(mission.limits.body_bytes)
        self._agent = agent_header(mission)
        self._signer = Signer(mission.fetch.identity) if mission.fetch.identity else None
        self._sender = from_header(mission)
        self._family = pycurl.IPRESOLVE_WHATEVER if has_ipv6() else pycurl.IPRESOLVE_V4
        self._families = read_hosts_file()
        self._host_rules = HostRules(mission)
        self._trusted: dict[str, HostRule] = {}  # by origin, where a rule has secrets
        self._sweep_at = 0.0  # when a transfer is to drop old addresses from the DNS cache
        self._unresolved: set[str] = set()  # hosts that libcurl's DNS cache holds as without an address
        self._watched: set[int] = set()  # files of the caller: they only end the waiting

    @property
    def spool_folder(self) -> str:
        """Where large bodies are put aside."""
        return self._folder

    @property
    def in_flight(self) -> int:
        return len(self._busy)

    @property
    def room(self) -> int:
        return self._mission.fetch.connections - len(self._busy)

    def rule_at(self, target: Target) -> HostRule | None:
        """The host rule for one address: its secrets are for the schemes and ports of the host's seeds, and for https.

        Without a seed they are for the default ports. No link and no redirect gives them to somebody who can put up a
        server on another port of the host, or listen to what is not encrypted.
        """
        rule = self._host_rules.find(target.host)
        if rule is None or not has_secrets(rule):
            return rule
        origin = urls.origin_of(target.url)
        if origin not in self._trusted:
            if len(self._trusted) > 100_000:
                self._trusted.clear()
            own = {urls.origin_of(seed) for seed in self._mission.seeds if urls.host_of(seed) == target.host}
            usual = origin.startswith("https://") and origin.endswith(":443")
            trusted = origin in own or usual or (not own and origin.startswith("http://") and origin.endswith(":80"))
            self._trusted[origin] = rule if trusted else make_public(rule)
        return self._trusted[origin]

    def start(self, target: Target) -> Answer | None:
        """Begin a transfer; an answer at once only if the request may not be made at all."""
        refusal = self._address_guard.refuse_url(target.url, target.host)
        if refusal:
            return Answer(target=target, failure="address", detail=refusal, began=clock.now())
        if target.url.partition(":")[0] not in SCHEMES:
            return Answer(target=target, failure="scheme", detail="only http and https are fetched", began=clock.now())
        transfer = self._free.pop() if self._free else self._new_transfer()
        transfer.target = target
        transfer.began = clock.now()
        try:
            self._prepare(transfer, target)
        except (pycurl.error, ValueError, KeyError, OSError) as error:
            transfer.clear()
            self._free.append(transfer)
            return Answer(target=target, failure="bad-url", detail=str(error), began=clock.now())
        self._busy[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)
        return None

    def ask_now(self, target: Target, fields: Mapping[str, str] | None) -> Answer:
        """Ask for an address and wait for its answer, or send it the fields of a form: what a log-in needs."""
        refusal = self._address_guard.refuse_url(target.url, target.host)
        if refusal:
            return Answer(target=target, failure="address", detail=refusal, began=clock.now())
        transfer = self._new_transfer()
        transfer.target, transfer.began = target, clock.now()
        failure = ""
        try:
            self._prepare(transfer, target)
            if fields is not None:
                transfer.curl.setopt(pycurl.POSTFIELDS, urlencode(fields))
            transfer.curl.perform()
        except pycurl.error as error:
            failure = _FAILURES.get(error.args[0], "protocol")
        except (UnicodeError, ValueError):
            failure = "bad-url"
        answer = transfer.answer(failure, "", clock.now())
        transfer.clear()
        transfer.curl.close()
        return answer

    def poll(self, timeout_s: float) -> list[Answer]:
        """Wait up to `timeout_s` for the network and return every transfer that ended."""
        if self._deadline is not None:
            timeout_s = min(timeout_s, max(0.0, self._deadline - time.monotonic()))
        for fd, event in self._epoll.poll(timeout_s, EVENTS):
            if fd in self._watched:
                continue
            if fd in self._idle:
                self._drop(fd)
                continue
            mask = 0
            if event & ~select.EPOLLOUT:  # errors and hang-ups are read events to libcurl
                mask |= pycurl.CSELECT_IN
            if event & select.EPOLLOUT:
                mask |= pycurl.CSELECT_OUT
            self._multi.socket_action(fd, mask)
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._deadline = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        return self._collect() if self._busy else []

    def watch(self, fd: int, *, write: bool = False, gone: bool = False) -> None:
        """Have `poll` return when this file can be read, or also written; no longer once it is `gone`."""
        mask = select.EPOLLIN | (select.EPOLLOUT if write else 0)
        if gone:
            self._watched.discard(fd)
            self._epoll.unregister(fd)
        elif fd in self._watched:
            self._epoll.modify(fd, mask)
        else:
            self._watched.add(fd)
            self._epoll.register(fd, mask)

    def abort(self) -> None:
        """Drop every transfer that is under way."""
        for curl, transfer in list(self._busy.items()):
            self._multi.remove_handle(curl)
            if transfer.spool is not None:
                transfer.spool.close()
                with contextlib.suppress(OSError):
                    os.unlink(transfer.spool.name)
        self._busy.clear()

    def close(self) -> None:
        self.abort()
        self._continuations.close()
        for transfer in self._free:
            transfer.curl.close()
        self._multi.close()
        self._epoll.close()

    def _new_transfer(self) -> _Transfer:
        transfer = _Transfer(self._mission, self._address_guard, self._folder)
        transfer.curl.setopt(pycurl.USERAGENT, self._agent)
        if self._share is not None:
            transfer.curl.setopt(pycurl.SHARE, self._share)
            transfer.curl.setopt(pycurl.COOKIEFILE, "")
            for line in self._cookies:
                transfer.curl.setopt(pycurl.COOKIELIST, line)
            self._cookies = ()
        return transfer

    def _prepare(self, transfer: _Transfer, target: Target) -> None:
        curl = transfer.curl
        curl.setopt(pycurl.URL, target.url)
        retry = target.retries > 0
        if retry != transfer.is_retry:
            # A retry takes a new connection: on an old one libcurl itself tries twice. And it does without HTTP/2,
            # which some servers offer and cannot speak.
            curl.setopt(pycurl.FRESH_CONNECT, int(retry))
            curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1 if retry else pycurl.CURL_HTTP_VERSION_2TLS)
            transfer.is_retry = retry
        family = pycurl.IPRESOLVE_V6 if ":" in target.host else self._families.get(target.host, self._family)
        if family != transfer.family:
            curl.setopt(pycurl.IPRESOLVE, family)
            transfer.family = family
        dns_cache_s = DNS_KEEP if transfer.began < self._sweep_at else DNS_CACHE_S
        if dns_cache_s != transfer.dns_cache_s:
            curl.setopt(pycurl.DNS_CACHE_TIMEOUT, dns_cache_s)
            transfer.dns_cache_s = dns_cache_s
            self._sweep_at = transfer.began + DNS_SWEEP_S
        unresolved = target.host in self._unresolved
        if unresolved or transfer.drops_dns_entry:
            curl.setopt(pycurl.RESOLVE, [f"-{_host_and_port(target.url)}"] if unresolved else [])
            transfer.drops_dns_entry = unresolved
            self._unresolved.discard(target.host)
        usual = (*target.headers, self._headers[1]) if target.headers else self._headers
        sent = headers = usual + condition_headers(target)
        if retry:
            sent = headers = headers + self._continuations.headers(target)
        rule = self.rule_at(target)
        if rule is not transfer.rule:
            apply_rule(curl, rule, self._mission.fetch)
            transfer.rule = rule
        if rule is not None and rule.headers:
            headers += tuple(f"{name}: {value}" for name, value in rule.headers.items())
        if self._signer is not None:
            headers += (*self._sender, *self._signer.headers(target.url, transfer.began))
        if headers != transfer.headers:
            curl.setopt(pycurl.HTTPHEADER, list(headers))
            transfer.headers = headers
        transfer.request = self._request_text(target, sent)

    def _request_text(self, target: Target, headers: tuple[str, ...]) -> bytes:
        """The request for the archive; the user's own headers and credentials stay out of it."""
        _, _, rest = target.url.partition("://")
        authority, slash, path = rest.partition("/")
        lines = (f"GET {slash}{path} HTTP/1.1", f"Host: {authority}", f"User-Agent: {self._agent}", *headers, "", "")
        return "\r\n".join(lines).encode("utf-8", "replace")

    def _collect(self) -> list[Answer]:
        answers: list[Answer] = []
        now = clock.now()
        while True:
            queued, finished, failed = self._multi.info_read(64)
            for curl in finished:
                answers.append(self._finish(curl, "", "", now))
            for curl, code, message in failed:
                failure = _FAILURES.get(code, "protocol")
                if code == pycurl.E_RECV_ERROR and "chunk" in message:
                    failure = "protocol"  # libcurl's code for a broken line is also its code for broken framing
                elif failure == "handshake" and any(map(message.__contains__, _NO_TLS)):
                    failure = "no-tls"
                elif "CONNECT tunnel" in message:
                    failure = "proxy"
                answers.append(self._finish(curl, failure, f"{message} (curl {code})", now))
            if not queued:
                return answers

    def _finish(self, curl: pycurl.Curl, failure: str, detail: str, now: float) -> Answer:
        transfer = self._busy.pop(curl)
        if failure == "timeout" and detail.startswith(_UNCONNECTED):
            failure = "connect-timeout"
        if failure in ("connect", "connect-timeout") and transfer.is_proxied():
            failure = "proxy"
        elif failure == "dns" and transfer.target is not None:  # may pass: the next request resolves the name again
            if len(self._unresolved) > 100_000:
                self._unresolved.clear()
            self._unresolved.add(transfer.target.host)
        answer = transfer.answer(failure, detail, now)
        if answer.status == 407 and transfer.is_proxied():
            answer.failure, answer.detail = "proxy", "the proxy asks for a user and a password (407)"
        self._multi.remove_handle(curl)
        transfer.clear()
        self._free.append(transfer)
        return self._continuations.finish(answer)

    def _on_socket(self, what: int, fd: int, _multi: Any, _data: Any) -> None:
        """Wait for the events that libcurl wants; an idle connection stays registered, as most get work again soon."""
        if what == pycurl.POLL_REMOVE:
            self._idle.add(fd)
        elif fd in self._idle:
            self._idle.discard(fd)
            try:
                self._epoll.modify(fd, _POLL_MASK[what])
            except FileNotFoundError:  # closed, and opened again under the same number
                self._epoll.register(fd, _POLL_MASK[what])
        else:
            try:
                self._epoll.register(fd, _POLL_MASK[what])
            except FileExistsError:
                self._epoll.modify(fd, _POLL_MASK[what])

    def _drop(self, fd: int) -> None:
        """Unregister an idle connection that its peer ended, or on which something came that nobody asked for."""
        self._idle.discard(fd)
        with contextlib.suppress(OSError):  # libcurl may have closed it already
            self._epoll.unregister(fd)
            _end_if_unasked(fd)

    def _on_timer(self, timeout_ms: int) -> None:
        self._deadline = None if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000


def agent_header(mission: Mission) -> str:
    """The User-Agent header: name, version and contact."""
    agent = mission.agent
    if agent.header:
        return agent.header
    contact = f" (+{agent.contact})" if agent.contact else ""
    return f"{agent.name}/{__version__}{contact}"


def from_header(mission: Mission) -> tuple[str, ...]:
    """The From header, where the contact is a mail address."""
    contact = mission.agent.contact.removeprefix("mailto:")
    return (f"From: {contact}",) if "@" in contact and "://" not in contact else ()


def _host_and_port(url: str) -> str:
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    return authority if ":" in authority else f"{authority}:{443 if scheme == 'https' else 80}"


def _kept_connections(at_once: int) -> int:
    """How many connections stay open for the next request: a crawl comes back to its hosts, and opening one costs."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(2 * at_once, min(KEPT_MAX, files // 3))


def _last_head(head: bytes) -> bytes:
    """The head of the answer itself: interim ones (100 Continue), a proxy's and trailers are left out."""
    blocks = [block for block in head.split(b"\r\n\r\n") if block.startswith(b"HTTP/")]
    return blocks[-1] + b"\r\n\r\n" if blocks else head


def _end_if_unasked(fd: int) -> None:
    """End a connection on which an answer came without a request: libcurl would take it for that to the next one.

    libcurl checks a connection only when its last use was more than a second ago. What TLS carries may be in order.
    """
    with socket.socket(fileno=os.dup(fd)) as peer:
        first = peer.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        if not first or first[0] in _TLS_RECORDS:
            return
        peer.shutdown(socket.SHUT_RDWR)
        for _ in range(UNASKED_READS):
            if not peer.recv(1 << 16, socket.MSG_DONTWAIT):
                return
