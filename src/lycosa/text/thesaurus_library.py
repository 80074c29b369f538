"""Library of thesauri: the compiled files of a user, by name, and the starter vocabulary that is built in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from lycosa.errors import UsageError
from lycosa.text import skos
from lycosa.text.thesaurus import SUFFIX, CompiledThesaurus, Thesaurus, compile_vocabulary, open_compiled

#: The thesaurus that is built in, and the default.
STARTER = "starter"
STARTER_FILE = Path(__file__).with_name("starter.ttl")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


def folder() -> Path:
    """Where thesauri of this user lie: $XDG_DATA_HOME/lycosa/thesauri."""
    base = os.environ.get("XDG_DATA_HOME", "")
    return Path(base if os.path.isabs(base) else Path.home() / ".local/share") / "lycosa" / "thesauri"


def path_of(name: str) -> Path:
    """Where the thesaurus of this name lies, or would."""
    if not _NAME.fullmatch(name):
        raise UsageError(f'"{name}" is no name for a thesaurus; allowed: letters, digits, - _ and .')
    return folder() / f"{name}{SUFFIX}"


def names() -> list[str]:
    """Every thesaurus that can be named."""
    try:
        found = sorted(path.name.removesuffix(SUFFIX) for path in folder().glob(f"*{SUFFIX}"))
    except OSError:
        found = []
    return [STARTER, *(name for name in found if name != STARTER and not name.startswith("."))]


def find_compiled(name: str = "") -> CompiledThesaurus:
    """The compiled thesaurus of a name, or in a file; empty: the starter vocabulary."""
    if name in ("", STARTER):
        return _starter()
    if "/" in name or name.endswith(SUFFIX):
        return open_compiled(Path(name))
    file = path_of(name)
    if not file.is_file():
        raise UsageError(
            f'there is no thesaurus "{name}"; allowed: {", ".join(names())}, or a file; '
            "lycosa thesaurus import FILE… adds one"
        )
    return open_compiled(file)


def find(name: str = "", *, themes: Sequence[str] = (), languages: Sequence[str] = ()) -> Thesaurus:
    """The thesaurus of a name, restricted to themes and languages."""
    return Thesaurus(find_compiled(name), themes=themes, languages=languages)


def compile_files(
    files: Sequence[Path], *, name: str, languages: Sequence[str] = (), tell: Callable[[str], None] = lambda text: None
) -> bytes:
    """Compile SKOS files that belong together."""
    skos.install()
    import pyoxigraph as ox

    store = ox.Store()
    vocabulary = skos.load(files, store, name=name, languages=languages, tell=tell)
    graph = store.dump(format=ox.RdfFormat.N_TRIPLES, from_graph=ox.DefaultGraph())
    assert graph is not None
    return compile_vocabulary(vocabulary, graph, statements=len(store))


@cache
def _starter() -> CompiledThesaurus:
    return CompiledThesaurus(compile_files([STARTER_FILE], name=STARTER), source="the built-in thesaurus")


def find_skos_files(words: Sequence[str]) -> Iterator[Path]:
    """The files that words on a command line name: files, or all SKOS files in a folder."""
    for word in words:
        path = Path(word)
        if path.is_dir():
            inside = [file for file in sorted(path.iterdir()) if file.suffix.lower() in skos.SUFFIXES]
            if not inside:
                raise UsageError(f"{path}: the folder holds no SKOS file ({', '.join(skos.SUFFIXES)})")
            yield from inside
        else:
            yield path
