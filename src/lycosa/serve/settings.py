"""Settings of the server: what it shows, where it listens, and who may come in."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from msgspec import Struct

PORT = 8420
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
    secure: bool = False  # whether browsers reach it over TLS


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
