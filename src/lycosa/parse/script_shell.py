"""A document that was read goes in; out comes whether it is an empty shell, a page whose content only scripts make.

Asked of every page, so the cheap questions come first: an ordinary page has links and is done within a microsecond.
A page that merely has little on it is none: there must be scripts, hardly a word or a link that a reader would see, and
a sign that scripts fill it in.
"""

from __future__ import annotations

import re

from turbohtml import Element, Text

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


class _Sight:
    """What a reader without scripts finds in a body."""

    __slots__ = ("chars", "last", "links", "pictures", "rooted", "scripts", "wants")

    def __init__(self) -> None:
        self.chars = self.links = self.pictures = self.scripts = 0
        self.last = ""  # the last words that were met
        self.rooted = False  # there is an element in which a framework would build
        self.wants = False  # <noscript> asks for JavaScript


def is_hollow(doc: Doc) -> bool:
    """Whether scripts would have to run before there is anything to read or to follow."""
    links = doc.links
    # The <link>s of the head come first: a page whose middle and last link are anchors has many.
    if len(links) > 4 * _LINKS and links[len(links) // 2].kind == "a" and links[-1].kind == "a":
        return False
    seen = 0
    for link in links:
        if link.kind in _LINK_KINDS:
            seen += 1
            if seen > 2 * _LINKS:  # as many again may stand in <noscript>
                return False
    if doc.tree is None or doc.refresh is not None or len(doc.body) > _BYTES:
        return False
    if b"<script" not in doc.body and b"<SCRIPT" not in doc.body:
        return False
    root = doc.tree.root
    if root is None:
        return False
    observation = _look(root)
    if observation is None or not observation.scripts or observation.links > _LINKS:
        return False
    if observation.rooted or observation.wants:
        return observation.chars <= _CHARS
    if observation.links or observation.pictures:
        return False
    return not observation.chars or (observation.chars <= _FEW_CHARS and observation.last.endswith(_COMING))


def _look(root: Element) -> _Sight | None:
    """Walk over the page; None as soon as it is plain that it has content of its own."""
    observation = _Sight()
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
                    observation.last = " ".join(child.data[: 4 * _CHARS].split())
                    observation.chars += len(observation.last)
                    if observation.chars > _CHARS:
                        return None
            elif type(child) is Element:
                tag = child.tag
                if tag == "script":
                    observation.scripts += (child.attr("type") or "").strip().lower() in _RUNS
                elif tag == "noscript":
                    observation.wants = observation.wants or _WANTS_SCRIPTS.search(child.text[:2000]) is not None
                elif tag == "head":
                    observation.scripts += _count_scripts(child)
                elif tag not in _UNSEEN:
                    _note(child, tag, observation)
                    stack.append(child)
    return observation


def _note(element: Element, tag: str, observation: _Sight) -> None:
    """Count what an element shows, and see whether something could be built in it."""
    if tag == "a" or tag == "area" or tag == "iframe" or tag == "frame":
        observation.links += element.attr("href") is not None or element.attr("src") is not None
    elif tag in _PICTURES:
        observation.pictures += 1
    elif not observation.rooted:
        # A custom element (its name has a hyphen) shows nothing before a script defines it.
        name = element.attr("id")
        observation.rooted = (name is not None and name.strip().lower() in _ROOTS) or "-" in tag or _is_angular(element)


def _is_angular(element: Element) -> bool:
    return element.attr("ng-app") is not None or element.attr("data-ng-app") is not None


def _count_scripts(head: Element) -> int:
    return sum((e.attr("type") or "").strip().lower() in _RUNS for e in head.iter_elements(("script",)))
