"""Element-wise expressions: axpy and triad, polynomials, activation functions, chains on the same elements."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import constant, literal, maximum, mean, unary
from scheduler.ir.types import is_floating


def expression(k: Kernel) -> None:
    k.rng.choice((_plain, _plain, _triad, _polynomial, _chain, _complex))(k)


def value(k: Kernel, terms: Sequence[str], ctype: str) -> str:
    """A random expression of terms of magnitude <= 16; its value is at most 600."""
    rng = k.rng
    if len(terms) == 1:
        return unary(rng, terms[0], ctype) if rng.random() < 0.6 else f"{constant(rng, ctype)} * {terms[0]}"
    first, second, *rest = terms
    form = rng.choice(("product", "product", "mean", "extreme", "function"))
    if form == "product":
        text = f"{first} * {second}"
    elif form == "mean":
        text = mean(rng, (first, second), ctype)
    elif form == "extreme":
        text = maximum(rng, first, second, ctype, rng.random() < 0.5)
    else:
        text = f"{unary(rng, first, ctype)} * {second}"
    return text + "".join(f" {rng.choice('+-')} {term}" for term in rest)


def _plain(k: Kernel) -> None:
    """One statement of one to four operands of any layout."""
    rank = k.rank(1, 2, 2, 3)
    first = k.source(rank)
    shape = first.shape
    layout = k.order(rank, 0.75)
    others = [(k.operand(*shape), list(range(rank))) for _ in range(k.rng.randint(0, 2))]
    if layout != list(range(rank)):
        others.append((k.input(*(shape[p] for p in layout)), layout))
    target = first if first.written and k.rng.random() < 0.3 else k.input(*shape)
    with k.loops(*shape, order=k.order(rank), down=0.05) as at:
        terms = [k.read(first, *at), *(k.read(a, *(at[p] for p in places)) for a, places in others)]
        k.store(k.ref(target, *at), "=", value(k, terms, k.ctype), 600)


def _triad(k: Kernel) -> None:
    """y += a * x and its relatives on long vectors."""
    x = k.source(1)
    y = k.input(*x.shape)
    z = k.operand(*x.shape)
    with k.loops(*x.shape) as (i,):
        product = f"{constant(k.rng, k.ctype)} * {k.read(x, i)}"
        if k.rng.random() < 0.5:
            k.store(k.ref(y, i), "+=", product, 64)
        else:
            k.store(k.ref(y, i), "=", f"{k.read(z, i)} + {product}", 64)


def _polynomial(k: Kernel) -> None:
    """Horner's scheme: much arithmetic an element."""
    source = k.source(k.rank(1, 2), work=k.share / 4)
    target = k.input(*source.shape)
    with k.loops(*source.shape) as at:
        x = k.local("x", k.read(source, *at, largest=1.0))
        if is_floating(k.ctype):
            text = literal(0.1, k.ctype)
            for _ in range(k.rng.randint(3, 8)):
                text = f"({text}) * {x} + {constant(k.rng, k.ctype)}"
        else:
            text = f"(({x} & 3) + 1) * ({x} & 3) + {k.rng.randint(1, 9)}"
        k.store(k.ref(target, *at), "=", text, 64)


def _chain(k: Kernel) -> None:
    """Two to four statements on the same elements, each reading what the one before computed."""
    rank = k.rank(1, 2, 2)
    source = k.source(rank, work=k.share / 3)
    targets = [k.input(*source.shape) for _ in range(k.rng.randint(2, 3))]
    with k.loops(*source.shape, order=k.order(rank, 0.7)) as at:
        previous = source
        for target in targets:
            terms = [k.read(previous, *at)] + [k.read(source, *at)] * (k.rng.random() < 0.4)
            k.store(k.ref(target, *at), "=", value(k, terms, k.ctype), 600)
            previous = target


def _complex(k: Kernel) -> None:
    """Products of complex numbers, parts apart or interleaved."""
    (n,) = k.extents(1, k.share / 2)
    if k.rng.random() < 0.5:
        a, b, c = (k.input(n * 2) for _ in range(3))
        with k.loops(n) as (i,):
            ar, ai = k.read(a, i * 2), k.read(a, i * 2 + 1)
            br, bi = k.read(b, i * 2), k.read(b, i * 2 + 1)
            k.store(k.ref(c, i * 2), "=", f"{ar} * {br} - {ai} * {bi}", 600)
            k.store(k.ref(c, i * 2 + 1), "=", f"{ar} * {bi} + {ai} * {br}", 600)
    else:
        parts = [k.input(n, 2) for _ in range(3)]
        with k.loops(n) as (i,):
            (ar, ai), (br, bi) = ((k.read(p, i, 0), k.read(p, i, 1)) for p in parts[:2])
            k.store(k.ref(parts[2], i, 0), "=", f"{ar} * {br} - {ai} * {bi}", 600)
            k.store(k.ref(parts[2], i, 1), "=", f"{ar} * {bi} + {ai} * {br}", 600)
