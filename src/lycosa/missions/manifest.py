"""The manifest of a mission: one struct that says all that the core knows of one.

An entry point of the group `lycosa.missions` names it:

    [project.entry-points."lycosa.missions"]
    toy = "lycosa_toy:MANIFEST"

The missions of this package come in the same way. What a manifest names by an import path is loaded at its first use:
every command loads every manifest. `docs/missions.md` has an example.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from lycosa.errors import UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from lycosa.config.settings import Mission
    from lycosa.export.definition import Export
    from lycosa.output.html_page import Section

#: "package.module:name" of a class or a function; or that itself, where the module is loaded anyway.
Reference = str | Callable[..., Any]


class SideDatabase(Struct, frozen=True):
    """A database that a mission keeps beside that of the crawl; its name ends in .db, so that no export replaces it."""

    name: str
    #: "package.module:function" of (into, source, *, name) -> notes, which brings its rows into another collection, as
    #: often as it is called; empty: it stays behind.
    merge: str = ""
    #: SQL after rows were forgotten: it has what depends on them made anew.
    after_forgetting: str = ""
    #: The name before its tables in `lycosa query`; empty: they cannot be asked.
    query_name: str = ""
    #: "package.module:function" of (collection), which brings it up to date before it is asked.
    prepare: str = ""


class CrawlOption(Struct, frozen=True):
    """An option that a mission adds to `lycosa crawl`; `after_round` or `crawl_settings` gets what was asked for."""

    name: str  # "check-services"
    summary: str
    metavar: str = ""  # of its value; empty: it has none
    #: "package.module:function" of (value), which refuses a wrong one before the crawl begins.
    check: str = ""
    #: "package.module:function" of (folder) -> the value with which the page crawls a collection on, as one decided
    #: there; empty: without the option. One without `metavar` has any value.
    kept: str = ""
    #: It says what is hunted, may be given several times, and goes to `crawl_settings` instead.
    is_setting: bool = False


class WebPage(Struct, frozen=True):
    """A page for browsers, below the name of the mission. The first one stands for the mission in the navigation."""

    path: str  # below /c/NAME/m/MISSION/: "", "service"; with method, it is there once
    #: "package.module:function" of (lycosa.missions.web.WebRequest) -> View, or a response of Starlette (a file, a
    #: redirection); templates, static files and translations stand in folders beside its module. Or, of a page that is
    #: a list, "package.module:NAME" of a `lycosa.lists.definition.ListDefinition`.
    view: str
    title: str = ""  # in the navigation; empty: it is not there
    method: str = "GET"  # or POST
    has_twin: bool = True  # whether a GET has a JSON twin
    instead_of: str = ""  # of the first page: the page of the core whose tab it takes, as it shows the same and more
    only_reads: bool = False  # a POST of programs that changes nothing, and so needs no token of ours


class MissionManifest(Struct, frozen=True, kw_only=True):
    """What a mission is and brings; all but the name may be missing."""

    #: `lycosa crawl NAME`; its quarry and its analyzer have the same name.
    name: str
    #: What it is for, in one line.
    summary: str = ""
    #: The page that shows it at work, which the help names: a file of the documentation, or an address.
    tour: str = ""
    #: The job that it does, as people call it who do not know the program ("Documents of a faculty"), and an address
    #: at which such a crawl may begin; empty: its summary tells.
    job: str = ""
    example: str = ""

    # Settings

    #: TOML with the settings of its crawls; None: they are the usual ones.
    defaults: Traversable | None = None
    #: The struct of its own settings, which stand in the table [NAME] of a mission file: frozen, with a default for
    #: each. The text under each field is its meaning. A field may be a whole table (dict[str, Any]) or a list of
    #: tables (tuple[dict[str, Any], …]), which is kept as it was given, for `check_settings` to check.
    #: `lycosa.config.mission_table.read_own` reads them of a mission.
    settings: Reference = ""
    #: Those of its own settings that may name files of this machine: the page in the browser does not offer them.
    on_this_machine: tuple[str, ...] = ()
    #: A function of (settings, folder) -> its own settings, with what they name in files of this folder put into them:
    #: a collection keeps them whole. It is asked before `check_settings`; UsageError says what is wrong with a file.
    complete_settings: Reference = ""
    #: A function of (settings) -> what is wrong with its own settings beyond their types: pairs of the place, as
    #: ("ranges", 2, "match"), and why.
    check_settings: Reference = ""
    #: A function of (text) -> the settings in a file of a form of its own, as the tables of a mission file, or None.
    read_settings: Reference = ""

    # What it hunts and finds

    #: What it hunts: a `lycosa.quarry.Quarry` at the top of a module, made without arguments, as worker processes make
    #: their own.
    quarry: Reference = ""
    #: Import paths by which collections of earlier versions name its quarry.
    former_quarries: tuple[str, ...] = ()
    #: What `lycosa analyse NAME` runs, a `lycosa.analysis.analyzer.Analyzer`; it also finds the words for `lycosa
    #: search`.
    analyzer: Reference = ""

    # The command line

    #: Verbs: the word on the command line, and "package.module:function" of a click command.
    verbs: Mapping[str, str] = {}
    #: Modules ("package.module") that declare kinds of `lycosa export`, or such kinds.
    exports: tuple[str | Export | Callable[[], Iterable[Export]], ...] = ()
    #: What may be asked for after each round of a crawl.
    crawl_options: tuple[CrawlOption, ...] = ()
    #: A function of (mission, given) -> (mission, sentences for people), which makes settings of the options that are
    #: settings, before a crawl; `given` has a list of values for each option by its name.
    crawl_settings: Reference = ""
    #: A function of (collection) -> the `Report` of `lycosa report NAME`, or None.
    report: Reference = ""
    #: A function of (collection) -> phrases for `lycosa status`, which tell how its hunt stands.
    status: Reference = ""
    #: A function of (collection, template, form) -> what `lycosa report NAME --template` writes, as html, markdown or
    #: text.
    fill_template: Reference = ""
    #: A function of (collection) -> context manager with the graph that `lycosa query --cypher` asks; None: that of
    #: pages.
    graph: Reference = ""
    #: A function of (collection, ChangesAsked, out, form) -> whether it wrote what became of records, for `lycosa
    #: changes --records`.
    record_changes: Reference = ""
    #: Languages for its records in `lycosa query`: the name ("xpath"), and "package.module:function" of (collection,
    #: query, *, seconds) -> names of the columns, and rows.
    query_languages: Mapping[str, str] = {}

    # The browser

    #: Pages for browsers.
    pages: tuple[WebPage, ...] = ()
    #: A function of (collection, url) -> the `RecordHistory` of each record that comes from this address.
    page_histories: Reference = ""

    # What it keeps

    #: What it keeps beside the database of the crawl.
    side_databases: tuple[SideDatabase, ...] = ()
    #: What of it can be made from a collection again: "package.module:NAME" of each `lycosa.derived.store.Derived`.
    derived: tuple[Reference, ...] = ()
    #: A function of (collection) -> sentences for people, which brings up to date what it keeps beside the database of
    #: the crawl. It is asked before records are replaced (an extraction, a crawl that goes on), after an extraction,
    #: and after each round of a crawl before `after_round`. It must do no harm to be asked twice.
    refresh: Reference = ""
    #: A function of (collection, FinishedRound) -> sentences for people, which does what `crawl_options` were given
    #: for.
    after_round: Reference = ""

    def __post_init__(self) -> None:
        for field, value in ((name, getattr(self, name)) for name in self.__struct_fields__):
            kind = _KINDS.get(field)
            if kind is not None and not isinstance(value, kind):
                what = "a mapping" if kind is Mapping else "a tuple, also of one"
                raise UsageError(f"The manifest of {self.name} gives {value!r:.100} as {field}; allowed: {what}")

    def load(self, field: str) -> Any:
        """The class or the function that a field names; None where the mission brings none."""
        reference = getattr(self, field)
        return load_attribute(reference, what=field.replace("_", " ")) if reference else None

    def load_exports(self) -> Iterator[Export]:
        """The kinds of export, in their order."""
        from lycosa.export.definition import Export, kinds_of

        for each in self.exports:
            if isinstance(each, str):
                yield from kinds_of(load_attribute(each, what="export"))
            elif isinstance(each, Export):
                yield each
            else:
                yield from each()

    def class_name(self, field: str) -> str:
        """The import path of a class, as a process can load it that knows no mission; empty where there is none."""
        reference = getattr(self, field)
        if not reference or isinstance(reference, str):
            return reference or ""
        from lycosa.extract.quarry_loader import find_name

        made = reference()
        return "" if made is None else find_name(type(made))


_KINDS: dict[str, Any] = {
    "former_quarries": (tuple, list),
    "verbs": Mapping,
    "exports": (tuple, list),
    "crawl_options": (tuple, list),
    "query_languages": Mapping,
    "pages": (tuple, list),
    "side_databases": (tuple, list),
    "derived": (tuple, list),
}


def load_attribute(reference: Reference, *, what: str) -> Any:
    """What "package.module:name" or "package.module" names; `what` it is stands in the UsageError."""
    if not isinstance(reference, str):
        return reference
    where, _, wanted = reference.partition(":")
    try:
        module = importlib.import_module(where)
        return getattr(module, wanted) if wanted else module
    except (Exception, SystemExit) as error:
        raise UsageError(f"The {what} {reference} cannot be loaded: {describe(error)}.") from error


def describe(error: BaseException) -> str:
    """An exception of a mission's code in one line."""
    from lycosa.extract.quarry_loader import describe_error

    return describe_error(error)


# What the functions of a mission are given, and give back


class ChangesAsked(Struct, frozen=True):
    """Which changes of records are to be told; empty: those of the last round, extraction or import."""

    since: str = ""  # the number of a round, or a time
    until: int | None = None
    host: str = ""


class FinishedRound(Struct, frozen=True):
    """A round of a crawl that ended well."""

    mission: Mission  # with its secrets, which the collection does not keep
    asked: Mapping[str, str]  # options of this mission that were given, by name
    quiet: bool = False


class Report(Struct, frozen=True):
    """A report: a page about a collection."""

    title: str
    sections: Iterable[Section]
    subtitle: str = "Made by lycosa."


class RecordState(Protocol):
    """What a record held from one change to the next; a struct, whose other fields go out as JSON."""

    @property
    def round(self) -> int: ...
    @property
    def at(self) -> float:
        """When it changed, in seconds since 1970."""

    @property
    def what(self) -> str:
        """ "new", "changed", "gone" or "back"."""

    @property
    def data(self) -> dict[str, Any] | None:
        """None: the record was gone."""


class RecordHistory(Struct, frozen=True):
    """A record of a page's address through the rounds, with what it held each time, the newest first."""

    id: int
    kind: str
    key: str
    is_gone: bool
    versions: Sequence[RecordState]
