"""Random nests for tests, data to run them on, schedules to try on them; and whole C programs (`generate`)."""

from scheduler.generator.inputs import random_inputs, random_parameters
from scheduler.generator.nests.builder import Size
from scheduler.generator.nests.patterns import PATTERNS, Pattern
from scheduler.generator.nests.random_nest import random_nest
from scheduler.generator.programs import GeneratedProgram, GeneratorSettings, generate, read_back
from scheduler.generator.schedules import random_schedule, random_step
from scheduler.generator.splits import random_splits

__all__ = [
    "PATTERNS",
    "GeneratedProgram",
    "GeneratorSettings",
    "Pattern",
    "Size",
    "generate",
    "random_inputs",
    "random_nest",
    "random_parameters",
    "random_schedule",
    "random_splits",
    "random_step",
    "read_back",
]
