"""Listings of code as written: line by line, without the numbers beside them, with the language that the page names.

Highlighters write listings in many forms: <pre> with or without <code>, a table with the numbers in a column of its
own, a list or a box a line. All give the same text.
"""

from __future__ import annotations

import re

from turbohtml import Element, Text

from lycosa.content.page_blocks import joined

_TABLE = re.compile(
    r"(?:^|\s)(?:highlighttable|hljs-ln|rouge-table|lntable|crayon-table|syntaxhighlighter|code-?table|diff-table"
    r"|js-file-line-container|blob-code-content|highlight-?table)(?=\s|$)",
    re.IGNORECASE,
)
#: What numbers lines, or offers to copy them.
_NUMBERS = re.compile(
    r"(?:^|[\s_-])(?:linenos?|linenodiv|gutter|line-?numbers?(?:-rows)?|rouge-gutter|ln-numbers?|blob-num|lnt|crayon-nums?"
    r"|lineno|copy(?:-?(?:btn|button|code))?|copybtn|code-copy|clipboard\w*|sr-only|toolbar-item)(?=$|[\s_-])",
    re.IGNORECASE,
)
_ROWS = frozenset({"div", "p", "li", "tr"})
_SILENT = frozenset({"script", "style", "button", "template", "svg"})
#: A name that says the language itself, and names beside which it stands.
_LANGUAGE = re.compile(
    r"(?:language|lang|highlight-source|highlight-text|highlight|brush|src|syntax|code)[-:]([a-z][\w+#.-]{0,30})"
)
_BESIDE_LANGUAGE = frozenset(
    {"hljs", "sourcecode", "prettyprint", "src", "code", "brush:", "syntaxhighlighter", "programlisting"}
)
_NO_LANGUAGE_NAMES = (
    "none plain plaintext text txt nohighlight no-highlight default notranslate block wrapper toolbar snippet example"
    " container highlight box inner content area body code copyable linenums auto undefined false true numbers line"
    " code-block literal-block hljs console-output source"
)
_NO_LANGUAGE = frozenset(_NO_LANGUAGE_NAMES.split())
_WORD = re.compile(r"[a-z][a-z0-9+#]{0,20}")
_PARENTS = 3


def is_listing(element: Element, tag: str) -> bool:
    """Whether an element holds a listing."""
    return tag == "pre" or (tag in ("table", "div") and _TABLE.search(joined(element.attrs.get("class"))) is not None)


def read_listing(element: Element) -> tuple[str, str]:
    """The listing that an element holds, and its language."""
    lines: list[str] = []
    _write(element, lines, 0)
    text = "".join(lines).replace("\r\n", "\n").replace("\xa0", " ")
    kept = [line.rstrip() for line in text.split("\n")]
    while kept and not kept[0]:
        kept.pop(0)
    while kept and not kept[-1]:
        kept.pop()
    return "\n".join(kept), _find_language(element)


def _write(element: Element, out: list[str], depth: int) -> None:
    for child in element.children:
        if isinstance(child, Text):
            data = child.data
            # White space between the rows of a table or a list is the source's own.
            if data.strip() or element.tag not in ("table", "tbody", "tr", "ol", "ul"):
                out.append(data)
        elif isinstance(child, Element):
            name = child.tag
            if name == "br":
                out.append("\n")
            elif name in _SILENT or depth > 100 or _NUMBERS.search(_names(child)):
                continue
            else:
                begun = len(out)
                is_row = name in _ROWS
                if is_row and out and not _ends_line(out):
                    out.append("\n")
                _write(child, out, depth + 1)
                if is_row and (len(out) == begun or not _ends_line(out)):
                    out.append("\n")


def _ends_line(out: list[str]) -> bool:
    return next((part for part in reversed(out) if part), "\n").endswith("\n")


def _names(element: Element) -> str:
    attrs = element.attrs
    return joined(attrs.get("class")) if attrs else ""


def _find_language(element: Element) -> str:
    """The language by the names of the listing, of what is in it, of what is around it."""
    inner = element.select_one("code")
    around = list(element.ancestors)[:_PARENTS]
    for each in (inner, element, *around):
        if not isinstance(each, Element):
            continue
        for name in ("data-lang", "data-language", "data-code-language", "lang"):
            said = str(each.attr(name) or "").strip().lower()
            if said and (name != "lang" or each is inner) and said not in _NO_LANGUAGE:
                return said[:30]
        names = _names(each).lower().split()
        found = [match[1] for name in names if (match := _LANGUAGE.fullmatch(name.rstrip(";"))) is not None]
        if not _BESIDE_LANGUAGE.isdisjoint(names):
            found += [name.rstrip(";") for name in names if _WORD.fullmatch(name.rstrip(";"))]
        for name in found:
            if name not in _NO_LANGUAGE and name not in _BESIDE_LANGUAGE and not _NUMBERS.search(name):
                return name
    return ""
