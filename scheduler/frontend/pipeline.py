"""The passes that make the functions of a file ready for the detection of loop nests, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scheduler.frontend.c_ast.csyntax import Unit
from scheduler.frontend.passes.hoist_side_effects import HoistSideEffects
from scheduler.frontend.passes.lower_control_flow import LowerControlFlow
from scheduler.frontend.passes.normalize_loops import NormalizeLoops
from scheduler.frontend.passes.sroa import sroa
from scheduler.frontend.passes.substitute_inductions import SubstituteInductions
from scheduler.frontend.passes.walk import FunctionPass


def _of_each(kind: type[FunctionPass]) -> Callable[[Unit], None]:
    def run(unit: Unit) -> None:
        marked = frozenset(d.target for d in unit.directives if d.text.startswith("#pragma"))
        for function in unit.functions.values():
            function.body = kind(function, marked).run()

    return run


PASSES: Mapping[str, Callable[[Unit], None]] = {
    "sroa": sroa,
    "hoist_side_effects": _of_each(HoistSideEffects),
    "lower_control_flow": _of_each(LowerControlFlow),
    "normalize_loops": _of_each(NormalizeLoops),
    "substitute_inductions": _of_each(SubstituteInductions),
}


def run_passes(unit: Unit) -> None:
    """Rewrites all functions."""
    for run in PASSES.values():
        run(unit)
