"""Choice of what a verb works on: a collection, in a folder or in a database that machines share, and a mission."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import click

from lycosa.config.command_options import default_collection, refuse_address
from lycosa.missions import registry

Command = TypeVar("Command")


def readable_collection_option(command: Command) -> Command:
    """Add the option that names the collection to read, by its folder or its address; what is read is told."""
    return _option(command, tells=True)


def watched_collection_option(command: Command) -> Command:
    """The same for who asks the database anyway."""
    return _option(command, tells=False)


def working_folder(word: str) -> Path:
    """The folder of a collection beside which something is written; of a shared one the copy is brought up to date."""
    refuse_address(word)
    folder = Path(word)
    from lycosa.collection.reading_source import find_shared

    if find_shared(folder) is not None:
        from lycosa.repair.copy import bring_copy

        if said := bring_copy(folder):
            click.echo(f"lycosa: {said}", err=True)
    return folder


def _option(command: Command, *, tells: bool) -> Command:
    def find(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
        from lycosa.collection.reading_source import choose_source, folder_of

        folder = folder_of(value)
        if tells and (note := choose_source(folder).note):
            click.echo(f"lycosa: {note}", err=True)
        return str(folder)

    add = click.option(
        "-c",
        "--collection",
        default=default_collection,
        metavar="DIR",
        callback=find,
        help="Folder of the collection, or postgresql://HOST/DATABASE#NAME.",
    )
    return add(command)  # type: ignore[type-var]


class MissionChoice(click.ParamType[str]):
    """The missions that bring something, and other words; asks other packages only for words that are none of ours."""

    name = "mission"

    def __init__(self, field: str, *others: str) -> None:
        self._field = field
        self._others = others

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        ours = [*self._others, *registry.with_field(self._field, registry.ours())]
        if value in ours:
            return value
        every = [*ours, *registry.with_field(self._field, registry.installed())]
        if value not in every:
            shown = ", ".join(repr(word) for word in every)
            self.fail(
                f"{value!r} is not one of {shown}." if len(every) > 1 else f"{value!r} is not {shown}.", param, ctx
            )
        return value
