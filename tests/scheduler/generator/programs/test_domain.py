"""Bounds of subscripts against enumeration."""

from __future__ import annotations

import random
from collections.abc import Iterator as Values

from scheduler.generator.programs.domain import Iterator, least, most, trips
from scheduler.ir.affine import Affine

N = Affine.of("N")
ROW, COLUMN = Affine.of("i"), Affine.of("j")


def points(around: list[Iterator], values: dict[str, int]) -> Values[dict[str, int]]:
    if not around:
        yield values
        return
    first, *rest = around
    start = max(s.evaluate(values) for s in first.starts)
    stop = min(s.evaluate(values) for s in first.stops)
    for value in range(start, stop, first.step):
        yield from points(rest, {**values, first.name: value})


def test_triangles_are_exact() -> None:
    around = [Iterator("i", (Affine(),), (N,)), Iterator("j", (ROW + 1,), (N,))]
    assert (least(COLUMN - ROW, around, {"N": 9}), most(COLUMN - ROW, around, {"N": 9})) == (1, 8)
    assert (least(COLUMN + ROW, around, {"N": 9}), most(COLUMN + ROW, around, {"N": 9})) == (1, 16)
    assert most(N - COLUMN, around, {"N": 9}) == 8


def test_of_several_bounds_the_best_counts() -> None:
    around = [Iterator("i", (Affine(),), (N,)), Iterator("j", (Affine(), ROW - 2), (N, ROW + 3))]
    assert (least(COLUMN, around, {"N": 9}), most(COLUMN, around, {"N": 9})) == (0, 8)
    assert (least(COLUMN - ROW, around, {"N": 9}), most(COLUMN - ROW, around, {"N": 9})) == (-2, 2)


def test_bounds_hold() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        around: list[Iterator] = []
        for level in range(rng.randint(1, 3)):
            outer = [Affine.of(i.name) for i in around]
            starts = [Affine.constant(rng.randint(0, 2)), *(o + rng.randint(-1, 1) for o in outer)]
            stops = [N, *(o + rng.randint(0, 3) for o in outer)]
            low = tuple(rng.sample(starts, min(len(starts), rng.randint(1, 2))))
            high = tuple(rng.sample(stops, min(len(stops), rng.randint(1, 2))))
            around.append(Iterator("ijk"[level], low, high, rng.choice((1, 1, 2))))
        affine = Affine.constant(rng.randint(-3, 3))
        for iterator in around:
            affine += Affine.of(iterator.name, rng.randint(-2, 2))
        sizes = {"N": rng.randint(1, 6)}
        values = [affine.evaluate(v) for v in points(around, dict(sizes))]
        assert all(least(affine, around, sizes) <= value <= most(affine, around, sizes) for value in values)


def test_trips() -> None:
    around = [Iterator("i", (Affine(),), (N,)), Iterator("j", (Affine(),), (ROW,)), Iterator("p", (N,), (N,), 1, 2.5)]
    assert trips(around, {"N": 100}) == [100, 50, 2.5]
    assert trips([Iterator("i", (Affine.constant(1),), (N,), 4)], {"N": 9}) == [2]
    assert trips([Iterator("i", (N,), (Affine(),))], {"N": 9}) == [0]
