"""What all searches share."""

from scheduler.search.explorer import in_variety
from scheduler.transform import Tile, Unroll, Vectorize


def test_one_kind_of_schedule_does_not_fill_the_list():
    tiled = [(Tile(("i",), (size,)),) for size in (8, 16, 32)]
    schedules = [*tiled, (Unroll("k", 4),), (Vectorize("j"),)]
    assert in_variety(schedules, [1.01, 1.02, 1.03, 1.3, 9.0]) == [0, 1, 3, 2, 4]
    assert in_variety(schedules, [1.03, 1.02, 1.01, 0.3, 9.0]) == [3, 2, 1, 0, 4]
    again = (*tiled[0], Tile(("j",), (4,)))  # another step of the same kind
    assert in_variety([again, *schedules[1:]], [1.01, 1.02, 1.03, 1.3, 9.0]) == [0, 1, 3, 2, 4]
    assert in_variety([], []) == []
