"""Choice of the frontier: a file of the collection's folder, or a database that several machines share."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.extras import need
from lycosa.frontier.contract import Frontier
from lycosa.frontier.postgres.address import check_address, machine_of, name_of
from lycosa.frontier.sqlite.frontier import SqliteFrontier

if TYPE_CHECKING:
    from lycosa.frontier.postgres.frontier import PostgresFrontier


def open_frontier(mission: Mission, folder: Path) -> Frontier:
    """Open the frontier of a collection that exists."""
    return open_shared(mission, folder) if mission.keep.database else SqliteFrontier(folder / "crawl.db")


def open_shared(mission: Mission, folder: Path) -> PostgresFrontier:
    """Open the frontier of a collection that several machines share."""
    kind = load_postgres()
    return kind(check_address(mission.keep.database), name_of(folder), machine=machine_of(folder))


def create_frontier(mission: Mission, folder: Path) -> bool:
    """Make the frontier of a collection, if there is none yet; whether there was none."""
    path = folder / "crawl.db"
    if mission.keep.database:
        address = check_address(mission.keep.database)
        return load_postgres().create(address, name_of(folder), mission_toml=to_toml(mission))
    if path.exists():
        return False
    SqliteFrontier.create(path, mission_toml=to_toml(mission), now=time.time())
    return True


def load_postgres() -> type[PostgresFrontier]:
    """The frontier in PostgreSQL, whose driver is an extra."""
    need("psycopg", extra="cluster", what="A collection in a database")
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    return PostgresFrontier
