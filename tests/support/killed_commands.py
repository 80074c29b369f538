"""Commands that are killed at their n-th look at the disk: everything they started dies with them."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import os, signal, sys
left, words = int(sys.argv[1]), sys.argv[2:]
from lycosa.cli.main import main
def look(event, arguments):
    global left
    if event in ("open", "os.rename", "os.remove", "os.truncate", "os.mkdir", "fcntl.flock", "shutil.copyfile"):
        left -= 1
        if left == 0:
            os.killpg(0, signal.SIGKILL)
sys.addaudithook(look)
code = main(words)
print(f"left {left}")
sys.exit(code)
"""


def run_to_moment(moment: int, *words: str) -> tuple[int, int]:
    """Run a command and kill it at a moment, 0: never; its exit code, and how many moments it went through."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(moment or 1_000_000), *words],
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=120,
    )
    last = done.stdout.rpartition("left ")[2].strip()
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, 1_000_000 - int(last) if last.isdigit() and not moment else 0
