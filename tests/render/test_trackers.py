"""What a page in a browser is not given, and what its requests carry."""

from __future__ import annotations

from lycosa.render.page_session import clean_headers, forward_headers, is_tracker


def test_trackers_are_known_by_their_domain() -> None:
    """With every host below it, unless the page itself is there."""
    assert is_tracker("www.google-analytics.com", "a.test")
    assert is_tracker("google-analytics.com.", "a.test")
    assert not is_tracker("notgoogle-analytics.com", "a.test")
    assert not is_tracker("cdn.test", "a.test")
    assert not is_tracker("cdn.criteo.com", "www.criteo.com")


def test_answers_lose_what_is_about_their_way_here() -> None:
    """Codings that were undone, cookies, downloads and preloads are not told to the browser."""
    headers = {
        "content-type": "text/html", "content-encoding": "gzip", "set-cookie": "a=b", "link": "</x>; rel=preload",
        "content-disposition": "attachment", "x-total-count": "7", "broken": "a\nb",
    }  # fmt: skip
    assert clean_headers(headers) == {"content-type": "text/html", "x-total-count": "7"}


def test_requests_say_what_they_want_and_who_asks() -> None:
    """Fields that scripts set go to their own host only; what browsers say of themselves goes nowhere."""
    headers = {"accept": "application/json", "x-api": "1", "user-agent": "Chrome", "sec-ch-ua": "x", "cookie": "a=b"}
    assert forward_headers(headers, "http://a.test/data") == ("Accept: application/json", "x-api: 1")
    across = headers | {"origin": "http://a.test"}
    assert forward_headers(across, "http://b.test/data") == ("Accept: application/json", "Origin: http://a.test")
    assert forward_headers({}, "http://a.test/") == ("Accept: */*",)
    assert forward_headers({"x-bad": "a\r\nHost: b", "x-long": "x" * 9000}, "http://a.test/") == ("Accept: */*",)
