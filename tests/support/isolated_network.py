"""A network of its own for one test: every address there is leads to this process, names mean what a table says.

Run as `unshare -rmn python isolated_network.py` (`on_islet` does) with a JSON task on standard input; prints what came
of it. Here a request that escapes the crawler's gate is seen: whatever address it goes to, it arrives at the server
below.
"""

from __future__ import annotations

import json
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PUBLIC, PUBLIC_6, INTERNAL = "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "127.0.0.2"
UNABLE = 77  # exit code where the system gives nobody a network of their own
_A, _AAAA = 1, 28


def on_isolated_network(task: dict[str, Any], *, timeout_s: float = 60) -> Any:
    """Do a task on an islet; None where this system does not let us have one."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return None
    command = ["unshare", "-rmn", sys.executable, "-B", __file__]
    done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, timeout=timeout_s)
    if done.returncode == UNABLE or (done.returncode and "unshare" in done.stderr):
        return None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _settle_down(folder: Path) -> None:
    commands = [
        "ip link set lo up",
        "ip route add local 0.0.0.0/0 dev lo",
        "ip -6 route add local ::/0 dev lo",
    ]
    for name, text in (
        ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
        ("hosts", "127.0.0.1 localhost\n::1 ip6-localhost\n"),
        ("nsswitch.conf", "hosts: files dns\n"),
    ):
        (folder / name).write_text(text)
        commands.append(f"mount --bind {folder / name} /etc/{name}")
    for command in commands:
        if subprocess.run(command.split(), capture_output=True).returncode:
            sys.exit(UNABLE)


class Names(threading.Thread):
    """A name server: each question for a name gets the next of its answers, the last one for ever."""

    def __init__(self, table: dict[str, list[list[str]]]) -> None:
        super().__init__(daemon=True)
        self._table = {(name, kind): _of_kind(answers, kind) for name, answers in table.items() for kind in (_A, _AAAA)}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))
        self.asked: list[str] = []

    def run(self) -> None:
        while True:
            question, sender = self._socket.recvfrom(4096)
            labels, at = [], 12
            while question[at]:
                labels.append(question[at + 1 : at + 1 + question[at]].decode("latin-1"))
                at += 1 + question[at]
            kind = struct.unpack(">H", question[at + 1 : at + 3])[0]
            name = ".".join(labels).lower()
            self.asked.append(name)
            turns = self._table.get((name, kind))
            found = (turns.pop(0) if len(turns) > 1 else turns[0]) if turns else []
            code = 0 if turns is not None else 3
            head = question[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0)
            rows = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(data)) + data for data in found)
            self._socket.sendto(head + question[12 : at + 5] + rows, sender)


def _of_kind(answers: list[list[str]], kind: int) -> list[list[bytes]]:
    family = socket.AF_INET if kind == _A else socket.AF_INET6
    colon = kind == _AAAA
    return [[socket.inet_pton(family, a) for a in answer if (":" in a) is colon] for answer in answers]


class Land:
    """Answers on every address of the islet; remembers which address and port each connection was made to."""

    def __init__(self, pages: dict[str, tuple[int, dict[str, str], str]]) -> None:
        self.pages = pages
        self.hits: list[str] = []
        for family, wildcard in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            for port in (22, 80, 443):
                self._listen(family, wildcard, port)
        self._listen(socket.AF_INET, INTERNAL, 81)

    def _listen(self, family: int, address: str, port: int) -> None:
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address, port))
        listener.listen(64)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            peer, _ = listener.accept()
            where = peer.getsockname()
            self.hits.append(f"{where[0]} {where[1]}")
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with suppress(OSError), peer:
            request = peer.recv(65536).decode("latin-1")
            host = request.partition("\r\nHost: ")[2].partition("\r\n")[0].partition(":")[0]
            path = request.partition(" ")[2].partition(" ")[0]
            status, headers, body = self.pages.get(host + path, (404 if path == "/robots.txt" else 200, {}, "here"))
            data = body.encode()
            fields = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(data)), **headers}
            lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            peer.sendall(f"HTTP/1.1 {status} x\r\nConnection: close\r\n{lines}\r\n".encode() + data)


def ask(task: dict[str, Any], land: Land) -> list[dict[str, Any]]:
    """Each address of the task to a client and a gate of its own or, within one `round`, of all: what it made of it."""
    from lycosa import urls
    from lycosa.config.settings import FetchSettings, Mission
    from lycosa.fetch.address_guard import AddressGuard
    from lycosa.fetch.client import Client
    from lycosa.judge.admission.rules import Rules
    from lycosa.model import Target

    mission = Mission(scope="free", fetch=FetchSettings(connect_timeout_s=5, idle_timeout_s=5))
    gate, rules = AddressGuard(seed_hosts=task.get("seeds", ())), Rules(mission, [])
    rows = []
    for written in task["ask"]:
        before = len(land.hits)
        url = urls.normalise(written, "https://elsewhere.test/")
        row: dict[str, Any] = {"written": written, "url": url, "failure": "no-address", "status": 0}
        verdict = url and rules.judge(url, depth=1, host=urls.host_of(url))
        if verdict and not verdict.ok:
            row["failure"] = verdict.reason
        elif url:
            client = Client(mission, gate, spool_folder=tempfile.gettempdir())  # without a memory of names
            answers = [client.start(Target(1, 1, url, urls.host_of(url)))]
            while client.in_flight:
                answers = list(client.poll(0.1)) or answers
            client.close()
            assert answers[0] is not None
            row |= {"failure": answers[0].failure, "status": answers[0].status, "detail": answers[0].detail}
        time.sleep(0.002)  # a connection that was made is counted by now
        row["hits"] = land.hits[before:]
        rows.append(row)
    return rows


def crawl(seed: str, land: Land, folder: Path, *, sets: list[str]) -> dict[str, Any]:
    """A crawl from one seed to its end: what became of each address, and which addresses were connected to."""
    import sqlite3

    before = len(land.hits)
    options = ["--scope", "free", "--delay", "0", "--workers", "1", *(f"--set={text}" for text in sets)]
    command = [sys.executable, "-m", "lycosa", "crawl", "--collection", str(folder / "c"), *options, seed]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    with sqlite3.connect(folder / "c" / "crawl.db") as database:
        rows = database.execute("SELECT url, state, reason FROM urls").fetchall()
    return {"code": done.returncode, "said": done.stdout + done.stderr, "urls": rows, "hits": land.hits[before:]}


def main() -> None:
    task = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as name:
        _settle_down(Path(name))
        Names(task["names"]).start()
        land = Land({address: tuple(page) for address, page in task.get("pages", {}).items()})
        result = {"asked": ask(task, land)}
        if "crawl" in task:
            result["crawl"] = crawl(task["crawl"], land, Path(name), sets=task.get("sets", ["fetch.retries=0"]))
        print(json.dumps(result))


if __name__ == "__main__":
    main()
