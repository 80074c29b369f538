"""Reason codes: each has its sentence, whoever brings it."""

from __future__ import annotations

import ast
from pathlib import Path

from lycosa import reasons
from lycosa.fetch import client

SOURCE = Path(reasons.__file__).parent


def codes_in(path: Path) -> set[str]:
    """The texts that a module gives as reasons: `Disposition(State.X, "code")`, `failure="code"`, `state, "code"`."""
    tree, found = ast.parse(path.read_text()), set()
    constants = _constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            values = [word.value for word in node.keywords if word.arg in ("failure", "reason")]
            if getattr(node.func, "id", "") in ("Disposition", "Verdict"):
                values += node.args[1:2]
            if getattr(node.func, "attr", "") in ("reject_host", "set_aside"):
                values += node.args[1:2]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            names = [getattr(name, "attr", "") for name in getattr(node.targets[0], "elts", [])]
            values = [
                value for name, value in zip(names, node.value.elts, strict=False) if name in ("reason", "failure")
            ]
        else:
            continue
        for value in values:
            branches = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            texts = {constants.get(branch.id, "") for branch in branches if isinstance(branch, ast.Name)}
            found |= {text for text in texts if " " not in text}  # else it is a sentence, not a code
            found |= {branch.value for branch in branches if isinstance(branch, ast.Constant)}
    return found - {"", None}


def _constants(tree: ast.Module) -> dict[str, str]:
    """The texts that a module gives names at its top, alone or several at once."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = value.elts if isinstance(value, ast.Tuple) else [value]
            for name, each in zip(names, values, strict=False):
                if isinstance(name, ast.Name) and isinstance(each, ast.Constant) and isinstance(each.value, str):
                    found[name.id] = each.value
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
