"""Random nests for tests, data to run them on, schedules to try on them; and whole C programs (`generate`).

Nests and programs are two levels, and nothing that is drawn serves both:

- A nest is anything that the IR can say: guards with `or` and divisibility, steps of -2, reversed and halved
  subscripts, private arrays, bounds kept in scalars, narrow integers. What it is made of (`nests.shapes`) is in bounds
  for all parameters from 1 on, because `nests.fit` finds extents afterwards, and finite on any data. Nobody writes
  such programs: compilers are tested on them, models do not learn from them.
- A program is what people write: C text in one of four styles, its work and memory within limits, its values bounded
  by what its own `init` fills in. What it is made of (`programs.patterns`) draws in an order that never changes, for
  what was profiled and learned from is written again from its seed and number.
"""

from scheduler.generator.first_steps import random_first_steps
from scheduler.generator.inputs import random_inputs, random_parameters
from scheduler.generator.nests.builder import Size
from scheduler.generator.nests.random_nest import random_nest
from scheduler.generator.nests.rows import with_rows
from scheduler.generator.nests.shapes import SHAPES, Shape
from scheduler.generator.programs import GeneratedProgram, GeneratorSettings, generate, read_back
from scheduler.generator.schedules import random_schedule, random_step
from scheduler.generator.spellings import random_spelling

__all__ = [
    "SHAPES",
    "GeneratedProgram",
    "GeneratorSettings",
    "Shape",
    "Size",
    "generate",
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
