"""What x86-64 instructions do, read from a compiler's assembly text (AT&T syntax)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# add, sub, mul, div, sqrt, min, max and fused ones; the last two letters say packed or scalar, single or double
_ARITHMETIC = re.compile(
    r"^v?(?:h?add|h?sub|addsub|mul|div|sqrt|min|max|rcp(?:14)?|rsqrt(?:14)?|fn?m(?:add|sub)(?:sub|add)?\d{3})([ps])([sd])$"
)
_FUSED = re.compile(r"^vfn?m(?:add|sub)")
_REGISTER = re.compile(r"%([xyz])mm")
_REGISTER_BITS = {"x": 128, "y": 256, "z": 512}
_MASK = re.compile(r"\{[^}]*\}")
_PREFIXES = frozenset({"rep", "repe", "repz", "repne", "repnz", "lock", "notrack", "bnd", "data16"})
_NO_ACCESS = re.compile(r"^(?:lea[wlq]?$|nop|prefetch|endbr|clflush)")
_COMPARES = re.compile(r"^(?:cmp(?!xchg)|test|bt[wlq]?$|v?u?comis|v?p?test)")  # their last operand is only read
_PURE_STORE = re.compile(
    r"^(?:mov|vmov|vp?mask?mov|v?extract|v?pextr|vp?compress|vp?scatter|vpmov|vcvtps2ph|set|kmov|f?n?st|fist|stmx)"
)
_CHANGES = re.compile(r"^(?:inc|dec|neg|not|sh[lr]|sa[lr]|ro[lr]|rc[lr])")  # their single operand
_STRING = re.compile(r"^(stos|movs|lods|scas|cmps)[bwlq]$")


@dataclass(frozen=True, slots=True)
class Work:
    """Instructions, and what they did.

    `flops` maps (precision, register bits or 0 for scalar) to how many arithmetic instructions; fused ones count
    twice, as Intel's counters do. Branches are jumps, calls and returns; an access counts once, however wide.
    """

    instructions: float = 0
    branches: float = 0
    loads: float = 0
    stores: float = 0
    flops: Mapping[tuple[int, int], float] = field(default_factory=dict)

    def operations(self, precision: int) -> float:
        """Floating-point operations of that precision."""
        return sum(n * max(1, bits // p) for (p, bits), n in self.flops.items() if p == precision)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line: the prefixes, the mnemonic, the operands (the target last)."""

    prefixes: tuple[str, ...]
    name: str
    operands: tuple[str, ...]

    @property
    def jumps(self) -> bool:
        """Whether a jump, which ends a basic block."""
        return self.name.startswith("j") or self.name.startswith("loop")

    @property
    def calls(self) -> bool:
        return self.name.startswith("call")

    @property
    def returns(self) -> bool:
        return self.name in ("ret", "retq", "retl")


def read_instruction(line: str) -> Instruction | None:
    """The instruction in a line of assembly; None for labels, directives and comments."""
    text = line.split("#", 1)[0].strip()
    if not text or text.startswith((".", "/")) or text.endswith(":"):
        return None
    words = re.split(r"[;\s]+", text, maxsplit=1)
    prefixes = []
    while words[0] in _PREFIXES and len(words) == 2:
        prefixes.append(words[0])
        words = re.split(r"[;\s]+", words[1], maxsplit=1)
    operands = re.split(r",\s*(?![^(]*\))", words[1].strip()) if len(words) == 2 and words[1].strip() else []
    return Instruction(tuple(prefixes), words[0], tuple(operands))


def work_of(one: Instruction) -> Work:
    """What an instruction does each time it runs."""
    loads, stores = _accesses(one)
    branches = one.jumps or one.calls or one.returns
    flops: dict[tuple[int, int], float] = {}
    if match := _ARITHMETIC.match(one.name):
        bits = 0
        if match[1] == "p":
            registers = _REGISTER.findall(" ".join(one.operands))
            bits = max((_REGISTER_BITS[r] for r in registers), default=128)
        flops[32 if match[2] == "s" else 64, bits] = 2 if _FUSED.match(one.name) else 1
    return Work(1, int(branches), loads, stores, flops)


def total(parts: Iterable[tuple[float, Work]]) -> Work:
    """The sum of pieces of work, each times a factor."""
    instructions = branches = loads = stores = 0.0
    flops: dict[tuple[int, int], float] = {}
    for times, work in parts:
        instructions += times * work.instructions
        branches += times * work.branches
        loads += times * work.loads
        stores += times * work.stores
        for key, n in work.flops.items():
            flops[key] = flops.get(key, 0) + times * n
    return Work(instructions, branches, loads, stores, flops)


def _accesses(one: Instruction) -> tuple[int, int]:
    """(loads, stores), those of the stack included."""
    name = one.name
    if _NO_ACCESS.match(name):
        return 0, 0
    if (match := _STRING.match(name)) and (not one.operands or "(" in " ".join(one.operands)) and "%x" not in str(one):
        return int(match[1] != "stos"), int(match[1] in ("stos", "movs"))
    pushes, pops = name.startswith("push") or one.calls, name.startswith("pop") and not name.startswith("popcnt")
    loads = int(pops or one.returns or name.startswith("leave"))
    stores = int(pushes)
    where = [_in_memory(operand, one) for operand in one.operands]
    if not any(where):
        return loads, stores
    if not where[-1] or _COMPARES.match(name) or pushes or one.jumps:
        return loads + 1, stores
    if pops:
        return loads, stores + 1
    if len(where) == 1:
        if _PURE_STORE.match(name):
            return loads, stores + 1
        return loads + 1, stores + int(bool(_CHANGES.match(name)))
    return loads + int(not _PURE_STORE.match(name)), stores + 1


def _in_memory(operand: str, one: Instruction) -> bool:
    bare = _MASK.sub("", operand).strip()
    if one.jumps or one.calls:
        return bare.startswith("*") and not bare.startswith("*%")
    return "(" in bare or bare.startswith(("%fs:", "%gs:")) or bool(bare and bare[0] not in "%$")
