"""Random nests with data on which they run, and what they compute."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest

from scheduler.ir.nest import LoopNest
from tests.doubles.interpret import InterpreterError, interpret
from tests.generator import random_inputs, random_parameters

Arrays = Mapping[str, np.ndarray]


def running(nest: LoopNest, rng: random.Random) -> tuple[dict[str, int], Arrays, Arrays]:
    """(parameters, data, what it makes of them); the test is skipped where the nest itself does not run."""
    parameters = random_parameters(nest, rng, 1, 6)
    data = random_inputs(nest, rng, parameters)
    try:
        return dict(parameters), data, interpret(nest, parameters, data)
    except InterpreterError:
        pytest.skip("the program itself does not run")


def assert_same(expected: Arrays, actual: Arrays, *about: object) -> None:
    """Bit for bit."""
    for name, value in expected.items():
        assert value.tobytes() == actual[name].tobytes(), (name, *about)
