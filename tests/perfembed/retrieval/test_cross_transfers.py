"""The cross-transfer matrix as it is kept: nothing is filled in, and a kill costs one nest."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfembed.errors import UsageError
from perfembed.learning.cost_models import load_boosted
from perfembed.retrieval.cross_transfers import (
    Asked,
    Transfers,
    Tried,
    as_line,
    bare,
    export_transfers,
    is_sealed,
    nest_vectors,
    read_transfers,
    spooled,
    transfer_shards,
    with_predictions,
    with_vectors,
)
from perfembed.retrieval.nest_space import NestSpace
from tests.perfembed.embedding_support import tiny_model
from tests.perfembed.transfer_support import GEMM, MVT

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
    assert math.isnan(row().gain(Asked("f", 0, "drawn", 0.25, "not asked: no time")))


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


def test_half_of_the_algorithms_that_are_not_generated_are_sealed() -> None:
    assert 30 < sum(is_sealed(f"algorithm {n}") for n in range(100)) < 70
    assert not any(is_sealed(name) for name in ("contraction", "stencil", "contraction+stencil", "recurrence"))


def test_predictions_know_what_the_nest_takes() -> None:
    tried = [Tried(text, 9.0) for text in ("interchange(i, j)", "tile([i, j], [8, 8]); parallelize(i_t)")]
    known = row(trees=(*tried, Tried("", 7.0, "no canonical form")), seconds=0.004, again=0.004)
    slower = replace(known, seconds=0.4, again=0.4)
    found, other = (with_predictions([one], load_boosted())[0] for one in (known, slower))
    said = [t.predicted for t in found.trees]
    assert said[2] == 7.0 and 9.0 not in said and said[:2] != [t.predicted for t in other.trees][:2]
    assert with_predictions([bare(known)], load_boosted()) == (bare(known),)
