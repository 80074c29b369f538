"""The verb `export`: writes a collection as files or lists that other programs read.

The kinds are data, declared above their writers (`export/definition.py`): those of the core, then those of missions.
The fields of their structs become options; one that does not belong to the chosen kind is refused with the kinds that
it goes with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from lycosa.analysis import document_writers
from lycosa.cli.choices import readable_collection_option
from lycosa.config.command_options import refuse_empty_name
from lycosa.errors import UsageError
from lycosa.export import core_writers
from lycosa.export.definition import Export, ExportOption, Written, kinds_of, options_of
from lycosa.missions import registry
from lycosa.missions.manifest import MissionManifest, load_attribute
from lycosa.output.destination import check_ending, report_written

_NAME_WIDTH = 8  # of the column of names in the help


class ExportCommand(click.Command):
    """The command with the exports of the core and of our missions; it looks for others when one is named."""

    def __init__(self) -> None:
        super().__init__("export", callback=self._run)
        self._fixed = [*readable_collection_option(click.command()(lambda: None)).params]
        self._set_exports(_ours())

    def _set_exports(self, exports: Iterable[Export]) -> None:
        self.exports = {each.name: each for each in exports}
        self.params = list(_make_params(self.exports.values(), self._fixed))
        self.help = _make_help(self.exports.values())

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if not {"-h", "--help"} & set(args):
            try:
                return super().make_context(info_name, list(args), parent, **extra)
            except (click.NoSuchOption, click.BadParameter) as problem:
                of_option = isinstance(problem, click.BadParameter) and problem.param is not self.params[0]
                if of_option or not registry.installed():
                    raise
        theirs = registry.gather(MissionManifest.load_exports, registry.installed())
        self._set_exports({each.name: each for each in [*_ours(), *theirs, *_ours()]}.values())
        return super().make_context(info_name, args, parent, **extra)

    def _run(
        self,
        export_kind: str,
        output: str,
        collection: str,
        address: str,
        dataset: bool,
        licence: str,
        **given: Any,
    ) -> None:
        given = {name: value for name, value in given.items() if value not in (None, False, "")}
        if address:
            given["address"] = address
        if licence and not dataset:
            raise UsageError("--licence goes with --dataset, whose descriptions name it.")
        described = Described(licence) if dataset else None
        export = self.exports[export_kind]
        write_export(export, collection, output, given, known=self.exports.values(), described=described)


def _ours() -> list[Export]:
    missions = registry.gather(MissionManifest.load_exports, registry.ours())
    return [*kinds_of(core_writers), *kinds_of(document_writers), *missions]


class Described(NamedTuple):
    """What makes a data set of an export: descriptions beside it, with this licence (an address)."""

    licence: str = ""


def write_export(
    export: Export,
    collection: str,
    output: str,
    given: dict[str, Any],
    *,
    known: Iterable[Export],
    described: Described | None = None,
) -> None:
    """Write a collection as one kind of export; refuses options that are not its own."""
    from lycosa.collection.collection import Collection

    _refuse_options(export, given, list(known))
    if output == "-" and not export.pipe:
        raise UsageError(f"The export {export.name} cannot go into a pipe: name {_describe_place(export)} with -o.")
    if described is not None:
        given = _fit_dataset(export, output, given)
    elif export.endings or export.folder:
        check_ending(output, export.endings)
    options = export.options(**given)
    writer = load_attribute(export.writer, what="export")
    with Collection(collection) as source:
        if described is None:
            written: Written = writer(source, output, options)
        else:
            from lycosa.export.dataset import write_dataset

            written = write_dataset(
                source,
                export,
                Path(output),
                lambda target: writer(source, target, options),
                form=given.get("format", ""),
                licence=described.licence,
                command={"kind": export.name, **given},
            )
    report_written(output, written.said, partial=written.partial)


def _fit_dataset(export: Export, output: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of an export that goes into a data set: its lists are CSV, unless another format is asked for."""
    if output == "-":
        raise UsageError("A data set is a folder: name it with -o.")
    option = options_of(export.options).get("format")
    return {"format": "csv", **given} if option is not None and "csv" in option.choices else given


def _describe_place(export: Export) -> str:
    endings = ", ".join(f".{ending}" for ending in export.endings)
    places = ["its folder"] if export.folder else []
    places += [f"a file that ends in {endings}"] if endings else []
    return ", or ".join(places)


# Options that do not belong to a kind


def _refuse_options(export: Export, given: dict[str, Any], known: Sequence[Export]) -> None:
    own = options_of(export.options)
    for name, value in given.items():
        if name not in own:
            raise UsageError(_describe_misuse(export, name, value, known))
        if own[name].choices and value not in own[name].choices:
            flag = f"{own[name].flag} {value}"
            others = _join(_kinds_with(name, value, known))
            raise UsageError(f"{flag} goes with {others}, not {flag} with {export.name}.")


def _describe_misuse(export: Export, name: str, value: Any, known: Sequence[Export]) -> str:
    kinds = _kinds_with(name, value, known)
    option = next(found for each in known if (found := options_of(each.options).get(name)))
    if "word" in option.extra:
        return f"An address goes with {_join(kinds)}, not with {export.name}."
    near = [each.name for each in known if each.name in kinds and each.heading == export.heading]
    kinds = list(option.extra.get("goes_with", near or kinds))
    values = [word for word in _choices(name, known) if _kinds_with(name, word, known) == kinds]
    if value in values and len(values) > 1 and len(kinds) > 1:  # one word, which means something of several kinds
        flags = _join([f"{option.flag} {word}" for word in values])
        return f"{flags} go with {_join(kinds)}, not {option.flag} {value} with {export.name}."
    return f"{option.flag} goes with {', '.join(kinds)}, not with {export.name}{export.remark}."


def _kinds_with(name: str, value: Any, known: Sequence[Export]) -> list[str]:
    """The kinds that have an option, and this word among its choices where there are any."""
    options = [(each.name, options_of(each.options).get(name)) for each in known]
    return [kind for kind, option in options if option and (not option.choices or value in option.choices)]


def _choices(name: str, known: Sequence[Export]) -> list[str]:
    options = (options_of(each.options).get(name) for each in known)
    return list(dict.fromkeys(word for option in options if option for word in option.choices))


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# The command line


class _KindChoice(click.Choice[str]):
    """The kinds of export; a word that is none gets the kinds that were perhaps meant, and not all of them."""

    def __init__(self, exports: Sequence[Export]) -> None:
        super().__init__([each.name for each in exports])
        self._exports = exports

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.choices:
            return value
        from lycosa.config.fields import nearest

        form = value.lower().removeprefix(".")
        formats = [(each, options_of(each.options).get("format")) for each in self._exports]
        kinds = [each.name for each, option in formats if option and form in option.choices]
        files = [_with_word(each) for each in self._exports if form in each.endings]
        if kinds:
            known = f"{form} is a format of {_join(kinds[:4])}: lycosa export {kinds[0]} --format {form}"
        elif files:
            known = (
                f"such a file is made by lycosa export {files[0]} -o NAME.{form}; the files themselves are written by"
                " lycosa export mirror"
            )
        elif len(value) > 3 and (meant := nearest(value, self.choices)):
            known = f"did you mean {meant}?"
        else:
            known = "the files themselves are written by lycosa export mirror"
        said = f"There is no export {value[:80]!r}: {known}; lycosa export --help lists all."
        raise click.BadParameter(said, ctx, param)


def _with_word(export: Export) -> str:
    """The name of an export, with the word that has to stand behind it."""
    words = [option.extra["word"] for option in options_of(export.options).values() if "word" in option.extra]
    return " ".join([export.name, *words])


def _make_params(exports: Iterable[Export], fixed: Sequence[click.Parameter]) -> Iterator[click.Parameter]:
    exports = list(exports)
    yield click.Argument(["export_kind"], type=_KindChoice(exports), metavar="KIND")
    by_name: dict[str, list[ExportOption]] = {}
    for export in exports:
        for name, option in options_of(export.options).items():
            by_name.setdefault(name, []).append(option)
    word = next((each[0].extra["word"] for each in by_name.values() if "word" in each[0].extra), "URL")
    yield click.Argument(["address"], default="", metavar=f"[{word}]")
    yield click.Option(
        ["-o", "--output"],
        default="-",
        metavar="PATH",
        callback=refuse_empty_name,
        help="Folder, or file; - is the pipe.",
    )
    yield from fixed
    yield click.Option(
        ["--dataset"], is_flag=True, help="Make a folder that says what it holds: Frictionless, RO-Crate, Croissant."
    )
    yield click.Option(["--licence"], default="", metavar="URL", help="The licence that --dataset names.")
    for name, options in by_name.items():
        first = options[0]
        if "word" in first.extra:
            continue
        text = " ".join(dict.fromkeys(option.text for option in options))
        choices = _choices(name, exports)
        is_flag = first.type is bool
        kind = None if is_flag else first.type
        if choices:
            kind = click.Choice(choices)
        metavar = first.extra.get("metavar")
        yield click.Option([first.flag, name], type=kind, is_flag=is_flag, metavar=metavar, help=text)


def _make_help(exports: Iterable[Export]) -> str:
    """The kinds under their headings, then examples."""
    lines = ["Write a collection for other programs."]
    heading = None
    for export in exports:
        if export.heading != heading:
            heading = export.heading
            lines += ["", "\b", *([heading] if heading else [])]
        if len(export.name) < _NAME_WIDTH:
            lines.append(f"{export.name:{_NAME_WIDTH}}{export.summary}")
        else:
            lines += [export.name, f"{'':{_NAME_WIDTH}}{export.summary}"]
    examples = (
        "lycosa export mirror --browsable -o site",
        "lycosa export pages --format csv -o pages.csv",
        "lycosa export graph --by host -o hosts.graphml",
    )
    return "\n".join([*lines, "", "\b", *examples])


export = ExportCommand()
