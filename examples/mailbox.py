"""A mail server for trying: it takes every mail, delivers none, and prints what it gets.

    python3 examples/mailbox.py 8025                 listens on 127.0.0.1:8025 until Ctrl-C

Needs nothing but Python.
"""

from __future__ import annotations

import socketserver
import sys
from email import message_from_bytes, policy

_ANSWERS = {b"EHLO": "250 mailbox", b"HELO": "250 mailbox", b"DATA": "354 go on", b"QUIT": "221 bye"}


class Session(socketserver.StreamRequestHandler):
    """One client, by as much of SMTP (RFC 5321) as sending needs."""

    def handle(self) -> None:
        self._answer("220 mailbox")
        for line in self.rfile:
            word = line[:4].upper()
            self._answer(_ANSWERS.get(word, "250 OK"))
            if word == b"DATA":
                self._print_mail()
                self._answer("250 OK")
            elif word == b"QUIT":
                return

    def _print_mail(self) -> None:
        lines = []
        for line in self.rfile:
            if line.rstrip(b"\r\n") == b".":
                break
            lines.append(line.removeprefix(b".").rstrip(b"\r\n"))
        mail = message_from_bytes(b"\n".join(lines), policy=policy.default)
        body = mail.get_body(("plain", "html"))
        print(f"From: {mail['From']}\nTo: {mail['To']}\nSubject: {str(mail['Subject']).strip()}\n", flush=True)
        print(body.get_content() if body is not None else "", flush=True)

    def _answer(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


class Mailbox(socketserver.ThreadingTCPServer):
    """The server; it may be started again at once."""

    allow_reuse_address = True
    daemon_threads = True


def main(words: list[str]) -> None:
    port = words[0] if words else "8025"
    try:
        server = Mailbox(("127.0.0.1", int(port)), Session)
    except (OSError, ValueError, OverflowError) as problem:
        sys.exit(f"mailbox: cannot listen on port {port}: {problem}")
    print(f"127.0.0.1:{server.server_address[1]} takes mail; Ctrl-C ends it", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
