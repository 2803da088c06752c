"""Counters in a compiled kernel: each basic block of its assembly text says how often it ran.

The inserted code changes no register and no flags that are still wanted: what the compiler made of the kernel runs as
it is, whatever the compiler and the vectors, up to 1.5 times slower. What a C library does for it is estimated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from profilers.simulated.assembly import Instruction, Work, read_instruction, total, work_of

KERNEL = "pe_counted_kernel"  # what the kernel's own entry is called in the text
_UNCOUNTED = frozenset({KERNEL, "pe_storage"})
_LABEL = re.compile(r'^"?([\w.$@]+)"?:')
_LOCAL = re.compile(r"(?<![\w.])\.L(?=\w)")
_DROPPED = re.compile(r"^\s*\.(?:file|ident|loc|cfi_\w+|addrsig(?:_sym)?)\b")
# A block that sets the flags before it reads any does not want those it began with; calls and returns keep none.
_SETS_FLAGS = re.compile(r"^(?:(?:add|sub|cmp|test|and|or|xor|neg)[bwlq]?|v?u?comis[sd]|call[q]?|ret[q]?)$")
_READS_FLAGS = re.compile(r"^(?:j(?!mp)|set|cmov|adc|sbb|rc[lr]|lahf|pushf|loop)")
_SYMBOL = re.compile(r"^\*?([A-Za-z_]\w*)(?:@|$)")
# glibc moves 128 bytes in a turn of its loop, on registers of 32
_MOVED = {
    "memcpy": Work(11 / 128, 1 / 128, 1 / 32, 1 / 32),
    "memmove": Work(11 / 128, 1 / 128, 1 / 32, 1 / 32),
    "memset": Work(7 / 128, 1 / 128, 0, 1 / 32),
}
_OF_MOVE = Work(14, 5, 2, 0)  # of a call, however long
_ELEMENTARY = {  # what glibc 2.36 takes by callgrind, its return included: instructions, branches, loads, stores
    "exp": (52, 7, 17, 2), "expf": (30, 3, 9, 0), "exp2": (42, 4, 10, 0), "exp2f": (28, 3, 8, 0),
    "log": (52, 5, 13, 0), "logf": (35, 4, 9, 0), "log2": (54, 4, 13, 0), "pow": (128, 9, 32, 3),
    "powf": (66, 5, 17, 0), "sin": (76, 8, 22, 4), "sinf": (35, 5, 9, 0), "cos": (88, 10, 23, 6),
    "cosf": (34, 5, 8, 0), "tan": (96, 13, 27, 7), "tanh": (119, 17, 20, 2), "tanhf": (119, 17, 19, 2),
    "atan": (69, 8, 21, 3), "cbrt": (132, 20, 23, 7), "hypot": (54, 9, 8, 0), "erf": (180, 12, 54, 8),
    "fmod": (85, 17, 5, 0), "lgamma": (103, 14, 28, 7),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Site:
    """A counter, and the work that one count stands for."""

    function: str
    work: Work


@dataclass(frozen=True, slots=True)
class Instrumented:
    """Assembly text that counts; the k-th counter is `pe_ran[1 + k]` of the running thread."""

    text: str
    sites: tuple[Site, ...]


def instrument(assembly: str) -> Instrumented:
    """Puts counters into what `cc -S` made of a kernel, and takes out what may stand only once in a file."""
    lines = assembly.splitlines()
    defined = {match[1] for line in lines if (match := _LABEL.match(line))}
    out: list[str] = []
    sites: list[Site] = []
    function, block, fresh = "", 0, True  # `block`: the site of the current one
    undecided: int | None = None  # where in `out` its counter stands, while its flags may still be read

    def site(work: Work, step: str) -> int:
        out.append(_counter(len(sites) + 1, step))
        sites.append(Site(function, work))
        return len(sites) - 1

    for line in lines:
        if match := _LABEL.match(line):
            function = function if match[1].startswith(".L") else match[1]
            fresh = True
        one = None if match else read_instruction(line)
        if one is not None and function not in _UNCOUNTED:
            if fresh:
                block = site(Work(), "1")
                undecided = len(out) - 1
            if undecided is not None and _SETS_FLAGS.match(one.name):
                out[undecided] = f"\tincq %fs:pe_ran@tpoff+{8 * (block + 1)}"
                undecided = None
            elif _READS_FLAGS.match(one.name):
                undecided = None
            for work, step in _dynamic(one, defined):
                site(work, step)
            sites[block] = Site(function, total(((1, sites[block].work), (1, _static(one, defined)))))
            fresh = one.jumps
        if not _DROPPED.match(line):
            out.append(_LOCAL.sub(".Lpe_", line))
    return Instrumented("\n".join([*out, "\t.text", ""]), tuple(sites))


def _counter(number: int, step: str) -> str:
    """Adds 1 or a register. No flags change, and no stack is used: the kernel's may lie below its pointer."""
    return "\n".join(
        [
            "\tmovq %rax, %fs:pe_ran@tpoff",
            f"\tmovq %fs:pe_ran@tpoff+{8 * number}, %rax",
            f"\tleaq {'1(%rax)' if step == '1' else f'(%rax,{step})'}, %rax",
            f"\tmovq %rax, %fs:pe_ran@tpoff+{8 * number}",
            "\tmovq %fs:pe_ran@tpoff, %rax",
        ]
    )


def _outside(one: Instruction, defined: set[str]) -> str | None:
    """The library function that a call or a jump goes to."""
    if not (one.calls or one.name.startswith("jmp")) or not one.operands:
        return None
    match = _SYMBOL.match(one.operands[0])
    return match[1] if match and match[1] not in defined else None


def _dynamic(one: Instruction, defined: set[str]) -> list[tuple[Work, str]]:
    """Work by the bytes or elements in a register."""
    moved = _MOVED.get(_outside(one, defined) or "")
    if moved is not None:
        return [(moved, "%rdx")]
    if "rep" in one.prefixes and one.name.startswith(("stos", "movs")):
        each = work_of(one)
        return [(Work(0, 0, each.loads, each.stores), "%rcx")]
    return []


def _static(one: Instruction, defined: set[str]) -> Work:
    if "rep" in one.prefixes and one.name.startswith(("stos", "movs")):
        return Work(1)
    called = _outside(one, defined)
    inside = _OF_MOVE if called in _MOVED else Work(*_ELEMENTARY.get(called or "", ()))
    return total(((1, work_of(one)), (1, inside)))
