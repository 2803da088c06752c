"""Simple assignments: fills, copies, scaled copies, values out of indices; contiguous, strided, backwards."""

from __future__ import annotations

from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import constant, literal
from scheduler.ir.affine import Affine
from scheduler.ir.types import is_floating


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
