"""Views of the topic mission: the harvest, the pages that it is least sure of, and marks."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import RedirectResponse, Response

from lycosa.errors import UsageError
from lycosa.missions.topic.harvest import Harvest, JudgedPage, list_judged, measure_harvest
from lycosa.missions.topic.marks import all_examples, mark, read_marks, read_model
from lycosa.missions.topic.seeds import propose_queries
from lycosa.missions.web import View, WebRequest

_ASKED, _BEST = 10, 10
_VERDICTS = {"yes": True, "no": False, "undo": None}


class TopicView(Struct, frozen=True):
    """What the page about a hunt shows."""

    harvest: Harvest
    is_exhausted: bool
    good: int  # examples and marks of pages of the topic
    bad: int
    unsure: list[JudgedPage]
    best: list[JudgedPage]
    queries: list[str]
    marks: dict[str, bool]


def show_topic(request: WebRequest) -> View:
    """The harvest with its curve, the pages to ask about, the best ones, and queries."""
    collection = request.collection
    harvest, examples = measure_harvest(collection), all_examples(collection)
    marks = {each.url: each.is_wanted for each in read_marks(request.folder)}
    known = {each.url for each in examples}
    unsure = [page for page in list_judged(collection, near=0.5, most=_ASKED + len(known)) if page.url not in known]
    model = read_model(request.folder)
    good = sum(each.is_wanted for each in examples)
    data = TopicView(
        harvest=harvest,
        is_exhausted=harvest.is_exhausted,
        good=good,
        bad=len(examples) - good,
        unsure=unsure[:_ASKED],
        best=list(list_judged(collection, near=1.0, most=_BEST)),
        queries=propose_queries(model, examples) if model is not None else [],
        marks=marks,
    )
    return View("topic.html", data)


def keep_mark(request: WebRequest) -> Response:
    """Keep what a person says of a page, or take it back."""
    verdict = request.form.get("verdict", "")
    if verdict not in _VERDICTS:
        raise UsageError(f"verdict is {verdict[:100]}; allowed: yes, no, undo.")
    mark(request.collection, request.form.get("url", ""), is_wanted=_VERDICTS[verdict])
    return RedirectResponse(request.mission_link(), 303)
