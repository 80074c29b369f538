"""Definition of an export, as data: its name, its options, how its file may be called, and the function that writes it.

Command line and web make their forms from it. An option is a field of the struct in `options`: the field's type says
what may be given, its `Meta` what people read. The aliases below are the options that several exports share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

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


class Export(Struct, frozen=True, kw_only=True):
    """One kind of `lycosa export`."""

    name: str
    summary: str
    writer: str  # "package.module:function", loaded when it is used: a `Writer`
    options: type[Struct] = NoOptions
    endings: tuple[str, ...] = ()  # of the file that it writes; empty for a list, whose endings follow its format
    folder: bool = False  # it may be a folder; without `endings` it always is one
    pipe: bool = True  # it can go into a pipe
    heading: str = ""  # what stands above it in the help
    remark: str = ""  # why it lacks the options of others, as the end of a sentence
