"""Digests of answers: one by which a body is stored, one by which its content is recognised again."""

from __future__ import annotations

import hashlib

from lycosa.model import Answer

_MARK = bytes(3)
_GZIP = b"\x1f\x8b\x08"
_FIXED = 10  # bytes of a gzip header before its optional fields (RFC 1952)
_EXTRA, _NAME, _COMMENT, _CHECK = 4, 8, 16, 2


def digest_of(answer: Answer, *, head: bytes = b"") -> bytes:
    """SHA-1 of the body as it was received: the payload digest of its archive record; with a `head`, that of both."""
    digest = hashlib.sha1(head, usedforsecurity=False)
    if not answer.spool:
        digest.update(answer.body)
        return digest.digest()
    with open(answer.spool, "rb") as spool:
        return hashlib.file_digest(spool, lambda: digest).digest()


def identity_of(answer: Answer) -> bytes:
    """SHA-1 of what makes the content: the same as `digest_of` but for servers that stamp what they compress.

    Some write the time into the header of gzip, or a name of random length against eavesdroppers: then no two answers
    are alike, whatever they hold. The digest of their core is marked, as it is not that of a body.
    """
    if not is_stamped(answer):
        return digest_of(answer)
    core = memoryview(answer.body)[_end_of_header(answer.body) :]
    return _MARK + hashlib.sha1(core, usedforsecurity=False).digest()[len(_MARK) :]


def is_core(digest: bytes) -> bool:
    """Whether this identity is that of a compressed body without its header; one digest in 2^24 only looks like one."""
    return digest.startswith(_MARK)


def is_stamped(answer: Answer) -> bool:
    """Whether the body was compressed in transit, with a time, a name or a comment in its header."""
    head = answer.body[:_FIXED]
    if head[:3] != _GZIP or "content-encoding" not in answer.headers or len(head) < _FIXED:
        return False
    return head[4:8] != b"\0\0\0\0" or bool(head[3] & (_NAME | _COMMENT))


def _end_of_header(body: bytes) -> int:
    flags, end = body[3], _FIXED
    if flags & _EXTRA:
        end += 2 + int.from_bytes(body[end : end + 2], "little")
    for field in (_NAME, _COMMENT):
        if flags & field:
            end = body.find(b"\0", end) + 1 or len(body)
    return end + 2 if flags & _CHECK else end
