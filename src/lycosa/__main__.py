"""`python -m lycosa`: the same program as the `lycosa` command."""

from lycosa.cli.main import run

run()
