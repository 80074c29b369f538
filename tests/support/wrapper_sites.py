"""Labelled pages of real sites (SWDE) for learning rules, from the shared test material."""

from __future__ import annotations

import html
import json
import tarfile
from pathlib import Path
from typing import NamedTuple

from lycosa.missions.records.learning import Example, learn
from lycosa.missions.records.learning.learner import count
from lycosa.missions.records.learning.places import one_line
from lycosa.parse import Doc, read


class WrapperSite(NamedTuple):
    """A site: its pages, those that teach in their order, those that test, and the values of each."""

    name: str
    fields: list[str]
    train: list[str]
    test: list[str]
    pages: dict[str, Doc]
    gold: dict[str, dict[str, list[str]]]

    def f_scores(self, teaching: list[str]) -> dict[str, float]:
        """F of every field on the test pages after learning from these pages, as the scorer of the material has it."""
        values = {page: {field: self.gold[page].get(field, []) for field in self.fields} for page in teaching}
        learned = learn([Example(self.pages[page], values[page]) for page in teaching], name=self.name)
        found = {page: learned.extract(self.pages[page]) for page in self.test}
        return {
            field: count(
                [found[page][field] for page in self.test],
                [
                    frozenset(one_line(html.unescape(v)) for v in self.gold[page].get(field, [])) - {""}
                    for page in self.test
                ],
            ).f
            for field in self.fields
        }


def site_names(folder: Path) -> list[str]:
    """The sites of the material."""
    return sorted(path.name.removesuffix(".gold.json") for path in folder.glob("*.gold.json"))


def load_site(folder: Path, name: str) -> WrapperSite:
    """Read a site."""
    gold = json.loads((folder / f"{name}.gold.json").read_text(encoding="utf-8"))
    pages = {}
    with tarfile.open(folder / f"{name}.tar.xz") as archive:
        for member in archive:
            if file := archive.extractfile(member):
                page = Path(member.name).stem
                pages[page] = read(f"http://{name}.example/{page}", {"content-type": "text/html"}, file.read())
    fields = [field for field in gold["attributes"] if field not in gold.get("bad_gold", [])]
    return WrapperSite(name, fields, gold["train"], gold["test"], pages, gold["gold"])
