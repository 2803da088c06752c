"""One respelled program: a base program, and the rewrites applied to it, each with numbers of its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scheduler.generator import GeneratorSettings, generate
from tests.campaigns.spelling import helpers, lexical, macros, structure
from tests.campaigns.spelling.tokens import Code, joined, tokens

_SAME_BASE = 8  # files that respell the same program
_SETTINGS = GeneratorSettings(least_work=1e3, most_work=2e4, most_bytes=1 << 20, most_extent=32, nests=3)

_QUICK = ("#include <stdio.h>\n", "typedef __SIZE_TYPE__ size_t;\nint printf(const char *, ...);\n")  # most of the time

OfCode = Callable[[Code, random.Random], bool]
OfText = Callable[[str, random.Random], str]

STRUCTURE: dict[str, OfCode] = {
    "helper": helpers.outlined,  # first: what others declare is not known to it
    "wrap": structure.wrap_statement,
    "label": structure.label,
    "unbrace": structure.unbrace,
    "shadow": structure.shadow,
    "right side": structure.right_side,
    "element": structure.element,
    "header": structure.header,
    "old definition": structure.old_definition,
    "pointer": structure.pointer_parameter,
    "attribute": structure.attribute,
    "initializer": structure.initializer,
    "conditional": structure.conditional,
    "nested function": structure.nested_function,
}
MACROS: dict[str, OfCode] = {
    "statement macro": macros.statement,
    "statements macro": macros.statements,
    "type name": macros.type_name,
    "identity macro": macros.identity,
    "subscript macro": macros.subscript,
    "header macro": macros.header,
    "around macro": macros.around,
    "once macro": macros.once,
    "headers macro": macros.headers,
    "near macro": macros.before_or_behind,
    "included": macros.included,
    "word macro": macros.word,
    "mark macro": macros.mark,  # last: parentheses that are macros keep no arguments together
}
LEXICAL: dict[str, OfCode] = {
    "digraphs": lexical.digraphs,
    "comments": lexical.comments,
    "utf8 names": lexical.utf8_names,
}
TEXT: dict[str, OfText] = {
    "long lines": lexical.long_lines,
    "no last line": lexical.no_last_line,
    "trigraphs": lexical.trigraphs,
    "splices": lexical.splices,
    "line ends": lexical.line_ends,
    "byte order mark": lexical.byte_order_mark,
}
_RARE = {"nested function": 0.05, "trigraphs": 0.3, "byte order mark": 0.3}
_ONCE = {*TEXT, "utf8 names"}
_ORDER = (*STRUCTURE, *MACROS, *LEXICAL, *TEXT)


@dataclass(frozen=True, slots=True)
class Respelled:
    """`files` lie beside it; `applied` are the rewrites that found a place."""

    content: bytes
    files: dict[str, bytes]
    flags: tuple[str, ...]
    applied: tuple[str, ...]


def base_number(index: int) -> int:
    return index // _SAME_BASE


def base_program(seed: int, number: int, bases: Sequence[str]) -> tuple[str, str]:
    """A name and the text; of files every third is one of those given."""
    if bases and number % 3 == 0:
        path = Path(bases[(number // 3) % len(bases)])
        return str(path), path.read_text(encoding="utf-8")
    program = generate(seed, number, _SETTINGS)
    text = program.source if number % 8 == 0 else program.source.replace(*_QUICK)
    return program.name, text


def drawn_rewrites(seed: int, index: int) -> tuple[str, ...]:
    """`name#number`, in the order in which they are applied."""
    rng = random.Random(f"{seed}:{index}:rewrites")
    names = [n for n in _ORDER for _ in range(3) if rng.random() < _RARE.get(n, 1.0)]
    chosen = rng.sample(names, min(len(names), rng.choice((1, 1, 2, 2, 3, 4, 6, 10))))
    chosen = [n for k, n in enumerate(chosen) if n not in _ONCE or n not in chosen[:k]]
    return tuple(f"{name}#{k}" for k, name in enumerate(sorted(chosen, key=_ORDER.index)))


def respell(text: str, seed: int, index: int, rewrites: Sequence[str]) -> Respelled:
    """Applies the rewrites in turn; one that finds no place changes nothing."""
    code = Code(tokens(text))
    applied = []
    finish: list[tuple[str, random.Random]] = []
    for rewrite in rewrites:
        name = rewrite.partition("#")[0]
        rng = random.Random(f"{seed}:{index}:{rewrite}")
        if name in TEXT:
            finish.append((name, rng))
            applied.append(rewrite)
            continue
        try:
            done = {**STRUCTURE, **MACROS, **LEXICAL}[name](code, rng)
        except ValueError:  # brackets that a macro hides
            done = False
        if done:
            applied.append(rewrite)
    whole = "".join(f"{d}\n" for d in code.defines) + joined(code.tokens)
    files = dict(code.files)
    flags = list(code.flags)
    for name, rng in finish:
        whole = TEXT[name](whole, rng)
        if name == "trigraphs":
            flags.append("-trigraphs")
        if name in ("line ends", "trigraphs"):
            files = {path: TEXT[name](held, rng) for path, held in files.items()}
    encoded = {path: held.encode() for path, held in files.items()}
    return Respelled(whole.encode(), encoded, tuple(dict.fromkeys(flags)), tuple(applied))
