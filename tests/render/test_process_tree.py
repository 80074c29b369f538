"""Trees of processes: found whole, ended whole, also when parts of them were cut off."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from lycosa.render import process_tree

LEAF = "import time; time.sleep(60)"
GROW = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', '{LEAF}']); time.sleep({{}})"


def grow(seconds: float) -> subprocess.Popen[bytes]:
    """A process with a child; it sleeps so long, its child a minute."""
    return subprocess.Popen([sys.executable, "-c", GROW.format(seconds)])


def wait_for_leaf(pid: int) -> int:
    end = time.monotonic() + 20
    while not (below := process_tree.find_below(pid)):
        assert time.monotonic() < end
        time.sleep(0.01)
    return below[-1]


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and b"time.sleep" in process_tree.read_command(pid)


def test_processes_below_are_found_and_measured() -> None:
    """Children of children too; what is gone has no memory and no command."""
    started = grow(60)
    leaf = wait_for_leaf(started.pid)
    assert {started.pid, leaf} <= set(process_tree.find_below(os.getpid()))
    assert leaf in process_tree.find_children(started.pid)
    assert process_tree.private_bytes(started.pid) > 0
    for pid in (leaf, started.pid):
        os.kill(pid, 9)
    started.wait()
    assert process_tree.private_bytes(started.pid) == 0
    assert process_tree.read_command(started.pid) == b""


def test_nothing_is_left_below_an_adopter() -> None:
    """A process whose parent ended first is ended with the others."""
    reader, writer = os.pipe()
    reaper = os.fork()
    if reaper == 0:
        try:
            process_tree.adopt_orphans()
            short, long = grow(0.3), grow(60)
            leaves = [wait_for_leaf(short.pid), wait_for_leaf(long.pid)]
            short.wait()
            os.write(writer, " ".join(map(str, [long.pid, *leaves])).encode())
            process_tree.end_below(os.getpid())
        finally:
            os._exit(0)
    os.waitpid(reaper, 0)
    pids = [int(word) for word in os.read(reader, 100).split()]
    os.close(reader)
    os.close(writer)
    assert len(pids) == 3
    assert not any(map(is_there, pids))


def test_a_process_dies_with_its_parent() -> None:
    """However the parent ends."""
    reader, writer = os.pipe()
    parent = os.fork()
    if parent == 0:
        me = os.getpid()
        if os.fork() == 0:
            process_tree.die_with_parent(9, me)
            os.write(writer, str(os.getpid()).encode())
            time.sleep(60)
        time.sleep(60)
    child = int(os.read(reader, 20))
    os.kill(parent, 9)
    os.waitpid(parent, 0)
    os.close(writer)
    assert os.read(reader, 1) == b""  # its end of the pipe is closed: it has ended
    os.close(reader)
    assert child


def test_leaving_the_network_leaves_only_oneself() -> None:
    """Where it is allowed, no interface but a dead loopback is left; elsewhere everything is as before."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        left = process_tree.leave_network()
        with open("/proc/self/net/dev", encoding="ascii") as file:
            names = [line.partition(":")[0].strip() for line in file.readlines()[2:]]
        os.write(writer, f"{left} {os.getuid()} {' '.join(names)}".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    left, user, *names = os.read(reader, 1000).decode().split()
    os.close(reader)
    os.close(writer)
    assert int(user) == os.getuid()
    assert left == "False" or names in ([], ["lo"])
