"""Interleaved timing of several programs: round after round, each once, in an order that turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perfembed.comparing.openblas import Product, run_openblas
from perfembed.comparing.regions import MARKS_VARIABLE, read_marks
from perfembed.world import run_failure
from profilers.contained.child import Limits
from profilers.harness import harness_environment
from profilers.load import LoadMeter
from profilers.run import run_contained
from profilers.timing import coefficient_of_variation, other_load

LIMITS = Limits(wall_s=900.0, memory_bytes=64 << 30, output_bytes=1 << 20)


@dataclass(frozen=True, slots=True)
class MeasureSettings:
    """How long is measured.

    Rounds go on until there are `least` good ones and the fastest program's samples add up to `enough_s`, at
    most `most` or `budget_s`. A round during which others used more than `max_other_load` cores does not count,
    and before one `quiet_s` seconds at most are waited for the machine to be quiet. Where a program's times vary
    by more than `noisy_cov`, rounds go on to twice these numbers.
    """

    least: int = 5
    most: int = 15
    enough_s: float = 0.5
    budget_s: float = 30.0
    max_other_load: float = 0.15
    quiet_s: float = 10.0
    noisy_cov: float = 0.05


@dataclass(slots=True)
class Samples:
    """Seconds of the kernel and of the whole program, one entry a run; `good` are the runs that count."""

    kernel_s: list[float] = field(default_factory=list)
    whole_s: list[float] = field(default_factory=list)
    good: list[bool] = field(default_factory=list)
    stdout: bytes = b""
    failure: str = ""

    def counted(self) -> list[float]:
        """Kernel seconds of the good runs, of all where there is no good one."""
        return [s for s, good in zip(self.kernel_s, self.good, strict=True) if good] or self.kernel_s

    @property
    def best(self) -> float | None:
        return min(self.counted(), default=None)

    @property
    def cov(self) -> float:
        return coefficient_of_variation(tuple(self.counted()))


@dataclass(frozen=True, slots=True)
class Measured:
    """`loads`: cores that others kept busy in each round. `noisy`: too few rounds were quiet, or they vary."""

    samples: Mapping[str, Samples]
    loads: tuple[float, ...]
    noisy: bool


Run = Callable[[Samples], None]
"""Runs a program once and notes what it saw; sets `failure` where it fails."""


def program_run(executable: Path, threads: int, environment: Mapping[str, str], arguments: Sequence[str] = ()) -> Run:
    """A run of a marked program in the current folder, with its output kept."""
    marks = executable.with_suffix(".marks")
    env = {**harness_environment(environment, threads), MARKS_VARIABLE: str(marks)}

    def run(samples: Samples) -> None:
        marks.write_bytes(b"")
        finished = run_contained((str(executable), *arguments), limits=LIMITS, env=env, cwd=Path.cwd())
        failed = f"it ended with exit code {finished.returncode}" if finished.returncode > 0 else ""
        samples.failure = run_failure(finished, LIMITS) or failed
        found = None if samples.failure else read_marks(marks.read_bytes())
        if found is None:
            samples.failure = samples.failure or "the program ended without its exit handlers"
            return
        samples.kernel_s.append(found[0])
        samples.whole_s.append(finished.wall_s)
        samples.stdout = samples.stdout or finished.stdout
        if finished.stdout != samples.stdout:
            samples.failure = "its output differs from run to run"

    return run


def openblas_run(products: Sequence[Product], threads: int, environment: Mapping[str, str], directory: Path) -> Run:
    """NumPy's products as one more program."""

    def run(samples: Samples) -> None:
        finished = run_openblas(products, threads, environment, directory)
        try:
            samples.kernel_s.append(float(finished.stdout))
            samples.whole_s.append(finished.wall_s)
        except ValueError:
            said = finished.stderr.decode(errors="replace").strip().splitlines()[-1:]
            samples.failure = f"NumPy does not run: {''.join(said)}"

    return run


def measure(programs: Mapping[str, Run], settings: MeasureSettings) -> Measured:
    """Runs all programs in turn; one that fails is left out from then on."""
    samples = {name: Samples() for name in programs}
    loads: list[float] = []
    began = time.monotonic()
    while True:
        _wait_for_quiet(settings)
        load = _round(programs, samples, len(loads))
        loads.append(load)
        for one in samples.values():
            one.good += [load <= settings.max_other_load] * (len(one.kernel_s) - len(one.good))
        good = sum(x <= settings.max_other_load for x in loads)
        running = [s for s in samples.values() if not s.failure]
        noisy = good < settings.least or any(s.cov > settings.noisy_cov for s in running)
        factor = 2 if noisy else 1
        late = time.monotonic() - began > settings.budget_s * factor and len(loads) >= 3
        spent = min((sum(s.kernel_s) for s in running), default=settings.enough_s)
        enough = good >= settings.least * factor and spent >= settings.enough_s * factor
        if late or enough or len(loads) >= settings.most * factor or not running:
            return Measured(samples, tuple(loads), noisy)


def _round(programs: Mapping[str, Run], samples: Mapping[str, Samples], number: int) -> float:
    """Each program once; the order turns by one each round. The load of others meanwhile."""
    names = [name for name in programs if not samples[name].failure]
    turned: Sequence[str] = names[number % len(names) :] + names[: number % len(names)] if names else ()
    meter = LoadMeter()
    for name in turned:
        programs[name](samples[name])
    return meter.other_load()


def _wait_for_quiet(settings: MeasureSettings) -> None:
    deadline = time.monotonic() + settings.quiet_s
    while other_load(0.3) > settings.max_other_load and time.monotonic() < deadline:
        time.sleep(0.2)
