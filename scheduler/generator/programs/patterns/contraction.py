"""Contractions: matrix products in every layout and loop order, matrix-vector products, tensor contractions;
all pairs of two sets: distances, forces, nearest neighbours, kernels of densities.
"""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import Array, call, constant, literal
from scheduler.ir.affine import Affine


def pairwise(k: Kernel) -> None:
    forms = [_forces, _densities] + [_distances, _distances, _nearest] * (k.settings.depth >= 3)
    k.rng.choice(forms)(k) if k.settings.depth >= 2 else _norms(k)


def _norms(k: Kernel) -> None:
    ctype = k.floating
    (n,) = k.extents(1)
    x, y, target = (k.input(n, ctype=ctype) for _ in range(3))
    with k.loop(0, n) as i:
        square = f"{k.ref(x, i)} * {k.ref(x, i)} + {k.ref(y, i)} * {k.ref(y, i)}"
        k.store(k.ref(target, i), "=", call("sqrt", ctype, square), 16)


def _distances(k: Kernel) -> None:
    """Squared distances of points of several dimensions: points by row, or coordinates by row."""
    rng = k.rng
    n, m = k.extents(2, k.share / 6)
    (size,) = k.extents(1, 8.0, most=64)
    by_point = rng.random() < 0.6
    a, b = (k.operand(*((e, size) if by_point else (size, e))) for e in (n, m))
    target = k.input(n, m)
    with k.loops(n, m, order=k.order(2, 0.8)) as (i, j):
        total = k.local("acc", literal(0, k.ctype))
        with k.loop(0, size) as d:
            left, right = (k.read(a, i, d), k.read(b, j, d)) if by_point else (k.read(a, d, i), k.read(b, d, j))
            difference = k.local("diff", f"{left} - {right}")
            k.line(f"{total} += {difference} * {difference};")
        k.store(k.ref(target, i, j), "=", total, 1024.0 * k.at(size))


def _forces(k: Kernel) -> None:
    """Forces between bodies: much arithmetic, two or three arrays, or one of structures."""
    rng, ctype = k.rng, k.floating
    (n,) = k.extents(1, (k.share / 16) ** 0.5)
    packed = rng.random() < 0.4
    parts = [k.input(n, 2, ctype=ctype)] if packed else [k.input(n, ctype=ctype) for _ in range(2)]
    forces = [k.input(n, ctype=ctype) for _ in range(2)]
    with k.loop(0, n) as i:
        sums = [k.local(wish, literal(0, ctype), ctype) for wish in ("fx", "fy")]
        with k.loop(0, n) as j:
            deltas = []
            for d in range(2):
                there, here = (k.ref(parts[0], p, d) if packed else k.ref(parts[d], p) for p in (j, i))
                deltas.append(k.local(("dx", "dy")[d], f"{there} - {here}", ctype))
            square = " + ".join(f"{d} * {d}" for d in deltas)
            distance = k.local("r2", f"{square} + {literal(0.01, ctype)}", ctype)
            strength = k.local("w", f"{literal(1, ctype)} / ({distance} * {call('sqrt', ctype, distance)})", ctype)
            for total, delta in zip(sums, deltas, strict=True):
                k.line(f"{total} += {strength} * {delta};")
        for force, total in zip(forces, sums, strict=True):
            k.store(k.ref(force, i), "=", total, 2000.0 * k.at(n))


def _densities(k: Kernel) -> None:
    """A sum of bells around every sample at every point."""
    ctype = k.floating
    n, m = k.extents(2, k.share / 14)
    points, samples, density = k.input(n, ctype=ctype), k.input(m, ctype=ctype), k.input(n, ctype=ctype)
    with k.loops(n, m, order=k.order(2, 0.8)) as (i, j):
        delta = k.local("d", f"{k.ref(points, i)} - {k.ref(samples, j)}", ctype)
        k.store(k.ref(density, i), "+=", call("exp", ctype, f"-{delta} * {delta}"), 1.0 * k.at(m))


def _nearest(k: Kernel) -> None:
    """The distance to the nearest of a few centres (as in k-means)."""
    ctype = k.floating
    (centres,), (size,) = k.extents(1, 16.0, most=256), k.extents(1, 4.0, most=32)
    (n,) = k.extents(1, k.share / k.at(centres) / k.at(size))
    points, middles = k.input(n, size, ctype=ctype), k.input(centres, size, ctype=ctype)
    distances = k.input(n, ctype=ctype)
    with k.loop(0, n) as i:
        best = k.local("best", literal(1e6, ctype), ctype)
        with k.loop(0, centres) as c:
            total = k.local("acc", literal(0, ctype), ctype)
            with k.loop(0, size) as d:
                difference = f"({k.ref(points, i, d)} - {k.ref(middles, c, d)})"
                k.line(f"{total} += {difference} * {difference};")
            if k.rng.random() < 0.5:
                k.line(f"{best} = {call('fmin', ctype, best, total)};")
            else:
                with k.when(f"{total} < {best}"):
                    k.line(f"{best} = {total};")
        k.store(k.ref(distances, i), "=", best, 1e6)


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
