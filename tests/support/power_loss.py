"""A crawl's file operations go in, recorded by strace; the disks that a loss of power could have left come out.

What was synced is there. What was written and not synced may be there or not, page by page; a name that was made,
changed or removed lasts only when its folder was synced.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

PAGE = 4096
_CALLS = (
    "openat,open,creat,write,pwrite64,writev,pwritev,ftruncate,truncate,fallocate,rename,renameat,renameat2,unlink,"
    "unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync"
)
_LINE = re.compile(r"(\d+\.\d+) (\w+)\((.*)\)\s+= (-?\d+)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"|<((?:\\x[0-9a-f]{2})*)(?:\(deleted\))?>')


def can_record() -> bool:
    """Whether strace is there and may look at a program."""
    strace = shutil.which("strace")
    return strace is not None and subprocess.run([strace, "-qo/dev/null", "true"], capture_output=True).returncode == 0


@dataclass
class Operation:
    """One call that changed something below the recorded folder; `name` of a rename is its old name."""

    at: float
    call: str
    name: str
    data: bytes = b""
    number: int = 0  # offset of a pwrite, size of a truncation
    flags: str = ""
    new_name: str = ""


def record(command: list[str], folder: Path, notes: Path) -> tuple[list[Operation], int, str]:
    """Run a command to its end; gives what it and its children did below `folder`, its exit code and what it said."""
    notes.mkdir()
    strace = [
        "strace", "-ff", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", "100000000", "-e", f"trace={_CALLS}",
        "-e", "signal=none", "--absolute-timestamps=format:unix,precision:ns", "-o", str(notes / "calls"), *command,
    ]  # fmt: skip
    done = subprocess.run(strace, capture_output=True, text=True, timeout=300)
    operations: list[Operation] = []
    for path in notes.iterdir():
        with open(path, encoding="ascii") as file:
            operations += [found for line in file if (found := _read(line, str(folder))) is not None]
    operations.sort(key=lambda operation: operation.at)
    shutil.rmtree(notes)
    return operations, done.returncode, done.stdout + done.stderr


def _read(line: str, folder: str) -> Operation | None:
    """A line of strace as an operation; None if it failed, changed nothing, or belongs elsewhere."""
    found = _LINE.match(line)
    if found is None or int(found[4]) < 0:
        return None
    at, call, arguments = float(found[1]), found[2], found[3]
    texts = [(_unhex(quoted), _unhex(named)) for quoted, named in _TEXT.findall(arguments)]
    names = [_join(texts, index) for index, (quoted, _) in enumerate(texts) if quoted]
    if call in ("write", "pwrite64", "ftruncate", "fsync", "fdatasync", "fallocate", "writev", "pwritev"):
        names = [texts[0][1].decode()]
    if not names or not names[0].startswith(folder):
        return None
    operation = Operation(at, call.removesuffix("64"), names[0])
    if call in ("writev", "pwritev", "fallocate", "truncate"):
        raise NotImplementedError(line[:200])
    if call in ("write", "pwrite64"):
        operation.data = texts[1][0][: int(found[4])]
    if call in ("pwrite64", "ftruncate"):
        operation.number = int(arguments.rpartition(", ")[2])
    if call.startswith("open"):
        operation.flags = arguments.rpartition('", ')[2]
        if "O_CREAT" not in operation.flags and "O_TRUNC" not in operation.flags:
            return None
    if call.startswith("rename"):
        operation.new_name = names[1]
    return operation


def _join(texts: list[tuple[bytes, bytes]], index: int) -> str:
    """A quoted path, relative to the open folder that stands before it."""
    base = texts[index - 1][1].decode() if index and texts[index - 1][1] else ""
    return os.path.join(base, texts[index][0].decode(errors="replace"))


def _unhex(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


@dataclass
class Node:
    """A file: what is safe, and what was done to it since."""

    safe: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # offset and data; None: cut there
    size: int = 0  # as the program sees it
    is_folder: bool = False

    def apply(self, offset: int, data: bytes | None) -> None:
        """Make a change last."""
        if data is None:
            del self.safe[offset:]
            self.safe.extend(bytes(offset - len(self.safe)))
            return
        self.safe.extend(bytes(max(0, offset - len(self.safe))))
        self.safe[offset : offset + len(data)] = data


Names = dict[str, Node]


class Disk:
    """Follows the operations; `lose_power` says what could be left of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.names: Names = {}
        self._safe_names: Names = {}
        self._changes: list[tuple[str, Node | None]] = []  # of names, since their folders were synced

    def follow(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            self._do(operation)

    def _do(self, operation: Operation) -> None:
        name, call = operation.name, operation.call
        if call in ("open", "openat", "creat"):
            node = self.names.get(name)
            if node is None:
                self._name(name, Node())
            elif "O_TRUNC" in operation.flags:
                self._change(node, 0, None)
        elif call.startswith("mkdir"):
            self._name(name, Node(is_folder=True))
        elif call.startswith(("unlink", "rmdir")):
            self._name(name, None)
        elif call.startswith("rename"):
            self._name(operation.new_name, self.names[name])
            self._name(name, None)
        elif call in ("fsync", "fdatasync"):
            self._sync(name)
        elif name in self.names:  # else it was unlinked while open
            node = self.names[name]
            if call == "ftruncate":
                self._change(node, operation.number, None)
            else:  # everything that is written without an offset is appended
                self._change(node, operation.number if call == "pwrite" else node.size, operation.data)

    def _name(self, name: str, node: Node | None) -> None:
        self._changes.append((name, node))
        _rename(self.names, name, node)

    def _change(self, node: Node, offset: int, data: bytes | None) -> None:
        node.pending.append((offset, data))
        node.size = offset if data is None else max(node.size, offset + len(data))

    def _sync(self, name: str) -> None:
        node = self.names.get(name)
        if node is not None and not node.is_folder:
            for offset, data in node.pending:
                node.apply(offset, data)
            node.pending.clear()
            return
        kept = []
        for change in self._changes:
            if os.path.dirname(change[0]) == name:
                _rename(self._safe_names, *change)
            else:
                kept.append(change)
        self._changes = kept

    def lose_power(self, image: Path, *, how: str, dice: random.Random) -> None:
        """Write what is left to a folder. `how`: all of what was not synced, none, some, or the early part of it."""
        names = dict(self._safe_names)
        if how != "none":
            count = len(self._changes)
            for change in self._changes[: count if how == "all" else dice.randint(0, count)]:
                _rename(names, *change)
        shutil.rmtree(image, ignore_errors=True)
        image.mkdir()
        for name in sorted(names):
            way = Path(name).relative_to(self.folder)
            if not all(f"{self.folder}/{above}" in names for above in way.parents if above != Path()):
                continue
            target = image / way
            if names[name].is_folder:
                target.mkdir(exist_ok=True)
            else:
                target.write_bytes(_remains(names[name], how=how, dice=dice))


def _rename(names: Names, name: str, node: Node | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _remains(node: Node, *, how: str, dice: random.Random) -> bytes:
    copy = Node(bytearray(node.safe))
    pending = node.pending
    if how == "none":
        pending = []
    elif how == "early":
        pending = pending[: dice.randint(0, len(pending))]
    for offset, data in pending:
        if how != "some" or (data is None and dice.random() < 0.5):
            copy.apply(offset, data)
        if how != "some" or data is None:
            continue
        for start in range(offset // PAGE * PAGE, offset + len(data), PAGE):
            if dice.random() < 0.5:
                first, last = max(start, offset), min(start + PAGE, offset + len(data))
                copy.apply(first, data[first - offset : last - offset])
    if how == "some" and dice.random() < 0.5:
        copy.apply(max(node.size, len(copy.safe)), b"")  # the length was written, the data was not
    return bytes(copy.safe)
