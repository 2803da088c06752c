"""Loops that leave out iterations are found, whoever made them; sound ones are proved."""

from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.tuning.rewrite import Rewrite
from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.tree.ast import Walker, variable_names
from scheduler.codegen.tree.blocks import BlockMaker, find_groups
from scheduler.codegen.tree.coverage import uncovered
from scheduler.codegen.tree.nodes import Branch, CNode, For, IntOp, add, with_bodies
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.computed.factorization import factorizations
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.moves.space import Space
from scheduler.replay import Replayer
from scheduler.schedule import format_schedule, parse_schedule
from tests.rewriting import check_runs, read, rewritten
from tests.scheduler import nests
from tests.scheduler.codegen.support import GEMM, check_same, scheduled

LOST = """nest lost { param n: int in [1, ?]; array A: double[n + 1][n + 1][n + 2];
for i: int in [n - 1, -1) step -2 { for j: int in [0, n) step 1 { for k: int in [0, n) step 1 {
S0: A[i + 1][j][k] = 0.5 * A[i][j + 1][k + 1] + 0.1; } } } }"""
BY_ISL = "tile([j], [3]); interchange(i, j_t); tile([j_t, i], [2, 2]); skew(j_t, i, 1)"
BLOCKED = "interchange(i, j); tile([i, j, k], [16, 32, 24]); interchange(k, i); register_block([i, j], [6, 8])"


def made(text: str, schedule: str) -> tuple[tuple[CNode, ...], PolyTree]:
    one, model = scheduled(parse_nest(text), schedule)
    poly = PolyTree(model, one.tree)
    variables, groups = variable_names(poly), find_groups(poly)
    walker = Walker(poly, variables, BlockMaker(poly, variables, groups).unit)
    return walker.nodes(poly.generate(one.tree, units=groups), {}), poly


def test_what_isl_loses_is_found() -> None:
    assert uncovered(*made(LOST, BY_ISL)) == "some of S0 would not run"
    with pytest.raises(CodegenUnsupported, match="some of S0 would not run"):
        emit(*scheduled(parse_nest(LOST), BY_ISL), checked=True)


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        (GEMM, ""),
        (GEMM, BLOCKED.replace("interchange(i, j); ", "").replace("interchange(k, i); ", "")),
        (nests.JACOBI, "tile([t], [4]); reverse(j2)"),
        (LOST, "tile([i, j], [5, 3]); reverse(k)"),
        (nests.CHOLESKY, "sink(S3, k2, i); fuse(j, k2); tile([i, j], [32, 64])"),
    ],
)
def test_sound_loops_are_proved(text: str, schedule: str) -> None:
    assert uncovered(*made(text, schedule)) == ""


@pytest.mark.campaign
@pytest.mark.parametrize("text", [nests.LU, nests.CHOLESKY])
def test_blocked_factorizations_are_proved(text: str) -> None:
    space = Space(Replayer(nests.nest(text)), Target(2), {"n": 2000})
    assert uncovered(*made(text, format_schedule(factorizations(space)[0]))) == ""


def test_data_decides() -> None:
    assert uncovered(*made(nests.SPMM, "interchange(p, j)")) is None


def changed(nodes: tuple[CNode, ...], how: str, done: list[bool]) -> tuple[CNode, ...]:
    found: list[CNode] = []
    for node in nodes:
        if isinstance(node, For) and not done and how in ("short", "long", "step"):
            done.append(True)
            by = {"short": -1, "long": 1, "step": 0}[how]
            node = replace(node, stop=add(node.stop, Affine.constant(by)), step=node.step + (how == "step"))
        elif isinstance(node, For) and not done and how == "guard":
            done.append(True)
            condition = IntOp(">", (Affine.of(node.var), Affine.constant(0)))
            node = replace(node, body=(Branch(condition, node.body),))
        elif not done and how == "twice":
            done.append(True)
            found.append(node)
        else:
            node = with_bodies(node, lambda body: changed(body, how, done))
        found.append(node)
    return tuple(found)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ("short", "would not run"),
        ("long", "outside its loops"),
        ("step", "would not run"),
        ("guard", "would not run"),
        ("twice", "runs twice"),
    ],
)
@pytest.mark.parametrize("schedule", ["", "tile([i, j], [4, 8])", "register_block([i, j], [2, 4])"])
def test_faults_planted_in_the_loops_are_found(how: str, problem: str, schedule: str) -> None:
    nodes, poly = made(GEMM, schedule)
    found = uncovered(changed(nodes, how, []), poly)
    if how == "long" and schedule:  # the loop over blocks goes a step too far only where none begins
        assert found in ("", "S0 would run outside its loops")
    else:
        assert found is not None and problem in found


@pytest.mark.gcc
def test_the_same_schedule_without_the_skew_computes_the_same(tmp_path: Path) -> None:
    check_same(tmp_path, parse_nest(LOST), BY_ISL.replace("; skew(j_t, i, 1)", ""), {"n": 3}, {"n": 4})


EMPTY = b"""#include <stdio.h>
#include <stdlib.h>
static int first[3] = { 4, 7, 5 }, last[3] = { 9, 7, 2 };
static double a[16], b[16], c[16][8];
int main(void)
{
    for (int k = 0; k < 3; k++) {
        for (int i = first[k]; i < last[k]; i++) {
            a[i] += i + 1;
            b[i] = b[i] * 0.5 + i;
        }
    }
    for (int k = 0; k < 3; k++) {
        for (int i = first[k]; i < last[k]; i++) {
            for (int j = 0; j < 8; j++) {
                c[i][j] += i + j;
            }
            a[i] += 2;
        }
    }
    for (int i = 0; i < 16; i++) printf("%g %g %g %g\\n", a[i], b[i], c[i][0], c[i][7]);
    return 0;
}
"""


NESTED = rb"""#include <stdio.h>
static int row[9] = {0, 3, 3, 5, 5, 5, 9, 9, 12}, back[9] = {4, 0, 3, 9, 2}, grows[10];
static double a[64], b[64];
void rows(int n) {
    for (int i = 0; i < n; i++)
        for (int j = row[i]; j < row[i + back[0] - 3]; j++) { a[j] += i; b[j] += 2 * j; }
}
void grown(int n) {
    for (int i = 0; i < n; i++) {
        grows[i + 1] = grows[i] + back[i] % 3;
        for (int j = grows[i]; j < grows[i + 1]; j++) { a[j] += i; b[j] += a[j]; }
    }
}
void down(int n) { for (int i = back[n]; i-- > 0;) { a[i] += 3; b[i] += 5; } }
void deep(int n) {
    for (int i = 0; i < n; i++)
        for (int k = back[i]; k < 4; k++)
            for (int j = row[k]; j < row[k + 1]; j++) { a[j] += i; b[j] += 2 * k; }
}
int main(void) {
    rows(8); grown(6); down(1); down(0); down(2); deep(5);
    double s = 0;
    int k = 0;
    while (k < 64) { s = s * 1.37 + a[k] + 0.3 * b[k]; k++; }
    printf("%.17g\n", s);
}
"""


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("program", "function", "schedule"),
    [
        (EMPTY, "main", "shift(i, S0, 1); shift(i_2, S2, 1)"),
        (EMPTY, "main", "shift(i, S1, 2); reverse(i); shift(i_2, S3, 1); tile([i_2], [2])"),
        (EMPTY, "main", "reverse(i); shift(i, S1, -1); shift(i_2, S2, 2); unroll(i_2, 4)"),
        (EMPTY, "main", "shift(i, S0, 3); tile([i], [4]); shift(i_2, S3, 1); vectorize(j)"),
        (NESTED, "rows", "shift(j, S1, 1)"),
        (NESTED, "rows", "tile([j], [3]); shift(j, S1, 1)"),
        (NESTED, "down", "shift(i, S1, 1)"),
        (NESTED, "down", "tile([i], [3]); shift(i, S1, 1)"),
        (NESTED, "deep", "shift(j, S1, 1)"),
        (NESTED, "grown", "tile([i], [2]); pack(i, back, [0]); shift(j, S2, 1)"),
    ],
)
def test_statements_apart_from_an_empty_loop_over_data(
    tmp_path: Path, program: bytes, function: str, schedule: str
) -> None:
    """They run nowhere where the loop has no iteration, also where its limit lies below its start."""
    source = read(tmp_path / "program.c", program)
    (nest,) = (nest for nest in source.nests if nest.function == function)
    check_runs(source, rewritten(source, [Rewrite(nest, parse_schedule(schedule), 1.0)]), tmp_path)
