"""Crawls as processes: what may be started and stopped, and what they say when they cannot begin."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.make_collection import make_collection

from lycosa.collection.folder import lock
from lycosa.errors import CollectionError, DiskFull, UsageError
from lycosa.serve.background_work import is_ours
from lycosa.serve.watched_crawls import start_crawl, stop_crawl

PAGE = ("https://a.example/", "text/html", b"<title>A</title>")


def test_a_crawl_that_refuses_leaves_nothing(tmp_path: Path) -> None:
    """Its own sentence is the answer, and the folder that was made for it is gone."""
    folder = tmp_path / "new"
    with pytest.raises(UsageError, match="allowed"):
        start_crawl(folder, ["--scope=everywhere", f"--collection={folder}", "--", "http://127.0.0.1:9/"])
    assert not folder.exists()


def test_a_crawl_that_finds_no_room_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have no room for its own words either: its exit code says why."""
    program = tmp_path / "full"
    program.write_text(f"#!/bin/sh\nexit {DiskFull.exit_code}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(DiskFull, match="make room"):
        start_crawl(tmp_path / "new", [])
    assert not (tmp_path / "new").exists()


def test_seeds_are_not_in_the_list_of_processes(tmp_path: Path) -> None:
    """An address may hold a token: the crawl reads it from its standard input."""
    folder = tmp_path / "new"
    words = ["--seeds=-", "--max-time=20s", f"--collection={folder}"]
    process = start_crawl(folder, words, seeds=["http://127.0.0.1:9/?token=secret"])
    try:
        assert b"token" not in Path(f"/proc/{process}/cmdline").read_bytes()
        settings, until = folder / "lycosa.toml", time.monotonic() + 20
        while not settings.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert "token=secret" in settings.read_text()
    finally:
        stop_crawl(folder)
        stop_crawl(folder)


def test_only_one_crawl_runs_in_a_collection(tmp_path: Path) -> None:
    """The second is refused before a process is started."""
    folder = make_collection(tmp_path / "news", [PAGE])
    with lock(folder), pytest.raises(CollectionError, match="already runs"):
        start_crawl(folder, [])


def test_of_two_that_start_at_once_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other took the collection between the look and the start."""
    folder = make_collection(tmp_path / "news", [PAGE])
    program = tmp_path / "late"
    program.write_text("#!/bin/sh\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    holders = iter([0, *[7] * 1000])
    monkeypatch.setattr("lycosa.serve.watched_crawls.running_crawl", lambda _: next(holders))
    with pytest.raises(CollectionError, match="already runs"):
        start_crawl(folder, [])


def test_only_a_lycosa_of_ours_is_stopped(tmp_path: Path) -> None:
    """Another program that holds the lock gets no signal, and nothing is sent where no crawl runs."""
    folder = make_collection(tmp_path / "news", [PAGE])
    assert stop_crawl(folder) == 0
    (folder / "lock").write_text("1")  # what a handed-on collection may hold: the first process of the system
    assert stop_crawl(folder) == 0
    holder = "import fcntl,os,sys,time; h=os.open(sys.argv[1],os.O_RDWR); fcntl.flock(h,fcntl.LOCK_EX)"
    holder += "; os.ftruncate(h,0); os.pwrite(h,str(os.getpid()).encode(),0); print(1,flush=True); time.sleep(60)"
    other = subprocess.Popen([sys.executable, "-c", holder, str(folder / "lock")], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(CollectionError, match="no lycosa of yours"):
            stop_crawl(folder)
        time.sleep(0.1)
        assert other.poll() is None
    finally:
        other.send_signal(signal.SIGKILL)
        other.communicate()


def test_a_number_alone_proves_nothing() -> None:
    """A process that is gone, and the first one, are not ours."""
    assert not is_ours(1)
    assert not is_ours(2**22 + 1)
    assert not is_ours(os.getpid()) or "lycosa" in " ".join(sys.orig_argv)
