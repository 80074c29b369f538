"""Passwords: kept as scrypt hashes, asked for once per session, and slowed down where they are wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from lycosa.errors import UsageError

VARIABLE = "LYCOSA_SERVE_PASSWORD"
SHORTEST = 8
_LONGEST = 1024
_SCHEME = "scrypt"
#: 32 MiB and about 80 ms a try.
_COST, _BLOCK, _PARALLEL = 1 << 15, 8, 1
_MOST_COST, _MOST_BLOCK = 1 << 20, 16

FREE_TRIES = 3  # wrong passwords of one session that cost nothing yet
ADDRESS_TRIES = 50  # and of one address, whatever sessions it begins: others may come from there
LONGEST_WAIT_S = 300.0
_MOST_ADDRESSES = 10_000

SESSION_S = 12 * 3600.0
#: What a password is compared with where there is no other: it takes as long, and is never right.
_NOBODYS = "$".join(
    ("scrypt", str(1 << 15), "8", "1", base64.b64encode(bytes(16)).decode(), base64.b64encode(bytes(32)).decode())
)
_MOST_SESSIONS = 1_000


def hash_password(password: str) -> str:
    """A password as it is stored; UsageError where it is too short to be one."""
    if not SHORTEST <= len(password) <= _LONGEST:
        raise UsageError(f"The password has {len(password)} characters; allowed: {SHORTEST} to {_LONGEST:,}.")
    salt = secrets.token_bytes(16)
    digest = _derive(password, salt, _COST, _BLOCK, _PARALLEL)
    parts = (str(_COST), str(_BLOCK), str(_PARALLEL), _encode(salt), _encode(digest))
    return "$".join((_SCHEME, *parts))


def is_right(password: str, stored: str) -> bool:
    """Whether a password is the one that was stored."""
    if len(password) > _LONGEST:
        return False
    _, cost, block, parallel, salt, digest = stored.split("$")
    found = _derive(password, base64.b64decode(salt), int(cost), int(block), int(parallel))
    return hmac.compare_digest(found, base64.b64decode(digest))


def read_password(file: str | None) -> str:
    """The stored form of the password in a file, or in the environment; empty where there is none.

    The file holds the password in its first line, or what `lycosa serve --hash-password` printed.
    """
    text = os.environ.pop(VARIABLE, "")  # so that no process of ours inherits it
    if file is None:
        where = f"The variable {VARIABLE}"
        if not text:
            return ""
    else:
        where = f"The password file {file}"
        try:
            with open(file, encoding="utf-8") as opened:
                text = opened.read(4096)
        except (OSError, UnicodeDecodeError) as problem:
            raise UsageError(f"{where} cannot be read: {getattr(problem, 'strerror', None) or problem}.") from None
        _refuse_open_file(Path(file))
    first = text.partition("\n")[0].strip()
    if not first:
        raise UsageError(f"{where} is empty; allowed: a password of at least {SHORTEST} characters.")
    if first.startswith(f"{_SCHEME}$"):
        return check_stored(first, where)
    return hash_password(first)


def _refuse_open_file(path: Path) -> None:
    if path.stat().st_mode & 0o007 and path.is_file():
        raise UsageError(
            f"The password file {path} can be read by everybody on this machine: make it yours alone (chmod 600)."
        )


def check_stored(text: str, where: str) -> str:
    """A hash as it was given; UsageError where it is none of ours."""
    try:
        _, cost, block, parallel, salt, digest = text.split("$")
        lengths = [len(base64.b64decode(part, validate=True)) for part in (salt, digest)]
        sizes = int(cost), int(block), int(parallel), *lengths
    except ValueError:
        raise UsageError(f"{where} holds a damaged hash: make it anew with lycosa serve --hash-password.") from None
    if not (
        1 < sizes[0] <= _MOST_COST
        and not sizes[0] & (sizes[0] - 1)
        and 1 <= sizes[1] <= _MOST_BLOCK
        and 1 <= sizes[2] <= 4
        and sizes[3] >= 8
        and sizes[4] == 32
    ):
        raise UsageError(f"{where} holds a hash of another kind: make it anew with lycosa serve --hash-password.")
    return text


def _derive(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    memory = 256 * cost * block
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"), salt=salt, n=cost, r=block, p=parallel, maxmem=memory, dklen=32
    )


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


class PasswordGate:
    """The sessions of those who gave the password, and the patience with those who did not."""

    def __init__(
        self,
        stored: str,
        *,
        find_person: Callable[[str], str | None] = lambda name: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`find_person` gives the stored password of an account by its name; None: there is no such account."""
        self._stored = stored
        self._find_person = find_person
        self._now = now
        self._secret = secrets.token_bytes(32)
        #: By the digest of their cookie: when they end, whose they are ("": of who has the one password), and by which
        #: stored password they began: with another one they end.
        self._sessions: OrderedDict[str, tuple[float, str, str]] = OrderedDict()
        #: By address, alone or with a session: how many, when is the next.
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._known: dict[str, str] = {}  # digests of right passwords, so that programs pay for scrypt once
        self._lock = Lock()
        self._one_at_a_time = Lock()

    def _keys(self, address: str, session: str) -> dict[str, int]:
        """What waits after wrong passwords, and how many are free there."""
        network = _network(address)
        return {f"{network} {self._digest(session)}": FREE_TRIES, network: ADDRESS_TRIES}

    def wait_s(self, address: str, session: str = "") -> float:
        """Seconds until a session of an address may try again."""
        with self._lock:
            until = max(self._failures.get(key, (0, 0.0))[1] for key in self._keys(address, session))
            return max(0.0, until - self._now())

    def try_password(self, address: str, password: str, session: str = "", *, name: str = "") -> bool:
        """Whether the password is right; a wrong one makes the session wait, each one twice as long.

        With the name of an account it is that of the account, else the one password.
        """
        keys = self._keys(address, session)
        person = self._find_person(name) if name else None
        stored = self._stored if person is None else person
        digest = self._digest(f"{stored} {password}")
        if hmac.compare_digest(digest, self._known.get(name if person is not None else "", "")):
            right = True
        else:
            with self._one_at_a_time:  # many tries at once must not fill the memory
                if self.wait_s(address, session) > 0:
                    return False
                right = is_right(password, stored or _NOBODYS) and bool(stored)
        with self._lock:
            if right:
                if len(self._known) > _MOST_SESSIONS:
                    self._known.clear()
                self._known[name if person is not None else ""] = digest
                for key in keys:
                    self._failures.pop(key, None)
                return True
            for key, free in keys.items():
                count = self._failures.pop(key, (0, 0.0))[0] + 1
                wait = 0.0 if count < free else min(LONGEST_WAIT_S, 2.0 ** min(count - free, 20))
                self._failures[key] = count, self._now() + wait
            while len(self._failures) > _MOST_ADDRESSES:
                self._failures.popitem(last=False)
        return False

    def open_session(self, name: str = "") -> str:
        """The cookie of a new session, of an account or of who has the one password."""
        cookie = secrets.token_urlsafe(32)
        stored = self._find_person(name) if name else self._stored
        with self._lock:
            self._sessions[self._digest(cookie)] = self._now() + SESSION_S, name, stored or ""
            while len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return cookie

    def has_session(self, cookie: str) -> bool:
        """Whether a cookie is that of a session that still lasts."""
        with self._lock:
            end, name, stored = self._sessions.get(self._digest(cookie), (0.0, "", ""))
        return bool(cookie) and end > self._now() and (not name or self._find_person(name) == stored)

    def user_of(self, cookie: str) -> str:
        """Whose session it is; empty: of who has the one password."""
        with self._lock:
            return self._sessions.get(self._digest(cookie), (0.0, "", ""))[1]

    def is_persons(self, name: str) -> bool:
        """Whether there is an account of a name."""
        return bool(name) and self._find_person(name) is not None

    def close_session(self, cookie: str) -> None:
        with self._lock:
            self._sessions.pop(self._digest(cookie), None)

    def _digest(self, text: str) -> str:
        return hmac.new(self._secret, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def _network(address: str) -> str:
    """The address, or the network of one household where it is of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)
