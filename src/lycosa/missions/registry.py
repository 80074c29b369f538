"""The registry of missions: the plug-in of each name. Nothing else of the core loads missions.

It knows the missions of this package without a search, and looks for those of other packages, by their entry points,
only when a name is none of ours or when all missions are listed. A mission that cannot be used costs a sentence, and
no command but its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lycosa.config import mission_table
from lycosa.errors import LycosaError, UsageError
from lycosa.missions.api import MissionPlugin, PlainMission, SideDatabase, brings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from importlib.resources.abc import Traversable

    from msgspec import Struct

    from lycosa.analysis.analyzer import Analyzer
    from lycosa.collection.collection import Collection
    from lycosa.collection.property_graph import PropertyGraph
    from lycosa.config.settings import Mission

T = TypeVar("T")

GROUP = "lycosa.missions"
#: The entry points of this package, which is also run from a checkout, where none are installed.
BUILT_IN = {
    "mirror": "lycosa.missions.mirror.plugin:plugin",
    "geo": "lycosa.missions.geo.plugin:plugin",
    "xml": "lycosa.missions.xml.plugin:plugin",
    "documents": "lycosa.missions.documents.plugin:plugin",
    "records": "lycosa.missions.records.plugin:plugin",
}


@cache
def _entry_points() -> dict[str, EntryPoint]:
    """The entry points of other packages, by their names."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in BUILT_IN}


def names() -> list[str]:
    """All missions, ours first."""
    return [*BUILT_IN, *sorted(_entry_points())]


@cache
def find(name: str) -> MissionPlugin:
    """The plug-in of a mission; UsageError where there is none, or none that can be used."""
    if name in BUILT_IN:
        return _check(name, load_attribute(BUILT_IN[name], what="mission"), source="lycosa")
    point = _entry_points().get(name)
    if point is None:
        raise UsageError(mission_table.complain(name))
    source = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        raise UsageError(f"The mission {name} of {source} cannot be loaded: {_describe(error)}.") from error
    return _check(name, found, source=source)


def _check(name: str, found: object, *, source: str) -> MissionPlugin:
    plugin = found() if isinstance(found, type) else found
    lacking = [word for word in vars(PlainMission) if not word.startswith("_") and not hasattr(plugin, word)]
    if lacking:
        what = f"has no {', '.join(lacking)}; inherit from lycosa.missions.api.PlainMission"
        raise UsageError(f"The mission {name} of {source} cannot be used: {type(plugin).__name__} {what}.")
    called = getattr(plugin, "name", "")
    if called != name:
        raise UsageError(f"The mission {name} of {source} cannot be used: it calls itself {called!r}.")
    return plugin  # type: ignore[return-value]  # whatever it is, it has all that the core asks for


def load_attribute(name: str, *, what: str) -> Any:
    """What "package.module:name" names; `what` it is stands in the UsageError."""
    import importlib

    where, _, wanted = name.partition(":")
    try:
        return getattr(importlib.import_module(where), wanted)
    except (Exception, SystemExit) as error:
        raise UsageError(f"The {what} {name} cannot be loaded: {_describe(error)}.") from error


def _describe(error: BaseException) -> str:
    from lycosa.extract.quarry_loader import describe_error

    return describe_error(error)


def _name(kind: type) -> str:
    from lycosa.extract.quarry_loader import find_name

    return find_name(kind)


def ours() -> list[MissionPlugin]:
    """The plug-ins of this package."""
    return [find(name) for name in BUILT_IN]


@cache
def installed() -> tuple[MissionPlugin, ...]:
    """The plug-ins of other packages that can be used; prints a sentence about each that cannot."""
    found = []
    for name in sorted(_entry_points()):
        try:
            found.append(find(name))
        except UsageError as problem:
            print(f"lycosa: {problem}", file=sys.stderr)
    return tuple(found)


def every() -> list[MissionPlugin]:
    """All plug-ins that can be used."""
    return [*ours(), *installed()]


def gather(ask: Callable[[MissionPlugin], Iterable[T]], plugins: Iterable[MissionPlugin]) -> Iterator[T]:
    """What plug-ins answer, one after the other; leaves one that raises out, and prints a sentence about it."""
    for plugin in plugins:
        try:
            yield from list(ask(plugin))
        except LycosaError as problem:
            print(f"lycosa: The mission {plugin.name} could not do its part: {problem}", file=sys.stderr)
        except (Exception, SystemExit) as error:
            print(f"lycosa: The mission {plugin.name} does not answer: {_describe(error)}.", file=sys.stderr)


def verbs(plugins: Iterable[MissionPlugin]) -> dict[str, str]:
    """The verbs that missions bring; of two with one name the first counts."""
    found: dict[str, str] = {}
    for word, command in gather(lambda plugin: plugin.verbs().items(), plugins):
        found.setdefault(word, command)
    return found


def with_method(method: str, plugins: Iterable[MissionPlugin]) -> list[str]:
    """The names of missions that bring something."""
    return [plugin.name for plugin in plugins if brings(plugin, method)]


def analyzer_of(mission: Mission) -> Analyzer:
    """The analyzer for a collection: that of its own mission, or of the first that has one."""
    for name in (*(name for name in mission.missions if Registry().has(name)), *BUILT_IN, *sorted(_entry_points())):
        if (found := find(name).analyzer()) is not None:
            return found
    raise UsageError("No mission that is installed can analyse a collection.")


@contextmanager
def graph_of(collection: Collection) -> Iterator[PropertyGraph]:
    """The property graph of a collection: that of the first of its missions that has one, or that of its pages."""
    for name in collection.mission.missions:
        if Registry().has(name) and (found := find(name).graph(collection)) is not None:
            with found as graph:
                yield graph
            return
    from lycosa.collection.property_graph import web_graph

    yield web_graph(collection)


def databases_to_query(collection: Collection, sql: str) -> dict[str, Path]:
    """The databases of missions that a statement names, brought up to date, by the name before their tables."""
    found = {}
    databases: Iterator[SideDatabase] = gather(lambda plugin: plugin.side_databases(), every())
    for database in databases:
        if database.query_name and f"{database.query_name}." in sql:
            if database.prepare:
                load_attribute(database.prepare, what="database")(collection)
            found[database.query_name] = collection.path / database.name
    return found


def query_language(name: str) -> Any:
    """The function that answers queries over records in a language."""
    for plugin in every():
        if name in (languages := plugin.query_languages()):
            return load_attribute(languages[name], what="query language")
    raise UsageError(f"No mission that is installed can be asked in {name}.")


def merge_side_databases(into: Path, source: Path, name: str) -> list[str]:
    """Bring what missions keep beside a collection into another one; the sentences for people."""
    notes: list[str] = []
    databases: Iterator[SideDatabase] = gather(lambda plugin: plugin.side_databases(), every())
    for database in databases:
        if database.merge and (source / database.name).exists():
            notes += load_attribute(database.merge, what="merge")(into, source, name=name)
    return notes


def refresh(mission: Mission, folder: str | os.PathLike[str]) -> list[str]:
    """Let the missions of a crawl bring up to date what they keep beside its collection; the sentences for people."""
    plugins = [find(name) for name in mission.missions if Registry().has(name)]
    keeping = [plugin for plugin in plugins if brings(plugin, "refresh")]
    if not keeping or not (Path(folder) / "crawl.db").exists():
        return []
    from lycosa.collection.collection import Collection

    try:
        with Collection(folder) as collection:
            return list(gather(lambda plugin: plugin.refresh(collection), keeping))
    except LycosaError:  # damaged, or of another version: what opens it next says so, and repairs it
        return []


class Registry:
    """The registry as `lycosa.config.mission_table` knows it, for the packages that may not import missions."""

    def names(self) -> Sequence[str]:
        return names()

    def has(self, name: str) -> bool:
        return name in BUILT_IN or name in _entry_points()

    def settings(self, name: str) -> Traversable | None:
        return find(name).defaults

    def own_settings(self, name: str) -> type[Struct] | None:
        return find(name).own_settings() if self.has(name) else None

    def complete_settings(self, name: str, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        return find(name).complete_settings(settings, folder)

    def check_settings(self, name: str, settings: Mapping[str, Any]) -> Iterable[tuple[mission_table.Place, str]]:
        return find(name).check_settings(settings)

    def read_settings(self, text: str) -> Mapping[str, Any] | None:
        readers = (plugin for plugin in ours() if brings(plugin, "read_settings"))
        return next((found for plugin in readers if (found := plugin.read_settings(text)) is not None), None)

    def quarry(self, name: str) -> str:
        found = find(name).quarry()
        return "" if found is None else _name(type(found))

    def analyzer(self, name: str) -> str:
        found = find(name).analyzer() if self.has(name) else None
        return "" if found is None else _name(type(found))

    def mission_of(self, quarry: str) -> str:
        return next((plugin.name for plugin in ours() if quarry and quarry in plugin.former_quarries), "")


mission_table.register(Registry())
