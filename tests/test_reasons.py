"""Reason codes: each has its sentence, whoever brings it."""

from __future__ import annotations

import ast
from pathlib import Path

from lycosa import reasons
from lycosa.fetch import client

SOURCE = Path(reasons.__file__).parent


def codes_in(path: Path) -> set[str]:
    """The texts that a module gives as reasons: `Disposition(State.X, "code")`, `Verdict(ok, CODE)`, `failure="code"`.

    A constant of the module stands for its text.
    """
    found = set()
    tree = ast.parse(path.read_text())
    constants = {
        name.id: value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for name, value in zip(
            getattr(node.targets[0], "elts", node.targets), getattr(node.value, "elts", [node.value]), strict=False
        )
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            values = [word.value for word in node.keywords if word.arg in ("failure", "reason")]
            if getattr(node.func, "id", "") in ("Disposition", "Verdict"):
                for value in node.args[1:2]:
                    either = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                    values += [constants.get(each.id, each) if isinstance(each, ast.Name) else each for each in either]
            if getattr(node.func, "attr", "") in ("reject_host", "set_aside", "_reject"):
                values += node.args[1:2]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            names = [getattr(name, "attr", "") for name in getattr(node.targets[0], "elts", [])]
            values = [
                value for name, value in zip(names, node.value.elts, strict=False) if name in ("reason", "failure")
            ]
        else:
            continue
        found |= {value.value for value in values if isinstance(value, ast.Constant) and value.value}
    return found


def test_every_code_of_the_source_is_explained() -> None:
    """Whoever adds a reason says what it means: otherwise `lycosa why` can only repeat the code."""
    found = {code: path.name for path in SOURCE.rglob("*.py") for code in codes_in(path)}
    assert {"dns", "redirect-loop", "killed-worker", "host-budget", "too-large"} <= found.keys() | set(
        client._FAILURES.values()
    )
    unknown = {code: name for code, name in found.items() if reasons.explain(code).meaning == code}
    assert unknown == {}
    assert set(client._FAILURES.values()) <= reasons.REASONS.keys()


def test_statuses_are_explained_by_their_number() -> None:
    """Known ones in our words, the others in those of HTTP; a robots.txt that failed is told apart."""
    assert "no such page" in reasons.explain("http-404").meaning
    assert reasons.explain("http-502").meaning == "the host answered 502 (Bad Gateway)"
    assert "does not know" in reasons.explain("http-799").meaning
    assert "robots.txt answered 503" in reasons.explain("robots-http-503").meaning
    assert reasons.explain("http-x²").meaning == "http-x²"
