"""What donors are worth to each other: asked, spooled, written and read."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from perfembed.embedding.network.schedule_map import ScheduleMap
from perfembed.errors import EnvironmentMissing, UsageError
from perfembed.learning.cost_models import load_cost_model
from perfembed.retrieval.donations import (
    Donation,
    collect_donations,
    export_donations,
    read_donations,
    train_space,
    worth_matrix,
)
from perfembed.retrieval.donor_vectors import seed_donors
from perfembed.retrieval.donors import SEED, donor_shards, read_donors
from perfembed.retrieval.families import related
from perfembed.retrieval.space_training import usable_space


def written(folder: Path, donations: Sequence[Donation]) -> Path:
    """As a shard of donations."""
    lines = [json.dumps({"nest": one.nest, "donations": [asdict(one)]}) for one in donations]
    (folder / "spool.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert export_donations(folder / "spool.jsonl", folder / "some.parquet") == len(donations)
    return folder / "some.parquet"


def test_written_and_read(tmp_path: Path) -> None:
    donations = (Donation("a", "b", 2.5, False), Donation("a", "c", 1.0, True))
    shard = written(tmp_path, donations)
    assert read_donations([shard]) == donations and read_donations([]) == ()
    with pytest.raises(UsageError, match="exists already"):
        export_donations(tmp_path / "spool.jsonl", shard)
    shard.write_bytes(b"PAR1")
    with pytest.raises(UsageError, match="some"):
        read_donations([shard])


@pytest.mark.gcc
def test_donors_of_other_algorithms_are_asked_once(tmp_path: Path) -> None:
    shutil.copy(SEED / "kernels-3.parquet", tmp_path)
    space = usable_space()
    every = seed_donors(space, tmp_path)
    names = ("gemm", "symm", "syrk", "jacobi-2d", "heat-2d", "atax")
    few = replace(every, by_id={key: d for key, d in every.by_id.items() if d.algorithm in names})
    spool, heard = tmp_path / "spool.jsonl", list[str]()
    cost = load_cost_model()
    assert collect_donations(few, space, cost, spool, 1, (1, 2), heard.append) == len(heard) == -(-len(few.by_id) // 2)
    before = spool.read_text()
    with spool.open("a") as file:
        file.write('{"nest": "torn by a ki')
    collect_donations(few, space, cost, spool, 1, (1, 2), heard.append)
    assert spool.read_text() == before
    assert collect_donations(few, space, cost, spool, 1, (1, 1), heard.append, budget_s=0) == len(heard)
    assert collect_donations(few, space, cost, spool, 1, (1, 1), heard.append, known=few.by_id.keys()) == len(heard)
    assert spool.read_text() == before
    collect_donations(few, space, cost, spool, 1, (1, 1), heard.append)
    assert len(spool.read_text().splitlines()) == len(few.by_id) == len(heard)

    export_donations(spool, tmp_path / "donations.parquet")
    found = read_donations([tmp_path / "donations.parquet"])
    algorithm = {key: d.algorithm for key, d in few.by_id.items()}
    assert not any(related(algorithm[one.donor], algorithm[one.nest]) for one in found)
    assert {one.nest for one in found} == few.by_id.keys() and all(one.speedup >= 1 for one in found)
    assert max(one.speedup for one in found if algorithm[one.nest] == "jacobi-2d") > 1.2


def test_worth_is_of_the_best_and_of_drawn_ones_where_nobody_asked() -> None:
    asked = [Donation("a", "b", 4.0, False), Donation("a", "c", 2.0, True), Donation("a", "x", 8.0, False)]
    found = worth_matrix(["a", "b", "c", "d"], asked)
    assert np.isnan(found[1:]).all() and np.isnan(found[0, 0])
    assert found[0, 1:].tolist() == [1.0, 0.5, 0.5]


@pytest.mark.campaign
def test_trained_on_what_ships(tmp_path: Path) -> None:
    shard = donor_shards()[0]
    ids = sorted(read_donors([shard]))
    donations = [Donation(a, b, 1.0 + n % 3, n % 2 == 1) for n, (a, b) in enumerate(pairwise(ids))]
    path = train_space([shard], [written(tmp_path, donations)], 0, tmp_path)
    card = ScheduleMap.load(path).card
    assert card["data"] == [shard.name] and card["donations"] == ["some.parquet"] and 0 < card["worth"] <= 1
    with pytest.raises(UsageError, match="two algorithms"):
        train_space([], [], 0, tmp_path)
    with pytest.raises(UsageError, match="nobody knows"):
        train_space([shard], [], 0, tmp_path)
    with pytest.raises(EnvironmentMissing, match="embedding"):
        usable_space(tmp_path)
