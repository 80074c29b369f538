"""nginx listing the folders of a tree of 2,000 files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.file_tree import make_tree
from acceptance.real.site import Site, Truth, find_program, free_port, running

NAME = "nginx"
SETTINGS = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5; default_type application/octet-stream;
    server {{ listen 127.0.0.1:{port}; root {folder}/root; autoindex on; }}
}}
"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: every list and every file."""
    nginx = find_program("nginx", package="nginx-light")
    paths = sum(make_tree(folder / "root"), [])
    base = f"http://127.0.0.1:{(port := free_port())}/"
    (folder / "nginx.conf").write_text(SETTINGS.format(folder=folder, port=port))
    (folder / "root").chmod(0o755)
    command = [nginx, "-p", folder, "-c", folder / "nginx.conf", "-g", "user root;"]
    with running(command, url=base, folder=folder):
        yield Site(url=base, truth=Truth(pages=frozenset(base + path for path in paths)))
