"""Builds and runs a file of random functions: what each call said, or how it ended, and which loops ran."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profilers.run import DEFAULT_ENVIRONMENT
from tests.campaigns.bounds.arguments import Values
from tests.campaigns.bounds.model import BASE, Way

_COMPILE_S, _RUN_S = 300.0, 500.0
_ENDS = re.compile(rb"(#pragma GCC diagnostic pop\s*)(\} else\s*#endif\s*\{)")
TUNED, ORIGINAL = 1, 2  # bits of `Said.ran`

Call = tuple[int, Values]
"""The number of a function and what it is called with."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one call printed, or the signal or exit code that ended it (`ended`); by nest of the file, which of its two
    branches ran."""

    text: str = ""
    ended: str = ""
    ran: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Ran:
    """The calls of one program in order; `errors`: what it wrote to its standard error."""

    calls: tuple[Said, ...]
    errors: str = ""


class DoesNotCompile(Exception):
    """With what the compiler said."""


def counted(content: bytes) -> bytes:
    """A written file that notes for each nest which of its branches ran (`ran` of the driver)."""
    parts = _ENDS.split(content)
    out = [parts[0]]
    for number in range(len(parts) // 3):
        pop, otherwise, rest = parts[1 + 3 * number : 4 + 3 * number]
        out += [b"ran[%d] |= %d;\n" % (number, TUNED), pop, otherwise, b" ran[%d] |= %d;" % (number, ORIGINAL), rest]
    return b"".join(out)


def build(path: Path, way: Way, flags: Sequence[str]) -> Path:
    """Raises DoesNotCompile."""
    program = path.with_suffix(f".{way.name}")
    command = [way.cc, "-w", *BASE, *way.flags, *flags, str(path), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_COMPILE_S, check=False)
    if done.returncode:
        raise DoesNotCompile(done.stderr)
    return program


def run(program: Path, calls: Sequence[Call], way: Way, limit_ms: int) -> Ran:
    """All calls in one process, and another one behind each that it dies of; `limit_ms`: processor time of each."""
    table = program.with_name("calls")
    table.write_text("".join(f"{f} {' '.join(map(str, values))}\n" for f, values in calls))
    settings = {
        **DEFAULT_ENVIRONMENT,
        "OMP_NUM_THREADS": str(way.threads),
        "OMP_WAIT_POLICY": "passive",
        "ASAN_OPTIONS": "detect_leaks=0:symbolize=0",
    }
    command = [str(program), str(limit_ms), str(table)]
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=settings, timeout=_RUN_S, check=False
    )
    said = [Said(ended="nothing said")] * len(calls)
    for line in done.stdout.splitlines():
        mark, number, *rest = line.split(" ")
        if mark == "=":
            branches = [tuple(map(int, word[1:].split(":"))) for word in rest if word.startswith("@")]
            text = " ".join(word for word in rest if not word.startswith("@"))
            said[int(number)] = Said(text, ran=tuple((nest, bits) for nest, bits in branches))
        elif mark == "!":
            said[int(number)] = Said(ended=_ending(int(rest[0])))
    return Ran(tuple(said), done.stderr)


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.WEXITSTATUS(status)}"
