"""The layout of the map: kept, found again, made again where anything differs; new nests among the old ones."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from perfembed.mapping.embed_file import PlacedNest
from perfembed.mapping.plane import cached_table, layout_key, map_points, place_among
from perfembed.report.map_page import map_page
from perfembed.retrieval.donors import StoredDonor
from perfembed.retrieval.retrieve import open_sources
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import Replayer
from tests.perfembed.retrieval.test_retrieve import DONORS, SPACE, stored
from tests.perfembed.transfer_support import GEMM, GEMM_SCHEDULE, MACHINE, MVT, MVT_SCHEDULE

KEY = "ab" * 32
TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


class Making:
    """Counts how often a table had to be made."""

    def __init__(self, table: npt.NDArray[np.float32] = TABLE) -> None:
        self.table, self.count = table, 0

    def __call__(self) -> npt.NDArray[np.float32]:
        self.count += 1
        return self.table


def test_made_once(tmp_path: Path) -> None:
    make = Making()
    for _ in range(3):
        assert (cached_table(KEY, (4, 3), make, tmp_path / "not" / "yet") == TABLE).all()
    assert make.count == 1
    assert [p.name for p in (tmp_path / "not" / "yet").iterdir()] == [f"layout-{KEY[:16]}.table"]
    assert (cached_table(KEY, (4, 3), make, tmp_path / "empty", tmp_path / "not" / "yet") == TABLE).all()
    assert make.count == 1 and not (tmp_path / "empty").exists(), "found in another folder"
    other = Making(TABLE + 1)
    assert (cached_table(KEY[:16] + "cd" * 24, (4, 3), other, tmp_path / "not" / "yet") == TABLE + 1).all()
    assert other.count == 1, "a key with the same beginning is another one"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:10] + bytes((data[10] ^ 1,)) + data[11:],
        lambda data: data[:-5] + bytes((data[-5] ^ 1,)) + data[-4:],
        lambda data: data[:60] + data[61:] + b"0",
    ],
)
def test_a_damaged_file_is_made_again(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    make = Making()
    cached_table(KEY, (4, 3), make, tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert (cached_table(KEY, (4, 3), make, tmp_path) == TABLE).all() and make.count == 2
    assert file.read_bytes() == whole and len(list(tmp_path.iterdir())) == 1


def test_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    make = Making()
    for cache in (None, tmp_path / "file", tmp_path / "file" / "below"):
        assert (cached_table(KEY, (4, 3), make, cache) == TABLE).all()
    assert make.count == 3 and (tmp_path / "file").read_text() == "in the way"


def test_few_files_are_kept(tmp_path: Path) -> None:
    for number in range(7):
        cached_table(f"{number:064x}"[::-1], (4, 3), Making(), tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    assert (tmp_path / f"layout-{'6' + '0' * 15}.table").exists(), "the last one is not among those that go"


def test_the_key_is_of_all_it_depends_on() -> None:
    one, two = stored(GEMM, "gemm", GEMM_SCHEDULE), stored(MVT, "mvt", MVT_SCHEDULE)
    vectors = np.eye(2, 5, dtype=np.float32)
    keys = {
        layout_key([one, two], vectors, "s", 0),
        layout_key([two, one], vectors, "s", 0),
        layout_key([one, two], vectors * 2, "s", 0),
        layout_key([one, two], vectors, "t", 0),
        layout_key([one, two], vectors, "s", 1),
        layout_key([one, replace(two, sizes={"n": 3})], vectors, "s", 0),
        layout_key([one, replace(two, target=Target(64))], vectors, "s", 0),
    }
    assert len(keys) == 7
    assert layout_key([one, replace(two, place="elsewhere.c")], vectors.copy(), "s", 0) in keys


def test_a_new_nest_lies_where_its_neighbours_lie() -> None:
    rng = np.random.default_rng(3)
    centres = np.array([[0, 0, 0], [20, 0, 0], [0, 20, 0]], dtype=np.float32)
    vectors = np.concatenate([rng.normal(c, 1, (30, 3)) for c in centres]).astype(np.float32)
    plane = np.concatenate([rng.normal(c[:2] * 3, 0.5, (30, 2)) for c in centres]).astype(np.float32)
    for centre in centres:
        x, y = place_among(centre, vectors, plane)
        assert np.hypot(x - 3 * centre[0], y - 3 * centre[1]) < 1
    near = place_among(vectors[4], vectors, plane)
    assert np.hypot(*(np.array(near) - plane[4])) < 1
    assert place_among(vectors[0], vectors[:1], plane[:1]) == pytest.approx(tuple(plane[0]))
    same = np.zeros((20, 3), dtype=np.float32)
    assert place_among(same[0], same, plane[:20]) == pytest.approx(tuple(plane[:15].mean(axis=0)), abs=1e-5)


def test_a_map_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vector = SPACE.vector(Replayer(parse_nest(GEMM)), {}, MACHINE)
    own = [PlacedNest("mine", 7, "0" * 16, vector), PlacedNest("unreadable", 9, "1" * 16, None)]
    first = map_points([DONORS], own, "a.c", SPACE, 0, tmp_path)
    assert [p.name for p in first] == ["gemm", "mvt", "mine"] and first[2].own and first[2].place == "a.c:7"
    assert all(len(p.metrics) == 20 for p in first[:2])

    def never(*_: object) -> None:
        raise AssertionError("laid out again")

    for name in ("_plane", "_metrics"):
        monkeypatch.setattr(f"perfembed.mapping.plane.{name}", never)
    assert map_points([DONORS], own, "a.c", SPACE, 0, tmp_path) == first
    assert map_points([DONORS], (), "", SPACE, 0, tmp_path) == first[:2], "a file's nests change nothing of the others"
    with pytest.raises(AssertionError):
        map_points([DONORS], own, "a.c", SPACE, 1, tmp_path)
    page = map_page(first, "t")
    assert "weighted mean" in page and "weighted mean" not in map_page(first[:2], "t")


def test_few_new_donors_do_not_lay_out_the_others_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    gemm, mvt = stored(GEMM, "gemm", GEMM_SCHEDULE), stored(MVT, "mvt", MVT_SCHEDULE)
    base = {f"{k:016x}": replace(mvt, nest_id=f"{k:016x}") for k in range(30)}
    vectors = {name: rng.standard_normal(5).astype(np.float32) for name in base}
    changed = replace(base["0" * 16], speedups=(99.0,))
    newer = {gemm.nest_id: gemm, "0" * 16: changed}
    first, second = (
        Sources(base, vectors),
        Sources(newer, {gemm.nest_id: vectors[f"{3:016x}"], "0" * 16: vectors["0" * 16]}),
    )
    laid_out: list[int] = []

    def plane(vectors: npt.NDArray[np.float32], seed: int) -> npt.NDArray[np.float64]:
        laid_out.append(len(vectors))
        return vectors[:, :2].astype(np.float64)

    monkeypatch.setattr("perfembed.mapping.plane._plane", plane)
    alone = map_points([first], (), "", SPACE, 0, tmp_path)  # type: ignore[list-item]
    both = map_points([first, second], (), "", SPACE, 0, tmp_path)  # type: ignore[list-item]
    assert laid_out == [30] and len(both) == 31
    assert [(p.x, p.y) for p in both[:29]] == [(p.x, p.y) for p in alone[1:]]
    assert [p.name for p in both[29:]] == ["gemm", "mvt"] and both[30].speedup == 99.0 and len(both[29].metrics) == 20
    many = {f"{k:016x}": replace(mvt, nest_id=f"{k:016x}") for k in range(40, 45)} | newer
    more = Sources(many, dict.fromkeys(many, vectors["0" * 16]))
    assert len(map_points([first, more], (), "", SPACE, 0, tmp_path)) == 36 and laid_out == [30, 36]  # type: ignore[list-item]


class Sources:
    """Donors with vectors of our own."""

    def __init__(self, by_id: dict[str, StoredDonor], vectors: dict[str, npt.NDArray[np.float32]]) -> None:
        self.by_id, self.vectors, self.index = by_id, vectors, self

    def vector(self, nest_id: str) -> npt.NDArray[np.float32] | None:
        return self.vectors.get(nest_id)


def test_a_file_without_donors() -> None:
    own = [PlacedNest(name, 1, name, np.ones(3, dtype=np.float32)) for name in ("a", "b")]
    found = map_points([], own, "a.c", SPACE, 0)
    assert [(p.x, p.y) for p in found] == [(0.0, 0.0), (1.0, 0.0)] and not map_points([], (), "", SPACE, 0)


def test_what_ships_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else `perfembed db map --no-db` takes a minute; what it leaves in its cache then belongs beside the donors."""

    def never(*_: object) -> None:
        raise AssertionError("laid out again")

    monkeypatch.setattr("perfembed.mapping.plane._plane", never)
    space, sources = open_sources(None)
    points = map_points(sources, (), "", space, 0, None)
    assert len(points) == len(sources[0].by_id) and len({(p.x, p.y) for p in points}) > len(points) / 2
