"""Triangular, trapezoidal and banded domains: rank-k updates, triangular products and solves, factorizations."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import Array, Fill, call, constant, literal, mean
from scheduler.ir.affine import Affine


def triangular(k: Kernel) -> None:
    forms = [_elementwise] + [_banded, _solve, _product, _mirrored] * (k.settings.depth >= 2)
    forms += [_symmetric, _symmetric, _factorized, _factorized, _covariance] * (k.settings.depth >= 3)
    k.rng.choice(forms)(k)


def _elementwise(k: Kernel) -> None:
    """The lower or the upper triangle, or a trapezoid, of a matrix."""
    rng = k.rng
    if k.settings.depth < 2:
        source = k.source(1, least=4)
        with k.loop(1, source.shape[0] - 1) as i:
            k.store(k.ref(source, i), "*=", literal(1, k.ctype), source.bound)
        return
    n, m = k.extents(2, k.share * 2)
    a, b = k.input(n, n + m), k.operand(n, n + m)
    form = rng.choice(("lower", "upper", "trapezoid", "wedge"))
    with k.loop(0, n) as i:
        low: Affine | int = i if form in ("upper", "wedge") else 0
        high = {"lower": i + 1, "upper": n}.get(form, m + i)
        with k.loop(low, high) as j:
            value = f"{constant(rng, k.ctype)} * {k.read(b, i, j)}"
            k.store(k.ref(a, i, j), rng.choice(("=", "+=")), value, 64)


def _symmetric(k: Kernel) -> None:
    """C += A A^T, or A B^T + B A^T, on one triangle."""
    rng = k.rng
    n, p = k.extents(2, k.share ** (2 / 3) * 1.5)
    a = k.operand(n, p)
    b = k.operand(n, p) if rng.random() < 0.4 else a
    c = k.input(n, n)
    scale = constant(rng, k.ctype)
    lower = rng.random() < 0.6
    with k.loop(0, n) as i:
        low, high = (0, i + 1) if lower else (i, n)
        if rng.random() < 0.5:
            with k.loop(low, high) as j:
                k.store(k.ref(c, i, j), "*=", scale, 64)
        if rng.random() < 0.5:
            with k.loop(0, p) as r, k.loop(low, high) as j:
                _rank(k, a, b, c, i, j, r)
        else:
            with k.loop(low, high) as j, k.loop(0, p) as r:
                _rank(k, a, b, c, i, j, r)


def _rank(k: Kernel, a: Array, b: Array, c: Array, i: Affine, j: Affine, r: Affine) -> None:
    value = f"{k.read(a, i, r)} * {k.read(b, j, r)}"
    if b is not a:
        value += f" + {k.read(b, i, r)} * {k.read(a, j, r)}"
    k.store(k.ref(c, i, j), "+=", value, 512.0 * k.at(a.shape[1]))


def _product(k: Kernel) -> None:
    """A triangular matrix times a vector or a matrix."""
    rng = k.rng
    wide = k.settings.depth >= 3 and rng.random() < 0.6
    (n,) = k.extents(1, (2 * k.share) ** (0.4 if wide else 0.5), most=k.settings.most_extent)
    columns = list(k.extents(1, max(8.0, 2 * k.share / k.at(n) ** 2), most=k.settings.most_extent)) if wide else []
    matrix, x, y = k.operand(n, n), k.operand(n, *columns), k.input(n, *columns)
    transposed = rng.random() < 0.4
    with k.loop(0, n) as i, k.loops(*columns) as column, k.loop(0, i + 1) as j:
        entry = k.read(matrix, i, j)
        if transposed:
            k.store(k.ref(y, j, *column), "+=", f"{entry} * {k.read(x, i, *column)}", 256.0 * k.at(n))
        else:
            k.store(k.ref(y, i, *column), "+=", f"{entry} * {k.read(x, j, *column)}", 256.0 * k.at(n))


def _solve(k: Kernel) -> None:
    """Forward or backward substitution, for one or several right-hand sides."""
    rng, ctype = k.rng, k.floating
    wide = k.settings.depth >= 3 and rng.random() < 0.5
    columns = list(k.extents(1, k.share**0.4, most=256)) if wide else []
    (n,) = k.extents(1, (2 * k.share / (k.at(columns[0]) if wide else 1)) ** 0.5, most=k.settings.most_extent)
    matrix = k.input(n, n, ctype=ctype, fill=Fill.DOMINANT)
    b, x = k.input(n, *columns, ctype=ctype), k.input(n, *columns, ctype=ctype)
    backward, inside = rng.random() < 0.4, rng.random() < 0.5
    with k.loop(0, n, down=backward) as i:
        low, high = (i + 1, n) if backward else (0, i)
        with k.loops(*(columns if inside else ())) as column:
            if inside or not wide:
                k.store(k.ref(x, i, *column), "=", k.ref(b, i, *column), 1)
                with k.loop(low, high) as j:
                    k.store(k.ref(x, i, *column), "-=", f"{k.ref(matrix, i, j)} * {k.ref(x, j, *column)}", 1)
                k.store(k.ref(x, i, *column), "/=", k.ref(matrix, i, i), 4)
        if wide and not inside:
            with k.loops(*columns) as column:
                k.store(k.ref(x, i, *column), "=", k.ref(b, i, *column), 1)
            with k.loop(low, high) as j, k.loops(*columns) as column:
                k.store(k.ref(x, i, *column), "-=", f"{k.ref(matrix, i, j)} * {k.ref(x, j, *column)}", 1)
            with k.loops(*columns) as column:
                k.store(k.ref(x, i, *column), "/=", k.ref(matrix, i, i), 4)


def _factorized(k: Kernel) -> None:
    """Cholesky or LU without pivoting, right- or left-looking, of a matrix with a dominant diagonal."""
    rng, ctype = k.rng, k.floating
    (n,) = k.extents(1, (3 * k.share) ** (1 / 3), least=4, most=1024)
    a = k.input(n, n, ctype=ctype, fill=Fill.DOMINANT)
    form = rng.choice(("lu", "lu", "lu left", "cholesky"))
    if form == "lu":
        fused = rng.random() < 0.5
        with k.loop(0, n) as p:
            with k.loop(p + 1, n) as i:
                k.store(k.ref(a, i, p), "/=", k.ref(a, p, p), 4)
                if fused:
                    with k.loop(p + 1, n) as j:
                        k.store(k.ref(a, i, j), "-=", f"{k.ref(a, i, p)} * {k.ref(a, p, j)}", 4)
            if not fused:
                with k.loop(p + 1, n) as i, k.loop(p + 1, n) as j:
                    k.store(k.ref(a, i, j), "-=", f"{k.ref(a, i, p)} * {k.ref(a, p, j)}", 4)
        return
    with k.loop(0, n) as i:
        with k.loop(0, i) as j:
            with k.loop(0, j) as p:
                other = k.ref(a, j, p) if form == "cholesky" else k.ref(a, p, j)
                k.store(k.ref(a, i, j), "-=", f"{k.ref(a, i, p)} * {other}", 4)
            k.store(k.ref(a, i, j), "/=", k.ref(a, j, j), 4)
        if form == "cholesky":
            with k.loop(0, i) as p:
                k.store(k.ref(a, i, i), "-=", f"{k.ref(a, i, p)} * {k.ref(a, i, p)}", 4)
            k.line(f"{k.ref(a, i, i)} = {call('sqrt', ctype, k.ref(a, i, i))};")
        else:
            with k.loop(i, n) as j, k.loop(0, i) as p:
                k.store(k.ref(a, i, j), "-=", f"{k.ref(a, i, p)} * {k.ref(a, p, j)}", 4)


def _covariance(k: Kernel) -> None:
    """Products of all pairs of columns, both triangles stored at once."""
    ctype = k.floating
    n, m = k.extents(2, k.share ** (2 / 3) * 1.5)
    data, result = k.input(n, m, ctype=ctype), k.input(m, m, ctype=ctype)
    with k.loop(0, m) as i, k.loop(i, m) as j:
        k.store(k.ref(result, i, j), "=", literal(0, ctype), 0)
        with k.loop(0, n) as r:
            k.store(k.ref(result, i, j), "+=", f"{k.ref(data, r, i)} * {k.ref(data, r, j)}", 1.0 * k.at(n))
        k.line(f"{k.ref(result, j, i)} = {k.ref(result, i, j)};")


def _mirrored(k: Kernel) -> None:
    """One triangle copied to the other, perhaps averaged."""
    (n,) = k.extents(1, (2 * k.share) ** 0.5, most=k.settings.most_extent)
    a = k.input(n, n)
    averaged = k.rng.random() < 0.4
    with k.loop(1, n) as i, k.loop(0, i) as j:
        if averaged:
            k.store(k.ref(a, i, j), "=", mean(k.rng, [k.ref(a, i, j), k.ref(a, j, i)], k.ctype), 16)
        k.store(k.ref(a, j, i), "=", k.ref(a, i, j), 16)


def _banded(k: Kernel) -> None:
    """Products of a banded matrix with a vector: bounds with a maximum and a minimum."""
    rng = k.rng
    width = rng.randint(1, 12)
    (n,) = k.extents(1, k.share / (2 * width + 1), most=k.settings.most_extent)
    matrix, x, y = k.input(n, n), k.operand(n), k.input(n)
    with k.loop(0, n) as i, k.loop((0, i - width), (n, i + (width + 1))) as j:
        k.store(k.ref(y, i), "+=", f"{k.read(matrix, i, j)} * {k.read(x, j)}", 256.0 * (2 * width + 1))
