"""What the policy is told of a page."""

from __future__ import annotations

import pytest

from lycosa.config.loading import load
from lycosa.intake.guidance import LinkScoring
from lycosa.model import Target
from lycosa.parse import read

TERMS = ["wms", "wfs", "csw", "wcs", "wmts", "wps", "atom", "ogc", "capabilities", "services", "wms", "wfs"]


MISSION = f'order = "best"\n[policy]\nname = "shark"\nanchor_terms = {TERMS}'


def _weigh(body: str) -> float:
    scoring = LinkScoring(load(text=MISSION).mission, None)
    url = "http://a.test/"
    scoring.begin_answer(Target(1, 1, url, "a.test"), read(url, {"content-type": "text/html"}, body.encode()))
    assert scoring._observation is not None
    return scoring._observation.relevance


@pytest.mark.parametrize("between", ["\n", ""])
def test_a_minified_page_is_as_relevant_as_one_with_line_breaks(between: str) -> None:
    """Key terms count wherever markup separates them; words of scripts are no words of the page."""
    items = between.join(f"<li>{term}</li>" for term in TERMS)
    assert _weigh(f"<ul>{items}</ul>") == _weigh(f"<p>{' '.join(TERMS)}</p>") > 0.5
    assert _weigh(f"<p>plain</p><script>{' '.join(TERMS)}</script>") == 0
