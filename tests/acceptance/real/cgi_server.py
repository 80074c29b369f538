"""A small web server for one CGI program (RFC 3875) and the files beside it.

    python cgi_server.py PORT PROGRAM [--at /cgi-bin/name] [--files FOLDER]

Every address at or below `--at` runs the program, whose environment is that of this process; others are files.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


class _Handler(SimpleHTTPRequestHandler):
    program = ""
    script = ""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        rest = path.removeprefix(self.script)
        if path.startswith(self.script) and rest[:1] in ("", "/"):
            self._run(unquote(rest), query)
        else:
            super().do_GET()

    def _run(self, rest: str, query: str) -> None:
        name, port = self.server.server_address[:2]
        variables = {
            "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1", "SERVER_SOFTWARE": "cgi",
            "SERVER_NAME": str(name), "SERVER_PORT": str(port), "HTTP_HOST": self.headers.get("Host", f"{name}:{port}"),
            "REQUEST_METHOD": "GET", "REQUEST_URI": self.path, "REMOTE_ADDR": self.client_address[0],
            "SCRIPT_NAME": self.script, "SCRIPT_FILENAME": self.program, "PATH_INFO": rest, "QUERY_STRING": query,
        }  # fmt: skip
        done = subprocess.run(
            [self.program], env={**os.environ, **variables}, stdin=subprocess.DEVNULL, capture_output=True
        )
        head, body = (re.split(rb"\r?\n\r?\n", done.stdout, maxsplit=1) + [b""])[:2]
        fields = [line.partition(":") for line in head.decode("latin-1").splitlines() if ":" in line]
        status = next((value.split()[0] for name, _, value in fields if name.lower() == "status"), "200")
        self.send_response(int(status) if fields else 500)
        for name, _, value in fields:
            if name.lower() not in ("status", "content-length"):
                self.send_header(name, value.strip())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("program")
    parser.add_argument("--at", default="")
    parser.add_argument("--files", default=".")
    options = parser.parse_args()
    _Handler.program, _Handler.script = options.program, options.at
    os.chdir(options.files)
    ThreadingHTTPServer(("127.0.0.1", options.port), _Handler).serve_forever()


if __name__ == "__main__":
    main()
