"""Functions run apart: their answers come back, and whatever they do costs one sentence."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import functions_apart
from support.processes import is_alive

from lycosa.errors import UsageError
from lycosa.process import apart
from lycosa.process.limits import Limits

FREE = Limits()


@pytest.fixture(autouse=True)
def _find_support(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(functions_apart.__file__).parents[1]))


def test_answers_come_back() -> None:
    """One value, or as many as there are; tasks go to one process, and what it prints is no answer."""
    with apart.Apart(functions_apart.double, FREE, quiet=True) as process:
        assert [process.ask(number) for number in range(3)] == [0, 2, 4]
        first = process.process
        assert first is not None and process.ask(2**40) == 2**41 and process.process is first
    assert process.process is None and first.poll() is not None
    assert list(apart.stream(functions_apart.count, 1000, FREE))[-1] == (999, "999")
    assert apart.query(functions_apart.count, 2, FREE)[0] == ("0", "0")


def test_errors_come_back_as_what_they_are() -> None:
    """Those for people by their class and sentence; a bug ends the task with its name; the process goes on."""
    with apart.Apart(functions_apart.refuse, FREE) as process:
        with pytest.raises(UsageError, match="This is refused"):
            process.ask("This")
        with pytest.raises(apart.Ended, match="ZeroDivisionError: bug") as caught:
            process.ask("bug")
        assert caught.value.reason == "crash"


@pytest.mark.parametrize(
    ("function", "task", "limits", "reason", "said"),
    [
        ("loop", 60.0, Limits(cpu_s=0.2), "cpu", r"0\.2 s of processor time"),
        ("sleep", 60.0, Limits(timeout_s=0.2), "timeout", r"not done after 0\.2 s"),
        ("fill", 1 << 40, Limits(memory_bytes=1 << 30), "memory", "more than 1024 MiB"),
        ("abort", None, FREE, "crash", "SIGABRT"),
    ],
)
def test_too_much_ends_the_process(function: str, task: object, limits: Limits, reason: str, said: str) -> None:
    """The kernel ends it, also where it never returns to Python; the next task gets a fresh process."""
    with pytest.raises(apart.Ended, match=said) as caught:
        apart.run(getattr(functions_apart, function), task, limits, quiet=True)
    assert caught.value.reason == reason


def test_preparation_has_a_time_of_its_own() -> None:
    """The limits hold for the function, not for what it needs before."""
    limits = Limits(timeout_s=0.3)
    apart.run(functions_apart.sleep, 0.6, limits, prepare=functions_apart.slow_preparation)
    with pytest.raises(apart.Ended):
        apart.run(functions_apart.sleep, 60.0, limits, prepare=functions_apart.slow_preparation, prepare_s=0.2)


def test_it_opens_no_files_where_it_must_not(tmp_path: Path) -> None:
    """Nor connections."""
    (tmp_path / "secret").write_text("x")
    reach, secret = functions_apart.reach, str(tmp_path / "secret")
    assert apart.run(reach, secret, FREE) == ["opened", "opened"]
    assert apart.run(reach, secret, Limits(no_files=True)) == ["Too many open files"] * 2


def test_who_stops_listening_ends_it() -> None:
    """Also an answer without end."""
    process = apart.Apart(functions_apart.count, FREE)
    assert len(list(itertools.islice(process.items(-1), 10_000))) == 10_000
    child = process.process
    process.close()
    assert child is not None and child.returncode != 0


def test_it_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """However that ends; it has its own priority."""
    note = tmp_path / "apart"
    program = f"""
from support import functions_apart
from lycosa.process import apart, limits
apart.run(functions_apart.stay, {str(note)!r}, limits.Limits(nice=7))
"""
    parent = subprocess.Popen([sys.executable, "-c", program])
    while not (note.exists() and note.read_text()):
        time.sleep(0.05)
    pid, nice = map(int, note.read_text().split())
    assert nice >= 7
    parent.kill()
    parent.wait()
    while is_alive(pid):
        time.sleep(0.05)


def test_other_programs_have_the_same_limits() -> None:
    """And no shell."""
    assert apart.run_program(["/bin/cat"], b"$(x)", Limits(timeout_s=20)) == b"$(x)"
    with pytest.raises(apart.Ended, match="not done after"):
        apart.run_program(["/bin/sleep", "60"], b"", Limits(timeout_s=0.2))
    with pytest.raises(apart.Ended, match="exit code 1"):
        apart.run_program(["/bin/false"], b"", FREE)


def test_only_what_has_a_name_runs_apart() -> None:
    """A function within another cannot be found there."""
    with pytest.raises(ValueError, match="cannot be imported"):
        apart.run(lambda task: task, 1, FREE)
    assert os.getpid() != apart.run(functions_apart.tell_process, None, FREE)[0]
