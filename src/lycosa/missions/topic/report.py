"""The topic report: the harvest with its curve, and the most relevant pages."""

from __future__ import annotations

from lycosa.collection.collection import Collection
from lycosa.missions.api import Report
from lycosa.missions.topic.harvest import list_judged, measure_harvest, tell_harvest
from lycosa.output.charts import draw_histogram
from lycosa.output.html_page import Section, TableLink, table, text


def make_report(collection: Collection) -> Report | None:
    """The harvest with its curve, and the pages that are the most relevant."""
    harvest = measure_harvest(collection)
    if not harvest.pages:
        return None
    spans = zip([(0, 0), *harvest.curve], harvest.curve, strict=False)
    bins = [(f"{at:,}", 100 * (found - had) / (at - since)) for (since, had), (at, found) in spans]
    best = [(TableLink(page.url), page.title, page.relevance) for page in list_judged(collection, near=1.0, most=200)]
    sections = [
        Section(
            "Harvest",
            [
                *map(text, tell_harvest(harvest)),
                draw_histogram(bins, title="Pages of the topic, of 100 that were stored", axis="pages stored so far"),
            ],
        ),
        Section("Most relevant", [table(("Page", "Title", "Relevance"), best)]),
    ]
    return Report(f"The topic of {collection.path.name}", sections)
