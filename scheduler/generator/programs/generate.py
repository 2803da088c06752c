"""Random C programs: one to a few patterns one after another that feed each other, in a whole file."""

from __future__ import annotations

import random
from dataclasses import dataclass

from scheduler.errors import SchedulerError
from scheduler.generator.programs.kernel import Kernel, Style, TooLarge
from scheduler.generator.programs.patterns import PATTERNS, Pattern
from scheduler.generator.programs.render import render
from scheduler.generator.programs.settings import GeneratorSettings
from scheduler.generator.programs.values import DataKind

FUNCTION = "kernel"
_ATTEMPTS = 200
_TYPES = (("double", 50), ("float", 34), ("int", 16))
_STYLES = ((Style.GLOBAL, 45), (Style.VLA, 20), (Style.RESTRICT, 20), (Style.FLAT, 15))
_COUNTS = (55, 25, 13, 7)  # of patterns: 1, 2, 3, 4; as many again as the last for more


class NothingFits(SchedulerError):
    """No program was found within the bounds of the settings."""


@dataclass(frozen=True, slots=True)
class GeneratedProgram:
    """A C file with its arrays, initial values, a kernel function and a `main` that prints a checksum.

    `patterns`: sorted names of what it combines, the unit of splits into training and test sets. `ctype`: what most
    of its arrays hold. `depth`: of its deepest loop; `loops`: in the kernel. `work`: weighted statements a run of the
    kernel executes, `bytes`: of all arrays, both at the normal size; `-DSMALL` makes every extent at most ten or so.
    `sizes`: the values at the normal size that the kernel may get as arguments, by their names there.
    """

    name: str
    seed: int
    number: int
    patterns: tuple[str, ...]
    source: str
    function: str
    ctype: str
    depth: int
    loops: int
    work: float
    bytes: int
    sizes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A program before it becomes text."""

    kernel: Kernel
    patterns: tuple[str, ...]
    rng: random.Random


def generate(seed: int, number: int, settings: GeneratorSettings | None = None) -> GeneratedProgram:
    """The same program for the same arguments, whatever else was generated. Raises NothingFits."""
    found = draft(seed, number, settings or GeneratorSettings())
    kernel, name = found.kernel, f"gen_{seed}_{number}"
    title = f"{name}: {', '.join(found.patterns)}"
    heap, const = found.rng.random() < 0.5, found.rng.random() < 0.6
    data = DataKind.drawn(random.Random(f"{seed} {number} data"))  # apart: no other choice depends on it
    source = render(kernel, title, FUNCTION, heap, const, data)
    return GeneratedProgram(
        name=name,
        seed=seed,
        number=number,
        patterns=found.patterns,
        source=source,
        function=FUNCTION,
        ctype=kernel.ctype,
        depth=kernel.depth,
        loops=kernel.loop_count,
        work=kernel.work,
        bytes=memory(kernel),
        sizes=tuple((name.lower(), value) for name, value in kernel.sizes[1].items()),
    )


def draft(seed: int, number: int, settings: GeneratorSettings) -> Draft:
    """Draws until a program is within the bounds. Raises NothingFits."""
    weights = {p.name: p.weight for p in PATTERNS} | dict(settings.weights)
    if unknown := sorted(set(weights) - {p.name for p in PATTERNS}):
        raise ValueError(f"no pattern is called {unknown[0]!r}: expected {', '.join(p.name for p in PATTERNS)}")
    if not any(weights.values()):
        raise ValueError("every pattern has the weight 0")
    first = random.Random(f"{seed} {number}")
    count = first.choices(range(1, settings.nests + 1), (*_COUNTS, *(_COUNTS[-1:] * 12))[: settings.nests])[0]
    chosen = first.choices(PATTERNS, [weights[p.name] for p in PATTERNS], k=count)
    for attempt in range(_ATTEMPTS):
        rng = random.Random(f"{seed} {number} {attempt}")
        try:
            kernel = _built(rng, chosen, settings)
        except TooLarge:
            continue
        inside = settings.least_work <= kernel.work <= settings.most_work and kernel.depth <= settings.depth
        if inside and memory(kernel) <= settings.most_bytes:
            return Draft(kernel, tuple(sorted({p.name for p in chosen})), rng)
    names = ", ".join(p.name for p in chosen)
    raise NothingFits(f"no program of {names} within the settings in {_ATTEMPTS} attempts: widen their bounds")


def _built(rng: random.Random, chosen: list[Pattern], settings: GeneratorSettings) -> Kernel:
    work = settings.least_work * (settings.most_work / settings.least_work) ** rng.random()
    kernel = Kernel(
        rng,
        settings,
        rng.choices([t for t, _ in _TYPES], [w for _, w in _TYPES])[0],
        work / len(chosen),
        rng.choices([s for s, _ in _STYLES], [w for _, w in _STYLES])[0],
        index_type=rng.choices(("int", "long"), (85, 15))[0],
    )
    for pattern in chosen:
        pattern.build(kernel)
    kernel.arrays = [array for array in kernel.arrays if array.used]
    return kernel


def memory(kernel: Kernel) -> int:
    """Bytes of all arrays at the normal size."""
    return sum(kernel.bytes(array) for array in kernel.arrays)
