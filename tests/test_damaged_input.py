"""Damaged input: a sample for every reader, and proof that the script would notice."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from bench import fuzz_readers
from bench.fuzz_readers import TARGETS, FuzzTarget

SAMPLE = 4800


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_damaged_input_raises_nothing(name: str, tmp_path: Path) -> None:
    """Whatever is fed to a reader, it gives an answer or a declared error, in time and within its memory."""
    tally = fuzz_readers.run_target(name, seed=7, first=0, count=SAMPLE // len(TARGETS), faults=tmp_path)
    assert tally.fed == SAMPLE // len(TARGETS)
    assert tally.faults == [], "\n".join(path.read_text() for path in tmp_path.glob("*.fault"))


def test_faults_are_noticed_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception, an end without a word, an endless loop and endless memory each cost one input, which is kept."""

    def feed(data: bytes, _chance: random.Random, _folder: Path) -> None:
        fault = faults.get(data)
        if fault == "raise":
            raise KeyError("x")
        if fault == "abort":
            os.kill(os.getpid(), signal.SIGKILL)
        while fault == "loop":
            pass
        if fault == "memory":
            bytearray(4 << 30)

    monkeypatch.setitem(TARGETS, "toy", FuzzTarget(feed, [bytes(range(200))], [b"x"], [b"y"]))
    inputs = [fuzz_readers.make_input("toy", number, seed=1)[0] for number in range(12)]
    assert len(set(inputs)) == 12
    faults = dict(zip(inputs[1::3], ("raise", "abort", "loop", "memory"), strict=True))
    tally = fuzz_readers.run_target("toy", seed=1, first=0, count=12, faults=tmp_path, slow_s=0.2)
    assert (tally.fed, tally.faults) == (12, ["toy-1", "toy-10", "toy-4", "toy-7"])
    assert {path.read_bytes() for path in tmp_path.glob("*.input")} == set(faults)
