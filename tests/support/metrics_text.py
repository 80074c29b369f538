"""A reader of Prometheus's text form, as strict as its description."""

from __future__ import annotations

import re

from lycosa.output.prometheus import MetricFamily

_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|-?[0-9.]+(?:e[+-]?\d+)?)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def parse_metrics(text: str) -> dict[str, MetricFamily]:
    """The metrics by name; AssertionError where the text is not in order."""
    assert text.endswith("\n")
    families: dict[str, MetricFamily] = {}
    name = ""
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, _, told = line[len("# HELP ") :].partition(" ")
            assert name not in families, f"{name} is told twice"
            families[name] = MetricFamily(name, "", told, [])
        elif line.startswith("# TYPE "):
            typed, _, kind = line[len("# TYPE ") :].partition(" ")
            assert typed == name and kind in ("counter", "gauge")
            assert kind == "gauge" or name.endswith("_total"), name
            families[name].kind = kind
        else:
            found = _SAMPLE.fullmatch(line)
            assert found and found[1] == name, line
            families[name].samples.append((_labels(found[2] or ""), float(found[3])))
    return families


def _labels(text: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    at = 0
    while at < len(text):
        found = _LABEL.match(text, at)
        assert found and found[1] not in labels, text
        labels[found[1]] = re.sub(r"\\.", lambda escaped: _ESCAPES[escaped[0]], found[2])
        at = found.end()
    return labels
