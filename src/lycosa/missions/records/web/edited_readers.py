"""The readers file as the page changes it: whole, by the marks of what was read, checked as the command line checks it.

The file is the one that `lycosa digest` and `lycosa alerts` read. Comments of people are not kept.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lycosa.collection.collection import Collection
from lycosa.config.toml import write_tables
from lycosa.errors import CollectionError, UsageError
from lycosa.missions.records.alerts.settings import Alert, read_alerts
from lycosa.missions.records.readers import MAX_FILE, Reader, ReadersFile, load_readers, read_readers, read_toml
from lycosa.missions.records.reports.digest_output import check_readers
from lycosa.output.atomic_file import whole_file

NAME = "readers.toml"
#: The password of the mail server, beside the file that names it; who may read it is its owner alone.
PASSWORD_NAME = "mail-password"
#: How a variable begins whose value a page may send to the mail server that a file names.
_OUR_VARIABLES = "LYCOSA_"


def reader_places(collection: Collection) -> tuple[Path, Path]:
    """Where a readers file is looked for."""
    return collection.path / NAME, collection.path.parent / NAME


def find_readers(collection: Collection) -> Path | None:
    """The readers file of a collection, or None."""
    return next((path for path in reader_places(collection) if path.is_file()), None)


class EditedReaders:
    """The tables of a readers file, to be changed and kept; of a missing one, none."""

    def __init__(self, collection: Collection) -> None:
        self.path = find_readers(collection) or reader_places(collection)[0]
        if self.path.is_symlink():
            raise CollectionError(f"{self.path} is a link: it is changed where it leads to.")
        self.mark = _mark(self.path)
        text, data = read_toml(self.path, what="a readers file") if self.mark else ("", {})
        self.data: dict[str, Any] = data
        self.file = read_readers(self.path, text, data)
        self.alerts: tuple[Alert, ...] = read_alerts(self.file)
        self.has_comments = any(line.lstrip().startswith("#") for line in text.splitlines())

    def tables(self, kind: str) -> list[dict[str, Any]]:
        """The tables of readers or alerts, which may be changed."""
        found: list[dict[str, Any]] = self.data.setdefault(kind, [])
        return found

    def find(self, kind: str, name: str) -> dict[str, Any] | None:
        """The table of a reader or alert as it is in the file; None where there is none of this name."""
        return next((table for table in self.tables(kind) if str(table.get("name", "")).strip() == name), None)

    def put(self, kind: str, name: str, table: dict[str, Any] | None) -> None:
        """Put a table in the place of the one of a name, or behind all; None takes that away."""
        tables = self.tables(kind)
        old = self.find(kind, name) if name else None
        if table is None:
            tables[:] = [each for each in tables if each is not old]
        elif old is None:
            tables.append(table)
        else:
            tables[tables.index(old)] = table
        if kind == "readers" and name:
            self._follow_reader(name, "" if table is None else str(table["name"]))

    def _follow_reader(self, name: str, now: str) -> None:
        """Have alerts tell a reader by the name of now; nobody where they are gone."""
        for alert in self.tables("alerts"):
            told = alert.get("readers", [])
            told = [told] if isinstance(told, str) else told
            if name in told:
                alert["readers"] = [each for each in (now if each == name else each for each in told) if each]

    def keep(self, mark: str) -> None:
        """Write the file, if it is still the one of this mark and its tables mean something."""
        self.data = {key: value for key, value in self.data.items() if value != []}
        text = write_tables(self.data)
        if len(text) > MAX_FILE:
            raise UsageError(f"{NAME} would be larger than {MAX_FILE:,} bytes, the most that a readers file may have.")
        said = f"{self.path}:"
        try:
            parsed = read_readers(self.path, "", self.data)
            read_alerts(parsed)
        except UsageError as problem:
            raise UsageError(str(problem).removeprefix(said).strip()) from None
        with whole_file(self.path) as part:
            if _mark(self.path) != mark:
                raise UsageError(f"{NAME} was changed by somebody else in the meantime: load the page again.")
            Path(part).write_text(text, encoding="utf-8")

    def keep_password(self, password: str) -> str:
        """Keep the password of the mail server in a file of its own; gives its name."""
        path = self.path.with_name(PASSWORD_NAME)
        if path.is_symlink():
            raise CollectionError(f"{path} is a link: remove it.")
        with whole_file(path) as part:
            os.chmod(part, 0o600)
            Path(part).write_text(f"{password}\n", encoding="utf-8")
        return PASSWORD_NAME


def _mark(path: Path) -> str:
    """By what a file is recognised as unchanged; empty where there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:24]
    except FileNotFoundError:
        return ""
    except OSError as problem:
        raise CollectionError(f"{path} cannot be read: {problem.strerror or problem}.") from None


def refuse_strange_readers(file: ReadersFile) -> None:
    """Refuse to tell readers by a file that would send secrets of this machine away, or write beside its folder.

    A collection may come from a stranger, who named its mail server; at the command line the user named the file.
    """
    here = file.path.parent
    mail = file.mail
    if mail is not None and mail.user and mail.password_env and not mail.password_env.startswith(_OUR_VARIABLES):
        raise UsageError(
            f"{file.path}: password_env is {mail.password_env!r}; from a page, allowed: a name that begins with"
            f" {_OUR_VARIABLES}, or a password typed into the page."
        )
    named = [mail.password_file] if mail is not None and mail.user else []
    named += [str(here / alert.feed) for alert in read_alerts(file) if alert.feed]
    named += [str(here / name) for name in _report_files(file.readers)]
    for name in named:
        if name and Path(os.path.realpath(name)).parent != Path(os.path.realpath(here)):
            raise UsageError(f"{file.path}: {name} is not beside it; from a page, allowed: a file in the same folder.")


def told_after_rounds(folder: Path) -> str:
    """The readers file by which the page's crawls tell readers: that of the collection; empty where it cannot be."""
    path = folder / NAME
    if not path.is_file() or path.is_symlink():
        return ""
    try:
        refuse_strange_readers(load_readers(path))
        check_readers(str(path))
    except UsageError:  # which the page of the readers tells
        return ""
    return str(path)


def _report_files(readers: Iterable[Reader]) -> list[str]:
    return [reader.report for reader in readers if reader.report.endswith(".toml")]


def split_list(text: str) -> list[str]:
    """What was typed as a list: by commas or lines."""
    return [part for piece in text.splitlines() for each in piece.split(",") if (part := each.strip())]


def drop_empty(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table without what says nothing."""
    return {key: value for key, value in table.items() if value not in ("", [], None, {})}
