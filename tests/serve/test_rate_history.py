"""Speed over time, out of the log: exact where it is short, from a few places where it is long."""

from __future__ import annotations

import time
from pathlib import Path

from lycosa.serve.rate_history import last_lines, read_rates, spread_evenly

BEGAN = 1_800_000_000


def write_log(path: Path, rates: list[int], *, debug: bool = False) -> Path:
    """A log with so many answers in each second."""
    with open(path, "w") as file:
        for second, rate in enumerate(rates):
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGAN + second))
            for n in range(rate):
                file.write(f"{at} 200 1034 http://site.example/{second}/{n} 4 a text/html fetched\n")
                if debug:
                    file.write(f"{at} debug answer http://site.example/ peer 127.0.0.1\n")
    return path


def test_a_short_log_is_counted(tmp_path: Path) -> None:
    """Answers per second, with the seconds in which there were none; lines for debugging are no answers."""
    log = write_log(tmp_path / "log", [5, 5, 0, 0, 10, 10], debug=True)
    assert [point.rate for point in read_rates(log)] == [5, 5, 0, 0, 10, 10]
    assert [point.rate for point in read_rates(log, since=BEGAN + 4)] == [10, 10]


def test_a_long_log_is_read_in_places(tmp_path: Path) -> None:
    """The speeds are right to a few percent, whatever the length."""
    log = write_log(tmp_path / "log", [20] * 1000 + [60] * 1000)
    rates = read_rates(log, points=50)
    assert len(rates) == 50
    early = [point.rate for point in rates if point.at < BEGAN + 950]
    late = [point.rate for point in rates if point.at > BEGAN + 1100]
    assert abs(sum(early) / len(early) - 20) < 1.5
    assert abs(sum(late) / len(late) - 60) < 4
    begin = read_rates(log, since=BEGAN + 1500, points=10)
    assert BEGAN + 1490 < begin[0].at < BEGAN + 1600
    assert 55 < sum(point.rate for point in begin) / len(begin) < 65


def test_a_log_that_says_nothing_has_no_speed(tmp_path: Path) -> None:
    """Empty, missing, or something else altogether."""
    assert read_rates(tmp_path / "none") == []
    log = tmp_path / "log"
    for content in (b"", b"\0" * 5000, b"2026 nonsense\n" * 100, b"x" * 2_000_000):
        log.write_bytes(content)
        assert read_rates(log) == []


def test_time_without_answers_counts() -> None:
    """Means of equal spans, also behind the last answer."""
    assert [point.rate for point in spread_evenly([(0, 0), (10, 100)], until=20, points=4)] == [10, 10, 0, 0]


def test_a_second_that_is_not_whole_is_left_out(tmp_path: Path) -> None:
    """The curve of a crawl that runs does not dip at its end, whether its log is read whole or in places."""
    log = write_log(tmp_path / "log", [50] * 30 + [3])
    assert [point.rate for point in read_rates(log, until=BEGAN + 32)] == [50] * 30
    long = write_log(tmp_path / "long", [50] * 400 + [3])
    assert abs(read_rates(long, until=BEGAN + 402)[-1].rate - 50) < 5
    assert [point.rate for point in spread_evenly([(0, 0), (10.6, 106)], until=10.6, points=100)] == [10] * 10


def test_last_lines_move_no_cursor(tmp_path: Path) -> None:
    """What the network put into a line is made visible, and long lines are cut."""
    log = tmp_path / "log"
    log.write_bytes(b"first\n" * 50_000 + b"esc \x1b[31m red\n" + b"\xff\xfe\n" + b"y" * 900 + b"\nlast\n")
    lines = last_lines(log, 4)
    assert lines[0] == "esc \\x1b[31m red"
    assert len(lines[2]) == 501 and lines[3] == "last"
    assert last_lines(tmp_path / "none", 5) == []
