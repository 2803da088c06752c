"""Puts tuned nests into the user's file: every byte outside them stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from perfembed.tuning.surroundings import Surveyed
from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.emit.original import remainder_text
from scheduler.codegen.emit.splice import guarded, header_position, nest_text, spliced
from scheduler.codegen.emit.text import VERBATIM, means_itself, preamble, values_in_front, words
from scheduler.codegen.runtime_checks.guards import runtime_condition, told_apart_by_type
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.codegen.tree.polytree import PolyTree
from scheduler.errors import SchedulerError
from scheduler.frontend import SourceFile
from scheduler.frontend.clang.lexical import Text
from scheduler.frontend.clang.numbering import Numbering, line_directive
from scheduler.ir.names import safe_name, spelled
from scheduler.ir.nest import LoopNest
from scheduler.replay import LegalityOptions, ScheduledNest
from scheduler.schedule import Schedule, format_schedule

_DEFINE = re.compile(r"#define ([^\W\d][\w$]*)")
_LABEL = re.compile(r"(?:^|[;{})])\s*([A-Za-z_]\w*)\s*:(?!:)")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A nest of the file, the schedule it gets, the speedup measured for it, and what the schedule may change."""

    nest: LoopNest
    schedule: Schedule
    speedup: float
    allowed: LegalityOptions = field(default_factory=LegalityOptions)


def rewrite_source(source: SourceFile, rewrites: Sequence[Rewrite], vector_bytes: int, surveyed: Surveyed) -> bytes:
    """The file with the nests exchanged, each behind tests of its assumptions and of what it was read under.

    For the compiler every line outside of the nests keeps its number, and the original of a nest has that in the nest;
    the new loops count on from their first line.

    The schedules are replayed and proved legal on the nests as they stand in the file. Raises
    SchedulerError where that fails, or where the text of a nest cannot be tested.
    """
    return rewrite_with_places(source, rewrites, vector_bytes, surveyed)[0]


def rewrite_with_places(
    source: SourceFile, rewrites: Sequence[Rewrite], vector_bytes: int, surveyed: Surveyed
) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """`rewrite_source`, and by a nest's name the bytes [begin, end) of the new file that stand in its place."""
    directives = Text(source.content, source.trigraphs).directives()
    numbering = Numbering(source.content, directives)
    in_file = partial(_in_file, prefix=surveyed.prefix)
    tuned, macros = f"{surveyed.prefix}tuned", surveyed.macros
    somewhere = {match[1] for d in directives if (match := _DEFINE.match(d.text))}
    reserved = frozenset((*map(safe_name, macros), *map(safe_name, somewhere)))
    edits: list[tuple[int, int, str]] = []
    ours: list[str] = []
    conditions: list[str] = []
    for rewrite in rewrites:
        span = rewrite.nest.span
        assert span is not None
        sharing = source.sharing.get(rewrite.nest.name)
        replayer = rewrite.allowed.replayer(rewrite.nest)
        tests = surveyed.tests[rewrite.nest.name]
        if not isinstance(tests, AssumptionTests):
            raise SchedulerError(f"{rewrite.nest.name}: {tests.reason}")
        scheduled = replayer.replay(rewrite.schedule)
        if not isinstance(scheduled, ScheduledNest):
            raise SchedulerError(f"{rewrite.nest.name}: {scheduled}")
        original = source.content[span.begin : span.end]
        model = replayer.of(rewrite.schedule).model
        before = original.decode("latin-1")
        context = sharing.context if sharing is not None else ""
        left = source.remainders.get(rewrite.nest.name)
        behind: tuple[str, ...] = ()
        if left is not None:  # the lines above the body count for its number
            above = before[: left.body[0] - span.begin].count("\n")
            body = before[left.body[0] - span.begin : left.body[1] - span.begin]
            behind = remainder_text(left, "\n" * above + _with_own_labels(body), context)
        text = emit(
            scheduled,
            model,
            original=_with_own_labels(before),
            behind=behind,
            vector_bytes=vector_bytes,
            checked=True,
            context=context,
            reserved=reserved,
        )
        comment = f"perfembed: {rewrite.speedup:.2f}x, {spelled(format_schedule(rewrite.schedule))}"
        if hidden := source.assumptions[rewrite.nest.name].hidden:
            names = ", ".join(map(spelled, hidden))
            comment += f"; holds what {names} of other files did then: tune again when they change"
        inspector = source.assumptions[rewrite.nest.name].inspector
        if told_apart_by_type(rewrite.nest, inspector):
            comment += "; arrays of different types do not overlap in C: tune again for -fno-strict-aliasing"
        runtime = runtime_condition(replayer.nest, replayer.model, PolyTree(model, scheduled.tree), inspector)
        condition = tests.condition(runtime)
        defined = [name for name in words(text) if name in somewhere and name not in macros]
        directive = " && ".join([*([tests.directive] if tests.directive else []), *(f"!defined {n}" for n in defined)])
        values = values_in_front(rewrite.nest)
        conditions.append(condition)
        ours += [text, *values]
        text, condition, *written_values = (in_file(part) for part in (text, condition, *values))
        numbers = _number(numbering, span.begin), _number(numbering, span.end)
        written = nest_text(text, original, comment, condition, directive, tuple(written_values), numbers, tuned)
        edits.append((span.begin, span.end, written))
    definitions = preamble("\n".join(map(_without_originals, (*ours, *conditions))), again=True, errno=surveyed.errno)
    ours.append(definitions)
    asked = [name for name in words("\n".join(ours)) if name not in macros or not means_itself(name, macros)]
    free = [f"!defined {name}" for name in asked]
    header = guarded(in_file(definitions), " && ".join((surveyed.condition, *free)), tuned)
    if edits:
        place = header_position(source.content, min(edits)[0], source.trigraphs)
        header += line_directive(_number(numbering, place))
    content, places = spliced(source.content, edits, header, source.trigraphs)
    return content, {r.nest.name: places[r.nest.span.begin] for r in rewrites if r.nest.span is not None}


def _with_own_labels(text: str) -> str:
    """The loops as they were written, for a second place in one function, where their labels are others."""
    names = [name for name in dict.fromkeys(_LABEL.findall(text)) if name != "default"]
    return f"{{ __label__ {', '.join(names)};\n{text}\n}}" if names else text


def _number(numbering: Numbering, position: int) -> int:
    """Raises SchedulerError."""
    number = numbering.at(position)
    if number is None:
        raise SchedulerError("what number a line has depends on '#line' under '#if', or with a macro")
    return number


def _in_file(text: str, prefix: str) -> str:
    """Code with the names of the file, and with ours as they are free in it; the user's own text in it stays."""
    pieces = text.split(VERBATIM)
    pieces[::2] = [spelled(re.sub(r"\bpe_", prefix, piece)) for piece in pieces[::2]]
    return VERBATIM.join(pieces)


def _without_originals(text: str) -> str:
    return "".join(text.split(VERBATIM)[::2])
