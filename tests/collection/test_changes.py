"""What the rounds of a collection are told to have found, from Python and on the command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from lycosa import Collection
from lycosa.archive.writer import ArchiveWriter
from lycosa.cli.main import main
from lycosa.errors import UsageError
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Answer, Batch, Discovery, Outcome, PageRow, State, Target, VisitHistory
from lycosa.urls import host_of, url_id

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
SITE = "http://a.test/"
#: The content of each page after each round; nothing: it is not there.
STORY = {
    "stays": ("s", "s", "s", "s"),
    "edited": ("1", "2", "2", "3"),
    "undone": ("1", "2", "1", "1"),
    "lost": ("l", "", "", ""),
    "returns": ("r", "", "r", "r"),
    "late": ("", "n", "N", "N"),
    "brief": ("", "b", "", ""),
    "moved": ("m", "m", ">", ">"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of four rounds in which these pages were found."""
    folder = tmp_path_factory.mktemp("rounds") / "c"
    (folder / "archive").mkdir(parents=True)
    SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=1000.0)
    frontier = SqliteFrontier(folder / "crawl.db")
    frontier.leases.acquire("here:0", want=PARTITIONS, now=0.0, ttl_s=1e9)
    with ArchiveWriter(folder / "archive", prefix="test", max_bytes=10**9, software="test", info={}) as archive:
        for number in range(4):
            if number:
                frontier.rounds.end(now=1000.0 * number + 10, why="")
                frontier.rounds.begin(now=1000.0 * (number + 1), step_s=10.0, everything=True)
                frontier.rounds.open_due(max_s=1e9)
            play(frontier, archive, number)
    frontier.close()
    return folder


def play(frontier: SqliteFrontier, archive: ArchiveWriter, number: int) -> None:
    """One round of the story."""
    known = [SITE + name for name in STORY if any(STORY[name][: number + 1])]
    batch = Batch(
        discoveries=[Discovery(url_id(url), url, host_of(url)) for url in known],
        outcomes=[],
        hosts=[],
        robots=[],
        trap_counts={},
    )
    frontier.commit(batch, owner="here:0", now=0.0)
    dones = []
    for target in frontier.targets.load("a.test", limit=99):
        text = STORY[target.url.removeprefix(SITE)][number]
        done = Outcome(target.row, target.host, State.GONE, "http-404", http=404, at=1.0, history=VisitHistory())
        if text == ">":
            done = Outcome(
                target.row,
                target.host,
                State.MOVED,
                http=302,
                at=1.0,
                redirect="http://b.test/",
                history=VisitHistory(),
            )
        elif text:
            done = Outcome(target.row, target.host, State.FETCHED, http=200, at=1.0, history=VisitHistory())
            keep(frontier, archive, target, done, f"{target.url} {text}".encode())
        dones.append(done)
    name, size = archive.flush()
    frontier.commit(
        Batch(discoveries=[], outcomes=dones, hosts=[], robots=[], trap_counts={}, warc=name, warc_size=size),
        owner="here:0",
        now=0.0,
    )


def keep(frontier: SqliteFrontier, archive: ArchiveWriter, target: Target, done: Outcome, body: bytes) -> None:
    answer = Answer(target, 200, head=HEAD, body=body, size=len(body), began=1e9, request=b"GET / HTTP/1.1\r\n\r\n")
    digest = body.rjust(20)[-20:]
    if digest == target.digest:
        done.state = State.UNCHANGED
        return
    holder = frontier.known.content_holder(digest)
    if holder is None:
        place = archive.add(answer, digest=digest, mime="text/html")
    else:
        place = archive.add_revisit(
            answer, digest=digest, refers_to_url=holder[1], refers_to_date=holder[2], profile="identical"
        )
    done.page = PageRow(
        1e9, 200, "text/html", digest=digest, size=len(body), warc=place[0], offset=place[1], length=place[2]
    )


def found(made: Path, since: int | None = None, until: int | None = None) -> dict[str, str]:
    with Collection(made) as collection:
        return {change.url.removeprefix(SITE): change.what for change in collection.changes(since, until)}


def test_the_last_round_is_compared_to_the_one_before(made: Path) -> None:
    """Without a number."""
    assert found(made) == found(made, 3) == found(made, 3, 4) == {"edited": "changed"}


def test_two_rounds_are_compared_as_a_reader_sees_them(made: Path) -> None:
    """What came and went, or changed and changed back in between, does not appear."""
    assert found(made, 1, 2) == {
        "edited": "changed", "undone": "changed", "lost": "gone", "returns": "gone", "late": "new", "brief": "new",
    }  # fmt: skip
    assert found(made, 2, 3) == {
        "undone": "changed", "returns": "back", "late": "changed", "brief": "gone", "moved": "gone",
    }  # fmt: skip
    assert found(made, 1) == {"edited": "changed", "lost": "gone", "late": "new", "moved": "gone"}
    assert found(made, 4) == {}
    assert found(made, 0, 1) == dict.fromkeys(["stays", "edited", "undone", "lost", "returns", "moved"], "new")
    assert found(made, 0) == dict.fromkeys(["stays", "edited", "undone", "returns", "late"], "new")


def test_a_change_says_where_and_when(made: Path) -> None:
    """The round that found it, the status, and where a page that moved leads now."""
    with Collection(made) as collection:
        (moved,) = [change for change in collection.changes(1) if change.url.endswith("moved")]
        assert moved == ("gone", f"{SITE}moved", "a.test", 3, 302, "", "http://b.test/")
        assert list(collection.changes(1, host="b.test")) == []
        assert len(list(collection.changes(1, host="*.test"))) == 4


@pytest.mark.parametrize(("since", "until"), [(5, None), (2, 1), (-1, None), (1, 5), (0, 0)])
def test_rounds_that_are_not_there(made: Path, since: int, until: int | None) -> None:
    """The complaint says which there are."""
    with Collection(made) as collection, pytest.raises(UsageError, match="rounds 1 to 4"):
        collection.changes(since, until)


def test_rounds_are_listed(made: Path) -> None:
    """With their times and figures."""
    with Collection(made) as collection:
        rounds = collection.rounds
    assert [row.round for row in rounds] == [1, 2, 3, 4]
    assert [(row.new, row.changed, row.unchanged, row.gone, row.back) for row in rounds] == [
        (6, 0, 0, 0, 0), (2, 2, 2, 2, 0), (0, 2, 2, 2, 1), (0, 1, 4, 0, 0),
    ]  # fmt: skip
    assert rounds[0].ended is not None and rounds[0].ended.timestamp() == 1010.0
    assert rounds[3].ended is None and rounds[3].full


def test_pages_as_they_were(made: Path) -> None:
    """Newest copies, also of what is gone; or those that were there after a round, with their bytes."""
    with Collection(made) as collection:
        for number in range(1, 5):
            texts = {
                page.url.removeprefix(SITE): page.body.decode().rpartition(" ")[2]
                for page in collection.pages(round=number)
            }
            assert texts == {
                name: story[number - 1] for name, story in STORY.items() if story[number - 1] not in ("", ">")
            }
        newest = {page.url.removeprefix(SITE): page.body.decode().rpartition(" ")[2] for page in collection}
        assert newest == {
            "stays": "s", "edited": "3", "undone": "1", "lost": "l", "returns": "r", "late": "N", "brief": "b",
            "moved": "m",
        }  # fmt: skip
        assert len(collection) == len(newest)
        page = collection.page(f"{SITE}edited", round=2)
        assert page is not None and page.body.endswith(b"2")
        assert collection.page(f"{SITE}lost", round=2) is None
        with pytest.raises(UsageError, match="no round 9"):
            next(collection.pages(round=9))


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert main(words) == code
    said = capsys.readouterr()
    return said.out, said.err


def test_the_command_tells_changes(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows for programs, a sum and the hosts before them for people."""
    out, err = run(capsys, "changes", "-c", str(made), "--since", "1")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["what"] for row in rows] == ["changed", "new", "gone", "gone"]  # by their addresses
    assert "round 4 is not finished" in err
    out, _ = run(capsys, "changes", "-c", str(made), "--since", "1", "--format", "table")
    assert out.startswith("Round 4 compared to round 1: 1 new, 1 changed, 2 gone, 0 back\n\nhost ")
    assert "http://b.test/" in out
    out, _ = run(capsys, "changes", "-c", str(made), "--since", "1", "--hosts", "--format", "csv")
    assert out == "host,new,changed,gone,back\na.test,1,1,2,0\n"
    out, _ = run(capsys, "changes", "-c", str(made), "--rounds", "--format", "tsv")
    assert out.splitlines()[2].split("\t")[:3] == ["2", "1970-01-01 00:33:20", "1970-01-01 00:33:30"]


def test_the_command_refuses_what_makes_no_sense(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence each, exit code 2."""
    assert "go without it" in run(capsys, "changes", "-c", str(made), "--rounds", "--since", "1", code=2)[1]
    assert "rounds 1 to 4" in run(capsys, "changes", "-c", str(made), "--since", "9", code=2)[1]
    assert "--round goes with" in run(capsys, "export", "urls", "-c", str(made), "--round", "1", code=2)[1]
    assert "no round 7" in run(capsys, "export", "pages", "-c", str(made), "--round", "7", code=2)[1]


def test_exports_of_a_round(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lists, mirrors and archives show the pages as they were; an archive has the bytes that its revisits refer to."""
    out, _ = run(capsys, "export", "pages", "-c", str(made), "--round", "2", "--format", "tsv")
    assert len(out.splitlines()) == 1 + 6
    run(capsys, "export", "mirror", "-c", str(made), "--round", "3", "-o", str(tmp_path / "site"))
    assert (tmp_path / "site/a.test/undone").read_text().endswith("1")
    assert not (tmp_path / "site/a.test/lost").exists()
    run(capsys, "export", "warc", "-c", str(made), "--round", "3", "-o", str(tmp_path / "three.warc.gz"))
    types = [record.rec_type for record in ArchiveIterator(io.BytesIO((tmp_path / "three.warc.gz").read_bytes()))]
    assert sorted(types) == ["response"] * 5 + ["revisit"]


def test_one_round_has_nothing_to_compare(tmp_path: Path) -> None:
    """It is said, and is no error."""
    SqliteFrontier.create(tmp_path / "crawl.db", mission_toml="", now=0.0)
    words = [sys.executable, "-m", "lycosa", "changes", "-c", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (done.stdout, "one round only" in done.stderr) == ("", True)
