"""UTF-8 clean-up: a batch with text that a database cannot hold in, one that it can out.

Pages can spell lone surrogates (`&#xD800;`), and NUL, which PostgreSQL refuses. They are so rare that nobody looks for
them before writing has failed.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from lycosa.model import Batch

S = TypeVar("S", bound=msgspec.Struct)


def cleaned(batch: Batch) -> Batch:
    """The same batch with a question mark in place of each lone surrogate, and of each NUL."""
    return Batch(
        discoveries=[_clean(row) for row in batch.discoveries],
        outcomes=[_clean(row) for row in batch.outcomes],
        hosts=[_clean(row) for row in batch.hosts],
        robots=[_clean(row) for row in batch.robots],
        trap_counts={(_text(host), _text(key)): count for (host, key), count in batch.trap_counts.items()},
        warc=batch.warc,
        warc_size=batch.warc_size,
        warc_synced=batch.warc_synced,
        warcs=batch.warcs,
        hints=batch.hints,
        weight_updates=batch.weight_updates,
        durable=batch.durable,
    )


def _clean(row: S) -> S:
    changes: dict[str, object] = {}
    for name in row.__struct_fields__:
        value = getattr(row, name)
        if isinstance(value, str):
            changes[name] = _text(value)
        elif isinstance(value, msgspec.Struct):
            changes[name] = _clean(value)
    return msgspec.structs.replace(row, **changes)


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
