"""The verbs `serve` and `mcp`: show the collections below a folder in the browser, and to agents."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from lycosa.config.command_options import refuse_address
from lycosa.errors import UsageError
from lycosa.extras import need


@click.command(short_help="Show collections in the browser; start and stop crawls there.")
@click.argument("folder", default=".", metavar="[FOLDER]")
@click.option("--port", type=click.IntRange(1, 65_535), default=8420, metavar="N", help="Port to listen on; 8420.")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Address to listen on; others need a password.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="Another name that browsers call this machine.")
@click.option("--password-file", metavar="FILE", help="File with the password, or with its hash.")
@click.option("--hash-password", is_flag=True, help="Ask for a password, print its hash for such a file, and end.")
@click.option("--certificate", default="", metavar="FILE", help="Certificate, for https (PEM).")
@click.option("--key", default="", metavar="FILE", help="Private key of the certificate (PEM).")
@click.option("--user-header", default="", metavar="NAME", help="Header in which a proxy says who asks.")
@click.option("--proxy-address", "proxies", multiple=True, metavar="ADDRESS", help="Where that proxy asks from.")
@click.option("--tiles", default="", metavar="URL", help="Map tiles to show, with {z}, {x} and {y}; none by default.")
@click.option("--mcp", "agents", is_flag=True, help="Let agents ask at /mcp, by the Model Context Protocol.")
@click.option("--adopt", is_flag=True, help="Take over accounts and schedules that came with the folder.")
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
    user_header: str,
    proxies: tuple[str, ...],
    tiles: str,
    agents: bool,
    adopt: bool,
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
    need("numpy", extra="serve", what="lycosa serve")
    from lycosa.serve import passwords, state_folder
    from lycosa.serve.server_state import ServeSettings, check_tiles

    if hash_password:
        typed = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        click.echo(passwords.hash_password(typed))
        return
    if bool(user_header) != bool(proxies):
        raise UsageError("--user-header and --proxy-address go together: the header is believed from there alone.")
    if bool(certificate) != bool(key):
        raise UsageError("--certificate and --key go together: name both files.")
    if agents:
        need("mcp", extra="mcp", what="lycosa serve --mcp")
    root = _find_folder(folder)
    if adopt:
        state_folder.adopt(root)
    elif state_folder.is_foreign(root):
        raise UsageError(
            f"{root / state_folder.STATE_FOLDER} holds accounts or schedules that were made elsewhere: in a copy or"
            " an archive. If they are yours, start once with --adopt; else remove that folder."
        )
    settings = ServeSettings(
        folder=root,
        host=host,
        port=port,
        password=passwords.read_password(password_file),
        names=(*names, socket.gethostname(), socket.getfqdn()),
        tiles=check_tiles(tiles),
        user_header=user_header,
        proxies=proxies,
        secure=bool(certificate),
        agents=agents,
    )
    from lycosa.serve.server import address_of, run_server

    def announce() -> None:
        address = address_of(settings)
        if not quiet:
            click.echo(f"lycosa shows {settings.folder} at {address} (Ctrl-C ends it)")
        if open_browser:
            click.launch(address)

    run_server(settings, certificate=certificate, key=key, announce=announce)


def _find_folder(folder: str) -> Path:
    from lycosa.serve.collection_folders import is_utf8

    root = Path(refuse_address(folder))
    if not root.is_dir():
        raise UsageError(f"{folder} is no folder: name one that holds collections, or that is to hold them.")
    if not is_utf8(str(root.resolve())):
        raise UsageError("The name of the folder is no text in UTF-8: rename it.")
    return root.resolve()


@click.command(short_help="Let agents ask the collections, by the Model Context Protocol.")
@click.argument("folder", default=".", metavar="[FOLDER]")
@click.option(
    "--may-crawl",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="Let crawls be started on this host; *.example.org takes those below it. Can be repeated.",
)
@click.option(
    "--limit", type=click.IntRange(1), default=1000, metavar="N", help="Pages of each such crawl at most; 1000."
)
def mcp(folder: str, hosts: tuple[str, ...], limit: int) -> None:
    """Answer an agent on standard input and output: it searches and reads the collections below FOLDER.

    Agents start this themselves: give them this command. It only reads, unless --may-crawl names hosts; of what was
    collected it says that it is foreign, and what its site says of its use.

    \b
    lycosa mcp ~/collections
    lycosa mcp ~/collections --may-crawl '*.example.org' --limit 200
    """
    need("mcp", extra="mcp", what="lycosa mcp")
    need("numpy", extra="serve", what="lycosa mcp")
    import anyio

    from lycosa.serve.agent_tools import AgentTools, CrawlLeave, make_server
    from lycosa.serve.application import make_server_state
    from lycosa.serve.server_state import ServeSettings

    state = make_server_state(ServeSettings(folder=_find_folder(folder)))
    leave = CrawlLeave(tuple(host.lower() for host in hosts), limit) if hosts else None
    try:
        anyio.run(make_server(AgentTools(state, leave)).run_stdio_async)
    finally:
        state.indexing.close()
