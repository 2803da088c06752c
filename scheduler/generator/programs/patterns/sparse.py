"""Sparse matrices: products with vectors and matrices in CSR, coordinate and ELLPACK form, sums of rows;
gathers through tables, histograms, scattered updates, permutations.
"""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.patterns.expression import value
from scheduler.generator.programs.values import literal


def indirect(k: Kernel) -> None:
    forms = [_gather, _gather, _histogram, _histogram, _scatter] + [_lookup, _mesh] * (k.settings.depth >= 2)
    k.rng.choice(forms)(k)


def _gather(k: Kernel) -> None:
    """target[i] = f(table[index[i]], other[i])."""
    (n,) = k.extents(1, k.share / 3)
    size = k.extents(1, k.rng.choice((64.0, 1e3, 3e4, 1e6)))[0]
    where, table, other, target = k.index("idx", n, size), k.operand(size), k.operand(n), k.input(n)
    with k.loop(0, n) as i:
        terms = [k.read(table, k.entry(where, i)), *([k.read(other, i)] if k.rng.random() < 0.6 else [])]
        k.store(k.ref(target, i), "=", value(k, terms, k.ctype), 600)


def _histogram(k: Kernel) -> None:
    """Counts or weights by bin, of a vector or an image."""
    rng = k.rng
    shape = k.extents(k.rank(1, 1, 2), k.share / 2)
    bins = k.extents(1, rng.choice((8.0, 256.0, 4096.0)))[0]
    size = 256.0
    for extent in shape:
        size *= k.at(extent)
    keys = k.index("key", shape, bins)
    counts = k.input(bins, ctype="int" if rng.random() < 0.6 else None)
    weights = k.operand(*shape) if counts.is_floating else None
    with k.loops(*shape) as at:
        weight = k.read(weights, *at) if weights is not None else "1"
        k.store(k.ref(counts, k.entry(keys, *at)), "+=", weight, size)


def _scatter(k: Kernel) -> None:
    """Elements are moved, or replaced by a mean of old and new."""
    (n,) = k.extents(1, k.share / 3)
    size = k.extents(1, max(8.0, k.share / 6))[0]
    where, source, target = k.index("perm", n, size), k.operand(n), k.input(size)
    with k.loop(0, n) as i:
        place = k.entry(where, i)
        text = k.read(source, i)
        if k.rng.random() < 0.4:
            text = f"({text} + {k.ref(target, place)}) / {literal(2, k.ctype)}"
        k.store(k.ref(target, place), "=", text, 16)


def _lookup(k: Kernel) -> None:
    """Whole rows of a table: embeddings, and their sums."""
    rng = k.rng
    n, width = k.extents(2, k.share, most=1 << 15)
    size = k.extents(1, rng.choice((100.0, 3e3, 3e4)))[0]
    where, table = k.index("idx", n, size), k.operand(size, width)
    summed = rng.random() < 0.4
    target = k.input(width) if summed else k.input(n, width)
    with k.loops(n, width) as (i, j):
        row = k.read(table, k.entry(where, i), j)
        place = k.ref(target, j) if summed else k.ref(target, i, j)
        k.store(place, "+=" if summed else "=", row, 16.0 * k.at(n) if summed else 16)


def _mesh(k: Kernel) -> None:
    """Unstructured grids: every cell takes from its neighbours, or every edge gives to its two ends."""
    cells = k.extents(1, k.share / 12)[0]
    ends, flow, level = k.index("node", (cells, 3), cells), k.operand(cells), k.input(cells)
    if k.rng.random() < 0.6:
        with k.loops(cells, 3) as (c, e):
            k.store(k.ref(level, c), "+=", k.read(flow, k.entry(ends, c, e)), 48)
    else:
        with k.loop(0, cells) as c:
            first, second = k.entry(ends, c, 0), k.entry(ends, c, 1)
            k.store(k.ref(level, first), "+=", k.read(flow, c), 16.0 * k.at(cells))
            k.store(k.ref(level, second), "-=", k.read(flow, c), 16.0 * k.at(cells))


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
