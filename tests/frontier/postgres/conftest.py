"""What the tests of the PostgreSQL frontier share."""

from __future__ import annotations

import pytest
from support.postgres_server import PostgresServer


@pytest.fixture(scope="module")
def address(postgres: PostgresServer) -> str:
    """Of a server for the tests of a module."""
    return postgres.address
