"""Sparse matrices: products with vectors and matrices in CSR, coordinate and ELLPACK form, sums of rows."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import literal


def sparse(k: Kernel) -> None:
    if k.settings.depth < 2:
        return _coordinates(k)
    forms = [_csr, _csr, _csr, _coordinates, _ellpack, _rows, _transposed] + [_matrix] * (k.settings.depth >= 3)
    return k.rng.choice(forms)(k)


def _each(k: Kernel) -> int:
    """Entries a row."""
    return k.rng.choice((3, 5, 8, 16, 32, 100))


def _csr(k: Kernel) -> None:
    """y = A x, in memory or with a local."""
    each = _each(k)
    n, m = k.extents(1, k.share / each / 2)[0], k.extents(1, k.share / each)[0]
    begins, entries = k.rows("rowptr", n, each)
    columns, values = k.index("col", entries, m), k.operand(entries)
    x, y = k.operand(m), k.input(n)
    local = k.rng.random() < 0.6
    with k.loop(0, n) as i:
        total: str = k.local("acc", literal(0, k.ctype)) if local else k.ref(y, i)
        if not local:
            k.store(k.ref(y, i), "=", literal(0, k.ctype), 0)
        with k.segment(begins, i) as p:
            k.line(f"{total} += {k.read(values, p)} * {k.read(x, k.entry(columns, p))};")
        if local:
            k.store(k.ref(y, i), "=", total)
    y.bound = 512.0 * each


def _transposed(k: Kernel) -> None:
    """y += A^T x: every row is scattered."""
    each = _each(k)
    n, m = k.extents(1, k.share / each / 3)[0], k.extents(1, k.share / each)[0]
    begins, entries = k.rows("rowptr", n, each)
    columns, values = k.index("col", entries, m), k.operand(entries)
    x, y = k.operand(n), k.input(m)
    with k.loop(0, n) as i, k.segment(begins, i) as p:
        k.store(k.ref(y, k.entry(columns, p)), "+=", f"{k.read(values, p)} * {k.read(x, i)}", 256.0 * k.at(entries))


def _matrix(k: Kernel) -> None:
    """C += A B with a sparse A and a dense B."""
    each = _each(k)
    n, m, width = k.extents(3, k.share / each * 30, most=1 << 16)
    begins, entries = k.rows("rowptr", n, each)
    columns, values = k.index("col", entries, m), k.operand(entries)
    b, c = k.operand(m, width), k.input(n, width)
    inner = k.rng.random() < 0.7

    with k.loop(0, n) as i:
        if inner:
            with k.segment(begins, i) as p, k.loop(0, width) as j:
                product = f"{k.read(values, p)} * {k.read(b, k.entry(columns, p), j)}"
                k.store(k.ref(c, i, j), "+=", product, 512.0 * each)
        else:
            with k.loop(0, width) as j, k.segment(begins, i) as p:
                product = f"{k.read(values, p)} * {k.read(b, k.entry(columns, p), j)}"
                k.store(k.ref(c, i, j), "+=", product, 512.0 * each)


def _rows(k: Kernel) -> None:
    """Every row of a sparse matrix is summed or scaled."""
    each = _each(k)
    (n,) = k.extents(1, k.share / each)
    begins, entries = k.rows("rowptr", n, each)
    values, sums = k.input(entries), k.input(n)
    if k.rng.random() < 0.5:
        with k.loop(0, n) as i, k.segment(begins, i) as p:
            k.store(k.ref(values, p), "*=", k.read(sums, i), 64)
    else:
        with k.loop(0, n) as i, k.segment(begins, i) as p:
            k.store(k.ref(sums, i), "+=", k.read(values, p), 32.0 * each)


def _coordinates(k: Kernel) -> None:
    """y[row[e]] += value[e] * x[col[e]]."""
    (entries,) = k.extents(1, k.share / 3)
    n, m = (k.extents(1, max(8.0, k.share / 3 / k.rng.choice((2, 10, 50))))[0] for _ in range(2))
    rows, columns, values = k.index("row", entries, n), k.index("col", entries, m), k.input(entries)
    x, y = k.operand(m), k.input(n)
    with k.loop(0, entries) as e:
        product = f"{k.read(values, e)} * {k.read(x, k.entry(columns, e))}"
        k.store(k.ref(y, k.entry(rows, e)), "+=", product, 256.0 * k.at(entries))


def _ellpack(k: Kernel) -> None:
    """As many entries in every row, stored by row or by column."""
    rng = k.rng
    each = _each(k)
    n, m = k.extents(1, k.share / each / 3)[0], k.extents(1, k.share / each)[0]
    by_row = rng.random() < 0.5
    shape = (n, each) if by_row else (each, n)
    columns, values = k.index("col", shape, m), k.input(*shape)
    x, y = k.operand(m), k.input(n)
    with k.loops(n, each, order=k.order(2, 0.6)) as (i, e):
        at = (i, e) if by_row else (e, i)
        product = f"{k.read(values, *at)} * {k.read(x, k.entry(columns, *at))}"
        k.store(k.ref(y, i), "+=", product, 256.0 * each)
