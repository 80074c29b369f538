"""Workers that die: each is replaced, and a page that two of them died of is set aside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.crawl_runs import states
from support.loopback import Web, html

#: A mission's own code may do anything a native parser could: it runs where they run.
POISON = """
import hashlib, os, sys
from lycosa.quarry import Quarry
from lycosa.crawler.run import CrawlOptions, run
from lycosa.config.settings import FetchSettings, KeepSettings, LimitSettings, Mission

class Poison(Quarry):
    def links(self, doc):
        name = doc.url.rpartition("/")[2]
        if name == "busy":
            hashlib.pbkdf2_hmac("sha1", b"native code", b"looks at no signal", 2**31 - 1)
        if name == "greedy":
            held = [b"x" * (8 << 20) for _ in range(1000)]
        if name == "crash":
            os.abort()
        return ()

seed, connect_to, folder = sys.argv[1:]
limits = LimitSettings(page_cpu_s=0.3, memory_bytes=400 << 20)
fetch = FetchSettings(delay_s=0, connect_to=(connect_to,), per_host=4)
mission = Mission(seeds=(seed,), workers=2, limits=limits, fetch=fetch, keep=KeepSettings(collection=folder))
report = run(mission, CrawlOptions(quiet=True, quarry=Poison()))
print(report.as_json())
"""


def test_a_page_that_kills_two_workers_is_set_aside(web: Web, tmp_path: Path) -> None:
    """Endless native code, a flood of memory, a crash: each costs its workers, never the crawl or another page."""
    poisons = ["/busy", "/greedy", *(f"/{n}/crash" for n in range(12))]
    web["a.test/"] = html(*poisons, *(f"/{n}" for n in range(40)))
    for name in [*poisons, *(f"/{n}" for n in range(40))]:
        web[f"a.test{name}"] = html(title=name)
    command = [sys.executable, "-c", POISON, "http://a.test/", web.connect_to, str(tmp_path / "c")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["replaced"] == 2 * len(poisons)
    found = states(tmp_path / "c")
    assert {found.pop(f"http://a.test{name}") for name in poisons} == {"failed killed-worker"}
    assert set(found.values()) == {"fetched"}
    assert len(found) == 41
    assert not (tmp_path / "c/logs/errors.log").exists()
