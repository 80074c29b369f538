"""The rooms of the house and who may import whom; no cycle, no import hidden in a string, no mission in the core."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

import lycosa

SOURCE = Path(lycosa.__file__).parent

#: Each folder of missions/ is one.
MISSIONS = {path.name for path in (SOURCE / "missions").iterdir() if path.is_dir() and path.name != "__pycache__"}

#: What every room may import: the nouns everybody uses.
GROUND = ("model", "urls", "errors", "reasons", "clock", "disk", "extras", "process", "version")

#: Each room with the rooms that it imports, in the order in which things flow: a room imports only what is above it.
#: The stages (fetch, parse, render, judge, frontier, archive) import no other stage.
ROOMS: dict[str, tuple[str, ...]] = {
    "version": (),
    "reasons": (),
    "clock": (),
    "errors": (),
    "process": ("clock", "errors"),
    "model": (),
    "disk": ("errors",),
    "extras": ("errors",),
    "urls": (),
    "config": ("errors", "model", "urls"),
    "text": ("errors", "extras", "process"),
    "output": ("disk", "errors", "extras"),
    "fetch": (*GROUND, "config"),
    "parse": (*GROUND,),
    "quarry": ("model", "parse"),
    "render": (*GROUND, "config"),
    "judge.admission": (*GROUND, "config", "output", "text"),
    "judge.priority": (*GROUND, "config", "text"),
    "frontier": (*GROUND,),
    "frontier.sqlite": (*GROUND, "frontier"),
    "frontier.postgres": (*GROUND, "frontier", "frontier.sqlite"),
    "archive": (*GROUND,),
    "content": (*GROUND, "parse", "text"),
    "collection": (
        *GROUND, "archive", "config", "content", "fetch", "frontier", "frontier.postgres", "frontier.sqlite",
        "judge.priority", "output", "parse",
    ),
    "wishes": (*GROUND, "collection", "fetch", "parse"),
    "derived": (*GROUND, "archive", "collection", "frontier.sqlite", "judge.admission", "text"),
    "graph": (*GROUND, "collection", "output"),
    "extract": (
        *GROUND, "archive", "collection", "config", "fetch", "frontier.sqlite", "output", "parse", "quarry",
    ),
    "politeness": (
        *GROUND, "config", "fetch", "frontier", "output", "render",
    ),
    "intake": (
        *GROUND, "archive", "collection", "config", "politeness", "extract", "fetch",
        "frontier", "judge.admission", "judge.priority", "parse", "quarry", "render", "wishes",
    ),
    "repair": (
        *GROUND, "archive", "collection", "config", "derived", "extract", "intake", "politeness", "fetch", "frontier",
        "frontier.postgres", "frontier.sqlite", "judge.admission", "judge.priority", "output", "parse", "render",
        "text",
    ),
    "explain": (
        *GROUND, "collection", "config", "extract", "fetch", "frontier", "frontier.sqlite", "judge.admission",
        "judge.priority", "output", "parse", "quarry", "text", "wishes",
    ),
    "export": (
        *GROUND, "archive", "collection", "config", "derived", "explain", "fetch", "frontier", "graph", "output",
        "parse", "politeness", "render",
    ),
    "analysis": (
        *GROUND, "collection", "derived", "config", "export", "extract", "frontier.sqlite", "graph", "output", "parse",
        "text",
    ),
    "lists": (*GROUND, "collection", "derived", "frontier.sqlite", "output", "text"),
    "crawler": (
        *GROUND, "archive", "collection", "config", "intake", "politeness",
        "extract", "fetch", "frontier", "frontier.postgres", "frontier.sqlite", "judge.admission", "judge.priority",
        "output", "quarry", "render", "repair", "text",
    ),
}  # fmt: skip
CORE = tuple(ROOMS)
STAGES = ("fetch", "parse", "render", "judge.admission", "judge.priority", "frontier", "archive")
ROOMS |= {
    "missions": (*CORE,),
    "api": (*CORE, "missions"),
    "serve": (*CORE, "missions", "api"),
    "cli": (*CORE, "missions", "api", "serve"),
    "__main__": ("cli",),
    "": ("api", "version"),
}

#: The one import path in a string that leads out of its room. Missions import `config`, and settings, which `config`
#: reads, name missions: it has their registry loaded at the first question, and passes its answers on to other rooms.
DOOR = "config/mission_table.py: lycosa.missions.registry"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(root: Path) -> dict[str, Path]:
    """Every module below a package by its dotted name without the package's own; "" is the package itself."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path, known: Iterable[str]) -> set[str]:
    """The modules of the package that a module imports, also within functions and for types alone."""
    found: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            assert node.module and node.level == 0, f"{path}:{node.lineno}: an import names its module whole"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name.removeprefix("lycosa.") in known else str(node.module) for name in names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.removeprefix("lycosa").removeprefix(".") for name in names if re.match(r"lycosa(\.|$)", name)}
    return found


@cache
def edges(root: Path) -> dict[str, set[str]]:
    known = modules(root)
    return {name: imports_of(path, known) - {name} for name, path in known.items()}


def room_of(module: str) -> str:
    """The room that a module stands in: the longest name of a room that it begins with."""
    fitting = [room for room in ROOMS if module == room or module.startswith(f"{room}.")]
    return max(fitting, key=len, default=module)


def find_wrong_edges(graph: Mapping[str, set[str]]) -> list[str]:
    """Imports that the table does not allow, and modules in no room."""
    wrong = []
    for module, imported in graph.items():
        room = room_of(module)
        if room not in ROOMS and module not in ("judge",):
            wrong.append(f"{module} stands in no room")
            continue
        for other in imported:
            if (there := room_of(other)) != room and there not in ROOMS.get(room, ()):
                wrong.append(f"{module} imports {other}")
    return sorted(wrong)


def find_cycles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Modules that import each other, directly or through others (Tarjan's strongly connected components)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    cycles = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for other in graph.get(module, ()):
            if other not in graph:
                continue
            if other not in order:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], order[other])
        if low[module] == order[module]:
            component = set()
            while module not in component:
                component.add(stack.pop())
            if len(component) > 1:
                cycles.append(component)

    for module in graph:
        if module not in order:
            visit(module)
    return cycles


def find_hidden_imports(root: Path) -> list[str]:
    """Import paths in strings that lead out of their own room; missions bring their writers and verbs that way."""
    rooms = {name.partition(".")[0] for name in modules(root)} - {""}
    return sorted(
        f"{path.relative_to(root)}: {node.value}"
        for path in root.rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if (named := re.match(r"lycosa\.([a-z_]+)(?:[.:]|$)", node.value)) is not None
        if named[1] in rooms and named[1] != path.relative_to(root).parts[0]
    )


def mission_of(module: str, missions: Iterable[str]) -> str:
    """The mission that a module belongs to; empty for what they have in common, and for everything else."""
    room, _, rest = module.partition(".")
    name = rest.partition(".")[0]
    return name if room == "missions" and name in missions else ""


def find_foreign_missions(graph: Mapping[str, set[str]], missions: Iterable[str]) -> list[str]:
    """Imports of a single mission by what is not a part of it."""
    return sorted(
        f"{module} imports {other}"
        for module, imported in graph.items()
        for other in imported
        if (mission := mission_of(other, missions)) and mission != mission_of(module, missions)
    )


def find_missions_named(root: Path, missions: Iterable[str]) -> list[str]:
    """Code outside missions/ that names one: as a whole string, or as a part of an identifier."""
    wrong = []
    for path in root.rglob("*.py"):
        if "missions" in path.relative_to(root).parts:
            continue
        for node in ast.walk(tree_of(path)):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            # Also a media type, a kind of document and a format; a setting and a kind of export; plain words, a table.
            if text in missions and text not in ("xml", "mirror", "documents", "records"):
                wrong.append(f"{path.relative_to(root)}:{node.lineno}: {text!r}")  # type: ignore[attr-defined]
    return sorted(wrong)


def test_every_import_is_in_the_table() -> None:
    """A new edge between rooms is a decision: it is written down in the table above, or not made."""
    assert find_wrong_edges(edges(SOURCE)) == []


def test_the_table_has_an_order() -> None:
    """Each room imports only rooms that stand above it, and no stage another."""
    places = {room: place for place, room in enumerate(ROOMS)}
    assert [(room, other) for room, others in ROOMS.items() for other in others if places[other] >= places[room]] == []
    assert [(stage, other) for stage in STAGES for other in ROOMS[stage] if other in STAGES] == []


def test_the_table_has_no_idle_edge() -> None:
    """What the table allows between rooms, somebody uses; the ground and what stands on top are free to all."""
    used = defaultdict(set)
    for module, imported in edges(SOURCE).items():
        used[room_of(module)] |= {room_of(other) for other in imported}
    idle = [
        (room, other)
        for room, others in ROOMS.items()
        if room not in ("missions", "api", "serve", "cli", "")
        for other in others
        if other not in GROUND and other not in used[room]
    ]
    assert idle == []


def test_no_two_folders_import_each_other() -> None:
    """Nor one another through others: the folders have an order, as the rooms have."""
    folders: dict[str, set[str]] = defaultdict(set)
    for module, imported in edges(SOURCE).items():
        folders[module.partition(".")[0]] |= {other.partition(".")[0] for other in imported}
    assert find_cycles(folders) == []


def test_no_module_imports_itself_through_others() -> None:
    """Nor for types alone, nor within functions."""
    assert find_cycles(edges(SOURCE)) == []


def test_no_import_hides_in_a_string() -> None:
    """What a string names, no reader and no table sees; only missions bring functions by name."""
    assert find_hidden_imports(SOURCE) == [DOOR]


def test_nobody_imports_a_single_mission() -> None:
    """Neither the core nor another mission: what one brings comes through its manifest."""
    assert find_foreign_missions(edges(SOURCE), MISSIONS) == []


def test_missions_import_public_names() -> None:
    """Of the core and of their own."""
    for module, imported in edges(SOURCE).items():
        for other in imported if mission_of(module, MISSIONS) else ():
            assert not any(part.startswith("_") for part in other.split(".")), f"{module} imports {other}"


def test_the_core_names_no_mission() -> None:
    """By no word either."""
    assert find_missions_named(SOURCE, MISSIONS) == []


def test_class_names_mean_one_thing() -> None:
    """No two public classes share a name, but the public `Collection` and the one that it extends."""
    found = defaultdict(list)
    for module, path in modules(SOURCE).items():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    assert {name: places for name, places in found.items() if len(places) > 1 and name != "Collection"} == {}


@pytest.mark.parametrize(
    ("idea", "trace", "place"),
    [
        ("a size in words", '"kB"', "output/plain.py"),
        ("a time as ISO 8601", "def iso_time", "clock.py"),
        ("GraphML", "graphml.graphdrawing.org", "graph/files.py"),
        ("a function in a process of its own", "class Apart", "process/apart.py"),
        ("limits that the kernel keeps", "RLIMIT_AS", "process/limits.py"),
        ("text that XML can hold", "def fit_xml", "output/plain.py"),
        ("an answer by OAI-PMH", "openarchives.org/OAI/2.0/OAI-PMH.xsd", "missions/documents/oai.py"),
    ],
)
def test_an_idea_is_written_once(idea: str, trace: str, place: str) -> None:
    """By the trace that it leaves in the source, wherever that stands."""
    found = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if trace in path.read_text()}
    assert found == {place}, idea


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("fetch/bad.py", "from lycosa.parse import doc", "fetch.bad imports parse.doc"),
        ("parse/bad.py", "def f():\n    import lycosa.missions.geo", "parse.bad imports missions.geo"),
        ("strange/bad.py", "x = 1", "strange.bad stands in no room"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, file: str, text: str, complaint: str) -> None:
    """Also within a function."""
    write(tmp_path, {file: text, "parse/doc.py": "", "missions/geo/__init__.py": ""})
    assert complaint in find_wrong_edges(edges(tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        "from lycosa.missions.geo.store import Store",
        "import lycosa.missions.geo.store",
        "def show():\n    from lycosa.missions.geo import store",
        "def show():\n    from lycosa.missions import geo",
        "if TYPE_CHECKING:\n    from lycosa.missions.geo.store import Store",
    ],
)
def test_an_import_of_a_mission_is_found(tmp_path: Path, text: str) -> None:
    """By the rooms below the missions, and by other missions; a mission imports itself, and all the missions' door."""
    write(
        tmp_path,
        {
            "missions/__init__.py": "",
            "missions/manifest.py": "",
            "missions/geo/__init__.py": "",
            "missions/geo/store.py": "",
            "missions/geo/page.py": f"{text}\nfrom lycosa.missions.manifest import Manifest",
            "missions/xml/page.py": text,
            "missions/registry.py": text,
            "serve/page.py": f"{text}\nfrom lycosa.missions.manifest import Manifest",
        },
    )
    found = find_foreign_missions(edges(tmp_path), {"geo", "xml"})
    assert [line.partition(" ")[0] for line in found] == ["missions.registry", "missions.xml.page", "serve.page"]


def test_cycles_and_hidden_names_are_found(tmp_path: Path) -> None:
    """A cycle over three modules, an import in a string, a mission named in the core."""
    write(
        tmp_path,
        {
            "parse/a.py": "from lycosa.parse import b",
            "parse/b.py": "def f():\n    from lycosa.parse.c import x",
            "parse/c.py": "from lycosa.parse.a import y",
            "cli/bad.py": 'NAME = "lycosa.missions.geo.plugin"\nWORD = "geo"',
            "missions/geo/plugin.py": 'WRITER = "lycosa.missions.geo.export:write"',
        },
    )
    assert find_cycles(edges(tmp_path)) == [{"parse.a", "parse.b", "parse.c"}]
    assert find_hidden_imports(tmp_path) == ["cli/bad.py: lycosa.missions.geo.plugin"]
    assert find_missions_named(tmp_path, {"geo"}) == ["cli/bad.py:2: 'geo'"]


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
