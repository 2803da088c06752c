"""Samples become shares of loops: the innermost one that runs, or the one that calls."""

from pathlib import Path

from perfembed.inspection.shares import LoopShare, RunShares, loop_shares
from scheduler.frontend import ParseOptions, read_source

TEXT = b"""#include <stdio.h>
double a[100];
void helper(void);
void f(int n)
{
    for (int t = 0; t < n; t++) {
        helper();
        for (int i = 0; i < 100; i++)
            a[i] += 1;
    }
}
"""


def shares(stacks: dict[tuple[tuple[str, int], ...], int]) -> RunShares:
    source = read_source("f.c", ParseOptions((), "gcc"), TEXT)
    return loop_shares({"S": source}, stacks, 1, 1.0, 1.0)


def by_line(run: RunShares) -> dict[int, LoopShare]:
    return {loop.line: loop for loop in run.loops}


def test_own_and_inclusive(tmp_path: Path) -> None:
    found = shares(
        {
            (("S", 9), ("S", 20)): 5,  # in the nest
            (("lib.c", 9), ("S", 7)): 3,  # in what the refused loop calls
            (("S", 6),): 1,
            (("S", 30), ("lib.c", 7)): 1,
        }
    )
    loops = by_line(found)
    nest, refused = loops[8], loops[7]
    assert (nest.nest, nest.reason, nest.share, nest.inclusive) == ("f_0", "", 0.5, 0.5)
    assert "helper" in refused.reason
    assert (refused.share, refused.inclusive) == (0.4, 0.9)
    assert abs(found.elsewhere - 0.1) < 1e-9
    assert [loop.line for loop in found.loops] == [8, 7]


def test_several_files() -> None:
    """A sample is that of the file whose line is innermost; the loop of another file that calls it has it inside."""
    other = b"double b[9];\nvoid helper(void)\n{\n    for (int i = 0; i < 9; i++)\n        b[i] += 1;\n}\n"
    sources = {
        "S": read_source("f.c", ParseOptions((), "gcc"), TEXT),
        "T": read_source("g.c", ParseOptions((), "gcc"), other),
    }
    found = loop_shares(sources, {(("T", 5), ("S", 7)): 3, (("S", 9),): 1}, 1, 1.0, 1.0)
    shown = {(loop.file, loop.line): (loop.share, loop.inclusive) for loop in found.loops}
    assert shown[("g.c", 4)] == (0.75, 0.75) and shown[("f.c", 8)] == (0.25, 0.25)
    assert shown[("f.c", 7)] == (0.0, 1.0) and found.elsewhere == 0.0


def test_recursion_counts_once() -> None:
    found = shares({(("S", 9), ("S", 7), ("S", 7)): 4})
    assert by_line(found)[7].inclusive == 1.0
    assert by_line(found)[7].share == 0.0


def test_nothing_sampled() -> None:
    found = shares({})
    assert found.samples == 0
    assert all(loop.share == 0 for loop in found.loops)


def test_a_loop_around_nests_is_not_listed() -> None:
    """Nor does the loop around it get what its own statements cost."""
    text = b"""static void step(double *a, int n) { for (int i = 0; i < n; i++) a[i] = 2; }
void f(double *a, int n)
{
    for (int s = 0; s < n; s++)
        for (int t = 0; t < n; t++) {
            step(a, n);
            a[0] = 1;
        }
    while (a[0] > 1)
        for (int t = 0; t < n; t++) {
            step(a, n);
            a[0] = 1;
        }
}
"""
    source = read_source("f.c", ParseOptions((), "gcc"), text)
    stacks = {(("S", 1), ("S", 6)): 6, (("S", 7),): 1, (("S", 12),): 3}
    found = loop_shares({"S": source}, stacks, 1, 1.0, 1.0)
    assert {(loop.line, bool(loop.reason)): (loop.share, loop.inclusive) for loop in found.loops} == {
        (1, False): (0.6, 0.6),
        (9, True): (0.0, 0.3),
    }
    assert abs(found.elsewhere - 0.4) < 1e-9
