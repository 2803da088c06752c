"""Matrix products in several spellings, types and sizes, tuned without any product among the donors, against OpenBLAS.

The rate is that of the tuned file's function, measured in turns with NumPy's product of the same shape and threads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path

from perfembed.comparing.openblas import Product, run_openblas
from perfembed.errors import PerfembedError
from perfembed.retrieval.donors import StoredDonor, donor_shards, read_donors
from perfembed.tuning.file_tuner import tune
from perfembed.tuning.options import TuneOptions
from profilers.contained.child import Limits
from profilers.contained.scratch import scratch_folder
from profilers.lock import machine_lock
from profilers.run import run_contained
from scheduler.computed.contraction import contractions
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer

_LABEL = "contraction"  # of the generator's products
_TURNS = 3
_LIMITS = Limits(wall_s=600.0, memory_bytes=16 << 30)
_WIDE = 4096  # of the sizes that a donor without any is looked at with

SPELLINGS = {
    "ijk": "for (int i = 0; i < N; i++)\n        for (int j = 0; j < N; j++)\n            for (int k = 0; k < N; k++)\n"
    "                C[i][j] += A[i][k] * B[k][j];",
    "ikj": "for (int i = 0; i < N; i++)\n        for (int k = 0; k < N; k++)\n            for (int j = 0; j < N; j++)\n"
    "                C[i][j] += A[i][k] * B[k][j];",
    "scaled": "for (int i = 0; i < N; i++) {\n        for (int j = 0; j < N; j++)\n            C[i][j] *= beta;\n"
    "        for (int k = 0; k < N; k++)\n            for (int j = 0; j < N; j++)\n"
    "                C[i][j] += alpha * A[i][k] * B[k][j];\n    }",
    "transposed": "for (int i = 0; i < N; i++)\n        for (int j = 0; j < N; j++)\n"
    "            for (int k = 0; k < N; k++)\n                C[i][j] += A[k][i] * B[k][j];",
}

_PROGRAM = """#include <stdio.h>
#include <time.h>
static TYPE A[N][N], B[N][N], C[N][N];

static void multiply(TYPE alpha, TYPE beta)
{
    (void)alpha, (void)beta;
    BODY
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv)
{
    unsigned s = 1;
    double best = 1e30, sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            s = s * 1664525u + 1013904223u;
            A[i][j] = (TYPE)(s >> 8) / 16777216;
            B[i][j] = (TYPE)(s >> 4 & 0xffff) / 65536;
        }
    for (int k = 0; k < argc; k++) {
        double begin = now();
        multiply((TYPE)1.5, (TYPE)0.5);
        best = now() - begin < best ? now() - begin : best;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += C[i][j];
    printf("%.17g\\n", sum);
    fprintf(stderr, "%.9f %s\\n", best, argv[0]);
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class ProductsBench:
    """What is asked. `march`: the instruction sets; `out`: rows, one JSON line each, which are not measured again."""

    sizes: tuple[int, ...]
    out: Path | None
    threads: int
    types: tuple[str, ...] = ("double", "float")
    spellings: tuple[str, ...] = tuple(SPELLINGS)
    march: tuple[str, ...] = ("native", "x86-64-v3")
    budget_s: float = 60.0
    cc: str = "gcc"
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ProductRow:
    """Rates in GFLOP/s; `ours` and `openblas` None where nothing ran, `problem` says why. `spread`: max/min of ours."""

    spelling: str
    ctype: str
    size: int
    march: str
    ours: float | None = None
    openblas: float | None = None
    spread: float = 1.0
    tuning_s: float = 0.0
    schedule: str = ""
    problem: str = ""

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.spelling, self.ctype, self.size, self.march

    @property
    def apart(self) -> float:
        return self.spread - 1

    @property
    def ratio(self) -> float | None:
        return self.ours / self.openblas if self.ours and self.openblas else None


@dataclass(slots=True)
class _Run:
    bench: ProductsBench
    without: tuple[str, ...]
    scratch: Path
    rows: list[ProductRow] = field(default_factory=list)


def bench_products(bench: ProductsBench, progress: Callable[[str], None]) -> tuple[ProductRow, ...]:
    """Every combination, those of an earlier run taken over. Raises OptdbError, OSError."""
    known = {row.key: row for row in _load(bench.out)} if bench.out is not None else {}
    progress("looking for products among the donors")
    without = products_among(read_donors(donor_shards()).values())
    with scratch_folder(None) as scratch:
        run = _Run(bench, without, scratch)
        for spelling, ctype, size, march in product(bench.spellings, bench.types, bench.sizes, bench.march):
            row = known.get((spelling, ctype, size, march))
            if row is None:
                row = _measured(run, ProductRow(spelling, ctype, size, march))
                if bench.out is not None:
                    with bench.out.open("a") as out:
                        out.write(json.dumps(asdict(row)) + "\n")
            run.rows.append(row)
            rate = f"{row.ours:.1f} GFLOP/s, {row.ratio:.0%}" if row.ours and row.ratio else row.problem
            progress(f"{spelling} {ctype} {size} -march={march}: {rate} ({row.tuning_s:.0f} s)")
    return tuple(run.rows)


def products_among(donors: Iterable[StoredDonor]) -> tuple[str, ...]:
    """The algorithms of donors with a product of two operands in them."""
    found: dict[str, None] = {}
    for donor in sorted(donors, key=lambda one: len(one.text)):  # short ones are soon read
        if donor.algorithm not in found and _is_product(donor):
            found[donor.algorithm] = None
    return tuple(found)


def _is_product(donor: StoredDonor) -> bool:
    if _LABEL in donor.algorithm.split("+"):
        return True
    try:
        nest = parse_nest(donor.text)
        sizes = {p.name: max(p.value or 0, _WIDE) for p in nest.parameters}
        return bool(contractions(Space(Replayer(nest), Target(1), sizes)))
    except SchedulerError:
        return False


def _load(path: Path) -> list[ProductRow]:
    if not path.exists():
        return []
    return [ProductRow(**json.loads(line)) for line in path.read_text().splitlines() if line.strip()]


def _measured(run: _Run, row: ProductRow) -> ProductRow:
    bench, environment = run.bench, dict(run.bench.environment)
    source = run.scratch / "product.c"
    source.write_text(_PROGRAM.replace("BODY", SPELLINGS[row.spelling]).replace("TYPE", row.ctype))
    flags = ("-O3", f"-march={row.march}", f"-DN={row.size}")
    tuned = run.scratch / "tuned.c"
    options = TuneOptions(
        output=str(tuned),
        functions=("multiply",),
        cc=bench.cc,
        cflags=flags,
        threads=bench.threads,
        without=run.without,
        budget_s=bench.budget_s,
        environment=bench.environment,
    )
    try:
        result = tune(str(source), options, lambda event: None)
    except PerfembedError as error:
        return replace(row, problem=error.message)
    schedule = next((nest.schedule for nest in result.nests if nest.schedule), "")
    row = replace(row, tuning_s=result.seconds, schedule=schedule)
    binary = run.scratch / "tuned.out"
    argv = (bench.cc, *flags, "-fopenmp", str(tuned), "-o", str(binary), "-lm")
    built = run_contained(argv, limits=_LIMITS, env=environment, cwd=run.scratch)
    if built.returncode:
        return replace(row, problem="the tuned file does not compile")
    shape = Product(row.size, row.size, row.size, row.ctype)
    again = ("x",) * max(1, min(20, math.ceil(2e10 / shape.operations)))
    ours: list[float] = []
    theirs: list[float] = []
    with machine_lock(environment, lambda text: None):
        for _ in range(_TURNS):
            threads = {**environment, "OMP_NUM_THREADS": str(bench.threads)}
            ran = run_contained((str(binary), *again), limits=_LIMITS, env=threads, cwd=run.scratch)
            other = run_openblas([shape], bench.threads, environment, run.scratch)
            if ran.returncode or other.returncode:
                return replace(row, problem="a program did not run")
            ours.append(shape.operations / float(ran.stderr.split()[0]) / 1e9)
            theirs.append(shape.operations / float(other.stdout) / 1e9)
    return replace(row, ours=max(ours), openblas=max(theirs), spread=max(ours) / min(ours))
