"""The ways that written files are compiled and run in."""

from __future__ import annotations

from tests.campaigns.written.model import TUNED, Way

_STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
_PARALLEL = (*TUNED, "-fopenmp")
_ADDRESS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_THREAD = ("-O1", "-g", "-fsanitize=thread")
_WHERE = "ignore_noninstrumented_modules=1:exitcode=66"
_CLANGS = ("clang-14", "clang-16", "clang-19")
_STANDARD = "".join(f"#include <{name}.h>\n" for name in ("math", "stdint", "stdio", "stdlib", "string"))
_EXPRESSIONS = "".join(f"#define {macro}\n" for macro in ("sum *(&sum)", "A (A)", "B (B)", "h (h)", "fabs(x) (x)"))


def _settings(**variables: str) -> tuple[tuple[str, str], ...]:
    return tuple({"OMP_NUM_THREADS": "3", **variables}.items())


def _sizes() -> list[Way]:
    return [
        Way("tuned", "as it was tuned"),
        Way("sizes-plus", "every size 3 larger", sizes="plus"),
        Way("sizes-smaller", "sizes smaller, some 1", sizes="smaller"),
        Way("sizes-mixed", "sizes smaller and larger, some 1", sizes="mixed"),
        Way("sizes-sanitized", "the same, AddressSanitizer", flags=(*_ADDRESS, "-fopenmp"), sizes="mixed"),
    ]


def _flags() -> list[Way]:
    return [
        Way("O0", "-O0", flags=("-O0", "-march=native", "-fopenmp")),
        Way("O3", "-O3", flags=("-O3", "-march=native", "-fopenmp")),
        Way("no-openmp", "without OpenMP", flags=TUNED),
        Way("openmp-simd", "OpenMP for vectors alone", flags=(*TUNED, "-fopenmp-simd")),
        Way("x86-64", "-march=x86-64", flags=("-O2", "-march=x86-64", "-fopenmp")),
        Way("x86-64-v3", "-march=x86-64-v3", flags=("-O2", "-march=x86-64-v3", "-fopenmp")),
        Way("no-avx512", "-mno-avx512f", flags=(*_PARALLEL, "-mno-avx512f")),
        Way("m32", "32-bit", flags=("-O2", "-m32", "-fopenmp")),
        Way("m32-sse", "32-bit, SSE", flags=("-O2", "-m32", "-msse2", "-mfpmath=sse", "-fopenmp")),
        Way("unsigned-char", "-funsigned-char", flags=(*_PARALLEL, "-funsigned-char")),
        Way("x87", "-mfpmath=387", flags=("-O2", "-mfpmath=387", "-fopenmp")),
        Way("gnu89", "-std=gnu89", flags=(*_PARALLEL, "-std=gnu89")),
        Way("c99", "-std=c99", flags=(*_PARALLEL, "-std=c99")),
        Way("gnu2x", "-std=gnu2x", flags=(*_PARALLEL, "-std=gnu2x")),
        Way("wrapv", "-fwrapv", flags=(*_PARALLEL, "-fwrapv")),
        Way("Os", "-Os", flags=("-Os", "-fopenmp", "-fno-strict-aliasing")),
        Way("precision-float", "double is float", header=_STANDARD + "#define double float\n"),
        Way("precision-double", "float is double", header=_STANDARD + "#define float double\n"),
        Way("macro-int", "int is long", header=_STANDARD + "#define int long\n"),
        Way(
            "macro-empty",
            "const, restrict, inline and static are nothing",
            flags=(*_PARALLEL, "-Dconst=", "-Drestrict=", "-Dinline=", "-Dstatic="),
        ),
        Way(
            "macro-names",
            "variables have other names",
            flags=(*_PARALLEL, *(f"-D{x}=other_{x}" for x in ("i", "j", "A", "B", "C", "n", "ni", "t", "sum"))),
        ),
        Way("macro-expressions", "variables and functions are expressions", header=_STANDARD + _EXPRESSIONS),
        Way("tgmath", "-include tgmath.h", flags=(*_PARALLEL, "-include", "tgmath.h")),
        Way("fortify", "-D_FORTIFY_SOURCE=2", flags=(*_PARALLEL, "-D_FORTIFY_SOURCE=2", "-D_GNU_SOURCE")),
        Way("address", "AddressSanitizer, UBSan", flags=_ADDRESS),
        Way("address-openmp", "the same with OpenMP", flags=(*_ADDRESS, "-fopenmp")),
        Way("thread", "ThreadSanitizer, no OpenMP", flags=_THREAD),
    ]


def _clangs() -> list[Way]:
    found = []
    for cc in _CLANGS:
        found += [
            Way(cc, "without OpenMP", cc, TUNED),
            Way(f"{cc}-O0", "-O0 -march=x86-64", cc, ("-O0", "-march=x86-64")),
            Way(f"{cc}-openmp", "with OpenMP", cc, _PARALLEL),
            Way(f"{cc}-openmp-compiled", "with OpenMP, not linked", cc, _PARALLEL, drive="compile"),
            Way(f"{cc}-races", "ThreadSanitizer that knows OpenMP's barriers", cc, (*_THREAD, "-fopenmp"),
                environment=_settings(OMP_TOOL_LIBRARIES="libarcher.so", TSAN_OPTIONS=_WHERE)),
            Way(f"{cc}-libgomp", "-fopenmp=libgomp", cc, (*TUNED, "-fopenmp=libgomp")),
        ]  # fmt: skip
    return found


def _warnings() -> list[Way]:
    found = []
    for cc in ("gcc", *_CLANGS):
        for level in ("-O2", "-O0"):
            for openmp in ((), ("-fopenmp",)):
                name = f"strict-{cc}{level}{'-openmp' if openmp else ''}"
                flags = (level, *_STRICT, *openmp)
                found.append(Way(name, "-std=c99 -pedantic -Wall -Wextra -Werror", cc, flags, drive="compile"))
    return found


def _runs() -> list[Way]:
    found = [Way(f"threads-{n}", f"{n} threads", environment=_settings(OMP_NUM_THREADS=str(n))) for n in (1, 2, 7, 64)]
    return [
        *found,
        Way("dynamic-threads", "OMP_DYNAMIC", environment=_settings(OMP_DYNAMIC="true")),
        Way("schedule", "OMP_SCHEDULE", environment=_settings(OMP_SCHEDULE="dynamic,1")),
        Way("schedule-guided", "OMP_SCHEDULE", environment=_settings(OMP_SCHEDULE="guided,3", OMP_NUM_THREADS="4")),
        Way("thread-limit", "OMP_THREAD_LIMIT=1", environment=_settings(OMP_THREAD_LIMIT="1")),
        Way("no-levels", "OMP_MAX_ACTIVE_LEVELS=0", environment=_settings(OMP_MAX_ACTIVE_LEVELS="0")),
        Way("thread-stack", "OMP_STACKSIZE=64k", environment=_settings(OMP_STACKSIZE="64k")),
        Way("thread-stack-O0", "the same, -O0", flags=("-O0", "-fopenmp"), environment=_settings(OMP_STACKSIZE="64k")),
        Way("stack", "256 KiB of stack", stack_bytes=256 << 10),
        Way("stack-O0", "the same, -O0", flags=("-O0", "-fopenmp"), stack_bytes=256 << 10),
        Way("region", "main in a parallel region, no nesting", drive="region",
            environment=_settings(OMP_MAX_ACTIVE_LEVELS="1")),
        Way("region-nested", "main in a parallel region, with nesting", drive="region",
            environment=_settings(OMP_MAX_ACTIVE_LEVELS="4")),
        Way("pthreads", "main in threads with 256 KiB of stack", drive="threads", libs=("-lm", "-lpthread")),
        Way("called", "functions called with all sorts of arguments", drive="called"),
        Way("called-O0", "the same, -O0, no OpenMP", flags=("-O0",), drive="called"),
        Way("called-address", "the same, AddressSanitizer", flags=_ADDRESS, drive="called", stack_bytes=64 << 20),
        Way("called-twice", "the same, by two threads at once", drive="twice", libs=("-lm", "-lpthread")),
        Way("called-twice-region", "the same, in a parallel region", drive="twice-region",
            environment=_settings(OMP_MAX_ACTIVE_LEVELS="4")),
        Way("included", "called from a file that includes it", drive="included"),
        Way("memory", "each allocation of ours fails", drive="memory"),
    ]  # fmt: skip


WAYS: tuple[Way, ...] = (*_sizes(), *_flags(), *_clangs(), *_warnings(), *_runs())
