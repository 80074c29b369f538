"""People: who may come in beside the one password, in which role; their tokens for programs; who did what.

Accounts stand in `.lycosa/people.json` of the served folder, passwords as scrypt hashes, tokens as SHA-256: they are
long and made by chance. The log, `.lycosa/log.jsonl`, has one line for each request that changed something.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa.disk import make_fault, replace_text
from lycosa.errors import CollectionError, UsageError
from lycosa.serve.collection_folders import is_plain_name
from lycosa.serve.passwords import check_stored, hash_password
from lycosa.serve.state_folder import STATE_FOLDER, make_state_folder
from lycosa.serve.translations import mark

#: What each may do, from the least: look; start, stop and change; delete collections, and say who may do what.
ROLES = {"reader": mark("reader"), "editor": mark("editor"), "owner": mark("owner")}
_ORDER = tuple(ROLES)
_MOST_LOG_BYTES = 10 << 20
_MOST_TOKENS = 50


class AccountsDamaged(CollectionError):
    """Nobody can tell who may come in."""


class ProgramToken(Struct, frozen=True):
    """What a program shows in place of a password."""

    label: str
    digest: str
    role: str
    made: float


class Account(Struct, frozen=True):
    """An account."""

    name: str
    role: str
    password: str  # as `passwords.hash_password` made it; empty: the proxy alone vouches for them
    tokens: tuple[ProgramToken, ...] = ()


class LoggedChange(Struct, frozen=True):
    """A request that changed something, or was refused to."""

    at: float
    user: str
    role: str
    client: str
    path: str
    status: int


def may(role: str, needed: str) -> bool:
    """Whether a role is enough."""
    return not needed or (role in ROLES and _ORDER.index(role) >= _ORDER.index(needed))


class People:
    """The accounts of a served folder; a change by another server counts at once."""

    def __init__(self, root: Path) -> None:
        self._place = root / STATE_FOLDER
        self._file = self._place / "people.json"
        self._stamp: object = None
        self._found: dict[str, Account] = {}
        self._lock = Lock()

    def all(self) -> dict[str, Account]:
        """Everybody by name."""
        try:
            status = self._file.stat()
            stamp = status.st_mtime_ns, status.st_ino
            if stamp != self._stamp:
                listed = msgspec.json.decode(self._file.read_bytes(), type=list[Account])
                self._found, self._stamp = {_check(person).name: person for person in listed}, stamp
        except FileNotFoundError:
            if self._found:  # a file that is lost opens no server that had accounts
                raise _cannot_read("it is gone") from None
        except OSError as problem:
            raise _cannot_read(problem.strerror or "no reason was given") from None
        except (msgspec.MsgspecError, UsageError) as problem:
            raise _cannot_read(str(problem)) from None
        return self._found

    def keep(self, name: str, *, role: str, password: str = "", by_proxy: bool = False) -> None:
        """Make an account, or give it another role or password."""
        known = self.all()
        if not is_plain_name(name):
            raise UsageError(f"The name is {name[:100]!r}; allowed: letters, digits, points, hyphens and underscores.")
        if role not in ROLES:
            raise UsageError(f"The role is {role[:100]!r}; allowed: {', '.join(ROLES)}.")
        if not known and role != "owner":
            raise UsageError("The first account is that of an owner: else nobody could make others.")
        before = known.get(name)
        if not password and before is None and not by_proxy:
            raise UsageError("A new account needs a password.")
        stored = hash_password(password) if password else before.password if before else ""
        tokens = before.tokens if before else ()
        self._change({**known, name: Account(name, role, stored, tokens)})

    def remove(self, name: str) -> None:
        """End an account, its sessions and its tokens."""
        self._change({known: person for known, person in self.all().items() if known != name})

    def make_token(self, name: str, *, label: str, role: str) -> str:
        """A new token, which is shown once and never kept."""
        person = self._find(name)
        if not may(person.role, role) or role not in ROLES:
            raise UsageError(f"The role is {role[:100]!r}; allowed: one that your own includes ({person.role}).")
        if not label or len(label) > 100 or len(person.tokens) >= _MOST_TOKENS:
            raise UsageError(f"A token has a label of 1 to 100 characters, and a person up to {_MOST_TOKENS} tokens.")
        text = f"lycosa_{secrets.token_urlsafe(32)}"
        made = ProgramToken(label, _digest(text), role, time.time())
        others = tuple(token for token in person.tokens if token.label != label)
        self._change({**self.all(), name: replace(person, tokens=(*others, made))})
        return text

    def drop_token(self, name: str, label: str) -> None:
        """Let a token count no more."""
        person = self._find(name)
        kept = tuple(token for token in person.tokens if token.label != label)
        self._change({**self.all(), name: replace(person, tokens=kept)})

    def find_token(self, text: str) -> tuple[str, str] | None:
        """Whose token a text is, and its role; it is never more than that of the person."""
        digest = _digest(text)
        for person in self.all().values():
            for token in person.tokens:
                if hmac.compare_digest(token.digest, digest):
                    return person.name, token.role if may(person.role, token.role) else person.role
        return None

    def log(self, change: LoggedChange) -> None:
        """Write down who did what; a disk that is full stops nobody."""
        file = self._place / "log.jsonl"
        with suppress(OSError), self._lock:
            make_state_folder(self._place.parent)
            if file.exists() and file.stat().st_size > _MOST_LOG_BYTES:
                file.replace(file.with_suffix(".1.jsonl"))
            with open(file, "ab", opener=_open_private) as opened:
                opened.write(msgspec.json.encode(change) + b"\n")

    def read_log(self, most: int) -> list[LoggedChange]:
        """The last changes, the newest first."""
        found: list[LoggedChange] = []
        with suppress(OSError), open(self._place / "log.jsonl", "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most * 500))
            for line in file.read().splitlines():
                with suppress(msgspec.MsgspecError):
                    found.append(msgspec.json.decode(line, type=LoggedChange))
        return found[::-1][:most]

    def _find(self, name: str) -> Account:
        if name not in (known := self.all()):
            raise UsageError("Tokens belong to accounts: who has the one password has none.")
        return known[name]

    def _change(self, people: dict[str, Account]) -> None:
        if not any(person.role == "owner" for person in people.values()):
            raise UsageError(
                "One owner must be left: without one nobody could change anything here, and without any account"
                " everybody could. To do without accounts, stop the server and remove .lycosa/people.json."
            )
        try:
            make_state_folder(self._place.parent)
        except OSError as problem:
            raise make_fault(problem, str(self._place)) from None
        replace_text(self._file, msgspec.json.encode(list(people.values())).decode(), mode=0o600)


def _check(person: Account) -> Account:
    """An account as the server writes them; UsageError where somebody damaged it."""
    if person.role not in ROLES or any(token.role not in ROLES for token in person.tokens):
        raise UsageError(f"a role of {person.name[:100]!r} is none; allowed: {', '.join(ROLES)}")
    if person.password:
        check_stored(person.password, f"the account {person.name[:100]!r}")
    return person


def _cannot_read(reason: str) -> AccountsDamaged:
    return AccountsDamaged(
        f"The accounts of this server cannot be read, so nobody is let in: {reason.rstrip('.')}."
        " Mend the file .lycosa/people.json of the served folder, or put back a copy of it;"
        " to do without accounts, stop the server, remove the file, and start it again."
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)
