"""What every mission keeps to, whoever made it: ours, and the toy, which comes in by its entry point."""

from __future__ import annotations

import os
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
from lycosa.cli.main import VERBS
from lycosa.config.loading import load
from lycosa.config.mission_files import find_mission
from lycosa.config.mission_table import is_name
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.errors import LycosaError
from lycosa.export import core_writers
from lycosa.export.definition import Export, kinds_of, options_of
from lycosa.extract.quarry_loader import load_quarry
from lycosa.lists.definition import ListDefinition
from lycosa.missions import registry
from lycosa.missions.api import FinishedRound, MissionManifest, Report
from lycosa.missions.manifest import load_attribute
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


@pytest.fixture(params=[*registry.BUILT_IN, "feeds", "feeds, as a plug-in"])
def manifest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MissionManifest]:
    """Each mission there is."""
    name, _, is_former = request.param.partition(", as ")
    if name in registry.BUILT_IN:
        yield registry.find(name)
        return
    source = toy_mission.FORMER if is_former else toy_mission.SOURCE
    with toy_mission.installed(toy_mission.install(tmp_path_factory.mktemp("toy"), source)):
        yield registry.find(name)


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """A few documents of many kinds, crawled by nobody."""
    pages = [(f"http://a.test/{n}", mime, body) for n, (mime, body) in enumerate(DOCUMENTS)]
    with Collection(make_collection(tmp_path / "c", pages)) as opened:
        yield opened


def test_a_mission_is_called_by_its_name(manifest: MissionManifest) -> None:
    """The name is a word that settings can hold, and says in a line what it is for."""
    assert is_name(manifest.name)
    assert manifest.summary and "\n" not in manifest.summary
    assert manifest.name in registry.names()


def test_its_settings_are_those_of_a_mission(manifest: MissionManifest) -> None:
    """They load, carry its name, hunt its quarry, and are read back as they were written."""
    mission = load(find_mission(manifest.name)).mission
    assert mission.name == manifest.name
    assert mission.missions == ((manifest.name,) if manifest.quarry else ())
    assert load(text=to_toml(mission)).mission == mission


def test_its_quarry_is_loaded_by_the_name_of_the_mission(manifest: MissionManifest) -> None:
    """Made without arguments; its records are kept under the same name."""
    if (make := manifest.load("quarry")) is not None:
        quarry = make()
        assert name_of(quarry) == manifest.name
        assert type(load_quarry(Mission(missions=(manifest.name,)))).__qualname__ == type(quarry).__qualname__


def test_its_quarry_answers_whatever_the_document(manifest: MissionManifest) -> None:
    """Values of the right type, and no exception, also for what is broken."""
    if (make := manifest.load("quarry")) is None:
        return
    quarry = make()
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


def test_its_analyzer_has_its_name(manifest: MissionManifest) -> None:
    """An analysed collection knows by whom it was analysed."""
    make = manifest.load("analyzer")
    assert make is None or (isinstance(analyzer := make(), Analyzer) and analyzer.name == manifest.name)


def test_what_it_names_is_there(manifest: MissionManifest) -> None:
    """Each class and each function that it names by an import path, which no type checker follows."""
    for field in manifest.__struct_fields__:
        if isinstance(reference := getattr(manifest, field), str) and field not in (
            "name",
            "summary",
            "tour",
            "job",
            "example",
        ):
            assert reference == "" or callable(manifest.load(field)), field
    assert all(callable(load_attribute(name, what="language")) for name in manifest.query_languages.values())
    assert all(callable(load_attribute(each.check, what="check")) for each in manifest.crawl_options if each.check)
    assert all(callable(load_attribute(each.prepare, what="it")) for each in manifest.side_databases if each.prepare)


def test_its_verbs_are_commands_with_a_help(manifest: MissionManifest) -> None:
    """Each has a name of its own, and says in a line what it does."""
    core = set(VERBS) - set(registry.verbs(registry.ours()))
    for word, name in manifest.verbs.items():
        command = load_attribute(name, what="command")
        assert isinstance(command, click.Command)
        assert command.get_short_help_str() and command.help
        assert word not in core


def test_its_exports_are_data(manifest: MissionManifest) -> None:
    """Each has a name of its own, a summary, a writer that is there, and options that need no value."""
    others = [export.name for export in kinds_of(core_writers)]
    others += [export.name for each in registry.every() if each.name != manifest.name for export in each.load_exports()]
    for export in manifest.load_exports():
        assert isinstance(export, Export) and export.summary
        assert export.name not in others
        assert callable(load_attribute(export.writer, what="export"))
        assert export.endings or export.folder or "format" in options_of(export.options)
        export.options()
        assert all(option.text for option in options_of(export.options).values() if "word" not in option.extra)


def test_its_report_has_sections_or_says_what_it_lacks(manifest: MissionManifest, collection: Collection) -> None:
    """A collection that it knows nothing of gives an empty page, none, or a sentence."""
    if (make := manifest.load("report")) is None:
        return
    try:
        report = make(collection)
    except LycosaError as problem:
        assert str(problem)
    else:
        assert report is None or isinstance(report, Report)
        assert all(section.title for section in (report.sections if report else ()))


def test_what_it_keeps_beside_a_collection_is_safe(manifest: MissionManifest, tmp_path: Path) -> None:
    """A database by its name, which no export replaces; a function brings it along."""
    for database in manifest.side_databases:
        assert database.name.endswith(".db")
        assert not database.merge or callable(load_attribute(database.merge, what="merge"))


def test_what_it_does_after_a_round_is_told(manifest: MissionManifest, collection: Collection) -> None:
    """Its options are no others' of a crawl; what it has to say are sentences."""
    own = {flag for option in crawl.params if not isinstance(option, MissionOption) for flag in option.opts}
    assert not own & {f"--{option.name}" for option in manifest.crawl_options}
    after_round = manifest.load("after_round") or (lambda *_: ())
    said = list(after_round(collection, FinishedRound(collection.mission, {}, quiet=True)))
    assert all(isinstance(sentence, str) for sentence in said)


def test_its_pages_are_shown_by_functions_or_lists(manifest: MissionManifest) -> None:
    """Each has a path of its own; the first one has a title, which stands for the mission."""
    pages = list(manifest.pages)
    assert not pages or pages[0].title
    assert len({(page.path, page.method) for page in pages}) == len(pages)
    views = [load_attribute(page.view, what="page") for page in pages]
    assert all(callable(view) or isinstance(view, ListDefinition) for view in views)


@pytest.mark.parametrize(
    ("missions", "quarries", "search"),
    [
        (["geo", "xml", "documents", "records"], "Geo Xml Documents Records", "False"),
        (["geo", "feeds"], "Geo Feeds", "True"),
    ],
)
def test_a_mission_is_known_wherever_it_is_asked_for(
    tmp_path: Path, missions: list[str], quarries: str, search: str
) -> None:
    """In an interpreter that never heard of missions; ours without a search for what is installed, as in a checkout."""
    folder = make_collection(tmp_path / "c", [], mission=f"missions = {missions}")
    code = f"""
import sys
from lycosa.collection.collection import Collection
from lycosa.extract.quarry_loader import load_quarry, split_mission
assert "lycosa.missions.registry" not in sys.modules
missions = split_mission(Collection({str(folder)!r}).mission)
print(*(type(load_quarry(mission)).__name__ for mission in missions), "importlib.metadata" in sys.modules)
"""
    environ = os.environ | {"PYTHONPATH": str(toy_mission.install(tmp_path))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environ)
    assert (done.stdout, done.stderr) == (f"{quarries} {search}\n", "")


def test_our_missions_come_in_by_the_same_door() -> None:
    """The table of the registry is that of our entry points, which a checkout does not have."""
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][registry.GROUP] == registry.BUILT_IN


def test_kinds_of_export_are_cheap_to_load() -> None:
    """The help lists all of them: what only a writer needs comes when it writes."""
    code = "import sys; from lycosa.cli import export; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stdout.split())
    assert {"lycosa.missions.geo.export.writers", "lycosa.missions.documents.export.writers"} <= loaded
    assert not loaded & {
        *("lxml", "rapidfuzz", "re2", "tarfile", "zipfile", "lycosa.export.files", "lycosa.analysis.selection"),
        *("lycosa.missions.documents.catalogue", "lycosa.missions.geo.inventory.inventory"),
        *("lycosa.missions.records.database.store", "lycosa.missions.records.corpus.export"),
    }


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_a_manifest_is_cheap_to_load(name: str) -> None:
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
