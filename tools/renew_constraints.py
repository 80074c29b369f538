"""Renews tools/constraints.txt: the versions that ./lycosa, ./test and .ci/run install; standard library only.

Run it to take over newer releases, run ./test, and commit the file. `pip install` of the project keeps its ranges.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from environment import find_wanted, tell

ROOT = Path(__file__).resolve().parents[1]
HEAD = "# The versions that ./lycosa, ./test and .ci/run install. Made by tools/renew_constraints.py; do not edit.\n"


def main() -> int:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = [*find_wanted(ROOT, kind="dev"), *extras["ray"]]
    with tempfile.TemporaryDirectory(prefix="lycosa-constraints-") as folder:
        venv.create(folder, with_pip=True, symlinks=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check", "--no-input"]
        if subprocess.run([*pip, "install", "-qq", *wanted]).returncode:
            tell("could not install the newest versions; tools/constraints.txt stays as it is")
            return 1
        frozen = subprocess.run([*pip, "freeze", "--exclude-editable"], capture_output=True, text=True, check=True)
    (ROOT / "tools/constraints.txt").write_text(HEAD + frozen.stdout)
    tell(f"tools/constraints.txt has {len(frozen.stdout.splitlines())} versions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
