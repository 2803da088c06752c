"""Variables that each iteration of a loop has its own of, by its pragma."""

from __future__ import annotations

import pytest

from tests.scheduler.frontend.support import read

HEAD = "double x[100], y[100], A[100][100]; int n;\n"
OWN = "#pragma omp parallel for private(j, t)\nfor (i = 0; i < n; i++) for (j = 0; j < n; j++) "
TIMES = "for (int k = 0; k < n; k++) {\n"
FIRST = OWN + "{ t = A[i][j]; x[i] += t; }\n"
SECOND = OWN + "{ t = x[j]; y[i] += t; }\n"


def test_variables_of_two_loops_are_not_the_same_one() -> None:
    found = read(HEAD + "void f(void) {\n  int i, j; double t;\n" + TIMES + FIRST + SECOND + "}\n}\n")
    (nest,) = found.nests
    assert {a.name: a.scope for a in nest.arrays if a.name[0] == "t"} == {"t": "j", "t_2": "j_2"}
    assert not found.assumptions[nest.name].openmp


def test_what_a_loop_has_of_its_own_another_one_does_not_read() -> None:
    """Without OpenMP it would be what the last iteration left."""
    body = TIMES + FIRST + "for (i = 0; i < n; i++) y[i] += t; }"
    found = read(HEAD + "void f(double t) {\n  int i, j;\n" + body + "\n}\n")
    (nest,) = found.nests
    assert found.assumptions[nest.name].openmp
    assert {a.name for a in nest.arrays} >= {"t", "t_2"}


def test_a_variable_of_the_function_between_loops_that_have_their_own() -> None:
    """It keeps its value where a loop sets a variable of its own by that name."""
    body = TIMES + "t = 1;\n" + FIRST + "for (i = 0; i < n; i++) { t = t + y[i]; x[i] = t; }\n" + SECOND + "}\n"
    found = read(HEAD + "double f(double t) {\n  int i, j;\n" + body + "return t;\n}\n")
    (nest,) = found.nests
    assert {a.name: a.scope for a in nest.arrays if a.name[0] == "t"} == {"t": None, "t_2": "j", "t_3": "j_2"}


def test_iterators_that_have_their_last_values_behind_the_loop() -> None:
    loop = "for (i = 0; i < n; i++) x[i] += 1;\n"
    for pragma, used in (
        ("parallel for lastprivate(i)", True),
        ("parallel for simd", True),
        ("simd", True),
        ("parallel for", False),
    ):
        for behind in ("y[0] = i;", "for (int k = 0; k < n; k++) y[k] += i;"):
            code = f"int i = 3;\n#pragma omp {pragma}\n{loop}{behind}\n"
            found = read(HEAD + "void f(void) {\n" + code + "}\n")
            reasons = [r.reason for r in found.rejections]
            assert reasons == (["the iterator 'i' is used behind the loop"] if used else []), pragma
    for pragma in ("parallel for lastprivate(i)", "parallel for simd", "simd"):
        found = read(HEAD + f"void f(void) {{\nint i;\n#pragma omp {pragma}\n{loop}}}\n")
        assert found.nests and not found.rejections


def test_a_loop_that_collapse_takes_in_is_not_read_alone() -> None:
    """Without it the pragma would have too few loops; a loop inside of these may be read."""
    again = "#pragma omp declare reduction(my : double : omp_out += omp_in)\n"
    pragma = "double s = 0; int i, j, k;\n#pragma omp parallel for collapse(2) reduction(my: s)\n"
    loops = "for (i = 0; i < n; i++) for (j = 0; j < n; j++) "
    found = read(HEAD + again + "double f(void) {\n" + pragma + loops + "s += A[i][j];\nreturn s; }\n")
    assert not found.nests
    assert "the loop is one that collapse takes into the one around it" in [r.reason for r in found.rejections]
    inner = "{ double t = 0; for (int m = 0; m < n; m++) t += A[i][m] * A[m][j]; s += t; }\n"
    found = read(HEAD + again + "double f(void) {\n" + pragma + loops + inner + "return s; }\n")
    assert len(found.nests) == 1


@pytest.mark.parametrize("clause", ["firstprivate(t)", "linear(t)"])
def test_what_has_a_value_at_first_is_no_race(clause: str) -> None:
    body = f"#pragma omp parallel for {clause}\nfor (i = 0; i < n; i++) {{ x[i] = t; t += 1; }}\n"
    found = read(HEAD + "void f(int t) {\n  int i;\n" + body + "\n}\n")
    assert [r.reason for r in found.rejections] == ["iterations hand 't' on, of which each thread has its own"]
