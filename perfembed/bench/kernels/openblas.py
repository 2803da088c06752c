"""What NumPy's matrix product (OpenBLAS) reaches on the shapes of a kernel, in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from profilers.run import Finished, Limits, run_contained
from scheduler.frontend import SourceFile
from scheduler.ir.nest import Array

_CHILD = """
import sys, time
import numpy as np
m, n, k, dtype = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rng = np.random.default_rng(0)
a, b = rng.random((m, k)).astype(dtype), rng.random((k, n)).astype(dtype)
c = np.empty((m, n), dtype)
np.matmul(a, b, out=c)
best = 1e9
begin = time.perf_counter()
for number in range(20):
    start = time.perf_counter()
    np.matmul(a, b, out=c)
    best = min(best, time.perf_counter() - start)
    if number >= 2 and time.perf_counter() - begin > 1:
        break
print(best)
"""


@dataclass(frozen=True, slots=True)
class Product:
    """C[m][n] += A[m][k] * B[k][n]."""

    m: int
    n: int
    k: int
    ctype: str

    @property
    def operations(self) -> float:
        return 2.0 * self.m * self.n * self.k


def product_of(source: SourceFile) -> Product | None:
    """The shape of the first matrix product with known sizes: three matrices A, B, C that fit together."""
    for nest in source.nests:
        values = {p.name: p.value for p in nest.parameters if p.value is not None}
        shapes = {a.name: s for a in nest.arrays if (s := _shape(a, values)) is not None}
        if not {"A", "B", "C"} <= shapes.keys():
            continue
        (m, k), (k_again, n) = shapes["A"], shapes["B"]
        ctype = nest.array("C").ctype
        if k == k_again and shapes["C"] == (m, n) and ctype in ("double", "float"):
            return Product(m, n, k, ctype)
    return None


def _shape(array: Array, values: Mapping[str, int]) -> tuple[int, int] | None:
    if len(array.shape) != 2:
        return None
    try:
        first, second = (None if e is None else e.evaluate(values) for e in array.shape)
    except KeyError:
        return None
    return None if first is None or second is None else (first, second)


def run_openblas(product: Product, threads: int, environment: Mapping[str, str], workdir: Path) -> Finished:
    """One process; it prints the seconds of its fastest product."""
    limits = {f"{name}_NUM_THREADS": str(threads) for name in ("OPENBLAS", "OMP", "MKL", "GOTO")}
    dtype = {"double": "float64", "float": "float32"}[product.ctype]
    words = (*(str(x) for x in (product.m, product.n, product.k)), dtype)
    return run_contained(
        (sys.executable, "-c", _CHILD, *words),
        limits=Limits(wall_s=120.0, memory_bytes=64 << 30),
        env={**environment, **limits},
        cwd=workdir,
    )
