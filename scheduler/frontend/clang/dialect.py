"""How a file's C is to be read, by the flags it is compiled with: `FLAGS` says what each means.

Sources: GCC 15 manual, chapters 3.4 (dialect), 3.9 (debugging) to 3.17 (code generation) and 3.20 (x86); Clang 20
command line reference. Of the entries the first one that matches a flag counts, and of the flags of one entry the last.
Long, because of that table.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from scheduler.ir.types import FUNCTIONS, MEMORY

Effect = Literal[
    "nothing", "parser", "standard", "openmp", "wraps", "traps", "untyped", "sanitizer", "library", "refused"
]


@dataclass(frozen=True, slots=True)
class Flag:
    """A regular expression for flags, whose group `no` turns off what the others turn on, and what they mean.

    `nothing`: the loops are read, and run, as without it. `parser`: the C parser is given it. `standard`: so it is, and
    C of before 1999 is refused. `openmp`: pragmas count. `wraps`: signed arithmetic may wrap around. `traps`: it may
    end the program. `untyped`: objects of different types may share memory. `sanitizer`: by its list. `library`: a
    function called `sqrt` may be the program's own. `refused`: no loop is read. `why`: what is in the way, or why
    nothing is.
    """

    pattern: str
    effect: Effect
    why: str
    shown: str  # in the documentation


def _any(names: str) -> str:
    return f"(?:{'|'.join(names.split())})"


def _either(names: str) -> str:
    """`-fname`, `-fno-name`, either with a value."""
    return rf"-f(?P<no>no-)?{_any(names)}(?:=.*)?"


_MATH = r"""
fast-math unsafe-math-optimizations associative-math reciprocal-math finite-math-only signed-zeros math-errno
rounding-math trapping-math
"""
_MATH_OF_GCC = r"""
signaling-nans fp-contract excess-precision float-store cx-limited-range cx-fortran-rules cx-method
fp-int-builtin-inexact fp-model fp-exception-behavior denormal-fp-math.* fp-eval-method protect-parens honor-nans
honor-infinities approx-func strict-float-cast-overflow permitted-flt-eval-methods
"""
_OPTIMIZATIONS = r"""
tree-.* ipa-.* ira-.* lra-.* gcse.* sched.* schedule-.* sel-sched-.* selective-.* loop-.* graphite.* unroll-.*
unswitch-.* split-.* peel-.* peephole.* version-loops-.* align-(functions|jumps|labels|loops) inline.* reorder-.*
if-conversion2? ssa-.* cse-.* vect-cost-model simd-cost-model vectorize slp-vectorize modulo-sched.* move-loop-.*
ivopts prefetch-.* predictive-.* rename-registers shrink-wrap.* store-merging code-hoisting dce dse hoist-.*
isolate-.* jump-tables thread-jumps tracer web ree partial-inlining indirect-inlining early-inlining devirtualize.*
expensive-.* optimize-.* omit-frame-pointer aggressive-loop-.* allocation-dce allow-store-data-races auto-inc-dec
bit-tests branch-.* btr-.* caller-saves combine-.* compare-elim conserve-stack cprop-.* crossjumping defer-pop
delayed-branch delete-dead-exceptions finite-loops forward-propagate function-cse guess-.* harden-.* hardened
limit-function-alignment lifetime-dse live-.* merge-.* nothrow-opt profile.* auto-profile.* reschedule-.* rerun-.*
section-anchors stdarg-opt strength-reduce unconstrained-commons variable-expansion-.* vpt ext-dce late-combine-.*
avoid-store-forwarding disable-.* enable-.* check-data-deps printf-return-value chkp-.* fold-.* fold-mem-.* malloc-dce
move-ivopts regmove force-addr zee see unit-at-a-time unsafe-loop-.* save-optimization-record experimental-.*
unique-.* basic-block-.* multi-.*
"""
_CODE = r"""
pic PIC pie PIE plt common function-sections data-sections visibility.* lto.* fat-lto-objects whole-program.* use-ld
use-linker-plugin ident stack-.* cf-protection.* zero-call-used-regs zero-initialized-in-bss patchable-.* tls-model
trampolines semantic-.* asynchronous-unwind-tables unwind-tables exceptions dwarf.* debug-.* eliminate-.* emit-.*
var-tracking.* verbose-asm record-.* file-prefix-map macro-prefix-map coverage-.* test-coverage random-seed
toplevel-reorder keep-.* leading-underscore pcc-struct-return reg-struct-return call-(used|saved)-.* fixed-.*
gnu-unique cold-.* integrated-(as|cc1) addrsig split-dwarf.* split-stack sync-libcalls strict-volatile-bitfields
strict-flex-arrays strict-enums strict-return delete-null-pointer-checks wrapv-pointer pointer-tbaa xray-.*
standalone-debug limit-debug-info crash-.* rtlib rtti checking compare-debug.* offload.* openacc.* openmp-simd
openmp-.+ threadsafe-statics argument-alias argument-noalias.* direct-.* abi-.* asan-.* building-libgcc
inhibit-size-directive large-source-files handle-exceptions
"""
_SAYING = r"""
diagnostics-.* color-diagnostics ansi-escape-codes max-errors message-length show-.* dump-.* opt-info.* mem-report.*
time-report.* time-trace.* analyzer.* syntax-only tabstop caret-.* working-directory track-macro-expansion
canonical-.* pch-.* extended-identifiers callgraph-info.* max-include-depth debug-cpp spell-checking error-limit
macro-backtrace-limit permissive cond-mismatch lax-vector-conversions allow-parameterless-.* report-bug
(pre|post)-ipa-.*
"""
# what libclang 18 knows, too
_CPU = r"""
avx avx2 avx512(?:f|bw|cd|dq|vl|ifma|vbmi2?|vnni|bitalg|vpopcntdq|fp16|bf16|vp2intersect) avxvnni sse3 ssse3 sse4
sse4\.1 sse4\.2 sse4a fma fma4 f16c bmi bmi2 lzcnt popcnt aes pclmul sha adx movbe rdrnd rdseed fsgsbase xsave xsavec
xsaveopt xsaves mmx cx16 prfchw vaes gfni vpclmulqdq crc32 xop tbm lwp rtm amx-(?:tile|int8|bf16) clwb clflushopt pku
wbnoinvd waitpkg movdiri movdir64b serialize shstk rdpid invpcid prefetchwt1 clzero mwaitx
"""
_MACHINE = r"""
tune.* cpu cmodel red-zone prefer-.* stack.* preferred-stack-boundary vzeroupper recip incoming-stack-boundary
indirect-branch.* function-return harden-sls retpoline.* fentry.* veclibabi branch-.* mem(?:cpy|set)-strategy
stringop-strategy inline-.* accumulate-outgoing-args push-args tls-.* omit-leaf-frame-pointer cld sahf fancy-math-387
80387 fp-ret-in-387 hard-float soft-float general-regs-only ieee-fp pc(?:32|64|80) daz-ftz rtd regparm sseregparm abi
asm align-(?!double).* large-.* record-.* nop-mcount glibc musl android bionic direct-.* relax-.* move-max store-max
dump-.* avx256-.* needed stv vect8-.* skip-rax-setup force-.* cet-switch manual-endbr partial-.* gather scatter use-.*
fused-madd 3dnowa? avx5124\w+ avx512(?:er|pf) avx10.* apxf? sgx uintr kl widekl hreset enqcmd tsxldtrk ptwrite pconfig
cldemote hle fxsr sse2avx sm[34] sha512 avxifma avxneconvert avxvnniint(?:8|16) cmpccxadd raoint prefetchi amx-.*
usermsr llvm outline-.* fix-cortex-.* sve-vector-bits strict-align pic-.* fpu 8bit-idiv abm call-ms2sysv-xlogues
instrument-return intel-syntax mitigate-rop mpx mwait default pcommit sse5 uclibc address-mode mudflap float-abi thumb
arm unaligned-access implicit-float constructor-aliases dispatch-scheduler
"""
C90 = r"-ansi|-std=(?:c|gnu)(?:89|90)|-std=iso9899:(?:1990|199409)"
_PRECISION = "floating-point numbers have more precision than their types"
TRAPS = frozenset(("undefined", "signed-integer-overflow"))
_HARMLESS = """
address hwaddress kernel-address kernel-hwaddress pointer-compare pointer-subtract thread leak memory
shadow-call-stack safe-stack cfi kcfi fuzzer fuzzer-no-link alignment shift shift-exponent shift-base
integer-divide-by-zero unreachable vla-bound null return bounds bounds-strict array-bounds local-bounds object-size
float-divide-by-zero enum bool float-cast-overflow nonnull-attribute returns-nonnull-attribute builtin
pointer-overflow vptr nullability function memtag memtag-stack memtag-heap realtime
"""
HARMLESS_CHECKS = frozenset(_HARMLESS.split())  # for programs that they find nothing in

FLAGS: tuple[Flag, ...] = (
    Flag(r"-D.*|-U.*|-undef", "parser", "macros are asked of the compiler", "-D -U -undef"),
    Flag(
        r"-I.*|-isystem.*|-iquote.*|-idirafter.*|-include.*|-imacros.*|-iprefix.*|-iwithprefix.*|-isysroot.*|--sysroot.*|"
        r"-nostdinc",
        "parser",
        "headers",
        "-I -isystem -iquote -idirafter -include -imacros -isysroot --sysroot -nostdinc",
    ),
    Flag(rf"-std=.*|{C90}", "standard", "what is written is C of 1999 or later, with GNU extensions", "-std= -ansi"),
    Flag(r"-trigraphs", "parser", "trigraphs", "-trigraphs"),
    Flag(r"-O.*", "parser", "macros tell it; -Ofast is read as -ffast-math", "-O0 … -O3 -Os -Og -Ofast"),
    Flag(
        _either(_MATH),
        "parser",
        "the order of operations is kept, and none is computed ahead; what compilers may do then, they may do to both",
        " ".join(f"-f{name}" for name in _MATH.split()),
    ),
    Flag(_either(_MATH_OF_GCC), "nothing", "as above: what compilers may do, they may do to both",
         "-ffp-contract= -fsignaling-nans -fexcess-precision= -fcx-limited-range …"),
    Flag(r"-f(?P<no>no-)?wrapv", "wraps", "signed arithmetic is exact only where that is proved or tested",
         "-fwrapv"),
    Flag(r"-f(?:no-|(?P<no>))strict-overflow", "wraps", "as -fwrapv", "-fno-strict-overflow"),
    Flag(r"-f(?P<no>no-)?trapv", "traps", "as -fwrapv; loops in which values may overflow are left alone",
         "-ftrapv"),
    Flag(r"-f(?:no-|(?P<no>))strict-aliasing", "untyped", "whether arrays of different types overlap is tested as well",
         "-fno-strict-aliasing"),
    Flag(r"-f(?P<no>no-)?sanitize=.*", "sanitizer", "undefined and signed-integer-overflow as -ftrapv; the others say "
         "nothing of a program without faults; integer and implicit-… are refused", "-fsanitize="),
    Flag(r"-f(?:no-)?sanitize-.*", "nothing", "how sanitizers report", "-fsanitize-…"),
    Flag(r"-f(?:no-)?(?:un)?signed-char", "parser", "the written file tests it", "-fsigned-char -funsigned-char"),
    Flag(_either("short-enums pack-struct short-wchar ms-extensions gnu89-inline dollars-in-identifiers asm"),
         "parser", "sizes and places of members are tested in the written file",
         "-fshort-enums -fpack-struct[=n] -fshort-wchar -fms-extensions -fgnu89-inline …"),
    Flag(r"-mlong-double-(?:64|80|128)|-malign-double|-m(?:no-)?ms-bitfields", "parser",
         "sizes and places of members are tested in the written file", "-mlong-double-… -malign-double -mms-bitfields"),
    Flag(r"-f(?:no-builtin(?:-\w+)?|builtin(?:-\w+)?|freestanding|no-freestanding|hosted|no-hosted)", "library",
         "loops that call such a function are left alone", "-fno-builtin -fno-builtin-… -ffreestanding"),
    Flag(r"-f(?P<no>no-)?i?openmp(?:=.*)?|-qopenmp", "openmp", "pragmas say how loops are run", "-fopenmp"),
    Flag(r"-m(?:(?P<no>64)|32|x32|16|iamcu)", "refused", "only programs with 64-bit pointers and 64-bit long are tuned",
         "-m32 -mx32 -m16"),
    Flag(r"-mfpmath=(?:(?P<no>sse)|.*)", "refused", _PRECISION, "-mfpmath=387"),
    Flag(r"-m(?:no-|(?P<no>))sse2?", "refused", _PRECISION, "-mno-sse"),
    Flag(r"-m(?:96|128)bit-long-double", "refused", "the C parser does not know the size of long double with it",
         "-m96bit-long-double -m128bit-long-double"),
    Flag(r"-f(?P<no>no-)?non-call-exceptions", "refused", "every access to memory may leave the loop",
         "-fnon-call-exceptions"),
    Flag(r"-f(?P<no>no-)?single-precision-constant", "refused", "constants have another type than C gives them",
         "-fsingle-precision-constant"),
    Flag(r"-ftrivial-auto-var-init=(?:(?P<no>uninitialized)|.*)", "refused",
         "variables have values before they are set", "-ftrivial-auto-var-init="),
    Flag(r"-fsso-struct=(?:(?P<no>native|little-endian)|.*)", "refused",
         "members of structures lie in another order of bytes", "-fsso-struct="),
    Flag(r"-f(?:unsigned|no-signed|(?P<no>signed|no-unsigned))-bitfields", "refused",
         "bit-fields are read as signed", "-funsigned-bitfields"),
    Flag(r"-f(?:input|exec|wide-exec)-charset=(?:(?P<no>[Uu][Tt][Ff]-?8)|.*)", "refused",
         "characters have other values", "-fexec-charset= -finput-charset= (but UTF-8)"),
    Flag(r"-f(?P<no>no-)?instrument-functions.*", "refused", "functions of the program's own run at each call",
         "-finstrument-functions"),
    Flag(r"-fplugin.*|-fpass-plugin.*|-fgimple|-traditional(?:-cpp)?|-fpreprocessed|-fdirectives-only|-fcilkplus",
         "refused", "what it makes of the text is not known", "-fplugin= -traditional-cpp -fgimple …"),
    Flag(_either(_OPTIMIZATIONS), "nothing", "how code is made, not what it does",
         "-ftree-… -funroll-… and other optimizations"),
    Flag(_either(_CODE), "nothing", "no test of a pointer is left out because it was used; calls, sections and "
         "symbols stay as they are",
         "-fno-delete-null-pointer-checks -fexceptions -fPIC …"),
    Flag(_either(_SAYING), "nothing", "what the compiler says", "-fdiagnostics-… -fdump-…"),
    Flag(rf"-march=.*|-m(?:no-)?{_any(_CPU)}", "parser", "what the machine has", "-march= -mavx2 …"),
    Flag(rf"-m(?:no-)?{_any(_MACHINE)}(?:=.*)?", "nothing", "what the machine has", "-mtune= -mcmodel= …"),
)  # fmt: skip

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
    names = frozenset((single,)) if single else MEMORY.union(FUNCTIONS)
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
