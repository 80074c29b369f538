"""Rules by pointing: on stored pages of which nothing runs, to a schema of the collection that finds all others."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from support.make_collection import make_collection
from support.serve_client import ServeClient, serving

from lycosa.collection.collection import Collection

PLACE = "/c/shop/m/records/teach"
EVIL = (
    "<script>window.owned = 1</script><img src=x onerror=alert(1)><form action=https://evil.example><button>Buy</form>"
)


def product(number: int) -> tuple[str, str, bytes]:
    body = f"""<html><head><title>Shop</title><style>h1 {{ color: red }}</style></head><body>{EVIL}
    <nav><a href="javascript:alert(1)">Home</a> <a href="/">All</a></nav>
    <h1>Hammer {number}</h1><p>Price: <b class="price">{number}.50 EUR</b></p>
    <p class="maker">Maker {number % 3}</p></body></html>"""
    return f"https://shop.example/tools/h{number}", "text/html", body.encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    about = ("https://shop.example/about", "text/html", b"<h2>About us</h2><p>We sell hammers.")
    return make_collection(tmp_path / "served" / "shop", [about, *map(product, range(10, 18))])


@pytest.fixture
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder.parent) as client:
        yield client


def teach(client: ServeClient, **fields: object) -> int:
    return client.post(PLACE, {"schema": "product", **fields}, page="/new").status


def show(client: ServeClient, **query: object) -> Any:
    more = "".join(f"&{key}={quote(str(value), safe='')}" for key, value in query.items())
    return client.get(f"{PLACE}.json?schema=product{more}").json


def point(client: ServeClient, url: str, text: str) -> int:
    """The number of the element that a click on a text leads to."""
    frame = client.get(f"/c/shop/m/records/teach-frame?schema=product&url={quote(url, safe='')}").text
    found = re.search(rf'href="([^"]*)" target="_top"[^>]*>{re.escape(text)}<', frame)
    assert found, frame
    number = re.search(r"at=(\d+)", found[1])
    assert number
    return int(number[1])


def await_work(client: ServeClient) -> list[Any]:
    deadline = time.monotonic() + 120
    while True:
        works: list[Any] = client.get("/c/shop/work.json").json["works"]
        if not any(one["work"]["is_running"] for one in works):
            return works
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_from_three_pages_to_all_products(client: ServeClient, folder: Path) -> None:
    """Values are pointed at and named; rules are learned, tried on the others, saved, and give all records."""
    for number in (10, 11, 12):
        url = product(number)[0]
        for field, text in (
            ("name", f"Hammer {number}"),
            ("price", f"{number}.50 EUR"),
            ("maker", f"Maker {number % 3}"),
        ):
            at = point(client, url, text)
            assert show(client, url=url, at=at)["value"] == text
            assert teach(client, action="keep", url=url, at=at, field=field) == 303
    shown = show(client, url=product(12)[0])
    assert [(field["name"], field["pages"]) for field in shown["fields"]] == [("name", 3), ("price", 3), ("maker", 3)]
    assert shown["others"][0].startswith("https://shop.example/tools/")
    assert teach(client, action="learn") == 303
    await_work(client)
    shown = show(client)
    by_url = {page["url"]: page for page in shown["tried"]}
    assert by_url["https://shop.example/tools/h15"]["found"]["price"] == ["15.50 EUR"]
    assert by_url["https://shop.example/about"]["lacking"]
    assert teach(client, action="save") == 303
    works = await_work(client)
    assert works[0]["work"]["code"] == 0, works
    with Collection(folder) as collection:
        schema = collection.mission.own["records"]["schemas"]["product"]
        assert schema["fields"]["price"]["required"] and "records" in collection.mission.missions
    rows = client.get("/c/shop/m/records/index.json?kind=product").json
    assert rows["total"] == 8


def test_nothing_of_the_page_runs_or_leads_away(client: ServeClient) -> None:
    """No script, form, picture or link of its own is in the frame; its policy is that of replay."""
    answer = client.get(f"/c/shop/m/records/teach-frame?schema=product&url={quote(product(10)[0], safe='')}")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "sandbox" in answer.headers["content-security-policy"]
    for bad in ("<script", "onerror", "javascript:", "evil.example", '"/"'):
        assert bad not in answer.text
    links = set(re.findall(r'href="([^?"]*)', answer.text))
    assert links == {PLACE}


@pytest.mark.parametrize(
    "fields",
    [
        {"schema": "../x", "action": "keep"},
        {"schema": "A", "action": "keep"},
        {"schema": "", "action": "learn"},
        {"action": "learn"},
        {"action": "save"},
        {"action": "delete"},
        {"action": "keep", "field": "a.b", "url": "https://shop.example/tools/h10", "at": "5"},
        {"action": "keep", "field": "price", "url": "https://shop.example/tools/h10", "at": "99999"},
        {"action": "keep", "field": "price", "url": "file:///etc/passwd", "at": "1"},
        {"action": "keep", "field": "price", "url": "https://shop.example/none", "at": "1"},
    ],
)
def test_what_names_nothing_is_refused(client: ServeClient, folder: Path, fields: dict[str, str]) -> None:
    """Neither another file nor a page that is not stored."""
    assert teach(client, **fields) in (400, 404)
    assert not (folder / "taught").exists() and not (folder / "work").exists()


def test_a_link_is_not_followed(client: ServeClient, folder: Path, tmp_path: Path) -> None:
    """What is taught is written into the collection alone."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "taught").symlink_to(elsewhere)
    assert teach(client, action="keep", url=product(10)[0], at=9, field="name") == 503
    assert list(elsewhere.iterdir()) == []


def test_what_a_stranger_taught_is_bounded(folder: Path, client: ServeClient) -> None:
    """More than people point at is not read: the collection may be anybody's."""
    (folder / "taught").mkdir()
    (folder / "taught/product.toml").write_bytes(b"#" * (2 << 20))
    assert "more than" in show(client)["said"]
    lines = (json.dumps({"page": f"https://a.example/{n}", "values": {"name": ["A"]}}) for n in range(300))
    (folder / "taught/product.jsonl").write_text("\n".join(lines))
    assert client.get(f"{PLACE}?schema=product").status == 503
