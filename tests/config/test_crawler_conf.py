"""The older Crawler.conf form: what it means, and what is said about a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.config.loading import LoadedMission, load
from lycosa.config.mission_files import KEYS, looks_like_conf
from lycosa.errors import UsageError

SAMPLE = r"""# A sample of the older form.
<crawler-options>
Starting-Points = { "http://www.example.org/#top",   # a comment; with ; and }
    http://www.example.net/a/index.html
    ,
};
accept-list = { ".*\.html", ".*\"q\".*", '.*[{};#]', };
REJECT-LIST = { };
max-page-number = -1;
scope = domain-scope;
traversal-algorithm = breadth-first;
repository = ./the repository;
</crawler-options>
< log-options >
log-file = "crawl;1.log"; log-level = 2;
</log-options>
<recrawling-options>
period =
    72;
<multithreading-options>
threads = "12";
"""


def write(folder: Path, text: str, name: str = "Crawler.conf") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load(write(folder, text))
    return str(caught.value).replace(f"{folder}/", "")


def test_the_sample_is_understood(tmp_path: Path) -> None:
    """Every section and key, quoted and bare, lists over lines, trailing commas, comments."""
    file = write(tmp_path, SAMPLE)
    settled = load(file)
    mission = settled.mission
    assert mission.seeds == ("http://www.example.org/#top", "http://www.example.net/a/index.html")
    assert mission.accept == (r".*\.html", '.*"q".*', ".*[{};#]")
    assert mission.reject == ()
    assert mission.limits.pages == -1
    assert (mission.scope, mission.order) == ("domain", "bfs")
    assert (mission.log.file, mission.log.level) == ("crawl;1.log", 2)
    assert mission.recrawl.period_h == 72
    assert settled.origin["scope"] == f"{file}:10"
    assert settled.origin["limits.depth"] == "default"


def test_repository_and_threads_are_translated(tmp_path: Path) -> None:
    """The repository holds the tree, the index and the collection; threads count all downloads together."""
    mission = load(write(tmp_path, SAMPLE)).mission
    assert mission.keep.mirror == "./the repository"
    assert mission.keep.index == "./the repository/index.txt"
    assert mission.keep.collection == "./the repository/.lycosa"
    assert (mission.fetch.connections, mission.workers) == (12, 1)


def test_the_command_line_wins_over_it(tmp_path: Path) -> None:
    """A Crawler.conf is a layer like any file."""
    settled = load(write(tmp_path, SAMPLE), environ={"LYCOSA_SCOPE": "free"}, sets=["workers=3"])
    assert (settled.mission.scope, settled.mission.workers) == ("free", 3)


@pytest.mark.parametrize("name", ["free-spanning", "domain-scope", "host-scope", "path-scope", "path", '"HOST-SCOPE"'])
def test_scopes_by_either_name(tmp_path: Path, name: str) -> None:
    """The original names and ours."""
    assert load(write(tmp_path, f"scope = {name};")).mission.scope == name.strip('"').lower().split("-")[0]


@pytest.mark.parametrize(
    ("text", "line", "found", "allowed"),
    [
        ("\nscop = host;", 2, "'scop' (did you mean scope?)", "starting-points, accept-list"),
        ("<logging>\n<crawl-options>", 2, "crawl-options", "crawler-options, logging"),
        ("</loging>", 1, "'loging' (did you mean logging?)", "log-options"),
        ("<logging", 1, "'<logging'", "not ended by >"),
        ("scope = domian-scope;", 1, '"domian-scope"', "did you mean domain-scope?"),
        ("traversal-algorithm = random;", 1, '"random"', "bfs, dfs, best"),
        ("max-page-number = ten;", 1, '"ten"', "a whole number"),
        ("max-page-number = ;", 1, '""', "a whole number"),
        ("log-level = 3;", 1, '"3"', "from 0 to 2"),
        ("period = -1;", 1, '"-1"', "0 or more"),
        ("threads = 0;", 1, '"0"', "from 1 to 10000"),
        ("accept-list = {\n'ok',\n\n'(',\n};", 4, '"("', "missing )"),
        ('reject-list = "*.gif";', 1, '"*.gif"', r".*\.gif"),
        ('starting-points = {\n"a.org",\n"b" };', 3, '"b"', "http://b/"),
        ("threads = { 1 };", 1, "list in braces", "threads = value;"),
        ("period = 1;\nPeriod = 2;", 2, "period is given twice", "see line 1"),
        ("period = 1\nthreads = 2;", 1, "'threads = 2;'", "not ended by ;"),
        ("\naccept-list = {\n'a',\n", 2, "the end of the file", "not ended by }"),
        ("accept-list = { 'a';\nperiod = 1;", 1, "list that begins here", "not ended by }"),
        ('\nlog-file = "crawl.log;\nperiod = 1;', 2, "crawl.log", "quote is not closed"),
        ("accept-list = {\n'a'\n'b' };", 3, "'b", "without a comma"),
        ("<logging>\nhello world;", 2, "'hello'", "without = behind it"),
        ("<logging>\n= 3;", 2, "'= 3;'", "key = value;"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, line: int, found: str, allowed: str) -> None:
    """File, line, what was found, what is allowed; for what is never closed, the line where it began."""
    said = complaint(tmp_path, text)
    assert said.startswith(f"Crawler.conf:{line}: "), said
    assert found in said
    assert allowed in said


@pytest.mark.parametrize(
    ("text", "conf"),
    [
        (SAMPLE, True),
        ("scope = host;", True),
        ("scope = host; # first", True),
        ("acept-list = {\n'x' };", True),
        ("max-page-number = 3", True),
        ("\ufeff# c\n\n<logging>", True),
        ('scope = "host" # not ;', False),
        ('name = "a;"', False),
        ("[limits]\npages = 1", False),
        ("fetch = { delay_s = 1 }", False),
        ("", False),
    ],
)
def test_the_form_is_told_by_the_content(text: str, conf: bool) -> None:
    """The name of the file does not matter."""
    assert looks_like_conf(text) is conf


def test_a_toml_file_may_have_any_name(tmp_path: Path) -> None:
    """TOML in Crawler.conf, and the older form in mission.toml, are both read."""
    assert load(write(tmp_path, "[limits]\npages = 7")).mission.limits.pages == 7
    assert load(write(tmp_path, "max-page-number = 7;", "mission.toml")).mission.limits.pages == 7
    assert "not ended by ;" in complaint(tmp_path, "scope = host-scope\nperiod = 3;")


def test_old_encodings_and_line_ends(tmp_path: Path) -> None:
    """Latin-1, CRLF and lone CR, as old files have them."""
    path = tmp_path / "Crawler.conf"
    for end in (b"\r\n", b"\r"):
        path.write_bytes(b"<logging># caf\xe9" + end + b"log-file = caf\xe9.log;" + end + b"period = x;")
        with pytest.raises(UsageError, match=r"Crawler.conf:3: period"):
            load(path)
    path.write_bytes(b"<logging>\nlog-file = caf\xe9.log;")
    assert load(path).mission.log.file == "café.log"


def test_large_files_end_soon(tmp_path: Path) -> None:
    """A list of many thousands is read; a file that is no configuration is refused."""
    many = ", ".join(f'"http://h{n}.example.org/"' for n in range(20_000))
    assert len(load(write(tmp_path, f"starting-points = {{ {many} }};")).mission.seeds) == 20_000
    assert "unknown key" in complaint(tmp_path, "<logging>" + "a = 1;\n" * 100_000)
    assert "quote is not closed" in complaint(tmp_path, 'log-file = "' + "\\x" * 200_000)
    with pytest.raises(UsageError, match="larger than 32 MiB"):
        load(write(tmp_path, "<logging>" + " " * (32 << 20)))


_pieces = st.sampled_from(
    [*KEYS, "<logging>", "</logging>", "<", ">", " = ", "{", "}", ";", ",", '"', "'", "\\", "#", "\n", "7", "é", "host"]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(_pieces, max_size=25).map("".join) | st.text(max_size=60).map(lambda text: f"<logging>{text}"))
def test_arbitrary_text_never_breaks_the_parser(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """A file either loads or is refused with a sentence that names it."""
    path = tmp_path_factory.getbasetemp() / "any.conf"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        assert isinstance(load(path), LoadedMission)
    except UsageError as error:
        assert "any.conf" in str(error)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=100))
def test_arbitrary_bytes_never_break_the_parser(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Binary garbage is refused with a sentence."""
    path = tmp_path_factory.getbasetemp() / "any.conf"
    path.write_bytes(b"<logging>" + data)
    try:
        load(path)
    except UsageError as error:
        assert "any.conf" in str(error)


def test_long_lines_end_at_once(tmp_path: Path) -> None:
    """Thousands of blanks, or of parts of a key, are refused without being tried in every way."""
    assert not looks_like_conf("seeds =" + " " * 9_000)
    path = tmp_path / "mission.toml"
    for text in (
        "a." * 50_000 + "b = 1",
        "[x]\n[" + "'a' . " * 20_000 + "b]",
        'scope = "host"\nx = {' + "a." * 50_000 + "b = 1}",
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match="nested too deeply"):
            load(path)


def test_the_words_of_the_original_are_understood(tmp_path: Path) -> None:
    """The screen as a log, names of scopes and orders as people write them, further keys; a period asks every page."""
    text = """
        scope = "PathScope"; traversal-algorithm = "Breadth First Search"; log-file = "Screen"; period = 72;
        max-time = 2h; max-depth = 4; delay = 2.5; contact = "me@example.org";
    """
    mission = load(write(tmp_path, text)).mission
    assert (mission.scope, mission.order, mission.log.file) == ("path", "bfs", "-")
    assert (mission.recrawl.period_h, mission.recrawl.adapt) == (72, False)
    assert (mission.limits.time_s, mission.limits.depth, mission.fetch.delay_s) == (7200, 4, 2.5)
    assert mission.agent.contact == "me@example.org"


@pytest.mark.parametrize("behind", ["scope = host-scope;", "</crawler-options>", 'Reject-list = { "x" };'])
def test_an_open_brace_is_told_where_it_stands(tmp_path: Path, behind: str) -> None:
    """Not where the next key is found, many lines later."""
    file = write(tmp_path, f'max-page-number = 5;\naccept-list = {{\n  ".*a",\n  ".*b",\n\n{behind}\n')
    with pytest.raises(UsageError, match=r"Crawler.conf:2: the list that begins here with \{ is not ended by \}"):
        load(file)


def test_the_advice_for_a_pattern_of_files_is_right(tmp_path: Path) -> None:
    """A star on both sides stands for anything there: the pattern does not refuse every name with a dot."""
    with pytest.raises(UsageError, match=r"write \.\*tmp\.\*$"):
        load(write(tmp_path, 'reject-list = { "*tmp*" };'))
    with pytest.raises(UsageError, match=r"write \.\*\\\.html$"):
        load(write(tmp_path, 'accept-list = { "*.html" };'))
