"""Recurrences: scans, recursive filters, tridiagonal systems, and dynamic programming on tables."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import Fill, literal, maximum
from scheduler.ir.types import is_floating


def recurrence(k: Kernel) -> None:
    forms = [_scan, _filter] + [_rows, _tridiagonal, _table, _table, _knapsack] * (k.settings.depth >= 2)
    forms += [_paths, _intervals] * (k.settings.depth >= 3)
    k.rng.choice(forms)(k)


def _scan(k: Kernel) -> None:
    """Prefix sums, in place or not, exclusive or not."""
    source = k.source(1, least=4)
    n, target = source.shape[0], k.input(*source.shape)
    size = 32.0 * k.at(n)
    if k.rng.random() < 0.5:
        k.store(k.ref(target, 0), "=", k.read(source, 0))
        with k.loop(1, n) as i:
            k.store(k.ref(target, i), "=", f"{k.ref(target, i - 1)} + {k.read(source, i)}", size)
    else:
        total = k.local("run", literal(0, k.ctype))
        with k.loop(0, n) as i:
            k.line(f"{total} += {k.read(source, i)};")
            k.store(k.ref(target, i), "=", total, size)


def _mixed(k: Kernel, old: str, new: str) -> str:
    """Between the two."""
    if not is_floating(k.ctype):
        return f"({old} + {new}) / 2"
    share = k.rng.choice((0.1, 0.25, 0.5, 0.8))
    return f"{literal(1 - share, k.ctype)} * {old} + {literal(share, k.ctype)} * {new}"


def _filter(k: Kernel) -> None:
    """A recursive filter of first or second order, forwards, perhaps backwards as well."""
    source = k.source(1, work=k.share / 2, least=4)
    n, target = source.shape[0], k.input(*source.shape)
    second = k.rng.random() < 0.4
    with k.loop(2, n) as i:
        text = _mixed(k, k.ref(target, i - 1), k.read(source, i))
        if second:
            text = f"({text} + {k.ref(target, i - 2)}) / {literal(2, k.ctype)}"
        k.store(k.ref(target, i), "=", text)
    if k.rng.random() < 0.4:
        with k.loop(0, n - 1, down=True) as i:
            k.store(k.ref(target, i), "=", _mixed(k, k.ref(target, i + 1), k.ref(target, i)))


def _rows(k: Kernel) -> None:
    """Recursive filters along the rows or the columns of an image: one direction is sequential."""
    source = k.source(2, least=4)
    (n, m), target = source.shape, k.input(*source.shape)
    if k.rng.random() < 0.5:
        with k.loops(n, (1, m), order=k.order(2, 0.7)) as (i, j):
            k.store(k.ref(target, i, j), "=", _mixed(k, k.ref(target, i, j - 1), k.read(source, i, j)))
    else:
        with k.loops((1, n), m, order=k.order(2, 0.5)) as (i, j):
            k.store(k.ref(target, i, j), "=", _mixed(k, k.ref(target, i - 1, j), k.read(source, i, j)))


def _tridiagonal(k: Kernel) -> None:
    """Elimination and substitution along one dimension of many systems, by row or by column."""
    ctype = k.floating
    n, m = k.extents(2, k.share / 3, least=4)
    by_row = k.rng.random() < 0.5
    x, factor = (k.input(*((m, n) if by_row else (n, m)), ctype=ctype) for _ in range(2))
    quarter, three = literal(0.25, ctype), literal(3, ctype)
    with k.loops(m, order=(0,)) as (s,):
        with k.loop(1, n) as i:
            now, before = ((s, i), (s, i - 1)) if by_row else ((i, s), (i - 1, s))
            pivot = f"({three} + {quarter} * {k.ref(factor, *before)})"
            k.store(k.ref(factor, *now), "=", f"{literal(-1, ctype)} / {pivot}", 1)
            k.store(k.ref(x, *now), "=", f"({k.ref(x, *now)} + {quarter} * {k.ref(x, *before)}) / {pivot}", 2)
        with k.loop(0, n - 1, down=True) as i:
            now, after = ((s, i), (s, i + 1)) if by_row else ((i, s), (i + 1, s))
            k.store(k.ref(x, *now), "-=", f"{k.ref(factor, *now)} * {quarter} * {k.ref(x, *after)}", 2)


def _table(k: Kernel) -> None:
    """Two sequences against each other: edit distance, longest common subsequence, local alignment."""
    n, m = k.extents(2)
    left, right = (k.input(e, ctype="int") for e in (n, m))
    table = k.input(n + 1, m + 1, ctype="int")
    smaller = k.rng.random() < 0.5
    with k.loops((1, n + 1), (1, m + 1)) as (i, j):
        same = f"({k.ref(left, i - 1)} {'!=' if smaller else '=='} {k.ref(right, j - 1)})"
        diagonal = k.local("best", f"{k.ref(table, i - 1, j - 1)} + {same}", "int")
        for neighbour in (k.ref(table, i - 1, j), k.ref(table, i, j - 1)):
            step = f"{neighbour} + 1" if smaller else neighbour
            if k.rng.random() < 0.5:
                k.line(f"{diagonal} = {diagonal} {'<' if smaller else '>'} {step} ? {diagonal} : {step};")
            else:
                with k.when(f"{step} {'<' if smaller else '>'} {diagonal}"):
                    k.line(f"{diagonal} = {step};")
        k.store(k.ref(table, i, j), "=", diagonal, 2.0 * (k.at(n) + k.at(m)) + 32)


def _knapsack(k: Kernel) -> None:
    """One row of the table an item, the item's weight shifts it: a two-row or an in-place table."""
    rng = k.rng
    items, capacity = k.extents(2, least=4)
    shift = rng.randint(1, 3)
    gain, table = k.input(items, ctype="int"), k.input(items + 1, capacity, ctype="int")
    with k.loops(items, (shift, capacity)) as (i, c):
        taken = f"{k.ref(table, i, c - shift)} + {k.ref(gain, i)}"
        value = maximum(rng, k.ref(table, i, c), f"({taken})", "int")
        k.store(k.ref(table, i + 1, c), "=", value, 20.0 * k.at(items) + 20)


def _paths(k: Kernel) -> None:
    """All shortest or widest paths."""
    (n,) = k.extents(1, k.share ** (1 / 3), least=4, most=1024)
    length = k.input(n, n, fill=Fill.POSITIVE)
    widest = k.rng.random() < 0.3
    with k.loops(n, n, n) as (via, i, j):
        first, second, old = k.ref(length, i, via), k.ref(length, via, j), k.ref(length, i, j)
        if widest:
            value = maximum(k.rng, old, maximum(k.rng, first, second, k.ctype, True), k.ctype)
            k.store(old, "=", value, 16)
        elif k.rng.random() < 0.5:
            with k.when(f"{first} + {second} < {old}"):
                k.store(old, "=", f"{first} + {second}", 16)
        else:
            k.store(old, "=", f"{old} < {first} + {second} ? {old} : {first} + {second}", 16)


def _intervals(k: Kernel) -> None:
    """Tables over intervals: matrix chains and pairings, from short intervals to long ones."""
    (n,) = k.extents(1, (6 * k.share) ** (1 / 3), least=4, most=1024)
    cost, table = k.input(n, ctype="int"), k.input(n, n, ctype="int")
    with k.loop(0, n - 1, down=True) as i, k.loop(i + 1, n) as j, k.loop(i, j) as m:
        value = f"{k.ref(table, i, m)} + {k.ref(table, m + 1, j)} + {k.ref(cost, j)}"
        if k.rng.random() < 0.5:
            with k.when(f"{k.ref(table, i, j)} < {value}"):
                k.store(k.ref(table, i, j), "=", value, 64.0 * k.at(n))
        else:
            old = k.ref(table, i, j)
            k.store(old, "=", f"{old} > {value} ? {old} : {value}", 64.0 * k.at(n))
