"""Random nests, data to run them on, schedules to try on them and other ways to write them.

A nest is anything that the IR can say: guards with `or` and divisibility, steps of -2, reversed and halved subscripts,
private arrays, bounds kept in scalars, narrow integers. What it is made of (`nests.shapes`) is in bounds for all
parameters from 1 on, because `nests.fit` finds extents afterwards, and finite on any data. Nobody writes such programs:
legality, code and transfer are tested on them, models do not learn from them.
"""

from tests.generator.first_steps import random_first_steps
from tests.generator.inputs import random_inputs, random_parameters
from tests.generator.nests.builder import Size
from tests.generator.nests.random_nest import random_nest
from tests.generator.nests.rows import with_rows
from tests.generator.nests.shapes import SHAPES, Shape
from tests.generator.readback import NotReadBack, read_back
from tests.generator.schedules import random_schedule, random_step
from tests.generator.spellings import random_spelling

__all__ = [
    "SHAPES",
    "NotReadBack",
    "Shape",
    "Size",
    "random_first_steps",
    "random_inputs",
    "random_nest",
    "random_parameters",
    "random_schedule",
    "random_spelling",
    "random_step",
    "read_back",
    "with_rows",
]
