"""Script shells: pages that are empty until scripts make their content.

Every page is checked, so the cheap checks come first: an ordinary page has links and is done within a microsecond. A
page that merely has little on it is no shell: there must be scripts, hardly a word or a link that a reader would see,
and a sign that scripts fill it in.
"""

from __future__ import annotations

import re

from turbohtml import Element, Text

from lycosa.model import Link
from lycosa.parse.doc import Doc

#: Links and characters that a shell may have (an imprint, "Loading, please wait"), when something tells what it is.
_LINKS = 3
_CHARS = 300
#: Without any other sign a page must be empty, but for a word that says more is coming: "Loading…".
_FEW_CHARS = 30
_COMING = ("…", "...")
#: A larger body than this many elements was made by somebody, whatever it says.
_NODES = 400
#: A shell may carry its data along, but megabytes without a word to read are no page that somebody waits for.
_BYTES = 2 << 20
_LINK_KINDS = frozenset({"a", "area", "frame"})
_UNSEEN = frozenset({"script", "style", "template", "head", "title", "link", "meta"})
#: What shows something without a word.
_PICTURES = frozenset({"img", "picture", "video", "audio", "object", "embed", "canvas", "form", "input", "button"})
#: Where the usual frameworks put what they make: React, Vue, Next, Nuxt, Gatsby, Svelte, Quasar, Ember, Angular.
_NAMES = (
    "root app __next __nuxt __layout ___gatsby svelte sapper q-app ember-app react-root react-app reactroot app-root"
    " approot app-container main-app vue-app spa-root single-spa-application mount mountnode"
)
_ROOTS = frozenset(_NAMES.split())
_WANTS_SCRIPTS = re.compile(r"java\s?script", re.IGNORECASE)
#: Types of <script> that run; the others hold data.
_RUNS = frozenset({"", "module", "text/javascript", "application/javascript", "text/ecmascript", "text/babel"})


class _VisibleContent:
    """What a reader without scripts finds in a body."""

    __slots__ = ("chars", "last", "links", "pictures", "rooted", "scripts", "wants")

    def __init__(self) -> None:
        self.chars = self.links = self.pictures = self.scripts = 0
        self.last = ""  # the last words that were met
        self.rooted = False  # there is an element in which a framework would build
        self.wants = False  # <noscript> asks for JavaScript


def is_script_shell(doc: Doc) -> bool:
    """Whether scripts would have to run before there is anything to read or to follow."""
    if _has_links(doc.links) or doc.tree is None or doc.refresh is not None or len(doc.body) > _BYTES:
        return False
    if b"<script" not in doc.body and b"<SCRIPT" not in doc.body:
        return False
    root = doc.tree.root
    if root is None:
        return False
    content = _read_visible(root)
    if content is None or not content.scripts or content.links > _LINKS:
        return False
    if content.rooted or content.wants:
        return content.chars <= _CHARS
    if content.links or content.pictures:
        return False
    return not content.chars or (content.chars <= _FEW_CHARS and content.last.endswith(_COMING))


def _has_links(links: list[Link]) -> bool:
    """Whether a page has more links than a shell may have."""
    # The <link>s of the head come first: a page whose middle and last link are anchors has many.
    if len(links) > 4 * _LINKS and links[len(links) // 2].kind == "a" and links[-1].kind == "a":
        return True
    anchors = 0
    for link in links:
        if link.kind in _LINK_KINDS:
            anchors += 1
            if anchors > 2 * _LINKS:  # as many again may stand in <noscript>
                return True
    return False


def _read_visible(root: Element) -> _VisibleContent | None:
    """What the page shows; None as soon as it is plain that it has content of its own."""
    content = _VisibleContent()
    nodes = 0
    stack = [root]
    while stack:
        element = stack.pop()
        nodes += 1
        if nodes > _NODES:
            return None
        for child in element.children:
            if type(child) is Text:
                if not child.data.isspace():
                    content.last = " ".join(child.data[: 4 * _CHARS].split())
                    content.chars += len(content.last)
                    if content.chars > _CHARS:
                        return None
            elif type(child) is Element:
                tag = child.tag
                if tag == "script":
                    content.scripts += (child.attr("type") or "").strip().lower() in _RUNS
                elif tag == "noscript":
                    content.wants = content.wants or _WANTS_SCRIPTS.search(child.text[:2000]) is not None
                elif tag == "head":
                    content.scripts += _count_scripts(child)
                elif tag not in _UNSEEN:
                    _count_element(child, tag, content)
                    stack.append(child)
    return content


def _count_element(element: Element, tag: str, content: _VisibleContent) -> None:
    """Count what an element shows, and check whether a framework would build in it."""
    if tag == "a" or tag == "area" or tag == "iframe" or tag == "frame":
        content.links += element.attr("href") is not None or element.attr("src") is not None
    elif tag in _PICTURES:
        content.pictures += 1
    elif not content.rooted:
        # A custom element (its name has a hyphen) shows nothing before a script defines it.
        name = element.attr("id")
        content.rooted = (name is not None and name.strip().lower() in _ROOTS) or "-" in tag or _is_angular(element)


def _is_angular(element: Element) -> bool:
    return element.attr("ng-app") is not None or element.attr("data-ng-app") is not None


def _count_scripts(head: Element) -> int:
    return sum((e.attr("type") or "").strip().lower() in _RUNS for e in head.iter_elements(("script",)))
