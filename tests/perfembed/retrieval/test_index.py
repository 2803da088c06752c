"""The index against all distances; filters; the cache file and its damages."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from optdb.records import EmbeddingRecord
from perfembed.retrieval.index import VectorIndex, database_index, open_index
from tests.evaluation.index import bench_index
from tests.optdb.support import filled, store

Vectors = npt.NDArray[np.float32]
COUNT, DIMENSION = 600, 16


@pytest.fixture(scope="module")
def data() -> tuple[tuple[str, ...], Vectors]:
    vectors = np.random.default_rng(3).standard_normal((COUNT, DIMENSION), dtype=np.float32)
    return tuple(f"nest{n}" for n in range(COUNT)), vectors


def nearest(ids: Sequence[str], vectors: Vectors, query: Vectors, k: int, allowed: npt.NDArray[np.bool_]) -> list[str]:
    distances = np.linalg.norm(vectors - query, axis=1)
    return [ids[n] for n in np.argsort(distances) if allowed[n]][:k]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.6, 0.1, 0.01])
def test_filtered_search_finds_k_where_there_are_k(
    data: tuple[tuple[str, ...], Vectors], exact: bool, share: float
) -> None:
    ids, vectors = data
    index = VectorIndex.build(ids, vectors, "m", exact)
    assert index.is_exact is exact
    rng = np.random.default_rng(int(share * 100))
    allowed = rng.random(COUNT) < share
    wanted_total = found_total = 0
    for query in rng.standard_normal((20, DIMENSION), dtype=np.float32):
        found = index.search(query, 10, only=allowed)
        assert len(found) == min(10, allowed.sum())
        assert all(allowed[int(n.id[4:])] for n in found)
        assert [n.distance for n in found] == sorted(n.distance for n in found)
        reference = nearest(ids, vectors, query, 10, allowed)
        first = np.linalg.norm(vectors[int(found[0].id[4:])] - query)
        assert found[0].distance == pytest.approx(first, rel=1e-4)
        wanted_total += len(reference)
        found_total += len({n.id for n in found} & set(reference))
    assert found_total == wanted_total if exact or share <= 0.2 else found_total >= 0.95 * wanted_total


def test_exclusion(data: tuple[tuple[str, ...], Vectors]) -> None:
    ids, vectors = data
    index = VectorIndex.build(ids, vectors, "m")
    query = vectors[7]
    everything = index.search(query, 4)
    assert everything[0].id == "nest7" and everything[0].distance == pytest.approx(0, abs=1e-3)
    assert index.search(query, 3, exclude={"nest7", "unknown"}) == everything[1:]
    assert index.search(query, 3, exclude=lambda i: i == "nest7") == everything[1:]
    only = index.mask([everything[2].id, everything[0].id])
    assert [n.id for n in index.search(query, 5, only=only, exclude=["nest7"])] == [everything[2].id]
    assert index.search(query, 5, exclude=ids) == ()
    assert index.search(query, 0) == ()
    assert len(index.search(query, 10_000)) == COUNT


def test_empty() -> None:
    index = VectorIndex.build((), np.zeros((0, DIMENSION), dtype=np.float32), "m")
    assert index.search(np.zeros(DIMENSION, dtype=np.float32), 5) == ()


def test_refused(data: tuple[tuple[str, ...], Vectors]) -> None:
    ids, vectors = data
    with pytest.raises(ValueError, match="16 numbers"):
        VectorIndex.build(ids, vectors, "m").search(np.zeros(4, dtype=np.float32), 1)
    with pytest.raises(ValueError, match="all different"):
        VectorIndex.build(("a",) * COUNT, vectors, "m")
    with pytest.raises(ValueError, match="not finite"):
        VectorIndex.build(ids, np.where(vectors > 2, np.float32(np.nan), vectors), "m")


class Source:
    """Counts how often the database is asked."""

    def __init__(self, data: tuple[tuple[str, ...], Vectors]) -> None:
        self.data, self.asked = data, 0

    def __call__(self) -> tuple[tuple[str, ...], Vectors]:
        self.asked += 1
        return self.data


@pytest.mark.parametrize("exact", [True, False])
def test_round_trip(tmp_path: Path, data: tuple[tuple[str, ...], Vectors], exact: bool) -> None:
    built = VectorIndex.build(*data, "m", exact)
    built.save(tmp_path / "x.index", "s")
    loaded = VectorIndex.load(tmp_path / "x.index", "m", "s")
    assert loaded is not None and loaded.ids == built.ids and loaded.is_exact is exact
    for query in data[1][:20]:
        assert loaded.search(query, 5) == built.search(query, 5)
    assert [p.name for p in tmp_path.iterdir()] == ["x.index"]


def test_cache_is_used_until_model_or_database_change(tmp_path: Path, data: tuple[tuple[str, ...], Vectors]) -> None:
    path, source = tmp_path / "db.index", Source(data)
    for model, stamp, asked in (("m", "1", 1), ("m", "1", 1), ("m", "2", 2), ("m", "2", 2), ("n", "2", 3)):
        index = open_index(path, model, stamp, source)
        assert (source.asked, index.model_id) == (asked, model)


def test_every_flipped_bit_is_noticed(tmp_path: Path, data: tuple[tuple[str, ...], Vectors]) -> None:
    path, source = tmp_path / "db.index", Source(data)
    good = open_index(path, "m", "1", source).search(data[1][0], 20)
    content = path.read_bytes()
    rng = np.random.default_rng(5)
    places = [*range(0, 260), *rng.integers(260, len(content), 140)]
    for number, place in enumerate(places):
        damaged = bytearray(content)
        damaged[place] ^= 1 << (number % 8)
        path.write_bytes(damaged)
        assert VectorIndex.load(path, "m", "1") is None, place
    assert open_index(path, "m", "1", source).search(data[1][0], 20) == good
    assert source.asked == 2 and path.read_bytes() == content  # made again, and stored again
    for length in (0, 5, 40, 200, len(content) - 1):
        path.write_bytes(content[:length])
        assert VectorIndex.load(path, "m", "1") is None
    path.write_bytes(content + b"x")
    assert VectorIndex.load(path, "m", "1") is None


def test_folder_that_cannot_be_written(tmp_path: Path, data: tuple[tuple[str, ...], Vectors]) -> None:
    index = open_index(tmp_path / "missing" / "db.index", "m", "1", Source(data))
    assert len(index.search(data[1][0], 3)) == 3


def test_beside_a_database(tmp_path: Path, data: tuple[tuple[str, ...], Vectors]) -> None:
    with filled(tmp_path / "a.duckdb") as database:
        assert database_index(database, "m").search(data[1][0], 3) == ()
        ids = [nest_id for (nest_id,) in database.rows("SELECT nest_id FROM _store.nests ORDER BY nest_id")]
        rows = [EmbeddingRecord(i, "m", None, tuple(map(float, v))) for i, v in zip(ids, data[1], strict=False)]
        store(database, *rows[:2])
        found = database_index(database, "m", static_only=True).search(data[1][1], 9)
        assert (found[0].id, len(found)) == (ids[1], 2)
        assert ids[2] not in {n.id for n in database_index(database, "m").search(data[1][2], 9)}
        store(database, rows[2])
        found = database_index(database, "m").search(data[1][2], 9)  # not from the cache: the database has one more
        assert (found[0].id, len(found)) == (ids[2], 3)
        assert database_index(database, "other").search(data[1][2], 9) == ()
        assert {p.suffixes[-2] for p in tmp_path.glob("a.duckdb.*.index")} == {".static", ".profiled"}


def test_ids_of_any_text(tmp_path: Path) -> None:
    ids = ("a\nb", "ü", '"', json.dumps({"x": 1}))
    index = VectorIndex.build(ids, np.eye(4, dtype=np.float32), "m")
    index.save(tmp_path / "i", "s")
    loaded = VectorIndex.load(tmp_path / "i", "m", "s")
    assert loaded is not None and loaded.ids == ids


def test_bench() -> None:
    found = bench_index(3000, 32, seed=1, queries=30, exact=False)
    assert (found.count, found.dimension, found.exact) == (3000, 32, False)
    assert found.recall_at_10 > 0.9 and 0 < found.p50_ms <= found.p99_ms and found.bytes > 3000 * 32 * 4
    assert bench_index(500, 8, queries=10).recall_at_10 == 1.0
