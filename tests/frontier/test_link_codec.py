"""Links packed into one blob a page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from isal import igzip_lib

from lycosa.frontier import link_codec

ROWS = st.lists(st.tuples(st.text(), st.text(), st.booleans()))


@given(rows=ROWS)
def test_links_come_back_as_they_were(rows: list[link_codec.Row]) -> None:
    """Any addresses, anchors and marks, in their order."""
    assert link_codec.unpack(link_codec.pack(rows)) == rows


def test_a_hundred_links_take_little_room() -> None:
    """Addresses of one site share most of their letters."""
    rows = [(f"https://example.org/3/library/page{i}.html", f"Page {i}", True) for i in range(100)]
    assert len(link_codec.pack(rows)) < 2000
    assert link_codec.pack([]) == b""


def test_half_a_character_is_replaced() -> None:
    """A lone surrogate cannot be stored; the rest of its row is."""
    assert link_codec.unpack(link_codec.pack([("https://example.org/", "a\ud800b", False)])) == [
        ("https://example.org/", "a?b", False)
    ]


@given(blob=st.binary())
def test_damaged_blobs_give_no_links(blob: bytes) -> None:
    """What is no blob of ours gives nothing, and raises nothing."""
    assert isinstance(link_codec.unpack(blob), list)


def test_a_blob_made_to_swell_gives_no_links() -> None:
    """Unpacking ends at the limit."""
    assert link_codec.unpack(igzip_lib.compress(bytes(link_codec.LIMIT + 1))) == []
    cut = link_codec.pack([("https://example.org/", "x" * 100, True)] * 50)
    assert link_codec.unpack(cut[:-5]) == []
