"""The guards of what rules are written in: they refuse what would take minutes on a page.

Regular expressions are in RE2's syntax, whose cost is linear in the text whatever the expression. Nothing can end an
evaluation of XPath that has begun, and two things make paths slow: elements within elements hundreds deep, and axes
that lead from each of many nodes to many others (`following`, `preceding` and those of siblings), unless a number
behind the step takes one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import re2
import turbohtml
from turbohtml import Document, Element, Node

from lycosa.errors import LycosaError, UsageError

MAX_PATTERN = 2000
#: An expression without these is a text to be found as it is.
_SIGNS = frozenset("\\.^$*+?{}[]|()")


def is_plain(pattern: str) -> bool:
    """Whether an expression is a text to be found as it is."""
    return bool(pattern) and not _SIGNS.intersection(pattern)


def find_spans(pattern: str, text: str) -> Iterator[list[tuple[int, int]]]:
    """Where each match that is not empty, and each of its groups, begins and ends."""
    if is_plain(pattern):
        at = text.find(pattern)
        while at >= 0:
            yield [(at, at + len(pattern))]
            at = text.find(pattern, at + len(pattern))
        return
    compiled = compile_pattern(pattern)
    for match in compiled.finditer(text):
        if match.start() < match.end():
            yield [match.span(group) for group in range(compiled.groups + 1)]


@lru_cache(maxsize=1000)
def compile_pattern(pattern: str) -> Any:
    """A regular expression in RE2's syntax, or what is wrong with it."""
    if not pattern or len(pattern) > MAX_PATTERN:
        raise UsageError(f"A regular expression has 1 to {MAX_PATTERN:,} characters; this one has {len(pattern):,}.")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        said = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise UsageError(f'"{pattern[:200]}" is no regular expression in RE2\'s syntax: {said}.') from None


MAX_DEPTH = 200
#: Nodes that all steps along wide axes may lead to.
MAX_REACHED = 500_000
_DEEPER = " > ".join("*" * (MAX_DEPTH + 1))
_WIDE = re.compile(r"(?<![\w-])(following|preceding)(-sibling)?\s*::\s*[\w:*-]+(?:\(\s*\))?\s*(\[\s*\d+\s*\])?")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_OPENING, _CLOSING = "([", ")]"


class XPathRefused(LycosaError):
    """A path that would take too long on this page; others may be smaller."""


class WideStep(NamedTuple):
    """A step along a wide axis: the path to the nodes that it starts from, and whether it goes to siblings alone."""

    start: str
    to_siblings: bool


def find_wide_steps(expression: str) -> list[WideStep]:
    """The steps of an expression that may lead from many nodes to many others."""
    plain = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), expression)
    found = []
    for step in _WIDE.finditer(plain):
        if not step[3]:
            begin, end = _find_start(plain, step.start())
            found.append(WideStep(expression[begin:end].strip().rstrip("/"), bool(step[2])))
    return found


def _find_start(plain: str, at: int) -> tuple[int, int]:
    """Where the path begins and ends that leads to a step; of a step in a predicate, to what the predicate is of."""
    depth, end = 0, at
    for place in range(at - 1, -1, -1):
        mark = plain[place]
        if mark in _CLOSING:
            depth += 1
        elif mark in _OPENING:
            depth -= 1
            if depth < 0 and mark == "[":
                depth, end = 0, place
            elif depth < 0:
                return place + 1, end
        elif not depth and mark in "|,=<>":
            return place + 1, end
    return 0, end


class XPathGuard:
    """The guard of one expression, which is asked before each page."""

    def __init__(self, expression: str) -> None:
        self._steps = find_wide_steps(expression)
        self._looks_around = "[" in expression or "::" in expression

    def check(self, root: Node, tree: Document, shared: dict[str, Any]) -> None:
        """Raise XPathRefused where the expression would take too long, from an element of a tree or from all of it.

        What is found of the page is kept in `shared`, for the next expression.
        """
        if not self._looks_around:
            return
        if "is deep" not in shared:
            shared["is deep"] = tree.select_one(_DEEPER) is not None
        if shared["is deep"]:
            raise XPathRefused(
                f"the page nests more than {MAX_DEPTH} elements deep, where a path with conditions may take minutes;"
                " css: and algebra: do not"
            )
        if not self._steps:
            return
        if "elements" not in shared:
            shared["elements"] = len(tree.select("*"))
        size: int = shared["elements"]
        reached = 0
        for step in self._steps:
            for node in _find_nodes(step.start, root, tree):
                parent = node.parent
                reached += size if not step.to_siblings else len(parent) if parent is not None else 1
                if reached > MAX_REACHED:
                    raise XPathRefused(
                        f"its steps lead to more than {MAX_REACHED:,} nodes of this page;"
                        " put a number such as [1] behind the step, or begin from fewer nodes"
                    )


def _find_nodes(start: str, root: Node, tree: Document) -> list[Node]:
    """The nodes that a path leads to; all of them where it cannot be followed by itself."""
    if not start:
        return [root]
    try:
        found = turbohtml.XPath(start)(root)
    except ValueError:
        found = None
    if not isinstance(found, list):
        return [*tree.select("*")]
    return [node for node in found if isinstance(node, Element)]
