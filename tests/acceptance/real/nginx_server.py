"""nginx over the files of one folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.site import find_program, free_port, running

SETTINGS = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    default_type application/octet-stream;
    types {{ text/html html; application/javascript js; application/json json; }}
    server {{ listen 127.0.0.1:{port}; root {root}; {rules} }}
}}
"""


@contextmanager
def nginx_over(root: Path, *, folder: Path, rules: str) -> Iterator[str]:
    """Serve the files below `root`, by further `rules` of the server; gives the address, with a slash at the end."""
    program = find_program("nginx", package="nginx-light")
    base = f"http://127.0.0.1:{(port := free_port())}/"
    settings = folder / "nginx.conf"
    settings.write_text(SETTINGS.format(folder=folder, port=port, root=root, rules=rules))
    with running([program, "-p", folder, "-c", settings], url=base, folder=folder):
        yield base
