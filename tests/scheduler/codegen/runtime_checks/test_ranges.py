"""Ranges of subscripts that are not affine, computed when the code runs."""

import ctypes
import faulthandler
import os
import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scheduler.codegen.emit.text import preamble
from scheduler.codegen.runtime_checks.guards import runtime_condition, untestable
from scheduler.errors import CodegenUnsupported
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.model import Model
from tests.scheduler.codegen.support import CHECKED, FAST, build

HEAD = "param n: int; param m: int; param s: int; array a: double[?] pointer; array b: double[?] pointer const;"
Check = Callable[..., bool]


def nest_text(body: str, more: str = "") -> str:
    loops = "for i: int in [0, n) step 1 { for j: int in [0, m) step 1 {"
    return f"nest s {{ {HEAD} {more} {loops} {body} }} }} }}"


def checker(folder: Path, text: str, declared: str = "", flags: tuple[str, ...] = FAST) -> Check:
    """check(a, b, n, m, s, …): whether the test succeeds with a and b so many elements from a common place."""
    nest = parse_nest(text)
    condition = runtime_condition(nest, Model(nest))
    assert condition is not None and "pe_spanned" in condition, condition
    source = preamble(condition)
    source += f"int check(double *a, double *b, int n, int m, int s{declared})\n{{ return {condition}; }}\n"
    found = ctypes.CDLL(str(build(folder, "ranges", source, flags))).check

    def check(a: int, b: int, n: int, m: int, s: int, *more: object) -> bool:
        places = (ctypes.c_void_p(1 << 30 | 8 * (a + 4096)), ctypes.c_void_p(1 << 30 | 8 * (b + 4096)))
        return bool(found(*places, n, m, s, *more))

    return check


def survives(call: Callable[[], object]) -> bool:
    """Whether a process that makes the call lives on."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        call()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def numbers(values: list[int], dtype: type = np.int32) -> ctypes.c_void_p:
    array: np.ndarray = np.array(values, dtype)
    kept.append(array)
    return ctypes.c_void_p(array.ctypes.data)


kept: list[np.ndarray] = []


@pytest.mark.gcc
def test_products(tmp_path: Path) -> None:
    check = checker(tmp_path, nest_text("S0: a[opaque(i * s + j)] = b[j];"))
    # a[0 .. 3s + 4], b[0 .. 4]
    assert check(0, 20, 4, 5, 5) and not check(0, 19, 4, 5, 5) and check(5, 0, 4, 5, 5) and not check(4, 0, 4, 5, 5)
    assert check(0, 5, 4, 5, 0) and not check(0, 4, 4, 5, 0)
    assert check(0, 5, 4, 5, -5) and check(20, 0, 4, 5, -5) and not check(19, 0, 4, 5, -5)  # a[-15 .. 4]
    big = 2**31 - 1
    assert not check(0, 1000, big, big, big)  # too far to tell


@pytest.mark.gcc
def test_a_column_that_is_tested(tmp_path: Path) -> None:
    body = "S0: if (i * s + j >= 0 && i * s + j < m) { a[i] = b[opaque(i * s + j)]; }"
    check = checker(tmp_path, nest_text(body))
    assert check(0, 9, 9, 5, 7) and check(5, 0, 9, 5, 7) and not check(4, 0, 9, 5, 7)
    assert check(5, 0, 9, 5, -7)


@pytest.mark.gcc
def test_unsigned_conditions(tmp_path: Path) -> None:
    """`(size_t)(i * s) < n` keeps negative numbers out; `(unsigned)i - j < n` says nothing of i - j."""
    body = "S0: if ((unsigned long)(i * s - j) < (unsigned long)m) { a[i] = b[opaque(i * s - j)]; }"
    check = checker(tmp_path, nest_text(body))
    assert check(5, 0, 9, 5, 7) and not check(4, 0, 9, 5, 7)
    body = "S0: a[i] = b[opaque(i - j < 0U ? j : 3)];"
    assert "pe_below" not in (runtime_condition(*_with_model(nest_text(body))) or "")


def _with_model(text: str):  # type: ignore[no-untyped-def]
    nest = parse_nest(text)
    return nest, Model(nest)


@pytest.mark.gcc
def test_narrow_types_wrap(tmp_path: Path) -> None:
    check = checker(tmp_path, nest_text("S0: a[i] = b[opaque((unsigned char)(i * s))];"))
    assert check(10, 0, 3, 1, 4) and not check(8, 0, 3, 1, 4)
    assert check(256, 0, 3, 1, 200) and not check(255, 0, 3, 1, 200)
    assert check(256, 0, 3, 1, -1) and not check(255, 0, 3, 1, -1)


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("i * s % 7", -6, 0),
        ("i * s / 4", -5, 0),
        ("i * s >> 2", -5, 0),
        ("i * s & 15", 0, 15),
        ("-(i * s)", 0, 20),
        ("i * s / m", -20, 0),
        ("~(i * s)", -1, 19),
        ("i * s < -7 ? -7 : i * s", -7, 0),
    ],
)
def test_operators(text: str, low: int, high: int, tmp_path: Path) -> None:
    """With n = 5, m = 1, s = -5 the numbers from -20 to 0."""
    check = checker(tmp_path, nest_text(f"S0: a[i] = b[opaque({text})];"))
    assert check(high + 1, 0, 5, 1, -5) and not check(high, 0, 5, 1, -5)
    assert check(low - 5, 0, 5, 1, -5) and not check(low - 4, 0, 5, 1, -5)


INDEX = "array c: int[?] pointer const;"


@pytest.mark.gcc
def test_gathered(tmp_path: Path) -> None:
    check = checker(tmp_path, nest_text("S0: a[i] = b[opaque(c[j])];", INDEX), ", const int *c")
    index = numbers([3, 9, -2, 4])
    assert check(10, 0, 2, 4, 0, index) and not check(9, 0, 2, 4, 0, index)
    assert check(-4, 0, 2, 4, 0, index) and not check(-3, 0, 2, 4, 0, index)
    assert check(4, 0, 1, 1, 0, index)  # c[0] alone
    # Of a null pointer: where nothing runs nothing is read, as the nest would not.
    assert survives(lambda: check(0, 0, 0, 4, 0, None)) and survives(lambda: check(0, 0, 4, 0, 0, None))
    assert not survives(lambda: check(0, 0, 4, 4, 0, None))


def test_index_arrays_that_may_not_be_read() -> None:
    """Below conditions, after the nest has changed them, or at numbers that themselves depend on data."""
    for body, more in (
        ("S0: if (b[i] > 0.0) { a[i] = b[opaque(c[j])]; }", INDEX),
        ("S0: a[i] = b[opaque(c[opaque(c[j])])];", INDEX),
        ("S0: a[i] = b[opaque(c[j])]; S1: c[i] = 0;", "array c: int[?] pointer;"),
        ("when (b[i] > 0.0) { S0: a[i] = b[opaque(c[j])]; }", INDEX),
    ):
        assert untestable(parse_nest(nest_text(body, more))), body


def test_declared_index_arrays_may_be_read() -> None:
    body = "for q: int in [0, 4) step 1 { S0: if (b[i] > 0.0) { a[i] = b[opaque(c[q] + i)]; } }"
    assert not untestable(parse_nest(nest_text(body, "array c: int[4] const;")))
    assert untestable(parse_nest(nest_text(body.replace("4)", "5)"), "array c: int[4] const;")))


ROWS = """nest s { param n: int; param m: int; param s: int;
array a: double[?] pointer; array b: double[?] pointer const;
array r: int[?] pointer const; array c: int[?] pointer const;
array sum: double private(i);
for i: int in [0, n) step 1 {
  S0: sum = 0.0;
  for k: int in [opaque(r[i]), opaque(r[i + 1])) step 1 { S1: sum += b[opaque(c[k])]; }
  S2: a[i] = sum; } }"""


@pytest.mark.gcc
@pytest.mark.parametrize("flags", [FAST, CHECKED], ids=["fast", "checked"])
def test_rows_of_a_sparse_matrix(flags: tuple[str, ...], tmp_path: Path) -> None:
    if flags is CHECKED:
        flags = tuple(f for f in flags if not f.startswith("-fsanitize"))
    check = checker(tmp_path, ROWS, ", const int *r, const int *c", flags)
    rows, columns = numbers([0, 2, 2, 5]), numbers([7, 1, 0, 3, 8, 100, 100])
    assert check(9, 0, 3, 0, 0, rows, columns) and not check(8, 0, 3, 0, 0, rows, columns)
    assert check(8, 0, 1, 0, 0, rows, columns)  # one row: columns 7 and 1
    assert check(0, 0, 3, 0, 0, numbers([4, 4, 4, 4]), None)  # no row has an element: none is read
    far = numbers([1 << 30, 0, 0, 2])  # what looks like a row of a billion elements is none
    assert not check(100, 0, 3, 0, 0, far, columns)


def test_rows_that_are_left_out() -> None:
    """Where not every row is run through, or not every element is read for certain, nothing is read beforehand."""
    for old, new in (
        ("[0, n) step 1", "[0, n) step 2"),
        ("S1: sum += b[opaque(c[k])];", "S1: if (k > 3) { sum += b[opaque(c[k])]; }"),
        ("r[i + 1]", "r[i + 2]"),
        ("for k: int", "for k: unsigned char"),
        ("array r: int", "array r: char"),
    ):
        assert untestable(parse_nest(ROWS.replace(old, new))), new


@pytest.mark.gcc
def test_loops_inside_statements(tmp_path: Path) -> None:
    """`q` only rises: it is between what it began with and the limit."""
    body = "S0: q = j; S1: while (q < s) { a[i] = b[opaque(q)]; q += 2; }"
    check = checker(tmp_path, nest_text(body, "array q: int private(j);"))
    assert check(6, 0, 2, 3, 6) and not check(5, 0, 2, 3, 6)
    falls = body.replace("q += 2", "q -= 2")
    assert untestable(parse_nest(nest_text(falls, "array q: int private(j);")))
    carried = "S0: a[i] = b[opaque(q)]; S1: q = q * 2 + 1;"
    assert untestable(parse_nest(nest_text(carried, "array q: int private;")))


@pytest.mark.gcc
def test_numbers_that_are_wrapped(tmp_path: Path) -> None:
    body = """S0: x = i - s; S1: if (x < 0) { x += n; } else { if (x >= n) { x -= n; } }
    S2: a[opaque(j)] = b[opaque(x)];"""
    check = checker(tmp_path, nest_text(body, "array x: int private(j);"))
    assert check(10, 0, 10, 3, 1) and not check(9, 0, 10, 3, 1)
    assert check(-3, 0, 10, 3, 1) and not check(-2, 0, 10, 3, 1)


def test_what_is_known_ends_with_an_assignment() -> None:
    body = "S0: x = i - s; S1: if (x >= 0 && x < n) { x = c[opaque(x)]; a[opaque(j)] = b[opaque(x)]; }"
    assert untestable(parse_nest(nest_text(body, f"array x: int private(j); {INDEX}")))


def test_too_long() -> None:
    value = "i * s"
    for _ in range(12):
        value = f"({value}) * ({value})"
    with pytest.raises(CodegenUnsupported):
        runtime_condition(*_with_model(nest_text(f"S0: a[i] = b[opaque({value})];")))


@pytest.mark.gcc
@pytest.mark.parametrize("flag", ["-fsigned-char", "-funsigned-char"])
def test_char_with_and_without_sign(flag: str, tmp_path: Path) -> None:
    """A char may be any number from -128 to 255."""
    text = nest_text("S0: a[i] = b[opaque(c[j])];", "array c: char[?] pointer const;")
    check = checker(tmp_path, text, ", const char *c", (*FAST, flag))
    letters = numbers([200, 3, 100, 40], np.uint8)
    assert check(256, 0, 2, 4, 0, letters) and not check(255, 0, 2, 4, 0, letters)
    assert check(-130, 0, 2, 4, 0, letters) and not check(-129, 0, 2, 4, 0, letters)
    check = checker(tmp_path, nest_text("S0: a[i] = b[opaque((char)(i * s))];"), "", (*FAST, flag))
    assert not check(200, 0, 2, 4, -56) and not check(200, 0, 2, 4, 200)


@pytest.mark.gcc
def test_what_ranges_are_made_of_must_not_be_written(tmp_path: Path) -> None:
    """An index array, rows and a size in memory are apart from what is written, too."""
    text = """nest s { param n: int; array h: int pointer const base "*p"; array a: int[?] pointer;
    array b: int[?] pointer const; array c: int[?] pointer const; array r: int[?] pointer const;
    for i: int in [0, n) step 1 { S0: a[i] = h;
    for k: int in [opaque(r[i]), opaque(r[i + 1])) step 1 { S1: a[i] += b[opaque(c[k] * h)]; } } }"""
    condition = runtime_condition(*_with_model(text))
    assert condition is not None
    source = preamble(condition)
    source += f"int check(int n, int *p, int *a, int *b, int *c, int *r) {{ return {condition}; }}\n"
    check = ctypes.CDLL(str(build(tmp_path, "ranges", source, FAST))).check
    memory = np.zeros(400, np.int32)
    memory[0] = 2  # *p
    memory[10:20] = range(10)  # c
    memory[30:35] = [0, 2, 4, 6, 8]  # r

    def apart(a: int, p: int = 0, b: int = 200) -> bool:
        places = (ctypes.c_void_p(memory.ctypes.data + 4 * k) for k in (p, a, b, 10, 30))
        return bool(check(4, *places))

    assert apart(100)
    assert not apart(15) and not apart(31) and not apart(0) and not apart(212) and apart(215) and not apart(214)
