"""Transpositions: permuted copies of matrices and tensors, in place, and reshaped between layouts."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import constant


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
