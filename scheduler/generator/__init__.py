"""Random C programs: what people write, in one of four styles, its work and memory within limits, its values bounded
by what its own `init` fills in. What it is made of (`programs.patterns`) draws in an order that never changes, for what
was profiled and learned from is written again from its seed and number.
"""

from scheduler.generator.programs import GeneratedProgram, GeneratorSettings, generate

__all__ = ["GeneratedProgram", "GeneratorSettings", "generate"]
