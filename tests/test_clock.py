"""The system's clock is set while a crawl runs, or was wrong when the last one did: nothing waits for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.crawl_runs import chain, command, rows, stored
from support.loopback import Web

from lycosa.model import HostRow
from lycosa.politeness.host_queue import HostQueue

#: The program, in a system whose clock is set by so many seconds while the crawl is under way.
JUMP = """
import sys, time
real, begun, shift = time.time, time.monotonic(), float(sys.argv.pop(1))
time.time = lambda: real() + (shift if time.monotonic() - begun > 1.0 else 0)
from lycosa.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("shift", [-86400, 86400])
def test_a_clock_that_is_set_stops_no_crawl(web: Web, tmp_path: Path, shift: int) -> None:
    """A day back or a day ahead: the pauses between requests stay what they are."""
    chain(web, "a.test", 12)
    words = [*command(web, tmp_path / "c", "http://a.test/", "--delay", "0.15", "--per-host", "1")[3:]]
    done = subprocess.run([sys.executable, "-c", JUMP, str(shift), *words], capture_output=True, text=True, timeout=40)
    assert done.returncode == 0, done.stderr
    assert len(stored(tmp_path / "c")) == 12
    assert rows(tmp_path / "c", "SELECT max(fetched_at) - min(fetched_at) < 60 FROM url") == [(1,)]
    gaps = [after.began - before.ended for before, after in zip(web.asked, web.asked[1:], strict=False)]
    assert min(gaps) > 0.1


def test_a_pause_that_a_wrong_clock_wrote_down_is_bounded() -> None:
    """What an earlier run left may lie in the far future; a host's own long delay is kept."""
    host_queue = HostQueue(HostRow("a.test", next_at=9e9), delay_s=1.0, per_host=1)
    host_queue.recover(1000.0, longest_s=600.0)
    assert host_queue.next_at == 1600.0
    slow = HostQueue(HostRow("a.test", next_at=9e9), delay_s=7200.0, per_host=1)
    slow.recover(1000.0, longest_s=600.0)
    assert slow.next_at == 8200.0
