"""Repair of XML start tags that no parser reads.

libxml2 drops such a tag: its end tag then closes the element around it, and what follows is lost. Repaired are a
missing blank between two attributes, a < in a value, forgotten quotation marks, a missing >.
"""

from __future__ import annotations

import re

_NAME = rb"[A-Za-z_:\x80-\xff][\w.:\x80-\xff-]*+"
#: What is skipped as a whole, namely what is no tag and tags that are right; then the beginning of any other tag.
_NO_TAG = rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)"
_RIGHT_TAG = rb"<%b(?>(?:\s++%b\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'))*)\s*+/?+>" % (_NAME, _NAME)
_TOKEN = re.compile(rb"%b|%b|<(?P<name>%b)" % (_NO_TAG, _RIGHT_TAG, _NAME), re.DOTALL)
_DOCTYPE = re.compile(rb"(?>(?>\s+|<!--.*?-->|<\?.*?\?>)*)<!DOCTYPE[^\[>]*+(?:\[.*?\]\s*)?>", re.DOTALL)
_BLANK = re.compile(rb"\s*+")
_ATTRIBUTE = re.compile(_NAME)
_EQUALS = re.compile(rb"\s*+=\s*+")
_CLOSED = re.compile(rb"[^\"'<>=]*[\"']")  # a value whose first quotation mark is missing
_BARE = re.compile(rb"(?:[^\s\"'<>=/]|/(?!>))+")
_CUT = re.compile(rb"[\s<>]")
#: The longest tag that is looked at, and how many tags of one document are repaired.
_MAX_BYTES = 1 << 16
_MAX_TAGS = 1000


def repair_tags(data: bytes) -> tuple[bytes, list[tuple[str, int]]]:
    """The document with its start tags repaired, and the name and line of each that was wrong."""
    parts: list[bytes] = []
    changes: list[tuple[str, int]] = []
    done, line, counted = skip_doctype(data), 1, 0
    parts.append(data[:done])
    while len(changes) < _MAX_TAGS and (found := _TOKEN.search(data, done)) is not None:
        if (name := found["name"]) is None:
            parts.append(data[done : found.end()])
            done = found.end()
            continue
        written, end = _read_tag(data, found.end(), min(len(data), found.end() + _MAX_BYTES))
        if end < 0:  # it has no end
            break
        parts += (data[done : found.start()], b"<", name, written)
        line += data.count(b"\n", counted, found.start())
        counted = found.start()
        changes.append((name.decode("utf-8", "replace")[:80], line))
        done = end
    return (b"".join([*parts, data[done:]]), changes) if changes else (data, [])


def skip_doctype(data: bytes) -> int:
    """Where the document type ends: its declarations are no tags."""
    found = _DOCTYPE.match(data)
    return found.end() if found else 0


def _read_tag(data: bytes, at: int, limit: int) -> tuple[bytes, int]:
    """What follows the name of a tag, as it should be written, and where it ends; -1: nowhere."""
    written: list[bytes] = []
    names: set[bytes] = set()
    while at < limit:
        at = _end(_BLANK, data, at)
        if data.startswith(b">", at):
            return b"".join([*written, b">"]), at + 1
        if data.startswith(b"/>", at):
            return b"".join([*written, b"/>"]), at + 2
        if data.startswith(b"<", at):  # the > is missing
            return b"".join([*written, b">"]), at
        name = _ATTRIBUTE.match(data, at, limit)
        if name is None:
            at += 1  # a stray mark
            continue
        value, at = _read_value(data, name.end(), limit, name[0])
        if name[0] not in names:
            names.add(name[0])
            mark = b"'" if b'"' in value else b'"'
            written.append(b" %s=%s%s%s" % (name[0], mark, value.replace(b"<", b"&lt;"), mark))
    return b"", -1


def _read_value(data: bytes, at: int, limit: int, name: bytes) -> tuple[bytes, int]:
    """The value of an attribute, and where it ends; one without any has its name."""
    equals = _EQUALS.match(data, at, limit)
    if equals is None:
        return name, at
    at = equals.end()
    mark = data[at : at + 1]
    if mark in (b'"', b"'"):
        end = data.find(mark, at + 1, limit)
        value = data[at + 1 : end] if end >= 0 else data[at + 1 : limit]
        # Where the next mark opens another value, or there is none, the closing mark was forgotten.
        if end >= 0 and not (value.endswith(b"=") and _CUT.search(value)):
            return value, end + 1
        cut = _CUT.search(data, at + 1, limit)
        stop = cut.start() if cut else limit
        return data[at + 1 : stop].rstrip(b"/"), stop
    if closed := _CLOSED.match(data, at, limit):
        return closed[0][:-1], closed.end()
    bare = _BARE.match(data, at, limit)
    return (bare[0], bare.end()) if bare else (b"", at)


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return found.end() if found else at
