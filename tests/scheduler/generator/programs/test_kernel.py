"""What patterns write with: bounds are proved, values bounded, names and text as meant."""

from __future__ import annotations

import random
from collections.abc import Iterator as Values

import pytest

from scheduler.generator.programs.declarations import Iterator, least, most, trips
from scheduler.generator.programs.kernel import Block, Kernel, OutOfBounds, Style, TooLarge
from scheduler.generator.programs.settings import GeneratorSettings
from scheduler.generator.programs.values import Fill, Opaque, maximum
from scheduler.ir.affine import Affine

N = Affine.of("N")
ROW, COLUMN = Affine.of("i"), Affine.of("j")


def points(around: list[Iterator], values: dict[str, int]) -> Values[dict[str, int]]:
    if not around:
        yield values
        return
    first, *rest = around
    start = max(s.evaluate(values) for s in first.starts)
    stop = min(s.evaluate(values) for s in first.stops)
    for value in range(start, stop, first.step):
        yield from points(rest, {**values, first.name: value})


def test_triangles_are_exact() -> None:
    around = [Iterator("i", (Affine(),), (N,)), Iterator("j", (ROW + 1,), (N,))]
    assert (least(COLUMN - ROW, around, {"N": 9}), most(COLUMN - ROW, around, {"N": 9})) == (1, 8)
    assert (least(COLUMN + ROW, around, {"N": 9}), most(COLUMN + ROW, around, {"N": 9})) == (1, 16)
    assert most(N - COLUMN, around, {"N": 9}) == 8


def test_of_several_bounds_the_best_counts() -> None:
    around = [Iterator("i", (Affine(),), (N,)), Iterator("j", (Affine(), ROW - 2), (N, ROW + 3))]
    assert (least(COLUMN, around, {"N": 9}), most(COLUMN, around, {"N": 9})) == (0, 8)
    assert (least(COLUMN - ROW, around, {"N": 9}), most(COLUMN - ROW, around, {"N": 9})) == (-2, 2)


def test_bounds_hold() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        around: list[Iterator] = []
        for level in range(rng.randint(1, 3)):
            outer = [Affine.of(i.name) for i in around]
            starts = [Affine.constant(rng.randint(0, 2)), *(o + rng.randint(-1, 1) for o in outer)]
            stops = [N, *(o + rng.randint(0, 3) for o in outer)]
            low = tuple(rng.sample(starts, min(len(starts), rng.randint(1, 2))))
            high = tuple(rng.sample(stops, min(len(stops), rng.randint(1, 2))))
            around.append(Iterator("ijk"[level], low, high, rng.choice((1, 1, 2))))
        affine = Affine.constant(rng.randint(-3, 3))
        for iterator in around:
            affine += Affine.of(iterator.name, rng.randint(-2, 2))
        sizes = {"N": rng.randint(1, 6)}
        values = [affine.evaluate(v) for v in points(around, dict(sizes))]
        assert all(least(affine, around, sizes) <= value <= most(affine, around, sizes) for value in values)


def test_trips() -> None:
    around = [Iterator("i", (Affine(),), (N,)), Iterator("j", (Affine(),), (ROW,)), Iterator("p", (N,), (N,), 1, 2.5)]
    assert trips(around, {"N": 100}) == [100, 50, 2.5]
    assert trips([Iterator("i", (Affine.constant(1),), (N,), 4)], {"N": 9}) == [2]
    assert trips([Iterator("i", (N,), (Affine(),))], {"N": 9}) == [0]


def kernel(style: Style = Style.GLOBAL, ctype: str = "double", seed: int = 0) -> Kernel:
    return Kernel(random.Random(seed), GeneratorSettings(), ctype, 1e6, style)


def text(block: Block) -> list[str]:
    return [line for node in block.body for line in ([node] if isinstance(node, str) else [node.head, *text(node)])]


@pytest.mark.parametrize(
    ("start", "stop", "offset"), [(0, 0, 1), (0, 0, -1), (1, 0, -2), (0, -1, 2), (0, 1, 0), (-1, 0, 0)]
)
def test_subscripts_out_of_bounds_are_mistakes(start: int, stop: int, offset: int) -> None:
    k = kernel()
    n = k.extent(100)
    a = k.input(n)
    with pytest.raises(OutOfBounds), k.loop(start, n + stop) as i:
        k.ref(a, i + offset)


def test_both_sizes_are_proved() -> None:
    k = kernel()
    n = k.extent(100)
    a = k.input(n)
    assert k.sizes[0]["NI"] < 99
    with pytest.raises(OutOfBounds):
        k.ref(a, 99)
    with pytest.raises(OutOfBounds):
        k.ref(a, n)
    with pytest.raises(OutOfBounds):
        k.ref(a, 0, 0)
    assert k.ref(a, n - 1) == "A[NI - 1]"


def test_subscripts_out_of_data() -> None:
    k = kernel()
    n, m = k.extent(100), k.extent(50)
    a, where = k.input(m), k.index("col", n, m)
    with k.loop(0, n) as i:
        assert k.ref(a, k.entry(where, i)) == "A[col[i]]"
        with pytest.raises(OutOfBounds):
            k.ref(a, Opaque("col[i]", m + 1))


def test_rows() -> None:
    k = kernel()
    n = k.extent(100)
    begins, entries = k.rows("rowptr", n, 5)
    values = k.input(entries)
    with k.loop(0, n) as i, k.segment(begins, i) as p:
        k.store(k.ref(values, p), "=", "0.0")
    assert text(k.root)[1] == "for (int p = rowptr[i]; p < rowptr[i + 1]; p++)"
    assert 500 < k.work < 600 and begins.fill is Fill.ROWS


@pytest.mark.parametrize(
    ("style", "expected"),
    [(Style.GLOBAL, "A[i + 1][2 * j][NI - k - 1]"), (Style.VLA, "A[i + 1][2 * j][ni - k - 1]")]
    + [(s, "A[((i + 1) * (2 * ni) + 2 * j) * ni + ni - k - 1]") for s in (Style.FLAT, Style.RESTRICT)],
)
def test_styles(style: Style, expected: str) -> None:
    k = kernel(style)
    n = k.extent(100)
    a = k.input(n + 1, n * 2, n)
    with k.loops(n, n, n) as (i, j, m):
        assert k.ref(a, i + 1, j * 2, n - 1 - m) == expected


def test_loops() -> None:
    k = kernel()
    n = k.extent(100)
    with k.loop(0, n, wish="t"), k.loops(n, (1, n - 1), order=(1, 0)) as (i, j), k.loop((0, i - 2), (n, j + 3)):
        k.line("x = 1;")
    with k.loop(1, n, down=True) as i, k.loop(0, i, step=3):
        k.line("x = 1;")
    assert text(k.root) == [
        "for (int t = 0; t < NI; t++)",
        "for (int j = 1; j < NI - 1; j++)",
        "for (int i = 0; i < NI; i++)",
        "for (int k = (0 > i - 2 ? 0 : i - 2); k < (NI < j + 3 ? NI : j + 3); k++)",
        "x = 1;",
        "for (int i = NI - 1; i >= 1; i--)",
        "for (int j = 0; j < i; j += 3)",
        "x = 1;",
    ]
    assert k.loop_count == 6 and k.depth == 4


def test_large_values_are_scaled_where_they_are_read() -> None:
    k = kernel()
    a = k.input(k.extent(100))
    assert k.read(a, 0) == "A[0]"
    k.store(k.ref(a, 0), "+=", "1.0", 5e5)
    assert k.read(a, 0) == "1e-06 * A[0]"
    whole = kernel(ctype="int")
    b = whole.input(whole.extent(100))
    whole.store(whole.ref(b, 0), "+=", "1", 5e5)
    assert whole.read(b, 0) == "(A[0] & 15)"


def test_what_may_overflow_is_refused() -> None:
    for ctype, bound in (("int", 2.2e9), ("float", 1e31)):
        k = kernel(ctype=ctype)
        a = k.input(k.extent(100))
        with pytest.raises(TooLarge):
            k.store(k.ref(a, 0), "+=", "1", bound)


def test_extents_share_the_work() -> None:
    seen = set()
    for seed in range(200):
        k = kernel(seed=seed)
        extents = k.extents(3, 1e6)
        sizes = [k.at(e) for e in extents]
        seen.update(sizes)
        assert all(3 <= size <= 4096 for size in sizes)
        assert 1e5 < sizes[0] * sizes[1] * sizes[2] < 1e7
        assert all(2 <= k.at(e, large=False) <= 8 for e in extents)
    assert min(seen) < 8 and max(seen) > 1000 and len(seen) > 100
    assert any(s & (s - 1) == 0 for s in seen) and any(s % 2 for s in seen)


def test_earlier_results_are_taken_up() -> None:
    taken = 0
    for seed in range(50):
        k = kernel(seed=seed)
        a = k.input(*k.extents(2))
        k.store(k.ref(a, 0, 0), "=", "1.0")
        taken += k.source(2) is a
        assert k.source(1) is not a and k.source(2, largest=0.1) is not a
        assert k.operand(*a.shape[::-1]) is not a or a.shape[0] == a.shape[1]
    assert 30 <= taken < 50


def test_nothing_is_compared_with_itself() -> None:
    rng = random.Random(0)
    assert maximum(rng, "x", "x", "double") == "x"
    for seed in range(30):
        k = kernel(seed=seed)
        a = k.input(k.extent(100))
        assert k.operand(*a.shape, besides=a) is not a


def test_cost() -> None:
    plain, calls = kernel(), kernel()
    for k, line in ((plain, "x = y;"), (calls, "x = exp(y);")):
        with k.loop(0, k.extent(100)):
            k.line(line)
    assert plain.work == 100 and calls.work == 900
    costs = []
    for order in ((0, 1), (1, 0)):
        k = kernel()
        a = k.input(k.extent(1000), k.extent(1001))
        with k.loops(*a.shape, order=order) as at:
            k.store(k.ref(a, *at), "=", "0.0")
        costs.append(k.work)
    assert costs[1] > 2 * costs[0] > 2e6 - 1
    assert k.at(Affine.of("NI") + 1) == 1001
