"""Choice of the frontier: a file of the collection's folder, or a database that several machines share."""

from __future__ import annotations

import os
import re
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from lycosa.config.settings import Mission
from lycosa.config.toml_writer import to_toml
from lycosa.errors import UsageError
from lycosa.frontier.contract import Frontier
from lycosa.frontier.sqlite.frontier import SqliteFrontier

if TYPE_CHECKING:
    from lycosa.frontier.postgres.frontier import PostgresFrontier

_PASSWORD = r"://[^/@:]*:[^/@]+@|[?&]password="


def open_frontier(mission: Mission, folder: Path) -> Frontier:
    """Open the frontier of a collection that exists."""
    return open_shared(mission, folder) if mission.keep.database else SqliteFrontier(folder / "crawl.db")


def make_frontier(mission: Mission, folder: Path) -> tuple[Frontier, bool]:
    """Open the frontier of a collection, made if need be; and whether it was."""
    if mission.keep.database:
        from lycosa.frontier.postgres.frontier import PostgresFrontier

        address, name = check_address(mission.keep.database), name_of(folder)
        created = PostgresFrontier.create(address, name, mission_toml=to_toml(mission))
        return open_shared(mission, folder), created
    path = folder / "crawl.db"
    created = not path.exists()
    if created:
        SqliteFrontier.create(path, mission_toml=to_toml(mission), now=time.time())
    return SqliteFrontier(path), created


def open_shared(mission: Mission, folder: Path) -> PostgresFrontier:
    """Open the frontier of a collection in a database."""
    try:
        from lycosa.frontier.postgres.frontier import PostgresFrontier
    except ModuleNotFoundError as error:
        raise UsageError(
            f"A collection in a database needs the module {error.name}: pip install 'lycosa[cluster]'."
        ) from None
    return PostgresFrontier(check_address(mission.keep.database), name_of(folder), machine=machine_of(folder))


def check_address(address: str) -> str:
    """The address of a database, which holds no password: those who list processes or read files would see it."""
    if not address.startswith(("postgresql://", "postgres://")):
        raise UsageError(f"keep.database is {address[:80]}; allowed: postgresql://[USER@]HOST[:PORT]/DATABASE.")
    if re.search(_PASSWORD, address):
        raise UsageError(
            "keep.database has a password in it, which others could read; allowed: an address without one."
            " Put the password into the environment as PGPASSWORD, or into the file ~/.pgpass."
        )
    return address


def name_of(folder: Path) -> str:
    """What a collection is called in a database: as its folder, in the letters that names have there."""
    name = re.sub(r"[^a-z0-9_]", "_", folder.absolute().name.lower())[:40]
    return name if name[:1].isalpha() else f"c_{name}"[:40]


def machine_of(folder: Path) -> str:
    """The name of this machine among those that share a collection; a folder is one machine's."""
    place = xxhash.xxh3_64_hexdigest(os.fsencode(folder.absolute()))[:6]
    return f"{socket.gethostname()}-{place}"
