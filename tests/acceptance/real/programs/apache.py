"""Apache listing the folders of a tree of 2,000 files, each list in eight orders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.file_tree import make_tree
from acceptance.real.site import Site, Truth, find_program, free_port, running

NAME = "apache"
MODULES = "mpm_event authz_core dir autoindex mime"
SETTINGS = """
ServerRoot {folder}
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog {folder}/error.log
{modules}
TypesConfig /dev/null
DocumentRoot {folder}/root
IndexOptions FancyIndexing
<Directory {folder}/root>
    Options Indexes
    Require all granted
</Directory>
"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: every list, in the order that it has by itself, and every file."""
    apache = find_program("apache2", package="apache2-bin")
    paths = make_tree(folder / "root")
    base = f"http://127.0.0.1:{(port := free_port())}/"
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in MODULES.split())
    (folder / "apache.conf").write_text(SETTINGS.format(folder=folder, port=port, modules=modules))
    command = [apache, "-f", folder / "apache.conf", "-DFOREGROUND"]
    with running(command, url=base, folder=folder):
        yield Site(url=base, truth=Truth(pages=frozenset(base + path for path in paths)))
