"""Python processes that run a module of ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[2])


def python_command(module: str, bare: bool = False) -> list[str]:
    """The command line of a process that runs `main` of a module, from wherever it is started.

    `bare`: nothing else is run or written by Python, neither the user's settings nor site's; modules are found where
    they are found here.
    """
    if bare:
        path = [_ROOT, *(folder for folder in sys.path if os.path.isabs(folder))]
        return [sys.executable, "-I", "-S", "-B", "-c", f"import sys; sys.path[:] = {path!r}; {_run(module)}"]
    return [sys.executable, "-c", f"import sys; sys.path.insert(0, {_ROOT!r}); {_run(module)}"]


def _run(module: str) -> str:
    return f"from {module} import main; main()"
