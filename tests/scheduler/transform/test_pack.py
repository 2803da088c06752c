"""Packing follows the loops that an array is read along."""

from dataclasses import replace

import pytest

from perfembed.transfer.candidates import candidates
from perfembed.transfer.match import Matcher
from perfembed.transfer.state import TransferState
from scheduler.schedule import parse_schedule
from scheduler.transform import Pack
from scheduler.transform.transfer import NoCounterpart, Pair
from tests.perfembed.transfer_support import GEMM, GEMM_SCHEDULE, MVT, TRANSPOSED, donor, side

BLOCKED = "tile([j_2, k, i_2], [280, 304, 204]); interchange(k, i_2); register_block([i_2, j_2], [6, 8])"


def packed(step, target, schedule, loop):
    one, other = side(GEMM), side(target)
    before = parse_schedule(GEMM_SCHEDULE)[:5]
    ours, theirs = one.view(before), other.view(parse_schedule(schedule))
    (_, matching), *_ = Matcher().match(ours, theirs, {})
    matching = replace(matching, loops={**matching.loops, step.loop: Pair("loop", step.loop, loop, 0.0)})
    made = TransferState(one, other, ours, theirs, matching, step, ()).counterpart()
    return made.adapted[0], made.literal[0], made.pairs[1]


def test_a_transposed_operand_is_packed_the_other_way_round():
    schedule = (
        "interchange(c, b); interchange(a, b); interchange(a, c); tile([b, c, a], [160, 140, 90]); interchange(c, a); "
        "register_block([a, b], [6, 16])"
    )
    adapted, literal, pair = packed(Pack("k_t", "B", (1, 0), 1, 8), TRANSPOSED, schedule, "c_t")
    assert adapted == Pack("c_t", "Y", (0, 1), 0, 16)  # Y[b][c]: its panels are of the block's 16 columns
    assert literal == Pack("c_t", "Y", (0, 1), 0, 8)
    assert (pair.donor, pair.target) == ("B", "Y")


def test_the_other_operand_is_not_taken_for_it():
    schedule = GEMM_SCHEDULE[: GEMM_SCHEDULE.index("; pack")]
    adapted, _, _ = packed(Pack("i_2_t", "A", (0, 1), 0, 6), GEMM, schedule, "i_2_t")
    assert adapted == Pack("i_2_t", "A", (0, 1), 0, 6)


def test_what_is_written_or_read_along_other_loops_is_not_packed():
    for array in ("C", "Q"):
        with pytest.raises(NoCounterpart, match=f"the donor does not read {array}"):
            packed(Pack("k_t", array, (0, 1)), GEMM, "", "i_2")


@pytest.mark.gcc
def test_a_whole_recipe_with_packs_reaches_the_transposed_product():
    best = candidates(donor(GEMM, GEMM_SCHEDULE), side(TRANSPOSED))[0]
    arrays = {step.array for step in best.scheduled.schedule if isinstance(step, Pack)}
    assert arrays == {"X", "Y"}


@pytest.mark.gcc
def test_what_is_read_once_is_not_packed():
    found = candidates(donor(GEMM, GEMM_SCHEDULE), side(MVT))
    assert found and not any(isinstance(step, Pack) for c in found for step in c.scheduled.schedule)


@pytest.mark.gcc
def test_a_donor_whose_loops_were_split_keeps_its_packs():
    """Both parts of a split loop come from the same one; only the part that is packed says which iterator is which."""
    scaled = """nest scaled {
      array A: double[900][800]; array B: double[800][700]; array C: double[900][700];
      for i: int in [0, 900) step 1 { for j: int in [0, 700) step 1 {
        S0: C[i][j] *= 1.5;
        for k: int in [0, 800) step 1 { S1: C[i][j] += A[i][k] * B[k][j]; }
      } }
    }"""
    recipe = (
        "distribute(j, 1); distribute(i, 1); interchange(j_d, k); interchange(i_d, j_d); "
        "tile([j_d, k, i_d], [280, 304, 204]); interchange(k, i_d); register_block([i_d, j_d], [6, 8]); "
        "pack(i_d_t, A, [0, 1], 0, 6); pack(k_t, B, [1, 0], 1, 8); parallelize(i); parallelize(j_d_t)"
    )
    best = candidates(donor(scaled, recipe), side(GEMM))[0]
    assert {step.array for step in best.scheduled.schedule if isinstance(step, Pack)} == {"A", "B"}
