"""Members of archives are found without opening the archive for each of them."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.analysis.analyzer import Analyzer, Case
from lycosa.analysis.archive_members import ArchiveMembers
from lycosa.parse import Doc, read


class Boxes(Analyzer):
    """Takes every line of a text for a member, and counts how often it is opened."""

    def __init__(self) -> None:
        self.opened = 0

    def members(self, doc: Doc) -> Iterable[Case]:
        self.opened += 1
        for line in doc.body.split():
            yield Case(read(f"{doc.url}!/{line.decode()}", {}, line), member=line.decode())


def test_an_archive_is_opened_once_in_a_row() -> None:
    """And again when another one was asked for in between; what it lacks is not looked for again."""
    boxes = Boxes()
    members = ArchiveMembers(boxes)

    def ask(url: str, member: str) -> bytes | None:
        case = members.find(url, lambda: read(url, {}, f"a b {url[-1]}".encode()), member)
        return case.body if case is not None else None

    assert [ask("http://x/1", name) for name in ("a", "b", "1", "none")] == [b"a", b"b", b"1", None]
    assert boxes.opened == 1
    assert ask("http://x/2", "2") == b"2" and ask("http://x/2", "1") is None
    assert ask("http://x/1", "a") == b"a" and boxes.opened == 3
