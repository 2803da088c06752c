"""The passes that make the functions of a file ready for the detection of loop nests, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scheduler.frontend.c_ast.csyntax import Unit
from scheduler.frontend.c_ast.printing import function_text
from scheduler.frontend.passes.hoist_side_effects import HoistSideEffects
from scheduler.frontend.passes.lower_control_flow import LowerControlFlow
from scheduler.frontend.passes.memory_calls import memory_calls
from scheduler.frontend.passes.normalize_loops import NormalizeLoops
from scheduler.frontend.passes.sroa import sroa
from scheduler.frontend.passes.substitute_inductions import SubstituteInductions
from scheduler.frontend.passes.walk import FunctionPass


def _of_each(kind: type[FunctionPass]) -> Callable[[Unit], None]:
    def run(unit: Unit) -> None:
        marked = frozenset(d.target for d in unit.source.directives if d.text.startswith("#pragma"))
        for function in unit.functions.values():
            function.body = kind(function, marked).run()

    return run


PASSES: Mapping[str, Callable[[Unit], None]] = {
    "sroa": sroa,
    "hoist_side_effects": _of_each(HoistSideEffects),
    "memory_calls": memory_calls,
    "lower_control_flow": _of_each(LowerControlFlow),
    "normalize_loops": _of_each(NormalizeLoops),
    "substitute_inductions": _of_each(SubstituteInductions),
}


NAMES = (*PASSES, "inline_calls", "rotate_buffers", "delinearize", "detect_scops")
"""All that can be looked at, in order; the last four are done for each region of loops (`scop.detection`)."""


def run_passes(unit: Unit, print_after: str = "") -> tuple[tuple[str, str], ...]:
    """Rewrites all functions; (name, text) of those of the file after the pass `print_after`."""
    printed: list[tuple[str, str]] = []
    for name, run in PASSES.items():
        run(unit)
        if name == print_after:
            own = sorted((f for f in unit.functions.values() if f.in_file), key=lambda f: f.begin)
            printed += [(f.name, function_text(f)) for f in own]
    return tuple(printed)
