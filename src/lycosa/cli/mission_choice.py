"""Parameter type for a word that names a mission with a certain feature, or one of a few other words."""

from __future__ import annotations

import click

from lycosa.missions import registry


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
