"""Server state: its settings (what it shows, where it listens, who may come in), and what all requests share and lasts
as long as the server.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.responses import Response

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.web import PointMaker
from lycosa.serve.collection_folders import CollectionFolders
from lycosa.serve.collection_summaries import CollectionSummaries
from lycosa.serve.indexing import Indexing
from lycosa.serve.passwords import PasswordGate
from lycosa.serve.people import People
from lycosa.serve.security import TokenMaker
from lycosa.serve.watched_crawls import WatchedCrawls

PORT = 8420
#: What may stand in a policy for browsers: nothing that could end its part.
_HOST = re.compile(r"[a-z0-9.-]+")
HOST = "127.0.0.1"


class ServeSettings(Struct, frozen=True):
    """What the server shows, and to whom."""

    folder: Path
    host: str = HOST
    port: int = PORT
    password: str = ""  # as `passwords.hash_password` made it; empty: nobody is asked for one
    names: tuple[str, ...] = ()  # by which it may be called, beside addresses and localhost
    crawl_options: tuple[str, ...] = ()  # added to the command line of each crawl that the page starts
    tiles: str = ""  # address of map tiles, as "https://tiles.example/{z}/{x}/{y}.png"; empty: none are asked for
    user_header: str = ""  # in which a proxy says who asks; empty: none is believed
    proxies: tuple[str, ...] = ()  # the addresses from which it is believed
    secure: bool = False  # whether browsers reach it over TLS
    agents: bool = False  # whether agents may ask at /mcp, by the Model Context Protocol


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_tiles(address: str) -> str:
    """An address of map tiles as browsers may ask for them; UsageError where it is none."""
    if not address:
        return ""
    given = f"The address of map tiles is {address[:200]!r}"
    wanted = "allowed is one like https://tiles.example.org/{z}/{x}/{y}.png"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(f"{given}, which is no address; {wanted}.") from None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host) or parts.username is not None:
        raise UsageError(f"{given}; {wanted}, with http or https, a host, and no password.")
    if lacking := [part for part in ("{z}", "{x}", "{y}") if part not in address]:
        raise UsageError(f"{given}, without {' and '.join(lacking)}; {wanted}.")
    origin = f"{parts.scheme}://{host}{f':{port}' if port else ''}"
    rest = address.partition("://")[2].partition("/")[2]
    return f"{origin}/{rest}"


@dataclass
class ServerState:
    """The listing and the summaries of collections, sessions, tokens, watched crawls and indexing."""

    settings: ServeSettings
    folders: CollectionFolders
    tokens: TokenMaker
    replay: Callable[[Collection, str, PointMaker], Response]  # an archived page in which texts can be pointed at
    navigation: Sequence[tuple[str, str]]  # the pages of a collection, below it, and their names
    summaries: CollectionSummaries = field(default_factory=CollectionSummaries)
    watch: WatchedCrawls = field(default_factory=WatchedCrawls)
    indexing: Indexing = field(default_factory=Indexing)

    def __post_init__(self) -> None:
        self.people = People(self.settings.folder)
        self._gate = PasswordGate(self.settings.password, find_person=self._find_password)

    @property
    def gate(self) -> PasswordGate | None:
        """What asks for passwords; None: nobody is asked, as there is no password and no account."""
        is_closed = self.settings.password or self.settings.user_header or self.people.all()
        return self._gate if is_closed else None

    @property
    def user_header(self) -> str:
        return self.settings.user_header

    @property
    def proxies(self) -> tuple[str, ...]:
        return self.settings.proxies

    def _find_password(self, name: str) -> str | None:
        person = self.people.all().get(name)
        return None if person is None else person.password
