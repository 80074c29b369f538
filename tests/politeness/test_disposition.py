"""What an answer means for its target."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lycosa.config.settings import FetchSettings
from lycosa.model import Answer, State, Target
from lycosa.politeness.disposition import disposition_of

FETCH = FetchSettings(retries=2, retry_delay_s=10.0)


def answer(status: int = 0, *, failure: str = "", retries: int = 0, size: int = 0, **headers: str) -> Answer:
    target = Target(1, 1, "http://a.test/", "a.test", retries=retries)
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(target, status, failure, headers=fields, size=size, began=1000.0)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (200, State.FETCHED), (204, State.FETCHED), (404, State.GONE), (410, State.GONE), (403, State.FAILED),
        (999, State.FAILED), (500, State.WAITING), (429, State.WAITING),
    ],
)  # fmt: skip
def test_a_status_decides_the_state(status: int, state: State) -> None:
    """Each class of status has one meaning."""
    assert disposition_of(answer(status), FETCH).state == state


def test_redirects_are_for_now_or_for_good() -> None:
    """301 and 308 are permanent, 302, 303 and 307 are not; without an address they are failures."""
    assert disposition_of(answer(301, location="/x"), FETCH).state == State.MOVED_FOR_GOOD
    assert disposition_of(answer(307, location="/x"), FETCH).state == State.MOVED
    assert disposition_of(answer(302), FETCH).reason == "redirect-without-location"


@pytest.mark.parametrize(("found", "reason"), [("bytes 0-9/200", "partial"), ("", "partial"), ("bytes 0-199/200", "")])
def test_a_part_is_not_taken_for_the_whole(found: str, reason: str) -> None:
    """206 without having been asked for a part: kept, and marked unless the part is everything."""
    outcome = disposition_of(answer(206, content_range=found), FETCH)
    assert (outcome.state, outcome.reason) == (State.FETCHED, reason)


def test_retries_are_finite_and_ever_later() -> None:
    """A passing failure is tried again after a growing pause, then given up with its reason."""
    dues = [disposition_of(answer(500, retries=n), FETCH).due - 1000.0 for n in range(2)]
    assert dues == [10.0, 20.0]
    last = disposition_of(answer(500, retries=2), FETCH)
    assert (last.state, last.reason) == (State.FAILED, "http-500")


def test_retry_after_is_honoured_up_to_the_cap() -> None:
    """The host's own wish counts when it is longer than ours, within bounds."""
    assert disposition_of(answer(503, retry_after="120"), FETCH).due == 1120.0
    assert disposition_of(answer(503, retry_after="999999"), FETCH).due == 1000.0 + FETCH.retry_after_max_s


def test_a_refusal_that_says_when_to_come_again_is_no_end() -> None:
    """Rate limits are told as 403, too; without a time it is a refusal."""
    outcome = disposition_of(answer(403, retry_after="60"), FETCH)
    assert (outcome.state, outcome.due) == (State.WAITING, 1060.0)


def test_part_of_a_page_is_kept_when_no_more_is_to_be_had() -> None:
    """A body cut at the limit is kept at once, one cut by the server after the last retry, if there is no other."""
    assert disposition_of(answer(200, failure="too-large", size=9), FETCH).state == State.FETCHED
    assert disposition_of(answer(200, failure="cut-short", size=9), FETCH).state == State.WAITING
    assert disposition_of(answer(200, failure="cut-short", size=9, retries=2), FETCH).state == State.FETCHED
    assert disposition_of(answer(0, failure="cut-short", retries=2), FETCH).state == State.FAILED
    again = answer(200, failure="cut-short", size=9, retries=2)
    again.target = replace(again.target, digest=b"of a whole copy")
    assert disposition_of(again, FETCH).state == State.FAILED


def test_what_cannot_change_is_not_tried_again() -> None:
    """A refused address or a bad URL fails for good."""
    assert disposition_of(answer(failure="address"), FETCH).state == State.FAILED
    assert disposition_of(answer(failure="bad-url"), FETCH).state == State.FAILED
