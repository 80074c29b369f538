"""Records databases without a crawl: articles go in, a collection with its records comes out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.make_collection import make_collection

from lycosa.missions.records.database import NewRecord, RecordStore, open_store

AT = 1_790_000_000.0  # 21 September 2026
NASTY = "<script>document.title = 'broken'</script><img src=x onerror=alert(1)> río"


def make_article(number: int, title: str, *, host: str = "news.example", **fields: Any) -> NewRecord:
    """An article with a text of two paragraphs."""
    text = f"First paragraph of article {number}, which is long enough to be shown as its summary.\nSecond paragraph."
    data = {"title": title, "authors": ["Ana Ruiz"], "date": "2026-09-20", "language": "es", "text": text, **fields}
    return NewRecord(kind="article", url=f"https://{host}/{number}", data=data)


@contextmanager
def filled_store(folder: Path, *records: NewRecord, at: float = AT) -> Iterator[RecordStore]:
    """The records database of a collection in a folder, with these records."""
    if not folder.exists():
        make_collection(folder, [("https://news.example/", "text/html", b"<p>news</p>")])
    with open_store(folder) as store:
        store.put(records, at=at, cause="page", round=1)
        yield store
