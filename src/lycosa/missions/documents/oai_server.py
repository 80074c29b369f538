"""The server of OAI-PMH: GET and POST requests to one address; the catalogue is read again when it has changed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.decisions import permissions
from lycosa.missions.documents.model import DocumentDescription
from lycosa.missions.documents.oai import Repository

_MAX_BODY = 64 * 1024


class OaiServer(ThreadingHTTPServer):
    """Serves one collection; its documents are read for each request."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], folder: str, *, only_granted: bool) -> None:
        super().__init__(address, _Handler)
        self._folder = folder
        self._only_granted = only_granted
        self._lock = Lock()

    def repository(self) -> Repository:
        """The documents as they are now."""
        with self._lock, Collection(self._folder) as collection, open_catalogue(collection) as catalogue:
            return offer_documents(collection, catalogue.documents(), only_granted=self._only_granted)


def offer_documents(collection: Collection, wanted: Iterable[DocumentDescription], *, only_granted: bool) -> Repository:
    """Documents as harvesters get them: all that are wanted, or those that were granted."""
    answers = permissions(collection.path)
    documents = [document for document in wanted if not only_granted or answers.get(document.url) == "granted"]
    name = f"{collection.mission.name} of {', '.join(collection.seeds()[:1])}"
    return Repository(documents, name=name, contact=collection.mission.agent.contact)


class _Handler(BaseHTTPRequestHandler):
    server: OaiServer
    timeout = 30

    def do_GET(self) -> None:
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        try:
            length = min(int(self.headers.get("Content-Length", "0")), _MAX_BODY)
        except ValueError:
            length = 0
        self._answer(self.rfile.read(max(0, length)).decode("utf-8", "replace"))

    def _answer(self, query: str) -> None:
        try:
            arguments = parse_qsl(query, keep_blank_values=True, max_num_fields=50)
        except ValueError:
            arguments = []
        host, port = self.server.server_address[:2]
        body = self.server.repository().answer(arguments, base=f"http://{host!s}:{port}/")
        self.send_response(200)
        self.send_header("Content-Type", "text/xml; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""


def serve(folder: str, *, host: str, port: int, only_granted: bool) -> None:
    """Serve until the process is interrupted."""
    with Collection(folder) as collection, open_catalogue(collection):
        pass  # complaints come before the port is opened, and the first request does not wait
    try:
        server = OaiServer((host, port), folder, only_granted=only_granted)
    except OSError as error:
        raise UsageError(f"{host}:{port} cannot be listened on ({error.strerror}): name another with --port.") from None
    with server:
        print(
            f"lycosa: OAI-PMH at http://{host}:{server.server_address[1]}/ (Ctrl-C ends it)",
            file=sys.stderr,
            flush=True,
        )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("lycosa: stopped", file=sys.stderr)
