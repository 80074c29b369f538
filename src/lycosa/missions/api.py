"""The plug-in interface of missions: all that the core knows of one.

A mission is an object with the methods of `MissionPlugin`; an entry point of the group `lycosa.missions` names it:

    [project.entry-points."lycosa.missions"]
    toy = "lycosa_toy:plugin"

The missions of this package come in the same way. Loading a plug-in must be cheap: what it brings is loaded at its
first use. `docs/missions.md` has an example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from msgspec import Struct

from lycosa.config.mission_table import Place
from lycosa.export.definition import Export, NoOptions, Written

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from lycosa.analysis.analyzer import Analyzer
    from lycosa.collection.collection import Collection
    from lycosa.collection.property_graph import PropertyGraph
    from lycosa.config.settings import Mission
    from lycosa.output.html_page import Section
    from lycosa.output.table import Format
    from lycosa.quarry import Quarry

__all__ = [
    "ChangesAsked",
    "CrawlOption",
    "Export",
    "FinishedRound",
    "MissionPlugin",
    "NoOptions",
    "PlainMission",
    "Report",
    "SideDatabase",
    "WebPage",
    "Written",
]


class SideDatabase(Struct, frozen=True):
    """A database that a mission keeps beside that of the crawl; its name ends in .db, so that no export replaces it."""

    name: str
    #: "package.module:function" of (into, source, *, name) -> notes, which brings its rows into another collection, as
    #: often as it is called; empty: it stays behind.
    merge: str = ""
    #: The name before its tables in `lycosa query`; empty: they cannot be asked.
    query_name: str = ""
    #: "package.module:function" of (collection), which brings it up to date before it is asked.
    prepare: str = ""


class ChangesAsked(Struct, frozen=True):
    """Which changes of records are to be told; empty: those of the last round, extraction or import."""

    since: str = ""  # the number of a round, or a time
    until: int | None = None
    host: str = ""


class CrawlOption(Struct, frozen=True):
    """An option that a mission adds to `lycosa crawl`; `after_round` gets what was asked for."""

    name: str  # "check-services"
    summary: str
    metavar: str = ""  # of its value; empty: it has none
    #: "package.module:function" of (value), which refuses a wrong one before the crawl begins.
    check: str = ""


class FinishedRound(Struct, frozen=True):
    """A round of a crawl that ended well."""

    mission: Mission  # with its secrets, which the collection does not keep
    asked: Mapping[str, str]  # options of this plug-in that were given, by name
    quiet: bool = False


class Report(Struct, frozen=True):
    """A report: a page about a collection."""

    title: str
    sections: Iterable[Section]
    subtitle: str = "Made by lycosa."


class WebPage(Struct, frozen=True):
    """A page for browsers, below the name of the mission. The first one stands for the mission in the navigation."""

    path: str  # below /c/NAME/m/MISSION/: "", "service"; with method, it is there once
    #: "package.module:function" of (lycosa.missions.web.WebRequest) -> View, or a response of Starlette (a file, a
    #: redirection); templates, static files and translations stand in folders beside its module.
    view: str
    title: str = ""  # in the navigation; empty: it is not there
    method: str = "GET"  # or POST
    has_twin: bool = True  # whether a GET has a JSON twin
    instead_of: str = ""  # of the first page: the page of the core whose tab it takes, as it shows the same and more
    only_reads: bool = False  # a POST of programs that changes nothing, and so needs no token of ours


class MissionPlugin(Protocol):
    """What a mission brings. Inherit from `PlainMission`, which has an empty answer to everything."""

    #: `lycosa crawl NAME`; its quarry and its analyzer have the same name.
    name: str
    #: What it is for, in one line.
    summary: str
    #: TOML with the settings of its crawls; None: they are the usual ones.
    defaults: Traversable | None
    #: Import paths by which collections of earlier versions name its quarry.
    former_quarries: tuple[str, ...]

    def own_settings(self) -> type[Struct] | None:
        """Its own settings, which stand in the table [NAME] of a mission file: a frozen struct with a default for each.

        The text under each field is its meaning. A field may be a whole table (dict[str, Any]) or a list of tables
        (tuple[dict[str, Any], …]), which is kept as it was given, for `check_settings` to check.
        `lycosa.config.mission_settings.read_own` reads them of a mission.
        """

    def complete_settings(self, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """Its own settings, with what they name in files of this folder put into them: a collection keeps them whole.

        It is asked before `check_settings`; UsageError says what is wrong with a file.
        """

    def check_settings(self, settings: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
        """What is wrong with its own settings beyond their types: the place, as ("ranges", 2, "match"), and why."""

    def read_settings(self, text: str) -> Mapping[str, Any] | None:
        """The settings in a file of a form of its own, as the tables of a mission file; None where it is none."""

    def quarry(self) -> Quarry | None:
        """What it hunts: a class at the top of a module, made without arguments, as worker processes make their own."""

    def analyzer(self) -> Analyzer | None:
        """What `lycosa analyse NAME` runs; it also finds the words for `lycosa search`."""

    def verbs(self) -> Mapping[str, str]:
        """Verbs: the word on the command line, and "package.module:function" of a click command."""

    def exports(self) -> Iterable[Export]:
        """Kinds of `lycosa export`."""

    def report(self, collection: Collection) -> Report | None:
        """The page of `lycosa report NAME`."""

    def fill_template(self, collection: Collection, template: str, form: str | None) -> str | None:
        """What `lycosa report NAME --template` writes, as html, markdown or text; None: it knows no templates."""

    def graph(self, collection: Collection) -> AbstractContextManager[PropertyGraph] | None:
        """The graph that `lycosa query --cypher` asks; None: that of the pages. It can be read within the block."""

    def pages(self) -> Iterable[WebPage]:
        """Pages for browsers."""

    def side_databases(self) -> Iterable[SideDatabase]:
        """What it keeps beside the database of the crawl."""

    def record_changes(self, collection: Collection, asked: ChangesAsked, out: TextIO, form: Format) -> bool:
        """Write what became of records, for `lycosa changes --records`; False: it keeps no versions of them."""

    def query_languages(self) -> Mapping[str, str]:
        """Languages for its records in `lycosa query`: the name ("xpath"), and "package.module:function" of
        (collection, query, *, seconds) -> names of the columns, and rows.
        """

    def refresh(self, collection: Collection) -> Iterable[str]:
        """Bring what it keeps beside the database of the crawl up to date; gives sentences for people.

        It is asked before records are replaced (an extraction, a crawl that goes on), after an extraction, and after
        each round of a crawl before `after_round`. It must do no harm to be asked twice.
        """

    def crawl_options(self) -> Iterable[CrawlOption]:
        """What may be asked for after each round of a crawl."""

    def after_round(self, collection: Collection, finished: FinishedRound) -> Iterable[str]:
        """Do what was asked for; gives sentences for people."""


class PlainMission:
    """A mission that brings nothing yet."""

    name: str = ""
    summary: str = ""
    defaults: Traversable | None = None
    former_quarries: tuple[str, ...] = ()

    def own_settings(self) -> type[Struct] | None:
        return None

    def complete_settings(self, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        return settings

    def check_settings(self, settings: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
        return ()

    def read_settings(self, text: str) -> Mapping[str, Any] | None:
        return None

    def quarry(self) -> Quarry | None:
        return None

    def analyzer(self) -> Analyzer | None:
        return None

    def verbs(self) -> Mapping[str, str]:
        return {}

    def exports(self) -> Iterable[Export]:
        return ()

    def report(self, collection: Collection) -> Report | None:
        return None

    def fill_template(self, collection: Collection, template: str, form: str | None) -> str | None:
        return None

    def graph(self, collection: Collection) -> AbstractContextManager[PropertyGraph] | None:
        return None

    def pages(self) -> Iterable[WebPage]:
        return ()

    def side_databases(self) -> Iterable[SideDatabase]:
        return ()

    def record_changes(self, collection: Collection, asked: ChangesAsked, out: TextIO, form: Format) -> bool:
        return False

    def query_languages(self) -> Mapping[str, str]:
        return {}

    def refresh(self, collection: Collection) -> Iterable[str]:
        return ()

    def crawl_options(self) -> Iterable[CrawlOption]:
        return ()

    def after_round(self, collection: Collection, finished: FinishedRound) -> Iterable[str]:
        return ()


def brings(plugin: MissionPlugin, method: str) -> bool:
    """Whether a plug-in has more than the empty answer to a method."""
    return getattr(type(plugin), method, None) is not getattr(PlainMission, method)
