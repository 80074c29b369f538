"""Exports by a button: made in the background into the collection, kept with a link, deleted; and nothing else."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from support.make_collection import make_collection
from support.serve_client import ServeClient, serving

PLACE = "/c/news/exports"
PAGES = [("https://a.example/", "text/html", b"<title>A</title>"), ("https://b.example/", "text/html", b"<p>B")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_collection(tmp_path / "served" / "news", PAGES)


@pytest.fixture
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder.parent) as client:
        yield client


def export(client: ServeClient, **fields: str) -> int:
    return client.post(PLACE, fields, page=PLACE).status


def await_made(client: ServeClient) -> list[dict[str, object]]:
    deadline = time.monotonic() + 120
    while True:
        made: list[dict[str, object]] = client.get(f"{PLACE}.json").json["made"]
        if not any(one["work"]["is_running"] for one in made):  # type: ignore[index]
            return made
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_an_export_is_made_kept_and_deleted(client: ServeClient, folder: Path) -> None:
    """A list by its options, a folder as an archive; both lie in the collection until they are deleted."""
    assert export(client, export="pages", host="b.example") == 303
    assert export(client, export="mirror") == 303
    mirror, pages = await_made(client)
    answer = client.get(str(pages["file"]))
    assert "b.example" in answer.text and "a.example" not in answer.text
    assert (
        answer.headers["content-disposition"].startswith("attachment")
        and ".csv" in answer.headers["content-disposition"]
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    with zipfile.ZipFile(io.BytesIO(client.get(str(mirror["file"])).body)) as packed:
        assert any(name.endswith("a.example/index.html") for name in packed.namelist())
    assert len(list((folder / "exports").iterdir())) == 2
    for one in (mirror, pages):
        number = one["work"]["number"]  # type: ignore[index]
        assert client.post(f"/c/news/work/{number}/delete", {}, page=PLACE).status == 303
    assert list((folder / "exports").iterdir()) == [] and client.get(f"{PLACE}.json").json["made"] == []


def test_an_address_fills_in_the_form(client: ServeClient) -> None:
    """One export is open, with its options."""
    offered = {each["name"]: each for each in client.get(f"{PLACE}.json?export=pages&host=b.example").json["exports"]}
    assert offered["pages"]["is_open"] and not offered["mirror"]["is_open"]
    assert [each["value"] for each in offered["pages"]["options"] if each["name"] == "host"] == ["b.example"]
    assert "dspace" not in offered and "folder" not in offered  # it has no documents, and was not analysed


@pytest.mark.parametrize(
    "fields",
    [
        {"export": "../../x"},
        {"export": "dspace"},
        {"export": ""},
        {"export": "pages", "format": "../../../tmp/x"},
        {"export": "pages", "round": "-1"},
        {"export": "pages", "round": "9" * 40},
        {"export": "pages", "host": "a\x00b"},
        {"export": "pages", "host": "a\n--output=/tmp/x"},
        {"export": "pages", "host": "h" * 501},
    ],
)
def test_what_no_form_has_is_refused(client: ServeClient, folder: Path, fields: dict[str, str]) -> None:
    """No path, no option and no kind of its own comes from a request."""
    assert export(client, **fields) == 400
    assert not (folder / "work").exists()


def test_fields_that_no_export_has_mean_nothing(client: ServeClient, folder: Path, tmp_path: Path) -> None:
    """Neither the place nor another collection."""
    more = {"output": str(tmp_path / "x"), "collection": "/etc", "--output": "y", "plan": "/etc/passwd"}
    assert export(client, export="urls", host="--output=/tmp/z", **more) == 303
    (made,) = await_made(client)
    assert not (tmp_path / "x").exists() and made["work"]["code"] == 0  # type: ignore[index]


def test_names_and_links_lead_nowhere(tmp_path: Path) -> None:
    """A collection with a strange name exports into its own folder; a link in place of that folder is refused."""
    strange = make_collection(tmp_path / "served" / "a b;$(x)\u202e", PAGES)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with serving(strange.parent) as client:
        name = client.get("/index.json").json["collections"][0]["name"]
        place = f"/c/{quote(name)}/exports"
        (strange / "exports").symlink_to(elsewhere)
        assert client.post(place, {"export": "urls"}, page=place).status == 503
        assert list(elsewhere.iterdir()) == []
        (strange / "exports").unlink()
        assert client.post(place, {"export": "urls"}, page=place).status == 303
        (product,) = [one["work"]["product"] for one in client.get(f"{place}.json").json["made"]]
        assert product.isascii() and product.startswith("exports/a-b-")


def test_code_of_a_strangers_collection_is_not_run(client: ServeClient, folder: Path) -> None:
    """Whatever verb is asked for."""
    (folder / "lycosa.toml").write_text('quarry = "evil.py:Evil"\nseeds = ["https://a.example/"]\n')
    answer = client.post(PLACE, {"export": "urls"}, page=PLACE)
    assert answer.status == 400 and "code of its own" in answer.text
