"""Command-line options that stand for settings: one table of them, and the mission that a command line asks for.

Values pass through as text: `lycosa.config` knows what each setting allows and words every error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from msgspec.structs import replace

from lycosa.config import mission_table
from lycosa.config.fields import nearest
from lycosa.config.loading import LoadedMission, load
from lycosa.config.mission_files import find_mission, find_own
from lycosa.config.seeds import read_seeds
from lycosa.config.settings import KeepSettings, Mission
from lycosa.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])


class Setting(NamedTuple):
    """An option that stands for a setting."""

    flags: tuple[str, ...]
    key: str  # dotted, as in a mission
    metavar: str
    text: str
    many: bool = False  # may be given several times

    @property
    def name(self) -> str:
        return self.key.replace(".", "__")


SETTINGS = (
    Setting(("--scope",), "scope", "NAME", "free, domain, host or path: how far from the seeds."),
    Setting(("--order",), "order", "NAME", "bfs, dfs or best: which URL is next."),
    Setting(("--policy",), "policy.name", "NAME", "bfs, fish, shark, terms or learn: what makes a link promising."),
    Setting(("--learned-from",), "policy.learned_from", "DIR", "Collection whose lessons policy learn begins with."),
    Setting(("--depth",), "limits.depth", "N", "Follow links at most N deep; 0: the seeds alone."),
    Setting(("--thesaurus",), "thesaurus", "NAME", "Thesaurus that makes pages relevant: a name or a file."),
    Setting(("--themes",), "themes", "NAME,…", "Themes of the thesaurus that count.", many=True),
    Setting(("--limit",), "limits.pages", "N", "Store N pages and stop."),
    Setting(("--max-time",), "limits.time_s", "TIME", "Stop after this time: 90, 15m, 2h."),
    Setting(("--max-host-pages",), "limits.host_pages", "N", "Store at most N pages of each host."),
    Setting(("--period",), "recrawl.period_h", "TIME", "Begin a new round this often: hours, or 90m, 3d."),
    Setting(("--include",), "accept", "REGEX", "Visit only URLs that match; adds to the mission's list.", many=True),
    Setting(("--exclude",), "reject", "REGEX", "Do not visit URLs that match; wins over --include.", many=True),
    Setting(("--delay",), "fetch.delay_s", "SECONDS", "Wait between two requests to one host."),
    Setting(("--per-host",), "fetch.per_host", "N", "Requests to one host at a time."),
    Setting(("--connections",), "fetch.connections", "N", "Requests of a worker at a time, all hosts together."),
    Setting(("--workers",), "workers", "N", "Processes; 0: one for each processor."),
    Setting(("--robots",), "fetch.robots", "obey|ignore", "Obey robots.txt, or ignore it on sites you own."),
    Setting(("--render",), "fetch.render", "auto|always|never", "Run pages in a browser; auto: empty ones."),
    Setting(
        ("--contact", "--agent-contact"),
        "agent.contact",
        "ADDRESS",
        "Mail address or URL by which site owners reach you.",
    ),
    Setting(
        ("--connect-to",), "fetch.connect_to", "HOST[:PORT]=ADDR:PORT", "Connect there instead; * is any.", many=True
    ),
    Setting(("--allow-private",), "fetch.allow_private", "NETWORK", "Private networks that may be reached.", many=True),
    Setting(("--ca",), "fetch.ca", "FILE", "Certificate authorities to trust."),
    Setting(("--proxy",), "fetch.proxy", "URL", "Proxy for every host."),
    Setting(("--collection", "-c"), "keep.collection", "DIR", "Folder of the collection."),
    Setting(
        ("--database",), "keep.database", "URL", "Share the crawl with other machines: postgresql://HOST/DATABASE."
    ),
    Setting(
        ("--archive",), "keep.archive", "STORE", "Move archive files there: s3://BUCKET/PREFIX, gs://…, az://…, DIR."
    ),
    Setting(("--mirror",), "keep.mirror", "DIR", "At the end, write the pages as files below DIR."),
    Setting(("--index",), "keep.index", "FILE", "At the end, write the index of pages and links."),
    Setting(("--log-file",), "log.file", "FILE", "Log here instead; - is the screen."),
    Setting(("--log-level",), "log.level", "N", "0 only what is necessary, 1 every action, 2 debugging."),
)


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
    """The collection of a command line that names none: as for a crawl, the environment may name it."""
    return os.environ.get("LYCOSA_KEEP_COLLECTION") or KeepSettings().collection


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


def output_option(command: Command) -> Command:
    """Add the option that names the file to write."""
    text = "Where to write; - is the pipe."
    return click.option("-o", "--output", default="-", metavar="FILE", callback=refuse_empty_name, help=text)(command)


def refuse_empty_name(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty name of an output, which comes from scripts with an empty variable."""
    if value == "":
        raise UsageError(f"{option.opts[0]} has no name after it: name a file or a folder.")
    return value


def load_command_line(words: Sequence[str], options: dict[str, Any], *, judging: bool = False) -> CommandLine:
    """Load the mission that a command line asks for; removes what `mission_options` added from `options`.

    Without one it is the collection's own, if nothing else is named either, or if URLs are named only to be judged.
    """
    sets = options.pop("sets")
    given = {setting: options.pop(setting.name, None) for setting in SETTINGS}
    overrides = {setting.key: value for setting, value in given.items() if value not in (None, ())}
    file = find_mission(words[0]) if words else None
    rest = tuple(words if file is None else words[1:])
    if file is None and len(words) > 1 and words[0].isidentifier() and nearest(words[0], mission_table.known().names()):
        raise UsageError(mission_table.complain(words[0]))  # no address either, and a name that is nearly a mission's
    if file is None and (judging or not words):
        folder = Path(overrides.get("keep.collection", default_collection()))
        if file := find_own(folder):
            overrides["keep.collection"] = str(folder)  # the collection may have been moved since the file was written
    added = {key: overrides.pop(key) for key in ("accept", "reject") if key in overrides}
    loaded = load(file, environ=os.environ, overrides=overrides, sets=sets)
    if added:
        # The patterns of the command line are added to those of the file, which must be loaded before.
        lists = {key: [*getattr(loaded.mission, key), *values] for key, values in added.items()}
        loaded = load(file, environ=os.environ, overrides=overrides | lists, sets=sets)
    return CommandLine(loaded, rest)


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
    if words or files:
        seeds = read_seeds(words, files=files, column=column, sample=size, sample_seed=draw)
    else:
        seeds = read_seeds(loaded.mission.seeds, sample=size, sample_seed=draw)
    return ChosenSeeds(replace(loaded.mission, seeds=seeds.urls), seeds.written)
