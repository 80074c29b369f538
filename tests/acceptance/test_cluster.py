"""Three machines on one crawl, with one PostgreSQL server and one S3 endpoint, whole and hurt."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.pooler import find_pooler, running_pooler
from support.postgres_server import find_programs

pytest.importorskip("psycopg")
pytest.importorskip("obstore")
pytest.importorskip("moto")

from support.cluster import FAULTS, IN_FLIGHT, Cluster, ClusterCrawl, running_cluster  # noqa: E402  needs what is asked for above

MOMENTS = int(os.environ.get("CLUSTER_MOMENTS", "3"))  # of each fault


@pytest.fixture(scope="module")
def cluster(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if find_programs() is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    with running_cluster(shared / "world", tmp_path_factory.mktemp("cluster")) as started:
        yield started


def test_three_machines_find_what_one_finds(cluster: Cluster, say: Callable[[str], None]) -> None:
    """The same pages, no host asked twice at once or too soon, all archive files in the store, and the copy whole."""
    cluster.begin()
    crawl = ClusterCrawl("nothing", 0.0)
    machines = [cluster.start(name) for name in "abc"]
    codes = [machine.wait(240) for machine in machines]
    cluster.check(crawl, machines)
    say(str(crawl))
    assert codes == [0, 0, 0] and crawl.problems == [] and crawl.repeated <= 0


def test_a_limit_is_exact_over_three_machines(cluster: Cluster) -> None:
    """A thousand pages of a web with twice as many are fetched, copies among them: not one more or less."""
    cluster.begin()
    machines = [cluster.start(name, "--limit", "1000", "--scope", "free", "--delay", "0.02") for name in "abc"]
    codes = [machine.wait(240) for machine in machines]
    assert codes == [5, 5, 5], [machine.said.read_text()[-500:] for machine in machines]
    assert cluster.rows("SELECT sum(count)::int FROM figure WHERE name IN ('stored', 'copies')") == [(1000,)]
    assert cluster.rows("SELECT count(*) FROM url WHERE state IN (1, 3) AND via <> 'sitemap'") == [(1000,)]
    assert cluster.web.offences(cluster.web.stats(), delay_s=0.02 * 0.9) == []


def test_machines_behind_a_pooler(cluster: Cluster, say: Callable[[str], None]) -> None:
    """With PgBouncer in transaction mode, of fewer sessions than workers, and a server killed: as without it."""
    if find_pooler() is None:
        pytest.skip("there is no PgBouncer on this machine")
    with running_pooler(cluster.server, sessions=4) as cluster.address:
        cluster.begin()
        crawl = ClusterCrawl("nothing, behind a pooler", 0.0)
        machines = [cluster.start(name, "--set", "limits.pages=100000") for name in "abc"]
        cluster.await_workers(3)
        cluster.server.stop("immediate")
        cluster.server.start()
        codes = [machine.wait(240) for machine in machines]
        cluster.check(crawl, machines)
        say(str(crawl))
        assert codes == [0, 0, 0] and crawl.problems == [] and crawl.repeated <= IN_FLIGHT
        for words in (["status"], ["query", "SELECT count(*) FROM urls", "--timeout", "60"]):
            assert cluster.run_lycosa(*words, "-c", f"{cluster.address}#{cluster.name}").returncode == 0
        back = f"{cluster.address}#{cluster.name}_back"
        assert cluster.run_lycosa("copy", str(machines[0].folder / cluster.name), back).returncode == 0
    cluster.address = cluster.server.address


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(cluster: Cluster, fault: str, say: Callable[[str], None]) -> None:
    """A machine killed, frozen or cut off, a server killed, a store that refuses: the same pages, little done twice."""
    dice = random.Random(fault)
    moments = max(1, MOMENTS - 2) if fault == "freeze" else MOMENTS  # a machine that is cut off is much the same
    crawls = [cluster.hurt(fault, dice, refusal_s=0.0 if moment else 60.0) for moment in range(moments)]
    say("\n".join(map(str, crawls)))
    assert [problem for crawl in crawls for problem in crawl.problems] == []
