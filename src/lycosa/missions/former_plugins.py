"""Plug-ins of missions as they were before manifests: objects with a method for everything that a mission may bring.

Those of other packages are read as manifests: what only names things is asked once, everything else when it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from lycosa.missions.manifest import (
    ChangesAsked,
    CrawlOption,
    FinishedRound,
    MissionManifest,
    Report,
    SideDatabase,
    WebPage,
    describe,
)

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from msgspec import Struct

    from lycosa.analysis.analyzer import Analyzer
    from lycosa.collection.collection import Collection
    from lycosa.export.definition import Export
    from lycosa.graph.properties import PropertyGraph
    from lycosa.output.table import Format
    from lycosa.quarry import Quarry

T = TypeVar("T")
E = TypeVar("E")


class PlainMission:
    """A mission that brings nothing; what each method is for says the field of `MissionManifest` of the same name."""

    name: str = ""
    summary: str = ""
    defaults: Traversable | None = None
    former_quarries: tuple[str, ...] = ()

    def own_settings(self) -> type[Struct] | None:
        """The struct of its own settings (`settings`)."""
        return None

    def complete_settings(self, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        return settings

    def check_settings(self, settings: Mapping[str, Any]) -> Iterable[tuple[tuple[str | int, ...], str]]:
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


#: The name under which an annotation may mention a plug-in.
MissionPlugin = PlainMission


def find_missing_methods(plugin: object) -> list[str]:
    """What an object lacks to be a plug-in."""
    return [word for word in vars(PlainMission) if not word.startswith("_") and not hasattr(plugin, word)]


def read_plugin(plugin: PlainMission) -> MissionManifest:
    """The manifest of a plug-in; what it does not answer costs a sentence, and only that is missing."""
    settings = _answer(plugin, plugin.own_settings, None)
    return MissionManifest(
        name=plugin.name,
        summary=plugin.summary,
        defaults=plugin.defaults,
        former_quarries=tuple(plugin.former_quarries),
        settings=settings or "",
        verbs=dict(_answer(plugin, plugin.verbs, {})),
        query_languages=dict(_answer(plugin, plugin.query_languages, {})),
        crawl_options=tuple(_answer(plugin, plugin.crawl_options, ())),
        pages=tuple(_answer(plugin, plugin.pages, ())),
        side_databases=tuple(_answer(plugin, plugin.side_databases, ())),
        exports=(plugin.exports,),
        **{name: getattr(plugin, name) for name in _FUNCTIONS if _brings(plugin, name)},
    )


_FUNCTIONS = (
    "complete_settings",
    "check_settings",
    "read_settings",
    "quarry",
    "analyzer",
    "report",
    "fill_template",
    "graph",
    "record_changes",
    "refresh",
    "after_round",
)


def _brings(plugin: PlainMission, method: str) -> bool:
    """Whether a plug-in has more than the empty answer to a method."""
    return getattr(type(plugin), method, None) is not getattr(PlainMission, method)


def _answer(plugin: PlainMission, ask: Callable[[], T], empty: E) -> T | E:
    try:
        return ask()
    except (Exception, SystemExit) as error:
        print(f"lycosa: The mission {plugin.name} does not answer: {describe(error)}.", file=sys.stderr)
        return empty
