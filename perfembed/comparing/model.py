"""What a comparison is asked for, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from perfembed.comparing.compilers import FLAGS, Configuration, Peer
from perfembed.comparing.measure import MeasureSettings
from perfembed.comparing.rows import Row
from perfembed.tuning.options import Search
from profilers.calibration import Calibration

OPENBLAS = "openblas"


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What is asked. `kernels` names the functions to time, None leaves that to the marks. `out`: finished rows.

    `against`: another checkout, whose `tune` is a column of its own; then ours runs as a process, too.
    `flags` build the original, `arguments` are those of every program. In the folder `cache`, if any, is what this
    machine can do at best.
    """

    paths: tuple[str, ...]
    threads: int
    budget_s: float
    only: tuple[str, ...]
    out: Path | None = None
    resume: bool = True
    search: Search = "beam"
    cc: str = "gcc"
    clang: str | None = None
    flags: tuple[str, ...] = FLAGS
    arguments: tuple[str, ...] = ()
    peers: tuple[Peer, ...] = ()
    against: Path | None = None
    cache: Path | None = None
    kernels: tuple[str, ...] = ()
    seed: int = 0
    settings: MeasureSettings = field(default_factory=MeasureSettings)
    environment: tuple[tuple[str, str], ...] = ()
    workdir: str | None = None


@dataclass(frozen=True, slots=True)
class CompareResult:
    """`rows` in the order of the files; those measured earlier are among them.

    `calibration`: what this machine can do at best, where `perfembed doctor --calibrate` has measured it.
    """

    configurations: tuple[Configuration, ...]
    rows: tuple[Row, ...]
    total: int
    machine: str
    interrupted: bool
    calibration: Calibration | None = None
