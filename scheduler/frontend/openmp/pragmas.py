"""Pragmas as written: which OpenMP directive, its clauses, and what else stands above a loop.

Source of the meaning: OpenMP API 5.2, chapters 5 (data environment), 10 to 11 (teams, work-sharing) and 15
(synchronization).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.frontend.clang.lexical import Directive

_NAMES = (  # the longer ones first
    "parallel for simd",
    "parallel for",
    "parallel sections",
    "parallel master",
    "parallel masked",
    "parallel loop",
    "parallel",
    "for simd",
    "for",
    "simd",
    "declare simd",
    "declare reduction",
)
SHARING = frozenset(("parallel for simd", "parallel for", "for simd", "for"))
OF_LOOPS = SHARING | {"simd"}
STANDALONE = frozenset(("barrier", "flush", "taskwait", "taskyield", "threadprivate", "declare simd"))
BLOCKS = frozenset(("parallel", "single", "master", "masked", "critical", "section", "sections", "task"))
OWN = ("private", "firstprivate", "lastprivate", "reduction", "linear")  # clauses of what each thread has its own
ONE_THREAD = frozenset(("single", "master", "masked"))
PROTECTED = frozenset(("critical", "atomic"))
_HOW = ("schedule", "collapse", "nowait", "num_threads", "if", "simdlen", "safelen", "aligned", "proc_bind", "order")
UNDERSTOOD = frozenset((*OWN, *_HOW, "shared", "default", "nontemporal"))
KINDS = frozenset(("static", "dynamic", "guided", "auto", "runtime", "monotonic", "nonmonotonic", "simd"))
WORDS = UNDERSTOOD | KINDS | BLOCKS | PROTECTED | STANDALONE | {w for name in _NAMES for w in name.split()} | {"omp"}
# Above a loop these change nothing but how fast it runs.
_HINTS = re.compile(
    r"(GCC (ivdep|unroll)|ivdep|(no)?unroll(_and_jam)?|clang loop|vector|simd|loop_count|distribute_point)\b"
)
_HARMLESS = re.compile(
    r"(scop|endscop|once|STDC FP_CONTRACT DEFAULT|STDC CX_LIMITED_RANGE|(GCC|clang) (diagnostic|system_header)|mark"
    r"|region|endregion|message|GCC (warning|poison))\b"
)
# The first words of pragmas that gcc (manual, 6.65) or clang (language extensions) act upon; others are ignored.
_WORDS = """GCC STDC acc alloc_text align bss_seg clang code_seg comment config const_seg data_seg extern_prefix
fenv_access fini float_control fp_contract function include_alias init init_seg intrinsic long_calls longcall ms_struct
omp optimize options pack pointers_to_members poison pop_macro push_macro redefine_extname reset_options
scalar_storage_order section segment strict_gs_check system_header target unused vtordisp warning weak"""
_ACTED_UPON = frozenset(_WORDS.split())
_OPERATOR = re.compile(r'_Pragma\s*\(\s*"((?:[^"\\]|\\.)*)"\s*\)\s*')
_CLAUSE = re.compile(r"[\s,]*([a-z_]+)\s*")


@dataclass(frozen=True, slots=True)
class Clause:
    """`name(argument)`; without parentheses the argument is empty."""

    name: str
    argument: str


@dataclass(frozen=True, slots=True)
class Pragma:
    """`name`: the OpenMP directive (`parallel for`), `hint` for others about loops, `harmless`, or `?` and the text.

    `problem`: why its clauses are not understood.
    """

    name: str
    text: str
    begin: int
    end: int
    target: int
    clauses: tuple[Clause, ...] = ()
    problem: str = ""

    def arguments(self, name: str) -> Iterator[str]:
        return (c.argument for c in self.clauses if c.name == name)


def is_openmp(directive: Directive) -> bool:
    return re.match(r"#pragma omp\b", directive.text) is not None


def pragma(directive: Directive) -> Pragma | None:
    """What a preprocessor line says as a pragma; None for other lines."""
    words = directive.text.removeprefix("#").strip()
    if not words.startswith("pragma "):
        return None
    text = words.removeprefix("pragma ").strip()
    place = (text, directive.begin, directive.end, directive.target)
    if not re.match(r"omp\b", text):
        return Pragma(_kind(text), *place)
    rest = text.removeprefix("omp").strip()
    name = next((n for n in _NAMES if re.match(rf"{n}\b", rest)), None) or re.match(r"\w*", rest)[0]  # type: ignore[index]
    clauses, problem = _clauses(rest.removeprefix(name))
    return Pragma(name, *place, clauses, problem)


def _kind(text: str) -> str:
    """Of a pragma that is none of OpenMP."""
    if _HARMLESS.match(text):
        return "harmless"
    word = re.match(r"\w*", text)
    known = word is not None and word.group() in _ACTED_UPON
    return "hint" if _HINTS.match(text) else "?" if known else "harmless"


def is_harmless(text: str) -> bool:
    """Whether the text of a macro is nothing but pragmas that change nothing."""
    while match := _OPERATOR.match(text):
        if re.match(r"omp\b", match[1]) or _kind(match[1].strip()) != "harmless":
            return False
        text = text[match.end() :]
    return not text.strip()


def _clauses(text: str) -> tuple[tuple[Clause, ...], str]:
    """The clauses, and what of the text is none."""
    found: list[Clause] = []
    position = 0
    if text.lstrip().startswith("("):  # critical(name), threadprivate(list), flush(list)
        text = "of" + text.lstrip()
    while position < len(text) and text[position:].strip(" ,"):
        match = _CLAUSE.match(text, position)
        if match is None or match.end() == position:
            return tuple(found), f"'{text[position:].strip()}' is not understood"
        position, argument = match.end(), ""
        if text[position : position + 1] == "(":
            end = _closing(text, position)
            if end < 0:
                return tuple(found), "a parenthesis is not closed"
            argument, position = text[position + 1 : end].strip(), end + 1
        found.append(Clause(match[1], argument))
    return tuple(found), ""


def _closing(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        depth += (text[position] == "(") - (text[position] == ")")
        if depth == 0:
            return position
    return -1


def listed(found: Pragma, clause: str) -> Iterator[str]:
    """The variables of a clause, without operators, sections and steps."""
    for argument in found.arguments(clause):
        names = argument.rpartition(":")[0 if clause == "linear" else 2] or argument
        if clause == "reduction":
            names = argument.partition(":")[2]
        yield from (name.partition("[")[0].strip() for name in parts(names))


def collapse(found: Pragma) -> int:
    """How many loops a pragma is about."""
    return max((int(a) for a in found.arguments("collapse") if a.isdigit()), default=1)


def parts(names: str) -> list[str]:
    """Split at commas outside of brackets."""
    parts, depth = [""], 0
    for char in names:
        depth += (char in "[(") - (char in "])")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in parts if part.strip()]
