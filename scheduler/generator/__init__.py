"""Random programs: nests, data to run them on, and schedules to try on them."""

from scheduler.generator.builder import Size
from scheduler.generator.generate import random_nest
from scheduler.generator.inputs import random_inputs, random_parameters
from scheduler.generator.patterns import PATTERNS, Pattern
from scheduler.generator.schedules import random_schedule, random_step

__all__ = [
    "PATTERNS",
    "Pattern",
    "Size",
    "random_inputs",
    "random_nest",
    "random_parameters",
    "random_schedule",
    "random_step",
]
