"""Sections of a report that functions of the user make: each gets the collection and gives a section, or several."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lycosa.analysis.plan import AnalysisPlan, load_plugin
from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import describe_error
from lycosa.output.html_page import Section


def make_sections(plan: AnalysisPlan, collection: Collection) -> list[Section]:
    """The sections of a plan; UsageError says which function could not make one."""
    sections: list[Section] = []
    for name in plan.report:
        try:
            sections += _read_sections(load_plugin(name)(collection))
        except (Exception, SystemExit) as error:
            label = os.path.basename(name)
            raise UsageError(f"The plugin {label} made no section of the report: {describe_error(error)}.") from None
    return sections


def _read_sections(made: object) -> Iterable[Section]:
    found = [made] if isinstance(made, Section) else list(made) if isinstance(made, Iterable) else []
    for section in found:
        if not isinstance(section, Section):
            raise TypeError(f"{type(section).__name__} is no Section of lycosa.output.html_page")
        yield Section(str(section.title), [str(part) for part in section.parts])
