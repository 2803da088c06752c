"""What all searches share."""

from dataclasses import replace

from scheduler.replay import Replayer
from scheduler.schedule import Tile, Unroll, Vectorize
from scheduler.search.explorer import Candidate, various
from tests.scheduler import nests


def test_one_kind_of_schedule_does_not_fill_the_list():
    replayer = Replayer(nests.nest(nests.GEMM))
    plain = replayer.replay(())
    tiled = [Candidate(_with(plain, Tile(("i",), (size,))), 1.0 + size / 1000) for size in (8, 16, 32)]
    others = [Candidate(_with(plain, Unroll("k", 4)), 1.3), Candidate(_with(plain, Vectorize("j")), 9.0)]
    ranked = sorted([*tiled, *others], key=lambda c: c.seconds)
    assert various(ranked, 1) == tiled[:1]
    assert various(ranked, 3) == [tiled[0], tiled[1], others[0]]
    assert various(ranked, 9) == [tiled[0], tiled[1], others[0], tiled[2], others[1]]


def _with(scheduled, step):
    return replace(scheduled, schedule=(step,))
