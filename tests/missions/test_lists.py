"""Lists by their names: those of the core and of missions, from Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.looked_at_web import make_looked_at

from lycosa import Collection
from lycosa.errors import UsageError
from lycosa.missions.lists import names


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_looked_at(tmp_path_factory.mktemp("lists") / "site")


def test_a_list_gives_what_the_page_shows(folder: Path) -> None:
    """Narrowed by facets and words, sorted, with the columns that are asked for."""
    with Collection(folder) as collection:
        gone = collection.list("urls", facets={"state": "gone"}, columns=("url", "reason"))
        assert gone.columns == ("url", "reason")
        assert ("http://site.example/gone", "http-404") in [*gone]
        sizes = [row[0] for row in collection.list("pages", sort="-size", columns=("size",))]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) == len(collection)
        others = collection.list("pages", facets={"host": ["other.example"]}, columns=("url",))
        assert others.to_pandas().shape == (1, 1)


def test_a_list_of_a_mission_may_be_empty(folder: Path) -> None:
    """Where the collection has none of its items."""
    with Collection(folder) as collection:
        assert [*collection.list("geo/services")] == []


@pytest.mark.parametrize(
    ("name", "facets", "said"),
    [("nothing", {}, "there is pages, urls, hosts"), ("urls", {"colour": "red"}, "there is host, state")],
)
def test_what_is_not_there_is_named(folder: Path, name: str, facets: dict[str, str], said: str) -> None:
    """With what is allowed."""
    with Collection(folder) as collection, pytest.raises(UsageError, match=said):
        collection.list(name, facets=facets)


def test_every_mission_has_its_lists() -> None:
    """By the paths of its pages."""
    assert {"pages", "geo/services", "documents/documents", "documents/contacts", "records/records"} <= {*names()}


def test_pages_as_markdown_and_in_notebooks(folder: Path) -> None:
    """Their content, and a small table of their facts, with nothing of their markup."""
    with Collection(folder) as collection:
        page = collection.page("http://site.example/about")
        assert page is not None
        assert "A new one stands here now." in page.markdown
        assert "http://site.example/about" in page._repr_html_()
        assert "<script" not in "".join(each._repr_html_() for each in collection)
        assert "pages" in collection._repr_html_()
