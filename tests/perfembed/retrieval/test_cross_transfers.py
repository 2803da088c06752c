"""The cross-transfer matrix as it is kept: nothing is filled in, and a kill costs one nest."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfembed.errors import UsageError
from perfembed.retrieval.cross_transfers import (
    Asked,
    Transfers,
    Tried,
    as_line,
    bare,
    choose_anchors,
    export_transfers,
    is_sealed,
    nest_vectors,
    read_anchors,
    read_transfers,
    spooled,
    transfer_shards,
    with_vectors,
    write_anchors,
)
from perfembed.retrieval.donors import StoredDonor
from perfembed.retrieval.nest_space import NestSpace
from scheduler.cost.problem import Problem
from scheduler.ir.text import parse_nest
from scheduler.schedule import parse_schedule
from tests.perfembed.embedding_support import tiny_model
from tests.perfembed.transfer_support import GEMM, MACHINE, MVT

TREES = (
    Tried("interchange(L0, L1)", 2.0, "timed", 0.5, 0.4),
    Tried("tile([L0], [8])", 3.0, "given up", 1.6),
    Tried("vectorize(L0)", 1.0, "does not compile"),
    Tried("parallelize(L0)", 1.5, "timed", 1.25),
)
ASKED = (
    Asked("a", 0, "anchor", 1.0, "fits", 0),
    Asked("b", 1, "near", 0.0, "fits", 1),
    Asked("c", 0, "drawn", 0.25, "fits", 2),
    Asked("d", 0, "drawn", 0.25, "does not fit"),
    Asked("e", 0, "anchor", 1.0, "fits", 3),
)


def row(text: str = GEMM, nest: str = "n", **changes: object) -> Transfers:
    caches = json.dumps([{"level": 1, "size_bytes": 32768}])
    made = Transfers(
        nest, text, "contraction", "seed 1 number 2", "m", "x86_64 avx2", caches, "gcc", ("-O3",), 2, '{"P0":9}',
        "double", 1.1, 1.0, 0.25, TREES, ASKED,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def test_gains_are_of_the_faster_times_and_never_filled_in() -> None:
    gains = [row().gain(one) for one in ASKED]
    assert gains[0] == pytest.approx(math.log(1.0 / 0.4))
    assert gains[1] == gains[3] == gains[4] == 0.0  # given up, does not fit, slower: the nest as written is kept
    assert math.isnan(gains[2])


def test_a_torn_line_is_cut_off_and_the_rest_is_kept(tmp_path: Path) -> None:
    spool = tmp_path / "spool.jsonl"
    assert spooled(spool) == ()
    whole = as_line(row()) + as_line(row(nest="other"))
    spool.write_text(whole + whole[:200])
    assert [one.nest for one in spooled(spool)] == ["n", "other"] and spool.read_text() == whole


def test_a_shard_has_what_no_other_has(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    assert export_transfers([row()], first) == 1
    assert export_transfers([row(), row(nest="other"), row(sizes='{"P0":10}'), row(machine="k")], second) == 3
    assert read_transfers([first]) == (row(),)
    assert [r.key for r in read_transfers(transfer_shards(tmp_path))][1:] == [
        ("other", '{"P0":9}', "m"),
        ("n", '{"P0":10}', "m"),
        ("n", '{"P0":9}', "k"),
    ]
    with pytest.raises(UsageError, match="exists already"):
        export_transfers([row()], first)


def test_what_is_given_away_of_others_programs_are_numbers() -> None:
    space = NestSpace(tiny_model())
    texts = row(sizes="{}"), row(MVT, "mvt", sizes="{}")
    placed = with_vectors(texts, space)
    assert all(one.space == space.space_id and len(one.vector) > 128 for one in placed)
    told = bare(placed[0])
    assert told.text == "" and told.place == "others" and "gemm" not in as_line(told)
    known = nest_vectors([told, placed[1]], space)
    made = nest_vectors(texts, space)
    for key in made:
        np.testing.assert_allclose(known[key], made[key])
    assert nest_vectors([replace(told, space="another")], space) == {}  # neither a text nor numbers of this space


def test_anchors_cover_what_was_measured() -> None:
    """The second anchor is not the second best in the mean, but what helps where the first one does not."""
    schedules = ["interchange(i, j)", "tile([i, j], [8, 8])", "tile([i], [8])", "parallelize(i)"]
    donors = {
        name: StoredDonor(name, name, GEMM + " " * length, name, "p", "m", MACHINE, {}, "double", (schedule,), (4.0,))
        for name, length, schedule in zip("abcde", (0, 0, 0, 9, 0), [*schedules, schedules[3]], strict=True)
    }
    gains = [(4.0, 3.9, 1.0, 1.0), (4.0, 3.9, 1.0, 1.0), (1.0, 1.0, 1.0, 2.0)]
    parsed = tuple(parse_schedule(schedule) for schedule in schedules)
    problems = [Problem(parse_nest(GEMM), {}, MACHINE, parsed, speedups, "g") for speedups in gains]
    assert choose_anchors(problems, donors, 2) == (("a", 0), ("e", 0))  # of two donors of a kind the smaller one


def test_anchors_are_kept(tmp_path: Path) -> None:
    assert read_anchors(tmp_path) == ()
    write_anchors((("a", 0), ("b", 1)), tmp_path / "folder")
    assert read_anchors(tmp_path / "folder") == (("a", 0), ("b", 1))


def test_half_of_the_algorithms_that_are_not_generated_are_sealed() -> None:
    assert 30 < sum(is_sealed(f"algorithm {n}") for n in range(100)) < 70
    assert not any(is_sealed(name) for name in ("contraction", "stencil", "contraction+stencil", "recurrence"))
