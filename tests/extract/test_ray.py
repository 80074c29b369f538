"""Batch work on a Ray cluster: the same results as here, whatever happens to its nodes."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
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
from support.command_line import Said, run
from support.processes import descendants
from support.ray_cluster import RayCluster, has_ray, ray_cluster

from lycosa.errors import UsageError
from lycosa.extract import ray_driver
from lycosa.extract.executor import read_address

needs_ray = pytest.mark.skipif(not has_ray(), reason="Ray is not installed")
EXTRACTED = "SELECT count(*) FROM extracted"
LOST = (
    "lycosa: The Ray cluster is lost, or its driver on this machine; what was done is kept, and the same command"
    " continues.\n"
)


def command(folder: Path, quarry: str, nodes: RayCluster) -> list[str]:
    return ["extract", "-c", str(folder), "--quarry", quarry, "--on", f"ray://{nodes.address}"]


def start(words: list[str]) -> subprocess.Popen[str]:
    """A lycosa command in a process of its own."""
    whole = [sys.executable, "-P", "-m", "lycosa", *words]
    return subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def write_site(folder: Path, text: str) -> str:
    """A folder for PYTHONPATH, whose text every Python runs at its start."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(text)
    return str(folder)


@needs_ray
def test_a_cluster_finds_the_same_as_this_machine_though_a_node_dies(tmp_path: Path, ray_nodes: RayCluster) -> None:
    """Records, outcomes, strikes, findings of an analysis; a node that joins; what is done stays done."""
    here, there = tmp_path / "here", tmp_path / "there"
    quarry = make_documents(here, 300)
    shutil.copytree(here, there)
    on = f"ray://{ray_nodes.address}"
    assert extract_words(here, quarry).outcomes == {"done": 297, "crash": 1, "error": 1, "timeout": 1}
    with when_done(there / "crawl.db", EXTRACTED, 30, ray_nodes.kill_node):
        tally = extract_words(there, quarry, on=on)
    assert tally.outcomes == {"done": 297, "crash": 1, "error": 1, "timeout": 1}
    assert read_records(there) == read_records(here)
    assert extract_words(there, quarry, on=on).documents == 0
    ray_nodes.add_node()
    analyse_documents(here)
    with when_done(there / "analysis.db", "SELECT count(*) FROM page", 30, ray_nodes.kill_node):
        analyse_documents(there, on=on)
    assert read_findings(there) == read_findings(here)


@needs_ray
def test_the_commands_work_on_a_cluster(tmp_path: Path, ray_nodes: RayCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """With names that are relative to the folder one is in, for a collection and for files; by either form of --on."""
    monkeypatch.chdir(tmp_path)
    name = f"c/{Path(make_documents(tmp_path / 'c', 40, poisoned=False)).name}"
    on = ("--on", f"ray://{ray_nodes.address}")
    done = run("extract", "-c", "c", "--quarry", name, *on)
    assert (done.code, done.output.partition(" in ")[0]) == (0, "200 records from 40 documents")
    (warc,) = (tmp_path / "c/archive").iterdir()
    assert run("extract", "--quarry", name, "--on", "ray", str(warc), "-o", "words.jsonl").code == 0
    assert len(Path("words.jsonl").read_text().splitlines()) == 200
    done = run("analyse", "xml", "c", *on)
    assert (done.code, done.output.partition(" in ")[0]) == (0, "40 pages analysed")


def count_kept(folder: Path) -> int:
    """How many documents are done."""
    return sum(row[4] == "done" for row in read_records(folder))


def kill_driver(process: subprocess.Popen[str]) -> None:
    """Kill the process between a command and Ray."""
    for pid in descendants(process.pid):
        if ray_driver.__name__.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


def interrupt_twice(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert "Finishing what is under way" in process.stdout.readline()
    process.send_signal(signal.SIGINT)


@needs_ray
def test_work_that_was_ended_is_continued(tmp_path: Path, ray_nodes: RayCluster) -> None:
    """Ctrl-C once or twice, a kill of the command or of its driver: nothing stays that holds the nodes, nothing twice.

    Each run does what the runs before have not kept.
    """
    here, there = tmp_path / "here", tmp_path / "there"
    quarry = make_documents(here, 500, poisoned=False, each_s=0.05)
    shutil.copytree(here, there)
    words = command(there, quarry, ray_nodes)
    ends: list[tuple[Callable[[subprocess.Popen[str]], object], int, str]] = [
        (lambda process: process.send_signal(signal.SIGINT), 130, "`lycosa extract` continues from here"),
        (kill_driver, 1, LOST),
        (lambda process: process.kill(), -9, ""),
        (interrupt_twice, 130, ""),
    ]
    for end, code, text in ends:
        process = start(words)
        with when_done(there / "crawl.db", EXTRACTED, count_kept(there) + 20, functools.partial(end, process)):
            process.wait(100)
        assert process.stdout is not None
        said = process.stdout.read()
        process.stdout.close()
        assert process.returncode == code, said
        assert text in said
        assert "Traceback" not in said
    left = 500 - count_kept(there)
    assert 0 < left <= 420
    extract_words(here, quarry, workers=4)
    done = run(*words)
    assert (done.code, done.output.partition(" in ")[0]) == (0, f"{5 * left:,} records from {left} documents")
    assert read_records(there) == read_records(here)


#: Tells by which node each document was extracted; takes its time for them until the log has a text so often.
PATIENT = """
import os, time
from lycosa.model import Record
from lycosa.quarry import Quarry

class Patient(Quarry):
    def extract(self, doc):
        with open({log!r}) as log:
            if log.read().count({text!r}) < {times}:
                time.sleep(0.2)
        yield Record("node", {{"node": os.getppid()}})
"""


def extract_patiently(folder: Path, nodes: RayCluster, *, until: str, times: int) -> Said:
    """Extract by several nodes, however long it takes them to begin, or to fail."""
    quarry = folder.parent / "patient.py"
    quarry.write_text(PATIENT.format(log=str(folder / "logs/extract.log"), text=until, times=times))
    return run(*command(folder, str(quarry), nodes))


@needs_ray
def test_a_node_that_joins_in_the_middle_is_put_to_work(tmp_path: Path, ray_nodes: RayCluster) -> None:
    """It takes its part of what is left."""
    make_documents(tmp_path / "c", 400, poisoned=False)
    ray_nodes.kill_node()
    with when_done(tmp_path / "c/crawl.db", EXTRACTED, 5, ray_nodes.add_node):
        done = extract_patiently(tmp_path / "c", ray_nodes, until="is put to work", times=2)
    assert (done.code, done.output.partition(" in ")[0]) == (0, "400 records from 400 documents")
    assert len({row[5] for row in read_records(tmp_path / "c") if row[4] == "node"}) == 2


#: One document ends the actor of its node, as one that takes all memory of a machine might.
DEADLY = """
import os, signal
from lycosa.model import Record
from lycosa.quarry import Quarry

class Deadly(Quarry):
    def extract(self, doc):
        if "abortus" in doc.text:
            with open(f"/proc/{os.getppid()}/stat") as stat:
                os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
            signal.pause()
        yield Record("length", {"length": len(doc.text)})
"""


@needs_ray
def test_a_document_that_nodes_are_lost_at_is_set_aside(tmp_path: Path, ray_nodes: RayCluster) -> None:
    """After the third, at which it was alone; all others are done, and the nodes are put to work again."""
    make_documents(tmp_path / "c", 200)
    (tmp_path / "deadly.py").write_text(DEADLY)
    done = run(*command(tmp_path / "c", str(tmp_path / "deadly.py"), ray_nodes))
    assert (done.code, done.output.partition(" in ")[0]) == (0, "199 records from 200 documents")
    assert "3 nodes were lost at it" in done.output


#: Hides a folder, as if it were not shared with a machine.
HIDING = """
import os
open_anything = os.open
def open_what_is_shared(path, *rest, **more):
    if str(path).startswith({folder!r}):
        raise FileNotFoundError(2, "No such file or directory", path)
    return open_anything(path, *rest, **more)
os.open = open_what_is_shared
"""
OTHER_VERSION = "import lycosa.version\nlycosa.version.__version__ = '0.0.1'\n"
NO_LYCOSA = "import sys\nsys.modules['lycosa'] = None\n"


@needs_ray
@pytest.mark.parametrize(
    ("site", "told"),
    [
        (HIDING, "(No such file or directory): every node needs the files at the same path, as in a shared folder."),
        (OTHER_VERSION, "it has lycosa 0.0.1, and this is "),
        (NO_LYCOSA, "cannot be started there (ModuleNotFoundError: "),
    ],
    ids=["no folder", "other version", "no lycosa"],
)
def test_a_node_that_cannot_do_the_work_is_left_out(
    tmp_path: Path, ray_nodes: RayCluster, site: str, told: str
) -> None:
    """It is told which one and why, and what every node needs; the others do the work."""
    make_documents(tmp_path / "c", 400, poisoned=False)
    text = site.replace("{folder!r}", repr(str(tmp_path / "c/archive")))
    ray_nodes.add_node(PYTHONPATH=write_site(tmp_path / "site", text))
    done = extract_patiently(tmp_path / "c", ray_nodes, until="is left out", times=1)
    assert (done.code, done.output.partition(" in ")[0]) == (0, "400 records from 400 documents")
    assert "The Ray node 127.0.0.1 is left out: " in done.output
    assert told in done.output
    assert done.output.count("left out") == 1


@needs_ray
def test_a_cluster_is_lost_and_the_same_command_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence where no node sees the files, where the head is killed, and where none is left; then without Ray.

    The nodes that remain go on until Ray gives up the head: after a minute, where nobody asks for less.
    """
    here, there, hidden = tmp_path / "here", tmp_path / "there", tmp_path / "hidden"
    quarry = make_documents(here, 300, poisoned=False, each_s=0.1)
    for folder in (there, hidden):
        shutil.copytree(here, folder)
    site = write_site(tmp_path / "site", HIDING.replace("{folder!r}", repr(str(hidden / "archive"))))
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "3")
    with ray_cluster(PYTHONPATH=site) as nodes:
        for name, value in nodes.environ.items():
            monkeypatch.setenv(name, value)
        unseen = run(*command(hidden, quarry, nodes))
        words = command(there, quarry, nodes)
        with when_done(there / "crawl.db", EXTRACTED, 30, nodes.kill_head):
            lost = run(*words)
        gone = run(*words)
    assert (unseen.code, len(unseen.output.splitlines())) == (1, 1)
    assert f"cannot read {hidden}/archive/" in unseen.output
    assert lost == (1, LOST)
    assert (gone.code, len(gone.output.splitlines())) == (2, 1)
    assert f"No Ray cluster answers at {nodes.address} (Connection refused)" in gone.output
    assert run(*words[:-2]).code == 0
    extract_words(here, quarry, workers=4)
    assert read_records(there) == read_records(here)


@needs_ray
def test_a_cluster_of_other_versions_is_told(
    tmp_path: Path, ray_nodes: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of Ray, or of Python, which Ray tells in the same words."""
    is_driver = f"any(word == {ray_driver.__name__!r} for word in sys.orig_argv)"
    site = write_site(
        tmp_path / "site", f"import sys\nif {is_driver}:\n    import ray\n    ray.__version__ = '2.0.1'\n"
    )
    monkeypatch.setenv("PYTHONPATH", site)
    done = run(*command(tmp_path / "c", make_documents(tmp_path / "c", 2, poisoned=False), ray_nodes))
    version = ".".join(map(str, sys.version_info[:3]))
    assert (done.code, len(done.output.splitlines())) == (2, 1)
    assert (
        f"on Python {version}, and this is Ray 2.0.1 on Python {version}; every machine needs the same" in done.output
    )


@needs_ray
def test_a_cluster_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence: what was looked for, and what to do; also where something listens that says nothing."""
    words = ["extract", "-c", str(tmp_path / "c"), "--quarry", make_documents(tmp_path / "c", 2, poisoned=False)]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    for address, why in ((f"127.0.0.1:{port}", "(Connection refused)"), ("nowhere.invalid:1", "(")):
        done = run(*words, "--on", f"ray://{address}")
        assert (done.code, len(done.output.splitlines())) == (2, 1)
        assert f"No Ray cluster answers at {address} {why}" in done.output
    monkeypatch.setattr("lycosa.extract.ray_executor.JOIN_S", 5.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = run(*words, "--on", f"ray://127.0.0.1:{silent.getsockname()[1]}")
    assert done == (2, "lycosa: The Ray cluster cannot be joined: not done after 5 s.\n")


def test_ray_that_is_not_installed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs it."""
    quarry = make_documents(tmp_path / "c", 2, poisoned=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))  # an environment of another
    done = run("extract", "-c", str(tmp_path / "c"), "--quarry", quarry, "--on", "ray")
    assert done.code == 2
    assert done.output == "lycosa: --on ray needs the module ray: pip install 'lycosa[ray]'.\n"


@pytest.mark.parametrize(
    "word",
    [
        "spark", "Ray", "ray:", "ray:/x", "ray://", "ray://host", "ray://host:port", "ray://host:0", "ray://host:65536",
        "ray://u:p@host:1",
    ],
)  # fmt: skip
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
