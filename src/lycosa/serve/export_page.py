"""Export page: every export of a collection's missions and of the core by a button, made in the background.

The forms are made from the exports' definitions; nothing that a form says is a path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from lycosa.analysis import document_writers
from lycosa.errors import LycosaError, UsageError
from lycosa.export import core_writers
from lycosa.export.definition import Export, ExportOption, kinds_of, options_of
from lycosa.missions import registry
from lycosa.serve.background_work import list_work
from lycosa.serve.page_request import PageRequest, View
from lycosa.serve.work_page import WorkShown, shown_work

_ANALYSED = "analysis.db"
_MOST_CHARS = 500


class OfferedOption(Struct, frozen=True):
    """A field of an export's form."""

    name: str
    text: str
    kind: str  # text, number, choice, switch
    choices: tuple[str, ...] = ()
    value: str = ""  # that was asked for in the address
    is_required: bool = False


class OfferedExport(Struct, frozen=True):
    """An export that a button makes."""

    name: str
    summary: str
    mission: str  # empty: of the core
    options: tuple[OfferedOption, ...]
    is_open: bool = False  # it was asked for in the address


class ExportPage(Struct, frozen=True):
    """What can be made, and what was made."""

    exports: tuple[OfferedExport, ...]
    made: list[WorkShown]


def show_exports(request: PageRequest) -> View:
    """The exports of a collection: ?export=… opens one, with its options as they stand behind."""
    chosen = request.query.get("export", "")
    offered = tuple(
        OfferedExport(
            name=export.name,
            summary=export.summary,
            mission=mission,
            options=tuple(_offer_options(export, request if export.name == chosen else None)),
            is_open=export.name == chosen,
        )
        for mission, export in _list_exports(request)
    )
    made = [shown_work(request, work) for work in list_work(request.folder) if work.words == ["export"]]
    return View("exports.html", ExportPage(offered, made))


def make_export(request: PageRequest) -> Response:
    """Start an export with the options of a form."""
    form = request.form
    kind = form.get("export", "")
    export = next((each for _, each in _list_exports(request) if each.name == kind), None)
    if export is None:
        raise UsageError(f"There is no export {kind[:60]!r} of this collection.")
    words, address, form_chosen = ["export", export.name], [], ""
    for name, option in options_of(export.options).items():
        value = "" if option.extra.get("is_path") else form.get(name, "").strip()
        if name == "format" and not value:
            value = _usual_format(option)
        if not value:
            continue
        _check(option, value)
        form_chosen = value if name == "format" else form_chosen
        if "word" in option.extra:
            address = ["--", value]
        else:
            words.append(option.flag if option.type is bool else f"{option.flag}={value}")
    product = _name_product(request, export, form_chosen)
    words += [f"--output={request.folder / product}", *address]
    label = request.translate("Export {kind}", kind=export.name)
    request.start_work(words, label=label, product=product)
    return RedirectResponse(request.link("exports"), 303)


def _list_exports(request: PageRequest) -> Iterator[tuple[str, Export]]:
    """The exports of the collection's missions, then those of all collections."""
    try:
        missions = request.server_state.summaries.read(request.name, request.folder).missions
    except LycosaError:
        missions = []
    for name in missions:
        if name in registry.BUILT_IN:
            yield from ((name, export) for export in registry.find(name).load_exports())
    if (request.folder / _ANALYSED).exists():
        yield from (("", export) for export in kinds_of(document_writers))
    yield from (("", export) for export in kinds_of(core_writers))


def _offer_options(export: Export, request: PageRequest | None) -> Iterator[OfferedOption]:
    for name, option in options_of(export.options).items():
        if option.extra.get("is_path"):
            continue
        kinds: dict[Any, str] = {bool: "switch", int: "number"}
        yield OfferedOption(
            name=name,
            text=option.text,
            kind="choice" if option.choices else kinds.get(option.type, "text"),
            choices=tuple(each for each in option.choices if each not in ("", "table")),
            value=(request.query.get(name, "")[:_MOST_CHARS] if request else "")
            or (_usual_format(option) if name == "format" else ""),
            is_required="word" in option.extra,
        )


def _usual_format(option: ExportOption) -> str:
    return "csv" if "csv" in option.choices else ""


def _check(option: ExportOption, value: str) -> None:
    """Refuse a value that no such option has; what remains to be said, the export says."""
    if option.choices and value not in option.choices:
        raise UsageError(f"{option.name} is {value[:40]!r}; allowed: {', '.join(filter(None, option.choices))}.")
    if option.type is int and not (value.isascii() and value.isdecimal() and len(value) < 10):
        raise UsageError(f"{option.name} is {value[:40]!r}; allowed: a number.")
    if len(value) > _MOST_CHARS or not value.isprintable():
        raise UsageError(f"{option.name} is {value[:40]!r}; allowed: a text of one line.")


def _name_product(request: PageRequest, export: Export, form: str) -> str:
    """The file or folder that an export fills."""
    endings = export.endings or (() if export.folder else (form or "jsonl",))
    ending = form if form in endings else "" if form and export.folder else next(iter(endings), "")
    return request.new_product(export.name, ending)
