"""Archive files of machines that share a frontier: whose they are, and where."""

from __future__ import annotations

import pytest

from lycosa.errors import UsageError
from lycosa.model import WarcRow

psycopg = pytest.importorskip("psycopg")


def test_files_belong_to_machines_and_go_to_a_store(address: str) -> None:
    """Each machine sees its own; one that is in the store is no longer its own to repair, shrink or forget."""
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    PostgresFrontier.create(address, "files", mission_toml="")
    one = PostgresFrontier(address, "files", machine="one")
    two = PostgresFrontier(address, "files", machine="two")
    try:
        one.segments.record([WarcRow("a", 10), WarcRow("b", 20)])
        two.segments.record([WarcRow("c", 30)])
        assert [row.name for row in one.segments.here()] == ["a", "b"]
        assert not two.segments.place(WarcRow("a", 10), "s3://x/a")  # not its own
        assert not one.segments.place(WarcRow("a", 9), "s3://x/a")  # not as it is
        assert one.segments.place(WarcRow("a", 10), "s3://x/a")
        assert one.segments.place(WarcRow("a", 10), "s3://x/a")  # said twice, as after a kill
        assert [row.name for row in one.segments.here()] == ["b"]
        assert [row.name for row in one.segments.moved()] == ["a"]
        one.segments.record([WarcRow("a", 0)])
        assert [row.size for row in one.segments.moved()] == [10]
    finally:
        one.close()
        two.close()


def test_a_machine_without_leases_that_holds_files_is_told(address: str) -> None:
    """One that is at work cannot be forgotten, and one that is gone is named until it is."""
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    PostgresFrontier.create(address, "lost", mission_toml="")
    here = PostgresFrontier(address, "lost", machine="here")
    gone = PostgresFrontier(address, "lost", machine="gone")
    try:
        gone.segments.record([WarcRow("a", 10), WarcRow("b", 10)])
        gone.segments.place(WarcRow("a", 10), "s3://x/a")
        gone.leases.acquire("gone:0", want=8, now=0.0, ttl_s=60.0)
        assert here.segments.lost_machines() == {}
        with pytest.raises(UsageError, match="The machine gone is at work"):
            here.machines.forget("gone")
        gone.leases.clear()
        assert here.segments.lost_machines() == {"gone": 1}
        assert here.machines.forget("gone") == (1, 0)
        assert here.segments.lost_machines() == {}
        assert here.machines.forget("gone") == (0, 0)
        with pytest.raises(UsageError, match="The machine here is this one"):
            here.machines.forget("here")
    finally:
        here.close()
        gone.close()
