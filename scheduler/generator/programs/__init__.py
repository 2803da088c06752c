"""Random C programs to train on and to fill a database with: `generate` and what it takes and gives."""

from scheduler.generator.programs.generate import GeneratedProgram, NothingFits, generate
from scheduler.generator.programs.patterns import PATTERNS, Pattern
from scheduler.generator.programs.settings import GeneratorSettings

__all__ = [
    "PATTERNS",
    "GeneratedProgram",
    "GeneratorSettings",
    "NothingFits",
    "Pattern",
    "generate",
]
