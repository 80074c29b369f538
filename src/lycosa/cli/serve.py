"""The verb `serve`: shows the collections below a folder in the browser, and starts and stops crawls there."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from lycosa.config.command_options import refuse_address
from lycosa.errors import UsageError


@click.command(short_help="Show collections in the browser; start and stop crawls there.")
@click.argument("folder", default=".", metavar="[FOLDER]")
@click.option("--port", type=click.IntRange(1, 65_535), default=8420, metavar="N", help="Port to listen on; 8420.")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on; others need a password.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="Another name that browsers call this machine.")
@click.option("--password-file", metavar="FILE", help="File with the password, or with its hash.")
@click.option("--hash-password", is_flag=True, help="Ask for a password, print its hash for such a file, and end.")
@click.option("--certificate", default="", metavar="FILE", help="Certificate, for https (PEM).")
@click.option("--key", default="", metavar="FILE", help="Private key of the certificate (PEM).")
@click.option("--tiles", default="", metavar="URL", help="Map tiles to show, with {z}, {x} and {y}; none by default.")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def serve(
    folder: str,
    port: int,
    host: str,
    names: tuple[str, ...],
    password_file: str | None,
    hash_password: bool,
    certificate: str,
    key: str,
    tiles: str,
    open_browser: bool,
    quiet: bool,
) -> None:
    """Show the collections below FOLDER in the browser, and start, watch and stop crawls there.

    It listens on this machine alone. For any other address a password is needed, from a file or from the variable
    LYCOSA_SERVE_PASSWORD. Ctrl-C ends it; crawls that it started go on.

    \b
    lycosa serve
    lycosa serve ~/collections --port 9000
    lycosa serve --host 0.0.0.0 --password-file ~/.lycosa-password
    """
    from lycosa.serve import passwords
    from lycosa.serve.collection_folders import is_utf8
    from lycosa.serve.server_state import ServeSettings, check_tiles

    if hash_password:
        typed = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        click.echo(passwords.hash_password(typed))
        return
    if bool(certificate) != bool(key):
        raise UsageError("--certificate and --key go together: name both files.")
    root = Path(refuse_address(folder))
    if not root.is_dir():
        raise UsageError(f"{folder} is no folder: name one that holds collections, or that is to hold them.")
    if not is_utf8(str(root.resolve())):
        raise UsageError("The name of the folder is no text in UTF-8: rename it.")
    settings = ServeSettings(
        folder=root.resolve(),
        host=host,
        port=port,
        password=passwords.read_password(password_file),
        names=(*names, socket.gethostname(), socket.getfqdn()),
        tiles=check_tiles(tiles),
        secure=bool(certificate),
    )
    from lycosa.serve.server import address_of, run_server

    def announce() -> None:
        address = address_of(settings)
        if not quiet:
            click.echo(f"lycosa shows {settings.folder} at {address} (Ctrl-C ends it)")
        if open_browser:
            click.launch(address)

    run_server(settings, certificate=certificate, key=key, announce=announce)
