"""The verb `check`: what a mission settles to, or what its rules say of a URL; nothing is fetched or written."""

from __future__ import annotations

from typing import Any

import click

from lycosa.config.command_options import CommandLine, format_option, load_command_line, mission_options
from lycosa.output.destination import opened


@click.command()
@click.argument("words", nargs=-1, metavar="[MISSION|FILE] [URL…]")
@mission_options
@format_option
def check(words: tuple[str, ...], form: str | None, **options: Any) -> None:
    """Show settings or decisions before anything is fetched.

    A mission alone: every setting with its value and where it came from. With URLs: what the rules of the mission say
    of each of them, one after the other; without a mission, those of the collection.

    \b
    lycosa check mission.toml
    lycosa check mission.toml https://example.org/calendar?month=13
    """
    plan = load_command_line(words, options, judging=True)
    if plan.words:
        _tell_rules(plan, form)
    else:
        _tell_settings(plan, form)


def _tell_settings(plan: CommandLine, form: str | None) -> None:
    from lycosa.config.loading import describe
    from lycosa.output.table import write

    rows = [(row.key, row.value, row.origin, row.meaning) for row in describe(plan.settled)]
    with opened("-", form) as (out, settled):
        if settled == "table":  # the meaning of each is in docs/settings.md and in the other formats
            write([row[:3] for row in rows], ("setting", "value", "origin"), out, form=settled)
        else:
            write(rows, ("setting", "value", "origin", "meaning"), out, form=settled)


def _tell_rules(plan: CommandLine, form: str | None) -> None:
    from lycosa import urls
    from lycosa.config.seeds import read_seeds
    from lycosa.judge.admission.rules import Rules
    from lycosa.output.table import printable, write

    mission = plan.settled.mission
    seeds = read_seeds(mission.seeds).urls
    rules, cleaner = Rules(mission, seeds), urls.Cleaner(mission.urls)
    with opened("-", form) as (out, settled):
        rows: list[tuple[str, ...]] = []
        for word in read_seeds(plan.words).urls:
            url = cleaner.clean(word)
            # How far it lies from a seed is not known here; one link is the least that any other address can have.
            steps = rules.explain(url, depth=int(url not in seeds), host=urls.host_of(url), seed=url in seeds)
            found = [(rule, "yes" if verdict.ok else "no", verdict.detail) for rule, verdict in steps]
            if settled == "table":
                refused = ", ".join(rule for rule, verdict in steps if not verdict.ok)
                out.write(
                    f"{printable(url)}: {f'refused ({refused})' if refused else 'visited, if robots.txt allows'}\n"
                )
                write(found, ("rule", "ok", "detail"), out, form=settled)
            rows += [(url, *row) for row in found]
        if settled != "table":
            write(rows, ("url", "rule", "ok", "detail"), out, form=settled)
