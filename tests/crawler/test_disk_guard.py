"""Disks without room: the crawl ends or pauses with its reason, nothing is lost, and it goes on when there is some."""

from __future__ import annotations

import resource
import subprocess
import time
from pathlib import Path

import pytest
from support.crawl_runs import chain, command, crawl, rows, stored
from support.loopback import Reply, Web, html

from lycosa.config.settings import KeepSettings
from lycosa.crawler import supervisor
from lycosa.crawler.supervisor import DiskGuard

MB = 1_000_000


class Disk:
    """A disk of 100 GB of which so much is free."""

    def __init__(self, free: int) -> None:
        self.free = free

    def measure(self, _: Path) -> tuple[int, int]:
        return self.free, 100_000 * MB


def test_the_reserve_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """With less than the reserve there is a lack, until there is a little more than it."""
    monkeypatch.setattr(supervisor, "LOOK_S", 0.0)
    disk = Disk(300 * MB)
    watch = DiskGuard(Path("c"), KeepSettings(reserve_bytes=200 * MB), measure=disk.measure)
    assert watch.lack() == "" and not watch.is_hopeless
    disk.free = 199 * MB
    assert watch.lack() == "Only 199.0 MB of room are left on the disk of c, and 200.0 MB must stay free."
    assert watch.is_hopeless  # nobody waits
    disk.free = 210 * MB
    assert watch.lack() != ""
    disk.free = 221 * MB
    assert watch.lack() == "" and not watch.is_hopeless


def test_waiting_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for room does so for as long as the mission says; a small disk has a small reserve."""
    monkeypatch.setattr(supervisor, "LOOK_S", 0.0)
    watch = DiskGuard(Path("c"), KeepSettings(wait_s=0.05), measure=lambda _: (0, MB))
    assert "0.1 MB must stay free" in watch.lack() and not watch.is_hopeless
    time.sleep(0.06)
    assert watch.lack() and watch.is_hopeless
    assert DiskGuard(Path("c"), KeepSettings(), measure=lambda _: (MB, MB)).lack() == ""


def bound(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def large_site(web: Web) -> None:
    """Forty pages, of which the archive holds about two megabytes, and one that is put aside while it is received."""
    chain(web, "a.test", 40)
    for number in range(1, 40):
        page = web.pages[f"a.test/{number}"]
        page.body += bytes((n * number) % 251 for n in range(50_000))
    web["a.test/"] = html("/1", "/2", "/large", title="root")
    web["a.test/large"] = Reply(bytes(3 * MB), headers={"Content-Type": "application/octet-stream"})


@pytest.mark.parametrize("size", [20_000, 150_000, 400_000, 1_200_000])
def test_a_full_disk_ends_the_crawl_and_loses_nothing(web: Web, tmp_path: Path, size: int) -> None:
    """Exit code 3 and the reason, wherever the room ends: no page failed, and the same command finishes the crawl."""
    large_site(web)
    folder = tmp_path / "c"
    arguments = command(web, folder, "http://a.test/")
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, preexec_fn=lambda: bound(size))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "make room" in done.stdout + done.stderr and "Traceback" not in done.stderr
    crawl(web, folder, "http://a.test/")
    assert len(stored(folder)) == 41
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    assert rows(folder, "SELECT count(*) FROM strike") == [(0,)]
    assert not (folder / "logs/errors.log").exists()


def test_it_goes_on_by_itself_when_room_is_made(web: Web, tmp_path: Path) -> None:
    """With `keep.wait_s` the crawl holds what it has in memory and waits; nothing is fetched twice."""
    chain(web, "a.test", 200)  # more than can be asked for before the room ends, one after the other
    for page in web.pages.values():
        page.body += bytes(range(256)) * 100
    arguments = command(web, tmp_path / "c", "http://a.test/", "--set", "keep.wait_s=60", "--workers", "1")
    running = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: bound(200_000))
    time.sleep(3)
    asked = len(web.asked)
    assert running.poll() is None and asked < 200
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    for pid in (running.pid, *map(int, children)):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    said, _ = running.communicate(timeout=40)
    assert running.returncode == 0 and "200 pages stored" in said
    assert sorted(web.paths()) == sorted(set(web.paths()))
