"""A Ray cluster of two nodes on this machine, on loopback and for those who know its token; parts of it can be killed.

Run as a program, it holds the cluster: it prints the address, does what it reads, line by line, and ends every process
of the cluster when its input ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.processes import descendants

#: Every process on loopback, nothing told to Ray's makers, no warnings of what other versions will do.
LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # by which Ray binds to loopback alone, on any system
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
ANSWER_S = 90.0
END_S = 60.0
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def has_ray() -> bool:
    """Whether Ray is installed here."""
    return importlib.util.find_spec("ray") is not None


class RayCluster:
    """The cluster as a test sees it."""

    def __init__(self, process: subprocess.Popen[str], environ: dict[str, str]) -> None:
        self._process = process
        self._second = "plain"
        self.environ = environ  # what a program needs to reach it
        self.address = self._read()

    def kill_node(self) -> None:
        """Kill the second node at once."""
        self._order("kill second")
        self._second = ""

    def add_node(self, **more: str) -> None:
        """Add a node where the second was, with `more` in its environment."""
        if self._second:
            self.kill_node()
        self._order(f"add {json.dumps(more)}")
        self._second = "odd" if more else "plain"

    def restore(self) -> None:
        """Have a second node without anything special."""
        if self._second != "plain":
            self.add_node()

    def kill_head(self) -> None:
        """Kill the first node at once, with the server that knows what belongs to the cluster."""
        self._order("kill head")

    def _order(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()
        assert self._read() == "done"

    def _read(self) -> str:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            assert selector.select(ANSWER_S), f"the Ray cluster did not answer within {ANSWER_S:g} s"
        line = self._process.stdout.readline().strip()
        assert line, "the Ray cluster has ended"
        return line


@contextlib.contextmanager
def ray_cluster(**more: str) -> Iterator[RayCluster]:
    """A cluster of two nodes with a processor each, with `more` in its environment."""
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        # A short path: sockets lie in it, and the name of one may have 107 bytes.
        environ = os.environ | LOOPBACK | {"RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_TMPDIR": folder}
        paths = [str(Path(__file__).parents[1]), *filter(None, [more.get("PYTHONPATH")])]
        command = [sys.executable, "-P", "-W", "ignore", __file__]
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environ | more | {"PYTHONPATH": os.pathsep.join(paths)},
            )
        try:
            yield RayCluster(process, environ)
        except BaseException:
            print(Path(folder, "log").read_text()[-4000:], file=sys.stderr)
            raise
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        kill_all(descendants(process.pid))
        process.kill()
        process.wait()
    process.stdout.close()


def kill_all(pids: Iterator[int]) -> None:
    """Kill processes by their number."""
    for pid in list(pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def main() -> None:
    # What a node that is killed leaves behind becomes a child of ours, so that it can be found.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        hold_cluster()
    finally:
        limit = time.monotonic() + 5.0
        while list(descendants(os.getpid(), alive=True)) and time.monotonic() < limit:
            kill_all(descendants(os.getpid(), alive=True))
            time.sleep(0.05)


def hold_cluster() -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    options: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    options["node_ip_address"] = "127.0.0.1"
    head = cluster.add_node(**options)
    second = cluster.add_node(**options)
    print(cluster.address, flush=True)
    for line in sys.stdin:
        order, _, detail = line.strip().partition(" ")
        if order == "add":
            before = dict(os.environ)
            os.environ.update(json.loads(detail))
            second = cluster.add_node(**options)
            os.environ.clear()
            os.environ.update(before)
        elif detail == "head":
            head.kill_all_processes(check_alive=False, wait=True)
        else:
            cluster.remove_node(second, allow_graceful=False)
        print("done", flush=True)


if __name__ == "__main__":
    main()
