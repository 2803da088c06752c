"""Profiles with gaps: whole counters go missing, and other sources' profiles have what their machines count."""

import numpy as np
import pytest

from perfembed.embedding.network.interface import SOURCES, profile_width
from perfembed.embedding.network.losses import as_counted_by, with_gaps
from profilers.counters import STATISTICS, counters
from profilers.mapping import event_maps

EACH = len(STATISTICS)


def profiles(count: int) -> np.ndarray:  # type: ignore[type-arg]
    """Counts 1, 2, 3, … of the simulation."""
    rows = np.zeros((count, profile_width()), dtype=np.float32)
    rows[:, : -len(SOURCES)] = np.arange(1, profile_width() - len(SOURCES) + 1)
    rows[:, -len(SOURCES)] = 1
    return rows


def test_counters_go_missing_as_a_whole_and_sources_are_marked() -> None:
    given = profiles(400)
    found = with_gaps(given, np.random.default_rng(1))
    assert not np.isnan(given).any()  # copies
    counts, sources = found[:, : -len(SOURCES)], found[:, -len(SOURCES) :]
    missing = np.isnan(counts).reshape(len(given), len(counters()), EACH)
    assert (missing.all(axis=2) == missing.any(axis=2)).all() and (sources.sum(axis=1) == 1).all()
    lacking = missing.all(axis=2)
    known_gaps = {
        tool: {
            tuple(c.name not in {mapped.name for mapped in one.counters} for c in counters())
            for one in event_maps(tool)
        }
        for tool in ("perf", "likwid")
    }
    for row, source, gaps in zip(counts, sources, lacking, strict=True):
        ratio = row / given[0, : -len(SOURCES)]
        if source[0]:
            assert gaps.all() or np.nanmax(ratio) == np.nanmin(ratio) == 1
        else:
            assert tuple(gaps.tolist()) in known_gaps[SOURCES[int(source.argmax())]]
            noise = ratio.reshape(-1, EACH)[~gaps]
            np.testing.assert_allclose(noise, np.repeat(noise[:, :1], EACH, axis=1), rtol=1e-5)
            assert 0.5 < noise.min() < noise.max() < 2
    whole = (~lacking.any(axis=1)).mean()
    assert 0.4 <= whole < 0.7 and 0.2 < (sources[:, 0] == 0).mean() < 0.4
    assert {s for s in SOURCES if sources[:, SOURCES.index(s)].any()} == set(SOURCES)


def test_none_stays_none_and_the_same_seed_gives_the_same() -> None:
    nothing = np.full((50, profile_width()), np.nan, dtype=np.float32)
    assert np.isnan(with_gaps(nothing, np.random.default_rng(0))).all()
    one, same = (with_gaps(profiles(20), np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one, same)
    assert with_gaps(nothing[:0], np.random.default_rng(0)).shape == (0, profile_width())


def test_what_one_map_counts() -> None:
    row = tuple(profiles(1)[0].tolist())
    found = as_counted_by("likwid-zen3", row)
    assert found is not None and as_counted_by("likwid-zen3", None) is None
    names = [c.name for c in counters()]
    loads, fp64 = names.index("loads") * EACH, names.index("fp64_scalar") * EACH
    assert found[loads : loads + EACH] == row[loads : loads + EACH] and np.isnan(found[fp64 : fp64 + EACH]).all()
    assert found[-len(SOURCES) :] == (0, 0, 1)


@pytest.mark.parametrize("tool", ["perf", "likwid"])
def test_every_map_leaves_something(tool: str) -> None:
    assert all(one.counters for one in event_maps(tool))
