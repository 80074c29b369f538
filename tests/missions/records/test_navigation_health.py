"""The health of navigation: rules of links that find nothing, addresses that they leave out, lists that shrink."""

from __future__ import annotations

import json
from pathlib import Path

from support.command_line import run
from support.crawl_runs import FAST
from support.loopback import Web, html

MISSION = """
missions = ["records"]
scope = "host"
seeds = ["http://shop.test/"]
[[records.ranges]]
match = '^http://shop.test/(list/[a-z]*)?$'
mode = ["seed", "intermediate"]
category = "list"
[[records.ranges]]
match = '^http://shop.test/p[0-9]+$'
mode = "leaf"
category = "thing"
[records.categories.list]
links = ["css:LINKS", "css:nav"]
paging = "css:a.next"
[records.categories.thing]
schema = "thing"
[records.schemas.thing.fields.name]
rule = "css:h1"
"""


def fill(web: Web, count: int = 60) -> None:
    """A shop with three lists of things, of which a few are teased in the navigation."""
    web["shop.test/"] = html(
        title="Shop", text="<nav><a href=/list/a>A</a> <a href=/list/b>B</a> <a href=/p1>!</a></nav>"
    )
    for nth, name in enumerate("ab"):
        things = "".join(f'<li><a href="/p{n}">Thing {n}</a>' for n in range(nth * 30, min(count, nth * 30 + 30)))
        text = f'<nav><a href="/">Home</a></nav><ul class=things>{things}</ul><a href="/help">Help</a>'
        web[f"shop.test/list/{name}"] = html(title=name, text=text)
    for n in range(60):
        web[f"shop.test/p{n}"] = html(title=f"Thing {n}", text=f"<h1>Thing number {n}</h1>")


def crawl(web: Web, folder: Path, links: str, *words: str) -> str:
    mission = folder / "shop.toml"
    mission.write_text(MISSION.replace("LINKS", links))
    done = run("crawl", str(mission), *FAST, "-c", str(folder / "c"), "--connect-to", web.connect_to, *words)
    assert done.code == 0, done.output
    return done.output


def test_rules_that_find_nothing_and_what_they_leave_out_are_told(web: Web, tmp_path: Path) -> None:
    """At the end of the crawl, in the health of the records, and for each address; a repaired rule ends it."""
    fill(web)
    said = crawl(web, tmp_path, "ol.things")
    assert "links of list: css:ol.things finds nothing on any of 3 pages. For example http://shop.test/" in said
    assert "paging of list: css:a.next finds nothing" in said and "css:nav finds" not in said
    assert "59 addresses are in a range and linked from pages of list, and no rule of links or paging takes" in said
    rows = [
        json.loads(line) for line in run("health", "-c", str(tmp_path / "c"), "--format", "jsonl").output.splitlines()
    ]
    shares = {row["field"]: row["share"] for row in rows if row["kind"] == "@links" and row["area"] == "list"}
    assert shares == {"css:ol.things": 0.0, "css:nav": 1.0, "css:a.next": 0.0, "addresses in ranges": round(4 / 63, 4)}
    assert "59 addresses are" in run("health", "-c", str(tmp_path / "c"), "--format", "table").output
    why = run("why", "http://shop.test/p7", "-c", str(tmp_path / "c"), "--format", "text").output
    assert "Links to it stand on 1 page, as http://shop.test/list/a, and are not followed: " in why
    assert "links by css:ol.things | css:nav, paging by css:a.next" in why
    assert "css:" not in run("extract", str(tmp_path / "shop.toml"), "-c", str(tmp_path / "c")).output  # told already

    said = crawl(web, tmp_path, "ul.things", "--recrawl", "--full")
    assert "finds nothing" not in said and "in a range" not in said
    assert len(run("export", "records", "-c", str(tmp_path / "c")).output.splitlines()) == 60


def test_lists_that_shrink_are_told(web: Web, tmp_path: Path) -> None:
    """By more than chance, in the round that found it; the health keeps the rule that fell."""
    fill(web)
    assert "shrank" not in crawl(web, tmp_path, "ul.things")
    fill(web, 55)
    assert "shrank" not in crawl(web, tmp_path, "ul.things", "--recrawl", "--full")
    fill(web, 30)
    said = crawl(web, tmp_path, "ul.things", "--recrawl", "--full")
    assert "Lists of list shrank: in round 3 those that changed lead to 1 address in ranges; before: 26." in said
