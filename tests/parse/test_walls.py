"""Walls: what stands in the place of a page is told, and no honest page is taken for it."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.walls import NEIGHBOURS, WALLS, Sample, page

from lycosa.parse import read
from lycosa.parse.walls import WallFinder


def find(sample: Sample, finder: WallFinder | None = None, *, known: bool = False) -> str:
    headers = {"content-type": "text/html; charset=utf-8", **sample.headers}
    doc = read(f"https://x.org{sample.path}", headers, sample.body.encode())
    return (finder or WallFinder()).find(doc, headers, status=sample.status, known=known)


def test_there_are_enough_samples() -> None:
    assert len(WALLS) >= 60
    assert len(NEIGHBOURS) >= 200


@pytest.mark.parametrize("sample", WALLS, ids=lambda sample: sample.name)
def test_a_wall_is_told_by_its_maker_or_kind(sample: Sample) -> None:
    assert find(sample) == sample.code


def test_honest_pages_are_no_walls() -> None:
    assert {sample.name: code for sample in NEIGHBOURS if (code := find(sample))} == {}


def test_a_form_that_comes_back_under_other_addresses_is_a_wall() -> None:
    """The first may be the page that it says it is; where it comes again, it stands in the place of another."""
    finder = WallFinder()
    form = page("Members", "<form><input name=u><input type=password name=p><button>Go</button></form>")
    found = [find(Sample("", "", form, path=f"/minutes/{n}"), finder) for n in range(3)]
    assert found == ["", "login", "login"]


def test_a_log_in_where_a_page_was_is_a_wall() -> None:
    form = page("Members", "<form><input name=u><input type=password name=p><button>Go</button></form>")
    assert find(Sample("", "", form), known=True) == "login"
    assert find(Sample("", "", form, path="/login"), known=True) == ""


@settings(max_examples=10, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("table", ["not_found", "out_of_order", "consent"])
def test_what_an_error_is_called_has_a_hint(table: str, data: st.DataObject) -> None:
    """The first look at a title passes over nothing that the closer one would find."""
    words = tomllib.loads(files("lycosa.parse").joinpath("walls.toml").read_text("utf-8"))["words"]
    for pattern in words[table]:
        said = data.draw(st.from_regex(pattern, fullmatch=True)).casefold()
        assert any(hint in " ".join(said.split()) for hint in words["hints"]), (pattern, said)
