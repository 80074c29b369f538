"""Processes that tell and send, and are killed on the way: they are started by `spawn`, which imports them by name."""

from __future__ import annotations

import os
import signal
from contextlib import AbstractContextManager
from pathlib import Path

import apsw
from support.command_line import run

from lycosa import Collection
from lycosa.missions.records.alerts.alert_log import AlertLog
from lycosa.missions.records.alerts.alert_run import tell_alerts
from lycosa.missions.records.database import open_store
from lycosa.missions.records.delivery import MailSettings, Outbox
from lycosa.missions.records.readers import load_readers


class PlainStore:
    """A database with nothing but what the outbox makes."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path))
        self.connection.set_busy_timeout(5000)
        self.connection.execute("PRAGMA journal_mode = WAL")

    def ensure(self, name: str, version: int, sql: str) -> None:
        if not self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'delivery_message'").fetchall():
            self.connection.execute(sql)

    def transaction(self) -> AbstractContextManager[object]:
        return self.connection


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def tell(readers: Path, collection: Path) -> None:
    """Find alerts and send them."""
    done = run("alerts", str(readers), "-c", str(collection), "--send")
    assert done.code == 0, done.output


def tell_and_die(readers: Path, collection: Path) -> None:
    """Find alerts, and be killed just before they are committed."""
    AlertLog.set_cursor = _die  # type: ignore[assignment,method-assign]
    with Collection(collection) as source, open_store(collection, refresh=False) as store:
        tell_alerts(source, store, load_readers(readers))


def send_and_die(records: Path, settings: MailSettings) -> None:
    """Send what waits in a records.db, and be killed before the database knows it."""
    outbox = Outbox(PlainStore(records))
    outbox._settle = _die  # type: ignore[assignment,method-assign]
    outbox.send(settings)
