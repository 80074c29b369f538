"""Browser discovery: the system's browser, or what has to be installed to have one."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

from msgspec import Struct

#: As Debian, Fedora, Ubuntu, Google and Microsoft call theirs; all are Chromium. Shells without windows come first:
#: they take a fifth of the processor and half of the memory.
NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "headless_shell",
    "headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
_PLAYWRIGHT = f"Playwright ({sys.executable} -m pip install playwright)"
_CHROMIUM = "a Chromium (apt-get install chromium-headless-shell, or say where one is: render.browser)"


class BrowserProgram(Struct, frozen=True):
    """A browser that can be used, or what has to be installed first."""

    path: str = ""
    missing: str = ""  # empty when nothing is


def find_browser(setting: str = "") -> BrowserProgram:
    """The browser that `render.browser` names, else the first of the usual names on PATH."""
    path = _look(setting)
    has_driver = importlib.util.find_spec("playwright") is not None
    if path and has_driver:
        return BrowserProgram(path)
    if setting and not path:
        return BrowserProgram(missing=f"render.browser names {setting!r}, which is no program")
    lacks = [] if has_driver else [_PLAYWRIGHT]
    if not path:
        lacks.append(_CHROMIUM)
    return BrowserProgram(missing="install " + " and ".join(lacks))


def _look(setting: str) -> str:
    if setting:
        return shutil.which(os.path.expanduser(setting)) or ""
    return next((path for name in NAMES if (path := shutil.which(name))), "")
