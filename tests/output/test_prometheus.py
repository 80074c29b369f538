"""Metrics in Prometheus's text form."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from support.metrics_text import parse_metrics

from lycosa.output.prometheus import by_label, format_metrics, single


def test_metrics_have_help_type_and_labels() -> None:
    """Common labels stand in every sample, and whole numbers are written as such."""
    families = [
        by_label("lycosa_urls", "gauge", "URLs by state.", "state", {"fetched": 3, "not modified": 0.5}),
        single("lycosa_round", "gauge", "Round.", 2),
    ]
    assert format_metrics(families, {"collection": "c"}).splitlines() == [
        "# HELP lycosa_urls URLs by state.",
        "# TYPE lycosa_urls gauge",
        'lycosa_urls{collection="c",state="fetched"} 3',
        'lycosa_urls{collection="c",state="not modified"} 0.5',
        "# HELP lycosa_round Round.",
        "# TYPE lycosa_round gauge",
        'lycosa_round{collection="c"} 2',
    ]


def test_values_without_a_number_are_written_as_the_form_has_them() -> None:
    """Infinite values and those that are unknown."""
    text = format_metrics([by_label("x", "gauge", "X.", "of", {"a": math.nan, "b": math.inf, "c": -math.inf})], {})
    assert [line.split()[-1] for line in text.splitlines()[2:]] == ["NaN", "+Inf", "-Inf"]


@given(st.text(), st.floats(allow_nan=False))
def test_any_label_can_be_read_back(label: str, value: float) -> None:
    """Quotes, backslashes, line ends and surrogates do no harm."""
    metrics = parse_metrics(format_metrics([by_label("x", "gauge", "X.", "of", {label: value})], {}))
    assert metrics["x"].samples == [({"of": label.encode(errors="replace").decode()}, value)]
