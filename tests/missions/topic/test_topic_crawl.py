"""A hunt for a topic, as a user runs it: from examples, with reasons and marks, tried before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from missions.topic.topic_pages import html
from support.command_line import run
from support.crawl_runs import crawl, rows
from support.loopback import Reply, Web

import lycosa
from lycosa import Collection
from lycosa.errors import UsageError

TOPICS = ("orchids", "roses", "trains")


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    web = Web()
    for topic in TOPICS:
        for n in range(6):
            links = [f"/{other}{(n * 2 + k) % 6}" for k in (1, 2) for other in TOPICS]
            web[f"flowers.test/{topic}{n}"] = Reply(html(topic, n, *links).encode())
    yield web
    web.close()


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples as files: pages, and lists of them."""
    folder = tmp_path_factory.mktemp("examples")
    for name, topic in (("good", "orchids"), ("bad", "roses")):
        for n in range(100, 105):
            (folder / f"{topic}{n}.html").write_text(html(topic, n))
        (folder / f"{name}.txt").write_text("# pages\n" + "".join(f"{topic}{n}.html\n" for n in range(100, 105)))
    entries = [{"page": f"orchids{n}.html", "url": f"http://a.test/{n}"} for n in range(100, 105)]
    (folder / "list.jsonl").write_text("\n".join(map(json.dumps, entries)))
    return folder


@pytest.fixture(scope="module")
def collection(web: Web, lists: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hunt") / "collection"
    like = ("--like", f"{lists}/good.txt", "--unlike", f"{lists}/bad.txt", "--about", "orchid, vanilla")
    crawl(web, folder, "topic", "http://flowers.test/trains0", *like)
    return folder


def judged(folder: Path) -> dict[str, dict[str, object]]:
    with Collection(folder) as collection:
        return {record.url.rpartition("/")[2]: record.data for record in collection.records(quarry="topic")}


def test_what_is_of_the_topic_is_found_with_its_reasons(collection: Path) -> None:
    """Each page has relevance, verdict and the words for and against it; the model stays with the collection."""
    found = judged(collection)
    assert len(found) == 18
    assert {name for name, data in found.items() if data["verdict"] == "yes"} == {f"orchids{n}" for n in range(6)}
    assert "orchid" in str(found["orchids1"]["for"])
    assert rows(collection, "SELECT count(*) FROM pages WHERE kind = 'topic'") == [(6,)]
    assert (collection / "topic.model").exists()
    said = run("why", "http://flowers.test/roses1", "--collection", str(collection), "--format", "text")
    assert "by topic: relevance 0." in said.output
    assert "against it: " in said.output


def test_examples_of_a_mission_file_count_in_python(web: Web, lists: Path, tmp_path: Path) -> None:
    """As they do at the command line; those that cannot be read are an error."""
    (tmp_path / "hunt.toml").write_text(
        'missions = ["topic"]\nseeds = ["http://flowers.test/trains0"]\n'
        f'[topic]\nlike = ["{lists}/good.txt"]\nunlike = ["{lists}/bad.txt"]\n'
    )
    asked = {"mission": tmp_path / "hunt.toml", "delay": 0, "connect_to": web.connect_to}
    with lycosa.crawl(collection=tmp_path / "c", **asked) as found:
        wanted = {record.url[-8:-1] for record in found.records(quarry="topic") if record.data["verdict"] == "yes"}
    assert "orchids" in wanted and "t/roses" not in wanted
    (tmp_path / "hunt.toml").write_text('missions = ["topic"]\n[topic]\nlike = ["/nowhere.html"]\n')
    with pytest.raises(UsageError, match="could be read"):
        lycosa.crawl("http://flowers.test/trains0", collection=tmp_path / "d", **asked)


def test_marks_teach(collection: Path) -> None:
    """A mark changes what is known; the next extraction judges the pages anew; a mark can be taken back."""
    before = (collection / "topic.model").read_bytes()
    for n in range(3):
        said = run("mark", f"http://flowers.test/trains{n}", "yes", "-c", str(collection))
        assert said.code == 0, said.output
    assert "8 good and 5 bad examples" in said.output
    assert (collection / "topic.model").read_bytes() != before
    assert run("extract", "--collection", str(collection), "--quiet").code == 0
    assert float(str(judged(collection)["trains5"]["relevance"])) > 0.5
    for n in range(3):
        run("mark", f"http://flowers.test/trains{n}", "undo", "-c", str(collection))
    assert (collection / "topic.model").read_bytes() == before
    assert run("mark", "http://flowers.test/nowhere", "yes", "-c", str(collection)).code == 2
    assert '"' in run("mark", "--queries", "-c", str(collection)).output


def test_a_topic_is_tried_before(lists: Path) -> None:
    """Offline, on pages of a list; without examples, by words and patterns alone."""
    like = ("--like", f"{lists}/good.txt", "--unlike", f"{lists}/bad.txt")
    said = run("try", "topic", *like, "--pages", f"{lists}/list.jsonl", "--format", "jsonl")
    assert [json.loads(line)["verdict"] for line in said.output.splitlines()[:5]] == ["yes"] * 5
    page = f"{lists}/orchids101.html"
    for options, verdict in (
        (("--about", "orchid"), "yes"),
        (("--about", "locomotive"), "no"),
        (("--pattern", "url:orchids"), "yes"),
        (("--pattern", "title:orchids"), "no"),
        (("--about", "orchid", "--pattern", "text:zebra"), "no"),
    ):
        said = run("try", "topic", *options, "--format", "jsonl", page)
        assert json.loads(said.output.splitlines()[0])["verdict"] == verdict, options
    assert run("try", "topic", page).code == 2
    assert run("try", "topic", "--pattern", "(", page).code == 2


def test_archives_and_collections_give_seeds(web: Web, collection: Path, lists: Path, tmp_path: Path) -> None:
    """Pages of the topic in a WARC or another collection, addresses with its words in an index."""
    index = tmp_path / "index.cdx"
    index.write_text("test,flowers)/orchids2 20260101 http://flowers.test/orchids2 text/html 200 X - - 1 2 f.warc.gz\n")
    warc = next((collection / "archive").glob("*.warc.gz"))
    for source, least in ((str(collection), 6), (str(warc), 1), (str(index), 1)):
        options = ("--from-archive", source, "--like", f"{lists}/good.txt", "--unlike", f"{lists}/bad.txt")
        said = run("crawl", "topic", *options, "--about", "orchids", "-c", str(tmp_path / "c"), "--dry-run")
        assert said.output.count("http://flowers.test/orchids") >= least, said.output
        assert "/trains" not in said.output


def test_a_crawl_may_end_when_its_topic_is_exhausted(web: Web, tmp_path: Path) -> None:
    """With the reason of its own and exit code 5; without the setting it goes on to the end."""
    names = [*(f"orchids{n}" for n in range(300, 540)), *(f"trains{n}" for n in range(540, 1000))]
    for name, following in zip(names, names[1:], strict=False):
        web[f"long.test/{name}"] = Reply(html(name[:-3], int(name[-3:]), f"/{following}").encode())
    words = ("http://long.test/orchids300", "--pattern", "url:orchids", "--delay", "0", "--workers", "1")
    words = (*words, "--set", "extract.workers=0")
    told = crawl(web, tmp_path / "c", "topic", *words, "--set", "topic.stop_when_exhausted=true", code=5)
    assert "seems exhausted: the last pages brought next to nothing; the same command continues" in told
    assert 420 <= rows(tmp_path / "c", "SELECT count(*) FROM pages")[0][0] < 690
    assert "Nothing is left to fetch" in crawl(
        web, tmp_path / "c", "topic", *words, "--set", "topic.stop_when_exhausted=false"
    )


def test_wrong_use_is_told(tmp_path: Path) -> None:
    """Nothing that says what the topic is; options of the mission without it; examples that cannot be read."""
    place = ("-c", str(tmp_path / "c"), "--dry-run")
    assert "Nothing says what the topic is" in run("crawl", "topic", "http://a.test/", *place).output
    assert "lycosa crawl topic" in run("crawl", "http://a.test/", "--about", "x", *place).output
    assert "None of the pages" in run("crawl", "topic", "http://a.test/", "--like", "no.html", *place).output
