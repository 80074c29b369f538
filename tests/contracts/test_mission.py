"""What every mission keeps to, whoever made it: ours, and the toy, which comes in by its entry point."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support import toy_mission
from support.make_collection import make_collection

from lycosa import Collection
from lycosa.analysis.analyzer import Analyzer
from lycosa.cli.crawl import MissionOption, crawl
from lycosa.cli.export import options_of
from lycosa.cli.main import VERBS
from lycosa.config.loading import load
from lycosa.config.mission_files import find_mission
from lycosa.config.mission_table import is_name
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.errors import LycosaError
from lycosa.export.core_exports import EXPORTS
from lycosa.export.definition import Export
from lycosa.extract.quarry_loader import load_quarry
from lycosa.missions import registry
from lycosa.missions.api import FinishedRound, MissionPlugin, Report
from lycosa.model import Link, Record
from lycosa.parse import read
from lycosa.quarry import name_of

DOCUMENTS = (
    ("text/html", b"<html><title>t</title><a href='/rss'>x</a>"),
    ("text/xml", b"<rss version='2.0'><channel><title>n</title><item><link>/1</link></item></channel></rss>"),
    ("text/xml", b"<a><b></a>"),
    ("application/json", b'{"a": [1'),
    ("application/octet-stream", bytes(range(256))),
    ("text/plain", b""),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_mission.install(tmp_path_factory.mktemp("toy"))


@pytest.fixture(params=[*registry.BUILT_IN, "feeds"])
def plugin(request: pytest.FixtureRequest, site: Path) -> Iterator[MissionPlugin]:
    """Each mission there is."""
    with toy_mission.installed(site):
        yield registry.find(request.param)


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """A few documents of many kinds, crawled by nobody."""
    pages = [(f"http://a.test/{n}", mime, body) for n, (mime, body) in enumerate(DOCUMENTS)]
    with Collection(make_collection(tmp_path / "c", pages)) as opened:
        yield opened


def test_a_mission_is_called_by_its_name(plugin: MissionPlugin) -> None:
    """The name is a word that settings can hold, and says in a line what it is for."""
    assert is_name(plugin.name)
    assert plugin.summary and "\n" not in plugin.summary
    assert plugin.name in registry.names()


def test_its_settings_are_those_of_a_mission(plugin: MissionPlugin) -> None:
    """They load, carry its name, hunt its quarry, and are read back as they were written."""
    mission = load(find_mission(plugin.name)).mission
    assert mission.name == plugin.name
    assert mission.missions == ((plugin.name,) if plugin.quarry() else ())
    assert load(text=to_toml(mission)).mission == mission


def test_its_quarry_is_loaded_by_the_name_of_the_mission(plugin: MissionPlugin) -> None:
    """Made without arguments; its records are kept under the same name."""
    quarry = plugin.quarry()
    if quarry is not None:
        assert name_of(quarry) == plugin.name
        assert type(load_quarry(Mission(missions=(plugin.name,)))).__qualname__ == type(quarry).__qualname__


def test_its_quarry_answers_whatever_the_document(plugin: MissionPlugin) -> None:
    """Values of the right type, and no exception, also for what is broken."""
    quarry = plugin.quarry()
    if quarry is None:
        return
    for mime, body in DOCUMENTS:
        doc = read("http://a.test/x?y=1", {"content-type": mime}, body)
        kind = quarry.recognise(doc)
        assert kind is None or isinstance(kind, str)
        assert all(isinstance(link, Link) for link in quarry.links(doc))
        assert all(isinstance(link, Link) for link in quarry.links_of_error(doc, 404))
        assert all(isinstance(record, Record) for record in quarry.extract(doc))
        link = Link("/feed.xml", text="feed")
        assert isinstance(quarry.score(link, doc), float)
        assert all(isinstance(value, float) for value in quarry.explain(link, doc).values())
        assert isinstance(quarry.identity(doc.url), str)


def test_its_analyzer_has_its_name(plugin: MissionPlugin) -> None:
    """An analysed collection knows by whom it was analysed."""
    analyzer = plugin.analyzer()
    assert analyzer is None or (isinstance(analyzer, Analyzer) and analyzer.name == plugin.name)


def test_its_verbs_are_commands_with_a_help(plugin: MissionPlugin) -> None:
    """Each has a name of its own, and says in a line what it does."""
    core = set(VERBS) - set(registry.verbs(registry.ours()))
    for word, name in plugin.verbs().items():
        command = registry.load_attribute(name, what="command")
        assert isinstance(command, click.Command)
        assert command.get_short_help_str() and command.help
        assert word not in core


def test_its_exports_are_data(plugin: MissionPlugin) -> None:
    """Each has a name of its own, a summary, a writer that is there, and options that need no value."""
    others = [export.name for export in EXPORTS]
    others += [export.name for each in registry.every() if each.name != plugin.name for export in each.exports()]
    for export in plugin.exports():
        assert isinstance(export, Export) and export.summary
        assert export.name not in others
        assert callable(registry.load_attribute(export.writer, what="export"))
        assert export.endings or export.folder or "format" in options_of(export.options)
        export.options()
        assert all(option.text for option in options_of(export.options).values() if "word" not in option.extra)


def test_its_report_has_sections_or_says_what_it_lacks(plugin: MissionPlugin, collection: Collection) -> None:
    """A collection that it knows nothing of gives an empty page, none, or a sentence."""
    try:
        report = plugin.report(collection)
    except LycosaError as problem:
        assert str(problem)
    else:
        assert report is None or isinstance(report, Report)
        assert all(section.title for section in (report.sections if report else ()))


def test_what_it_keeps_beside_a_collection_is_safe(plugin: MissionPlugin, tmp_path: Path) -> None:
    """A database by its name, which no export replaces; a function brings it along."""
    for database in plugin.side_databases():
        assert database.name.endswith(".db")
        assert not database.merge or callable(registry.load_attribute(database.merge, what="merge"))


def test_what_it_does_after_a_round_is_told(plugin: MissionPlugin, collection: Collection) -> None:
    """Its options are no others' of a crawl; what it has to say are sentences."""
    own = {flag for option in crawl.params if not isinstance(option, MissionOption) for flag in option.opts}
    assert not own & {f"--{option.name}" for option in plugin.crawl_options()}
    said = list(plugin.after_round(collection, FinishedRound(collection.mission, {}, quiet=True)))
    assert all(isinstance(sentence, str) for sentence in said)


def test_its_pages_are_shown_by_functions(plugin: MissionPlugin) -> None:
    """Each has a path of its own; the first one has a title, which stands for the mission."""
    pages = list(plugin.pages())
    assert not pages or pages[0].title
    assert len({(page.path, page.method) for page in pages}) == len(pages)
    assert all(callable(registry.load_attribute(page.view, what="page")) for page in pages)


def test_our_missions_come_in_by_the_same_door() -> None:
    """The table of the registry is that of our entry points, which a checkout does not have."""
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][registry.GROUP] == registry.BUILT_IN


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_a_plugin_is_cheap_to_load(name: str) -> None:
    """Every command loads ours: nothing comes with it that only some need."""
    code = f"import sys; from lycosa.missions import registry; registry.find({name!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {
        "lxml",
        "apsw",
        "click",
        "lycosa.parse.doc",
        "lycosa.collection.collection",
        "importlib.metadata",
    }
