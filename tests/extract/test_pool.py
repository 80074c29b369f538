"""The pool of extract workers: what a quarry raises, what kills a worker, what replaces it; how a quarry is found."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.extract_jobs import WILD, run, write_archive
from support.processes import is_alive

from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.extract.job_runner import FORK_SERVER
from lycosa.extract.messages import ExtractedRecord, ExtractJob, ExtractResult, Setup
from lycosa.extract.pool import Pool
from lycosa.extract.quarry_loader import find_name, load_quarry
from lycosa.extract.worker import extract_document
from lycosa.model import Record
from lycosa.process.frames import Frames, frame
from lycosa.quarry import Quarry


@pytest.fixture
def wild(tmp_path: Path) -> str:
    path = tmp_path / "wild.py"
    path.write_text(WILD)
    return f"{path}:Wild"


def test_whatever_a_document_does_it_ends_alone(tmp_path: Path, wild: str) -> None:
    """Hangs, crashes and greed end with their reason after two tries; every other document is extracted."""
    fates = {
        "spin": ("cpu", "1 s of processor time"), "abort": ("crash", "SIGABRT"), "fault": ("crash", "SIGSEGV"),
        "leave": ("crash", "exit code 3"),
        "quit": ("error", "SystemExit: no"), "fill": ("memory", "256 MiB"), "grow": ("memory", "256 MiB"),
        "fail": ("error", "KeyError: 'the reason' (wild.py:"), "late": ("error", "after a record"),
        "broken": ("error", "not a Record"),
    }  # fmt: skip
    words = [word for deed in fates for word in (deed, *["good"] * 5)]
    jobs = write_archive(tmp_path / "archive", [f"{word} {n}".encode() for n, word in enumerate(words)])
    setup = Setup(wild, timeout_s=25, cpu_s=1, memory_bytes=256 << 20)
    pool = Pool(FORK_SERVER, setup, workers=2)
    try:
        assert (pool.ready.name, pool.ready.version) == ("Wild", "7")
        results = run(pool, jobs)
    finally:
        pool.close()
    assert len(results) == len(words)
    for job, word in zip(jobs, words, strict=True):
        result = results[job.key]
        if word == "good":
            assert (result.outcome, len(result.items)) == ("done", 1)
        else:
            assert result.outcome == fates[word][0], (word, result)
            assert fates[word][1] in result.error, (word, result)
            assert result.items == []
    assert pool.replaced == 12  # two for each of six


def test_a_document_that_only_waits_ends_too(tmp_path: Path, wild: str) -> None:
    """The clock counts as well as the processor."""
    jobs = write_archive(tmp_path / "archive", [b"wait", b"good"])
    pool = Pool(FORK_SERVER, Setup(wild, timeout_s=0.5), workers=1)
    try:
        results = run(pool, jobs)
    finally:
        pool.close()
    assert (results[1].outcome, results[1].error) == ("timeout", "not done after 0.5 s")
    assert results[2].outcome == "done"


def test_a_worker_that_no_timer_reaches_is_killed(tmp_path: Path, wild: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the signals are blocked, the pool itself ends the process."""
    monkeypatch.setattr("lycosa.extract.pool.GRACE_S", 0.1)
    jobs = write_archive(tmp_path / "archive", [b"mask", b"good"])
    pool = Pool(FORK_SERVER, Setup(wild, timeout_s=0.3, cpu_s=0.3), workers=1)
    try:
        results = run(pool, jobs)
    finally:
        pool.close()
    assert [results[1].outcome, results[2].outcome] == ["timeout", "done"]


def test_workers_are_replaced_after_their_share_and_when_they_leak(tmp_path: Path, wild: str) -> None:
    """No process lives longer than `recycle` documents, nor on half of its memory; nobody is blamed for it."""
    jobs = write_archive(tmp_path / "archive", [b"good %d" % n for n in range(40)] + [b"leak"] + [b"good"] * 2)
    pool = Pool(FORK_SERVER, Setup(wild, recycle=10, memory_bytes=384 << 20), workers=1)
    pool._doc_s = 1.0  # batches of one document
    try:
        results = run(pool, jobs)
    finally:
        pool.close()
    assert {result.outcome for result in results.values()} == {"done"}
    pids = [results[key].items[0].json for key in sorted(results)]
    lives = [pids.count(pid) for pid in dict.fromkeys(pids)]
    assert max(lives) <= 10 and len(lives) >= 5
    assert pids[40] != pids[41]
    assert pool.replaced == 0


def test_an_unreadable_place_is_told(tmp_path: Path, wild: str) -> None:
    """A file that is gone, an offset where no record begins."""
    (job,) = write_archive(tmp_path / "archive", [b"good"])
    lost = ExtractJob(2, str(tmp_path / "none.warc.gz"), 0)
    astray = ExtractJob(3, job.path, job.offset + 1)
    pool = Pool(FORK_SERVER, Setup(wild), workers=1)
    try:
        results = run(pool, [job, lost, astray])
    finally:
        pool.close()
    assert [results[key].outcome for key in (1, 2, 3)] == ["done", "unreadable", "unreadable"]
    assert "No such file" in results[2].error


def test_a_quarry_whose_module_has_threads_is_loaded_by_each_worker(tmp_path: Path) -> None:
    """No process with threads is forked."""
    path = tmp_path / "threaded.py"
    path.write_text(
        WILD + "\nimport threading\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "MADE_IN = os.getpid()\nWild.extract = lambda self, doc: [Record('pid', {'own': MADE_IN == os.getpid()})]\n"
    )
    jobs = write_archive(tmp_path / "archive", [b"good 1", b"good 2"])
    pool = Pool(FORK_SERVER, Setup(f"{path}:Wild"), workers=2)
    try:
        results = run(pool, jobs)
    finally:
        pool.close()
    assert [result.items[0].json for result in results.values()] == ['{"own":true}'] * 2


def test_no_process_stays_behind_when_the_pool_is_killed(tmp_path: Path, wild: str) -> None:
    """The fork server and a worker that is at a document end with the pool."""
    (job,) = write_archive(tmp_path / "archive", [b"wait"])
    code = f"""
import os, time
from lycosa.extract.messages import ExtractJob, Setup
from lycosa.extract.pool import Pool
from lycosa.extract.worker import extract_document
pool = Pool({FORK_SERVER!r}, Setup({wild!r}), workers=1)
pool.submit([ExtractJob(1, {job.path!r}, {job.offset})])
while not next(iter(pool._by_channel.values())).pid: pool.wait(0.1)
print(pool._process.pid, next(iter(pool._by_channel.values())).pid, flush=True)
time.sleep(0.2)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2
    limit = time.monotonic() + 10
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("no.py:A", None, "there is no file"),
        ("q.py:A", "class B: pass", "A is not in it."),
        ("q.py:B", "class B: pass", "B is not a class that inherits from lycosa.quarry.Quarry"),
        ("q.py:A", "from lycosa.quarry import Quarry\nclass B(Quarry): pass", "A is not in it; there is B."),
        ("q.py", "from lycosa.quarry import Quarry\nclass A(Quarry): pass\nclass B(Quarry): pass", "it has A, B"),
        ("q.py", "x = 1", "it has no class that is a Quarry"),
        ("q.py:A", "x = (", "cannot be loaded: SyntaxError"),
        ("q.py:A", "x = 1\n1 / 0", "cannot be loaded: ZeroDivisionError: division by zero (q.py:2)."),
        ("q.py:A", "import sys; sys.exit()", "cannot be loaded: SystemExit"),
        ("q.py:A", "import nosuch", "cannot be loaded: ModuleNotFoundError: No module named 'nosuch'"),
        (
            "q.py:A",
            "from lycosa.quarry import Quarry\nclass A(Quarry):\n  def __init__(self, x): pass",
            "cannot be made without arguments",
        ),
        ("nosuch.module:A", None, "there is no module nosuch (a file is named FILE.py:CLASS)"),
        ("lycosa.model:Record", None, "Record is not a class that inherits"),
        ("lycosa", None, "write FILE.py:CLASS or package.module:CLASS"),
    ],
)
def test_a_quarry_that_cannot_be_loaded_is_explained(tmp_path: Path, name: str, text: str | None, said: str) -> None:
    """The name, what is wrong with it, and what is there instead."""
    if text is not None:
        (tmp_path / "q.py").write_text(text)
    full = str(tmp_path / name) if ".py" in name else name
    with pytest.raises(UsageError) as caught:
        load_quarry(Mission(quarry=full))
    assert said in str(caught.value)
    assert name in str(caught.value)


def test_a_file_may_import_its_neighbours(tmp_path: Path) -> None:
    """Beside the standard library, never in its place."""
    (tmp_path / "neighbour_of_q.py").write_text("VALUE = '3'")
    (tmp_path / "json.py").write_text("raise RuntimeError('the wrong json')")
    (tmp_path / "q.py").write_text(
        "import json\nfrom neighbour_of_q import VALUE\nfrom lycosa.quarry import Quarry\n"
        "class A(Quarry):\n    version = VALUE\n"
    )
    assert load_quarry(Mission(quarry=str(tmp_path / "q.py"))).version == "3"


def test_a_refused_quarry_ends_the_pool_with_its_reason(tmp_path: Path) -> None:
    """Also when its module brings the process down."""
    path = tmp_path / "q.py"
    path.write_text("x = 1")
    with pytest.raises(UsageError, match="has no class that is a Quarry"):
        Pool(FORK_SERVER, Setup(str(path)), workers=1)
    path.write_text("import os; os.abort()")
    with pytest.raises(UsageError, match="cannot be loaded: the process was ended by SIGABRT"):
        Pool(FORK_SERVER, Setup(str(path)), workers=1)


class Topmost(Quarry):
    """At the top of its module."""


def test_an_object_at_hand_is_named() -> None:
    """By its module; not where worker processes could not find it, nor what it holds."""
    assert find_name(Topmost) == find_name(Topmost()) == f"{__name__}:Topmost"

    class Inner(Quarry):
        pass

    with pytest.raises(UsageError, match="must stand at the top of its module"):
        find_name(Inner)
    full = Topmost()
    full.terms = ["a"]  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="holds values of its own"):
        find_name(full)


def test_frames_come_out_whole() -> None:
    """However the bytes were cut; a size that is none of ours is an error."""
    data = frame([1]) + frame("two") + frame({"n": 3})
    for step in (1, 2, 7, len(data)):
        frames, found = Frames(), []
        for at in range(0, len(data), step):
            found += frames.feed(data[at : at + step])
        assert len(found) == 3
    with pytest.raises(ValueError, match="a frame of"):
        Frames().feed(os.urandom(3) + b"\xff" * 8)


def test_any_text_becomes_json() -> None:
    """Half characters are replaced; what JSON has no form for is an error of the quarry."""

    def give(data: object) -> ExtractResult:
        return extract_document(ExtractJob(1, "x", 0), lambda job: [Record("k\ud800", data)])  # type: ignore[arg-type]

    assert give({"a": ["x\ud800y"], "n": float("nan")}).items == [ExtractedRecord("k?", '{"a":["x?y"],"n":null}')]
    assert give({"when": datetime(2026, 1, 2, tzinfo=UTC), "raw": b"ab"}).outcome == "done"
    assert give({"odd": object()}).outcome == "error"
    assert give(["no", "dict"]).error == "TypeError: a record's data is a list, not a dict"
