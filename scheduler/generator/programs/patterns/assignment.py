"""Simple assignments: fills, copies, scaled copies, values out of indices; contiguous, strided, backwards;
permuted copies of matrices and tensors, and vectors and scalars spread over them.
"""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.patterns.expression import value
from scheduler.generator.programs.values import constant, literal, maximum
from scheduler.ir.affine import Affine
from scheduler.ir.types import is_floating


def broadcast(k: Kernel) -> None:
    """target[all] = f(source[all], vectors[some dimensions]), with a rectifier at times."""
    rng = k.rng
    rank = k.rank(2, 2, 3, 3, 4)
    source = k.source(rank)
    shape = source.shape
    spread = []
    for _ in range(rng.randint(1, 2)):
        kept = sorted(rng.sample(range(rank), rng.randint(1, max(1, rank - 1))))
        spread.append((k.operand(*(shape[p] for p in kept)), kept))
    alone = rng.random() < 0.2  # only the spread ones: an outer product or sum
    target = source if source.written and rng.random() < 0.4 else k.input(*shape)
    with k.loops(*shape, order=k.order(rank, 0.7)) as at:
        terms = [k.read(array, *(at[p] for p in kept)) for array, kept in spread]
        if not alone:
            terms.insert(0, k.read(source, *at))
        text = value(k, terms, k.ctype)
        if rng.random() < 0.25:
            text = maximum(rng, f"({text})", literal(0, k.ctype), k.ctype) if len(text) < 80 else text
        k.store(k.ref(target, *at), "=", text, 600)


def transposition(k: Kernel) -> None:
    k.rng.choice((_permuted, _permuted, _permuted, _in_place, _blocked))(k) if k.settings.depth >= 4 else _permuted(k)


def _permuted(k: Kernel) -> None:
    """target[permutation of the subscripts] = source[subscripts]; loops follow the one or the other."""
    rng = k.rng
    rank = k.rank(2, 2, 2, 3, 4)
    source = k.source(rank)
    places = list(range(rank))
    while places == sorted(places) and rank > 1:
        rng.shuffle(places)
    target = k.input(*(source.shape[p] for p in places))
    with k.loops(*source.shape, order=rng.choice((list(range(rank)), places))) as at:
        element = k.read(source, *at)
        if rng.random() < 0.3:
            element = f"{constant(rng, k.ctype)} * {element}"
        k.store(k.ref(target, *(at[p] for p in places)), rng.choice(("=", "=", "=", "+=")), element, 64)


def _in_place(k: Kernel) -> None:
    """A square matrix: every pair across the diagonal changes places."""
    (n,) = k.extents(1, k.share**0.5, most=k.settings.most_extent)
    matrix = k.input(n, n)
    with k.loop(1, n) as i, k.loop(0, i) as j:
        kept = k.local("kept", k.ref(matrix, i, j))
        k.store(k.ref(matrix, i, j), "=", k.ref(matrix, j, i), 1)
        k.store(k.ref(matrix, j, i), "=", kept, 16)


def _blocked(k: Kernel) -> None:
    """Rows and columns to tiles of a fixed size."""
    size = k.rng.choice((4, 8))
    rows, columns = k.extents(2, k.share / size**2)
    flat, tiled = k.input(rows * size, columns * size), k.input(rows, columns, size, size)
    forwards = k.rng.random() < 0.5
    with k.loops(rows, columns, size, size, order=k.order(4, 0.6)) as (i, j, y, x):
        inside, outside = k.ref(tiled, i, j, y, x), k.ref(flat, i * size + y, j * size + x)
        target, source = (inside, outside) if forwards else (outside, inside)
        k.store(target, "=", source, 16)


def assignment(k: Kernel) -> None:
    k.rng.choice((_fill, _copy, _copy, _indices, _strided))(k)


def _rank(k: Kernel) -> int:
    return k.rank(1, 1, 2, 2, 2, 3)


def _fill(k: Kernel) -> None:
    """Several arrays, or one plane of a larger one."""
    shape = k.extents(_rank(k))
    targets = [k.input(*shape) for _ in range(k.rng.randint(1, 2))]
    with k.loops(*shape, order=k.order(len(shape)), down=0.1) as at:
        for target in targets:
            k.store(k.ref(target, *at), "=", constant(k.rng, k.ctype))


def _copy(k: Kernel) -> None:
    """With a factor, an offset or an accumulation."""
    source = k.source(_rank(k))
    target = k.input(*source.shape)
    with k.loops(*source.shape, order=k.order(len(source.shape), 0.7), down=0.1) as at:
        value, factor = k.read(source, *at), constant(k.rng, k.ctype)
        value = k.rng.choice(
            (value, value, f"{factor} * {value}", f"{value} + {factor}", f"{factor} * {value} - {factor}")
        )
        k.store(k.ref(target, *at), k.rng.choice(("=", "=", "+=")), value, 64)


def _indices(k: Kernel) -> None:
    """Initial values as programs make them: A[i][j] = (i * j + 1) % n / n."""
    shape = k.extents(_rank(k))
    target = k.input(*shape)
    modulus = k.rng.randint(5, 17)
    with k.loops(*shape, order=k.order(len(shape), 0.8)) as at:
        names = [str(a) for a in at]
        product = " * ".join(names[:2]) if k.rng.random() < 0.5 else " + ".join(names)
        value = f"({product} + {k.rng.randint(1, 9)}) % {modulus}"
        if is_floating(k.ctype):
            value = f"({k.ctype})({value}) / {literal(modulus, k.ctype)}"
        k.store(k.ref(target, *at), "=", value)


def _strided(k: Kernel) -> None:
    """Every second element, gathered or spread, or in reverse."""
    (n,) = k.extents(1)
    step = k.rng.randint(2, 4)
    form = k.rng.choice(("gather", "spread", "reverse", "steps"))
    with_source = {"gather": n * step, "spread": n, "reverse": n, "steps": n}[form]
    source, target = k.operand(with_source), k.input(n * step if form == "spread" else n)
    offset = k.rng.randrange(step)
    with k.loop(0, n, step=step if form == "steps" else 1) as i:
        read = {"gather": i * step + offset, "reverse": n - 1 - i}.get(form, i)
        write: Affine = i * step + offset if form == "spread" else i
        k.store(k.ref(target, write), "=", k.read(source, read))
