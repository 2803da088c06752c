"""The written file with both forms of its nests in it, and with functions whose arguments can be exchanged.

A function around a nest gets another name, and in its place stands one that gives its arguments to the runtime
(`fuzz_runtime.c`) first: what the function computes from them, and the types that depend on them, are then as after any
other call.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perfembed.capture.extents import element_bytes, outer_arrays
from perfembed.capture.roles import Roles, roles
from profilers.workload import ELEMENT_TYPES, FLOAT_TYPES
from scheduler.frontend import Function, SourceFile
from scheduler.ir.names import spelled
from scheduler.ir.nest import Array, LoopNest, Storage
from scheduler.ir.walk import placed_statements, uses

_INNER = "perfembed_inner_"
_SPACE = rb"(?:\s|/\*.*?\*/|//[^\n]*\n)*"
_POINTER = re.compile(r"(?:const )?[\w ]+? ?\*")
_TYPE = rb"\b(?:char|short|int|long|unsigned|signed|\w+_t)\b"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A value that is drawn at the call of a function: `name` for the user, the C text of its address."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Entered:
    """A function whose values are drawn; `pairs` of them are pointers that may be equal. `draws`: some are integers."""

    name: str
    values: tuple[Drawn, ...]
    pairs: tuple[tuple[int, int], ...]
    draws: bool


_MOST_VALUES, _MOST_ARRAYS = 24, 64  # of the runtime's tables
_FIXED = re.compile(r"\*|\[|\b(?:float|double)\b")


@dataclass(slots=True)
class Instrumented:
    """`texts` by path; `nests` with the number of their function in `functions`, -1 where only contents are drawn."""

    texts: dict[str, bytes] = field(default_factory=dict)
    nests: list[tuple[LoopNest, int]] = field(default_factory=list)
    functions: list[Entered] = field(default_factory=list)

    def can_differ(self) -> bool:
        """Whether anything is drawn that randomized inputs leave as it is: sizes, or what decides where a nest goes."""
        return any(function.draws for function in self.functions) or any(
            not a.is_scalar and a.ctype not in FLOAT_TYPES and (a.name in used.index or a.name in used.control)
            for nest, _ in self.nests
            for used in [roles(nest)]
            for a in outer_arrays(nest)
        )

    def add(
        self, source: SourceFile, content: bytes, places: Mapping[str, tuple[int, int]], without: Collection[str]
    ) -> None:
        """A written file; `places`: which bytes stand in place of each nest; `without`: nests that are not run."""
        nests = [nest for nest in source.nests if nest.name in places]
        edits: list[tuple[int, int, bytes]] = []
        for function in source.functions:
            inside = [n for n in nests if n.span and function.span.begin <= n.span.begin < function.span.end]
            tried = [n for n in inside if n.name not in without and len(outer_arrays(n)) <= _MOST_ARRAYS]
            if not tried:
                continue
            entered, own = _entered(source, content, places, function, inside)
            number = -1
            if entered is not None:
                number = len(self.functions)
                self.functions.append(entered)
                edits += [(b, e, text.replace(b"@", str(number).encode())) for b, e, text in own]
            for nest in tried:
                begin, end = places[nest.name]
                edits.append((begin, end, _both(source, content[begin:end], nest, len(self.nests))))
                self.nests.append((nest, number))
        for begin, end, text in sorted(edits, reverse=True):
            content = content[:begin] + text + content[end:]
        self.texts[source.path] = content


def _both(source: SourceFile, written: bytes, nest: LoopNest, number: int) -> bytes:
    """The nest as it was and as it is written, which says when it runs the loops as they were."""
    assert nest.span is not None
    original = source.content[nest.span.begin : nest.span.end]
    at = written.rindex(original)
    written = written[:at] + f"perfembed_fell_back({number});\n".encode() + written[at:]
    addresses = ", ".join(f"(const void *){'&' if a.is_scalar else ''}({a.base or a.name})" for a in outer_arrays(nest))
    pointers = f"__extension__ (const void *const[]){{{addresses}}}" if addresses else "0"
    before = f"{{ const int pe_way = perfembed_way({number});\n"
    before += f"if (pe_way & 2) perfembed_before({number}, {spelled(pointers)});\nif (pe_way & 1)\n"
    after = f";\n}}\nif (pe_way & 2) perfembed_after({number}); }}"
    return before.encode() + written + b"\nelse {\n" + original + after.encode()


def _entered(
    source: SourceFile,
    content: bytes,
    places: Mapping[str, tuple[int, int]],
    function: Function,
    nests: Sequence[LoopNest],
) -> tuple[Entered | None, list[tuple[int, int, bytes]]]:
    """The function with the edits that give its arguments to the runtime; None where that cannot be done.

    In the edits `@` stands for its number.
    """
    first, last = nests[0], nests[-1]
    assert first.span is not None and last.span is not None
    begin = places[first.name][0] - (first.span.begin - function.span.begin)
    end = places[last.name][1] + (function.span.end - last.span.end)
    head = _head(content[begin : places[first.name][0]], function)
    unnamed = any(not name for _, name in function.parameters)
    if function.name == "main" or head is None or unnamed or len(function.parameters) > _MOST_VALUES:
        return None, []
    values = [Drawn(name, f"pe_{k}") for k, (_, name) in enumerate(function.parameters)]
    values = [*values, *_reached(source, function, nests)][:_MOST_VALUES]
    text, at = head
    copies = " ".join(f"__extension__ __auto_type pe_{k} = {n};" for k, (_, n) in enumerate(function.parameters))
    listed = ", ".join(f"PERFEMBED_VALUE({v.address})" if v.address.startswith("pe_") else v.address for v in values)
    inner = f"{_INNER}{function.name}"
    body = (
        "{ int pe_function __attribute__((__cleanup__(perfembed_leave))) = @; "
        f"{copies} {{ const struct perfembed_value pe_values[] = {{{listed or '{0, 0, 0}'}}}; "
        f"perfembed_enter(@, pe_values); }} "
        f"return {inner}({', '.join(f'pe_{k}' for k in range(len(function.parameters)))}); }}\n"
    )
    name = function.name.encode()
    edits = [(begin + at, begin + at + len(name), inner.encode()), (end, end, b"\n" + text + spelled(body).encode())]
    draws = len(values) > len(function.parameters) or any(not _FIXED.search(t) for t, _ in function.parameters)
    return Entered(function.name, tuple(values), _pairs(function), draws), edits


def _head(text: bytes, function: Function) -> tuple[bytes, int] | None:
    """The text in front of a function's body, and where its name stands in it; None for one that cannot be repeated."""
    found = re.search(rb"\b" + re.escape(function.name.encode()) + rb"\s*\(", text)
    if found is None:
        return None
    depth, position = 0, found.end() - 1
    while position < len(text):
        depth += (text[position : position + 1] == b"(") - (text[position : position + 1] == b")")
        position += 1
        if not depth:
            break
    body = re.compile(_SPACE + rb"\{", re.DOTALL).match(text, position)
    if body is None:
        return None
    head = text[: body.end() - 1]
    exported = re.search(rb"\binline\b", head) and not re.search(rb"\bstatic\b", head)
    if b"#" in head or b"..." in head or exported:
        return None
    return head, found.start()


def _reached(source: SourceFile, function: Function, nests: Sequence[LoopNest]) -> list[Drawn]:
    """Integers of the nests that lie behind pointers that are passed, or in variables of the file."""
    passed = {name for _, name in function.parameters}
    found: dict[str, Drawn] = {}
    for parameter in (p for nest in nests for p in nest.parameters if p.value is None):
        if parameter.base is not None:
            root = re.match(r"\w+", parameter.base)
            simple = re.fullmatch(r"\w+(?:(?:->|\.)\w+)+", parameter.base)
            if root is None or simple is None or (root[0] not in passed and not _is_global(source, function, root[0])):
                continue
            text = parameter.base
            at = f"({parameter.where}) ? (void *)&({text}) : 0" if parameter.where else f"(void *)&({text})"
        elif parameter.name not in passed and _is_global(source, function, spelled(parameter.name)):
            text = parameter.name
            at = f"(void *)&{text}"
        else:
            continue
        found[text] = Drawn(text, f"{{{at}, sizeof({text}), PERFEMBED_KIND({text})}}")
    return list(found.values())


def _is_global(source: SourceFile, function: Function, name: str) -> bool:
    """Whether a name is that of a variable of the file in a function, as far as its text tells."""
    word = rb"\b" + re.escape(name.encode()) + rb"\b"
    own = source.content[function.span.begin : function.span.end]
    if re.search(_TYPE + rb"[\w\s,*=+\-/().]*?" + word + rb"\s*[=;,\[]", own):
        return False
    outside, position = b"", 0
    for other in sorted(source.functions, key=lambda one: one.span.begin):
        outside += source.content[position : other.span.begin] + b"\n"
        position = max(position, other.span.end)
    outside += source.content[position:]
    return re.search(rb"^(?!\s*(?:#|extern\b|const\b))[^#\n]*" + word + rb"\s*[=;,]", outside, re.MULTILINE) is not None


def _pairs(function: Function) -> tuple[tuple[int, int], ...]:
    """Pointers to the same type that a call from elsewhere may pass equal."""
    if function.is_static:
        return ()
    pointers = [(k, t) for k, (t, _) in enumerate(function.parameters) if _POINTER.fullmatch(t)]
    same = [(k, o) for n, (k, t) in enumerate(pointers) for o, u in pointers[n + 1 :] if t.split() == u.split()]
    return tuple(same[:4])


_EXTENTS = 16
_KEPT, _NUMBERS, _INDICES = range(3)


def tables(
    program: Instrumented, report: Path, seed: int, cpu_s: float, wall_s: float, tolerance: float, threads: int
) -> str:
    """`cpu_s`, `wall_s`: for all nests; `tolerance`: of sums of floating-point numbers, relative; 0: bits count."""
    extents = sorted({e for nest, _ in program.nests for a in nest.arrays for e in _extents(a)})[:_EXTENTS]
    counts = f"{threads} {len(program.functions)} {len(program.nests)} {len(extents)}"
    lines = [str(report), f"{seed} {cpu_s:.3f} {wall_s:.3f} {tolerance:g} {counts}", " ".join(map(str, extents))]
    for function in program.functions:
        pairs = " ".join(f"{one} {other}" for one, other in function.pairs)
        lines.append(f"{len(function.values)} {len(function.pairs)} {pairs}")
    for nest, number in program.nests:
        lines.append(f"{number} {len(outer_arrays(nest))}")
        lines += _arrays(nest)
    return "\n".join(lines) + "\n"


def _arrays(nest: LoopNest) -> Iterable[str]:
    used = roles(nest)
    written = {use.access.array for s in placed_statements(nest) for use in uses(s) if use.is_write}
    for array in outer_arrays(nest):
        width = element_bytes(array.ctype)
        floating = array.ctype in FLOAT_TYPES and not array.members
        extents = _extents(array)
        named = array.storage in (Storage.GLOBAL, Storage.LOCAL) and not array.members and not array.rows
        known = math.prod(extents) * width if named and len(extents) == len(array.shape) else 0
        flags = f"{floating:d} {width} {array.rows} {array.name in written:d} {_fill(array, used)}"
        yield f"{flags} {array.is_scalar:d} {known}"


def _fill(array: Array, used: Roles) -> int:
    """What its contents may be exchanged for."""
    if array.is_scalar or array.rows or array.members or array.ctype not in ELEMENT_TYPES:
        return _KEPT
    if array.ctype == "_Bool":
        return _KEPT
    if array.ctype in FLOAT_TYPES:
        return _NUMBERS
    return _INDICES if array.name in used.index or array.name in used.control else _NUMBERS


def _extents(array: Array) -> list[int]:
    """Those that are constants."""
    return [e.const for e in array.shape if e is not None and e.is_constant]
