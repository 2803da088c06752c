"""Loops that leave out iterations are found, whoever made them; sound ones are proved."""

from dataclasses import replace
from pathlib import Path

import pytest

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
from scheduler.schedule import format_schedule
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
