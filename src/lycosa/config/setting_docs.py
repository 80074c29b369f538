"""Documentation of the settings: the docstrings of `settings` by dotted key, and their table in `docs/settings.md`."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

from lycosa.config import settings
from lycosa.config.fields import Field, dotted, host_fields, own_fields, sections
from lycosa.config.mission_table import known

_WORDS = {
    "whole": "whole number",
    "number": "number",
    "yes-no": "true or false",
    "text": "text",
    "list": "list of texts",
    "table": "table",
    "tables": "list of tables",
}
_TITLES = {"": "At the top", "hosts": '`[hosts."example.org"]`'}


@cache
def meanings() -> dict[str, str]:
    """The meaning of each setting; a section's own stands under its name, a host's under `hosts.`"""
    structs = _docstrings()
    found = {name: text for name, text in structs["Mission"].items() if name}
    for section in [*filter(None, sections()), "hosts"]:
        struct = "HostRule" if section == "hosts" else f"{section.removesuffix('s').capitalize()}Settings"
        for name, text in structs[struct].items():
            found[f"{section}.{name}" if name else section] = text
    return found


@cache
def own_meanings(mission: str) -> dict[str, str]:
    """The meaning of each setting that a mission brings itself."""
    found = known().own_settings(mission)
    return {} if found is None else _docstrings(Path(sys.modules[found.__module__].__file__ or ""))[found.__name__]


def own_table(mission: str) -> str:
    """The settings that a mission brings itself, as a Markdown table."""
    meaning = own_meanings(mission)
    out = ["| setting | value | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in own_fields(mission).items():
        out.append(f"| `{name}` | {_kind(field)} | {_default(field)} | {meaning[name]} |")
    return "\n".join(out)


def table() -> str:
    """The settings as Markdown, one table per section."""
    meaning = meanings()
    out = []
    for section, members in [*sections().items(), ("hosts", host_fields())]:
        title = _TITLES.get(section, f"`[{section}]`")
        out += [f"### {title}", ""]
        out += [meaning[section], ""] if section else []
        out += ["| setting | value | default | meaning |", "| --- | --- | --- | --- |"]
        names = [*members, "headers", "cookies"] if section == "hosts" else members
        for name in names:
            field = members.get(name)
            default = _default(field) if field else "`{}`"
            key = dotted((section, name)) if section else name
            out.append(f"| `{name}` | {_kind(field)} | {default} | {meaning[key]} |")
        out.append("")
    return "\n".join(out)


def _docstrings(file: Path = Path(settings.__file__)) -> dict[str, dict[str, str]]:
    """Class → field → the text under it, from the source because Python does not keep it; "" is the class's own."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for struct in tree.body:
        if isinstance(struct, ast.ClassDef):
            texts = found[struct.name] = {"": ast.get_docstring(struct) or ""}
            for before, node in zip(struct.body, struct.body[1:], strict=False):
                if isinstance(before, ast.AnnAssign) and isinstance(node, ast.Expr):
                    assert isinstance(before.target, ast.Name) and isinstance(node.value, ast.Constant)
                    texts[before.target.id] = " ".join(str(node.value.value).split())
    return found


def _kind(field: Field | None) -> str:
    if field is None:
        return "table of texts"
    if field.kind == "choice":
        return ", ".join(f"`{choice}`" for choice in field.choices)
    text = _WORDS[field.kind]
    if field.low is not None:
        text += f" from {field.low}"
    elif field.above is not None:
        text += f" above {field.above}"
    return text if field.high is None else f"{text} to {field.high}"


def _default(field: Field) -> str:
    value = field.default
    if value is None or value in ("", (), {}):
        return "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    print(table())
