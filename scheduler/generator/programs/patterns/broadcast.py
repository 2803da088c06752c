"""Broadcasts: vectors and scalars spread over matrices and tensors, such as biases, scalings and outer products."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.patterns.expression import value
from scheduler.generator.programs.values import literal, maximum


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
