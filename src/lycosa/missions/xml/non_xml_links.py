"""Links of documents without tags: what DTDs, queries and compact schemas refer to.

A text flows in; relation, address and place of each link flow out. Each regular expression reads the text once, and
passes over comments and literals as wholes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LITERAL = r"""(?:"[^"]*"|'[^']*')"""
_DTD = re.compile(
    rf"""<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)
    |<!ENTITY\s+(?P<parameter>%\s+)?[^\s"'<>%]+\s+(?:SYSTEM|PUBLIC\s+{_LITERAL})\s+(?P<system>{_LITERAL})(?P<ndata>\s+NDATA\b)?
    |<!ENTITY\s+%\s+(?P<switch>[^\s"'<>%]+)\s+(?P<value>{_LITERAL})
    |<!ENTITY\s+[^\s"'<>%]+\s+{_LITERAL}
    |<!\[\s*(?P<section>[A-Z]+|%[^\s;<>%]+;)\s*\[|(?P<end>\]\]>)""",
    re.DOTALL | re.VERBOSE,
)
_QUERY_COMMENT = re.compile(r"\(:(?>(?:(?!:\)|\(:).)*):\)", re.DOTALL)
_QUERY_NESTING = 16  # comments within comments; deeper ones are text
_QUERY = re.compile(
    rf"""\bimport\s+(?P<what>module|schema)\s+(?:namespace\s+[\w.-]+\s*=\s*|default\s+element\s+namespace\s+)?
    (?P<target>{_LITERAL})(?:\s+at\s+(?P<at>{_LITERAL}(?:\s*,\s*{_LITERAL})*))?
    |\b(?:doc|collection)\s*\(\s*(?P<doc>{_LITERAL})\s*\)""",
    re.VERBOSE,
)
_COMPACT_LITERAL = r'''(?:"""(?>(?:(?!""").)*)"""|\'\'\'(?>(?:(?!\'\'\').)*)\'\'\'|"[^"\n]*"|'[^'\n]*')'''
_COMPACT = re.compile(
    rf"""(?P<what>\b(?:include|external))\s*(?P<href>{_COMPACT_LITERAL}(?:\s*~\s*{_COMPACT_LITERAL})*)
    |\b(?:namespace|datatypes)\s+(?:[\w.-]+\s*)?=\s*(?P<namespace>{_COMPACT_LITERAL})
    |{_COMPACT_LITERAL}|\#[^\n]*""",
    re.VERBOSE | re.DOTALL,
)
_LITERALS = re.compile(_LITERAL)
_COMPACT_LITERALS = re.compile(_COMPACT_LITERAL, re.DOTALL)


def scan_dtd(text: str) -> Iterator[tuple[str, str, int]]:
    """The external entities that a DTD, or the subset inside a document, declares.

    What is declared in an ignored section has relation "doc": another DTD may switch that on, this one does without it.
    """
    switches: dict[str, str] = {}
    sections: list[bool] = []  # those that are open: whether each is ignored
    for found in _DTD.finditer(text):
        if (system := found["system"]) is not None:
            relation = "parameter-entity" if found["parameter"] else "external-entity"
            relation = "ndata-entity" if found["ndata"] else relation
            yield "doc" if True in sections else relation, system[1:-1], found.start()
        elif (section := found["section"]) is not None:
            word = switches.get(section[1:-1], "") if section[0] == "%" else section
            sections.append(word == "IGNORE")
        elif found["end"] and sections:
            sections.pop()
        elif found["switch"] is not None and True not in sections:
            switches.setdefault(found["switch"], found["value"][1:-1].strip())  # the first declaration counts


def blank_comments(text: str) -> str:
    """An XQuery with blanks in place of its comments."""
    for _ in range(_QUERY_NESTING):
        bare = _QUERY_COMMENT.sub(lambda comment: " " * len(comment[0]), text)
        if bare == text:
            break
        text = bare
    return text


def scan_query(text: str) -> Iterator[tuple[str, str, int]]:
    """The modules and schemas that an XQuery imports from a place; documents that it reads have relation "doc"."""
    text = blank_comments(text)
    for found in _QUERY.finditer(text):
        if found["doc"]:
            yield "doc", found["doc"][1:-1], found.start()
        for place in _LITERALS.findall(found["at"] or ""):
            yield f"xq:import-{found['what']}", place[1:-1], found.start()


def scan_compact(text: str) -> Iterator[tuple[str, str, int]]:
    """What a schema in RELAX NG's compact syntax includes; namespaces that it declares have relation "namespace"."""
    for found in _COMPACT.finditer(text):
        relation, written = ("", "")
        if found["what"]:
            relation, written = f"rnc:{found['what']}", found["href"]
        elif found["namespace"]:
            relation, written = "namespace", found["namespace"]
        if relation:
            parts = _COMPACT_LITERALS.findall(written)
            yield relation, "".join(map(_unquote, parts)), found.start()


def _unquote(literal: str) -> str:
    return literal[3:-3] if len(literal) > 5 and literal[:3] == literal[0] * 3 else literal[1:-1]
