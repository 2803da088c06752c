"""What a compiler made of a kernel: its hot loops in the disassembly, and the instructions in them.

A hot loop is an innermost one (a backward jump with no other inside). Of the loops a compiler makes of one source
loop (vectorized body, remainder), the one with the widest vectors counts, because it does most of the work.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from profilers.run import Limits, run_contained

_LIMITS = Limits(wall_s=20, memory_bytes=2 << 30, output_bytes=32 << 20)
_INSTRUCTION = re.compile(r"^\s+([0-9a-f]+):\s+(\S+)\s*(.*?)\s*(?:#.*|<.*>)?$")
_LABEL = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
_LINE = re.compile(r"^\S*\.c:(\d+)(?: \(discriminator \d+\))?$")
_JUMP = re.compile(r"^j[a-z]+$")
# add, sub, mul, div, sqrt, min, max and fused ones; the last two letters say packed or scalar, single or double
_ARITHMETIC = re.compile(r"^v?(?:add|sub|mul|div|sqrt|min|max|fn?m(?:add|sub)(?:sub|add)?\d{3}|addsub)([ps])([sd])$")
_FUSED = re.compile(r"^vfn?m(?:add|sub)")
_REGISTER_BITS = {"x": 128, "y": 256, "z": 512}


@dataclass(frozen=True, slots=True)
class HotLoop:
    """Instructions in one pass through a loop.

    `flops` maps (precision, register bits or 0 for scalar) to how many arithmetic instructions; fused ones count
    twice, as Intel's counters do.
    """

    line: int
    instructions: int
    branches: int
    loads: int
    stores: int
    flops: Mapping[tuple[int, int], int]

    def operations(self, precision: int) -> int:
        """Floating-point operations of that precision in one pass."""
        return sum(n * max(1, bits // p) for (p, bits), n in self.flops.items() if p == precision)

    @property
    def widest(self) -> int:
        """Bits of the widest vector register in arithmetic, 0 for scalars."""
        return max((bits for _, bits in self.flops), default=0)


@dataclass(frozen=True, slots=True)
class _Instruction:
    address: int
    name: str
    operands: str
    line: int


def hot_loops(executable: Path, environment: Mapping[str, str], function: str = "pe_nest") -> tuple[HotLoop, ...]:
    """The loops that do the work of `function` and of the parallel regions the compiler took out of it.

    Empty where there is no disassembler, or nothing it could read.
    """
    objdump = shutil.which("objdump", path=environment.get("PATH"))
    if objdump is None:
        return ()
    command = (objdump, "-d", "-l", "--no-show-raw-insn", "-M", "att", str(executable))
    finished = run_contained(command, limits=_LIMITS, env={"LC_ALL": "C"}, cwd=executable.parent)
    if not finished.ok:
        return ()
    return parse(finished.stdout.decode(errors="replace"), function)


def parse(text: str, function: str = "pe_nest") -> tuple[HotLoop, ...]:
    """The hot loops in the output of `objdump -d -l` (AT&T syntax)."""
    found: list[HotLoop] = []
    for name, body in _functions(text).items():
        if name == function or name.startswith(f"{function}."):
            found += [_summary(loop) for loop in _innermost(body)]
    best: dict[int, HotLoop] = {}
    for one in found:
        known = best.get(one.line)
        if known is None or (one.widest, one.instructions) > (known.widest, known.instructions):
            best[one.line] = one
    return tuple(best.values())


def _functions(text: str) -> dict[str, list[_Instruction]]:
    functions: dict[str, list[_Instruction]] = {}
    current: list[_Instruction] = []
    line = 0
    for row in text.splitlines():
        if match := _LABEL.match(row):
            current = functions.setdefault(match[1], [])
            line = 0
        elif match := _LINE.match(row):
            line = int(match[1])
        elif match := _INSTRUCTION.match(row):
            current.append(_Instruction(int(match[1], 16), match[2], match[3], line))
    return functions


def _innermost(body: list[_Instruction]) -> list[list[_Instruction]]:
    """The instructions of each loop that contains no other."""
    index = {instruction.address: k for k, instruction in enumerate(body)}
    spans: set[tuple[int, int]] = set()
    for k, instruction in enumerate(body):
        if not _JUMP.match(instruction.name):
            continue
        try:
            target = index.get(int(instruction.operands.split()[0], 16))
        except (ValueError, IndexError):
            continue
        if target is not None and target <= k:
            spans.add((target, k))
    inner = [s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]
    return [body[first : last + 1] for first, last in sorted(inner)]


def _summary(loop: list[_Instruction]) -> HotLoop:
    flops: dict[tuple[int, int], int] = {}
    loads = stores = branches = 0
    lines: dict[int, int] = {}
    for one in loop:
        branches += bool(_JUMP.match(one.name))
        memory = "(" in one.operands and not one.name.startswith(("lea", "nop", "prefetch"))
        if memory:
            stored = one.operands.rstrip().endswith(")") and not one.name.startswith(("cmp", "test", "ucom", "vucom"))
            stores += stored
            loads += not stored or not one.name.startswith(("mov", "vmov"))
        if match := _ARITHMETIC.match(one.name):
            precision = 32 if match[2] == "s" else 64
            bits = 0
            if match[1] == "p":
                registers = re.findall(r"%([xyz])mm", one.operands)
                bits = max((_REGISTER_BITS[r] for r in registers), default=128)
            flops[precision, bits] = flops.get((precision, bits), 0) + (2 if _FUSED.match(one.name) else 1)
        if one.line:
            lines[one.line] = lines.get(one.line, 0) + 1 + 4 * bool(_ARITHMETIC.match(one.name))
    line = max(lines, key=lambda k: lines[k]) if lines else 0
    return HotLoop(line, len(loop), branches, loads, stores, flops)
