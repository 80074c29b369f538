"""Politeness: lanes never start a request too early or one too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lycosa.crawl.lanes import BACK_OFF_MAX_S, Lane, Lanes
from lycosa.model import HostRow


def make_lane(host: str = "a.test", *, delay_s: float = 1.0, per_host: int = 1) -> Lane:
    return Lane(HostRow(host), delay_s=delay_s, per_host=per_host)


def test_a_lane_rests_for_its_delay_after_the_end_of_a_request() -> None:
    """With one request at a time the delay counts from the end of the last one."""
    lanes, lane = Lanes(), make_lane(delay_s=2.0)
    lanes.enlist(lane)
    assert lanes.ready(100.0) is lane
    lane.begin(100.0)
    lane.end(105.0)
    lanes.enlist(lane)
    assert lanes.ready(106.9) is None
    assert lanes.wait_s(106.0) == 1.0
    assert lanes.ready(107.0) is lane


def test_a_lane_at_its_limit_is_not_listed() -> None:
    """A host with as many requests under way as allowed does not stand in the heap."""
    lanes, lane = Lanes(), make_lane(delay_s=0.0, per_host=2)
    for _ in range(2):
        lanes.enlist(lane)
        assert lanes.ready(0.0) is lane
        lane.begin(0.0)
    lanes.enlist(lane)
    assert lanes.ready(10.0) is None
    lane.end(10.0)
    lanes.enlist(lane)
    assert lanes.ready(10.0) is lane


def test_a_lane_that_was_listed_before_its_request_began_waits() -> None:
    """A lane may be listed again while its next request is being chosen; it still starts one at a time."""
    lanes, lane = Lanes(), make_lane(delay_s=0.0)
    lanes.enlist(lane)
    assert lanes.ready(0.0) is lane
    lanes.enlist(lane)
    lane.begin(0.0)
    assert lanes.ready(1.0) is None
    lane.end(1.0)
    lanes.enlist(lane)
    assert lanes.ready(1.0) is lane


def test_lanes_take_turns() -> None:
    """Equal times are served first come, first served, so no host starves."""
    lanes = Lanes()
    all_lanes = [make_lane(f"{n}.test", delay_s=0.0) for n in range(5)]
    for lane in all_lanes:
        lanes.enlist(lane)
    assert [lanes.ready(1.0) for _ in range(5)] == all_lanes


def test_an_overloaded_host_is_asked_ever_less_and_recovers() -> None:
    """Back-off doubles up to a cap, honours Retry-After, and shrinks when the host answers again."""
    lane = make_lane(delay_s=1.0)
    lane.slow_down(0.0, wait_s=None)
    first = lane.back_off_s
    lane.slow_down(0.0, wait_s=42.0)
    assert lane.back_off_s == 2 * first
    assert lane.next_at == 42.0
    for _ in range(20):
        lane.slow_down(0.0, wait_s=None)
    assert lane.back_off_s == BACK_OFF_MAX_S
    for _ in range(100):
        lane.ease()
    assert lane.back_off_s == 0.0


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), max_size=30), st.floats(0.01, 3))
def test_no_gap_is_ever_under_the_delay(steps: list[tuple[float, float]], delay_s: float) -> None:
    """Whatever the timing of requests and answers, the rest between two requests is at least the delay."""
    lanes, lane = Lanes(), make_lane(delay_s=delay_s)
    now, ended = 0.0, None
    lanes.enlist(lane)
    for wait, length in steps:
        now += wait
        if lanes.ready(now) is lane:
            assert ended is None or now - ended >= delay_s - 1e-9
            lane.begin(now)
            now += length
            lane.end(now)
            ended = now
            lanes.enlist(lane)
