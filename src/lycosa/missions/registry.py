"""The registry of missions: the manifest of each name. Nothing else of the core loads missions.

It knows the missions of this package without a search, and looks for those of other packages, by their entry points,
only when a name is none of ours or when all missions are listed. A mission that cannot be used costs a sentence, and
no command but its own. `config/mission_table.py` asks it for the packages that may not import missions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lycosa.config import mission_table
from lycosa.errors import LycosaError, UsageError
from lycosa.missions.former_plugins import find_missing_methods, read_plugin
from lycosa.missions.manifest import MissionManifest, describe, load_attribute

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from lycosa.analysis.analyzer import Analyzer
    from lycosa.collection.collection import Collection
    from lycosa.config.settings import Mission
    from lycosa.derived.store import Derived
    from lycosa.graph.properties import PropertyGraph
    from lycosa.missions.api import RecordHistory

T = TypeVar("T")

GROUP = "lycosa.missions"
#: The entry points of this package, which is also run from a checkout, where none are installed.
BUILT_IN = {
    "mirror": "lycosa.missions.mirror.manifest:MANIFEST",
    "geo": "lycosa.missions.geo.manifest:MANIFEST",
    "xml": "lycosa.missions.xml.manifest:MANIFEST",
    "documents": "lycosa.missions.documents.manifest:MANIFEST",
    "records": "lycosa.missions.records.manifest:MANIFEST",
    "topic": "lycosa.missions.topic.manifest:MANIFEST",
}


@cache
def _entry_points() -> dict[str, EntryPoint]:
    """The entry points of other packages, by their names."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in BUILT_IN}


def names() -> list[str]:
    """All missions, ours first."""
    return [*BUILT_IN, *sorted(_entry_points())]


def has(name: str) -> bool:
    """Whether there is a mission of this name."""
    return name in BUILT_IN or name in _entry_points()


@cache
def find(name: str) -> MissionManifest:
    """The manifest of a mission; UsageError where there is none, or none that can be used."""
    if name in BUILT_IN:
        return _check(name, load_attribute(BUILT_IN[name], what="mission"), source="lycosa")
    point = _entry_points().get(name)
    if point is None:
        raise UsageError(mission_table.complain(name))
    source = f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        raise UsageError(f"The mission {name} of {source} cannot be loaded: {describe(error)}.") from error
    return _check(name, found, source=source)


def _check(name: str, found: Any, *, source: str) -> MissionManifest:
    """What an entry point names as a manifest, which a plug-in of the former kind is read as."""
    plugin = found() if isinstance(found, type) else found
    if not isinstance(plugin, MissionManifest) and (lacking := find_missing_methods(plugin)):
        what = f"has no {', '.join(lacking)}; make it a lycosa.missions.api.MissionManifest"
        raise UsageError(f"The mission {name} of {source} cannot be used: {type(plugin).__name__} {what}.")
    if plugin.name != name:
        raise UsageError(f"The mission {name} of {source} cannot be used: it calls itself {plugin.name!r}.")
    return plugin if isinstance(plugin, MissionManifest) else read_plugin(plugin)


def kept_options(folder: Path, missions: Iterable[str]) -> list[str]:
    """The options with which the page goes on with the crawl of a collection, as one decided on missions' pages."""
    found = []
    for option in [each for name in missions if name in BUILT_IN for each in find(name).crawl_options if each.kept]:
        if value := load_attribute(option.kept, what="option")(folder):
            found.append(f"--{option.name}={value}" if option.metavar else f"--{option.name}")
    return found


def ours() -> list[MissionManifest]:
    """The missions of this package."""
    return [find(name) for name in BUILT_IN]


@cache
def installed() -> tuple[MissionManifest, ...]:
    """The missions of other packages that can be used; prints a sentence about each that cannot."""
    found = []
    for name in sorted(_entry_points()):
        try:
            found.append(find(name))
        except UsageError as problem:
            print(f"lycosa: {problem}", file=sys.stderr)
    return tuple(found)


def every() -> list[MissionManifest]:
    """All missions that can be used."""
    return [*ours(), *installed()]


def missions_of(mission: Mission) -> list[MissionManifest]:
    """Those of the missions of a crawl that are installed."""
    return [find(name) for name in mission.missions if has(name)]


def gather(ask: Callable[[MissionManifest], Iterable[T]], missions: Iterable[MissionManifest]) -> Iterator[T]:
    """What missions answer, one after the other; leaves one that raises out, and prints a sentence about it."""
    for mission in missions:
        try:
            yield from list(ask(mission))
        except LycosaError as problem:
            print(f"lycosa: The mission {mission.name} could not do its part: {problem}", file=sys.stderr)
        except (Exception, SystemExit) as error:
            print(f"lycosa: The mission {mission.name} does not answer: {describe(error)}.", file=sys.stderr)


def verbs(missions: Iterable[MissionManifest]) -> dict[str, str]:
    """The verbs that missions bring; of two with one name the first counts."""
    found: dict[str, str] = {}
    for word, command in gather(lambda mission: mission.verbs.items(), missions):
        found.setdefault(word, command)
    return found


def with_field(field: str, missions: Iterable[MissionManifest]) -> list[str]:
    """The names of missions that bring something."""
    return [mission.name for mission in missions if getattr(mission, field)]


def analyzer_of(mission: Mission) -> Analyzer:
    """The analyzer for a collection: that of its own mission, or of the first that has one."""
    for name in (*filter(has, mission.missions), *names()):
        if (make := find(name).load("analyzer")) is not None and (found := make()) is not None:
            analyzer: Analyzer = found
            return analyzer
    raise UsageError("No mission that is installed can analyse a collection.")


def derived_for_graph(mission: Mission) -> list[Derived]:
    """What is made from a collection by the mission whose graph it has."""
    for manifest in missions_of(mission):
        if manifest.graph:
            return [load_attribute(each, what="derived data") for each in manifest.derived]
    return []


@contextmanager
def graph_of(collection: Collection) -> Iterator[PropertyGraph]:
    """The property graph of a collection: that of the first of its missions that has one, or that of its pages."""
    for manifest in missions_of(collection.mission):
        if (open_graph := manifest.load("graph")) is not None and (found := open_graph(collection)) is not None:
            with found as graph:
                yield graph
            return
    from lycosa.graph.properties import web_graph

    yield web_graph(collection)


def databases_to_query(collection: Collection, sql: str) -> dict[str, Path]:
    """The databases of missions that a statement names, brought up to date, by the name before their tables."""
    found = {}
    for database in gather(lambda mission: mission.side_databases, every()):
        if database.query_name and f"{database.query_name}." in sql:
            if database.prepare:
                load_attribute(database.prepare, what="database")(collection)
            found[database.query_name] = collection.path / database.name
    return found


def query_language(name: str) -> Any:
    """The function that answers queries over records in a language."""
    for mission in every():
        if name in mission.query_languages:
            return load_attribute(mission.query_languages[name], what="query language")
    raise UsageError(f"No mission that is installed can be asked in {name}.")


def histories_of(collection: Collection, url: str) -> Iterator[RecordHistory]:
    """The records of an address through the rounds, from every mission that keeps versions of them."""
    for mission in every():
        if (read := mission.load("page_histories")) is not None:
            yield from read(collection, url)


def merge_side_databases(into: Path, source: Path, name: str) -> list[str]:
    """Bring what missions keep beside a collection into another one; the sentences for people."""
    notes: list[str] = []
    for database in gather(lambda mission: mission.side_databases, every()):
        if database.merge and (source / database.name).exists():
            notes += load_attribute(database.merge, what="merge")(into, source, name=name)
    return notes


def kept_databases() -> dict[str, str]:
    """What missions keep beside a collection and cannot make again, with the SQL after rows of it were forgotten."""
    return {each.name: each.after_forgetting for each in gather(lambda mission: mission.side_databases, every())}


def settle(mission: Mission, wanted: Mapping[str, Mapping[str, list[str]]]) -> tuple[Mission, list[str]]:
    """The mission of a crawl with what its settings, and `wanted` options by mission, hunt; sentences for people."""
    said: list[str] = []
    for manifest in missions_of(mission):
        if (settle_one := manifest.load("crawl_settings")) is not None:
            mission, sentences = settle_one(mission, wanted.get(manifest.name, {}))
            said += sentences
    return mission, said


def tell_status(collection: Collection) -> list[str]:
    """What the missions of a collection say of how their hunts stand."""
    telling = [manifest for manifest in missions_of(collection.mission) if manifest.status]
    return list(gather(lambda manifest: manifest.load("status")(collection), telling))


def refresh(mission: Mission, folder: str | os.PathLike[str]) -> list[str]:
    """Let the missions of a crawl bring up to date what they keep beside its collection; the sentences for people."""
    keeping = [manifest for manifest in missions_of(mission) if manifest.refresh]
    if not keeping or not (Path(folder) / "crawl.db").exists():
        return []
    from lycosa.collection.collection import Collection

    try:
        with Collection(folder) as collection:
            return list(gather(lambda manifest: manifest.load("refresh")(collection), keeping))
    except LycosaError:  # damaged, or of another version: what opens it next says so, and repairs it
        return []
