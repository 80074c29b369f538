"""Queries from the page: they only read, end in time, and are kept under names."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from arro3.io import read_parquet
from support import unguarded_graph
from support.make_collection import make_collection
from support.serve_client import PageAnswer, ServeClient, serving

from lycosa.errors import LycosaError, UsageError
from lycosa.missions.graph_query import ask_graph
from lycosa.process import apart
from lycosa.serve import query_page
from lycosa.serve.query_page import LIMITS, QueryAnswer, QueryTask, answer_query, run_query

PAGES = [(f"https://a{n % 3}.example/{n}", "text/html", b"<title>%d</title>" % n) for n in range(9)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("asked")
    make_collection(root / "c", PAGES)
    return root


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder) as client:
        yield client


def ask(client: ServeClient, text: str, *, twin: bool = True, **more: str) -> PageAnswer:
    return client.get(f"/c/c/query{'.json' if twin else ''}?{urlencode({'text': text, **more})}")


def test_the_three_languages_answer(client: ServeClient) -> None:
    """SQL over the collection, Cypher over its graph, SPARQL over a thesaurus."""
    answer = ask(client, "SELECT host, count(*) AS pages FROM pages GROUP BY host ORDER BY host").json
    assert answer["columns"] == ["host", "pages"] and answer["rows"] == [[f"a{n}.example", 3] for n in range(3)]
    answer = ask(client, "MATCH (p:Page) RETURN count(p) AS pages", language="cypher").json
    assert answer["rows"] == [[9]]
    answer = ask(client, "SELECT ?c { ?c a skos:Concept } LIMIT 2", language="sparql").json
    assert len(answer["rows"]) == 2


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sql", "DELETE FROM url"),
        ("sql", "DELETE FROM pages"),
        ("sql", "INSERT INTO meta VALUES ('a', 1)"),
        ("sql", "ATTACH '/etc/passwd' AS x"),
        ("sql", "PRAGMA writable_schema = 1"),
        ("sql", "SELECT load_extension('x')"),
        ("sql", "SELECT 1; DROP TABLE url"),
        ("sql", "VACUUM INTO '/tmp/x'"),
        ("sql", "SELECT zeroblob(2000000000)"),
        ("sql", ";"),
        ("cypher", "CREATE (p:Page {url: 'x'})"),
        ("cypher", "MATCH (p) DETACH DELETE p"),
        ("cypher", "COPY (MATCH (p) RETURN p) TO '/tmp/x.csv'"),
        ("cypher", "LOAD FROM '/etc/passwd' RETURN *"),
        ("cypher", "MATCH (p:Page) WHERE 1 = 1LOAD FROM '/etc/passwd' (file_format = 'csv', header = false) RETURN *"),
        ("sparql", "DELETE WHERE { ?a ?b ?c }"),
        ("sparql", "SELECT * { SERVICE <http://127.0.0.1:1/> { ?a ?b ?c } }"),
    ],
)
def test_what_would_write_or_leave_is_refused(client: ServeClient, folder: Path, language: str, text: str) -> None:
    """With a sentence, and nothing is changed."""
    before = (folder / "c" / "crawl.db").read_bytes()
    answer = ask(client, text, twin=False, language=language)
    assert answer.status == 400 and 'role="alert"' in answer.text and "Traceback" not in answer.text
    assert (folder / "c" / "crawl.db").read_bytes() == before
    assert not Path("/tmp/x").exists() and not Path("/tmp/x.csv").exists()


def test_a_query_over_the_graph_opens_no_file(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one in which no word betrays it."""
    monkeypatch.setenv("PYTHONPATH", str(Path(unguarded_graph.__file__).parents[1]))

    def ask(text: str) -> QueryAnswer:
        task = QueryTask(str(folder / "c"), "cypher", text)
        return apart.run(answer_query, task, LIMITS["cypher"], prepare=unguarded_graph.open_unguarded)

    (tmp_path / "secret.csv").write_text("a,b\n")
    secret, out = tmp_path / "secret.csv", tmp_path / "out.csv"
    for text in (f"LOAD FROM '{secret}' RETURN *", f"COPY (MATCH (p:Page) RETURN p.url) TO '{out}'"):
        with pytest.raises(UsageError, match="cannot be run"):
            ask(text)
    assert not out.exists()
    assert ask("MATCH (p:Page) RETURN count(p)").rows == [[9]]


def test_only_a_few_queries_run_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may take its time and memory; who comes too much is told to wait."""
    monkeypatch.setattr(query_page, "_PATIENCE_S", 0.1)
    monkeypatch.setattr(query_page, "_AT_ONCE", threading.BoundedSemaphore(1))
    with query_page._AT_ONCE, pytest.raises(UsageError, match="Other queries are running"):
        run_query(QueryTask(str(folder / "c"), "sql", "SELECT 1"))
    assert run_query(QueryTask(str(folder / "c"), "sql", "SELECT 1")).rows == [[1]]


def test_a_query_that_takes_too_long_is_ended(folder: Path) -> None:
    """After its limit, whatever it does."""
    endless = "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t"
    with pytest.raises(UsageError, match=r"took longer than 0\.5 s"):
        run_query(QueryTask(str(folder / "c"), "sql", endless, seconds=0.5))


def test_a_query_over_the_graph_ends_in_time_however_many_rows_it_finds(folder: Path) -> None:
    """On the command line its rows are written as they come, up to its time."""
    pages = ", ".join(f"(p{n}:Page)" for n in range(8))
    columns = ", ".join(f"p{n}.url" for n in range(8))
    with pytest.raises(LycosaError, match="took longer than 1 s and was ended; --timeout allows more"):
        for _ in ask_graph(str(folder / "c"), f"MATCH {pages} RETURN {columns}", seconds=1.0)[1]:
            pass
    long = f"UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b MATCH {pages} RETURN sum(a * b)"
    with pytest.raises(UsageError, match=r"took longer than 0\.5 s"):
        run_query(QueryTask(str(folder / "c"), "cypher", long, seconds=0.5))


def test_answers_become_charts_graphs_and_files(client: ServeClient) -> None:
    """Where their columns allow it."""
    text = "SELECT host, count(*) FROM pages GROUP BY host"
    assert ask(client, text, twin=False, shape="bars").text.count('<svg class="share"') == 3
    assert "<polyline" in ask(client, text, twin=False, shape="line").text
    part = ask(client, "SELECT host, url FROM pages", shape="graph").json["part"]
    assert len(part["nodes"]) == 12 and len(part["edges"]) == 9
    addresses = {node["kind"]: node["address"] for node in part["nodes"]}
    assert addresses["url"].startswith("/c/c/url?url=https") and not addresses["host"]
    assert ask(client, "SELECT url FROM pages", shape="bars").status == 400
    query = urlencode({"text": text})
    assert client.get(f"/c/c/query/file.csv?{query}").text.splitlines()[1] == "a0.example,3"
    assert client.get(f"/c/c/query/file.parquet?{query}").body[:4] == b"PAR1"


@pytest.mark.parametrize("shape", ["bars", "line"])
def test_a_chart_has_no_numbers_without_end(client: ServeClient, shape: str) -> None:
    """Such a row is left out, as one with words is."""
    values = "VALUES ('a', 'inf'), ('b', 'nan'), ('c', 2)"
    assert [bar["label"] for bar in ask(client, values, shape=shape).json["bars"]] == ["c"]
    assert ask(client, values, twin=False, shape=shape).status == 200


def test_the_head_of_a_file_stands_at_its_beginning_alone(client: ServeClient) -> None:
    """Whatever the names of columns are, and however many rows follow."""
    counted = "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 1200)"
    query = urlencode({"text": f'{counted} SELECT n AS "a\nb" FROM t'})
    text = client.get(f"/c/c/query/file.csv?{query}").text
    assert [row[0] for row in csv.reader(io.StringIO(text))] == ["a\nb", *map(str, range(1, 1201))]


def test_columns_of_one_name_are_told_apart(client: ServeClient) -> None:
    """In a table of Parquet as in lines of JSON."""
    query = urlencode({"text": "SELECT 1 AS a, 2 AS a"})
    body = client.get(f"/c/c/query/file.parquet?{query}").body
    assert read_parquet(io.BytesIO(body)).read_all().column_names == ["a", "a_2"]


def test_bytes_that_are_no_text_are_told(client: ServeClient) -> None:
    """As a robots.txt in another encoding, read as text."""
    answer = ask(client, "SELECT CAST(x'f1' AS TEXT)").json
    assert "hex(" in answer["problem"]


def test_a_long_query_is_asked_and_saved(client: ServeClient) -> None:
    """As long as it may be, it still stands in the address."""
    text = f"SELECT '{'%' * 19_900}'"
    fields = {"name": "long", "language": "sql", "text": text}
    saved = client.post("/c/c/query/save", fields, page="/c/c/query?text=SELECT+1")
    assert client.get(saved.headers["location"]).status == 200
    assert client.post("/c/c/query/delete", {"name": "long"}, page="/c/c/query").status == 303


def test_queries_are_saved_and_deleted(client: ServeClient, folder: Path) -> None:
    """In a file of the collection, with a token alone, whatever their names."""
    name = "<script>alert(1)</script>"
    fields = {"name": name, "language": "sql", "text": "SELECT 1"}
    assert client.post("/c/c/query/save", fields, page="/c/c/query?text=SELECT+1").status == 303
    assert [query["name"] for query in json.loads((folder / "c" / "saved-queries.json").read_text())] == [name]
    text = client.get("/c/c/query").text
    assert "&lt;script&gt;alert" in text and "<script>alert" not in text
    refused = client.request("POST", "/c/c/query/delete", headers={"origin": client.address}, body=b"name=x")
    assert refused.status == 403
    assert client.post("/c/c/query/save", {**fields, "name": ""}, page="/c/c/query").status == 400
    assert client.post("/c/c/query/save", {**fields, "text": "x" * 30_000}, page="/c/c/query").status in (400, 413)
    assert client.post("/c/c/query/delete", {"name": name}, page="/c/c/query").status == 303
    assert json.loads((folder / "c" / "saved-queries.json").read_text()) == []


def test_a_damaged_file_of_saved_queries_is_a_page(client: ServeClient, folder: Path) -> None:
    """It says which file, and what to do."""
    path = folder / "c" / "saved-queries.json"
    path.write_text("{")
    answer = client.get("/c/c/query")
    assert answer.status == 503 and "Traceback" not in answer.text
    assert "saved-queries.json" in answer.text
    path.unlink()
