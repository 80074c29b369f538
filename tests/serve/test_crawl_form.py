"""The form for a new crawl: what is taken out of its fields, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from starlette.datastructures import QueryParams
from support.crawl_runs import crawl
from support.loopback import Web, html
from support.serve_client import serving

from lycosa.config.fields import all_fields
from lycosa.config.loading import load
from lycosa.config.mission_files import find_mission
from lycosa.config.toml import to_toml
from lycosa.errors import UsageError
from lycosa.missions import registry
from lycosa.serve.collection_folders import CollectionFolders
from lycosa.serve.crawl_form import (
    CrawlForm,
    check_form,
    check_settings,
    fill_form,
    read_form,
    read_mission_file,
    usual_mission,
)
from lycosa.serve.form_settings import folded_sections, offered_values, own_section
from lycosa.serve.translations import translator


@pytest.mark.parametrize(
    ("seeds", "urls"),
    [
        ("http://a.example/my page.html", ("http://a.example/my%20page.html",)),
        ("http://a.example/ http://b.example/\r\n# both\r\n\r\nc.example", ("http://a.example/", "http://b.example/")),
        ("http://exa mple.org/", None),
        ("# none", None),
    ],
)
def test_seeds_stand_on_lines(tmp_path: Path, seeds: str, urls: tuple[str, ...] | None) -> None:
    """What is behind a blank is no other host."""
    checked = check_form(CrawlForm(name="new", seeds=seeds), CollectionFolders(tmp_path), translator("en"))
    assert (checked and checked.seeds[:2]) == urls


def test_the_name_of_the_served_folder_is_taken(tmp_path: Path) -> None:
    """Where that is a collection: another one below it could not be told from it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "crawl.db").touch()
    form = CrawlForm(name="mine", seeds="http://127.0.0.1:9/")
    assert check_form(form, CollectionFolders(folder), translator("en")) is None
    assert list(form.complaints) == ["name"]


def test_what_a_form_offers_names_nothing_of_the_machine() -> None:
    """Neither files and folders nor code, databases or private networks; no section of the settings is missing."""
    offered = {setting.key for section in folded_sections() for setting in section.settings}
    refused = {
        "fetch.ca", "fetch.cookie_file", "fetch.identity", "fetch.connect_to", "fetch.allow_private", "fetch.proxy",
        "keep.collection", "keep.database", "keep.archive", "keep.mirror", "keep.index", "log.file", "quarry",
        "render.browser", "policy.learned_from", "seeds_file", "thesaurus",
    }  # fmt: skip
    assert not refused & offered and {"fetch.robots", "accept", "policy.url_terms"} <= offered
    assert {path[0] for path in all_fields() if len(path) == 2} <= {section.name for section in folded_sections()}
    own = {setting.key for name in registry.BUILT_IN if (found := own_section(name)) for setting in found.settings}
    refused |= {"documents.letter", "records.categories", "topic.like", "topic.thesaurus"}
    assert not refused & own and {"documents.depth", "topic.about"} <= own
    form = read_form(QueryParams([(key, "x") for key in refused]))
    assert form.values == {}


@pytest.mark.parametrize("missions", [[], *([name] for name in registry.BUILT_IN)])
def test_each_field_reads_as_the_value_that_it_shows(missions: list[str]) -> None:
    """Whatever a mission says, its form says the same, and nothing where it is as usual."""
    usual = usual_mission(missions)
    sets = [f"{key}={text}" for key, text in offered_values(usual).items()]
    again = load(find_mission(missions[0]) if missions else None, sets=sets).mission
    assert replace(again, own={}) == replace(usual, own={}) and offered_values(again) == offered_values(usual)
    if list(usual.missions) == missions:  # one that hunts nothing is no more than its settings
        assert fill_form(usual).values == {}


def test_a_mission_file_fills_the_form_that_made_it() -> None:
    """What no field stands for is named."""
    form = CrawlForm(missions=["documents"], values={"limits.pages": "7", "accept": "a b\nc", "documents.depth": "2"})
    mission, _ = check_settings(form, translator("en"))
    assert mission
    filled, left = read_mission_file(to_toml(mission, whole=False))
    assert (filled.missions, filled.values, left) == (form.missions, form.values, [])
    assert read_mission_file('[fetch]\nproxy = "http://10.0.0.1:8080"\n')[1] == ["fetch.proxy"]
    text = 'missions = ["records"]\n[records.categories.news]\nschema = "/etc/x.toml"\n'
    assert read_mission_file(text)[1] == ["records.categories"]
    with pytest.raises(UsageError, match="unknown setting"):
        read_mission_file("[limits]\npagez = 1\n")


def test_the_password_of_a_log_in_stands_in_a_file_of_ours(tmp_path: Path) -> None:
    """No list of processes and no collection shows it."""
    login = {"user": "ana", "password": "secret-word", "login_url": "https://a.example/login"}
    form = CrawlForm(name="new", seeds="https://a.example/", login_host="a.example", login=login)
    checked = check_form(form, CollectionFolders(tmp_path), translator("en"))
    assert checked and "secret-word" not in str(checked)
    (file,) = (tmp_path / ".lycosa/passwords").iterdir()
    assert file.read_text() == "secret-word\n" and file.stat().st_mode & 0o077 == 0
    assert f'--set=hosts."a.example".password=file:{file}' in checked.arguments


def test_settings_of_a_collection_are_changed_after_a_look_at_what_that_does(tmp_path: Path) -> None:
    """As many addresses are told as the next crawl opens."""
    web = Web()
    web["site.example/"] = html("/a", "/b/c", "/b/d", title="Site")
    for path in ("a", "b/c", "b/d"):
        web[f"site.example/{path}"] = html(title=path)
    folder = tmp_path / "site"
    crawl(web, folder, "http://site.example/", "--exclude", "/b/")
    with serving(tmp_path) as client:
        page = client.get("/c/site/settings")
        assert 'placeholder="1"' in page.text and "/b/</textarea>" in page.text
        fields = {"limits.pages": "9", "fetch.delay_s": "0"}
        looked = client.post("/c/site/settings", {**fields, "do": "look"}, page="/c/site/settings")
        assert "reject" in looked.text and "It reopens 2 addresses." in looked.text
        assert client.get("/c/site/settings").text.count("/b/</textarea>") == 1
        tried = client.post("/c/site/settings", {**fields, "do": "try", "tried": "http://site.example/b/x"})
        assert "Yes, if robots.txt allows it." in tried.text
        assert client.post("/c/site/settings", {**fields, "do": "change"}).status == 303
    mission = load(folder / "lycosa.toml").mission
    assert (mission.reject, mission.limits.pages, mission.fetch.delay_s) == ((), 9, 0.0)
    assert "2 URLs are now admitted" in crawl(web, folder)
    web.close()
