"""Listings of stories: all of them, or one with its members, why they are there, and what they give together."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lycosa.errors import UsageError
from lycosa.missions.records.database import RecordStore
from lycosa.missions.records.stories.catalogue import (
    CompletedField,
    CopyVerdict,
    MemberReason,
    Story,
    complete,
    explain_story,
    find_copies,
    read_story,
    stories,
    write_day,
)
from lycosa.output.destination import opened
from lycosa.output.plain import counted, printable
from lycosa.output.table import Value, write

_COLUMNS = ("story", "records", "hosts", "first", "last", "title", "media")
_MEMBER_COLUMNS = (
    "record",
    "published",
    "host",
    "title",
    "url",
    "like",
    "score",
    "why",
    "text",
    "copied",
    "copied_from",
)
_MOST_SHOWN = 200


def write_stories(
    store: RecordStore, output: str, *, since: float, least_hosts: int, form: str | None, raw: bool = False
) -> str:
    """Write the list of stories; returns what it holds."""
    with opened(output, form) as (out, chosen_format):
        rows = _rows(store, since=since, least_hosts=least_hosts)
        count = write(rows, _COLUMNS, out, form=chosen_format, raw=raw)
    if not count:
        print(
            f"lycosa: no story stands on {counted(least_hosts, 'host')} (lycosa stories --least-hosts 1 lists all;"
            " lycosa extract makes the records of which they are made)",
            file=sys.stderr,
        )
    return counted(count, "story")


def _rows(store: RecordStore, *, since: float, least_hosts: int) -> Iterator[tuple[Value, ...]]:
    for found in stories(store, since=since, least_hosts=least_hosts):
        media = ", ".join(found.hosts[:10]) + (" …" if len(found.hosts) > 10 else "")
        first, last = write_day(found.first_at), write_day(found.last_at)
        yield (found.id, len(found.records), len(found.hosts), first, last, found.title, media)


def show_story(store: RecordStore, number: int, output: str, *, form: str | None, raw: bool = False) -> str:
    """Write the members of a story; for people also the record that they give together."""
    found = read_story(store, number)
    if found is None:
        raise UsageError(f"There is no story {number} in this collection: `lycosa stories` lists them.")
    reasons = explain_story(store, found)
    copies = {verdict.record: verdict for verdict in find_copies(found.records)}
    with opened(output, form) as (out, chosen_format):
        if chosen_format == "table":
            out.writelines(f"{printable(line)}\n" for line in _story_lines(found, reasons, copies))
        else:
            write(_member_rows(reasons, copies), _MEMBER_COLUMNS, out, form=chosen_format, raw=raw)
    return counted(len(found.records), "member")


def _member_rows(reasons: list[MemberReason], copies: dict[int, CopyVerdict]) -> Iterator[tuple[Value, ...]]:
    for reason in reasons:
        record, copied = reason.record, copies[reason.record.id]
        title = str(record.data.get("title") or "")
        yield (
            record.id,
            write_day(reason.published_at),
            record.host,
            title,
            record.url,
            reason.like.id if reason.like else None,
            reason.reason.score,
            reason.sentence,
            copied.said,
            copied.share,
            copied.source or None,
        )


def _story_lines(story: Story, reasons: list[MemberReason], copies: dict[int, CopyVerdict]) -> Iterator[str]:
    yield f"Story {story.id}: {story.title}"
    yield (
        f"  {counted(len(story.records), 'record')} on {counted(len(story.hosts), 'host')}, "
        f"{write_day(story.first_at)} to {write_day(story.last_at)}"
    )
    if story.terms:
        yield f"  about {', '.join(story.terms)}"
    yield ""
    for reason in reasons[:_MOST_SHOWN]:
        copied = copies[reason.record.id]
        agency = f", names {copied.agency}" if copied.agency else ""
        gone = ", gone" if reason.record.gone else ""
        yield f"  {write_day(reason.published_at)}  {reason.record.url}"
        if reason.record.data.get("text"):
            yield f"              {copied.said}{agency}{gone}"
        yield f"              {reason.sentence}"
    if len(reasons) > _MOST_SHOWN:
        yield f"  … and {len(reasons) - _MOST_SHOWN:,} more"
    yield ""
    yield "  Together:"
    fields = complete(story.records).fields
    width = min(20, max([12, *map(len, fields)]))
    for name, field in fields.items():
        yield from _field_lines(name[:width].ljust(width), field)


def _field_lines(name: str, field: CompletedField) -> Iterator[str]:
    agreeing = f"{counted(len(field.hosts), 'host')}" if len(field.hosts) > 1 else field.hosts[0]
    yield f"  {name} {_short(field.value)}  ({agreeing}; record {field.record})"
    for other in field.others:
        hosts = ", ".join(other.hosts[:3]) + (" …" if len(other.hosts) > 3 else "")
        yield f"  {'':{len(name)}}   but {_short(other.value)}  ({hosts})"


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:99] + "…"
