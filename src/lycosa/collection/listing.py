"""Listings: the rows of one of the three lists of a collection (urls, pages, links), filtered."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Literal

from msgspec import Struct

from lycosa import urls
from lycosa.collection import database
from lycosa.collection.changes import copies_after
from lycosa.collection.query import QueryResult, select
from lycosa.errors import UsageError
from lycosa.frontier.sqlite import schema
from lycosa.model import STATE_NAMES

List = Literal["urls", "pages", "links"]

LISTS: tuple[List, ...] = ("urls", "pages", "links")

COLUMNS: dict[List, str] = {
    "urls": "url, state, reason, http, depth, score, seed, via, parent, anchor, context, original, fetched, retries,"
    " redirect, round, interval_h",
    "pages": "url, status, mime, charset, title, language, kind, size, fetched, last_modified, server_date, digest,"
    " warc, offset, length, round, rendered",
    "links": "source, target, anchor, accepted",
}


class RowFilter(Struct, frozen=True):
    """Which rows are wanted; empty: all. `*` in host and mime stands for anything."""

    host: str = ""
    state: str = ""  # of urls
    mime: str = ""  # of pages
    round: int | None = None  # pages as they were after it


def list_rows(folder: str | os.PathLike[str], kind: List, wanted: RowFilter = RowFilter()) -> QueryResult:  # noqa: B008  frozen
    """The rows of a list, in the order in which the URLs were found."""
    where, values = [], []
    if wanted.host:
        where.append("host GLOB ?")
        values.append(urls.host_pattern(wanted.host))
    if wanted.state:
        _refuse(kind, "urls", option="--state")
        where.append("state = ?")
        values.append(state_name(wanted.state))
    if wanted.mime:
        _refuse(kind, "pages", option="--mime")
        where.append("mime GLOB ?")
        values.append(wanted.mime.lower())
    source: str = kind
    if wanted.round is not None:
        _refuse(kind, "pages", option="--round")
        with closing(database.connect(folder)) as connection:
            source = f"({schema.PAGES.format(copies_after(connection, wanted.round))})"
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    return select(folder, f"SELECT {COLUMNS[kind]} FROM {source}{condition} ORDER BY n", values)


def state_name(word: str) -> str:
    """The name of a state from any way of writing it: "not modified", not-modified, unchanged."""
    plain = word.lower().replace("-", " ").replace("_", " ")
    for state, name in STATE_NAMES.items():
        if plain in (name, state.name.lower().replace("_", " ")):
            return name
    raise UsageError(f"There is no state {word!r}; allowed: {', '.join(STATE_NAMES.values())}.")


def _refuse(kind: List, only: List, *, option: str) -> None:
    if kind != only:
        raise UsageError(f"{option} goes with {only}, not with {kind}.")
