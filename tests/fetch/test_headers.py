"""Header fields read from whatever a server sends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.fetch.headers import MAX_WAIT_S, parse_date, parse_head, parse_retry_after
from lycosa.parse.link_lists import parse_link_header

NOON = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC).timestamp()


def head(*rows: bytes, end: bytes = b"\r\n") -> bytes:
    return end.join((b"HTTP/1.1 200 OK", *rows, b"", b""))


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_status_and_fields(end: bytes) -> None:
    """Names are in lower case, in the order received; line ends may be bare."""
    found = parse_head(head(b"Content-Type: text/html", b"X-Empty:", b'ETag:  "a:b" \t', end=end))
    assert (found.status, found.reason) == (200, "OK")
    assert list(found.fields.items()) == [("content-type", "text/html"), ("x-empty", ""), ("etag", '"a:b"')]


def test_repeated_fields_are_joined() -> None:
    """Repeated fields are joined in the place of the first, whatever the case of their names."""
    found = parse_head(head(b"Set-Cookie: a=1", b"Content-Length: 5", b"set-cookie: b=2", b"Content-Length: 5"))
    assert list(found.fields.items()) == [("set-cookie", "a=1, b=2"), ("content-length", "5, 5")]


def test_of_fields_that_have_one_value_the_first_counts() -> None:
    """Two addresses are no address, and two dates no date."""
    found = parse_head(head(b"Location: /a", b"Location: /a", b"Date: Sun, 06 Nov 1994 08:49:37 GMT", b"date: x"))
    assert found.fields == {"location": "/a", "date": "Sun, 06 Nov 1994 08:49:37 GMT"}


@pytest.mark.parametrize(
    ("first", "status", "reason"),
    [
        (b"HTTP/1.1 404 Not Found", 404, "Not Found"),
        (b"HTTP/2 200 ", 200, ""),
        (b"HTTP/1.0 200", 200, ""),
        (b"HTTP/1.1  302\tFound ", 302, "Found"),
        (b"ICY 200 OK", 200, "OK"),
        (b"HTTP/1.1 999 No", 999, "No"),
        (b"HTTP/1.1 200OK", 200, "OK"),
        (b"HTTP/1.1 2000 OK", 0, ""),
        (b"HTTP/1.1 OK", 0, ""),
        (b"", 0, ""),
        ("HTTP/1.1 ٢٠٠ OK".encode(), 0, ""),
    ],
)
def test_status_lines(first: bytes, status: int, reason: str) -> None:
    """A status is three ASCII digits after the first word; 0 stands for none."""
    found = parse_head(first + b"\r\nA: b\r\n\r\n")
    assert (found.status, found.reason, found.fields.get("a")) == (status, reason, "b")


def test_fields_without_a_status_line() -> None:
    """A head that begins with a field keeps it, even if a number follows."""
    found = parse_head(b"Content-Length: 200 x\r\nA: b\r\n\r\n")
    assert (found.status, found.fields) == (0, {"content-length": "200 x", "a": "b"})


def test_last_head_counts() -> None:
    """After 100 Continue, early hints or a proxy's answer the last head counts."""
    raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + head(b"A: b")
    found = parse_head(raw)
    assert (found.status, found.fields) == (200, {"a": "b"})


def test_untidy_heads() -> None:
    """Folded lines, spaces before the colon, lines without one, empty names and NULs are dealt with."""
    found = parse_head(
        head(b"A: b", b"  c", b"\td", b"no colon", b": empty", b"Name\t : v", b"N\0ul: a\0b", b"Z: 1\rx")
    )
    assert found.fields == {"a": "b c d", "name": "v", "nul": "ab", "z": "1\rx"}


def test_a_blank_line_ends_the_head() -> None:
    """What follows the head is not read, and blank lines before it do not matter."""
    assert parse_head(b"\r\n\r\n" + head(b"A: b") + b"C: d\r\n").fields == {"a": "b"}


def test_eight_bit_values() -> None:
    """Values are UTF-8, or Latin-1 when they cannot be."""
    assert parse_head(head("X: café".encode())).fields == {"x": "café"}
    assert parse_head(head("X: café".encode("latin-1"))).fields == {"x": "café"}


def test_huge_heads_take_linear_time() -> None:
    """Tens of thousands of repeated, folded or blank lines are read at once, not one copy after the other."""
    assert len(parse_head(head(*[b"a: x"] * 60_000)).fields["a"]) == 3 * 60_000 - 2
    assert len(parse_head(head(b"a: x", *[b" y"] * 60_000)).fields["a"]) == 2 * 60_000 + 1
    assert parse_head(head() + b"\n" * 300_000 + b"HTTP/").status == 200


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "sun, 06 NOV 1994 08:49:37 gmt",
        "Sun, 06-Nov-1994 08:49:37 UTC",
        "06 Nov 1994 08:49:37",
        "Sun, 06 November 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 09:49:37 +0100",
        "Sun, 06 Nov 1994 03:49:37 -05:00",
        "Sun Nov 06 1994 03:49:37 GMT-0500 (EST)",
        "Sun, 06 Nov 1994 03:49:37 EST",
        "Sun Nov  6 01:49:37 PDT 1994",
        "1994-11-06T08:49:37Z",
        "1994-11-06 08:49:37",
        "1994-11-06T09:49:37.250+01:00",
        " 'Sun, 06 Nov 1994 08:49:37 GMT' ",
        "Wrong, 06 Nov 1994 08:49:37 GMT; length=5",
    ],
)
def test_dates(text: str) -> None:
    """The three forms of HTTP and the usual mistakes give the same moment."""
    assert parse_date(text) == NOON


def test_date_limits() -> None:
    """A leap second counts as the second before; the first and last years that make sense are taken."""
    assert parse_date("Thu, 01 Jan 1970 00:00:00 GMT") == 0.0
    assert parse_date("Sat, 31 Dec 2016 23:59:60 GMT") == parse_date("Sat, 31 Dec 2016 23:59:59 GMT")
    assert parse_date("Tue, 31 Dec 2199 23:59:59 GMT") is not None
    assert parse_date("Sat, 01 Jan 00 00:00 GMT") == datetime(2000, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "now", "never", "Thu, 01 Jan 0000 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "12:00:00",
     "Mon, 32 Jan 2024 00:00:00 GMT", "Fri, 30 Feb 2024 00:00:00 GMT", "Mon, 01 Foo 2024 00:00:00 GMT",
     "Mon, 01 Jan 2024 24:00:00 GMT", "Mon, 01 Jan 2024 00:60:00 GMT", "Mon, 01 Jan 2024 00:00:61 GMT",
     "Mon, 01 Jan 99999999999 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 +0100", "Wed, 31 Dec 1969 23:59:59 GMT",
     "2024-13-01T00:00:00Z", "1/2/2024", "١٢ Jan 2024 00:00:00 GMT", "9" * 100_000],
)  # fmt: skip
def test_absurd_dates(text: str) -> None:
    """What is no date, or none that a page can have, is None."""
    assert parse_date(text) is None


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("120", 120.0),
        (" 1.5 ", 1.5),
        ("0", 0.0),
        ("-7", 0.0),
        ("60, 60", 60.0),
        ("10s", 10.0),
        ("9" * 500, MAX_WAIT_S),
        ("Sun, 06 Nov 1994 08:50:07 GMT", 30.0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("0x10", None),
    ],
)
def test_retry_after(value: str, wait_s: float | None) -> None:
    """Seconds or a date, never negative, never endless."""
    assert parse_retry_after(value, NOON) == wait_s


def test_the_servers_clock_counts_for_its_times() -> None:
    """A server that is an hour ahead asks for thirty seconds, not for an hour."""
    until, date = "Sun, 06 Nov 1994 09:50:07 GMT", "Sun, 06 Nov 1994 09:49:37 GMT"
    assert parse_retry_after(until, NOON, date=date) == 30.0
    assert parse_retry_after("7", NOON, date=date) == 7.0


@pytest.mark.parametrize(
    ("value", "links"),
    [
        ('<http://h/>; rel="canonical"', [("http://h/", "canonical")]),
        ("</a,b;c>;rel=Next,<d> ; title=\"x, <y>; rel=z\" ; rel='no'", [("/a,b;c", "next"), ("d", "'no'")]),
        ('<a>; rel="prev  Up"', [("a", "prev"), ("a", "up")]),
        ("<a>; rel=one; rel=two, <b>, <>; rel=self", [("a", "one"), ("b", ""), ("", "self")]),
        ('<a>; rel=canonical; anchor="#other", < b >;rel=x', [("b", "x")]),
        ('<a>; rel="open', [("a", "open")]),
        ("", []),
        ("a; rel=next", []),
        ("<a; rel=next", []),
    ],
)
def test_link_header(value: str, links: list[tuple[str, str]]) -> None:
    """Links with their relations, one by one; what is no link is skipped."""
    assert parse_link_header(value) == links


@pytest.mark.parametrize("piece", ["<", "<>", ";", "; ", ",", '"', '\\"', '<a>;x="', "<a>;" + " " * 50, "a/b;", "12:"])
def test_long_values_take_linear_time(piece: str) -> None:
    """Values made to send a careless pattern into backtracking are read."""
    value = piece * (200_000 // len(piece))
    for text in (value, "<a>" + value, "text/html;x=" + value):
        assert parse_link_header(text) is not None
        assert parse_date(text) is None
        assert parse_retry_after(text, 0.0) is None


@settings(max_examples=300, deadline=None)
@given(raw=st.binary(max_size=200), text=st.text(max_size=60))
def test_nothing_raises(raw: bytes, text: str) -> None:
    """Whatever comes, there is an answer."""
    for data in (raw, b"HTTP/1.1 200 OK\r\n" + raw):
        assert all(name == name.lower() for name in parse_head(data).fields)
    assert (parse_retry_after(text, NOON) or 0.0) >= 0.0
    assert (parse_date(text) or 0.0) >= 0.0
    parse_link_header(text)
