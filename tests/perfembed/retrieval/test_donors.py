"""Donors out of a database and out of shards: which ones, their vectors, and what is left out."""

from pathlib import Path

import numpy as np
import pytest

from optdb.database import Database
from optdb.record_queries import embeddings
from optdb.records import ProfileRecord
from perfembed.errors import UsageError
from perfembed.retrieval.donor_vectors import database_donors, seed_donors
from perfembed.retrieval.donors import (
    Found,
    StoredDonor,
    accepting,
    alike,
    asked_besides,
    behaving,
    closest,
    export_donors,
    nearest,
)
from perfembed.retrieval.families import LeftOut
from perfembed.retrieval.nest_space import NestSpace, parts
from perfembed.retrieval.options import SAME
from profilers.profile import Profile
from scheduler.ir.text import parse_nest
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from tests.optdb.support import filled, one, store
from tests.perfembed.embedding_support import tiny_model
from tests.perfembed.transfer_support import GEMM, MACHINE

SPACE = NestSpace(tiny_model())


def database(folder: Path, nests: int = 6) -> Path:
    path = folder / "a.db"
    filled(path, nests, 8 * nests).close()
    return path


def test_donors_of_a_database_have_schedules_that_can_be_used_and_vectors_that_are_kept(tmp_path: Path) -> None:
    path = database(tmp_path)
    donors = database_donors(path, SPACE)
    assert len(donors.by_id) == len(donors.index.ids) >= 3
    for donor in donors.by_id.values():
        replayer = Replayer(parse_nest(donor.text))
        assert list(donor.speedups) == sorted(donor.speedups, reverse=True) and donor.speedups[-1] > 1.05
        assert len(set(donor.schedules)) == len(donor.schedules) == len(donor.speedups)
        for schedule in donor.schedules:
            assert isinstance(replayer.replay(parse_schedule(schedule)), ScheduledNest)
    with Database.open(path, read_only=True) as opened:
        assert set(embeddings(opened, SPACE.space_id, static_only=True).nest_ids) == set(donors.by_id)
    again = database_donors(path, SPACE)
    assert again.by_id == donors.by_id and again.index.ids == donors.index.ids


def test_donors_with_a_profile_are_looked_for_by_it(tmp_path: Path) -> None:
    """A profile of the donor's own machine and sizes moves its vector; one of other sizes, or of nobody's, does not."""
    path = database(tmp_path)
    plain = database_donors(path, SPACE)
    assert plain.profiled is not None and not plain.profiled().ids
    first, second, *_ = plain.by_id.values()
    counts = (("l1_replacements", (1e6, 2e6)), ("loads", (3e6, 4e6)))
    profile = Profile("simulated", first.machine, 2, 0.01, 64, counts)
    with Database.open(path) as opened:
        kept = {
            row[0]: row[1]
            for row in opened.rows(
                "SELECT DISTINCT m.nest_id, m.conditions_id FROM _store.measurements m JOIN _store.conditions c "
                "USING (conditions_id) WHERE c.machine = ?",
                [first.machine],
            )
        }
        store(opened, ProfileRecord(first.nest_id, kept[first.nest_id], "simulated", profile.to_json()))
    donors = database_donors(path, SPACE)
    assert donors.profiled is not None
    moved = donors.profiled()
    assert not np.array_equal(moved.vector(first.nest_id), donors.index.vector(first.nest_id))
    assert moved.ids == (first.nest_id,)
    wanted = moved.vector(first.nest_id)
    own = donors.index.vector(second.nest_id)
    assert wanted is not None and own is not None
    learned = parts(len(own))["learned"]
    near = nearest([donors], own, 9)
    found = behaving([donors], near, wanted, learned)
    assert near[0].donor.nest_id == second.nest_id  # has no profile, so it comes behind, with all others in their order
    assert found[0].donor.nest_id == first.nest_id and found[0].distance < 1e-4
    assert [f.donor for f in found[1:]] == [f.donor for f in near if f.donor.nest_id != first.nest_id]
    assert [f.distance for f in found] == sorted(f.distance for f in found)


def test_an_unverified_nest_is_no_donor(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with filled(path, 1, 1) as opened:
        opened.execute("DELETE FROM _store.measurements")
        store(opened, one(1, verified=False, verified_on=(), verify_seeds=(), kind="search"))
    assert not database_donors(path, SPACE).by_id


def test_seed_donors_and_their_vectors_are_cached_and_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "seed"
    count = export_donors(database(tmp_path), folder / "a.parquet")
    first = seed_donors(SPACE, folder)
    assert len(first.by_id) == count
    cache = folder / "vectors.index"
    before = cache.read_bytes()
    assert set(seed_donors(SPACE, folder).index.ids) == set(first.index.ids) and cache.read_bytes() == before
    cache.write_bytes(before[:-7] + b"damaged")
    assert set(seed_donors(SPACE, folder).index.ids) == set(first.index.ids) and cache.read_bytes() == before
    other = seed_donors(NestSpace(tiny_model(1)), folder)
    assert other.index.model_id != first.index.model_id and set(other.index.ids) == set(first.index.ids)
    with pytest.raises(UsageError, match="exists already"):
        export_donors(tmp_path / "a.db", folder / "a.parquet")


def test_nearest_leaves_out_what_it_is_told_to(tmp_path: Path) -> None:
    donors = database_donors(database(tmp_path), SPACE)
    wanted = next(iter(donors.by_id.values()))
    vector = donors.index.vector(wanted.nest_id)
    assert vector is not None
    found = nearest([donors, donors], vector, 3)
    assert found[0].donor == wanted and found[0].distance == pytest.approx(0, abs=1e-3)
    assert len({f.donor.nest_id for f in found}) == len(found) == 3
    assert [f.distance for f in found] == sorted(f.distance for f in found)
    assert all(
        f.donor.nest_id != wanted.nest_id
        for f in nearest([donors], vector, 9, accepting(without_nests=[wanted.nest_id]))
    )
    others = nearest([donors], vector, 9, accepting(LeftOut([wanted.algorithm])))
    assert all(f.donor.algorithm != wanted.algorithm for f in others)
    assert np.isfinite([f.distance for f in others]).all()


def test_the_closest_of_what_was_found_twice() -> None:
    def found(name: str, distance: float) -> Found:
        return Found(StoredDonor(name, name, GEMM, "a", "a.c", "m", MACHINE, {}, "double", ("",), (2.0,)), distance)

    whole, core = [found("a", 2.0), found("b", 3.0)], [found("b", 1.0), found("c", 2.5)]
    assert [(f.donor.name, f.distance) for f in closest([*whole, *core], 2)] == [("b", 1.0), ("a", 2.0)]
    assert closest([], 5) == ()


def test_donors_with_something_in_common() -> None:
    def donor(machine: str, element_type: str, text: str) -> StoredDonor:
        return StoredDonor("0" * 16, "n", text, "a", "a.c", machine, MACHINE, {}, element_type, (), ())

    plain, assuming = GEMM, GEMM.replace("nest gemm {", "nest gemm {\n  param n: int;\n  assume n - 8 >= 0;")
    own = donor("here", "double", plain)
    others = {
        "machine": donor("there", "double", plain),
        "type": donor("here", "float", plain),
        "assumptions": donor("here", "double", assuming),
    }
    assert alike(parse_nest(plain), "here", ()) is None
    for thing in SAME:
        accept = alike(parse_nest(plain), "here", (thing,))
        assert accept is not None and accept(own)
        assert [name for name, other in others.items() if not accept(other)] == [thing]
    accept = alike(parse_nest(assuming), "here", SAME)
    assert accept is not None and accept(own) and accept(others["assumptions"])


def donor(*schedules: str, speedups: tuple[float, ...] = ()) -> StoredDonor:
    return StoredDonor(
        "0" * 16, "n", "", "a", "a.c", "here", MACHINE, {}, "double", schedules, speedups or (2.0,) * len(schedules)
    )


def test_recipes_are_asked_besides_those_of_neighbours(tmp_path: Path) -> None:
    donors = database_donors(database(tmp_path), SPACE)
    first, second, third = list(donors.by_id.values())[:3]
    vector, other = donors.index.vector(first.nest_id), donors.index.vector(second.nest_id)
    assert vector is not None and other is not None
    near = [Found(first, 0.0)]
    asked = [(first.nest_id, 0), (second.nest_id, 0), ("nobody", 0), (third.nest_id, 0), (second.nest_id, 0)]
    found = asked_besides([donors, donors], asked, vector, near)
    assert [(one.donor.nest_id, list(one.numbers)) for one in found] == [(second.nest_id, [0]), (third.nest_id, [0])]
    assert found[0].distance == pytest.approx(float(np.linalg.norm(other - vector)))
    left = asked_besides([donors], asked, vector, near, accepting(without_nests=[second.nest_id]))
    assert [one.donor.nest_id for one in left] == [third.nest_id]
