"""The command line: what each verb prints and writes, its exit codes, and what happens after a mistake."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support.loopback import Reply, Web, html

from lycosa.archive.reader import iter_records
from lycosa.cli.main import VERBS, main
from lycosa.config.loading import OPTIONS, SETTINGS
from lycosa.errors import CollectionError, DiskFull
from lycosa.export.files import read_index

FAST = ["--delay", "0", "--workers", "1", "--contact", "mailto:test@lycosa.test"]

CONF = """
<crawler-options>
starting-points = { "http://site.test/", };
accept-list = { ".*\\.html", };
reject-list = { ".*/private/.*", };
max-page-number = 100;
scope = domain-scope;
traversal-algorithm = bfs;
repository = "repository";
</crawler-options>
<logging>
log-file = "crawler.log";
log-level = 1;
</logging>
<recrawling-options>
period = 72;
</recrawling-options>
"""


ROOT = Path(__file__).resolve().parents[2]


def lycosa(*arguments: str, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the program as a user does."""
    command = [sys.executable, "-P", "-m", "lycosa", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=cwd, input=stdin)


def site(web: Web) -> list[str]:
    """Four pages of a site, one of them gone; gives the words of a crawl of it."""
    web["site.test/"] = html("/a", "/b", "/gone", "http://far.test/", title="Home \x1b[31m")
    web["site.test/a"] = html("/", title="=1+1")
    web["site.test/b"] = Reply(b"%PDF-1.4 nothing", headers={"Content-Type": "application/pdf"})
    return ["http://site.test/", "--connect-to", web.connect_to, *FAST]


@pytest.fixture
def folder(web: Web, tmp_path: Path) -> Path:
    """A collection made by the program itself."""
    done = lycosa("crawl", *site(web), "-c", "c", "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return tmp_path / "c"


def test_a_crawl_reports_and_ends_with_zero(web: Web, tmp_path: Path) -> None:
    """The report goes to the pipe, progress and notes to standard error."""
    done = lycosa("crawl", *site(web), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 pages stored" in done.stdout
    assert (tmp_path / "collection" / "crawl.db").is_file()


def test_a_crawl_is_continued_without_naming_anything(web: Web, tmp_path: Path) -> None:
    """`lycosa crawl` alone goes on with the collection that is there, under its own settings."""
    done = lycosa("crawl", *site(web), "--limit", "1", cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    done = lycosa("crawl", "--limit", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The collection holds 3 pages" in done.stdout


def test_seeds_come_from_the_pipe(web: Web, tmp_path: Path) -> None:
    """`-` reads them, one a line."""
    words = site(web)[1:]
    done = lycosa("crawl", "-", *words, "-q", cwd=tmp_path, stdin="# seeds\nsite.test/a\n")
    assert done.returncode == 0, done.stderr
    assert web.paths()[0] == "site.test/a"


def test_a_dry_run_fetches_and_writes_nothing(web: Web, tmp_path: Path) -> None:
    """It prints the settled seeds, one a line for programs."""
    done = lycosa("crawl", *site(web), "example.org", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["seed"], row["verdict"]) for row in rows] == [
        ("http://site.test/", "visited"),
        ("http://example.org/", "visited"),
    ]
    assert web.asked == [] and list(tmp_path.iterdir()) == []


def test_nothing_fetched_is_exit_four(tmp_path: Path) -> None:
    """No seed reachable: why, seed by seed, even when quiet."""
    words = ["http://dead.test/", "--connect-to", "*=127.0.0.1:9", *FAST, "--set", "fetch.retries=0"]
    done = lycosa("crawl", *words, "-q", cwd=tmp_path)
    assert done.returncode == 4
    assert "no seed could be fetched" in done.stderr and "http://dead.test/: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["crawl", "--dpth", "3", "http://site.test/"], "--depth"),
        (["crawl", "--depth", "deep", "http://site.test/"], "--depth: limits.depth"),
        (["crawl", "--scope", "world", "http://site.test/"], "free, domain, host, path"),
        (["crawl", "--include", "(", "http://site.test/"], "regular expression"),
        (["crawl", "--set", "limits.page=3", "http://site.test/"], "limits.pages"),
        (["crawl", "--set", "nonsense", "http://site.test/"], "KEY=VALUE"),
        (["crawl", "absent.toml"], "absent.toml"),
        (["crawl", "mailto:someone@site.test"], "begins with http"),
        (["crawl", "--seeds", "absent.txt"], "absent.txt"),
        (["crawl"], "no seed"),
        (["crawl", "--sample", "many", "http://site.test/"], "--sample"),
        (["check", "absent.toml"], "absent.toml"),
        (["status", "-c", "absent"], "no collection at absent"),
        (["query", "-c", "absent", "SELECT 1"], "no collection at absent"),
        (["export", "pages", "-c", "absent"], "no collection at absent"),
        (["export", "everything"], "mirror"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_a_mistake_is_exit_two_and_leaves_nothing(words: list[str], told: str, tmp_path: Path) -> None:
    """One message that says what is wrong; nothing is written, not even the collection's folder."""
    done = lycosa(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("lycosa: ") and told in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_patterns_of_the_command_line_join_those_of_the_file(tmp_path: Path) -> None:
    """`--include` and `--exclude` add; the other options replace."""
    (tmp_path / "m.toml").write_text('seeds = ["http://site.test/"]\naccept = ["a"]\nreject = ["b"]\nscope = "free"\n')
    done = lycosa("check", "m.toml", "--include", "c", "--scope", "host", cwd=tmp_path)
    rows = {row["setting"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert rows["accept"]["value"] == '["a", "c"]' and rows["reject"]["value"] == '["b"]'
    assert (rows["scope"]["value"], rows["scope"]["origin"]) == ('"host"', "--scope")
    assert rows["seeds"]["origin"].startswith("m.toml:1")
    assert rows["order"]["origin"] == "default"


def test_check_explains_a_url(tmp_path: Path) -> None:
    """Every rule in its order, without the network."""
    (tmp_path / "m.toml").write_text('seeds = ["http://site.test/"]\nreject = ["/private/"]\n')
    done = lycosa("check", "m.toml", "HTTP://site.test/private/x#y", cwd=tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["url"] for row in rows} == {"http://site.test/private/x"}
    verdicts = {row["rule"]: row["ok"] for row in rows}
    assert verdicts["scope"] == "yes" and verdicts["reject-list"] == "no"


def test_status_is_for_people_and_programs(folder: Path) -> None:
    """One JSON object in a pipe, text when asked for."""
    status = json.loads(lycosa("status", "-c", str(folder)).stdout)
    assert (status["pages"], status["states"]["gone"], status["running"]) == (3, 1, 0)
    assert "3 pages of" in lycosa("status", "-c", str(folder), "--format", "text").stdout


def test_a_query_prints_rows(folder: Path, tmp_path: Path) -> None:
    """jsonl in a pipe; a file's suffix names its format."""
    done = lycosa("query", "SELECT url, http FROM urls WHERE state = 'gone'", "-c", str(folder))
    assert json.loads(done.stdout) == {"url": "http://site.test/gone", "http": 404}
    out = tmp_path / "out.csv"
    assert lycosa("query", "SELECT title FROM pages ORDER BY n", "-c", str(folder), "-o", str(out)).returncode == 0
    assert [row[0] for row in csv.reader(out.read_text().splitlines())] == ["title", "Home \x1b[31m", "'=1+1", ""]


def test_a_query_that_fails_leaves_no_file(folder: Path, tmp_path: Path) -> None:
    """What is written appears under its name only when it is whole."""
    done = lycosa("query", "SELECT absent FROM pages", "-c", str(folder), "-o", str(tmp_path / "out.csv"))
    assert done.returncode == 2 and "no such column" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"c"}
    done = lycosa("query", "SELECT 1", "-c", str(folder), "-o", str(tmp_path / "absent" / "out.csv"))
    assert done.returncode == 2 and "No such file" in done.stderr


def test_lists_are_exported(folder: Path) -> None:
    """urls, pages and links, with filters."""
    done = lycosa("export", "pages", "-c", str(folder), "--mime", "application/*")
    assert [json.loads(line)["url"] for line in done.stdout.splitlines()] == ["http://site.test/b"]
    done = lycosa("export", "urls", "-c", str(folder), "--state", "rejected", "--format", "tsv")
    assert done.stdout.splitlines()[1].startswith("http://far.test/\trejected\tscope")
    done = lycosa("export", "links", "-c", str(folder), "--host", "site.test")
    links = [json.loads(line) for line in done.stdout.splitlines()]
    assert {
        "source": "http://site.test/",
        "target": "http://far.test/",
        "anchor": "to http://far.test/",
        "accepted": 0,
    } in links


def test_views_are_exported(folder: Path, tmp_path: Path) -> None:
    """mirror, index, warc and wacz; the index also into the pipe."""
    done = lycosa("export", "mirror", "-c", str(folder), "-o", "site", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"=1+1" in (tmp_path / "site/site.test/a").read_bytes()
    index = lycosa("export", "index", "-c", str(folder)).stdout
    assert index.count("http://site.test/b http://site.test/b") == 1 and '\t@http://site.test/a "to /a"' in index
    for name in ("all.warc.gz", "all.wacz", "archive"):
        kind = "wacz" if name.endswith("wacz") else "warc"
        done = lycosa("export", kind, "-c", str(folder), "-o", name, cwd=tmp_path)
        assert done.returncode == 0 and (tmp_path / name).exists(), done.stderr
    answers = [record.url for record in iter_records(tmp_path / "all.warc.gz") if record.kind == "response"]
    assert len([url for url in answers if not url.endswith("/robots.txt")]) == 4
    done = lycosa("export", "warc", "-c", str(folder), "-o", "some.warc.gz", "--mime", "application/pdf", cwd=tmp_path)
    assert [record.url for record in iter_records(tmp_path / "some.warc.gz")] == ["http://site.test/b"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["mirror"], "with -o"),
        (["wacz", "-o", "x.wacz", "--host", "site.test"], "whole archive"),
        (["index", "--state", "gone"], "--state goes with urls"),
        (["pages", "--state", "gone"], "--state goes with urls"),
        (["urls", "--state", "lost"], "allowed: unfetched"),
    ],
)
def test_an_export_that_makes_no_sense_is_refused(words: list[str], told: str, folder: Path, tmp_path: Path) -> None:
    """Exit 2 and a sentence; nothing is written."""
    done = lycosa("export", *words, "-c", str(folder), cwd=tmp_path)
    assert done.returncode == 2 and told in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"c"}


def test_a_mission_leaves_its_mirror_and_index(web: Web, tmp_path: Path) -> None:
    """What `[keep]` names is there when the crawl has ended."""
    done = lycosa("crawl", *site(web), "--mirror", "m", "--index", "m/index.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The mirror m has 3 files." in done.stdout
    assert (tmp_path / "m/site.test/b").read_bytes() == b"%PDF-1.4 nothing"
    assert (tmp_path / "m/index.txt").read_text().count('"=1+1"') == 1


def test_the_older_configuration_runs_as_given(web: Web, tmp_path: Path) -> None:
    """A Crawler.conf leaves the repository's tree and the index file, and its log."""
    site(web)
    web["site.test/private/x.html"] = html("/", title="hidden")
    web["site.test/"] = html("/a.html", "/private/x.html", title="Home")
    web["site.test/a.html"] = html("/", title="A")
    (tmp_path / "Crawler.conf").write_text(CONF)
    quick = ("--connect-to", web.connect_to, "--delay", "0")
    done = lycosa("crawl", "Crawler.conf", *quick, "--rounds", "1", cwd=tmp_path)  # it has a period
    assert done.returncode == 0, done.stderr
    assert sorted(web.paths()) == ["site.test/", "site.test/a.html"]
    assert (tmp_path / "repository/site.test/a.html").is_file()
    assert (tmp_path / "repository/site.test/index.html").is_file()
    entries = {entry.url: entry.links for entry in read_index(tmp_path / "repository/index.txt")}
    assert entries["http://site.test/"] == [("http://site.test/a.html", "to /a.html")]
    assert len((tmp_path / "crawler.log").read_text().splitlines()) == 2


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    """`lycosa … | head` ends quietly."""
    words = [sys.executable, "-P", "-m", "lycosa", "query", "-c", str(folder)]
    many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT x FROM c"
    with subprocess.Popen([*words, many], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        assert running.stdout.readline() == b'{"x":1}\n'
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 141


NO_ROOM = "has no room on its disk; nothing is lost: make room and run the same command again."


def test_odd_outputs_are_survived(folder: Path) -> None:
    """A full device is exit 3 with a sentence; a terminal without the letters gets their numbers."""
    command = [sys.executable, "-P", "-m", "lycosa", "query", "-c", str(folder), "--format", "table"]
    with open("/dev/full", "w") as full:
        done = subprocess.run([*command, "SELECT 1"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, f"lycosa: The output {NO_ROOM}\n")
    plain = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*command, "SELECT 'é'"], capture_output=True, text=True, timeout=60, env=plain)
    assert done.returncode == 0 and "\\xe9" in done.stdout


def test_no_command_shows_the_verbs() -> None:
    """Help in one screen: every verb with one line."""
    done = lycosa()
    assert done.returncode == 2
    help_text = lycosa("--help").stdout
    assert all(f"  {verb} " in help_text for verb in VERBS)
    assert lycosa("--version").stdout.startswith("lycosa ")


def test_the_help_has_groups_and_names_their_tours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Verbs stand in groups by what one wants, then by mission; 80 columns hold each line; every tour is there."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    titles = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert [title.partition(" (")[0] for title in titles] == [
        "Options:", "Collect", "Look", "Take out", "Keep in order", "Mission mirror:", "Mission geo", "Mission xml",
        "Mission documents", "Mission records", "Mission topic",
    ]  # fmt: skip
    tours = re.findall(r"\((docs/[^)]*)\):", text)
    assert len(tours) == 9 and all((ROOT / tour).is_file() for tour in tours)
    assert all(len(line) <= 80 for line in text.splitlines())
    geo = text[text.index("Mission geo") : text.index("Mission xml")]
    assert "  crawl geo  " in geo and "  check-services  " in geo


def fail_with(problem: BaseException) -> click.Command:
    @click.command()
    @click.option("--debug", is_flag=True)
    def command(debug: bool) -> None:
        raise problem

    return command


@pytest.mark.parametrize(
    ("problem", "code", "told"),
    [
        (CollectionError("It is locked."), 2, "lycosa: It is locked.\n"),
        (DiskFull("No room."), 3, "lycosa: No room.\n"),
        (OSError(errno.ENOSPC, "No space left on device", "c/x"), 3, f"lycosa: c/x {NO_ROOM}\n"),
        (KeyboardInterrupt(), 130, "\nlycosa: interrupted; the same command can be given again\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
    ],
)
def test_each_ending_has_its_code(
    problem: BaseException, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What reaches a person is one sentence and an exit code."""
    try:
        assert main([], command=fail_with(problem)) == code
    except SystemExit as ended:
        assert ended.code == code
    assert capsys.readouterr().err == told


def test_a_bug_is_told_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """An unexpected error is one line with the way to more; --debug gives the traceback."""
    assert main([], command=fail_with(KeyError("x\x1b[31m"))) == 1
    told = capsys.readouterr().err
    assert told.startswith("lycosa: unexpected KeyError") and "--debug" in told
    assert "\x1b" not in told and told.count("\n") == 1
    with pytest.raises(KeyError):
        main(["--debug"], command=fail_with(KeyError("x")))


def test_every_option_of_the_mission_is_an_option_of_the_command_line() -> None:
    """The option that a message names exists."""
    flags = {flag: setting.key for setting in SETTINGS for flag in setting.flags}
    assert {option: key for key, option in OPTIONS.items()}.items() <= flags.items()


def test_a_crawl_loads_only_what_it_needs(tmp_path: Path) -> None:
    """What other verbs need costs a crawl nothing at its start."""
    code = (
        "import sys; from lycosa.cli.main import main; main(['crawl', 'http://a.test/', '--dry-run']);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    loaded = set(done.stderr.split())
    assert "lycosa.config.loading" in loaded
    assert not loaded & {
        "rich",
        "typer",
        "pydantic",
        "asyncio",
        "lxml",
        "lycosa.collection.collection",
        "lycosa.archive",
    }


def test_the_crawl_function_survives_its_namesake(web: Web, tmp_path: Path) -> None:
    """`from lycosa import crawl` is the function, also after the sub-package of that name was loaded."""
    site(web)
    code = f"""
import lycosa.crawler.run
from lycosa import crawl, Collection
settings = dict(delay=0, workers=1, connect_to={web.connect_to!r}, limits={{"depth": 1}})
pages = crawl("http://site.test/", collection="c", **settings)
assert isinstance(pages, Collection)
print(*sorted(page.url for page in pages))
"""
    environment = os.environ | {"LYCOSA_AGENT_CONTACT": "mailto:test@lycosa.test"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60, env=environment
    )
    assert done.stdout.split() == ["http://site.test/", "http://site.test/a", "http://site.test/b"], done.stderr
