"""What every executor keeps, be it the pool of this machine or a Ray cluster: each job ends, alone, in one result."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.extract_jobs import WILD, run, write_archive

from lycosa.errors import UsageError
from lycosa.extract.executor import Executor, open_executor
from lycosa.extract.job_runner import FORK_SERVER
from lycosa.extract.messages import ExtractJob, Setup

#: Makes an executor with a number of workers; the test's end closes it.
Open = Callable[..., Executor]


@pytest.fixture(params=["pool", "ray"])
def opened(request: pytest.FixtureRequest) -> Iterator[Open]:
    on = f"ray://{request.getfixturevalue('ray_nodes').address}" if request.param == "ray" else ""
    made: list[Executor] = []

    def make(setup: Setup, *, workers: int = 1) -> Executor:
        made.append(open_executor(on, FORK_SERVER, setup, workers=workers))
        return made[-1]

    yield make
    for executor in made:
        executor.close()


@pytest.fixture
def wild(tmp_path: Path) -> str:
    path = tmp_path / "wild.py"
    path.write_text(WILD)
    return f"{path}:Wild"


def test_poison_documents_end_with_their_reason_and_all_others_are_done(
    tmp_path: Path, wild: str, opened: Open
) -> None:
    """Hangs, crashes, greed: two tries, each told as a strike, then set aside; what only raises has one try."""
    fates = {
        "wait": "timeout", "abort": "crash", "leave": "crash", "grow": "memory", "fail": "error",
    }  # fmt: skip
    words = [word for deed in fates for word in (deed, *["good"] * 20)]
    jobs = write_archive(tmp_path / "archive", [f"{word} {n}".encode() for n, word in enumerate(words)])
    executor = opened(Setup(wild, timeout_s=2, memory_bytes=256 << 20))
    assert (executor.ready.name, executor.ready.version) == ("Wild", "7")
    strikes: Counter[int] = Counter()
    outcomes: Counter[tuple[int, str]] = Counter()
    executor.submit(jobs)
    limit = time.monotonic() + 60
    while not executor.idle:
        for result in executor.wait(0.5):
            if result.outcome == "strike":
                strikes[result.key] += 1
            else:
                outcomes[result.key, result.outcome] += 1
        assert time.monotonic() < limit
    expected = [(job.key, fates.get(word, "done")) for job, word in zip(jobs, words, strict=True)]
    assert sorted(outcomes) == sorted(expected)
    assert set(outcomes.values()) == {1}
    killers = [job.key for job, word in zip(jobs, words, strict=True) if fates.get(word, "error") != "error"]
    assert sorted(strikes.elements()) == killers
    assert executor.replaced == 2 * len(killers)


def test_a_document_that_comes_with_a_strike_has_one_try(tmp_path: Path, wild: str, opened: Open) -> None:
    """The run before saw the first one."""
    (job,) = write_archive(tmp_path / "archive", [b"abort"])
    executor = opened(Setup(wild))
    results = run(executor, [ExtractJob(job.key, job.path, job.offset, job.length, strikes=1)])
    assert (results[1].outcome, executor.replaced) == ("crash", 1)


def test_jobs_are_begun_in_their_order(tmp_path: Path, wild: str, opened: Open) -> None:
    """So that a run that is ended has a front, and not holes everywhere: no result is far from its place."""
    jobs = write_archive(tmp_path / "archive", [b"good %d" % n for n in range(600)])
    executor = opened(Setup(wild))
    executor.submit(jobs)
    came: list[int] = []
    while not executor.idle:
        came += [result.key for result in executor.wait(0.5)]
    assert sorted(came) == [job.key for job in jobs]
    assert min(came[:5]) <= 5
    assert max(came[:5]) <= 300


def test_room_asks_for_work_and_idle_says_that_it_is_done(tmp_path: Path, wild: str, opened: Open) -> None:
    """An executor wants jobs from its start, fewer when it has some, and as many again when they are done."""
    jobs = write_archive(tmp_path / "archive", [b"good %d" % n for n in range(40)])
    executor = opened(Setup(wild))
    assert executor.idle
    assert executor.room >= 64
    for half in (jobs[:20], jobs[20:]):
        executor.submit(half)
        assert not executor.idle
        while not executor.idle:
            executor.wait(0.5)
    assert executor.room >= 64
    assert executor.replaced == 0


def test_what_was_not_begun_can_be_dropped(tmp_path: Path, wild: str, opened: Open) -> None:
    """What was begun comes back; the others do not; new jobs are done after it."""
    words = [b"nap"] * 3 + [b"good %d" % n for n in range(2000)]
    jobs = write_archive(tmp_path / "archive", words)
    executor = opened(Setup(wild))
    executor.submit(jobs)
    executor.drop()
    limit = time.monotonic() + 30
    came: list[int] = []
    while not executor.idle:
        came += [result.key for result in executor.wait(0.2)]
        executor.drop()
        assert time.monotonic() < limit
    assert len(came) < len(jobs)
    assert run(executor, jobs[-1:])[jobs[-1].key].outcome == "done"


def test_an_unreadable_place_is_told(tmp_path: Path, wild: str, opened: Open) -> None:
    """A file that is gone, an offset where no record begins: others are done."""
    (job,) = write_archive(tmp_path / "archive", [b"good"])
    lost = ExtractJob(2, str(tmp_path / "none.warc.gz"), 0)
    astray = ExtractJob(3, job.path, job.offset + 1)
    results = run(opened(Setup(wild)), [job, lost, astray])
    assert [results[key].outcome for key in (1, 2, 3)] == ["done", "unreadable", "unreadable"]
    assert "No such file" in results[2].error


def test_a_quarry_that_cannot_be_loaded_is_refused_at_the_start(tmp_path: Path, opened: Open) -> None:
    """With the reason, wherever it was to be loaded."""
    path = tmp_path / "q.py"
    path.write_text("x = 1")
    with pytest.raises(UsageError, match="has no class that is a Quarry"):
        opened(Setup(str(path)))


def test_an_executor_that_is_closed_under_way_leaves_the_next_one_free(tmp_path: Path, wild: str, opened: Open) -> None:
    """Closing ends what is under way, twice is no mistake, and the same jobs can be done anew."""
    jobs = write_archive(tmp_path / "archive", [b"wait", *[b"good %d" % n for n in range(50)]])
    first = opened(Setup(wild))
    first.submit(jobs)
    first.wait(1.0)
    first.close()
    first.close()
    results = run(opened(Setup(wild)), jobs[1:])
    assert {result.outcome for result in results.values()} == {"done"}
    assert len(results) == 50
