"""What exports write: files that appear when they are whole, folders in which others' files stay as they are."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from support.make_collection import make_collection

from lycosa.cli.main import main
from lycosa.errors import UsageError
from lycosa.output.atomic_file import whole_file
from lycosa.output.export_folder import Tree, list_as, open_export_folder
from lycosa.output.export_folder import write_folder as write_any


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]]) -> int:
    return write_any(folder, files, kind="test")


def held(folder: Path) -> dict[str, bytes]:
    """Every file by its path, but for the list."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "~test.txt")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_only_what_an_export_wrote_gives_way(tmp_path: Path) -> None:
    """Files, links and folders of others stay, and folders that an export left empty go."""
    folder = tmp_path / "out"
    assert write_folder(folder, [("a.json", b"1"), ("b/c.json", b"2"), ("d/e/f.json", b"3")]) == 3
    (folder / "b/mine.txt").write_bytes(b"precious")
    (folder / "link").symlink_to(tmp_path)
    (folder / "empty").mkdir()
    assert write_folder(folder, [("a.json", b"4"), ("d", b"5")]) == 2
    assert held(folder) == {"a.json": b"4", "d": b"5", "b/mine.txt": b"precious"}
    assert (folder / "link").is_symlink() and (folder / "empty").is_dir()
    assert (folder / "~test.txt").read_text() == "a.json\nd\n"


@pytest.mark.parametrize(
    ("mine", "wanted"),
    [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("x/y/z", "x/y")],
)
def test_what_stands_in_the_way_is_named(mine: str, wanted: str, tmp_path: Path) -> None:
    """Then nothing is changed: not even what an export wrote."""
    folder = tmp_path / "out"
    write_folder(folder, [("x/y/old", b"1")])
    (folder / mine).parent.mkdir(parents=True, exist_ok=True)
    (folder / mine).write_bytes(b"precious")
    before = held(folder)
    with pytest.raises(UsageError, match=f"out holds {mine}, which no export wrote"):
        write_folder(folder, [("new", b"2"), (wanted, b"3")])
    assert held(folder) == before
    assert not (folder / "~lycosa-parts").exists()


def test_a_link_in_the_place_of_our_file_is_somebodys(tmp_path: Path) -> None:
    """Exports write no links, so that one where a listed file was is not theirs."""
    write_folder(tmp_path / "out", [("a", b"1"), ("b", b"2")])
    (tmp_path / "precious").write_bytes(b"x")
    for name in ("a", "b"):
        (tmp_path / "out" / name).unlink()
        (tmp_path / "out" / name).symlink_to(tmp_path / "precious")
    with pytest.raises(UsageError, match="holds a, which"):
        write_folder(tmp_path / "out", [("a", b"3")])
    (tmp_path / "out/a").unlink()
    write_folder(tmp_path / "out", [("a", b"3")])
    assert (tmp_path / "out/b").is_symlink() and (tmp_path / "precious").read_bytes() == b"x"


def test_a_folder_is_filled_where_a_link_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link stays, the folder is the same one before and after, and `.` is a folder like any other."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    before = (tmp_path / "real").stat().st_ino
    write_folder(tmp_path / "link", [("a", b"1")])
    monkeypatch.chdir(tmp_path / "link")
    write_folder(Path(), [("b", b"2")])
    assert held(tmp_path / "real") == {"b": b"2"} and (tmp_path / "real").stat().st_ino == before
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_a_folder_that_no_export_made_is_refused(tmp_path: Path) -> None:
    """What it holds is named; a file is none."""
    for number in range(5):
        (tmp_path / f"mine{number}").write_bytes(b"")
    with pytest.raises(UsageError, match="holds mine0, mine1, mine2 and 2 more and was not made by such an export"):
        write_folder(tmp_path, [("a", b"1")])
    with pytest.raises(UsageError, match="is a file"):
        write_folder(tmp_path / "mine0", [])


def test_another_kind_of_export_replaces_nothing(tmp_path: Path) -> None:
    """Who exports one thing where another was exported before made a mistake."""
    write_folder(tmp_path / "out", [("a", b"1")])
    with pytest.raises(UsageError, match="out holds a, ~test.txt and was not made by such an export"):
        write_any(tmp_path / "out", [("b", b"2")], kind="other")
    assert held(tmp_path / "out") == {"a": b"1"}


def test_an_interruption_leaves_what_was_there(tmp_path: Path) -> None:
    """A new folder is gone again, an old one is as it was."""

    def fail() -> Iterator[tuple[str, bytes]]:
        yield "a", b"2"
        raise KeyboardInterrupt

    write_folder(tmp_path / "old", [("a", b"1")])
    for name in ("new", "old"):
        with pytest.raises(KeyboardInterrupt):
            write_folder(tmp_path / name, fail())
    assert held(tmp_path) == {"old/a": b"1"} and not (tmp_path / "new").exists()


@pytest.mark.parametrize("moment", range(9))
def test_a_kill_leaves_nothing_that_is_taken_for_somebody_elses(moment: int, tmp_path: Path) -> None:
    """Whenever an export is killed, the next one replaces all that it left."""
    folder = tmp_path / "out"
    write_folder(folder, [("a", b"1"), ("b/c", b"2"), ("d", b"3")])
    (folder / "mine").write_bytes(b"precious")
    child = os.fork()
    if not child:
        left = moment
        for name in ("put", "remove"):
            plain = getattr(Tree, name)

            def counted(self: Tree, *words: object, plain: object = plain) -> None:
                nonlocal left
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
                plain(self, *words)  # type: ignore[operator]

            setattr(Tree, name, counted)
        write_folder(folder, [("a/x", b"4"), ("b", b"5"), ("e", b"6"), ("d", b"7")])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) == (moment < 8)
    write_folder(folder, [("a/x", b"8"), ("f", b"9")])
    assert held(folder) == {"a/x": b"8", "f": b"9", "mine": b"precious"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_request_to_end_leaves_nothing_behind(kind: str, number: signal.Signals, tmp_path: Path) -> None:
    """As a service manager, a time limit or a closed terminal sends it."""
    child = os.fork()
    if not child:
        signal.signal(number, signal.SIG_DFL)  # under nohup it is ignored
        try:
            if kind == "file":
                with whole_file(tmp_path / "x.csv") as path:
                    Path(path).write_text("half")
                    os.kill(os.getpid(), number)
            else:
                with open_export_folder(tmp_path / "x", list_as("test")) as export:
                    export.add(b"half")
                    os.kill(os.getpid(), number)
        except SystemExit as ended:
            os._exit(int(ended.code or 0))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_a_file_keeps_its_readers(tmp_path: Path) -> None:
    """Who may read a file is not changed by writing it anew."""
    (tmp_path / "x.csv").touch(0o600)
    with whole_file(tmp_path / "x.csv") as path:
        Path(path).write_text("new")
    assert (tmp_path / "x.csv").stat().st_mode & 0o777 == 0o600


def test_two_do_not_write_to_one_place(tmp_path: Path) -> None:
    """The second is told so, and leaves the first alone."""
    with open_export_folder(tmp_path / "out", list_as("test")) as export:
        part = export.add(b"1")
        with pytest.raises(UsageError, match="is being written by another lycosa"):
            write_folder(tmp_path / "out", [("b", b"2")])
        export.commit([(part, "a", "a\n")])
    assert held(tmp_path / "out") == {"a": b"1"}
    with whole_file(tmp_path / "x.csv") as path:
        Path(path).write_text("first")
        with pytest.raises(UsageError, match="is being written by"), whole_file(tmp_path / "x.csv"):
            pass
    assert (tmp_path / "x.csv").read_text() == "first"


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    """Links are followed, and nothing stays behind."""
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "link.csv") as part:
        Path(part).write_text("half")
        raise KeyboardInterrupt
    assert (tmp_path / "real.csv").read_text() == "old"
    with whole_file(tmp_path / "link.csv") as part:
        Path(part).write_text("new")
    assert (tmp_path / "real.csv").read_text() == "new" and (tmp_path / "link.csv").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "real.csv"]


@pytest.mark.parametrize(
    "words",
    [
        ("export", "warc", "-o", "c/archive"),
        ("export", "warc", "-o", "elsewhere/archive"),
        ("export", "warc", "-o", "c/archive/x.warc.gz"),
        ("export", "wacz", "-o", "c/archive/x.wacz"),
        ("export", "mirror", "-o", "c"),
        ("export", "index", "-o", "c/crawl.db"),
        ("query", "SELECT 1", "-o", "c/crawl.db"),
        ("query", "SELECT 1", "-o", "c/checks.db"),
        ("export", "urls", "-o", "c/lock"),
        ("report", "mime", "-o", "link"),
        ("crawl", "http://a.test/", "--mirror", "c/archive"),
        ("crawl", "http://a.test/", "--index", "c/crawl.db"),
        ("crawl", "http://a.test/", "--log-file", "c/crawl.db"),
    ],
)
def test_no_output_replaces_a_part_of_a_collection(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither its database nor its archive, however it is named; beside them there is room."""
    monkeypatch.chdir(tmp_path)
    make_collection(Path("c"), [("http://a.test/", "text/html", b"<title>a</title>")])
    os.symlink("c", "elsewhere")
    os.symlink("c/crawl.db", "link")
    before = {path: path.read_bytes() for path in Path("c").rglob("*") if path.is_file()}
    assert main([*words, "-c", "c"]) == 2
    assert "collection" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before
    assert main(["export", "mirror", "-c", "c", "-o", "c/mirror"]) == 0
    assert main(["export", "warc", "-c", "c", "-o", "copy"]) == 0
