"""Extras: packages that only some collections need. From a checkout they are installed when they are first needed."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from lycosa.errors import UsageError

_ROOT = Path(__file__).resolve().parents[2]


def need(module: str, *, extra: str, what: str) -> None:
    """See that a module of an extra is here; UsageError with what to do where it is not."""
    if _is_here(module):
        return
    if stamp := _find_stamp():
        installer = [sys.executable, str(_ROOT / "tools/environment.py"), str(_ROOT), sys.prefix, extra, stamp]
        subprocess.run(installer, stdin=subprocess.DEVNULL, stdout=2)  # our output is for what was asked
        importlib.invalidate_caches()
        if _is_here(module):
            return
    raise UsageError(f"{what} needs the module {module}: pip install 'lycosa[{extra}]'.")


def _is_here(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # as tests hide one
        return False


def _find_stamp() -> str:
    """The stamp of the environment that ./lycosa made for this checkout; empty: we run in another one."""
    try:
        stamp = (Path(sys.prefix) / "lycosa-run").read_text()
    except OSError:
        return ""
    return stamp if stamp.startswith(f"{_ROOT} ") else ""
