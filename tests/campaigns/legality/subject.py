"""A program under test: a nest, its replayer, and inputs with the results the source order gives."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler.ir.nest import LoopNest
from scheduler.ir.tree import TreeNode, tree_loops
from scheduler.replay import Replayer
from tests.doubles.interpret import InterpreterError, interpret, interpret_scheduled
from tests.generator import random_first_steps, random_inputs, random_parameters

Arrays = Mapping[str, np.ndarray[Any, Any]]
RANGES = ((1, 3), (2, 6))  # of the parameters of the runs, the larger ones last
_RACES = 2
_SPLIT = 0.3  # share of the programs with loops split before anything else


@dataclass(frozen=True, slots=True)
class Order:
    """An order of execution to interpret, whether legal or not."""

    nest: LoopNest
    tree: tuple[TreeNode, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One set of inputs and what the nest makes of them."""

    parameters: Mapping[str, int]
    arrays: Arrays
    expected: Arrays


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Inputs on which an order gives another result, or none at all (`failed`)."""

    parameters: tuple[tuple[str, int], ...]
    raced: bool
    failed: bool
    detail: str


class Subject:
    """`replayer` is of the nest as `splits` leave it.

    Raises InterpreterError where the generated program itself does not run, QuotaExceeded from isl."""

    def __init__(self, nest: LoopNest, seed: str, reassociate: bool = False) -> None:
        self.nest = nest
        self.reassociate = reassociate
        rng = random.Random(f"{seed}:inputs")
        self.runs: list[Run] = []
        for low, high in RANGES:
            parameters = random_parameters(nest, rng, low, high)
            arrays = random_inputs(nest, rng, parameters)
            self.runs.append(Run(parameters, arrays, interpret(nest, parameters, arrays)))
        whole = Replayer(nest, reassociate)
        drawn = random.Random(f"{seed}:splits")
        self.splits = random_first_steps(whole, drawn) if drawn.random() < _SPLIT else ()
        self.replayer = whole.of(self.splits)

    def mismatch(self, tree: tuple[TreeNode, ...], seed: str, quick: bool = False) -> Mismatch | None:
        """The first input on which the tree's order differs from the source's, concurrent loops in random orders.

        `quick` looks at the larger input alone.
        """
        order = Order(self.replayer.nest, tree)
        updates = self.replayer.checker.reductions(tree)
        update = self.replayer.model.update
        reductions = frozenset(statement for _, statement, _ in updates)
        in_order = frozenset(
            loop for loop, statement, array in updates if not (found := update(statement, array)) or not found.exact
        )
        concurrent = not self.reassociate and any(x.parallel or x.vector for x in tree_loops(tree))
        for run in self.runs[-1:] if quick else self.runs:
            raced = concurrent and run is self.runs[-1]
            for attempt in range(1 + (_RACES if raced else 0)):
                parallel_order = random.Random(f"{seed}:{attempt}") if attempt else None
                given = tuple(sorted(run.parameters.items()))
                try:
                    actual = interpret_scheduled(
                        order,
                        run.parameters,
                        run.arrays,
                        parallel_order=parallel_order,
                        reductions=reductions,
                        in_order=in_order,
                    )
                except InterpreterError as error:
                    return Mismatch(given, attempt > 0, True, str(error))
                if detail := difference(run.expected, actual):
                    return Mismatch(given, attempt > 0, False, detail)
        return None


def difference(expected: Arrays, actual: Arrays) -> str:
    """The first element that differs, bit for bit; empty if none does."""
    for name, wanted in expected.items():
        found = actual[name]
        if wanted.tobytes() != found.tobytes():
            return first_difference(name, wanted, found)
    return ""


def first_difference(name: str, wanted: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> str:
    for index in _indices(wanted.shape):
        if wanted[index].tobytes() != found[index].tobytes():
            where = "".join(f"[{k}]" for k in index)
            return f"{name}{where}: expected {wanted[index]!r}, got {found[index]!r}"
    return f"{name}: shapes {wanted.shape} and {found.shape}"


def _indices(shape: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    return np.ndindex(*shape) if shape else ((),)
