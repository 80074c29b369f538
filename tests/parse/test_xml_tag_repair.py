"""Start tags that are written wrongly are written anew; everything else stays as it is."""

from __future__ import annotations

import pytest

from lycosa.parse.xml import build_tree, repair_tags


@pytest.mark.parametrize(
    ("tag", "meant"),
    [
        (b'<a b="1"c="2">', b'<a b="1" c="2">'),
        (b'<a b="x<y"/>', b'<a b="x&lt;y"/>'),
        (b"<a b=1 c='2'>", b'<a b="1" c="2">'),
        (b'<a b="1 c="2">', b'<a b="1" c="2">'),
        (b'<a b="1" <', b'<a b="1"><'),
        (b"<a b='say \"hi\"' c>", b'<a b=\'say "hi"\' c="c">'),
        (b'<a, b="1" b="2">', b'<a b="1">'),
    ],
)
def test_tags_are_written_as_they_were_meant(tag: bytes, meant: bytes) -> None:
    """Blanks, quotation marks and ends that are missing, and what may not stand in a value."""
    data, changes = repair_tags(b"<r>\n" + tag + b"</r>")
    assert data == b"<r>\n" + meant + b"</r>" and changes == [("a", 2)]


@pytest.mark.parametrize(
    "text",
    [
        b"<r a=\"1\" b='2'><c/></r>",
        b"<r><![CDATA[<a b=1>]]><!-- <a b=1> --><?p <a b=1> ?></r>",
        b'<!DOCTYPE r [<!ENTITY e "<a b=1>">]><r/>',
        b"<r><a b='",
    ],
)
def test_what_is_right_or_no_tag_stays(text: bytes) -> None:
    """Also what begins and never ends."""
    assert repair_tags(text) == (text, [])


def test_a_tree_loses_nothing_behind_a_wrong_tag() -> None:
    """What is wrong is told all the same."""
    tree, fault = build_tree(b'<r a="1"b="2"><s t=3><u/></s><v/></r>', "utf-8")
    assert tree is not None and [element.tag for element in tree.iter()] == ["r", "s", "u", "v"]
    assert tree[0].get("t") == "3" and "line 1" in fault
