"""Learned rules as a schema in TOML, with what is known of them as comments."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from lycosa.config.fields import dotted, quoted
from lycosa.missions.records.learning.execution import FieldRule
from lycosa.missions.records.learning.selection import ValueCounts
from lycosa.output.wording import counted


class FieldScores(Struct, frozen=True):
    """How good the rule of a field is: on the pages that taught it, on each of them left out, on the others."""

    pages: int  # that have the field
    teaching: int  # pages, all together
    examples: ValueCounts
    left_out: ValueCounts | None = None
    rest: ValueCounts | None = None

    def told(self) -> str:
        """The scores in words."""
        parts = [f"on {self.pages} of {counted(self.teaching, 'page')}", f"F {self.examples.f:.3f} there"]
        if self.left_out is not None:
            parts.append(f"{self.left_out.f:.3f} on pages left out")
        if self.rest is not None:
            parts.append(f"{self.rest.f:.3f} on the rest")
        return ", ".join(parts)


def write_schema(name: str, rules: Mapping[str, FieldRule], scores: Mapping[str, FieldScores]) -> str:
    """The schema as TOML."""
    out = ["# Learned from examples. F is 1 where all values are found and no others.", "[schema]"]
    out += [f"name = {quoted(name)}", 'version = "1"']
    for field, rule in rules.items():
        if not rule.rules:
            out += ["", f"# {quoted(field)}: no rule was found; its values stand on none of the pages."]
            continue
        out += ["", f"# {scores[field].told()}", f"[{dotted(('fields', field))}]", f"rule = {_rules(rule.rules)}"]
        if rule.several:
            out.append("list = true")
    return "\n".join(out) + "\n"


def _rules(rules: tuple[str, ...]) -> str:
    if len(rules) == 1:
        return _literal(rules[0])
    return "[\n" + "".join(f"  {_literal(rule)},\n" for rule in rules) + "]"


def _literal(text: str) -> str:
    """A rule as people like to read it: without escapes where TOML allows it, but for what nobody would see."""
    if "'" not in text and '"' in text and text.isprintable():
        return f"'{text}'"
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted(text))
