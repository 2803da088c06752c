"""The kernels: what is hot in them must be read as nests."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from scheduler.frontend import ParseOptions, read_source
from scheduler.ir.walk import bound_reads, loops, placed_statements
from tests.scheduler.frontend.support import read

KERNELS = sorted((Path(__file__).parents[2] / "kernels").glob("*.c"))

FLAT = ("daubechies",)  # its outer loops halve a length and call the inner one: they are left alone

# Loops of the program itself that are left alone, by what they contain: checks, random numbers, repetitions.
EXPECTED = (
    "calls '",
    "with the functions that it calls the loop holds",
    "converts a pointer",
    "takes the address",
    "sizeof of a variable length array",
    "does not advance by a constant",
    "is used behind the loop",
    "does not set its iterator",
    "does not change just its iterator",
)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.stem)
def test_kernel(kernel: Path) -> None:
    found = read(kernel.read_bytes(), path=str(kernel))
    assert found.has_main
    others = [r for r in found.rejections if not any(e in r.reason for e in EXPECTED)]
    assert not others, others
    depth = max(len(p.loops) for n in found.nests for p in placed_statements(n))
    assert depth >= (1 if kernel.stem in FLAT else 2)
    # What a kernel computes stands in a function of its own name, or in main.
    own = kernel.stem.replace("-", "_")
    functions = {f.name for f in found.functions if f.name not in ("main", "init")}
    named = [f for f in functions if f in own or own in f or own.split("_")[0] in f]
    if named and kernel.stem not in FLAT:
        assert any(n.function in named for n in found.nests), named


@pytest.mark.campaign
def test_data_dependent_loops_are_those_of_the_sparse_kernels() -> None:
    dependent = set()
    for kernel in KERNELS:
        found = read(kernel.read_bytes(), path=str(kernel))
        if any(list(bound_reads(loop)) for nest in found.nests for loop in loops(nest)):
            dependent.add(kernel.stem)
    assert dependent == {"spmm", "spmv"}


@pytest.mark.campaign
def test_every_access_of_a_dense_kernel_is_affine() -> None:
    data_dependent = {"spmm", "spmv", "histogram", "box-blur"}
    for kernel in KERNELS:
        if kernel.stem in data_dependent:
            continue
        for nest in read(kernel.read_bytes(), path=str(kernel)).nests:
            for placed in placed_statements(nest):
                for action in placed.statement.body:
                    assert not hasattr(action, "target") or action.target.is_affine, (kernel.stem, placed.statement)


@pytest.mark.slow
def test_under_a_second_each() -> None:
    times = []
    for kernel in KERNELS[::5]:
        began = time.monotonic()
        read_source(kernel, ParseOptions())
        times.append(time.monotonic() - began)
    assert sorted(times)[len(times) // 2] < 1, times
