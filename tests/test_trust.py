"""No byte of the network becomes code: what could turn data into it is not used, but for names that are ours."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import lycosa

SOURCE = Path(lycosa.__file__).parent

#: Modules that make objects of bytes, or run what they are given.
MODULES = {
    "pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "copyreg", "yaml", "runpy",
    "code", "codeop", "imp", "pty", "commands", "telnetlib", "importlib", "subprocess", "multiprocessing",
}  # fmt: skip
#: Functions that do, wherever they come from.
CALLS = {
    "eval", "exec", "compile", "__import__", "import_module", "exec_module", "system", "popen", "execv", "execve",
    "execvp", "spawnv", "extractall", "unpack_archive", "load_dtd", "execute_script", "loads_pickle",
}  # fmt: skip
#: `compile` of these is a regular expression.
PATTERNS = {"re", "re2"}

#: Who may nevertheless, and with what.
ALLOWED = {
    ("extras.py", "importlib"): "whether an extra is installed",
    ("extras.py", "subprocess"): "our own interpreter with the installer of our own checkout, no shell",
    ("missions/registry.py", "importlib"): "what missions name that the user has installed, and a table of ours",
    ("missions/manifest.py", "importlib"): "what they and ours name",
    ("missions/manifest.py", "import_module"): "the same",
    ("missions/former_plugins.py", "importlib"): "a type",
    ("config/mission_table.py", "importlib"): "the registry of missions, by a name of ours",
    ("config/mission_table.py", "import_module"): "the same",
    ("serve/mission_pages.py", "importlib"): "files beside the pages of a mission that is installed",
    ("serve/translations.py", "importlib"): "the same",
    ("render/browser_processes.py", "importlib"): "whether an extra is installed",
    ("extract/quarry_loader.py", "importlib"): "the class that the user's own mission file names",
    ("extract/quarry_loader.py", "import_module"): "the same",
    ("extract/quarry_loader.py", "exec_module"): "the same",
    ("process/apart.py", "subprocess"): "our own interpreter with this module, no shell",
    ("process/apart.py", "importlib"): "the function that our own source names, never what a task says",
    ("process/apart.py", "import_module"): "the same",
    ("process/apart.py", "execv"): "Ghostscript in its safe mode, no shell",
    ("extract/pool.py", "subprocess"): "our own interpreter with our own module, no shell",
    ("extract/ray_executor.py", "subprocess"): "the same",
    ("extract/fork_server.py", "execv"): "the same",
    ("extract/background.py", "subprocess"): "the same",
    ("derived/background.py", "subprocess"): "the same",
    (
        "serve/background_work.py",
        "subprocess",
    ): "our own interpreter with our own module, options from a list, no shell",
}


def dangers(tree: ast.AST) -> Iterator[str]:
    """The names in a module's source that could make code of data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            owner = getattr(getattr(node.func, "value", None), "id", "")
            if name != "compile" or owner not in PATTERNS:
                yield name
            yield from (f"{word.arg}=True" for word in node.keywords if getattr(word.value, "value", None) is True)


def test_no_data_becomes_code() -> None:
    """Nothing in the package imports, unpickles or evaluates what it was not given by its own source or its user."""
    refused = MODULES | CALLS | {"shell=True", "resolve_entities=True", "huge_tree=True", "allow_pickle=True"}
    found = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in SOURCE.rglob("*.py")
        for name in dangers(ast.parse(path.read_text()))
        if name in refused
    }
    assert sorted(found - ALLOWED.keys()) == []


def test_the_search_finds_what_it_looks_for() -> None:
    """A test that cannot fail proves nothing."""
    source = (
        "import pickle, yaml\nfrom importlib.util import x\nos.system(y)\neval(z)\nre.compile(a)\nrun(b, shell=True)"
    )
    found = {name for name in dangers(ast.parse(source)) if name in MODULES | CALLS | {"shell=True"}}
    assert found == {"pickle", "yaml", "importlib", "system", "eval", "shell=True"}
