"""Metrics in Prometheus's text form, version 0.0.4."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct

CONTENT_TYPE = "text/plain; version=0.0.4"


class MetricFamily(Struct):
    """A metric with all its samples: labels and value."""

    name: str
    kind: str  # counter or gauge
    help: str
    samples: list[tuple[dict[str, str], float]]


def single(name: str, kind: str, text: str, value: float) -> MetricFamily:
    """A metric without labels."""
    return MetricFamily(name, kind, text, [({}, value)])


def by_label(name: str, kind: str, text: str, label: str, values: Mapping[str, float]) -> MetricFamily:
    """A metric with one label."""
    return MetricFamily(name, kind, text, [({label: key}, value) for key, value in values.items()])


def format_metrics(families: Iterable[MetricFamily], common: Mapping[str, str]) -> str:
    """The text that a scraper reads; `common` labels stand in every sample."""
    lines = []
    for family in families:
        lines += [f"# HELP {family.name} {_escape_help(family.help)}", f"# TYPE {family.name} {family.kind}"]
        for labels, value in family.samples:
            pairs = ",".join(f'{key}="{_escape_label(text)}"' for key, text in {**common, **labels}.items())
            lines.append(f"{family.name}{{{pairs}}} {_number(value)}" if pairs else f"{family.name} {_number(value)}")
    return "\n".join(lines) + "\n"


def _escape_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _escape_label(text: str) -> str:
    """A label's value; the names of machines and reasons may have any character."""
    text = text.encode(errors="replace").decode()
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
