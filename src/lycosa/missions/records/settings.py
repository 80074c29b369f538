"""Settings of the records mission: the table [records] of a mission file."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class RecordsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where to go on the sites of the seeds, and what to take there; without any of it, articles of unknown sites."""

    ranges: tuple[dict[str, Any], ...] = ()
    """which addresses are visited, each with `match` (regular expressions), `islands`, `mode` and `category`"""
    categories: dict[str, Any] = {}
    """by the name of a category: `links`, `paging` and `schema` of its pages"""
    schemas: dict[str, Any] = {}
    """by the name of a kind of record: its fields and their rules, as in docs/schemas.md"""
