"""Addresses that machines announce: every link of real /llms.txt files, and the relations of the signposting cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from lycosa.parse import read

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
