"""All pairs of two sets: distances, forces, nearest neighbours, kernels of densities."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import call, literal


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
