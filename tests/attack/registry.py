"""Named cases: a hostile input, how the command line is called on it, and the exit codes it may end with."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

KERNELS = Path(__file__).parents[1] / "kernels"
UNDERSTOOD = frozenset((0, 3))  # parsed: nests found, or none
REJECTED = frozenset((4,))
ANY = frozenset((0, 3, 4))  # depends on where the bytes were hit
USAGE = frozenset((2,))

Prepare = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Case:
    """`source` None: `prepare` makes the input itself, or there is none. `said` must occur in the output.

    `slow`: of the half that need not run every time. `open`: why it is known not to hold yet.
    """

    name: str
    source: bytes | None
    codes: frozenset[int] = UNDERSTOOD
    file: str = "a.c"
    options: tuple[str, ...] = ()
    prepare: Prepare | None = None
    said: str = ""
    slow: bool = False
    open: str = ""


CASES: dict[str, Case] = {}


def case(
    name: str,
    source: str | bytes | None,
    codes: frozenset[int] = UNDERSTOOD,
    *,
    file: str = "a.c",
    options: tuple[str, ...] = (),
    prepare: Prepare | None = None,
    said: str = "",
    slow: bool = False,
    open: str = "",
) -> None:
    assert name not in CASES, name
    content = source.encode() if isinstance(source, str) else source
    CASES[name] = Case(name, content, codes, file, options, prepare, said, slow, open)


def mark_slow(before: set[str], names: frozenset[str]) -> None:
    """Of the cases that came since `before`, those named are slow. A name without a case is an error."""
    assert set(CASES) >= names, names - set(CASES)
    for name in (set(CASES) - before) & names:
        CASES[name] = replace(CASES[name], slow=True)


def kernel(name: str) -> bytes:
    return (KERNELS / f"{name}.c").read_bytes()


def generator(name: str) -> random.Random:
    """Randomness that depends on the name of the case only."""
    return random.Random(f"attack {name}")


def nest(body: str, head: str = "", parameters: str = "int n, double *A, double *B") -> str:
    """A file with one function around `body`."""
    return f"{head}\nvoid f({parameters})\n{{\n{body}\n}}\n"


def loops(body: str, head: str = "", parameters: str = "int n, double *A, double *B") -> str:
    """A file with one loop over i < n around `body`."""
    return nest(f"    for (int i = 0; i < n; i++) {{\n        {body}\n    }}", head, parameters)
