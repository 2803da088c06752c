"""What NumPy's matrix product (OpenBLAS) reaches on the shapes of a kernel, in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from profilers.contained.child import Finished, Limits
from profilers.run import run_contained

_CHILD = """
import sys, time
import numpy as np
rng = np.random.default_rng(0)
total = 0.0
for times, m, n, k, dtype in (word.split(",") for word in sys.argv[1:]):
    m, n, k = int(m), int(n), int(k)
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
    total += int(times) * best
print(total)
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


def run_openblas(products: Sequence[Product], threads: int, environment: Mapping[str, str], workdir: Path) -> Finished:
    """One process; it prints the seconds of its fastest run of every product, added up."""
    limits = {f"{name}_NUM_THREADS": str(threads) for name in ("OPENBLAS", "OMP", "MKL", "GOTO")}
    types = {"double": "float64", "float": "float32"}
    times = {product: products.count(product) for product in products}
    words = (f"{count},{p.m},{p.n},{p.k},{types[p.ctype]}" for p, count in times.items())
    return run_contained(
        (sys.executable, "-c", _CHILD, *words),
        limits=Limits(wall_s=600.0, memory_bytes=64 << 30),
        env={**environment, **limits},
        cwd=workdir,
    )
