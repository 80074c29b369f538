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
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from lycosa.export.definition import Export, NoOptions, Written

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from lycosa.analysis.analyzer import Analyzer
    from lycosa.collection.collection import Collection
    from lycosa.collection.property_graph import PropertyGraph
    from lycosa.config.settings import Mission
    from lycosa.output.html_page import Section
    from lycosa.quarry import Quarry

__all__ = [
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
    """A page for browsers, below the name of the mission."""

    path: str
    title: str
    render: str  # "package.module:function" of (collection, query) -> HTML


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

        The text under each field is its meaning. `lycosa.config.mission_settings.read_own` reads them of a mission.
        """

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

    def graph(self, collection: Collection) -> AbstractContextManager[PropertyGraph] | None:
        """The graph that `lycosa query --cypher` asks; None: that of the pages. It can be read within the block."""

    def pages(self) -> Iterable[WebPage]:
        """Pages for browsers."""

    def side_databases(self) -> Iterable[SideDatabase]:
        """What it keeps beside the database of the crawl."""

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

    def graph(self, collection: Collection) -> AbstractContextManager[PropertyGraph] | None:
        return None

    def pages(self) -> Iterable[WebPage]:
        return ()

    def side_databases(self) -> Iterable[SideDatabase]:
        return ()

    def crawl_options(self) -> Iterable[CrawlOption]:
        return ()

    def after_round(self, collection: Collection, finished: FinishedRound) -> Iterable[str]:
        return ()


def brings(plugin: MissionPlugin, method: str) -> bool:
    """Whether a plug-in has more than the empty answer to a method."""
    return getattr(type(plugin), method, None) is not getattr(PlainMission, method)
