"""The line between a worker and the browsers' broker: whole messages, in order, without ever waiting."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from lycosa.render.messages import (
    HEAD,
    Ask,
    Begin,
    Hello,
    RenderJob,
    RenderResult,
    Resource,
    WorkerConnection,
    listen,
    pack,
    unpack_for_broker,
)


def test_messages_survive_the_way(tmp_path: Path) -> None:
    """In both directions, also in pieces of one byte."""
    with listen(str(tmp_path / "broker")) as listener:
        line = WorkerConnection(str(tmp_path / "broker"))
        peer, _ = listener.accept()
        for message in (Hello(1, [3, 4]), RenderJob(7, "http://a.test/ü"), Resource(9, 200, {"a": "b"}, b"\0body")):
            line.send(message)
            size = int.from_bytes(peer.recv(HEAD, socket.MSG_WAITALL), "big")
            assert unpack_for_broker(peer.recv(size, socket.MSG_WAITALL)) == message
        said = [
            Begin(7),
            Ask(1, "http://a.test/x", True, ("Accept: */*",), 10),
            RenderResult(7, b"<p>", ["http://a.test/y"]),
        ]
        heard = []
        for byte in b"".join(map(pack, said)):
            peer.send(bytes((byte,)))
            heard += list(line.receive())
        assert heard == said
        peer.close()
        with pytest.raises(OSError):
            list(line.receive())
        line.close()


def test_a_broker_that_does_not_listen_does_not_stop_a_worker(tmp_path: Path) -> None:
    """What cannot be sent waits, and goes out when there is room."""
    body = b"x" * (4 << 20)
    with listen(str(tmp_path / "broker")) as listener:
        line = WorkerConnection(str(tmp_path / "broker"))
        peer, _ = listener.accept()
        line.send(Resource(1, 200, {}, body))
        assert line.waiting
        got = bytearray()
        reading = threading.Thread(target=lambda: got.extend(peer.recv(len(body) + 1000, socket.MSG_WAITALL)))
        reading.start()
        while line.waiting:
            line.flush()
        line.close()
        reading.join()
        peer.close()
        assert unpack_for_broker(bytes(got[HEAD:])) == Resource(1, 200, {}, body)


def test_nobody_at_the_other_end(tmp_path: Path) -> None:
    """A broker that is not there yet is an error to try again after."""
    with pytest.raises(OSError):
        WorkerConnection(str(tmp_path / "broker"))
