"""Learned rules as a schema in TOML, with what is known of them as comments."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from lycosa.config.fields import dotted, quoted
from lycosa.missions.records.learning.execution import FieldRule
from lycosa.missions.records.learning.selection import Counts
from lycosa.output.wording import counted


class FieldScores(Struct, frozen=True):
    """How good the rule of a field is: on the pages that taught it, on each of them left out, on the others."""

    pages: int  # that have the field, of those that taught
    examples: Counts
    left_out: Counts | None = None
    rest: Counts | None = None

    @property
    def best_known(self) -> Counts:
        """The most honest score there is: on pages that did not teach, else on those left out."""
        return self.rest or self.left_out or self.examples


def write_schema(
    name: str, rules: Mapping[str, FieldRule], scores: Mapping[str, FieldScores], *, teaching: int
) -> str:
    """The schema as TOML."""
    out = [f"# Learned from {counted(teaching, 'page')}. F is 1 when all values are found and no others.", "[schema]"]
    out += [f"name = {quoted(name)}", 'version = "1"']
    for field, rule in rules.items():
        out += ["", f"# {_said(scores[field], teaching)}"]
        if not rule.rules:
            out.append(f"# {field}: no rule was found; its values stand on none of the pages.")
            continue
        out.append(f"[{dotted(('fields', field))}]")
        out += [f"rule = {_rules(rule.rules)}"]
        if rule.several:
            out.append("list = true")
    return "\n".join(out) + "\n"


def _said(scores: FieldScores, teaching: int) -> str:
    parts = [f"on {scores.pages} of {counted(teaching, 'page')}", f"F {scores.examples.f:.3f} there"]
    if scores.left_out is not None:
        parts.append(f"{scores.left_out.f:.3f} on pages left out")
    if scores.rest is not None:
        parts.append(f"{scores.rest.f:.3f} on the rest")
    return ", ".join(parts)


def _rules(rules: tuple[str, ...]) -> str:
    if len(rules) == 1:
        return _literal(rules[0])
    return "[\n" + "".join(f"  {_literal(rule)},\n" for rule in rules) + "]"


def _literal(text: str) -> str:
    """A rule as people like to read it: in single quotes, without escapes, where TOML allows it."""
    return f"'{text}'" if "'" not in text and '"' in text and text.isprintable() else quoted(text)
