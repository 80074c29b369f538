"""Pages of missions: a package that is installed beside lycosa brings a mission with templates, files and Spanish."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support import toy_mission
from support.make_collection import make_collection
from support.serve_client import ServeClient, serving

PROJECT = """
[project]
name = "lycosa-webs"
version = "1.0"
[project.entry-points."lycosa.missions"]
webs = "lycosa_webs:plugin"
"""

MODULE = """
from lycosa.missions.api import PlainMission, WebPage

class Webs(PlainMission):
    name = "webs"
    summary = "webs"

    def pages(self):
        return [
            WebPage("", "lycosa_webs_pages.views:show", "Webs"),
            WebPage("knots", "lycosa_webs_pages.views:show_knots", "Knots"),
            WebPage("threads", "lycosa_webs_pages.views:show_threads", "Threads"),
            WebPage("file", "lycosa_webs_pages.views:send_file", has_twin=False),
            WebPage("cut", "lycosa_webs_pages.views:cut", method="POST"),
            WebPage("broken", "lycosa_webs_pages.views:none"),
            WebPage("birds", "lycosa_webs_pages.views:BIRDS", "Birds"),
        ]

plugin = Webs()
"""

VIEWS = """
from contextlib import closing, contextmanager
import apsw
from lycosa.lists.definition import OpenTable, TableList
from starlette.responses import PlainTextResponse, RedirectResponse
from lycosa.errors import UsageError
from msgspec import Struct
from lycosa.missions.web import View, NotFound, read_number, rows_at_once

class Thread(Struct):
    name: str
    colours: list[str]
    box: tuple[float, float]
    knots: dict[str, int]

class Threads(Struct):
    title: str
    pages: int
    threads: list[Thread]

def show(request):
    if request.query.get("wrong"):
        raise UsageError("That is wrong.")
    return View("webs.html", {"title": "<script>alert(1)</script>", "pages": len(list(request.collection.pages()))})

def show_knots(request):
    return View("webs.html", {"title": "knots", "pages": 0}, images="https://tiles.example")

def show_threads(request):
    size, first = rows_at_once(request, 2), 2 * (read_number(request.query, "page", 1) - 1)
    every = [Thread(f"=thread {nth}", ["red", "blue"], (1.5, 2.0), {"knots": nth}) for nth in range(5)]
    chosen = [] if request.query.get("none") else every[first : first + size]
    return View("webs.html", Threads("threads", len(chosen), chosen), rows="threads", row=Thread)

@contextmanager
def open_birds(folder):
    with closing(apsw.Connection(":memory:")) as database:
        database.execute("CREATE TABLE bird (n INTEGER PRIMARY KEY, name, colour)")
        for n in range(5):
            database.execute("INSERT INTO bird VALUES (?, ?, ?)", (n, f"<b>bird {n}", ("red", "grey")[n % 2]))
        yield OpenTable(database, folder / "birds.db", is_current=False)

BIRDS = TableList(
    name="birds", title="Birds", columns=("name", "colour"), shown=("name", "colour"), facets=("colour",),
    keys={"name": "TEXT"}, page_size=2, open=open_birds, items="bird", text="item.name",
)

def send_file(request):
    return PlainTextResponse("a file")

def cut(request):
    return RedirectResponse(request.mission_link("knots", cut=request.form.get("what")), 303)
"""

TEMPLATE = """{% extends "base.html" %}
{% block head %}<script type="module" src="{{ static("webs.js") }}"></script>{% endblock %}
{% block main %}<h1>{{ data.title }}</h1><p>{{ n_(data.pages, "{n} web page", "{n} web pages") }} {{ _("Search") }}
<a href="{{ mission_link("knots", of=1) }}">x</a>
<form method="post" action="{{ mission_link("cut") }}"><input type="hidden" name="token" value="{{ request.token }}">
</form>
{% endblock %}
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeClient]:
    root = tmp_path_factory.mktemp("webs")
    source = root / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "lycosa_webs.py").write_text(MODULE)
    site = toy_mission.install(root, source)
    package = site / "lycosa_webs_pages"
    for folder in ("templates", "static", "locale/es"):
        (package / folder).mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "views.py").write_text(VIEWS)
    (package / "templates" / "webs.html").write_text(TEMPLATE)
    (package / "static" / "webs.js").write_text("export const webs = 1;\n")
    texts = '"Webs" = "Telas"\n"Knots" = "Nudos"\n"{n} web page" = "{n} tela"\n"{n} web pages" = "{n} telas"\n'
    (package / "locale" / "es" / "webs.toml").write_text(texts)
    page = ("https://a.example/", "text/html", b"<title>A</title><p>one")
    mission = 'name = "webs"\nmissions = ["webs"]\n'
    made = make_collection(root / "served" / "spider", [page], mission=mission)
    (made / "lycosa.toml").write_text(mission)
    make_collection(root / "served" / "plain", [page])
    with toy_mission.installed(site), serving(root / "served") as client:
        yield client


def test_a_mission_brings_pages(client: ServeClient) -> None:
    """With a template of its own in our frame, its texts escaped, and the collection open."""
    answer = client.get("/c/spider/m/webs/")
    assert answer.status == 200
    assert "<h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1>" in answer.text
    assert "1 web page " in answer.text and 'class="skip"' in answer.text
    assert 'href="/c/spider/m/webs/knots?of=1"' in answer.text


def test_its_pages_have_twins(client: ServeClient) -> None:
    """As ours do, but for files; errors as well."""
    assert client.get("/c/spider/m/webs/index.json").json["pages"] == 1
    assert client.get("/c/spider/m/webs/knots.json").json == {"title": "knots", "pages": 0}
    assert 'href="/c/spider/m/webs/knots.json?a=1"' in client.get("/c/spider/m/webs/knots?a=1").text
    assert client.get("/c/spider/m/webs/index.json?wrong=1").json["detail"] == "That is wrong."
    assert client.get("/c/spider/m/webs/file").text == "a file"
    assert client.get("/c/spider/m/webs/file.json").status == 404


def test_the_navigation_leads_there(client: ServeClient) -> None:
    """From every page of a collection of that mission, and on its pages to the others; of no other collection."""
    tab = '<li><a href="/c/spider/m/webs/">Webs</a></li>'
    assert tab in client.get("/c/spider/").text
    assert "Knots" not in client.get("/c/spider/").text
    assert "/m/webs/" not in client.get("/c/plain/").text
    text = client.get("/c/spider/m/webs/knots").text
    assert '<a href="/c/spider/m/webs/" aria-current="true">Webs</a>' in text
    assert '<a href="/c/spider/m/webs/knots" aria-current="page">Knots</a>' in text


def test_a_mission_speaks_spanish(client: ServeClient) -> None:
    """By its own tables, and with our words where it has none."""
    text = client.get("/c/spider/m/webs/", accept_language="es").text
    assert "1 tela Buscar" in text
    assert "Nudos" in text
    assert "Telas" in client.get("/c/spider/", accept_language="es").text


def test_files_of_a_mission_are_served(client: ServeClient) -> None:
    """Those in its folder, and nothing beside it."""
    answer = client.get("/static/m/webs/webs.js")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    for path in ("../views.py", "..%2fviews.py", "%2e%2e/views.py", "", "none.js"):
        assert client.get(f"/static/m/webs/{path}").status == 404
    assert client.get("/static/m/none/webs.js").status == 404
    assert client.get("/static/m/../lycosa.css").status == 404


def test_forms_of_a_mission_need_the_token(client: ServeClient) -> None:
    """As ours do."""
    page = "/c/spider/m/webs/"
    answer = client.post("/c/spider/m/webs/cut", {"what": "a b"}, page=page)
    assert (answer.status, answer.headers["location"]) == (303, "/c/spider/m/webs/knots?cut=a+b")
    assert client.post("/c/spider/m/webs/cut", {"token": "x"}, page=page).status == 403
    assert client.post("/c/spider/m/webs/", {}, page=page).status == 404


def test_a_page_may_name_an_origin_of_pictures(client: ServeClient) -> None:
    """That page alone."""
    policy = client.get("/c/spider/m/webs/knots").headers["content-security-policy"]
    assert "img-src 'self' https://tiles.example data:;" in policy
    assert "tiles.example" not in client.get("/c/spider/m/webs/").headers["content-security-policy"]


def test_what_is_not_there_is_a_page(client: ServeClient) -> None:
    """A mission that is not installed, a page that it does not have, a view that cannot be loaded."""
    assert client.get("/c/spider/m/none/").status == 404
    assert client.get("/c/spider/m/webs/none").status == 404
    assert client.get("/c/spider/m/webs/none.json").json["status"] == 404
    assert client.get("/c/none/m/webs/").status == 404
    broken = client.get("/c/spider/m/webs/broken")
    assert broken.status == 400 and "cannot be loaded" in broken.text


def test_a_list_of_a_mission_leaves_as_a_file(client: ServeClient) -> None:
    """All of it, not one page; a spreadsheet takes nothing for a formula."""
    assert len(client.get("/c/web/m/webs/threads.json").json["threads"]) == 2
    answer = client.get("/c/web/m/webs/threads.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "web-threads.csv" in answer.headers["content-disposition"]
    lines = answer.text.splitlines()
    assert lines[0] == "name,colours,box,knots"
    assert lines[1] == """'=thread 0,red; blue,1.5 2,"{""knots"":0}\""""
    assert len(lines) == 6
    rows = [json.loads(line) for line in client.get("/c/web/m/webs/threads.jsonl").text.splitlines()]
    assert [row["name"] for row in rows] == [f"=thread {nth}" for nth in range(5)]
    assert client.get("/c/web/m/webs/threads.parquet").body[:4] == b"PAR1"
    assert client.get("/c/web/m/webs/threads.csv?none=1").text == "name,colours,box,knots\n"


def test_a_page_may_be_a_list(client: ServeClient) -> None:
    """By its definition alone, with the template of all lists, a cursor, chips and files."""
    page = client.get("/c/spider/m/webs/birds?colour=red&sort=-name")
    assert page.status == 200 and "&lt;b&gt;bird 4" in page.text and "<b>bird" not in page.text
    assert "Colour" not in page.text and "colour: red" in page.text and "its last state" in page.text
    twin = client.get("/c/spider/m/webs/birds.json?sort=name").json
    assert [row["name"] for row in twin["birds"]] == ["<b>bird 0", "<b>bird 1"] and not twin["is_current"]
    rest = client.get(f"/c/spider/m/webs/birds.json?sort=name&after={twin['next']}").json
    assert [row[0] for row in rest["rows"]] == ["<b>bird 2", "<b>bird 3"] and (rest["page"], rest["pages"]) == (2, 3)
    assert len(client.get("/c/spider/m/webs/birds.csv?colour=red").text.splitlines()) == 4
    assert "There is nothing yet" not in client.get("/c/spider/m/webs/birds?q=nobody").text
    assert client.get("/c/spider/m/webs/birds?sort=colour").status == 400


@pytest.mark.parametrize("path", ["knots.csv", "file.csv", "threads.exe", "nothing.csv", "cut.csv"])
def test_what_is_no_list_is_no_file(client: ServeClient, path: str) -> None:
    assert client.get(f"/c/web/m/webs/{path}").status == 404
