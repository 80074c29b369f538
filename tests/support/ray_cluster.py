"""A Ray cluster of two nodes on this machine, on loopback and for those who know its token; the second can be killed.

Run as a program, it holds the cluster: it prints the address, kills the second node when it reads a line, adds another
at the next, and so on; it ends everything when its input ends.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator

#: Every process on loopback, nothing told to Ray's makers, no warnings of what other versions will do.
LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # by which Ray binds to loopback alone, on any system
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def has_ray() -> bool:
    """Whether Ray is installed here."""
    return importlib.util.find_spec("ray") is not None


class RayCluster:
    """The cluster as a test sees it."""

    def __init__(self, process: subprocess.Popen[str], environ: dict[str, str]) -> None:
        assert process.stdout is not None
        self._process = process
        self.environ = environ  # what a program needs to reach it
        self.address = process.stdout.readline().strip()
        assert self.address, "the Ray cluster did not start"

    def kill_node(self) -> None:
        """Kill the second node, with all of its processes, at once."""
        self._order()

    def add_node(self) -> None:
        """Add a node where the second was."""
        self._order()

    def _order(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline()


@contextlib.contextmanager
def ray_cluster(**more: str) -> Iterator[RayCluster]:
    """A cluster of two nodes with a processor each, with `more` in its environment."""
    environ = os.environ | LOOPBACK | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:  # a short path: sockets lie in it
        command = [sys.executable, "-P", "-W", "ignore", __file__, folder]
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environ | more
            )
        try:
            yield RayCluster(process, environ)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)
            assert process.stdout is not None
            process.stdout.close()


def main(folder: str) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    options = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    cluster.add_node(**options, node_ip_address="127.0.0.1", temp_dir=folder)
    second = cluster.add_node(**options, node_ip_address="127.0.0.1")
    print(cluster.address, flush=True)
    try:
        for _ in sys.stdin:
            if second is not None:
                cluster.remove_node(second, allow_graceful=False)
                second = None
            else:
                second = cluster.add_node(**options, node_ip_address="127.0.0.1")
            print("done", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
