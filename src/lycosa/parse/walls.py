"""Walls: answers that stand in the place of a page: challenges to bots, consent, log-in forms, errors that say 200.

Every page is checked, so the cheap checks come first: what has many links or much to read is no wall, whatever it
speaks of. A name of a vendor says little, as honest pages carry the same scripts; the marks here are those that only
the wall itself has, looked for in elements and never in text. A wall is a no: nobody tries to get around it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import re2
from turbohtml import Document, Element

from lycosa.parse.doc import Doc

#: Codes of challenges begin so; the vendor follows, or the kind of challenge.
CHALLENGE = "challenge:"
SOFT_404, SOFT_ERROR, LOGIN, CONSENT = "soft-404", "soft-error", "login", "consent"
#: The file by which a site proves to search engines that it is its own (IndexNow): it holds its name.
KEY_FILE = "key-file"
ERRORS = (SOFT_404, SOFT_ERROR, KEY_FILE)
#: Statuses, beside those of a page, with which walls come.
STATUSES = frozenset({401, 403, 405, 406, 412, 418, 429, 503})

#: A page that has more links or characters than this is no challenge; nor, with so many more, any other wall.
_LINKS, _CHARS, _LONGEST = 40, 1500, 5000
#: What there is of such pages before their blanks are folded.
_RAW, _RAW_CHALLENGE = 6000, 2500
_BYTES = 1 << 19
#: What there is to read, beside links, on a page that says that there is none; on a shorter one its title is enough.
_ERROR_CHARS, _SURE_CHARS = 700, 200
#: What a challenge that bears no mark has at most.
_CHALLENGE_CHARS, _FEW_LINKS = 700, 6
#: A form with so many fields to fill in is no challenge; what stands around a log-in form that hides a page.
_FORM_FIELDS, _LOGIN_CHARS = 2, 500
#: What counts of a paragraph, of a title or heading, and how many of these are looked at.
_PARAGRAPH, _HEAD_CHARS, _HEADS = 500, 300, 3
_MARK_CHARS, _SCRIPT_CHARS = 2000, 20_000
_FORMS_MAX = 10_000
_KINDS = ("text", "email", "password", "search", "tel")

_KNOWN = tomllib.loads((Path(__file__).parent / "walls.toml").read_text("utf-8"))


@cache
def _named(table: str) -> Any:
    """One pattern of a table; the name of the group that matched is the vendor's."""
    return re2.compile("(?s)" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _KNOWN[table].items()))


@cache
def _words(name: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in _KNOWN["words"][name]), re.IGNORECASE)


_HEADERS: dict[str, list[str]] = _KNOWN["headers"]
#: One of these is in every title or heading of an error or a question for consent, and in hardly any other.
_HINT = re2.compile("|".join(_KNOWN["words"]["hints"]))
#: Where one part of a title ends.
_PARTS = re.compile(r"\s+[-/·•]\s+|[|–—»«›‹!.:?…,(){}\[\]\"“”„¡¿。！：|]+")
_FILE = re.compile(r"\.(?:pdf|docx?|pptx?|xlsx?|od[tps]|epub|zip|csv|xml|json)$", re.IGNORECASE)
#: Fields that people fill in.
_FIELDS = ", ".join(["textarea", "select", "input:not([type])", *(f"input[type={kind}]" for kind in _KINDS)])
_MARKED = ("html", "body", "script", "form", "iframe", "meta", "link", "div", "input", "img", "section", "main")


class WallFinder:
    """Tells walls from pages, for one worker; it remembers log-in forms, which come back under other addresses."""

    def __init__(self) -> None:
        self._forms: dict[tuple[str, str], str] = {}

    def find(self, doc: Doc, headers: Mapping[str, str], *, status: int, known: bool, moved: bool = False) -> str:
        """The reason code of the wall that an answer is; empty: it is none.

        `known`: a page was here before; `moved`: a seed was redirected here.
        """
        for name in _HEADERS.keys() & headers.keys():
            begin, vendor = _HEADERS[name]
            if headers[name].lower().startswith(begin):
                return CHALLENGE + vendor
        if status == 202 and not doc.body:
            return f"{CHALLENGE}aws-waf"
        tree = doc.tree
        if tree is None or len(doc.body) > _BYTES:
            return KEY_FILE if doc.kind == "text" and _is_key(doc) else ""
        is_small = len(doc.links) <= _LINKS
        if not is_small and not _is_suspect([doc.title]):  # errors have all the links of their site
            return ""
        heads, is_long = _read_beginning(doc.title, tree)
        if is_long and not _is_suspect(heads):
            return ""
        raw = len(tree.text) - sum(len(e.text) for e in tree.iter_elements(("script", "style")))
        if raw > _RAW:
            return ""  # the text that readers see costs ten times as much
        if raw > _RAW_CHALLENGE and not _is_suspect(heads):
            return ""
        chars = len(doc.text)
        if is_small and chars <= _CHARS and (vendor := _find_challenge(tree, doc, heads)):
            return CHALLENGE + vendor.replace("_", "-")
        if chars > _LONGEST or not 200 <= status < 300:
            return ""
        if (code := _find_error(doc, heads)) or not is_small:
            return code
        if chars <= _CHARS and self._is_login(doc, tree, known=known, moved=moved):
            return LOGIN
        return CONSENT if _is_consent(doc, tree, heads) else ""

    def _is_login(self, doc: Doc, tree: Document, *, known: bool, moved: bool) -> bool:
        """Whether a log-in form stands where a page should be; one at its own address, and linked, is a page."""
        fields = tree.select("input[type=password]")
        form = fields[0].closest("form") if len(fields) == 1 else None
        if form is None or fields[0].attr("autocomplete") == "new-password":
            return False
        parts = urlsplit(doc.url)
        is_own_place = _words("login_place").search(f"{parts.netloc.partition('.')[0]} {parts.path}") is not None
        if (is_own_place and not moved) or len(doc.text) - len(form.text) > _LOGIN_CHARS:
            return False
        if moved or _FILE.search(parts.path) or (known and len(parts.path) > 1) or _leads_back(form, parts.path):
            return True
        if len(self._forms) > _FORMS_MAX:
            self._forms.clear()
        names = " ".join(sorted(e.attr("name") or "" for e in form.select("input")))
        return self._forms.setdefault((parts.netloc, f"{doc.title}\n{names}"), parts.path) != parts.path


def _is_key(doc: Doc) -> bool:
    name = urlsplit(doc.url).path.rpartition("/")[2].removesuffix(".txt")
    return 8 <= len(name) <= 128 and doc.body.strip() == name.encode()


def _read_beginning(title: str, tree: Document) -> tuple[list[str], bool]:
    """The title and the first headings, and whether so much is written there that the page is no challenge."""
    heads, chars = [title], 0
    for e in tree.iter_elements(("h1", "h2", "p")):
        if e.tag == "p":
            chars += min(len(e.text), _PARAGRAPH)  # it may have a script in it
            if chars > _RAW_CHALLENGE:
                return heads, True
        elif len(heads) < _HEADS:
            heads.append(e.text)
    return heads, False


def _is_suspect(heads: list[str]) -> bool:
    """Whether one of title and headings may be that of an error, or of a question for consent."""
    line = " | ".join(" ".join(head[:_HEAD_CHARS].replace("’", "'").casefold().split()) for head in heads)
    return _HINT.search(line) is not None and any(any(map(_judge_part, _parts(h))) or _asks_consent(h) for h in heads)


def _asks_consent(head: str) -> bool:
    return _words("consent").fullmatch(" ".join(head.split())) is not None


def _parts(line: str) -> list[str]:
    """The parts of a title, in small letters, without a greeting."""
    parts = (" ".join(part.split()) for part in _PARTS.split(line[:_HEAD_CHARS].replace("’", "'").casefold()))
    return [
        part[found.end() :].lstrip() if (found := _words("greeting").match(part)) else part for part in parts if part
    ]


def _judge_part(part: str) -> str:
    """What a part of a title says, wholly: that there is no page, or that the site is out of order."""
    if "404" in part:
        rest = " ".join(_words("number").sub(" ", part).split())
        return SOFT_404 if not rest or _words("not_found").fullmatch(rest) else ""
    if _words("not_found").fullmatch(part):
        return SOFT_404
    return SOFT_ERROR if _words("out_of_order").fullmatch(part) else ""


def _find_error(doc: Doc, heads: list[str]) -> str:
    """An error that comes as a page: title or heading say nothing else, and there is little to read beside links."""
    parts = [part for head in heads for part in _parts(head)]
    said = [code for part in parts if (code := _judge_part(part))]
    if set(said) == {SOFT_404} and all(part == "404" for part in parts if _judge_part(part)):
        said = said if _words("sorry").search(doc.text) else []  # a number like any other: of a row, a room, a bus
    if not said or len(doc.text) - sum(len(link.text) for link in doc.links) > _ERROR_CHARS:
        return ""
    is_sure = len(said) > 1 or said[0] == SOFT_ERROR or len(doc.text) <= _SURE_CHARS or _words("sorry").search(doc.text)
    return said[0] if is_sure else ""


def _find_challenge(tree: Document, doc: Doc, heads: list[str]) -> str:
    """Whose challenge a short page is; empty: it is none."""
    text, fields = doc.text, len(tree.select(_FIELDS))
    marks = "\n".join(_read_marks(tree))
    if fields < _FORM_FIELDS and (found := _named("marks").search(marks)) is not None:
        return found.lastgroup or ""
    seen = " ".join(f"{doc.title} {text}".split()).casefold()
    if (found := _named("sayings").search(seen)) is not None and tree.select_one("pre, code, blockquote") is None:
        return found.lastgroup or ""
    if not seen and (found := _named("guards").search(marks)) is not None:
        return found.lastgroup or ""
    anchors = sum(link.kind == "a" for link in doc.links)
    if anchors > _FEW_LINKS or len(text) > _CHALLENGE_CHARS or tree.select_one("script") is None:
        return ""
    is_captcha, speaks_of_humans = _words("captcha").search(marks) is not None, _words("human").search(seen) is not None
    if (
        speaks_of_humans
        and fields < _FORM_FIELDS
        and any(map(_words("waiting").fullmatch, (p for h in heads for p in _parts(h))))
    ):
        return "captcha" if is_captcha else "browser"
    if is_captcha and speaks_of_humans and not fields:
        return "captcha"
    return "browser" if not fields and not anchors and _words("enable_both").match(text.lstrip()) else ""


def _read_marks(tree: Document) -> Iterator[str]:
    """Attributes of the elements that walls are made of, and the beginnings of scripts."""
    for e in tree.iter_elements(_MARKED):
        yield f"{e.tag} {' '.join(f'{name}={value}' for name, value in e.attrs.items())}"[:_MARK_CHARS]
        if e.tag == "script":
            yield e.text[:_SCRIPT_CHARS]


def _leads_back(form: Element, path: str) -> bool:
    """Whether a log-in form says that it leads back to this very address."""
    fields = [(e.attr("name") or "", e.attr("value") or "") for e in form.select("input[type=hidden]")]
    fields += parse_qsl(urlsplit(form.attr("action") or "").query)
    return len(path) > 1 and any(
        _words("way_back").search(name) and unquote(path) in unquote(value) for name, value in fields
    )


def _is_consent(doc: Doc, tree: Document, heads: list[str]) -> bool:
    """Whether a page does nothing but ask for consent."""
    if not any(map(_asks_consent, heads)):
        return False
    is_place = _words("consent_place").search
    if is_place(urlsplit(doc.url).path) or tree.select_one("article, p ~ p ~ p ~ p ~ p ~ p") is not None:
        return False
    buttons = tree.select("button, input[type=submit]")
    actions = " ".join(form.attr("action") or "" for form in tree.select("form"))
    return is_place(actions) is not None and any(
        _words("accept").search(e.text or e.attr("value") or "") for e in buttons
    )
