"""Links outside of markup: Markdown, link sets, and the Link header, as what is read later sees them."""

from __future__ import annotations

import pytest

from lycosa.parse import Doc, read

MARKDOWN = """\ufeff# Harbour *guide*

> See https://sand.test/plain. And <https://sand.test/auto>.

- [Boats](/boats "All boats"): what floats
- [**Fish**, and
  chips](../fish.md)
- ![A picture](/sun.jpg) [by name][later] `[no](link)`

```
[neither](this)
```

[later]: https://other.test/x%20y
"""


def hrefs(doc: Doc) -> list[tuple[str, str]]:
    return [(link.href, link.text) for link in doc.links]


@pytest.mark.parametrize(
    "announced, path",
    [("text/markdown; charset=utf-8", "/guide"), ("text/plain", "/llms.txt"), ("text/plain", "/docs/x.md?v=1")],
)
def test_markdown_has_the_links_that_a_reader_can_follow(announced: str, path: str) -> None:
    doc = read(f"https://sand.test{path}", {"content-type": announced}, MARKDOWN.encode())
    assert hrefs(doc) == [
        ("https://sand.test/plain", "https://sand.test/plain"),
        ("https://sand.test/auto", "https://sand.test/auto"),
        ("/boats", "Boats"),
        ("../fish.md", "Fish, and chips"),
        ("https://other.test/x%20y", "by name"),
    ]
    assert (doc.kind, doc.title) == ("text", "Harbour guide")


def test_plain_text_has_no_links() -> None:
    assert read("https://sand.test/notes.txt", {"content-type": "text/plain"}, MARKDOWN.encode()).links == []


def test_a_page_of_html_under_the_name_of_a_list_is_a_page() -> None:
    """Servers answer any name with their shell or their error; under the name of a text it is still that."""
    body = b"<!DOCTYPE html><html><head><title>Page not found</title></head><body><a href=/x>x</a></body></html>"
    for announced in ("text/html", "text/plain", "text/markdown"):
        doc = read("https://sand.test/llms.txt", {"content-type": announced}, body)
        assert (doc.kind, doc.title, hrefs(doc)) == ("html", "Page not found", [("/x", "x")])


LINKSET = b"""{"linkset": [{"anchor": "https://sand.test/set", "cite-as": [{"href": "https://id.test/1"}],
  "item": [{"href": "/data.csv", "type": "text/csv", "title": "Data"}]}]}"""


def test_a_link_set_names_relations() -> None:
    doc = read("https://sand.test/l", {"content-type": "application/linkset+json"}, LINKSET)
    assert [(link.href, link.rel, link.text) for link in doc.links] == [
        ("https://id.test/1", "cite-as", ""),
        ("/data.csv", "item", "Data"),
    ]
    text = b'<https://id.test/1>\n ; anchor="https://sand.test/set"\n ; rel="cite-as",\n</data.csv>;rel=item'
    doc = read("https://sand.test/l", {"content-type": "application/linkset"}, text)
    assert [(link.href, link.rel) for link in doc.links] == [("https://id.test/1", "cite-as"), ("/data.csv", "item")]


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'{"linkset": 1}', b'{"linkset": [{"item": [{}]}]}', b'{"linkset": [{"item": {"a": 1}}]}', b"\xff"],
)
def test_a_broken_link_set_is_a_problem_and_no_exception(body: bytes) -> None:
    doc = read("https://sand.test/l", {"content-type": "application/linkset+json"}, body)
    assert doc.links == []
    assert doc.problem.startswith("linkset: ")


def test_the_header_names_links_of_any_kind_of_answer() -> None:
    """Repositories name what belongs to a work there, and a thousand links are no more than the limit allows."""
    header = '<https://id.test/1>; rel="cite-as", </meta.xml>; rel=describedby; type="text/xml", </s.css>; rel=preload'
    for announced in ("text/html", "application/pdf", "text/plain"):
        doc = read("https://sand.test/w", {"content-type": announced, "link": header}, b"%PDF-1.4 text")
        assert [(link.href, link.rel) for link in doc.links] == [
            ("https://id.test/1", "cite-as"),
            ("/meta.xml", "describedby"),
        ]
    many = ", ".join(f"</{n}>; rel=item" for n in range(5000))
    doc = read("https://sand.test/w", {"content-type": "text/html", "link": many}, b"<p>x", links_per_page=100)
    assert len(doc.links) == 100
