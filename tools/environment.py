"""Makes or renews the environment that ./lycosa and ./test run in; standard library only.

In: the checkout, the folder of the environment, run, dev or the name of an extra, the stamp to leave when all is done.
Out: exit code 0.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path


def tell(text: str) -> None:
    print(f"lycosa: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one set-up at a time work below a folder; the kernel frees the lock of a process that dies."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another set-up to end")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def works(env: Path, root: Path) -> bool:
    """Whether an environment can be renewed in place: a crawl that is running in it goes on."""
    with contextlib.suppress(OSError):
        stamps = [stamp.read_text() for stamp in env.glob("lycosa-*")]
        if all(stamp.startswith(f"{root} ") for stamp in stamps):
            return subprocess.run([env / "bin/python", "-m", "pip", "--version"], capture_output=True).returncode == 0
    return False


def find_wanted(root: Path, *, kind: str) -> list[str]:
    """What is installed: the checkout itself, and for dev what its tests need; or what an extra needs."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    if kind not in ("run", "dev"):
        return list(project["project"]["optional-dependencies"][kind])
    # `pip install --group dev` would do, but needs a newer pip than the one that comes with Python 3.11.
    return ["--editable", str(root), *(project["dependency-groups"]["dev"] if kind == "dev" else [])]


def install(env: Path, root: Path, *, kind: str) -> bool:
    """Install what is wanted in the versions that the project was tested with, or else in the newest."""
    pip = [env / "bin/python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
    wanted, constraints = find_wanted(root, kind=kind), root / "tools/constraints.txt"
    for options in (["--constraint", str(constraints)], []):
        # Standard output belongs to the program that runs afterwards.
        command = [*pip, *options, *wanted]
        done = subprocess.run(command, stdout=sys.stderr, env=os.environ | {"PIP_USER": "0"}).returncode == 0
        if done:
            break
        if options:
            tell("the versions of tools/constraints.txt cannot be installed here; trying the newest ones")
    # pip compiles what it copies, and this it does not copy. Where PYTHONDONTWRITEBYTECODE is set, as in many
    # containers, every start would compile it again: a quarter of a second.
    subprocess.run([env / "bin/python", "-m", "compileall", "-qq", root / "src"], capture_output=True)
    return done


def measure(env: Path) -> int:
    """The bytes of an environment."""
    return sum(path.lstat().st_size for path in env.rglob("*"))


def main(root: Path, env: Path, kind: str, stamp: str) -> int:
    marker = env / f"lycosa-{kind}"
    env.parent.mkdir(parents=True, exist_ok=True)
    with alone(env.parent):
        if marker.is_file() and marker.read_text() == stamp and os.access(env / "bin/python", os.X_OK):
            return 0
        if kind in ("run", "dev"):
            tell(f"setting up {env} (only now, and when what it needs changes)")
        else:
            tell(f"installing {', '.join(find_wanted(root, kind=kind))} (only now)")
        if not works(env, root):
            try:
                venv.create(env, with_pip=True, clear=True, symlinks=True)
            except (OSError, subprocess.CalledProcessError) as problem:
                tell(f"could not make {env}: {problem}. On Debian and Ubuntu the package python3-venv is needed.")
                return 1
        if not install(env, root, kind=kind):
            tell("could not install what it needs; is the package index reachable? Running it again continues.")
            return 1
        if kind not in ("run", "dev"):
            tell(f"installed; {env} now has {measure(env) >> 20} MB")
        marker.write_text(stamp)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
    except OSError as problem:
        tell(f"could not set up its environment: {problem}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
