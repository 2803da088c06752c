"""Minima, maxima and what is noted beside them: the bits of the original, with NaNs, both zeros and ties."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import kernel_source, plain
from scheduler.ir.nest import Storage
from scheduler.ir.text import parse_nest
from scheduler.replay import Illegal, Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from tests.compilers import usable
from tests.scheduler.codegen.support import DTYPES, FAST, RELAXED, build, run, run_checked, with_storage

NEST = """nest extreme {{
  param n: int in [0, ?];
  array m: {ctype};
  array at: long;
  array other: int;
  array A: {ctype}[n];
  array B: int[n];
  for i: int in [0, n) step 1 {{ S0: {body} }}
}}"""
VALUES = {
    "double": [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 5e-324],
    "float": [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -1.0],
    "int": [-(2**31), 2**31 - 1, 0, 1, -1, 2],
    "unsigned int": [0, 2**32 - 1, 1, 2],
    "long": [-(2**63), 2**63 - 1, 0, 1, -1],
}
BRANCH = "if ({c}) {{ m = A[i]; }}"
NOTED = "if ({c}) {{ m = A[i]; at = (long)i; }}"
TWICE = "if (B[i] > 3 && {c}) {{ at = (long)i; m = A[i]; other = B[i] * 2; }}"
INSIDE = "if (B[i] != 1) {{ if ({c}) {{ m = A[i]; at = (long)i; }} }}"
COMPARISONS = ("A[i] > m", "A[i] >= m", "A[i] < m", "A[i] <= m", "m < A[i]", "m <= A[i]", "m > A[i]", "m >= A[i]")
MARKS = (
    "parallelize(i)",
    "parallelize(i, 1, 1)",
    "tile([i], [3]); parallelize(i_t)",
    "tile([i], [2]); parallelize(i_t, 1, 2)",
)


def _data(rng: np.random.Generator, ctype: str, n: int) -> dict[str, np.ndarray]:
    few = rng.choice(np.array(VALUES[ctype], DTYPES[ctype]), rng.integers(1, 5))
    return {
        "m": np.asarray(rng.choice(few if rng.random() < 0.5 else np.array(VALUES[ctype], DTYPES[ctype]))),
        "at": np.asarray(rng.integers(-9, 0)),
        "other": np.asarray(rng.integers(100, 200), np.int32),
        "A": rng.choice(few, max(n, 1)),
        "B": rng.integers(0, 9, max(n, 1)).astype(np.int32),
    }


def _check(folder: Path, text: str, ctype: str, schedule: str, runs: int = 60, cc: str = "gcc") -> None:
    nest = plain(parse_nest(text))
    nest = with_storage(nest, A=Storage.RESTRICT, B=Storage.RESTRICT)  # one text for all sizes
    replayer = Replayer(nest)
    found = replayer.replay(parse_schedule(schedule))
    assert isinstance(found, ScheduledNest), found
    body = emit(found, replayer.of(found.schedule).model)
    source, specs = kernel_source(nest, body)
    original, _ = kernel_source(nest, emit_original(nest))
    fast, slow = (
        build(folder, "fast", source, FAST if cc == "gcc" else RELAXED, cc),
        build(folder, "slow", original, FAST),
    )
    rng = np.random.default_rng(7)
    for count in range(runs):
        n = int(rng.choice([0, 1, 2, 5, 17, 40]))
        data = _data(rng, ctype, n)
        wanted, given = run(slow, specs, {"n": n}, data), run(fast, specs, {"n": n}, data)
        for name, value in wanted.items():
            assert value.tobytes() == given[name].tobytes(), (name, data, value, given[name], body)
        if count == 0:
            checked = run_checked(folder, "checked", source, specs, {"n": n}, data)
            assert all(checked[name].tobytes() == value.tobytes() for name, value in wanted.items())


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """More of them than there are cores, so that they end in any order."""
    library = ctypes.CDLL("libgomp.so.1")
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(3)
    yield
    library.omp_set_num_threads(before)


@pytest.mark.gcc
@pytest.mark.parametrize("ctype", ["double", "float", "int"])
@pytest.mark.parametrize(
    ("form", "comparison"),
    [*((NOTED, c) for c in COMPARISONS[:6]), *zip((BRANCH, TWICE, INSIDE), COMPARISONS[1::3], strict=True)],
)
def test_places_and_values(tmp_path: Path, ctype: str, form: str, comparison: str) -> None:
    mark = MARKS[(COMPARISONS.index(comparison) + len(form)) % len(MARKS)]
    _check(tmp_path, NEST.format(ctype=ctype, body=form.format(c=comparison)), ctype, mark)


@pytest.mark.gcc
@pytest.mark.parametrize("ctype", ["int", "unsigned int", "long"])
@pytest.mark.parametrize(
    "body",
    [
        "if (A[i] > m) { m = A[i]; }",
        "if (m >= A[i]) { m = A[i]; }",
        "m = A[i] > m ? A[i] : m;",
        "m = m < A[i] ? m : A[i];",
        "if (B[i] > 3 && A[i] < m) { m = A[i]; }",
    ],
)
@pytest.mark.parametrize("schedule", ["reverse(i); parallelize(i)", "tile([i], [5]); parallelize(i_t); vectorize(i)"])
def test_integers_in_any_order(tmp_path: Path, ctype: str, body: str, schedule: str) -> None:
    _check(tmp_path, NEST.format(ctype=ctype, body=body), ctype, schedule)


@pytest.mark.gcc
@pytest.mark.parametrize(
    "body",
    [
        "if (B[i] > 6) { other = 1; }",
        "if (B[i] > 6) { other = 0; } else { at += 3; }",
        "if (A[i] > 0.0) { other += 1; at -= (long)B[i]; } else { if (B[i] == 2) { other += 2; } }",
        "other = other | B[i];",
        "at = (long)B[i] + at;",
        "other &= B[i] + 100;",
    ],
)
@pytest.mark.parametrize("schedule", ["reverse(i); parallelize(i)", "vectorize(i)"])
def test_flags_and_counters(tmp_path: Path, body: str, schedule: str) -> None:
    _check(tmp_path, NEST.format(ctype="double", body=body), "double", schedule)


@pytest.mark.gcc
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_compilers(tmp_path: Path, cc: str) -> None:
    cc = usable(cc, "-fopenmp")
    bodies = ("if (A[i] >= m) { m = A[i]; at = (long)i; }", "m = A[i] < m ? A[i] : m;")
    for number, (body, ctype) in enumerate((b, c) for b in bodies for c in ("double", "int")):
        (tmp_path / str(number)).mkdir()
        _check(tmp_path / str(number), NEST.format(ctype=ctype, body=body), ctype, "parallelize(i)", 20, cc)


@pytest.mark.parametrize(
    ("ctype", "body", "schedule"),
    [
        ("double", "if (A[i] > m) { m = A[i]; }", "vectorize(i)"),  # 0.0 or -0.0
        ("double", "if (A[i] > m) { m = A[i]; }", "reverse(i)"),
        ("int", "if (A[i] > m) { m = A[i]; at = (long)i; }", "reverse(i)"),  # the first or the last
        ("int", "if (A[i] > m) { m = A[i]; at = (long)i; }", "vectorize(i)"),
        ("double", "m = m > A[i] ? m : A[i];", "parallelize(i)"),  # takes a NaN and loses it again
        ("double", "m = fmax(m, A[i]);", "parallelize(i)"),
        ("double", "if (!(A[i] <= m)) { m = A[i]; }", "parallelize(i)"),
        ("float", "if ((double)A[i] + 0.1 > (double)m) { m = (double)A[i] + 0.1; }", "parallelize(i)"),  # rounds
        ("int", "if ((unsigned int)A[i] > (unsigned int)m) { m = A[i]; }", "parallelize(i)"),
        ("int", "if (A[i] > m) { m = A[i] + 1; }", "parallelize(i)"),
        ("int", "if (A[i] > m) { m = A[i]; at += (long)i; }", "parallelize(i)"),
        ("int", "if (A[i] > m) { m = A[i]; } else { at = (long)i; }", "parallelize(i)"),
        ("int", "if (A[i] > m) { m = A[i]; other = B[opaque(i * 2)]; }", "parallelize(i)"),  # may not be there
        ("int", "if (A[i] > m && 5 / B[i] > 1) { m = A[i]; }", "parallelize(i)"),  # may divide by zero
        ("int", "if (A[i] > m) { m = A[i]; at = (long)m; }", "parallelize(i)"),
        ("int", "if (B[i] > 6) { other = 1; } else { other = 2; }", "parallelize(i)"),
        ("int", "if (other > 6) { other = 1; }", "parallelize(i)"),
    ],
)
def test_order_matters(ctype: str, body: str, schedule: str) -> None:
    verdict = Replayer(parse_nest(NEST.format(ctype=ctype, body=body))).replay(parse_schedule(schedule))
    assert isinstance(verdict, Illegal)


@pytest.mark.parametrize("body", ["if (A[i] > m) { m = A[i]; }", "m = fmin(A[i], m);", "m = m > A[i] ? m : A[i];"])
def test_floating_point_is_reordered_when_asked(body: str) -> None:
    replayer = Replayer(parse_nest(NEST.format(ctype="double", body=body)), reassociate=True)
    assert isinstance(replayer.replay(parse_schedule("reverse(i); parallelize(i)")), ScheduledNest)
    assert isinstance(replayer.replay(parse_schedule("vectorize(i)")), ScheduledNest)
    noted = NEST.format(ctype="double", body="if (A[i] > m) { m = A[i]; at = (long)i; }")
    assert isinstance(Replayer(parse_nest(noted), reassociate=True).replay(parse_schedule("reverse(i)")), Illegal)


@pytest.mark.gcc
@pytest.mark.parametrize("comparison", ["A[j][i] > m", "m >= A[j][i]"])
@pytest.mark.parametrize("schedule", ["parallelize(j); vectorize(i)", "parallelize(j, 1, 1); vectorize(i)"])
def test_lanes_inside_of_threads(tmp_path: Path, comparison: str, schedule: str) -> None:
    """What the lanes of a vector found counts as found by their thread."""
    text = f"""nest extreme {{ param n: int in [0, ?]; array m: double; array A: double[n][40];
        for j: int in [0, n) step 1 {{ for i: int in [0, 40) step 1 {{
            S0: if ({comparison}) {{ m = A[j][i]; }} }} }} }}"""
    nest = with_storage(plain(parse_nest(text)), A=Storage.RESTRICT)
    replayer = Replayer(nest, reassociate=True)
    found = replayer.replay(parse_schedule(schedule))
    assert isinstance(found, ScheduledNest), found
    source, specs = kernel_source(nest, emit(found, replayer.of(found.schedule).model))
    original, _ = kernel_source(nest, emit_original(nest))
    fast, slow = build(tmp_path, "fast", source, FAST), build(tmp_path, "slow", original, FAST)
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 7, 30):
        for start in (-5.0, 0.5, 5.0):
            data = {"m": np.asarray(start), "A": rng.random((max(n, 1), 40)) + 0.1}
            wanted, given = run(slow, specs, {"n": n}, data), run(fast, specs, {"n": n}, data)
            assert wanted["m"].tobytes() == given["m"].tobytes(), (n, start)
