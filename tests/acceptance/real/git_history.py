"""A git repository with a history of about a hundred commits, and what is in it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from acceptance.real.site import find_program

COMMITS = 100


@dataclass(frozen=True)
class History:
    """What the head of a repository holds: commits, newest first, files and folders."""

    repository: Path
    commits: tuple[str, ...]
    files: tuple[str, ...]
    folders: tuple[str, ...]


def make_history(folder: Path, *, commits: int = COMMITS) -> History:
    """A bare repository `demo.git` below a folder; each commit adds a line to one of a few files."""
    git, repository = find_program("git", package="git"), folder / "demo.git"
    stream: list[str] = []
    texts: dict[str, list[str]] = {}
    for n in range(1, commits + 1):
        path = ("README", "src/parser.c", "src/lexer.c", "doc/manual.txt", "tests/run.sh")[n % 5]
        path = path if n % 25 else f"src/part{n // 25}.c"
        lines = texts.setdefault(path, [])
        lines.append(f"/* line {len(lines) + 1} of {path}, since change {n} */")
        text, message = "\n".join([*lines, ""]), f"Change {n}: extend {path}\n"
        stream.append(
            f"commit refs/heads/master\nmark :{n}\ncommitter Ada <ada@example.org> {1_600_000_000 + 86_400 * n} +0000\n"
            f"data {len(message)}\n{message}M 100644 inline {path}\ndata {len(text)}\n{text}\n"
        )
    quiet = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run([git, "init", "-q", "--bare", "-b", "master", repository], env=quiet, check=True)
    subprocess.run([git, "-C", repository, "fast-import", "--quiet"], input="".join(stream).encode(), check=True)

    def ask(*words: str) -> tuple[str, ...]:
        done = subprocess.run([git, "-C", repository, *words], capture_output=True, text=True, check=True)
        return tuple(done.stdout.split())

    tree = ("ls-tree", "-r", "--name-only", "master")
    return History(repository, ask("log", "--format=%H"), ask(*tree), ask(*tree[:1], "-d", *tree[1:]))
