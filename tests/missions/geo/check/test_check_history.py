"""Rounds of checks that are brought together when collections are merged."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from support.make_collection import make_collection

from lycosa.cli.main import main
from lycosa.missions.geo.check.check_history import CheckHistory, CheckResult, last_outcomes, merge_rounds

Rounds = list[tuple[int, float, float | None, str, list[tuple[str, str]]]]


def check(folder: Path, at: float, outcomes: dict[str, str], *, ended: bool = True) -> None:
    """A round of checks with these outcomes by service."""
    folder.mkdir(exist_ok=True)
    with closing(CheckHistory(folder, write=True)) as history:
        number, _ = history.begin(now=at, anew=True, wanted="")
        found = [
            CheckResult(id, "WMS", f"http://{id}.test/", outcome, described=True, at=at)
            for id, outcome in outcomes.items()
        ]
        history.add(number, found)
        if ended:
            history.end(number, now=at + 1)


def rounds(folder: Path) -> Rounds:
    """Everything that a history holds."""
    with closing(CheckHistory(folder, write=False)) as history:
        return [
            (row.round, row.started, row.ended, row.filter,
             sorted((each.id, each.outcome) for each in history.results(row.round)))
            for row in history.rounds()
        ]  # fmt: skip


def test_rounds_stand_in_the_order_of_their_times(tmp_path: Path) -> None:
    """With all their results, and each knows what it asked for; doing it again changes nothing."""
    a, b = tmp_path / "a", tmp_path / "b"
    check(a, 10.0, {"x": "alive", "y": "alive"})
    check(a, 30.0, {"x": "dead", "y": "alive"})
    check(b, 20.0, {"x": "slow", "z": "alive"})
    check(b, 40.0, {"z": "dead"}, ended=False)
    before = rounds(b)
    (said,) = merge_rounds(a, b, name="a")
    assert "brought 2 rounds of checks; there are 4" in said
    merged: Rounds = [
        (1, 10.0, 11.0, "services of a", [("x", "alive"), ("y", "alive")]),
        (2, 20.0, 21.0, "services of b", [("x", "slow"), ("z", "alive")]),
        (3, 30.0, 31.0, "services of a", [("x", "dead"), ("y", "alive")]),
        (4, 40.0, None, "services of b", [("z", "dead")]),
    ]
    assert rounds(a) == merged
    assert merge_rounds(a, b, name="a") == []
    assert rounds(a) == merged and rounds(b) == before
    assert {id: outcome for id, (outcome, _) in last_outcomes(a).items()} == {"x": "dead", "y": "alive", "z": "dead"}
    with closing(CheckHistory(a, write=False)) as history:  # y was not asked about, so that it did not vanish
        assert [each.result.id for each in history.differences(1, 2)] == ["x", "z"]


def test_copies_of_one_history_are_one(tmp_path: Path) -> None:
    """What both have is there once, the newer result of a service stays, and later rounds still ask for everything."""
    a, b = tmp_path / "a", tmp_path / "b"
    check(a, 10.0, {"x": "alive"}, ended=False)
    shutil.copytree(a, b)
    with closing(CheckHistory(b, write=True)) as history:
        history.add(1, [CheckResult("x", "WMS", "", "dead", at=12.0), CheckResult("y", "WMS", "", "slow", at=12.0)])
        history.end(1, now=13.0)
    check(b, 20.0, {"x": "slow"})
    merge_rounds(a, b, name="a")
    assert rounds(a) == rounds(b) and rounds(a)[0][3:] == ("", [("x", "dead"), ("y", "slow")])
    check(a, 30.0, {"x": "alive"})
    merge_rounds(a, b, name="a")
    assert [row[3] for row in rounds(a)] == ["", "", ""]


@pytest.mark.parametrize("into", [True, False])
def test_a_merge_brings_the_checks(into: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of all collections; of one whose history cannot be read, it is told."""
    for name, at in (("a", 10.0), ("b", 20.0), ("c", 30.0)):
        make_collection(tmp_path / name, [(f"http://{name}.test/", "text/html", b"")])
        check(tmp_path / name, at, {name: "alive"})
    (tmp_path / "c/checks.db").write_bytes(b"damaged" * 1000)
    folders = [str(tmp_path / name) for name in "abc"]
    words = ["--into", str(tmp_path / "all")] if into else []
    assert main(["merge", *folders, *words, "--format", "text"]) == 0
    out = capsys.readouterr().out
    assert f"{folders[1]} brought 1 round of checks; there are 2" in out
    assert f"The rounds of checks of {folders[2]} are left behind" in out
    assert [row[4] for row in rounds(tmp_path / ("all" if into else "a"))] == [[("a", "alive")], [("b", "alive")]]
