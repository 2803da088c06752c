"""Contractions: matrix products in every layout and loop order, matrix-vector products, tensor contractions."""

from __future__ import annotations

from scheduler.generator.programs.arrays import Array
from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import constant, literal
from scheduler.ir.affine import Affine


def contraction(k: Kernel) -> None:
    depth = k.settings.depth
    forms = [_vector] * 2 + [_matrix] * 5 * (depth >= 3) + [_tensor] * 2 * (depth >= 4) + [_rank_one] * (depth >= 2)
    k.rng.choice(forms)(k) if depth >= 2 else _weighted(k)


def _weighted(k: Kernel) -> None:
    a = k.source(1)
    b, c = k.operand(*a.shape), k.input(*a.shape)
    with k.loops(*a.shape) as (i,):
        k.store(k.ref(c, i), "+=", f"{k.read(a, i)} * {k.read(b, i)}", 256)


def _matrix(k: Kernel) -> None:
    """C (+)= A B with A or B transposed, scaled, in any loop order; the result cleared in the nest or before it."""
    rng = k.rng
    left = k.source(2, work=k.share ** (2 / 3))
    transposed = rng.random() < 0.3
    n, p = left.shape[::-1] if transposed else left.shape
    (m,) = k.extents(1, k.share / (k.at(n) * k.at(p)), most=k.settings.most_extent)
    turned = rng.random() < 0.3
    right = k.operand(m, p) if turned else k.operand(p, m)
    result = k.input(n, m)
    scale = f"{constant(rng, k.ctype)} * " if rng.random() < 0.3 else ""
    form = rng.choice(("update", "cleared", "cleared", "inside", "local"))
    bound = 1024.0 * k.at(p)

    def product(i: Affine, j: Affine, r: Affine) -> str:
        a = k.read(left, r, i) if transposed else k.read(left, i, r)
        return f"{scale}{a} * {k.read(right, j, r) if turned else k.read(right, r, j)}"

    if form in ("inside", "local"):
        with k.loops(n, m, order=k.order(2, 0.8)) as (i, j):
            if form == "inside":
                k.store(k.ref(result, i, j), rng.choice(("=", "*=")), literal(0, k.ctype), 0)
                with k.loop(0, p) as r:
                    k.store(k.ref(result, i, j), "+=", product(i, j, r), bound)
            else:
                total = k.local("acc", literal(0, k.ctype))
                with k.loop(0, p) as r:
                    k.line(f"{total} += {product(i, j, r)};")
                k.store(k.ref(result, i, j), rng.choice(("=", "+=")), total, bound)
        return
    if form == "cleared":
        with k.loops(n, m) as (i, j):
            k.store(k.ref(result, i, j), "=", literal(0, k.ctype), 0)
    with k.loops(n, m, p, order=k.order(3, 0.45)) as (i, j, r):
        k.store(k.ref(result, i, j), "+=", product(i, j, r), bound)


def _vector(k: Kernel) -> None:
    """A x, A^T x, or both in one nest."""
    rng = k.rng
    matrix = k.source(2)
    n, m = matrix.shape
    form = rng.choice(("plain", "plain", "transposed", "both"))
    x, y = k.operand(m), k.input(n)
    u, v = (k.operand(n), k.input(m)) if form != "plain" else (x, y)
    with k.loops(n, m, order=k.order(2, 0.7)) as (i, j):
        entry = k.read(matrix, i, j)
        if form != "transposed":
            k.store(k.ref(y, i), "+=", f"{entry} * {k.read(x, j)}", 256.0 * k.at(m))
        if form != "plain":
            k.store(k.ref(v, j), "+=", f"{entry} * {k.read(u, i)}", 256.0 * k.at(n))


def _rank_one(k: Kernel) -> None:
    """A += u v^T, or two of them."""
    a = k.source(2)
    n, m = a.shape
    pairs = [(k.operand(n), k.operand(m)) for _ in range(k.rng.randint(1, 2))]
    with k.loops(n, m, order=k.order(2, 0.7)) as (i, j):
        value = " + ".join(f"{k.read(u, i)} * {k.read(v, j)}" for u, v in pairs)
        k.store(k.ref(a, i, j), "+=", value, 512)


def _tensor(k: Kernel) -> None:
    """Four to six indices, each in two of three operands; dimensions of every operand and loops in any order."""
    rng = k.rng
    count = rng.randint(4, min(6, k.settings.depth))
    shape = k.extents(count, k.share)
    kinds = ["left", "right", "summed", *(rng.choice(("left", "right", "summed", "batch")) for _ in range(count - 3))]

    def having(*wanted: str) -> list[int]:
        places = [p for p, kind in enumerate(kinds) if kind in wanted]
        return [places[p] for p in k.order(len(places), 0.6)]

    def array(places: list[int]) -> Array:
        return k.operand(*(shape[p] for p in places))

    lefts, rights = having("left", "summed", "batch"), having("right", "summed", "batch")
    results = having("left", "right", "batch")
    a, b, c = array(lefts), array(rights), k.input(*(shape[p] for p in results))
    length = 1.0
    for place in having("summed"):
        length *= k.at(shape[place])
    with k.loops(*shape, order=k.order(count, 0.5)) as at:
        product = f"{k.read(a, *(at[p] for p in lefts))} * {k.read(b, *(at[p] for p in rights))}"
        k.store(k.ref(c, *(at[p] for p in results)), "+=", product, 256 * length)
