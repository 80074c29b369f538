"""Batch work on a Ray cluster: the same results as here, whatever happens to its nodes."""

from __future__ import annotations

import functools
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.batch_work import (
    analyse_documents,
    extract_words,
    make_documents,
    read_findings,
    read_records,
    when_done,
)
from support.command_line import run
from support.ray_cluster import RayCluster, has_ray, ray_cluster

from lycosa.errors import UsageError
from lycosa.extract.executor_choice import read_address

needs_ray = pytest.mark.skipif(not has_ray(), reason="Ray is not installed")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[RayCluster]:
    with ray_cluster() as cluster:
        for name, value in cluster.environ.items():
            monkeypatch.setenv(name, value)
        yield cluster


@needs_ray
def test_a_cluster_finds_the_same_as_this_machine_though_a_node_dies(tmp_path: Path, cluster: RayCluster) -> None:
    """Records, outcomes, strikes, findings of an analysis; a node that joins; what is done stays done."""
    here, there = tmp_path / "here", tmp_path / "there"
    quarry = make_documents(here, 300)
    shutil.copytree(here, there)
    on = f"ray://{cluster.address}"
    assert extract_words(here, quarry).outcomes == {"done": 297, "crash": 1, "error": 1, "timeout": 1}
    with when_done(there / "crawl.db", "SELECT count(*) FROM extracted", 30, cluster.kill_node):
        tally = extract_words(there, quarry, on=on)
    assert tally.outcomes == {"done": 297, "crash": 1, "error": 1, "timeout": 1}
    assert read_records(there) == read_records(here)
    assert extract_words(there, quarry, on=on).documents == 0
    cluster.add_node()
    analyse_documents(here)
    with when_done(there / "analysis.db", "SELECT count(*) FROM page", 30, cluster.kill_node):
        analyse_documents(there, on=on)
    assert read_findings(there) == read_findings(here)


@needs_ray
def test_the_commands_work_on_a_cluster(tmp_path: Path, cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """With names that are relative to the folder one is in, for a collection and for files."""
    monkeypatch.chdir(tmp_path)
    name = f"c/{Path(make_documents(tmp_path / 'c', 40, poisoned=False)).name}"
    on = ("--on", f"ray://{cluster.address}")
    done = run("extract", "-c", "c", "--quarry", name, *on)
    assert (done.code, done.output.partition(" in ")[0]) == (0, "200 records from 40 documents")
    (warc,) = (tmp_path / "c/archive").iterdir()
    assert run("extract", "--quarry", name, *on, str(warc), "-o", "words.jsonl").code == 0
    assert len(Path("words.jsonl").read_text().splitlines()) == 200
    done = run("analyse", "xml", "c", *on)
    assert (done.code, done.output.partition(" in ")[0]) == (0, "40 pages analysed")


@needs_ray
def test_work_that_was_ended_is_continued(tmp_path: Path, cluster: RayCluster) -> None:
    """Ctrl-C once finishes what was begun; a command that is killed leaves nothing behind that holds the nodes."""
    here, there = tmp_path / "here", tmp_path / "there"
    quarry = make_documents(here, 200, poisoned=False, each_s=0.05)
    shutil.copytree(here, there)
    words = ["extract", "-c", str(there), "--quarry", quarry, "--on", f"ray://{cluster.address}"]
    sql = "SELECT count(*) FROM extracted"
    for number, code, rows in ((signal.SIGINT, 130, 20), (signal.SIGKILL, -9, 60)):
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lycosa", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        with when_done(there / "crawl.db", sql, rows, functools.partial(process.send_signal, number)):
            said, _ = process.communicate(timeout=100)
        assert process.returncode == code, said
    assert len(read_records(there)) < 1200
    extract_words(here, quarry)
    assert run(*words).code == 0
    assert read_records(there) == read_records(here)


#: Hides a folder from the nodes whose socket ends so, as if it were not shared with their machine.
HIDING = """
import os, sys
if any(word.startswith("--raylet-name=") and word.endswith({end!r}) for word in sys.argv):
    open_anything = os.open
    def open_what_is_shared(path, *rest, **more):
        if str(path).startswith({folder!r}):
            raise FileNotFoundError(2, "No such file or directory", path)
        return open_anything(path, *rest, **more)
    os.open = open_what_is_shared
"""


@needs_ray
@pytest.mark.parametrize("end", ["raylet.1", ""])
def test_a_node_that_does_not_see_the_files_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """It is told which file, and what every node needs; where no node sees it, the work ends, to be continued."""
    quarry = make_documents(tmp_path / "c", 60, poisoned=False, each_s=0.1)  # so that both nodes get some
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(HIDING.format(end=end, folder=str(tmp_path / "c/archive")))
    with ray_cluster(PYTHONPATH=str(tmp_path / "site")) as cluster:
        for name, value in cluster.environ.items():
            monkeypatch.setenv(name, value)
        done = run("extract", "-c", str(tmp_path / "c"), "--quarry", quarry, "--on", f"ray://{cluster.address}")
    told = "is left out: it cannot read "
    assert told in done.output
    assert "(No such file or directory): every node needs the files at the same path" in done.output
    if end:
        assert (done.code, done.output.partition(" in ")[0]) == (0, "300 records from 60 documents")
    else:
        assert (done.code, len(done.output.splitlines())) == (1, 1)


@needs_ray
def test_a_cluster_that_is_not_there_is_told(tmp_path: Path) -> None:
    """One sentence: what was looked for, and what to do."""
    quarry = make_documents(tmp_path / "c", 2, poisoned=False)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    done = run("extract", "-c", str(tmp_path / "c"), "--quarry", quarry, "--on", f"ray://127.0.0.1:{port}")
    assert done.code == 2
    assert f"No Ray cluster answers at 127.0.0.1:{port} (Connection refused)" in done.output
    assert len(done.output.splitlines()) == 1


def test_ray_that_is_not_installed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs it."""
    quarry = make_documents(tmp_path / "c", 2, poisoned=False)
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide/ray.py").write_text("raise ModuleNotFoundError(\"No module named 'ray'\", name='ray')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hide"))
    done = run("extract", "-c", str(tmp_path / "c"), "--quarry", quarry, "--on", "ray")
    assert done.code == 2
    assert done.output == "lycosa: Ray is not installed here; this installs it: pip install 'lycosa[ray]'.\n"


@pytest.mark.parametrize(
    "word", ["spark", "ray:", "ray://", "ray://host", "ray://host:port", "ray://u:p@host:1", "Ray"]
)
def test_a_place_of_work_that_is_none_is_refused(word: str) -> None:
    """With the two forms that there are."""
    with pytest.raises(UsageError, match="write ray, or ray://HOST:PORT"):
        read_address(word)


def test_addresses_are_read() -> None:
    """As `ray start` says them."""
    assert read_address("ray") == ""
    assert read_address("ray://10.0.0.1:6379") == "10.0.0.1:6379"
    assert read_address("ray://[::1]:6379") == "[::1]:6379"


def test_ray_costs_nothing_where_it_is_not_used() -> None:
    """No command imports it."""
    modules = "lycosa.extract.run, lycosa.analysis.run, lycosa.extract.ray_executor, sys"
    code = f"import {modules}; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"
