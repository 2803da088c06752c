"""Rewritten files compile where the nests stand, among the user's own declarations, and print the same."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from scheduler.codegen.emit.emit_c import emit
from scheduler.errors import CodegenUnsupported
from scheduler.frontend import ParseOptions, read_source
from scheduler.ir.nest import LoopNest
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import Schedule, parse_schedule
from tests.rewriting import identity, read, rewritten, surveyed, without_originals

KERNELS = Path(__file__).parents[2] / "kernels"


def normalized(nest: LoopNest) -> Schedule | None:
    """Fissioned, with better strides, fused again, parallel and vectorized; None where no code comes of it."""
    replayer = Replayer(nest)
    space = Space(replayer, Target(2), {p.name: 100 for p in nest.parameters})
    schedule = space.vectorized(space.parallelized(max(space.structures(), key=len)))
    verdict = replayer.replay(schedule)
    if not isinstance(verdict, ScheduledNest):
        return None
    try:
        emit(verdict, replayer.model)
    except CodegenUnsupported:
        return None
    return schedule


def printed(source: Path) -> bytes:
    program = source.with_suffix("")
    command = ["gcc", "-O1", "-w", "-DSMALL", "-fopenmp", "-ffp-contract=off", "-iquote", str(KERNELS), str(source)]
    subprocess.run([*command, "-o", str(program), "-lm"], check=True, timeout=120)
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    return subprocess.run([str(program)], check=True, capture_output=True, timeout=60, env=environment).stdout


@pytest.mark.gcc
@pytest.mark.parametrize("kernel", sorted(path.stem for path in KERNELS.glob("*.c")))
def test_kernel(kernel: str, tmp_path: Path) -> None:
    path = KERNELS / f"{kernel}.c"
    content = path.read_bytes()
    source = read_source(path, ParseOptions(("-DSMALL",)), content)
    found = [(nest, normalized(nest)) for nest in source.nests]
    rewrites = [Rewrite(nest, schedule, 2.0) for nest, schedule in found if schedule is not None]
    assert rewrites
    before, after = tmp_path / "before.c", tmp_path / "after.c"
    before.write_bytes(content)
    written = rewritten(source, rewrites, ("-DSMALL",))
    after.write_bytes(without_originals(written))
    assert printed(after) == printed(before)


@pytest.mark.gcc
def test_expanded_scalar_beside_the_original(tmp_path: Path) -> None:
    """The text that runs where memory is short uses the user's `t`; the expanded one needs another name. It stands in
    the file twice, with labels of its own."""
    content = b"""#include <stdio.h>
double A[900][900], B[900][900];
static void f(void)
{
    int i, j;
    double t;
    for (i = 0; i < 900; i++)
        row: for (j = 0; j < 900; j++) {
            t = A[i][j] * 2;
            B[j][i] = t + 1;
        }
}
int main(void) { f(); printf("%g\\n", B[3][4]); return 0; }
"""
    before, after = tmp_path / "before.c", tmp_path / "after.c"
    before.write_bytes(content)
    source = read_source(before, ParseOptions(()), content)
    (nest,) = source.nests
    written = rewritten(
        source, [Rewrite(nest, parse_schedule("distribute(j, 1); distribute(i, 1); parallelize(i)"), 2.0)]
    )
    after.write_bytes(written)
    assert b"pe_alloc" in written and written.count(b"row:") == 2 and b"{ __label__ row;" in written
    assert printed(after) == printed(before)


@pytest.mark.gcc
def test_a_written_file_is_tuned_again(tmp_path: Path) -> None:
    """Function by function: the helper functions of each have names of their own; what was written before stays."""
    content = b"""#include <stdio.h>
double A[900][900], B[900][900];
void f(void) { double t; for (int i = 0; i < 900; i++) for (int j = 0; j < 900; j++) { t = A[i][j] + 1; B[j][i] = t; } }
void g(void) { double t; for (int i = 0; i < 900; i++) for (int j = 0; j < 900; j++) { t = B[i][j] + 1; A[j][i] = t; } }
int main(void) { f(); g(); printf("%g %g\\n", A[3][4], B[3][4]); return 0; }
"""
    before, after = tmp_path / "before.c", tmp_path / "after.c"
    text = content
    before.write_bytes(content)
    for function in (b"f", b"g"):
        source = read(after, text)
        (nest,) = [
            n for n in source.nests if n.span and text[n.span.begin - 60 : n.span.begin].count(b"void " + function)
        ]
        text = rewritten(
            source, [Rewrite(nest, parse_schedule("distribute(j, 1); distribute(i, 1); parallelize(i)"), 2.0)]
        )
    after.write_bytes(without_originals(text))
    assert text.count(b" *pe_alloc(unsigned long pe_size)") == text.count(b" *pe2_alloc(unsigned long pe2_size)") == 1
    assert printed(after) == printed(before)


ROOTS = b"""#include <math.h>
double a[50];
void roots(void) { for (int i = 0; i < 50; i++) a[i] = sqrt(a[i]); }
"""


@pytest.mark.gcc
@pytest.mark.parametrize("behind", [b"", b"#include <errno.h>\n", b"#include <fenv.h>\n"])
def test_roots_report_where_the_file_may_look_further_down(tmp_path: Path, behind: bytes) -> None:
    written = identity(read(tmp_path / "roots.c", ROOTS + behind))
    assert b"pe_sqrt(a[i])" in written and (b"sqrtf64" in written) is not behind.startswith(b"#")


@pytest.mark.gcc
def test_roots_report_where_another_file_may_look(tmp_path: Path) -> None:
    source = read(tmp_path / "roots.c", ROOTS)
    looked_at = replace(surveyed(source), errno=True)
    written = rewrite_source(source, [Rewrite(source.nests[0], (), 1.0)], 32, looked_at)
    assert b"__builtin_sqrt(" in written and b"sqrtf64" not in written


@pytest.mark.gcc
def test_a_store_that_changes_a_size(tmp_path: Path) -> None:
    """A pointer may lead to the variable that bounds the loop: that is found out when the code runs."""
    content = b"""#include <stdio.h>
int n;
__attribute__((noinline)) void add(int *a, int k) { for (int i = 0; i < n; i++) a[0] += i - k; }
__attribute__((noinline)) void set(int *a, int m, int *p) { *p = m; for (int i = 0; i < m; i++) a[0] = 3 * i; }
static int local(int m, int to)
{
    int *p = to ? &m : &n;
    for (int i = 0; i < m; i++) p[0] = i < 5 ? 7 : 40;
    return m + *p;
}
int main(void)
{
    int a[2] = { 1, 2 }, m = 9;
    n = 1000;
    add(a, 3); printf("%d\\n", a[0]);
    add(&n, 300); printf("%d\\n", n);
    n = 20; add(&n, 2); printf("%d\\n", n);
    set(&m, 12, &m); printf("%d\\n", m);
    printf("%d %d\\n", local(30, 0), local(30, 1));
    return 0;
}
"""
    before, after = tmp_path / "before.c", tmp_path / "after.c"
    before.write_bytes(content)
    source = read_source(before, ParseOptions(()), content)
    add, *others = source.nests
    assert add.parameters[0].exposed
    rewrites = [Rewrite(add, parse_schedule("parallelize(i)"), 2.0), *(Rewrite(nest, (), 2.0) for nest in others)]
    after.write_bytes(rewritten(source, rewrites))
    assert printed(after) == printed(before)
    assert b"&n, &n + 1" in after.read_bytes() and b"&m, &m + 1" in after.read_bytes()


@pytest.mark.gcc
def test_parameters_that_only_a_schedule_counts_with_are_tested(tmp_path: Path) -> None:
    source = read(
        tmp_path / "a.c",
        b"""#include <stdio.h>
static int a[64], b[64];
__attribute__((noinline)) static void f(unsigned n, unsigned long o)
{
    for (unsigned i = 0; i < n; i++) {
        a[i] += 1;
        b[(unsigned char)(i - o) & 63] += 2;
    }
}
int main(void)
{
    f(20, 3);
    f(30, -1ul);
    int i = 0;
    while (i < 64) { printf("%d %d\\n", a[i], b[i]); i++; }
    return 0;
}
""",
    )
    (nest,) = source.nests
    written = rewritten(source, [Rewrite(nest, parse_schedule("shift(i, S0, o)"), 1.0)])
    for name, text in (("original", source.content), ("written", written)):
        (tmp_path / f"{name}.c").write_bytes(text)
        subprocess.run(["gcc", "-O1", "-w", "-fopenmp", f"{name}.c", "-o", name], cwd=tmp_path, check=True)
    said = [
        subprocess.run([tmp_path / name], capture_output=True, check=True).stdout for name in ("original", "written")
    ]
    assert said[0] == said[1]
