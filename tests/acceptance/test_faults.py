"""Crawls over the synthetic web that are killed, lose their power, their room or parts of their files.

The short form: `python tests/bench/faults.py` does the same at as many moments as one likes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.file_damage import HARMS, can_mount, fill_once, harm_once
from support.interrupted_crawls import KINDS, Range, Reference, black_out, kill_once
from support.power_loss import can_record

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def site(shared: Path) -> Iterator[Range]:
    """A part of the world with thirty hosts."""
    world = Range(shared / "world", hosts=30, pages=600)
    yield world
    world.close()


@pytest.fixture(scope="module")
def reference(site: Range, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return site.undisturbed(tmp_path_factory.mktemp("undisturbed") / "c")


@pytest.fixture
def dice() -> random.Random:
    return random.Random(3)


def test_kill_nine(
    site: Range, reference: Reference, tmp_path: Path, dice: random.Random, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten moments, the whole group and single workers, in the middle, at the start and at the end."""
    kills = [kill_once(site, reference, tmp_path / "c", kind=KINDS[n % len(KINDS)], dice=dice) for n in range(10)]
    with capsys.disabled():
        most = max(kill.repeated for kill in kills)
        print(f"\nkill -9: 10 moments of {len(reference.holding.digests)} pages, at most {most} requests repeated")
    assert [problem for kill in kills for problem in kill.problems] == []


@pytest.mark.skipif(not can_record(), reason="strace is not there, or may not look")
def test_loss_of_power(
    site: Range, reference: Reference, tmp_path: Path, dice: random.Random, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was not synced is lost, all or some of it, or the later part: the next run ends with the same pages."""
    blackouts = list(black_out(site, reference, tmp_path, count=6, dice=dice))
    with capsys.disabled():
        most = max(blackout.repeated for blackout in blackouts)
        print(f"\nloss of power: 6 points, at most {most} pages fetched again (synced twice a second)")
    assert [problem for blackout in blackouts for problem in blackout.problems] == []


def test_no_room(
    site: Range, reference: Reference, tmp_path: Path, dice: random.Random, capsys: pytest.CaptureFixture[str]
) -> None:
    """Small disks and limits on the size of files: exit code 3, and with room the same command finishes."""
    kinds = ("disk", "file") if can_mount() else ("file", "file")
    fulls = [fill_once(site, reference, tmp_path, kind=kinds[n % 2], dice=dice) for n in range(4)]
    with capsys.disabled():
        print(f"\nno room: ended with {sorted(full.pages for full in fulls)} pages, then completed")
    assert [problem for full in fulls for problem in full.problems] == []


@pytest.mark.parametrize("kind", ["database blank", "log lose", "archive flip"])
def test_damaged_files(
    site: Range,
    reference: Reference,
    tmp_path: Path,
    dice: random.Random,
    kind: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A database, its log, an archive file: the next run says what it repaired and ends with the same pages."""
    assert kind in HARMS
    harm = harm_once(site, reference, tmp_path / "c", kind=kind, dice=dice)
    with capsys.disabled():
        print(f"\n{kind}: {harm.lost} committed pages fetched again; {' '.join(harm.notes)}")
    assert harm.problems == []
    assert harm.notes
