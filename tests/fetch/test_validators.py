"""Which dates and tags are sent back to a server: only those that cannot hide a change."""

from __future__ import annotations

import pytest

from lycosa.fetch.headers import DISTRUSTED, condition_headers, make_validators, quiet_time
from lycosa.model import Target

NOW = 1_709_553_600.0  # Mon, 04 Mar 2024 12:00:00 GMT
DATE = "Mon, 04 Mar 2024 12:00:00 GMT"
HOUR_AGO = "Mon, 04 Mar 2024 11:00:00 GMT"


def date_for(modified: str, *, date: str = DATE, now: float = NOW) -> str:
    headers = {"last-modified": modified} | ({"date": date} if date else {})
    return make_validators(headers, now)[1]


def test_a_sound_date_is_sent_back_as_it_came() -> None:
    """Servers compare it as text, so it is not written anew."""
    assert date_for(HOUR_AGO) == HOUR_AGO
    assert date_for("Monday, 04-Mar-24 11:00:00 GMT") == "Monday, 04-Mar-24 11:00:00 GMT"
    assert date_for(HOUR_AGO, date="") == HOUR_AGO


@pytest.mark.parametrize(
    "modified",
    [
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Tue, 01 Jan 1980 00:00:00 GMT",
        "Fri, 01 Jan 2100 00:00:00 GMT",
        "Mon, 04 Mar 2024 12:00:01 GMT",
        "yesterday",
        "0",
        "\x00\x01",
        "",
    ],
)
def test_a_doubtful_date_is_not(modified: str) -> None:
    """The future, clocks at zero, and what is no date."""
    assert date_for(modified) in ("", "Mon, 04 Mar 2024 11:59:00 GMT" if not modified else "")


def test_clocks_that_differ() -> None:
    """A date must lie in the past by the server's clock and by ours; an older server is no harm."""
    years_ago = "Sat, 04 Mar 2017 11:00:00 GMT"
    assert date_for(years_ago, date="Sat, 04 Mar 2017 12:00:00 GMT") == years_ago
    ahead = "Mon, 04 Mar 2024 12:30:00 GMT"
    assert date_for(ahead, date="Mon, 04 Mar 2024 13:00:00 GMT") == ""
    assert date_for(HOUR_AGO, date="Thu, 01 Jan 1970 00:00:00 GMT") == ""
    assert date_for(HOUR_AGO, date="Fri, 01 Jan 2100 00:00:00 GMT") == HOUR_AGO


def test_a_server_without_validators_is_asked_with_its_own_date() -> None:
    """A little earlier than it says, never later than by our clock; without a date it is asked for the whole page."""
    assert make_validators({"date": DATE}, NOW) == ("", "Mon, 04 Mar 2024 11:59:00 GMT")
    assert make_validators({"date": "Fri, 01 Jan 2100 00:00:00 GMT"}, NOW) == ("", "Mon, 04 Mar 2024 11:59:00 GMT")
    for date in ("", "Thu, 01 Jan 1970 00:00:00 GMT", "never"):
        assert make_validators({"date": date}, NOW) == ("", "")
    assert make_validators({}, NOW) == ("", "")
    assert make_validators({"date": DATE, "etag": '"x"'}, NOW) == ('"x"', "")
    assert make_validators({"etag": "x" * 10_000}, NOW) == ("", "")


def test_a_date_under_which_the_content_changed_is_never_sent_again() -> None:
    """It is kept to be recognised; another date is believed."""
    headers = {"last-modified": HOUR_AGO, "date": DATE}
    marked = make_validators(headers, NOW, distrusted=HOUR_AGO)[1]
    assert marked == DISTRUSTED + HOUR_AGO
    assert make_validators(headers, NOW, distrusted=marked)[1] == marked
    assert condition_headers(Target(1, 1, "http://a.test/", "a.test", modified=marked)) == ()
    newer = {"last-modified": "Mon, 04 Mar 2024 11:30:00 GMT", "date": DATE}
    assert make_validators(newer, NOW, distrusted=marked)[1] == "Mon, 04 Mar 2024 11:30:00 GMT"


def test_conditions_of_a_request() -> None:
    """Both validators where there are both; nothing that would break the header; no date where all is wanted."""
    target = Target(1, 1, "http://a.test/", "a.test", etag='W/"1"', modified=HOUR_AGO)
    assert condition_headers(target) == ('If-None-Match: W/"1"', f"If-Modified-Since: {HOUR_AGO}")
    assert condition_headers(Target(1, 1, "http://a.test/", "a.test", etag='"\r\nX: y"', modified="a\nb")) == ()
    assert condition_headers(Target(1, 1, "http://a.test/", "a.test", modified=HOUR_AGO, unconditional=True)) == ()


def test_how_long_a_page_was_quiet() -> None:
    """By the server's clock, or else by ours; never negative."""
    assert quiet_time(HOUR_AGO, DATE, 0.0) == 3600
    assert quiet_time(HOUR_AGO, "", NOW + 60) == 3660
    assert quiet_time("rubbish", DATE, NOW) == 0
    assert quiet_time(DATE, HOUR_AGO, NOW) == 0
