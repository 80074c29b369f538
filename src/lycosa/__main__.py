"""`python -m lycosa`, and the `lycosa` command."""

from __future__ import annotations

import signal


def run() -> None:
    """Load the program and run it; Ctrl-C while it loads ends it without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lycosa.cli.main import run as run_program

    signal.signal(signal.SIGINT, handler)
    run_program()


if __name__ == "__main__":
    run()
