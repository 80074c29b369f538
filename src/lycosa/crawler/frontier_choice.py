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
    if not mission.keep.database:
        return SqliteFrontier(folder / "crawl.db")
    kind = load_postgres()
    return kind(check_address(mission.keep.database), name_of(folder), machine=machine_of(folder))


def make_frontier(mission: Mission, folder: Path) -> tuple[Frontier, bool]:
    """Open the frontier of a collection, made if need be; and whether it was."""
    path = folder / "crawl.db"
    if mission.keep.database:
        address = check_address(mission.keep.database)
        created = load_postgres().create(address, name_of(folder), mission_toml=to_toml(mission))
    elif created := not path.exists():
        SqliteFrontier.create(path, mission_toml=to_toml(mission), now=time.time())
    return open_frontier(mission, folder), created


def load_postgres() -> type[PostgresFrontier]:
    """The frontier in PostgreSQL, whose driver is an extra."""
    need("psycopg", extra="cluster", what="A collection in a database")
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    return PostgresFrontier
