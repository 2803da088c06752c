"""What macros make of OpenMP pragmas: compilers expand them there (OpenMP API 5.2, section 3.1).

The preprocessor itself is asked where each pragma stands: a second parse has an error for it, whose text it expands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scheduler.frontend.c_ast.csyntax import Unit
from scheduler.frontend.clang.lexical import Directive
from scheduler.frontend.clang.libclang import cindex
from scheduler.frontend.model import Request
from scheduler.frontend.openmp.pragmas import is_openmp

_SHOWN = ("-Dpe_shown_(...)=#__VA_ARGS__", "-Dpe_shown(...)=pe_shown_(__VA_ARGS__)")
_ANSWER = re.compile(r"pe_pragma (\d+): ?(.*)", re.DOTALL)


def expand_pragmas(index: Any, request: Request, unit: Unit) -> None:
    """Replaces the texts of the OpenMP pragmas of a unit that name macros by what these stand for there."""
    asked = [d for d in unit.source.directives if is_openmp(d) and unit.macros.keys() & re.findall(r"\w+", d.text)]
    if not asked:
        return
    answers = _answers(index, request, asked)
    written, directives = (
        tuple(replace(d, text=answers.get(d.begin, d.text)) for d in lines)
        for lines in (unit.source.written, unit.source.directives)
    )
    unit.source = replace(unit.source, written=written, directives=directives)


def _answers(index: Any, request: Request, asked: list[Directive]) -> Mapping[int, str]:
    """By the offsets of the pragmas."""
    pieces, last = [], 0
    for line in asked:
        words = line.text.partition("omp")[2]
        error = f"\n#pragma GCC error pe_shown(pe_pragma {line.begin}: {words})\n"
        pieces += [request.content[last : line.begin], error.encode()]
        last = line.end
    text = b"".join((*pieces, request.content[last:]))
    arguments = [*request.arguments, *_SHOWN]
    try:
        tu = index.parse(request.path, args=arguments, unsaved_files=[(request.path, text)])
    except cindex.TranslationUnitLoadError:
        return {}
    found = (_ANSWER.fullmatch(d.spelling) for d in tu.diagnostics)
    return {int(m[1]): f"#pragma omp {m[2]}".strip() for m in found if m is not None}
