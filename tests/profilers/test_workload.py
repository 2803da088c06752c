"""Workloads refuse what cannot be filled or placed."""

import pytest

from profilers.contained.errors import ProfilersError
from profilers.workload import ELEMENT_TYPES, Argument, CapturedFill, ConstantFill, RandomFill, Workload


def test_sizes():
    argument = Argument("a", "double", (3, 5), ConstantFill(0), True)
    assert (argument.count, argument.bytes, argument.element_bytes) == (15, 120, 8)
    assert Argument("n", "short", (), ConstantFill(1), False).bytes == 2
    assert len(ELEMENT_TYPES) == 14


@pytest.mark.parametrize(
    ("ctype", "shape", "fill", "offset"),
    [
        ("long double", (1,), ConstantFill(0), 16),
        ("int", (3, 0), ConstantFill(0), 16),
        ("int", (3,), ConstantFill(0.5), 16),
        ("int", (3,), ConstantFill(2**31), 16),
        ("unsigned char", (3,), ConstantFill(-1), 16),
        ("unsigned char", (3,), RandomFill(0, 0, 300), 16),
        ("unsigned char", (3,), RandomFill(0, -2, 3), 16),
        ("int", (3,), RandomFill(0, 0.25, 0.75), 16),
        ("float", (3,), RandomFill(0, 0, 1e39), 16),
        ("double", (3,), ConstantFill(0), 4),
        ("double", (3,), ConstantFill(0), 4096),
    ],
)
def test_impossible_arguments_are_refused(ctype, shape, fill, offset):
    with pytest.raises(ProfilersError):
        Argument("a", ctype, shape, fill, True, alignment_offset=offset)


def test_impossible_fills_and_workloads_are_refused():
    for low, high in ((1, 1), (2, 1), (float("nan"), 1), (0, float("inf"))):
        with pytest.raises(ProfilersError):
            RandomFill(0, low, high)
    with pytest.raises(ProfilersError):
        CapturedFill("x\ny", 0)
    with pytest.raises(ProfilersError):
        Workload("w", "", (), 0)
