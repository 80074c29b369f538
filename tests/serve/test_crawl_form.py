"""The form for a new crawl: what is taken out of its fields, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.serve.collection_folders import CollectionFolders
from lycosa.serve.crawl_form import CrawlForm, check_form
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
