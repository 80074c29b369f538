"""A gate in front of a server: passes connections on, refuses them, or holds what is said, as a cut network does."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from pathlib import Path


class Gate(socketserver.ThreadingTCPServer):
    """Listens on loopback; what is behind it is a port of this machine or a socket in a folder."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, target: int | Path) -> None:
        super().__init__(("127.0.0.1", 0), _Passage)
        self.port = int(self.server_address[1])
        self.refuses = False  # connections are ended at once
        self.holds = False  # nothing goes through, in either direction, and nobody is told
        self._target = target
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def connect(self) -> socket.socket:
        if isinstance(self._target, int):
            return socket.create_connection(("127.0.0.1", self._target))
        inner = socket.socket(socket.AF_UNIX)
        try:
            inner.connect(str(self._target))
        except OSError:  # the server is down
            inner.close()
            raise
        return inner


class _Passage(socketserver.BaseRequestHandler):
    server: Gate

    def handle(self) -> None:
        if self.server.refuses:
            return
        with contextlib.suppress(OSError), self.server.connect() as inner:
            back = threading.Thread(target=_pass_on, args=(self.server, inner, self.request), daemon=True)
            back.start()
            _pass_on(self.server, self.request, inner)
            back.join()


def _pass_on(gate: Gate, source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while (data := source.recv(65536)) and not gate.refuses:
            while gate.holds and not gate.refuses:
                time.sleep(0.05)
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
