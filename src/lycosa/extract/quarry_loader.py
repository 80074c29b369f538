"""Quarry loader: the name of a class or function in, as the user wrote it; an object of the class or the function out.

`FILE.py:CLASS` is a file, `package.module:CLASS` an installed module, a plain word a mission; with commas between them
they are several. Code is loaded by name here and in the registry of missions, and the name comes from the command line,
a mission file or a program: never from a collection's pages.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from msgspec.structs import replace

from lycosa.config import mission_table
from lycosa.config.fields import nearest
from lycosa.config.mission_table import is_name
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.quarry import Quarry, QuarryUnion

T = TypeVar("T")

#: Names of quarries whose module is being loaded: its top level must not start anything.
loading: list[str] = []

_only_missions: ContextVar[bool] = ContextVar("only_missions", default=False)


@contextmanager
def only_missions() -> Iterator[None]:
    """Load nothing but installed missions in the block: who looks at a collection need not know who made it."""
    token = _only_missions.set(True)
    try:
        yield
    finally:
        _only_missions.reset(token)


def load_quarry(mission: Mission) -> Quarry:
    """Load what a mission hunts, one quarry or a union of several, each with the mission's own settings.

    UsageError says what is wrong with a name, the code or the settings.
    """
    if mission.quarry and _only_missions.get():
        raise UsageError(f"The code of the quarry {mission.quarry} is not run by who only looks at the collection.")
    parts = [load_configured(resolve(name), settings_of(mission, name)) for name in split_hunted(mission.hunted)]
    return parts[0] if len(parts) == 1 else QuarryUnion(parts)


def load_configured(name: str, settings: Mapping[str, Any]) -> Quarry:
    """Load a quarry by the name of its class, and have it take a mission's own settings."""
    quarry = load_object(name, Quarry, what="quarry")
    try:
        return quarry.configured(settings) if settings else quarry
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"The quarry {name} cannot use its settings: {describe_error(error)}.") from error


def settings_of(mission: Mission, name: str) -> Mapping[str, Any]:
    """The own settings of one of the quarries that are hunted: those of the mission of that name."""
    return mission.own.get(name, {}) if is_name(name) else {}


def split_hunted(text: str) -> list[str]:
    """The quarries that are named with commas between them; a file, which may have a comma in its name, comes last."""
    names: list[str] = []
    while (comma := text.find(",")) > 0 and is_name(text[:comma]):
        names.append(text[:comma])
        text = text[comma + 1 :]
    return [*names, text]


def split_mission(mission: Mission) -> list[Mission]:
    """One mission for each quarry that is hunted, as if it were hunted alone: their records are kept apart."""
    parts = [replace(mission, name=name, missions=(name,), quarry="") for name in mission.missions]
    if mission.quarry:
        parts.append(replace(mission, missions=()))
    return parts if len(parts) > 1 else [mission]


def resolve(name: str) -> str:
    """The class that a name stands for, as a process can load it that knows no mission."""
    if not is_name(name):
        return name
    if not mission_table.has(name):
        guess = f" (did you mean {meant}?)" if (meant := nearest(name, mission_table.names())) else ""
        raise UsageError(
            f"The quarry {name} cannot be found: there is no mission of that name{guess};"
            " name one, or write FILE.py:CLASS or package.module:CLASS."
        )
    if not (found := mission_table.quarry(name)):
        raise UsageError(f"The mission {name} hunts nothing: it has no quarry.")
    return found


def load_object(name: str, base: type[T], *, what: str) -> T:
    """Load the class that is meant, which inherits from `base`, and make one; `what` it is stands in the UsageError."""
    loading.append(name)
    try:
        return _load(name, base, what)
    finally:
        loading.remove(name)


def _load(name: str, base: type[T], what: str) -> T:
    where, _, wanted = name.rpartition(":") if not name.endswith(".py") else (name, "", "")
    if not where:
        raise UsageError(f"The {what} {name} cannot be found: write FILE.py:CLASS or package.module:CLASS.")
    module = _load_file(where, name, what) if where.endswith(".py") else _load_module(where, name, what)
    kind = _find_class(module, wanted, name, base=base, what=what)
    try:
        return kind()
    except Exception as error:
        raise UsageError(f"The {what} {name} cannot be made without arguments: {describe_error(error)}.") from error


def load_function(name: str, *, what: str) -> Callable[..., Any]:
    """Load the function that is meant; `what` it is stands in the UsageError that says what is wrong."""
    where, _, wanted = name.rpartition(":")
    if not where:
        raise UsageError(f"The {what} {name} cannot be found: write FILE.py:FUNCTION or package.module:FUNCTION.")
    module = _load_file(where, name, what) if where.endswith(".py") else _load_module(where, name, what)
    found = getattr(module, wanted, None)
    if not callable(found):
        raise UsageError(f"The {what} {name} cannot be used: {wanted} is not a function in it.")
    return found  # type: ignore[no-any-return]  # what it takes is the caller's to check


def find_name(quarry: object) -> str:
    """The name by which a process finds the class of an object that a program has at hand."""
    kind = quarry if isinstance(quarry, type) else type(quarry)
    if not isinstance(quarry, type) and vars(quarry):
        raise UsageError(
            f"The quarry {kind.__qualname__} holds values of its own, which worker processes cannot get: "
            "make them attributes of the class."
        )
    if "." in kind.__qualname__:
        raise UsageError(
            f"The quarry {kind.__qualname__} must stand at the top of its module: worker processes load it by name."
        )
    if kind.__module__ != "__main__":
        return f"{kind.__module__}:{kind.__qualname__}"
    file = getattr(sys.modules["__main__"], "__file__", None)
    if not file or not file.endswith(".py"):
        raise UsageError(f"The quarry {kind.__qualname__} must stand in a file: worker processes load it from there.")
    return f"{os.path.abspath(file)}:{kind.__qualname__}"


def describe_error(error: BaseException) -> str:
    """An exception in one line: what it says, and the last line of the user's code that it came through."""
    message = " ".join(str(error).split())[:400]
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if isinstance(error, SyntaxError):
        return text
    ours = os.path.dirname(os.path.dirname(__file__)) + os.sep
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((ours, "<")):
            return f"{text} ({os.path.basename(frame.filename)}:{frame.lineno})"
    return text


def _load_file(where: str, name: str, what: str = "quarry") -> ModuleType:
    path = Path(where)
    if not path.is_file():
        hint = "; where it was moved, name it anew with --set quarry=FILE.py:CLASS" if what == "quarry" else ""
        raise UsageError(f"The {what} {name} cannot be found: there is no file {where}{hint}.")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # its neighbours may be imported; at the end, so that they hide nothing
    # No __pycache__ in the user's folder. It stays so, as the class may import a neighbour when it is called; our own
    # modules were compiled when they were installed.
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(f"lycosa_quarry_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[spec.name]
        raise _refuse(name, error, what) from error
    return module


def _load_module(where: str, name: str, what: str = "quarry") -> ModuleType:
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name and (where == error.name or where.startswith(f"{error.name}.")):
            raise UsageError(
                f"The {what} {name} cannot be found: there is no module {error.name} (a file is named FILE.py:CLASS)."
            ) from error
        raise _refuse(name, error, what) from error
    except BaseException as error:
        raise _refuse(name, error, what) from error


def _refuse(name: str, error: BaseException, what: str) -> BaseException:
    if isinstance(error, KeyboardInterrupt):
        return error
    return UsageError(f"The {what} {name} cannot be loaded: {describe_error(error)}.")


def _find_class(module: ModuleType, wanted: str, name: str, *, base: type[T], what: str) -> type[T]:
    offered = {
        key: kind
        for key, kind in vars(module).items()
        if inspect.isclass(kind) and issubclass(kind, base) and kind.__module__ == module.__name__
    }
    if not wanted:
        if len(offered) == 1:
            return next(iter(offered.values()))
        found = (
            f"it has {', '.join(offered)}: write {name}:CLASS"
            if offered
            else f"it has no class that is a {base.__name__}"
        )
        raise UsageError(f"The {what} {name} is not one class: {found}.")
    kind = getattr(module, wanted, None)
    if inspect.isclass(kind) and issubclass(kind, base):
        return kind
    fault = (
        f"is not a class that inherits from {base.__module__}.{base.__name__}" if kind is not None else "is not in it"
    )
    others = f"; there is {', '.join(offered)}" if offered else ""
    raise UsageError(f"The {what} {name} cannot be used: {wanted} {fault}{others}.")
