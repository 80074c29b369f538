"""Content of an answer: its body with the content coding undone."""

from __future__ import annotations

from lycosa.config.settings import LimitSettings
from lycosa.fetch.decode import decode, decode_file
from lycosa.model import Answer

LIST_HEAD = 50 << 20  # bytes of a sitemap: its protocol's own limit
TEXT_HEAD = 64 * 1024  # bytes read of a body that lies in a spool file and is not HTML


def read_content(answer: Answer, limits: LimitSettings, *, whole: bool = False) -> tuple[bytes, str]:
    """The content and what is wrong with it; of a large file that is not HTML only the beginning, unless `whole`."""
    coding = answer.headers.get("content-encoding", "")
    kind = answer.headers.get("content-type", "html").lower()
    html = "html" in kind
    if answer.spool:
        listing = (
            whole or "xml" in kind or answer.target.via == "sitemap" or answer.target.url.endswith((".xml", ".xml.gz"))
        )
        if html:
            head = limits.html_bytes
        else:
            head = LIST_HEAD if listing else TEXT_HEAD
        decoded = decode_file(answer.spool, coding, limit=limits.body_bytes, head=head)
    elif coding:
        decoded = decode(answer.body, coding, limit=limits.html_bytes if html else limits.body_bytes)
    else:
        return answer.body, ""
    return decoded.body, decoded.problem
