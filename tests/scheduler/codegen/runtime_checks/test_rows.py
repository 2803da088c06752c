"""The run-time test of rows behind tables of pointers, on tables of every kind."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from scheduler.codegen.emit.text import preamble
from scheduler.codegen.runtime_checks.guards import runtime_condition, untestable
from scheduler.errors import CodegenUnsupported
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.model import Model
from tests.scheduler.codegen.support import FAST, build

WIDTH = 10  # of the rows


def nest_of(
    body: str, arrays: str = "array a: double[?][?] pointer rows 1; array b: double[?][?] pointer rows 1;"
) -> LoopNest:
    loops = "for i: int in [1, n - 1) step 1 { for j: int in [0, m) step 1 {"
    return parse_nest(f"nest s {{ param n: int; param m: int; {arrays} {loops} {body} }} }} }}")


COPY = "S0: a[i][j] = b[i - 1][j] + b[i + 1][j];"


def checker(folder: Path, nest: LoopNest, tables: str):  # type: ignore[no-untyped-def]
    text = runtime_condition(nest, Model(nest))
    assert text is not None
    source = preamble(text) + f"int check({tables}, int n, int m) {{ return {text}; }}\n"
    return ctypes.CDLL(str(build(folder, "rows", source, FAST))).check


def table(memory: np.ndarray, places: list[int]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(places))(*(memory.ctypes.data + 8 * place for place in places))


@pytest.mark.gcc
def test_tables(tmp_path: Path) -> None:
    check = checker(tmp_path, nest_of(COPY), "double **a, double **b")
    memory = np.zeros(1000)

    def apart(a: list[int], b: list[int], m: int = WIDTH) -> bool:
        return bool(check(table(memory, a), table(memory, b), len(a), m))

    rows = [10 * k for k in range(5)]
    beyond = [100 + place for place in rows]
    assert apart(rows, beyond) and apart(beyond, rows)
    assert apart(rows[::-1], [100, 140, 120, 110, 130])
    assert apart([20 * k for k in range(5)], [20 * k + 10 for k in range(5)])  # in turns
    assert not apart([0, 10, 20, 20, 40], beyond)  # a row that is written is shared
    assert apart(rows, [100, 100, 100, 100, 100])  # one that is only read may be
    assert not apart([0, 10, 19, 30, 40], beyond) and apart([0, 10, 20, 30, 40], beyond, 9)
    assert not apart(rows, [100, 110, 120, 30, 140])
    assert not apart(rows, rows)
    assert apart([0, 10, 20, 30, 0], beyond) and apart([10, 10, 20, 30, 40], beyond)  # rows 0 and 4 of a are not used
    assert not apart(rows, beyond, 0) and not apart(rows[:2], beyond[:2])  # nothing runs: the original may do it


@pytest.mark.gcc
def test_tables_that_are_written(tmp_path: Path) -> None:
    check = checker(tmp_path, nest_of(COPY), "double **a, double **b")
    memory = np.zeros(1000)
    rows = table(memory, [10 * k for k in range(5)])
    first = (memory.ctypes.data, *(memory.ctypes.data + 8 * (200 + 10 * k) for k in range(4)))
    inside = (ctypes.c_void_p * 5)(*first)
    assert check(inside, rows, 5, 5) == 1
    inside[2] = ctypes.addressof(rows)
    assert check(inside, rows, 5, 5) == 0


@pytest.mark.gcc
def test_other_arrays(tmp_path: Path) -> None:
    arrays = "array a: double[?][?] pointer rows 1; array x: double[?] pointer const; array k: int[?] pointer const;"
    check = checker(tmp_path, nest_of("S0: a[i][j] = x[j] + (double)k[j];", arrays), "double **a, double *x, int *k")
    memory = np.zeros(1000)
    rows = table(memory, [10 * k for k in range(5)])

    def apart(place: int) -> bool:
        x = ctypes.c_void_p(memory.ctypes.data + 8 * place)
        return bool(check(rows, x, ctypes.c_void_p(memory.ctypes.data), 5, WIDTH))

    assert apart(40) and apart(100) and apart(0) and not apart(1) and not apart(39)


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("header", "body", "used"),
    [
        ("[1, n) step 1", "S0: a[2*i][j] = 0.0;", [2, 4, 6, 8]),
        ("[1, n) step 1", "S0: a[2*i + 1][j] = a[2*i][j];", range(2, 10)),
        ("[1, n + 3) step 3", "S0: a[i][j] = 0.0;", [1, 4, 7]),
        ("[1, n) step 1", "S0: a[2*n - 2*i][j] = 0.0;", [2, 4, 6, 8]),
        ("[k, n) step 2", "S0: a[i][j] = 0.0;", [1, 3]),
        ("[1, n) step 1", "S0: a[3*i][j] = 0.0; S1: a[3*i + 1][j] = 0.0;", [3, 4, 6, 7, 9, 10, 12, 13]),
    ],
)
def test_every_so_many_rows(tmp_path: Path, header: str, body: str, used: Sequence[int]) -> None:
    loops = f"for i: int in {header} {{ for j: int in [0, m) step 1 {{ {body} }} }}"
    text = f"nest s {{ param n: int; param m: int; param k: int; array a: double[?][?] pointer rows 1; {loops} }}"
    nest = parse_nest(text)
    assert untestable(nest) == ""
    condition = runtime_condition(nest, Model(nest))
    assert condition is not None
    source = f"{preamble(condition)}int check(double **a, int n, int m, int k) {{ return {condition}; }}\n"
    check = ctypes.CDLL(str(build(tmp_path, "rows", source, FAST))).check
    memory = np.zeros(1000)
    rows = [20 * k for k in range(14)]

    def apart(places: Sequence[int | None]) -> bool:
        pointers = (None if place is None else memory.ctypes.data + 8 * place for place in places)
        return bool(check((ctypes.c_void_p * 14)(*pointers), 5, WIDTH, 1))

    assert apart([place if k in used else None for k, place in enumerate(rows)])
    assert all(not apart([*rows[:k], rows[used[1 if k == used[0] else 0]] + 9, *rows[k + 1 :]]) for k in used)


@pytest.mark.gcc
def test_every_so_many_tables_and_rows(tmp_path: Path) -> None:
    loops = "for i: int in [0, n) step 1 { for j: int in [0, n) step 2 { S0: a[3*i][j + 1][0] = 0.0; } }"
    nest = parse_nest(f"nest s {{ param n: int; array a: double[?][?][?] pointer rows 2; {loops} }}")
    check = checker(tmp_path, nest, "double ***a")
    memory = np.zeros(100)

    def tables(last: int) -> list[ctypes.Array[ctypes.c_void_p] | None]:
        return [table(memory, [99, 2 * k, 99, last if k == 6 else 2 * k + 1]) if k % 3 == 0 else None for k in range(7)]

    def apart(inner: list[ctypes.Array[ctypes.c_void_p] | None]) -> bool:
        return bool(check((ctypes.c_void_p * 7)(*(i and ctypes.addressof(i) for i in inner)), 3, 0))

    assert apart(tables(13)) and not apart(tables(6)) and not apart(tables(12))


CUBE = """nest s { param n: int; array u: double[?][?][?] pointer const rows 2; array v: double[?][?][?] pointer rows 2;
for i: int in [1, n - 1) step 1 { for j: int in [1, n - 1) step 1 { for k: int in [1, n - 1) step 1 {
S0: v[i][j][k] = u[i - 1][j][k] + u[i + 1][j][k] + u[i][j - 1][k] + u[i][j + 1][k]; } } } }"""


@pytest.mark.gcc
def test_only_pointers_that_the_nest_follows_are_read(tmp_path: Path) -> None:
    check = checker(tmp_path, parse_nest(CUBE), "double ***u, double ***v")
    n = 6
    memory = np.zeros(2 * n**3)

    def cube(start: int) -> tuple[ctypes.Array[ctypes.c_void_p], list[ctypes.Array[ctypes.c_void_p]]]:
        inner = [table(memory, [start + n * (n * i + j) for j in range(n)]) for i in range(n)]
        return (ctypes.c_void_p * n)(*map(ctypes.addressof, inner)), inner

    (u, inner), (v, outer) = cube(0), cube(n**3)
    assert check(u, v, n, 0) == 1
    for k in (0, n - 1):  # the corners
        inner[k][0] = inner[k][n - 1] = memory.ctypes.data + 8 * n**3 + 8 * n * (n + 1)
        v[k] = None
    for k in range(n):
        outer[k][0] = outer[k][n - 1] = inner[1][1]
    assert check(u, v, n, 0) == 1
    inner[0][1] = outer[1][1]
    assert check(u, v, n, 0) == 0


@pytest.mark.parametrize(
    "body",
    [
        "S0: if (x[i] > 0.0) { a[i][j] = 0.0; }",
        "S0: a[opaque((long)x[i])][j] = 0.0;",
        "S0: a[2*i + j][j] = 0.0;",
        "S0: a[i][opaque((long)x[i])] = 0.0;",
    ],
)
def test_rows_that_may_not_be_read(body: str) -> None:
    arrays = "array a: double[?][?] pointer rows 1; array x: double[?] pointer const;"
    nest = nest_of(body, arrays)
    assert "a " in untestable(nest)
    with pytest.raises(CodegenUnsupported):
        runtime_condition(nest, Model(nest))


def test_nothing_is_tested_where_nothing_is_written() -> None:
    nest = nest_of("S0: s += a[i][j];", "array a: double[?][?] pointer const rows 1; array s: double local;")
    assert "pe_rows" not in (runtime_condition(nest, Model(nest)) or "")
