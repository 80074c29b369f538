"""Addresses of collections in a database: postgresql://[USER@]HOST[:PORT]/DATABASE, and a name there."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import xxhash
from msgspec import Struct

from lycosa.errors import UsageError

FORM = "postgresql://[USER@]HOST[:PORT]/DATABASE"
_NAME = r"[a-z_][a-z0-9_]{0,40}"
_PASSWORD = r"://[^/@:]*:[^/@]+@|[?&]password="


class SharedCollection(Struct, frozen=True):
    """A collection in a database."""

    address: str
    name: str


def is_address(text: str) -> bool:
    """Whether a text is meant to be the address of a database."""
    return text.startswith(("postgresql:", "postgres:"))


def check_address(address: str) -> str:
    """The address of a database, which holds no password: those who list processes or read files would see it."""
    if not address.startswith(("postgresql://", "postgres://")):
        raise UsageError(f"{address[:80]} is no address of a database; allowed: {FORM}.")
    if re.search(_PASSWORD, address):
        raise UsageError(
            "The address of the database has a password in it, which others could read; allowed: one without it."
            " Put the password into the environment as PGPASSWORD, or into the file ~/.pgpass."
        )
    if "#" in address:
        raise UsageError(
            f"{address[:80]} names a collection, and that of a crawl is named as its folder (--collection DIR);"
            f" allowed: {FORM}."
        )
    return address


def parse_shared(text: str) -> SharedCollection:
    """The collection that an address with `#NAME` behind it means."""
    address, _, name = text.partition("#")
    if not name:
        raise UsageError(f"{text[:80]} names no collection; allowed: postgresql://HOST/DATABASE#NAME.")
    return SharedCollection(check_address(address), check_name(name))


def check_name(name: str) -> str:
    """The name of a collection in a database, if it can be one."""
    if not re.fullmatch(_NAME, name):
        raise UsageError(
            f'A collection in a database cannot be named "{name[:60]}"; allowed: at most 41 of a-z, 0-9 and _.'
        )
    return name


def name_of(folder: Path) -> str:
    """What a collection is called in a database: as its folder, in the letters that names have there."""
    name = re.sub(r"[^a-z0-9_]", "_", folder.absolute().name.lower())[:40]
    return name if name[:1].isalpha() else f"c_{name}"[:40]


def machine_of(folder: Path) -> str:
    """The name of this machine among those that share a collection; a folder is one machine's."""
    place = xxhash.xxh3_64_hexdigest(os.fsencode(folder.absolute()))[:6]
    return f"{socket.gethostname()}-{place}"
