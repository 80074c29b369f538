"""Parsing against the public suites: encodings, media types, tree construction, sitemaps."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from turbohtml import Comment, Doctype, DocumentFragment, Element, Namespace, Node, ProcessingInstruction, Text

from lycosa.parse import read, read_sitemap
from lycosa.parse.charset import DecodedText, find_declared, resolve_label
from lycosa.parse.doc import Mime, extract_mime, parse_mime
from lycosa.parse.html import read_html

pytestmark = pytest.mark.acceptance

URL = "http://example.org/"
HTML = {"content-type": "text/html"}


def _cases(shared: Path, name: str) -> list[dict[str, Any]]:
    loaded = json.loads((shared / "data/conformance" / name).read_text())["cases"]
    return [case for case in loaded if isinstance(case, dict)]


def _same_encoding(case: dict[str, Any]) -> bool:
    body = base64.b64decode(case["data_b64"])
    expected = resolve_label(case["expect"])
    found = read(URL, HTML, body).charset
    # The suites take windows-1252 where nothing is declared; for plain ASCII, UTF-8 is the same text.
    undeclared = expected == "windows-1252" and body.isascii() and find_declared(body) is None
    return found == expected or (undeclared and found == "utf-8")


def test_encoding_prescan(shared: Path, say: Callable[[str], None]) -> None:
    """Pages without a header are read in the encoding that they declare."""
    cases = _cases(shared, "encoding/html5lib_prescan.json")
    right = sum(map(_same_encoding, cases))
    say(f"encoding prescan: {right}/{len(cases)}")
    assert right == len(cases)


def test_encoding_meta(shared: Path, say: Callable[[str], None]) -> None:
    """Declarations in odd places count as in browsers.

    Three of the suite's pages show that a declaration must NOT count (rel=mismatch: in a comment, in CDATA, written by
    a script); the converted cases expect it to all the same.
    """
    cases = _cases(shared, "encoding/wpt_meta_charset.json")
    right = sum(map(_same_encoding, cases))
    say(f"encoding meta charset: {right}/{len(cases)}")
    assert right >= len(cases) - 3


def test_encoding_labels(shared: Path, say: Callable[[str], None]) -> None:
    """Every label of the standard names its encoding."""
    cases = _cases(shared, "encoding/labels.json")
    right = sum(resolve_label(case["label"]) == case["expect"].lower() for case in cases)
    say(f"encoding labels: {right}/{len(cases)}")
    assert right == len(cases)


def _write(mime: Mime | None) -> str | None:
    """A media type as the standard serialises it."""
    if mime is None or not mime.essence:
        return None
    text = mime.essence
    for name, value in mime.parameters:
        if not re.fullmatch(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", value):
            value = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        text += f";{name}={value}"
    return text


@pytest.mark.parametrize("suite", ["mime_types", "generated_mime_types"])
def test_mime_types(shared: Path, suite: str, say: Callable[[str], None]) -> None:
    """Media types and their parameters are parsed as the standard says."""
    cases = _cases(shared, f"mime/{suite}.json")
    right = sum(_write(parse_mime(case["input"])) == case["output"] for case in cases)
    say(f"mime {suite}: {right}/{len(cases)}")
    assert right == len(cases)


def test_mime_encodings(shared: Path, say: Callable[[str], None]) -> None:
    """The charset parameter names the encoding."""
    cases = [case for case in _cases(shared, "mime/mime_types.json") if "encoding" in case]
    right = 0
    for case in cases:
        mime = parse_mime(case["input"])
        found = resolve_label(mime.charset) if mime else None
        right += found == (case["encoding"].lower() if case["encoding"] else None)
    say(f"mime encodings: {right}/{len(cases)}")
    assert right == len(cases)


def test_mime_headers(shared: Path, say: Callable[[str], None]) -> None:
    """Repeated Content-Type headers mean one type."""
    cases = _cases(shared, "mime/content_type_headers.json")
    right = sum(_write(extract_mime(", ".join(case["contentType"]))) == case["mimeType"] for case in cases)
    say(f"mime headers: {right}/{len(cases)}")
    assert right == len(cases)


def _dump(node: Node, depth: int = 0) -> list[str]:
    """A tree in the suite's notation."""
    lines: list[str] = []
    pad = "| " + "  " * depth
    for child in node.children:
        if isinstance(child, Doctype):
            ids = f' "{child.public_id or ""}" "{child.system_id or ""}"'
            known = child.public_id is not None or child.system_id is not None
            lines.append(f"{pad}<!DOCTYPE {child.name}{ids if known else ''}>")
        elif isinstance(child, Comment):
            lines.append(f"{pad}<!-- {child.data} -->")
        elif isinstance(child, ProcessingInstruction):
            lines.append(f"{pad}<?{child.target} {child.data}?>")
        elif isinstance(child, Text):
            lines.append(f'{pad}"{child.data}"')
        elif isinstance(child, DocumentFragment):
            lines += [f"{pad}content", *_dump(child, depth + 1)]
        elif isinstance(child, Element):
            prefix = "" if child.namespace is Namespace.HTML else f"{child.namespace.value} "
            lines.append(f"{pad}<{prefix}{child.tag}>")
            attributes = {_foreign(name, prefix): child.attr(name) or "" for name in child.attrs}
            lines += [f'{pad}  {name}="{value}"' for name, value in sorted(attributes.items())]
            lines += _dump(child, depth + 1)
    return lines


def _foreign(name: str, prefix: str) -> str:
    known = name.startswith("xlink:") or name in ("xml:lang", "xml:space", "xmlns:xlink")
    return name.replace(":", " ") if prefix and known else name


def test_tree_construction(shared: Path, say: Callable[[str], None]) -> None:
    """Every page of the suite is read, and its tree is that of a browser."""
    cases = _cases(shared, "html/tree_construction.json")
    for case in cases:
        doc = read(URL, HTML, case["data"].encode("utf-8", "surrogatepass"))
        assert isinstance(doc.text, str)
    pages = [case for case in cases if not case["fragment"] and case["script"] != "on"]
    right = 0
    for case in pages:
        page = read_html(DecodedText("utf-8", case["data"]), b"", agent="lycosa", max_links=6000)
        right += "\n".join(_dump(page.tree)) == case["tree"]
    say(f"tree construction: {len(cases)} read, equal trees {right}/{len(pages)}")
    assert right == len(pages)


def test_sitemaps(shared: Path, say: Callable[[str], None]) -> None:
    """Every sitemap gives as many addresses as it has <loc>; lists and feeds give theirs."""
    folder = shared / "data/conformance/sitemaps"
    cases = _cases(shared, "sitemaps/index.json")
    right = 0
    for case in cases:
        body = (folder / case["file"]).read_bytes()
        result = read_sitemap(body)
        pages = [link for link in result.links if link.kind != "link"]
        # The derived counts include <image:loc>, which names a picture of the page before it.
        expected = case["loc_count_derived"] - body.count(b"<image:loc>")
        right += len(pages) == expected if expected else len(pages) > 0
    say(f"sitemaps: {right}/{len(cases)}")
    assert right == len(cases)


def test_xml_roots(shared: Path, say: Callable[[str], None]) -> None:
    """The root of every XML document, good or broken, is found by namespace and name, whatever was announced."""
    folder = shared / "data/xml"
    entries = json.loads((folder / "manifest.json").read_text())
    documents = [entry for entry in entries if entry.get("root") and not entry["file"].endswith(".gz")]
    for announced, floor in (("application/xml", 1.0), ("text/plain", 0.95), ("", 0.95)):
        right = 0
        for entry in documents:
            doc = read(URL, {"content-type": announced}, (folder / entry["file"]).read_bytes())
            right += doc.root == (entry["root"][0] or "", entry["root"][1])
        say(f"xml roots, announced as {announced or 'nothing'}: {right}/{len(documents)}")
        assert right >= len(documents) * floor
