"""Addresses that machines announce: every link of real /llms.txt files, and the relations of the signposting cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from lycosa.missions.documents.pages.landing import read_landing
from lycosa.parse import read
from lycosa.parse.link_lists import LINKSETS

pytestmark = pytest.mark.acceptance


def test_every_link_of_real_lists_is_found(shared: Path) -> None:
    answers = [json.loads(line) for line in (shared / "data/llms/llms.jsonl").read_text().splitlines()]
    wanted = missed = pages = 0
    for answer in answers:
        fields = json.loads(answer["headers"] or "{}")
        headers = {name.lower(): value for name, value in fields.items() if name.lower() == "content-type"}
        doc = read(answer["url"], headers, answer["content"].encode())
        if doc.kind != "text":
            pages += 1
            continue
        tokens = [
            token for block in MarkdownIt("commonmark").parse(answer["content"]) for token in block.children or ()
        ]
        links = {str(token.attrs["href"]) for token in tokens if token.type == "link_open"}
        wanted += len(links)
        missed += len(links - {link.href for link in doc.links})
    print(f"{len(answers)} answers, {pages} no lists, {wanted} links, {missed} missed")
    assert wanted > 1000
    assert missed == 0


def test_the_relations_of_the_signposting_cases_are_read(shared: Path) -> None:
    """As HTML, as a link set in JSON and as one in text."""
    types = {".html": "text/html", ".json": "application/linkset+json", ".txt": "application/linkset"}
    found = {}
    for path in sorted((shared / "data/signposting").glob("[0-9]*")):
        doc = read(f"https://s11.no/2022/{path.name}", {"content-type": types[path.suffix]}, path.read_bytes())
        found[path.name[:2]] = [
            relation for link in doc.links for relation in link.rel.split() if relation != "alternate"
        ]
    assert {"cite-as", "author", "license", "item", "describedby"} <= set(found["02"])
    assert found["18"].count("cite-as") == 1
    assert "cite-as" in found["19"]
    assert sorted(found["27"]) == sorted(found["28"]) == ["cite-as", "describedby", "item"]


def test_the_signposting_cases_are_evidence_of_works(shared: Path) -> None:
    """A landing page says what the work is and names its file; a link set the file; an identifier neither."""
    folder, types = shared / "data/signposting", {".json": LINKSETS[0], ".txt": LINKSETS[1], ".html": "text/html"}
    found = {}
    for path in sorted(folder.glob("[0-9]*")):
        doc = read(f"https://s11.no/{path.name}", {"content-type": types[path.suffix]}, path.read_bytes())
        found[path.name[:2]] = read_landing(doc)
    full = found["02"]
    assert full is not None and full.title is not None and full.title.value == "Apples to Apples dataset"
    assert [author.name for author in full.authors] == ["Apple"]
    assert full.rights[0].value == "https://creativecommons.org/licenses/by/4.0/"
    base = "https://s11.no/2022/a2a-fair-metrics"
    named = {key: work.files for key, work in found.items() if work is not None}
    assert named == {
        "02": (f"{base}/02-html-full/data/test-apple-data.csv",),
        "27": (f"{base}/27-http-linkset-json-only/test-apple-data.csv",),
        "28": (f"{base}/28-http-linkset-txt-only/test-apple-data.csv",),
    }
