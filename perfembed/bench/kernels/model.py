"""What the benchmark of kernels is asked for, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from perfembed.bench.kernels.compilers import FLAGS, Configuration
from perfembed.bench.kernels.measure import MeasureSettings
from perfembed.bench.kernels.peers import Peer
from perfembed.bench.kernels.rows import Row
from profilers.calibration import Calibration

OPENBLAS = "openblas"
SETS = {"large": (), "small": ("-DSMALL",), "xlarge": ("-DXLARGE",)}


@dataclass(frozen=True, slots=True)
class KernelsBench:
    """What is asked. `kernels` names the functions to time, None leaves that to the marks; `set` is one of SETS.

    `against`: another checkout, whose `tune` is a column of its own; then ours runs as a process, too.
    `flags` build the original, `arguments` are those of every program. In the folder `cache`, if any, is what this
    machine can do at best.
    """

    paths: tuple[str, ...]
    set: str
    threads: int
    budget_s: float
    only: tuple[str, ...]
    out: Path
    resume: bool = True
    search: str = "beam"
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
class BenchResult:
    """`rows` in the order of the files; those measured earlier are among them.

    `calibration`: what this machine can do at best, where `perfembed doctor --calibrate` has measured it.
    """

    configurations: tuple[Configuration, ...]
    rows: tuple[Row, ...]
    total: int
    machine: str
    interrupted: bool
    calibration: Calibration | None = None
