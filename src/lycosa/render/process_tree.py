"""Process tree: the processes below another one, their memory and how they end, as the kernel knows them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000  # linux/sched.h
_PAGE = os.sysconf("SC_PAGE_SIZE")


def die_with_parent(number: int, parent: int) -> None:
    """Have the kernel send this process a signal when its parent ends, however that ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:  # it ended in the meantime
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of whatever is left behind below this process (a subreaper): nothing escapes `end_below`."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def leave_network() -> bool:
    """Leave the network, with all that this process starts; False where that is not allowed."""
    unshare = ctypes.CDLL(None, use_errno=True).unshare
    if unshare(_CLONE_NEWNET) == 0:
        return True
    if os.geteuid() == 0 or not _try(_enter_own_network):
        return False
    _enter_own_network()
    return True


def _enter_own_network() -> None:
    """As an ordinary user: first a user namespace in which the user stays the same (user_namespaces(7))."""
    user, group = os.geteuid(), os.getegid()
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _try(step: Callable[[], None]) -> bool:
    """Whether a step that cannot be undone works, tried in a process of its own."""
    pid = os.fork()
    if pid == 0:
        try:
            step()
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def find_below(pid: int) -> list[int]:
    """The processes below this one, at any depth."""
    found: list[int] = []
    queue = [pid]
    while queue:
        for child in find_children(queue.pop()):
            found.append(child)
            queue.append(child)
    return found


def find_children(pid: int) -> list[int]:
    """The processes that this one started, or was given."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children += map(int, file.read().split())
    return children


def end_below(pid: int, *, patience_s: float = 10.0) -> None:
    """End every process below this one and reap it; `pid` must be this process, which has adopted orphans."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        for child in find_below(pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def private_bytes(pid: int) -> int:
    """Memory that this process alone uses; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            fields = file.read().split()
        return (int(fields[1]) - int(fields[2])) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


def read_command(pid: int) -> bytes:
    """The command line of a process."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
