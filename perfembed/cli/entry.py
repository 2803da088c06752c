"""What starts the command: the compiler wrapper at once, everything else through `perfembed.cli.main`."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """The command itself."""
    if sys.argv[1:2] == ["cc"]:
        from perfembed.cli.cc import run_compiler

        sys.exit(run_compiler(sys.argv[2:], os.environ))
    from perfembed.cli.main import run as run_command

    run_command()
