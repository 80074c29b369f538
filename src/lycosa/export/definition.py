"""Definition of an export, as data: its name, its options, how its file may be called, and the function that writes it.

Each kind is declared above its writer:

    @export_kind("opml", "feeds for readers", options=OpmlOptions, endings=("opml",))
    def write_opml(collection: Collection, target: str, options: OpmlOptions) -> Written:

Command line and web make their forms from it. An option is a field of the struct in `options`: the field's type says
what may be given, its `Meta` what people read. The aliases below are the options that several exports share. The help
of `lycosa export` loads the modules of all writers, so these import what they need when they write.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Meta, Struct

if TYPE_CHECKING:
    from lycosa.collection.collection import Collection

Form = Annotated[
    Literal["jsonl", "csv", "tsv", "parquet", "table"] | None,
    Meta(description="Default: table on a terminal, the file's suffix, else jsonl."),
]
GraphForm = Annotated[
    Literal["jsonl", "csv", "tsv", "parquet", "table", "graphml"] | None,
    Meta(description="Default: table on a terminal, the file's suffix, else jsonl."),
]
Host = Annotated[
    str, Meta(description="Only this host; *.example.org takes those below it.", extra={"metavar": "NAME"})
]
Kind = Annotated[str, Meta(description="Only those of this kind; W*S takes several.", extra={"metavar": "NAME"})]
Mime = Annotated[
    str,
    Meta(
        description="Only pages of this type: text/html, image/*.", extra={"metavar": "TYPE", "goes_with": ("pages",)}
    ),
]
Round = Annotated[
    int | None, Meta(description="Pages as they were after round N; default: newest copies.", extra={"metavar": "N"})
]
State = Annotated[str, Meta(description="Only those of this state: gone, live…", extra={"metavar": "NAME"})]
Select = Annotated[
    str, Meta(description="Only documents of which it holds: 'kind = xsd'.", extra={"metavar": "CONDITION"})
]
Cluster = Annotated[
    str,
    Meta(description="Only documents of this cluster, or collection of it.", extra={"metavar": "NAME[/NAME]"}),
]
Raw = Annotated[
    bool, Meta(description="In csv and tsv, leave cells as they are that a spreadsheet takes for formulas.")
]
#: A word behind the name of the export, instead of an option.
Address = Annotated[str, Meta(extra={"word": "URL"})]

#: The heading of the exports of analysed collections in the help.
ANALYSED = "After `lycosa analyse`, of the documents that --select or --cluster choose:"


class NoOptions(Struct, frozen=True):
    """The options of an export that has none."""


class Written(Struct, frozen=True):
    """The result of an export that was written."""

    said: str  # "12 files, 34,567 bytes"
    partial: bool = False  # something could not be put into it


#: Writes a collection to a path, or to the pipe ("-"), as the options say.
Writer = Callable[["Collection", str, Any], Written]
Options = TypeVar("Options", bound=Struct)


class Export(Struct, frozen=True, kw_only=True):
    """One kind of `lycosa export`; called as its writer is."""

    name: str
    summary: str
    writer: Writer | str  # or "package.module:function", loaded when it is used
    options: type[Struct] = NoOptions
    endings: tuple[str, ...] = ()  # of the file that it writes; empty for a list, whose endings follow its format
    folder: bool = False  # it may be a folder; without `endings` it always is one
    pipe: bool = True  # it can go into a pipe
    heading: str = ""  # what stands above it in the help
    remark: str = ""  # why it lacks the options of others, as the end of a sentence

    def __call__(self, collection: Collection, target: str, options: Struct) -> Written:
        assert callable(self.writer)
        return self.writer(collection, target, options)


def export_kind(
    name: str,
    summary: str,
    *,
    options: type[Options],
    endings: tuple[str, ...] = (),
    folder: bool = False,
    pipe: bool = True,
    heading: str = "",
    remark: str = "",
) -> Callable[[Callable[[Collection, str, Options], Written]], Export]:
    """Declare the function below as the writer of a kind of export; what the words mean, `Export` says."""

    def declare(writer: Callable[[Collection, str, Options], Written]) -> Export:
        return Export(
            name=name,
            summary=summary,
            writer=writer,
            options=options,
            endings=endings,
            folder=folder,
            pipe=pipe,
            heading=heading,
            remark=remark,
        )

    return declare


def kinds_of(module: ModuleType) -> list[Export]:
    """The kinds of export that a module declares, in its order; not those that it imports."""
    found = [value for value in vars(module).values() if isinstance(value, Export)]
    return [kind for kind in found if isinstance(kind.writer, str) or kind.writer.__module__ == module.__name__]


class ExportOption(NamedTuple):
    """A field of an export's options, as command line and web know it."""

    name: str
    type: Any  # str, bool, int
    choices: tuple[str, ...]
    text: str
    extra: dict[str, Any]

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


@cache
def options_of(struct: type[Struct]) -> Mapping[str, ExportOption]:
    """The options that a struct describes, by name."""
    return {name: _read_option(name, hint) for name, hint in get_type_hints(struct, include_extras=True).items()}


def _read_option(name: str, hint: Any) -> ExportOption:
    meta = next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Meta)), Meta())
    kind = get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(each for each in get_args(kind) if each is not type(None))
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    return ExportOption(name, str if choices else kind, choices, meta.description or "", meta.extra or {})
