"""How a file's C is to be read, by the flags it is compiled with (`flags` says what each means)."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from scheduler.frontend.clang.flags import C90, FLAGS, HARMLESS_CHECKS, TRAPS, Flag
from scheduler.ir.types import FUNCTIONS

_OPENMP = "-D_OPENMP=201511"
_JOINED = ("-D", "-U", "-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-isysroot", "--sysroot")
_WITH_VALUE = frozenset((*_JOINED, "-iprefix", "-iwithprefix", "-iwithprefixbefore", "-target"))
_DROPPED = frozenset(  # with their values
    (
        *("-o", "-x", "-L", "-l", "-T", "-u", "-z", "-e", "-A", "-B", "-MF", "-MT", "-MQ", "-MJ", "-Xlinker"),
        *("-Xassembler", "--param", "-mllvm", "-arch", "-aux-info", "-wrapper", "-imultilib"),
    )
)
_LONG = {
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--include-directory": "-I",
    "--include": "-include",
    "--imacros": "-imacros",
    "--std": "-std",
    "--ansi": "-ansi",
    "--trigraphs": "-trigraphs",
    "--optimize": "-O",
    "--no-standard-includes": "-nostdinc",
    "--traditional-cpp": "-traditional-cpp",
}
_HANDED_ON = frozenset(("-Xpreprocessor", "-Xclang"))


@dataclass(frozen=True, slots=True)
class Dialect:
    """`wraps`: signed arithmetic may wrap around; `traps`: or end the program. `untyped`: objects of
    different types may share memory. `foreign`: mathematical functions that
    may be the program's own. `refusal`: why no loop can be read, or nothing. `parser`: what the C parser is given.
    """

    wraps: bool = False
    traps: bool = False
    untyped: bool = False
    foreign: frozenset[str] = frozenset()
    refusal: str = ""
    parser: tuple[str, ...] = ()

    def joined(self, flags: Iterable[str]) -> Dialect:
        """As some of the functions have these flags as well, and it is not known which: right for all of them."""
        more = dialect_of(flags)
        return replace(
            self,
            wraps=self.wraps or more.wraps,
            traps=self.traps or more.traps,
            untyped=self.untyped or more.untyped,
            foreign=self.foreign | more.foreign,
            refusal=self.refusal or more.refusal,
        )


def dialect_of(flags: Iterable[str]) -> Dialect:
    """Of a list of flags, response files read."""
    state: dict[Flag, str | None] = {}  # the last flag of each entry, None where it turns off
    parser: list[str] = []
    foreign: frozenset[str] = frozenset()
    checks: set[str] = set()
    machine = unknown = ""
    for name, value in _flags(flags):
        whole = f"{name} {value}" if value else name
        if name == "-target" or name.startswith("--target="):
            machine = value or name.partition("=")[2]
            continue
        entry, turned_off = _entry(name)
        if entry is None:
            unknown = unknown or (whole if name.startswith(("-f", "-m")) else "")
            continue
        state[entry] = None if turned_off else whole
        if entry.effect in ("parser", "standard"):
            parser += (name,) if value is None else (name, value)
        elif entry.effect == "library":
            foreign = _foreign(foreign, name)
            hosted = name in ("-fhosted", "-fno-freestanding")
            parser.append("-fhosted" if hosted else name.replace("-fno-hosted", "-ffreestanding"))
        elif entry.effect == "sanitizer":
            checks = checks - _listed(name) if turned_off else checks | _listed(name)
    active = {entry: flag for entry, flag in state.items() if flag is not None}
    effects = {entry.effect for entry in active}
    if "openmp" in effects:
        parser.append(_OPENMP)
    reported = sorted(checks - TRAPS - HARMLESS_CHECKS)
    traps = "traps" in effects or bool(checks & TRAPS)
    refusals = [f"{flag}: {entry.why}" for entry, flag in active.items() if entry.effect == "refused"]
    refusals += [f"{flag}: {entry.why}" for entry, flag in active.items() if re.fullmatch(C90, flag)]
    refusals += [f"-target {machine}: the loops are read as for this machine"] if not _is_here(machine) else []
    refusals += [f"-fsanitize={reported[0]}: what it reports would change"] if reported else []
    refusals += [f"{unknown}: it is not known what this flag changes"] if unknown else []
    return Dialect(
        "wraps" in effects or traps,
        traps,
        "untyped" in effects,
        foreign,
        refusals[0] if refusals else "",
        tuple(parser),
    )


def _flags(flags: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """The flags that are not the linker's, each with the value that stands beside it."""
    words = list(_words(flags))
    position = 0
    while position < len(words):
        word = words[position]
        following = words[position + 1] if position + 1 < len(words) else ""
        position += 1
        if word in _DROPPED:
            position += 1
        elif word in _WITH_VALUE:
            position += 1
            yield word, following
        elif word.startswith("-"):
            yield word, None


def _words(flags: Iterable[str]) -> Iterator[str]:
    for flag in flags:
        name, equals, value = flag.partition("=")
        if flag.startswith("-Wp,"):
            yield from flag.split(",")[1:]
        elif name in _LONG:
            yield _LONG[name] + (equals if name == "--std" else "") + value
        elif flag not in _HANDED_ON:
            yield flag


@cache
def _entry(flag: str) -> tuple[Flag | None, bool]:
    """What a flag is an example of, and whether it turns that off."""
    for entry in FLAGS:
        match = re.fullmatch(entry.pattern, flag)
        if match is not None:
            return entry, match.groupdict().get("no") is not None
    return None, False


def _foreign(foreign: frozenset[str], flag: str) -> frozenset[str]:
    off = flag.startswith(("-fno-builtin", "-ffreestanding", "-fno-hosted"))
    single = flag.partition("builtin-")[2]
    names = frozenset((single,)) if single else frozenset(FUNCTIONS)
    return foreign | names if off else foreign - names


def _listed(flag: str) -> set[str]:
    found = set(flag.partition("=")[2].split(","))
    return found | TRAPS | HARMLESS_CHECKS if "all" in found and flag.startswith("-fno-") else found


def _is_here(machine: str) -> bool:
    """Whether a target is this machine, with the sizes that the types have here."""
    return not machine or (
        machine.split("-")[0].replace("amd64", "x86_64") == platform.machine() and "x32" not in machine
    )


def flags_in(texts: Iterable[bytes]) -> tuple[str, ...]:
    """Those that attributes and pragmas (`optimize`, `target`, `may_alias`) in C texts set for parts of them."""
    found: dict[str, None] = {}
    for text in texts:
        if b"may_alias" in text:
            found["-fno-strict-aliasing"] = None
        text = text.replace(b'\\"', b'"')  # of _Pragma("GCC optimize (\"wrapv\")")
        for match in _OPTIMIZE.finditer(text):
            before = text[max(0, match.start() - _BEFORE) : match.start()]
            if _ATTRIBUTE.search(before) is None:
                continue
            listed = (match[2] or match[3]).decode("utf-8", "replace")
            names = [name for words in re.findall(r'"([^"\n]*)"', listed) for name in re.split(r"[\s,]+", words)]
            names += re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"\n]*"', "", listed))  # macros
            prefix = "-f" if match[1] == b"optimize" else "-m"
            found.update(dict.fromkeys(flag for name in names for flag in _named(name, prefix)))
    return tuple(found)


def _named(name: str, prefix: str) -> tuple[str, ...]:
    """The flag that a word in such a list stands for; none for levels and machines."""
    if not name or re.fullmatch(r"-?O?[0-3a-z]|-?O?fast|\d+|\+.*|(?:arch|tune|cpu|branch-protection)=.*", name):
        return ()
    return (name if name.startswith("-") else prefix + name,)


_BEFORE = 300
_OPTIMIZE = re.compile(rb"\b(?:__)?(optimize|target)(?:__)?\s*(?:\(((?:[^()\"]|\"[^\"\n]*\")*)\)|(\"[^\n]*))")
_ATTRIBUTE = re.compile(rb"(?:__attribute(?:__)?\b|\bgnu\s*::|\b__gnu__\s*::|\bGCC\s)[^;{}]*\Z")
