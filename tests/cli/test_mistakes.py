"""What people do by mistake, from the shell and from Python: one sentence that says what to do, and nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.loopback import Web, html
from support.make_collection import make_collection

from lycosa import Collection, crawl
from lycosa.cli.main import main
from lycosa.errors import CollectionError, UsageError
from lycosa.export.files import export_mirror
from lycosa.process import undisturbed

FAST = ["--delay", "0", "--workers", "1", "--contact", "mailto:test@lycosa.test"]
PROGRAM = [sys.executable, "-P", "-m", "lycosa"]


@pytest.fixture
def home(web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A site of two pages, in an empty folder; gives the words of a crawl of it."""
    web["site.test/"] = html("/a", title="Home")
    web["site.test/a"] = html("/", title="A")
    monkeypatch.chdir(tmp_path)
    yield ["crawl", "http://site.test/", "--connect-to", web.connect_to, *FAST]


def test_a_verb_that_is_not_there_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """Which one was meant, and which there are."""
    assert main(["stat"]) == 2
    assert "did you mean status?); allowed: crawl, check" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["http://site.test/", "site.test", "www.site.test/a?b=c", "ftp://site.test/"])
def test_an_address_in_the_place_of_a_verb_is_told_the_verb(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is to be collected, perhaps; nothing is done."""
    assert main([address]) == 2
    assert f"There is no command '{address}': lycosa crawl {address} collects it" in capsys.readouterr().err


def test_help_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the program, or of a verb."""
    assert main(["help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: lycosa [OPTIONS] COMMAND")
    assert main(["help", "status"]) == 0
    assert capsys.readouterr().out.startswith("Usage: lycosa status [OPTIONS]")


def test_who_stands_in_a_collection_need_not_name_it(
    home: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that reads finds it; a folder that has a collection of the usual name is no exception."""
    assert main([*home, "-q"]) == 0
    monkeypatch.chdir(tmp_path / "collection")
    assert main(["status", "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["pages"] == 2
    assert main(["query", "SELECT count(*) FROM pages", "--format", "csv"]) == 0


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("csv", "csv is a format of "),
        ("geojson", "geojson"),
        ("pdf", "the files themselves are written by lycosa export mirror"),
        ("mirorr", "did you mean mirror?"),
        ("html", "lycosa export "),
    ],
)
def test_an_export_that_is_none_gets_a_suggestion(word: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not the names of all that there are."""
    assert main(["export", word]) == 2
    said = capsys.readouterr().err
    assert told in said and "lycosa export --help lists all" in said and len(said) < 300


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_program_without_standard_streams_crawls(home: list[str], closed: str) -> None:
    """As a daemon starts it; the database does not get the number of a stream that is written to."""
    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *PROGRAM, *home], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert main(["verify"]) == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("# seeds\r\nhttp://site.test/\r\n", "for a list: --seeds given"),
        ("<!DOCTYPE html><title>x</title>", "python3 -m http.server"),
    ],
)
def test_what_is_no_mission_is_named(
    home: list[str], content: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A list of seeds and a page are told from a mission with a mistake in it."""
    Path("given").write_bytes(content.encode())
    assert main(["crawl", "given"]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--log-file", "--index", "--mirror"])
def test_a_place_that_cannot_be_written_is_refused_before_the_crawl(
    home: list[str], option: str, web: Web, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder where a file belongs, or a file where a folder does; nothing is fetched or made."""
    if option == "--mirror":
        Path("there").write_text("x")
    else:
        Path("there").mkdir()
    assert main([*home, option, "there"]) == 2
    assert "allowed: the path of a" in capsys.readouterr().err
    assert web.asked == [] and not Path("collection").exists()


def test_seeds_with_spaces_get_no_advice_that_fails(home: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`http://exa mple/` would be refused as well."""
    assert main(["crawl", "exa mple"]) == 2
    assert "http://exa" not in capsys.readouterr().err


def test_a_number_that_is_too_large_is_told_the_largest(home: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It is a whole number, after all."""
    assert main([*home, "--depth", "9" * 30]) == 2
    assert "a whole number up to 9007199254740992" in capsys.readouterr().err


def test_another_draw_samples_other_seeds(home: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`--sample-seed` draws; the same one draws the same."""
    Path("list").write_text("".join(f"http://site{n}.test/\n" for n in range(50)))

    def draw(number: str) -> list[str]:
        assert main(["crawl", "--seeds", "list", "--sample", "5", "--sample-seed", number, "--dry-run"]) == 0
        return [json.loads(line)["seed"] for line in capsys.readouterr().out.splitlines()]

    assert draw("1") == draw("1") != draw("2")


def test_a_crawl_of_something_else_says_which_collection_it_goes_to(
    home: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same command is silent about it; another seed, or another mission, is not."""
    assert main([*home, "--limit", "1"]) == 5
    assert main(home) == 0
    assert "goes on" not in capsys.readouterr().err
    assert main(["crawl", "http://site.test/a", *home[2:]]) == 0
    assert "The collection collection goes on: 1 seed is new to it (--collection DIR" in capsys.readouterr().err


def test_an_output_that_is_no_file_stays_what_it_is(home: list[str]) -> None:
    """A pipe or a device (`-o /dev/null` of root) is written to, not replaced; so is what a link points to."""
    assert main([*home, "-q"]) == 0
    for words in (["query", "SELECT 1 AS one", "-o"], ["export", "index", "-o"]):
        os.mkfifo("pipe")
        with subprocess.Popen([*PROGRAM, *words, "pipe"], stderr=subprocess.PIPE) as running:
            told = Path("pipe").read_text()
            _, complaints = running.communicate(timeout=60)
        assert running.returncode == 0, complaints
        assert Path("pipe").is_fifo() and told
        os.unlink("pipe")
    Path("link.csv").symlink_to("real.csv")
    assert main(["query", "SELECT 1 AS one", "-o", "link.csv"]) == 0
    assert Path("link.csv").is_symlink() and Path("real.csv").read_text().split() == ["one", "1"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "report mime -o x.html",
            "which this does not write: name a file that ends in .csv, .tsv, .jsonl, .parquet, or a",
        ),
        ("report xml -o x.csv", "name a file that ends in .html, .htm."),
        ("query SELECT+1 -o x.JSON", "ends in .json"),
        ("export pages -o x.csv.gz", "ends in .csv.gz"),
        ("export links -o x.graphml", "ends in .graphml"),
        ("export mirror -o x.zip", "name a folder."),
        ("export warc -o x.warc", "name a file that ends in .warc.gz."),
        ("export wacz -o x.zip", "name a file that ends in .wacz."),
        ("export folder -o x.rar", "name a file that ends in .zip, .tar, .tar.gz, .tgz."),
        ("export map -o x.png", "name a file that ends in .html, .htm."),
        ("export iso -o x.csv", "name a file that ends in .xml."),
        ("search word -o x.pdf", "ends in .pdf"),
        ("extract --quarry a:B x.warc.gz -o x.csv", "name a file that ends in .jsonl."),
        ("merge a b --into x.zip", "name a folder."),
        ("export pages --format csv -o x.jsonl", "x.jsonl ends in .jsonl, and --format is csv"),
        ("export graph --format graphml -o x.csv", "x.csv ends in .csv, and --format is graphml"),
        ("query SELECT+1 --format table -o x.TSV", "x.TSV ends in .tsv, and --format is table"),
        ("report mime --format svg -o x.ndjson", "x.ndjson ends in .ndjson, and --format is svg"),
    ],
)
def test_a_name_that_promises_something_else_is_refused(
    words: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file would not open as what it is called."""
    monkeypatch.chdir(tmp_path)
    make_collection(Path("collection"), [("http://a.test/", "text/html", b"")])
    assert main([word.replace("+", " ") for word in words.split()]) == 2
    assert told in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["collection"]


@pytest.mark.parametrize(
    "words",
    [
        ["export", "mirror", "-o", ""],
        ["query", "SELECT 1", "-o", ""],
        ["merge", "a", "b", "--into", ""],
        ["extract", "-o", ""],
        ["crawl", "http://a.test/", "-c", "new", "--log-file", "new/crawl.db"],
        ["crawl", "http://a.test/", "-c", "new", "--mirror", "new"],
        ["query", "SELECT 1", "--timeout", "-1"],
    ],
)
def test_an_output_that_would_go_elsewhere_is_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty variable of a script is no name of a folder, nor the wish to merge into the first collection."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "collection"):
        make_collection(Path(name), [(f"http://{name}.test/", "text/html", b"")])
    before = (tmp_path / "a/crawl.db").read_bytes()
    assert main(words) == 2
    assert (tmp_path / "a/crawl.db").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "collection"]


def test_endings_that_promise_nothing_are_any_names(tmp_path: Path) -> None:
    """And those of the lists name their formats, as --format may; it has the last word on other names."""
    where = make_collection(tmp_path / "c", [("http://a.test/", "text/html", b"")])
    for name, form, begins in (
        ("a.2026-11-16", None, "{"), ("a.ndjson", None, "{"), ("a.TAB", None, "url\t"), ("a.json", "csv", "url,"),
        ("b.ndjson", "jsonl", "{"), ("b.tab", "tsv", "url\t"),
    ):  # fmt: skip
        out = tmp_path / name
        words = ["--format", form] if form else []
        assert main(["query", "SELECT url, http FROM urls", "-c", str(where), "-o", str(out), *words]) == 0
        assert out.read_text().startswith(begins)


@pytest.mark.parametrize("verb", [["analyse", "xml"], ["check-services"]])
def test_two_collections_are_one_too_many(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Where a collection may be a word or an option, both are not silently one."""
    assert main([*verb, "a", "-c", "b"]) == 2
    assert "Two collections are named, a and b" in capsys.readouterr().err


def test_what_is_done_in_part_has_its_exit_code(
    home: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be read is left out, the rest is there, and standard error says so; copies are whole or none."""
    assert main([*home, "-q", "--mirror", "site"]) == 0
    (archive,) = Path("collection/archive").iterdir()
    data = archive.read_bytes()
    with Collection("collection") as collection:
        _, offset, _ = next(page.place for page in collection if page.url.endswith("/a"))
    archive.write_bytes(data[:offset] + bytes(200) + data[offset + 200 :])
    assert main(["export", "mirror", "-o", "site"]) == 7
    said = capsys.readouterr().err
    assert "site: 1 file, " in said and "; 1 page is left out" in said
    assert sorted(path.name for path in Path("site").rglob("*.*")) == ["index.html", "site.test", "~urls.tsv"]
    assert main(["export", "warc", "-o", "copy"]) == 0
    archive.write_bytes(data[:-1])
    for words in (["warc", "-o", "other"], ["warc", "-o", "x.warc.gz"], ["wacz", "-o", "x.wacz"]):
        assert main(["export", *words]) == 2
        assert f"has {len(data) - 1:,} of its {len(data):,} bytes: lycosa verify" in capsys.readouterr().err
    archive.unlink()
    assert main(["export", "warc", "--mime", "text/html", "-o", "x.warc.gz"]) == 2
    assert "is missing: lycosa verify" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["collection", "copy", "site"]


def test_a_crawl_tells_what_it_did_before_its_mirror_fails(home: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The crawl went well, and its report is there; the exit code is that of the mirror."""
    Path("site/site.test").mkdir(parents=True)
    Path("site/site.test/a").write_text("mine")
    assert main([*home, "--mirror", "site"]) == 2
    told = capsys.readouterr()
    assert "2 pages" in told.out and "site holds site.test/a, which no export wrote" in told.err
    assert Path("site/site.test/a").read_text() == "mine"


def test_pages_that_cannot_be_read_leave_no_empty_files(home: list[str], tmp_path: Path) -> None:
    """A mirror leaves them out and counts them."""
    assert main([*home, "-q"]) == 0
    for file in Path("collection/archive").iterdir():
        file.rename(tmp_path / file.name)
    with Collection("collection") as collection:
        count = export_mirror(collection, Path("site"))
        assert all(page.problem for page in collection)
    assert (count.files, count.lost) == (0, 2) and "2 pages are left out" in count.lack


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"seeds": None}, "NoneType"),
        ({"seeds": b"http://site.test/"}, "bytes"),
        ({"seeds": [1]}, "int"),
        ({"seeds": "http://site.test/", "quarry": int}, "inherits from lycosa.quarry.Quarry"),
        ({"seeds": "http://site.test/", "dely": 1}, "did you mean delay"),
    ],
)
def test_wrong_types_are_told_in_python(words: dict[str, Any], told: str, home: list[str]) -> None:
    """What was found and what is allowed, before anything is made."""
    with pytest.raises(UsageError, match=told):
        crawl(**words)
    assert not Path("collection").exists()


def test_a_closed_collection_says_so(home: list[str]) -> None:
    """In our words, also to who is in the middle of it."""
    assert main([*home, "-q"]) == 0
    collection = Collection("collection")
    pages = iter(collection)
    assert next(pages).url == "http://site.test/"
    with pytest.raises(UsageError, match="page, host, domain"):
        collection.graph(by="planet")  # type: ignore[arg-type]
    collection.close()
    with pytest.raises(CollectionError, match="is closed"):
        len(collection)
    with pytest.raises(CollectionError, match="was closed"):
        next(pages)


def test_a_worker_that_is_just_starting_does_not_hear_ctrl_c() -> None:
    """It would end with a traceback of its imports; the signal of the parent is as before."""
    with undisturbed():
        program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_an_empty_pattern_is_a_mistake(home: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It would reject every address; on the command line, where a variable may be empty, it counts as not given."""
    Path("m.toml").write_text('seeds = ["http://site.test/"]\nreject = [""]\n')
    assert main(["check", "m.toml"]) == 2
    assert "an empty one matches every address" in capsys.readouterr().err
    assert main([*home, "--exclude", ""]) == 0
    assert "2 pages stored" in capsys.readouterr().out


def test_a_mission_that_is_nearly_named_is_guessed(tmp_path: Path) -> None:
    """A word that is no address and nearly the name of a mission was meant as one."""
    command = [sys.executable, "-m", "lycosa", "crawl", "geoo", "http://a.test/", "--collection", "c"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 2
    assert "There is no mission geoo (did you mean geo?)" in done.stderr
    assert not (tmp_path / "c").exists()
