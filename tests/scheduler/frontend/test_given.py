"""Nests read for values of integers: what is affine then, and what has to be tested for it."""

from __future__ import annotations

import pytest

from scheduler.codegen.runtime_checks.guards import runtime_condition
from scheduler.frontend.child import parse
from scheduler.frontend.model import Request, SourceFile
from scheduler.frontend.parsing import parser_arguments
from scheduler.ir.nest import LoopNest
from scheduler.ir.walk import opaque_parts
from scheduler.replay import Replayer
from tests.scheduler.frontend.support import assumptions, lines, read

POOL = """struct s { int stride, pad, w; };
void f(int n, int k, const struct s *s, double *a, const double *b) { for (int i = 0; i < n; i++)
    for (int p = 0; p < k; p++) {
        int at = i * s->stride + p - s->pad;
        if (at >= 0 && at < s->w) a[i] += b[at];
    } }"""


def both(code: str, **given: int) -> tuple[SourceFile, LoopNest]:
    """The file as it is, and its only nest read for values; `__` in a name is `->`."""
    plain = read(code)
    (nest,) = plain.nests
    assert nest.span is not None
    values = {nest.span.begin: {name.replace("__", "->"): value for name, value in given.items()}}
    again = parse(Request("/snippets/t.c", code.encode(), parser_arguments((), "gcc"), 1 << 32, 10, values))
    assert isinstance(again, SourceFile)
    (other,) = again.nests
    assert other.span == nest.span
    return plain, other


def condition(nest: LoopNest) -> str:
    replayer = Replayer(nest)
    return runtime_condition(replayer.nest, replayer.model) or ""


def test_a_stride_of_one() -> None:
    plain, found = both(POOL, s__stride=1)
    assert "s->stride" in plain.fixable["f_0"]
    assert opaque_parts(plain.nests[0]) == 1 and opaque_parts(found) == 0
    assert lines(found)[-1].strip() == "a[i] += b[i + p - s_pad]"
    assert "s_stride - 1 == 0" in assumptions(found)


def test_the_value_is_tested_whatever_else_is_known_of_it() -> None:
    """Its range, of a narrow type, or by what it is divided by, is not what it was read for."""
    _, found = both(POOL, s__stride=2)
    assert "s_stride" in condition(found)
    code = "void f(int n, unsigned char k, double *a) { for (int i = 0; i < n; i++) a[i * k] = 0; }"
    _, found = both(code, k=3)
    assert lines(found)[-1].strip() == "a[3*i] = 0" and "k" in condition(found)


@pytest.mark.parametrize(
    ("subscript", "value", "read_as"),
    [
        ("i / k", 4, "a[floor((i)/4)] = 0"),
        ("i % k", 4, "a[i - 4*floor((i)/4)] = 0"),
        ("i << k", 3, "a[8*i] = 0"),
        ("i >> k", 1, "a[floor((i)/2)] = 0"),
        ("i & k", 7, "a[i - 8*floor((i)/8)] = 0"),
        ("i * k + i", 0, "a[i] = 0"),
        ("i * k + 64 - i", -2, "a[-3*i + 64] = 0"),
    ],
)
def test_what_becomes_affine(subscript: str, value: int, read_as: str) -> None:
    code = f"void f(int n, int k, double *a) {{ for (int i = 0; i < n; i++) a[{subscript}] = 0; }}"
    plain, found = both(code, k=value)
    assert plain.fixable == {"f_0": ("k",)}
    assert lines(found)[-1].strip() == read_as
    constant = f"k {'-' if value >= 0 else '+'} {abs(value)} == 0" if value else "k == 0"
    assert constant in assumptions(found)


def test_a_value_that_makes_no_sense_there() -> None:
    """A division by 0 or by a negative number stays what it is."""
    for value in (0, -3):
        code = "void f(int n, int k, double *a) { for (int i = 0; i < n; i++) a[i / k] = 0; }"
        _, found = both(code, k=value)
        assert opaque_parts(found) == 1


def test_what_the_loop_changes_is_not_taken_for_a_number() -> None:
    code = """void f(int n, int k, double *a) { for (int i = 0; i < n; i++) { a[i * k] = 0; k = k + 1; } }"""
    plain = read(code)
    assert not plain.fixable
    begin = code.index("for")
    again = parse(Request("/t.c", code.encode(), parser_arguments((), "gcc"), 1 << 32, 10, {begin: {"k": 1}}))
    assert isinstance(again, SourceFile)
    assert [lines(n) for n in again.nests] == [lines(n) for n in plain.nests]


def test_a_member_that_stores_might_change_is_tested_for_that() -> None:
    code = """struct s { int stride; };
        void f(int n, struct s *s, int *a) { for (int i = 0; i < n; i++) a[i * s->stride] = 0; }"""
    _, found = both(code, s__stride=3)
    (stride,) = (p for p in found.parameters if p.name == "s_stride")
    assert stride.exposed and "s->stride" in condition(found)


def test_only_what_iterators_are_multiplied_with_is_fixable() -> None:
    code = """void f(int n, int m, int k, double *a) { for (int i = k; i < n; i++) for (int j = 0; j < m; j++)
        a[i * m + j + k] = 0; }"""
    assert read(code).fixable == {"f_0": ("m",)}
