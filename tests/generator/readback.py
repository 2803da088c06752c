"""Generated programs as the front end reads them."""

from __future__ import annotations

from scheduler.errors import SchedulerError
from scheduler.frontend import ParseOptions, read_source
from scheduler.generator.programs.generate import GeneratedProgram
from scheduler.ir.nest import LoopNest
from scheduler.ir.walk import loops


class NotReadBack(SchedulerError):
    """The front end does not understand a loop of a generated kernel."""


def read_back(
    program: GeneratedProgram, small: bool = False, options: ParseOptions | None = None
) -> tuple[LoopNest, ...]:
    """The nests of the kernel function, in order; `small` as under -DSMALL.

    Raises NotReadBack unless every loop of the kernel is in a nest, ParseFailed, or ParserDied.
    """
    options = options or ParseOptions()
    arguments = (*options.arguments, *(("-DSMALL",) if small else ()))
    options = ParseOptions(arguments, options.cc, options.timeout_s, options.memory_bytes)
    found = read_source(f"{program.name}.c", options, program.source.encode())
    for rejection in found.rejections:
        if rejection.function == program.function:
            raise NotReadBack(f"{program.name}.c:{rejection.span.line}: {rejection.reason}")
    nests = tuple(nest for nest in found.nests if nest.function == program.function)
    count = sum(1 for nest in nests for _ in loops(nest))
    if count != program.loops:
        raise NotReadBack(f"{program.name}: {count} loops were read of {program.loops}")
    return nests
