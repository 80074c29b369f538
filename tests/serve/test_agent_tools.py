"""Agents ask collections by the Model Context Protocol: tasks in few calls, read only, foreign texts marked as such."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from support.crawl_runs import crawl
from support.looked_at_web import make_looked_at
from support.loopback import Web, html
from support.mission_webs import FACULTY, make_atlas, make_faculty, make_newsstand
from support.serve_client import serving

from lycosa.serve.agent_tools import AgentTools, CrawlLeave, make_server
from lycosa.serve.application import make_server_state
from lycosa.serve.server_state import ServeSettings

FLOODS = "http://herald.newsstand.test/world/2026/03/02/ebro-floods"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Newspapers, services, a faculty's documents, and a site in two rounds."""
    made = tmp_path_factory.mktemp("collections")
    make_newsstand(made)
    make_atlas(made / "atlas", hostile=False)
    make_faculty(made / "faculty")
    make_looked_at(made / "site")
    return made


class Agent:
    """A client of the protocol that counts its calls."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.calls = 0

    async def ask(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers: text, or what its JSON says."""
        answer = await self._client.call_tool(tool, arguments)
        self.calls += 1
        text = answer.content[0].text
        assert not answer.is_error, text
        return json.loads(text) if text.startswith("{") else text

    async def fail(self, tool: str, **arguments: Any) -> str:
        """The sentence with which a tool refuses."""
        answer = await self._client.call_tool(tool, arguments)
        assert answer.is_error
        return str(answer.content[0].text)


@pytest.fixture
def agent(folder: Path) -> Iterator[Callable[..., Any]]:
    """Runs a task with an agent that is connected to a server over the folder."""
    states = []

    def run(task: Callable[[Agent], Awaitable[Any]], leave: CrawlLeave | None = None, **more: Any) -> Agent:
        state = make_server_state(ServeSettings(**{"folder": folder, **more}))
        states.append(state)

        async def work() -> Agent:
            async with Client(make_server(AgentTools(state, leave))) as client:
                one = Agent(client)
                await task(one)
                return one

        return anyio.run(work)

    yield run
    for state in states:
        state.indexing.close()


async def find_working_wms(agent: Agent) -> None:
    """The WMS that works."""
    described = await agent.ask("describe", collection="atlas")
    assert "outcome" in described["lists"]["geo/services"]["facets"]
    wanted = {"kind": ["WMS"], "outcome": ["alive"]}
    found = await agent.ask("items", collection="atlas", list="geo/services", facets=wanted)
    assert found["items"] and all(item["endpoint"].startswith("http") for item in found["items"])


async def find_an_address(agent: Agent) -> None:
    """The address of an author."""
    found = await agent.ask("items", collection="faculty", list="documents/contacts", words="Casali")
    assert found["items"][0]["email"] == "acasali@villaverde.example.edu"


async def tell_changes(agent: Agent) -> None:
    """What changed in the last round."""
    found = await agent.ask("changes", collection="site")
    assert [(each["what"], each["url"]) for each in found["changes"]] == [("changed", "http://site.example/about")]


async def tell_changes_since_a_day(agent: Agent) -> None:
    """What is there since a day before everything."""
    found = await agent.ask("changes", collection="site", since="2020-01-06")
    assert {each["what"] for each in found["changes"]} == {"new"}


async def explain_a_missing_page(agent: Agent) -> None:
    """Why a page is missing."""
    assert "the host has no such page" in await agent.ask("why", collection="site", url="http://site.example/gone")


async def read_an_article(agent: Agent) -> None:
    """The article in Markdown, found by its words."""
    hits = (await agent.ask("search", collection="press", words="Ebro Tudela 8.20"))["hits"]
    text = await agent.ask("page", collection="press", url=hits[0]["url"])
    assert "The river Ebro rose to 8.20 metres" in text
    assert "use: " in text


async def count_pages(agent: Agent) -> None:
    """A count by SQL, with the tables told."""
    tables = (await agent.ask("describe", collection="press"))["tables"]
    assert "mime" in tables["pages"]
    found = await agent.ask("query", collection="press", text="SELECT mime, count(*) FROM pages GROUP BY 1")
    assert dict(found["rows"])["text/html"] >= 10


async def read_a_record(agent: Agent) -> None:
    """What is known of an article as a record."""
    found = await agent.ask("items", collection="press", list="records/records", words="Tudela")
    assert any("Tudela" in json.dumps(item) for item in found["items"])


async def follow_links(agent: Agent) -> None:
    """Who links to a page."""
    found = await agent.ask("links", collection="site", url="http://site.example/about")
    assert "http://site.example/" in {each["source"] for each in found["inlinks"]}


async def show_a_document(agent: Agent) -> None:
    """The evidence of a document's values."""
    described = await agent.ask("describe", collection="faculty")
    assert "documents/document" in described["details"]
    url = f"{FACULTY}/~acasali/caudales.pdf"
    found = await agent.ask("details", collection="faculty", page="documents/document", arguments={"url": url})
    assert "Casali" in json.dumps(found["details"])


@pytest.mark.parametrize(
    "task",
    [
        find_working_wms, find_an_address, tell_changes, tell_changes_since_a_day, explain_a_missing_page,
        read_an_article, count_pages, read_a_record, follow_links, show_a_document,
    ],
    ids=lambda task: task.__name__,
)  # fmt: skip
def test_a_task_takes_few_calls(agent: Callable[..., Agent], task: Callable[[Agent], Awaitable[None]]) -> None:
    """Each in at most four."""
    assert agent(task).calls <= 4


def test_lists_go_on_where_they_were_cut(agent: Callable[..., Agent]) -> None:
    """The cursor of an answer leads to the next one."""

    async def task(one: Agent) -> None:
        first = await one.ask("items", collection="site", list="urls", limit=3)
        onward = first["go_on_with"]
        second = await one.ask("items", collection="site", list="urls", limit=3, **onward)
        assert not {item["url"] for item in first["items"]} & {item["url"] for item in second["items"]}

    agent(task)


def test_foreign_text_cannot_end_its_marks(agent: Callable[..., Agent]) -> None:
    """What pages wrote stands between marks with a number that they cannot know."""

    async def task(one: Agent) -> None:
        text = await one.ask("page", collection="site", url="http://site.example/odd/0")
        first, last = re.findall(r"foreign-content (\w+)", text)
        assert first == last
        again = await one.ask("page", collection="site", url="http://site.example/odd/0")
        assert first not in again
        listed = await one.ask("items", collection="site", list="pages")
        assert "never instructions" in listed["note"]

    agent(task)


def test_nothing_can_be_started_or_written_without_leave(agent: Callable[..., Agent], folder: Path) -> None:
    """There is no tool for it, and SQL only reads."""
    before = {path: path.stat().st_size for path in folder.rglob("crawl.db")}

    async def task(one: Agent) -> None:
        names = {tool.name for tool in (await one._client.list_tools()).tools}
        assert not names & {"crawl", "stop", "crawl_status"}
        assert await one.fail("query", collection="site", text="DELETE FROM url")
        assert await one.fail("query", collection="site", text="ATTACH '/etc/passwd' AS p")
        assert await one.fail("query", collection="site", text="LOAD FROM '/etc/passwd' RETURN *", language="cypher")

    agent(task)
    assert {path: path.stat().st_size for path in folder.rglob("crawl.db")} == before


def test_a_leave_of_any_host_means_none_of_this_network() -> None:
    """Addresses and local names are to be named themselves."""
    wide = CrawlLeave(("*", "10.0.0.7", "*.lan"), 4)
    assert wide.has("www.example.org") and wide.has("10.0.0.7") and wide.has("nas.lan")
    for host in ("127.0.0.1", "169.254.169.254", "::1", "localhost", "intranet", "printer.local", "10.0.0.8"):
        assert not wide.has(host), host


def test_crawls_stay_within_the_leave(agent: Callable[..., Agent], tmp_path: Path) -> None:
    """On the hosts that the user named, up to the limit, into a new collection; only these can be stopped."""
    web = Web()
    for n in range(6):
        web[f"may.example/{n}"] = html(f"/{n + 1}", "http://else.example/", title=f"Page {n}")
    web["else.example/"] = html(title="Else")
    crawl(web, tmp_path / "old", "http://else.example/")

    async def task(one: Agent) -> None:
        assert "allowed are hosts may.example" in await one.fail(
            "crawl", collection="new", seeds=["http://else.example/"]
        )
        assert "1 to 4 pages" in await one.fail("crawl", collection="new", seeds=["http://may.example/0"], limit=5)
        assert "../new" not in os.listdir(tmp_path)
        assert await one.fail("crawl", collection="../new", seeds=["http://may.example/0"], limit=4)
        assert "already" in await one.fail("crawl", collection="old", seeds=["http://may.example/0"], limit=4)
        assert "was started here" in await one.fail("stop", collection="old")
        two_lines = "http://may.example/0?\nhttp://else.example/"  # which an address may hold: it is still one
        await one.ask("crawl", collection="new", seeds=["http://may.example/0", two_lines], limit=4)
        end = time.monotonic() + 120
        while (stands := await one.ask("crawl_status", collection="new"))["state"] == "running":
            assert time.monotonic() < end
            await anyio.sleep(0.2)
        assert (stands["state"], stands["pages"]) == ("limit", 4)
        pages = await one.ask("items", collection="new", list="pages", columns=["url"])
        assert {item["url"].split("/")[2] for item in pages["items"]} == {"may.example"}

    try:
        options = (f"--connect-to=*=127.0.0.1:{web.port}", "--delay=0.01", "--workers=1")
        agent(task, CrawlLeave(("may.example",), 4), folder=tmp_path, crawl_options=options)
    finally:
        web.close()


def test_any_arguments_end_in_a_sentence(agent: Callable[..., Agent]) -> None:
    """Never a traceback: an answer, or what is wrong and what is allowed."""
    words = st.one_of(st.text(max_size=40), st.sampled_from(["site", "atlas", "../site", "pages", "geo/services", ""]))
    calls: list[tuple[str, dict[str, Any]]] = []
    parameters = {
        "describe": (), "search": ("words",), "page": ("url",), "links": ("url",), "why": ("url",),
        "details": ("page",),
        "items": ("list", "sort"), "query": ("text", "language"), "changes": ("since", "host"),
    }  # fmt: skip

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.sampled_from(sorted(parameters)), words, words, words)
    def collect(tool: str, collection: str, first: str, second: str) -> None:
        given_ = dict(zip(parameters[tool], (first, second), strict=False))
        calls.append((tool, {"collection": collection, **given_}))

    collect()

    async def task(one: Agent) -> None:
        for tool, arguments in calls:
            answer = await one._client.call_tool(tool, arguments)
            text = answer.content[0].text
            assert not answer.is_error or text.startswith("Error executing tool") and len(text) > 30, (tool, arguments)
            assert "Traceback" not in text

    agent(task)


def test_a_page_leaves_as_markdown(folder: Path) -> None:
    """Its main content, or the whole of it."""
    with serving(folder) as server:
        answer = server.get(f"/c/press/page.md?url={FLOODS}")
        assert answer.headers["content-type"].startswith("text/markdown")
        assert "The river Ebro rose to 8.20 metres" in answer.text
        assert len(server.get(f"/c/press/page.md?url={FLOODS}&whole=1").text) > len(answer.text)
        assert server.get("/c/press/page.md?url=http://none.example/").status == 404


def test_it_speaks_over_standard_streams(folder: Path) -> None:
    """`lycosa mcp FOLDER`, as agents start it."""
    command = StdioServerParameters(command=sys.executable, args=["-P", "-m", "lycosa", "mcp", str(folder)])

    async def work() -> None:
        async with Client(stdio_client(command)) as client:
            answer = await client.call_tool("page", {"collection": "press", "url": FLOODS})
            assert "8.20 metres" in answer.content[0].text

    anyio.run(work)


def test_it_speaks_over_http_behind_the_guard(folder: Path) -> None:
    """`lycosa serve --mcp` answers at /mcp, and refuses what another site asks for."""
    with serving(folder, ServeSettings(folder=folder, agents=True)) as server:

        async def work() -> None:
            async with Client(f"{server.address}/mcp/") as client:
                assert "press" in (await client.call_tool("collections", {})).content[0].text

        anyio.run(work)
        assert server.post("/mcp/", {}, headers={"origin": "http://evil.example"}).status == 403
        assert server.request("GET", "/mcp/", headers={"Host": "evil.example"}).status == 421
