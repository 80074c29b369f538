"""The `lycosa` program: runs the verb that its arguments name, and returns an exit code.

It imports the module of a verb only when the verb is called, so that a crawl pays for nothing else. An error ends as
one sentence on standard error and the exit code that `errors.py` gives it; only `--debug` shows a traceback.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import TextIOWrapper
from typing import NamedTuple

import click

from lycosa.disk import is_full, make_fault
from lycosa.errors import DiskFull, LycosaError, UsageError
from lycosa.missions import registry
from lycosa.missions.manifest import load_attribute
from lycosa.version import __version__


class VerbGroup(NamedTuple):
    """Verbs that stand together in the help, and the page that shows them at work."""

    title: str
    tour: str
    verbs: Mapping[str, str]  # the word on the command line, and its function


GROUPS = (
    VerbGroup(
        "Collect",
        "docs/howto.md",
        {
            "crawl": "lycosa.cli.crawl:crawl",
            "check": "lycosa.cli.crawl:check",
            "thesaurus": "lycosa.cli.thesaurus:thesaurus",
            "identity": "lycosa.cli.identity:identity",
        },
    ),
    VerbGroup(
        "Look",
        "docs/serve.md",
        {
            "status": "lycosa.cli.look:status",
            "serve": "lycosa.cli.serve:serve",
            "mcp": "lycosa.cli.serve:mcp",
            "search": "lycosa.cli.look:search",
            "query": "lycosa.cli.look:query",
            "why": "lycosa.cli.look:why",
            "changes": "lycosa.cli.changes:changes",
            "report": "lycosa.cli.report:report",
        },
    ),
    VerbGroup(
        "Take out",
        "docs/quarries.md",
        {
            "extract": "lycosa.cli.take_out:extract",
            "analyse": "lycosa.cli.take_out:analyse",
            "export": "lycosa.cli.export:export",
        },
    ),
    VerbGroup(
        "Keep in order",
        "docs/reliability.md",
        {
            "import": "lycosa.cli.take_in:take_in",
            "forget": "lycosa.cli.take_in:forget",
            "verify": "lycosa.cli.keep:verify",
            "merge": "lycosa.cli.keep:merge",
            "copy": "lycosa.cli.keep:copy",
        },
    ),
)
_CORE = {verb: function for group in GROUPS for verb, function in group.verbs.items()}
#: The verbs in the order of the help, each with its function: those of the core, then those of our missions.
VERBS = {**_CORE, **registry.verbs(registry.ours())}

INTERRUPTED = 130  # 128 + SIGINT, as shells count it
UNREAD = 141  # 128 + SIGPIPE, with which other tools end when nobody reads on


#: What is meant to be crawled: a URL, or the name of a host.
_ADDRESS = re.compile(r"\w+://.+|[\w-]+(\.[\w-]+)*\.[a-z]{2,}(:\d+)?(/.*)?", re.IGNORECASE)


class Program(click.Group):
    """The group of all verbs, each loaded when it is first asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_all_verbs())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs in groups, then each mission with what it hunts and its own verbs."""
        sections = list(self._help_sections(ctx))
        width = max(len(word) for _, rows in sections for word, _ in rows)
        for title, rows in sections:
            with formatter.section(title):
                formatter.write_dl([(f"{word:{width}}", text) for word, text in rows])

    def _help_sections(self, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        for group in GROUPS:
            yield f"{group.title} ({group.tour})", [self._help_row(ctx, verb) for verb in group.verbs]
        for mission in registry.every():
            tour = f" ({mission.tour})" if mission.tour else ""
            about = f"{mission.summary[:1].upper()}{mission.summary[1:]}." if mission.summary else ""
            verbs = [verb for verb in registry.verbs([mission]) if verb not in _CORE]
            rows = [self._help_row(ctx, verb) for verb in verbs]
            yield f"Mission {mission.name}{tour}", [(f"crawl {mission.name}", about), *rows]

    def _help_row(self, ctx: click.Context, verb: str) -> tuple[str, str]:
        command = self.get_command(ctx, verb)
        return verb, command.get_short_help_str(limit=100) if command is not None else ""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = VERBS.get(cmd_name) or _all_verbs().get(cmd_name)
        if name is None:
            return None
        try:
            command = load_attribute(name, what="command")
        except UsageError as problem:  # of a mission of another package: the other verbs must still work
            if cmd_name in VERBS:
                raise
            return _make_stub(cmd_name, str(problem))
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if args[1:] and (words := f"{word} {args[1]}") in VERBS:  # the verb of one mission on what another one hunts
            return words, self.get_command(ctx, words), args[2:]
        if word == "help" and word not in _all_verbs():
            return super().resolve_command(ctx, [*args[1:2], "--help"]) if args[1:] else (word, _help, [])
        if _ADDRESS.fullmatch(word) and word not in _all_verbs():
            raise click.UsageError(f"There is no command '{word[:80]}': lycosa crawl {word[:80]} collects it", ctx)
        if (
            word not in VERBS
            and word not in (every := _all_verbs())
            and not word.startswith("-")
            and not ctx.resilient_parsing
        ):
            from lycosa.config.fields import nearest

            meant = nearest(word, every)
            guess = f" (did you mean {meant}?)" if meant else ""
            raise click.UsageError(f"There is no command '{word}'{guess}; allowed: {', '.join(every)}", ctx)
        return super().resolve_command(ctx, args)


@click.command("help")
@click.pass_context
def _help(context: click.Context) -> None:
    """Show what there is."""
    assert context.parent is not None
    click.echo(context.parent.get_help())


def _all_verbs() -> dict[str, str]:
    """All verbs, those of missions of other packages as well; none of theirs replaces one of ours."""
    return {
        **VERBS,
        **{word: name for word, name in registry.verbs(registry.installed()).items() if word not in VERBS},
    }


def _make_stub(name: str, problem: str) -> click.Command:
    """A verb that says why it cannot be used."""

    @click.command(name, short_help="This command cannot be loaded.", context_settings={"ignore_unknown_options": True})
    @click.argument("words", nargs=-1)
    def stub(words: tuple[str, ...]) -> None:
        raise UsageError(problem)

    return stub


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"lycosa {__version__}")
        ctx.exit()


@click.command(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option("--debug", is_flag=True, help="Show the traceback of an unexpected error.")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def program(debug: bool) -> None:
    """Collect one kind of thing across the web: find, fetch, keep, look.

    \b
    lycosa crawl https://example.org/        collect a site into ./collection
    lycosa status                            what is in it
    lycosa export mirror --browsable -o site its pages, to click through

    Each COMMAND --help shows its options; docs/commands.md has examples of all.
    """


def main(arguments: Sequence[str], *, command: click.Command = program) -> int:
    """Run one command line and return its exit code."""
    try:
        code = command.main(list(arguments), prog_name="lycosa", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.format_message())
        return 2
    except click.UsageError as problem:
        verb = problem.ctx.command_path if problem.ctx else "lycosa"
        sentence = " ".join(problem.format_message().split())  # click lists one choice per line
        return _complain(f"{sentence} (see {verb} --help)", code=2)
    except click.ClickException as problem:
        return _complain(problem.format_message(), code=problem.exit_code)
    except LycosaError as problem:
        return _complain(str(problem), code=problem.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted; the same command can be given again", code=INTERRUPTED)
    except SystemExit as ended:
        if ended.code != 1:  # click's answer to a closed pipe, and to nothing else here
            raise
        return UNREAD
    except OSError as problem:
        return _end_after(problem, debug="--debug" in arguments)
    except Exception as problem:
        if "--debug" in arguments:
            raise
        kind = type(problem).__name__
        return _complain(f"unexpected {kind}: {problem} (lycosa --debug … shows where; please report it)", code=1)
    return code if isinstance(code, int) else 0


def run() -> None:
    """The entry point of the `lycosa` command."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a letter gets its number instead
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))


def _open_streams() -> None:
    """Give a program that was started without standard streams (`>&-`, a daemon) some that lead nowhere.

    Otherwise the next file that is opened, perhaps a database, gets the number of standard error, and is written to.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        handle = os.open(os.devnull, os.O_RDWR)
        if handle == number:
            os.set_inheritable(handle, True)
        setattr(sys, name, open(handle, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _complain(sentence: str, *, code: int) -> int:
    from lycosa.output.plain import printable

    lines = [printable(line) for line in sentence.split("\n")]
    print("lycosa: " + "\n  ".join(lines), file=sys.stderr)
    return code


def _end_after(problem: OSError, *, debug: bool) -> int:
    """End after an error of the operating system: a closed pipe is no error, a full disk has its own code."""
    try:
        sys.stdout.flush()
    except OSError:
        # Python must not try again at its end to write what cannot be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if problem.errno == errno.EPIPE:
        return UNREAD
    if debug:
        raise problem
    if is_full(problem):
        return _complain(str(make_fault(problem, str(problem.filename or "The output"))), code=DiskFull.exit_code)
    where = f"{problem.filename}: " if problem.filename else ""
    return _complain(f"{where}{problem.strerror or problem}", code=1)
