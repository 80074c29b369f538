"""A broken document becomes one that every parser reads, and the report says what was changed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from lycosa.missions.xml.repair import CODES, find_fault, repair


@pytest.mark.parametrize(
    ("body", "code", "inside"),
    [
        (b"<a>&nbsp;&eacute;&mine;</a>", "entity", b"<a>&#160;&#233;&amp;mine;</a>"),
        (b"<a>this & that</a>", "ampersand", b"<a>this &amp; that</a>"),
        (b"<a>1 < 2</a>", "less-than", b"<a>1 &lt; 2</a>"),
        (b"<a>\x0b\x01b&#0;</a>", "control", b"<a>b&#xfffd;</a>"),
        (b'<a xsi:type="b"/>', "prefix", b'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'),
        (b"<mine:a/>", "prefix", b'xmlns:mine="urn:lycosa:undeclared:mine"'),
        (b"noise\n<?xml version='1.0'?><a/>", "preface", b"<?xml version='1.0'?><a/>"),
        ("<?xml version='1.0' encoding='utf-8'?><a>caf\xe9</a>".encode("latin-1"), "encoding", "café".encode()),
        (b"<a><b>text", "truncated", b"<a><b>text</b></a>"),
        (b"<x:a xmlns:x='u'><x:b/><x:", "truncated", b"<x:b/></x:a>"),
        (b"<a><b c='d", "truncated", b"<a/>"),
        (b"<a><b></a>", "tag", b"<b/>"),
        (b"<a/><b/>", "trailing", b"<a/>"),
        (b'<a b="1" b="2"/>', "attribute", b'b="1"'),
        (b'<a xmlns:x="u" xmlns:y="u" x:b="1" y:b="2"/>', "prefix", b'b="1"'),
        (b'<a b="1"c="2"><d/></a>', "attribute", b'<a b="1" c="2"><d/></a>'),
        (b'<a b="x<y"><d/></a>', "attribute", b'<a b="x&lt;y"><d/></a>'),
        (b"<a b=1 c=/x/y/><d/>", "attribute", b'<a b="1" c="/x/y"/>'),
        (b'<a b=one two"><d/></a>', "attribute", b'<a b="one two"><d/></a>'),
        (b'<a><b c="d e="f">t</b><g/></a>', "attribute", b'<a><b c="d" e="f">t</b><g/></a>'),
        (b'<a><b c="d>t</b><g h="i"/></a>', "attribute", b'<a><b c="d">t</b><g h="i"/></a>'),
        (b'<a checked><b c="d" <g/></b></a>', "attribute", b'<a checked="checked"><b c="d"><g/></b></a>'),
    ],
)
def test_what_is_wrong_is_put_right(body: bytes, code: str, inside: bytes) -> None:
    """One thing after the other; the code names it."""
    repaired = repair(body)
    assert repaired is not None and find_fault(repaired.data) == ("", 0)
    assert code in [change.what for change in repaired.changes] and inside in repaired.data
    assert {change.what for change in repaired.changes} <= CODES.keys()


@pytest.mark.parametrize(
    "body",
    [
        b"<a/>",
        b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9</a>",
        "<a>é</a>".encode("utf-16"),
        b"<!DOCTYPE a [<!ENTITY mine 'x'>]><a>&mine;</a>",
        b"<a><![CDATA[ & < &nbsp; ]]><!-- & --></a>",
        b"\xef\xbb\xbf<a/>",
        b"<a xmlns='http://a b/c d' xmlns:x=\"u v\"><x:b/></a>",
    ],
)
def test_what_is_right_is_left_alone(body: bytes) -> None:
    """Also in other encodings, and what looks wrong where it is allowed."""
    assert repair(body) is None


def test_a_wrong_tag_costs_nothing_of_what_follows() -> None:
    """The end of an element whose tag is dropped would end the one around it, and with the root everything."""
    body = b'<r a="1"b="2">' + b"".join(b'<s n=%d><t u="v"w="x">y</t></s>' % n for n in range(50)) + b"</r>"
    repaired = repair(body)
    assert repaired is not None and len(list(etree.fromstring(repaired.data).iter("t"))) == 50
    assert [change.line for change in repaired.changes[:2]] == [1, 1]


@pytest.mark.parametrize("piece", [b"<!DOCTYPE[", b'<a b="', b"<a ", b'a=" ', b"<![CDATA["])
def test_pieces_without_number_end(piece: bytes) -> None:
    """What begins and never ends is read once, not again from every beginning."""
    repaired = repair(b"<r>" + piece * 30_000)
    assert repaired is not None and repaired.changes


def test_what_is_not_text_is_not_touched() -> None:
    """Repairs do not reach into CDATA, comments and declarations."""
    repaired = repair(b"<a><![CDATA[x & y]]><!-- & -->z & w</a>")
    assert repaired is not None and repaired.data == b"<a><![CDATA[x & y]]><!-- & -->z &amp; w</a>"


def test_what_is_too_deep_or_too_large_is_left() -> None:
    """It is told, and costs no more than reading it."""
    for body in (b"<a>" * 5000, b"<a>" + b"word & " * 5_000_000):
        repaired = repair(body)
        assert repaired is not None and [change.what for change in repaired.changes] == ["unmended"]
        assert repaired.data == body


def test_the_encoding_declared_is_the_one_written() -> None:
    """What is put right is in UTF-8 and says so."""
    repaired = repair("<?xml version='1.0' encoding='ISO-8859-1'?><a>é & è</a>".encode("latin-1"))
    assert repaired is not None
    assert etree.fromstring(repaired.data).text == "é & è"


PIECES = [
    "<a>",
    "</a>",
    "<b x='1'>",
    "&",
    "&x;",
    "<",
    ">",
    "]]>",
    "<![CDATA[",
    "<!--",
    "-->",
    "<?",
    "?>",
    "x:y",
    "\x01",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_rubbish_is_repaired_or_left(pieces: list[str]) -> None:
    """Nothing raises; what is said to be repaired can be read."""
    repaired = repair(("<r>" + "".join(pieces)).encode())
    assert repaired is not None
    if all(change.what != "unmended" for change in repaired.changes):
        assert find_fault(repaired.data) == ("", 0)
