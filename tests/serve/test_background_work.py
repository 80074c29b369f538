"""Work in the background: a verb that outlives the server, what it said, made, and how it ended."""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.serve_client import serving

from lycosa.errors import CollectionError
from lycosa.missions.web import Work
from lycosa.serve import background_work
from lycosa.serve.background_work import find_work, forget_work, list_work, start_work, stop_work

PAGE = ("https://a.example/", "text/html", b"<title>A</title>")


def await_end(folder: Path, number: int) -> Work:
    until = time.monotonic() + 120
    while not (work := find_work(folder, number)).ended or work.code is None:
        assert time.monotonic() < until, "the work did not end"
        time.sleep(0.05)
    return work


def test_work_ends_with_its_words_and_its_product(tmp_path: Path) -> None:
    """The file that it made is sent by the page, and deleted with the work."""
    folder = make_collection(tmp_path / "news", [PAGE])
    words = ["export", "pages", f"--collection={folder}", f"--output={folder}/exports/pages.csv"]
    (folder / "exports").mkdir()
    begun = start_work(folder, words, label="Pages as CSV", product="exports/pages.csv", by="ana")
    work = await_end(folder, begun.number)
    assert (work.code, work.label, work.by) == (0, "Pages as CSV", "ana")
    assert "a.example" in (folder / "exports/pages.csv").read_text()
    with serving(tmp_path) as client:
        assert client.get("/c/news/work.json").json["works"][0]["work"]["said"] == work.said
        assert b"a.example" in client.get("/c/news/work/1/file").body
        assert client.get("/c/news/work/2").status == client.get("/c/news/work/x").status == 404
        assert client.post("/c/news/work/1/delete", {}, page="/c/news/work/1").status == 303
    assert not (folder / "exports/pages.csv").exists()
    assert list_work(folder) == []


def test_work_is_stopped_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lock tells another server that it still runs; it is not deleted before it ended."""
    folder = make_collection(tmp_path / "news", [PAGE])
    seeds = ["http://127.0.0.1:9/"]
    words = ["crawl", "--seeds=-", "--set=fetch.retry_delay_s=60", f"--collection={tmp_path / 'other'}"]
    begun = start_work(folder, words, label="a crawl", given=seeds)
    assert find_work(folder, begun.number).is_running
    with pytest.raises(CollectionError, match="stop it first"):
        forget_work(folder, begun.number)
    monkeypatch.setattr(background_work, "MOST_AT_ONCE", 1)
    with pytest.raises(CollectionError, match="under way already"):
        start_work(folder, words, label="another")
    time.sleep(2)  # until it minds signals
    stop_work(folder, begun.number)
    ended = await_end(folder, begun.number)
    assert ended.ended and not ended.is_running


def test_a_product_is_never_outside_of_the_collection(tmp_path: Path) -> None:
    """Whatever the file of a work says: a collection may be a stranger's."""
    folder = make_collection(tmp_path / "news", [PAGE])
    (folder / "work").mkdir()
    (tmp_path / "secret").write_text("keep me")
    (folder / "exports").mkdir()
    (folder / "exports/link").symlink_to(folder / "archive")
    names = ("../secret", str(tmp_path / "secret"), ".", "archive", "crawl.db", "exports", "exports/../archive",
             "exports/link", "exports/link/CACHEDIR.TAG", "exports/.", "exports/", "\\u0000")  # fmt: skip
    for number, product in enumerate(names, 1):
        text = f'{{"number":{number},"label":"","words":[],"began":1,"ended":2,"product":"{product}"}}'
        (folder / f"work/{number}.json").write_text(text)
    with serving(tmp_path) as client:
        for number in range(1, len(names) + 1):
            assert client.get(f"/c/news/work/{number}/file").status == 404, names[number - 1]
    kept = sorted(path for path in folder.rglob("*") if path.parent.name != "work")
    for number in range(1, len(names) + 1):
        forget_work(folder, number)
    assert sorted(path for path in folder.rglob("*") if path.parent.name != "work") == kept
    assert (tmp_path / "secret").exists() and list_work(folder) == []


def test_a_folder_is_sent_without_the_links_in_it(tmp_path: Path) -> None:
    """They lead to files of the machine."""
    folder = make_collection(tmp_path / "news", [PAGE])
    (tmp_path / "secret").write_text("keep me")
    for place in (folder / "work", folder / "exports/site/deep"):
        place.mkdir(parents=True)
    (folder / "exports/site/deep/page.html").write_text("A")
    (folder / "exports/site/link.html").symlink_to(tmp_path / "secret")
    text = '{"number":1,"label":"","words":[],"began":1,"ended":2,"product":"exports/site"}'
    (folder / "work/1.json").write_text(text)
    with serving(tmp_path) as client:
        assert client.get("/c/news/work/1.json").json["works"][0]["file"] == "/c/news/work/1/file"
        sent = zipfile.ZipFile(io.BytesIO(client.get("/c/news/work/1/file").body))
    assert sent.namelist() == ["site/deep/page.html"]
