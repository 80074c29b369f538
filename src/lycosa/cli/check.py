"""The verb `check`: shows the settings of a mission, or what its rules say of URLs; fetches and stores nothing."""

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
    command_line = load_command_line(words, options, judging=True)
    if command_line.words:
        _write_rules(command_line, form)
    else:
        _write_settings(command_line, form)


def _write_settings(command_line: CommandLine, form: str | None) -> None:
    from lycosa.config.setting_docs import describe
    from lycosa.output.table import write

    rows = [(row.key, row.value, row.origin, row.meaning) for row in describe(command_line.loaded)]
    with opened("-", form) as (out, chosen_format):
        if chosen_format == "table":  # the meaning of each is in docs/settings.md and in the other formats
            write([row[:3] for row in rows], ("setting", "value", "origin"), out, form=chosen_format)
        else:
            write(rows, ("setting", "value", "origin", "meaning"), out, form=chosen_format)


def _write_rules(command_line: CommandLine, form: str | None) -> None:
    from lycosa import urls
    from lycosa.config.seeds import read_seeds
    from lycosa.extract.quarry_loader import load_quarry
    from lycosa.judge.admission.rules import Rules
    from lycosa.output.plain import printable
    from lycosa.output.table import write
    from lycosa.quarry import url_judge

    mission = command_line.loaded.mission
    seeds = read_seeds(mission.seeds).urls
    quarry = load_quarry(mission) if any(mission.own.get(name) for name in mission.missions) else None
    rules, cleaner = Rules(mission, seeds, url_judge=url_judge(quarry)), urls.Cleaner(mission.urls)
    with opened("-", form) as (out, chosen_format):
        rows: list[tuple[str, ...]] = []
        for word in read_seeds(command_line.words).urls:
            url = cleaner.clean(word)
            # The distance of a URL from the seeds is not known here; all but the seeds have a depth of at least 1.
            steps = rules.explain(url, depth=int(url not in seeds), host=urls.host_of(url), seed=url in seeds)
            verdicts = [(rule, "yes" if verdict.ok else "no", verdict.detail) for rule, verdict in steps]
            if chosen_format == "table":
                refused = ", ".join(rule for rule, verdict in steps if not verdict.ok)
                verdict = f"refused ({refused})" if refused else "visited, if robots.txt allows"
                out.write(f"{printable(url)}: {verdict}\n")
                write(verdicts, ("rule", "ok", "detail"), out, form=chosen_format)
            rows += [(url, *row) for row in verdicts]
        if chosen_format != "table":
            write(rows, ("url", "rule", "ok", "detail"), out, form=chosen_format)
