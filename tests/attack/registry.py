"""Named cases: a hostile input, how the command line is called on it, and the exit codes it may end with."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

KERNELS = Path(__file__).parents[1] / "kernels"
UNDERSTOOD = frozenset((0, 3))  # parsed: nests found, or none
REJECTED = frozenset((4,))
ANY = frozenset((0, 3, 4))  # depends on where the bytes were hit
USAGE = frozenset((2,))

Prepare = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Case:
    """`source` None: `prepare` makes the input itself, or there is none. `said` must occur in the output."""

    name: str
    source: bytes | None
    codes: frozenset[int] = UNDERSTOOD
    file: str = "a.c"
    options: tuple[str, ...] = ()
    prepare: Prepare | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A case of `tune`. `stop_after_s`: it is interrupted then, and must end with 130.

    `same`: whether the written file must print what the original prints (not for programs without a
    defined output). `environment` is added to the one of the command.
    """

    name: str
    source: bytes
    codes: frozenset[int] = frozenset((0,))
    options: tuple[str, ...] = ()
    stop_after_s: float | None = None
    same: bool = True
    said: str = ""
    file: str = "a.c"
    changes_itself: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


CASES: dict[str, Case] = {}
PROGRAMS: dict[str, Program] = {}


def case(
    name: str,
    source: str | bytes | None,
    codes: frozenset[int] = UNDERSTOOD,
    *,
    file: str = "a.c",
    options: tuple[str, ...] = (),
    prepare: Prepare | None = None,
    said: str = "",
) -> None:
    assert name not in CASES, name
    content = source.encode() if isinstance(source, str) else source
    CASES[name] = Case(name, content, codes, file, options, prepare, said)


def program(found: Program) -> None:
    assert found.name not in PROGRAMS, found.name
    PROGRAMS[found.name] = found


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
