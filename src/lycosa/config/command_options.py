"""Command-line options that stand for settings: one table of them, and the mission that a command line asks for.

Values pass through as text: `lycosa.config` knows what each setting allows and words every error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from msgspec.structs import replace

from lycosa.config import mission_table
from lycosa.config.fields import env_name, nearest, split
from lycosa.config.host_rules import mask
from lycosa.config.loading import SETTINGS, LoadedMission, Setting, load
from lycosa.config.mission_files import find_mission, find_own, read_named
from lycosa.config.seeds import settle_seeds
from lycosa.config.settings import RUN_BOUNDS, KeepSettings, Mission
from lycosa.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])


class CommandLine(NamedTuple):
    """A command line after its mission was loaded."""

    loaded: LoadedMission
    words: tuple[str, ...]  # those that do not name a mission


class ChosenSeeds(NamedTuple):
    """A mission with its seeds, normalised."""

    mission: Mission
    written: dict[str, str]  # by URL, how a seed was written where that differs


#: The settings of commands that send single requests, without a crawl.
REQUEST_SETTINGS = (
    "limits.time_s", "recrawl.period_h", "fetch.delay_s", "fetch.per_host", "fetch.connections", "fetch.robots",
    "agent.contact", "fetch.connect_to", "fetch.allow_private", "fetch.ca", "fetch.proxy", "keep.collection",
)  # fmt: skip


def request_options(command: Command) -> Command:
    """Add the options that stand for settings of `REQUEST_SETTINGS`, and `--set` for all the others."""
    return _add_settings(command, [setting for setting in SETTINGS if setting.key in REQUEST_SETTINGS])


def mission_options(command: Command) -> Command:
    """Add the options that stand for settings, and `--set` for all the others."""
    return _add_settings(command, SETTINGS)


def _add_settings(command: Command, settings: Sequence[Setting]) -> Command:
    sets = click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any setting: limits.html_bytes=5MB.")
    command = sets(command)
    for setting in reversed(settings):
        option = click.option(
            *setting.flags, setting.name, metavar=setting.metavar, multiple=setting.many, help=setting.text
        )
        command = option(command)
    return command


def default_collection() -> str:
    """The collection of a command line that names none: as for a crawl, or the one that we stand in."""
    named = os.environ.get("LYCOSA_KEEP_COLLECTION")
    usual = KeepSettings().collection
    is_here = not named and os.path.isfile("crawl.db") and not os.path.exists(usual)
    return os.getcwd() if is_here else named or usual


def named_collection(word: str | None, option: str | None) -> str:
    """The collection of a verb that takes it as a word or as an option."""
    if word and option and word != option:
        raise UsageError(f"Two collections are named, {word} and {option} (--collection); allowed: one.")
    return word or option or default_collection()


def collection_option(command: Command) -> Command:
    """Add the option that names the collection to look at."""
    return click.option(
        "-c",
        "--collection",
        default=default_collection,
        metavar="DIR",
        callback=lambda _context, _parameter, value: refuse_address(value),
        help="Folder of the collection.",
    )(command)


def refuse_address(word: str) -> str:
    """The folder of a collection; refuses one in a database, beside which nothing can be written."""
    if word.startswith(("postgresql:", "postgres:")):
        raise UsageError(
            "The collection is one in a database, and this needs a folder to write to: bring it to one first, with"
            " lycosa copy ADDRESS DIR --leave-archive."
        )
    return word


def format_option(command: Command) -> Command:
    """Add the option that names the format of a listing."""
    text = "Default: table on a terminal, the file's suffix, else jsonl."
    return click.option("--format", "form", type=click.Choice(["jsonl", "csv", "tsv", "parquet", "table"]), help=text)(
        command
    )


def text_form_option(command: Command) -> Command:
    """Add the option that chooses between text for people and JSON for programs, which is given as `form`."""

    def choose(context: click.Context, _parameter: click.Parameter, value: str | None) -> str:
        to_people = sys.stdout.isatty() and context.params.get("output", "-") == "-"
        return value or ("text" if to_people else "jsonl")

    text = "Default: text on a terminal, jsonl in a pipe."
    return click.option("--format", "form", type=click.Choice(["text", "jsonl"]), callback=choose, help=text)(command)


def raw_option(command: Command) -> Command:
    """Add the option that leaves the cells of tables as they are."""
    text = "In csv and tsv, leave cells as they are that a spreadsheet takes for formulas."
    return click.option("--raw", is_flag=True, help=text)(command)


def output_option(command: Command) -> Command:
    """Add the option that names the file to write."""
    text = "Where to write; - is the pipe."
    return click.option("-o", "--output", default="-", metavar="FILE", callback=refuse_empty_name, help=text)(command)


def refuse_empty_name(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty name of an output, which comes from scripts with an empty variable."""
    if value == "":
        raise UsageError(f"{option.opts[0]} has no name after it: name a file or a folder.")
    return value


#: The patterns of the command line are added to those of the mission.
_ADDED = ("accept", "reject")
#: What is no part of what a command line says of a crawl.
_OF_A_FOLDER = ("keep.collection", "seeds")


def load_command_line(words: Sequence[str], options: dict[str, Any]) -> CommandLine:
    """Load the mission that a command line asks for; removes what `mission_options` added from `options`.

    Without one it is the collection's own, if there is a collection. What command lines have named for a collection
    stays, also where a mission is named for it.
    """
    sets = options.pop("sets")
    given = {setting: options.pop(setting.name, None) for setting in SETTINGS}
    overrides = {setting.key: value for setting, value in given.items() if value not in (None, ())}
    file = find_mission(words[0]) if words else None
    rest = tuple(words if file is None else words[1:])
    if file is None and len(words) > 1 and words[0].isidentifier() and nearest(words[0], mission_table.names()):
        raise UsageError(mission_table.complain(words[0]))  # no address either, and a name that is nearly a mission's
    named = [
        f"{key}={text}" for key, value in overrides.items() for text in ([value] if isinstance(value, str) else value)
    ]
    named = [text for text in (*named, *sets) if _may_stay(*_split_set(text))]
    is_own = (
        file is None and (file := find_own(Path(overrides.get("keep.collection", default_collection())))) is not None
    )
    if is_own:  # the collection may have been moved since the file was written
        overrides.setdefault("keep.collection", default_collection())
    if is_own and rest:
        sets = [*(f"{key}=0" for key in RUN_BOUNDS if env_name(split(key)) not in os.environ), *sets]
    added = {key: overrides.pop(key, ()) for key in _ADDED}
    loaded = load(file, environ=os.environ, overrides=overrides, sets=sets)
    own = file if is_own else find_own(Path(loaded.mission.keep.collection))
    again = {_split_set(text)[0] for text in named} - {*_ADDED}
    earlier = [text for text in read_named(own) if _split_set(text)[0] not in again] if own else []
    if not is_own:
        for key in _ADDED:
            added[key] = (*(text for name, text in map(_split_set, earlier) if name == key), *added[key])
        sets = [*(text for text in earlier if _split_set(text)[0] not in _ADDED), *sets]
    if any(added.values()) or earlier:
        # The file must be loaded before, as patterns are added to those of the file.
        lists = {key: [*dict.fromkeys((*getattr(loaded.mission, key), *more))] for key, more in added.items() if more}
        loaded = load(file, environ=os.environ, overrides=overrides | lists, sets=sets)
    kept = tuple(dict.fromkeys([*earlier, *named]))
    return CommandLine(replace(loaded, mission=replace(loaded.mission, named=kept)), rest)


def _split_set(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip(), value


def _may_stay(key: str, value: str) -> bool:
    """Whether a setting may be written down: nothing of this run or this folder alone, and no secret."""
    path = split(key)
    return key not in (*RUN_BOUNDS, *_OF_A_FOLDER) and path[:1] != ("hosts",) and mask(path, value) == value


def choose_seeds(
    loaded: LoadedMission,
    words: Sequence[str],
    *,
    files: Sequence[str] = (),
    column: str = "",
    sample: tuple[int, int] = (0, 0),
) -> ChosenSeeds:
    """The seeds of the command line, or else those of the mission; `sample` is how many, and the number of the draw."""
    size, draw = sample
    files = [*files, *("-" for word in words if word == "-")]
    words = [word for word in words if word != "-"]
    return ChosenSeeds(*settle_seeds(loaded.mission, words, files=files, column=column, sample=size, sample_seed=draw))
