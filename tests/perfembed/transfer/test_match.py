"""Matching: least total distance, within what may be matched at all."""

from itertools import combinations

import numpy as np
import pytest

from perfembed.transfer.assignment import assign, distances, in_order
from perfembed.transfer.match import Matcher
from perfembed.transfer.view import Part
from scheduler.schedule import parse_schedule
from tests.perfembed.transfer_support import GEMM, JACOBI, LINE, MVT, TRANSPOSED, TWO, side


def partners(first, second, order="outer", **parts):
    found = Matcher(**parts).match(first, second, {}, (order,))
    return {a: pair.target for a, pair in next(found)[1].loops.items()}


def test_distances_do_not_depend_on_the_scale_of_the_embedding():
    rng = np.random.default_rng(0)
    one = {k: rng.normal(size=8).astype(np.float32) for k in "abc"}
    other = {k: rng.normal(size=8).astype(np.float32) for k in "xy"}
    plain = distances(tuple(one), tuple(other), one, other)
    scaled = distances(
        tuple(one), tuple(other), {k: v * 1000 for k, v in one.items()}, {k: v * 1000 for k, v in other.items()}
    )
    assert plain.shape == (3, 2) and (plain > 0).all() and (plain <= 1).all()
    assert np.allclose(plain, scaled)
    assert distances(("a",), ("a",), one, one)[0, 0] == 0


def test_an_assignment_never_takes_what_is_forbidden():
    assert assign(np.array([[1e6, 0.5], [1e6, 0.1]])) == [(1, 1)]
    assert assign(np.array([[0.9, 0.5], [0.2, 0.1]])) == [(0, 1), (1, 0)]
    assert assign(np.zeros((0, 3))) == []


@pytest.mark.parametrize("seed", range(20))
def test_pairs_in_order_are_the_cheapest_that_do_not_cross(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 5, 2)
    costs = rng.random((rows, columns))
    costs[rng.random(costs.shape) < 0.2] = 1e6
    options = []
    for count in range(min(rows, columns) + 1):
        for ours in combinations(range(rows), count):
            for theirs in combinations(range(columns), count):
                pairs = list(zip(ours, theirs, strict=True))
                if all(costs[pair] < 1e5 for pair in pairs):
                    options.append((-count, sum(float(costs[pair]) for pair in pairs)))
    found = in_order(costs)
    assert found == sorted(found) and len({c for _, c in found}) == len(found)
    assert (-len(found), pytest.approx(sum(float(costs[pair]) for pair in found))) == min(options)


@pytest.mark.parametrize("text", [GEMM, MVT, JACOBI, TWO])
def test_a_nest_matches_itself(text):
    view = side(text).view(())
    _, found = next(Matcher().match(view, view, {}))
    assert all(pair.donor == pair.target and pair.distance == 0 for pair in found.pairs())
    assert {pair.donor for pair in found.loops.values()} == set(view.loops)


def test_loops_go_by_what_they_do_not_by_where_they_stand():
    first, second = side(GEMM).view(()), side(TRANSPOSED).view(())
    assert partners(first, second, "free")["k"] == "c"  # both carry the sum
    assert partners(first, second, "free")["i_2"] == "a"
    outer = partners(first, second, "outer")
    assert [outer[n] for n in ("i_2", "j_2", "k") if n in outer] == sorted(
        (outer[n] for n in ("i_2", "j_2", "k") if n in outer), key="acb".index
    )


def test_one_band_goes_to_one_band():
    found = partners(side(GEMM).view(()), side(TWO).view(()))
    assert {found[n] for n in ("i_2", "j_2", "k")} in ({"i", "j", "k"}, {"p", "q", "r"})


def test_by_level_loops_of_different_depth_are_never_partners():
    found = partners(side(JACOBI).view(()), side(LINE).view(()), "level")
    assert found["t"] == "t" and {found["i"], found["i_2"]} == {"i", "j"} and "j" not in found


def test_loops_of_different_kinds_are_never_partners():
    donor, target = side(GEMM), side(TWO)
    first = donor.view(parse_schedule("tile([i_2, j_2], [32, 32])"))
    second = target.view(parse_schedule("tile([p], [32])"))
    kinds = [(first.kinds[a], second.kinds[b]) for a, b in partners(first, second, "free").items()]
    assert kinds and all(a == b for a, b in kinds)


def test_known_partners_are_kept():
    view = side(GEMM).view(())
    swapped = {"i_2": "j_2", "j_2": "i_2"}
    _, found = next(Matcher().match(view, view, swapped, ("outer",)))
    assert found.loops["k"].target == "k"
    (_, free) = list(Matcher().match(view, view, swapped))[1]
    assert (free.loops["i_2"].target, free.loops["j_2"].target) == ("j_2", "i_2")


def test_parts_leave_out_statements_and_hidden_loops():
    view = side(JACOBI).view(())
    found = partners(view, view, donor_part=Part(hidden=frozenset("t")), target_part=Part(frozenset(("S1",))))
    assert "t" not in found and set(found.values()) <= {"t", "i_2", "j_2"}


def test_statements_and_arrays_have_one_partner_each():
    _, found = next(Matcher().match(side(GEMM).view(()), side(TWO).view(()), {}))
    for pairs in (found.statements, found.arrays):
        assert len({pair.target for pair in pairs.values()}) == len(pairs)
    assert found.statements["S1"].target in ("S1", "S3")
