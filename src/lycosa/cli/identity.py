"""The verb `identity`: makes the key with which requests are signed, and checks signatures."""

from __future__ import annotations

import json
from pathlib import Path

import click

from lycosa.errors import UsageError


@click.command(short_help="Make a key with which your requests are signed.")
@click.argument("folder", required=False, metavar="DIR")
@click.option("--agent", metavar="URL", help="A site of yours that publishes the key, as https://bot.example.org.")
@click.option("--contact", metavar="TEXT", help="A mail address or a URL by which site owners reach you.")
@click.option("--name", default="lycosa", show_default=True, metavar="NAME", help="How your robot is called.")
@click.option(
    "--check",
    "requests",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Verify signed requests: a JSON list with key, target_url, signature_input, signature, signature_agent.",
)
def identity(folder: str | None, agent: str | None, contact: str | None, name: str, requests: str | None) -> int:
    """Make a key with which your requests are signed, so that sites know that it is you (Web Bot Auth).

    DIR gets the key, which stays yours, and two files for your site: put http-message-signatures-directory below
    /.well-known/ and card.json beside it. Then say --set fetch.identity=DIR.

    \b
    lycosa identity ~/bot --agent https://bot.example.org --contact you@example.org
    lycosa crawl https://example.com/ --set fetch.identity=~/bot
    """
    from lycosa.fetch import web_bot_auth

    if requests is not None:
        return _check(Path(requests))
    if not folder or not agent or not contact:
        raise UsageError("lycosa identity needs DIR, --agent and --contact, or --check FILE.")
    path = Path(folder).expanduser()
    web_bot_auth.make_identity(path, agent=agent, name=name, contact=contact)
    click.echo(f"{path / web_bot_auth.KEY_FILE} is your key: give it to nobody.")
    click.echo(f"{path / web_bot_auth.DIRECTORY} belongs to {agent.rstrip('/')}/.well-known/{web_bot_auth.DIRECTORY}")
    click.echo(f"{path / web_bot_auth.CARD_FILE} belongs to {agent.rstrip('/')}/{web_bot_auth.CARD_FILE}")
    return 0


def _check(path: Path) -> int:
    from lycosa.fetch.web_bot_auth import verify

    wrong = 0
    try:
        for row in json.loads(path.read_text()):
            names = ("signature-input", "signature", "signature-agent")
            headers = {key: row[key.replace("-", "_")] for key in names if key.replace("-", "_") in row}
            at = float(row.get("created_ms", 0)) / 1000
            problem = verify(headers, row["target_url"].split("/")[2], [row["key"]], at)
            wrong += bool(problem)
            click.echo(f"{row['target_url']}: {problem or 'the signature holds'}")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise UsageError(f"{path} is no list of signed requests: {type(error).__name__}: {error}.") from None
    return 1 if wrong else 0
