"""Good hosts beside a bad one: a small web on loopback whose bad host misbehaves in one way at a time.

The good hosts' requests are remembered with their times, so that their pace beside the bad host can be held against
their pace without it.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading
import time

GOOD = 40  # hosts
BAD = "bad.test"
_LETTERS = str.maketrans("0123456789", "ghijklmnop")
#: A third of a second of a parser's time in one megabyte: formatting elements that nobody closes.
_HEAVY = b"<title>heavy</title>" + b"<b><i><a href=x>" * 60_000

#: The ways to misbehave, which begin behind the first page: it links to a hundred others.
KINDS = {
    "hang": "takes every request and never answers",
    "drip": "answers one byte a second",
    "endless": "sends bodies that never end, 20 MB a second",
    "heavy": "has pages that take a parser a thousand times as long as others",
    "refuse": "answers 503",
    "reset": "closes every connection without an answer",
}


class BadNeighbour:
    """Serves until `close`; `asked` holds the time of each request for a good page."""

    def __init__(self, kind: str = "", *, pages: int) -> None:
        self.kind = kind
        self.pages = pages  # of each good host
        self.asked: list[float] = []
        self.bad_asked = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def connect_to(self) -> str:
        return f"*=127.0.0.1:{self.port}"

    @property
    def seeds(self) -> list[str]:
        hosts = [f"good{n}.test" for n in range(GOOD)] + [BAD] * bool(self.kind)
        return [f"http://{host}/0" for host in hosts]

    @property
    def is_done(self) -> bool:
        """Whether every good page was asked for."""
        return len(self.asked) >= GOOD * self.pages

    @property
    def seconds(self) -> float:
        """From the first request for a good page to the last."""
        return self.asked[-1] - self.asked[0]

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._listener.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, sock=self._listener))
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                if path == "/robots.txt":
                    writer.write(_reply(b"", "404 Not Found"))
                elif f"\r\nHost: {BAD}" in head:
                    self.bad_asked += 1
                    await self._misbehave(writer, path)
                else:
                    self.asked.append(time.monotonic())
                    host = head.partition("\r\nHost: ")[2].partition("\r\n")[0]
                    writer.write(_reply(self._page(host, int(path[1:]))))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def _page(self, host: str, number: int) -> bytes:
        """One of a good host's pages, which says what no other does; it links to the next ones."""
        links = "".join(f'<a href="/{n}">page {n}</a> ' for n in range(number + 1, min(number + 4, self.pages)))
        noise = hashlib.shake_128(f"{host} {number}".encode()).hexdigest(4000).translate(_LETTERS)
        text = " ".join(noise[at : at + 7] for at in range(0, len(noise), 7))
        return f"<!DOCTYPE html><title>{number}</title>{links}<p>{text}</p>".encode()

    async def _misbehave(self, writer: asyncio.StreamWriter, path: str) -> None:
        if path == "/0":
            writer.write(_reply(b"".join(b'<a href="/bad%d">x</a>' % n for n in range(100))))
        elif self.kind == "reset":
            raise ConnectionError
        elif self.kind == "hang":
            await asyncio.sleep(600)
        elif self.kind == "heavy":
            writer.write(_reply(_HEAVY))
        elif self.kind == "refuse":
            writer.write(_reply(b"", "503 Service Unavailable"))
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            while True:
                writer.write(b"x" * (1 << 20) if self.kind == "endless" else b"x")
                await writer.drain()
                await asyncio.sleep(0.05 if self.kind == "endless" else 1.0)


def _reply(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
