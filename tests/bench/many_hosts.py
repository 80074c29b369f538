"""What a request costs in a crawl of many hosts: CPU of the client alone, with ever more host names met.

    python tests/bench/many_hosts.py --hosts 20000

Each host is asked once, on a connection of its own, by names below `localhost` that end at a small server here.
"""

from __future__ import annotations

import argparse
import multiprocessing
import socket
import time

from lycosa.config.loading import load
from lycosa.fetch.address_guard import AddressGuard
from lycosa.fetch.client import Client
from lycosa.model import Target

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
STEP = 2000


def serve(listener: socket.socket) -> None:
    while True:
        peer, _ = listener.accept()
        with peer:
            peer.recv(4096)
            peer.sendall(ANSWER)


def ask(client: Client, names: range, port: int) -> tuple[float, int]:
    """CPU microseconds a request, and how many were answered."""
    began, left, answered = time.process_time(), iter(names), 0
    while True:
        while client.room and (n := next(left, None)) is not None:
            host = f"h{n}.localhost"
            client.start(Target(1, 1, f"http://{host}:{port}/", host))
        if not client.in_flight:
            return (time.process_time() - began) / len(names) * 1e6, answered
        answered += sum(answer.status == 200 for answer in client.poll(0.1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=20_000)
    options = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        port = listener.getsockname()[1]
        server = multiprocessing.get_context("fork").Process(target=serve, args=(listener,), daemon=True)
        server.start()
        client = Client(
            load(text="").mission, AddressGuard(allow_private=["127.0.0.0/8", "::1/128"]), spool_folder="/tmp"
        )
        for first in range(0, options.hosts, STEP):
            cpu_us, answered = ask(client, range(first, first + STEP), port)
            print(f"{first + STEP:8,} hosts {cpu_us:8.1f} us of CPU a request, {answered:,} of {STEP:,} answered")
        client.close()
        server.terminate()


if __name__ == "__main__":
    main()
