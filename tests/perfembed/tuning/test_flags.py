"""Programs whose output depends on a flag: what is written under it, or another one, prints what the original does."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from scheduler.codegen.runtime_checks.source_assumptions import Untestable
from tests.rewriting import identity, read, surveyed, without_originals

pytestmark = pytest.mark.gcc

_HEAD = "#include <stdio.h>\n#include <stdlib.h>\n#include <math.h>\n#include <wchar.h>\n"


@dataclass(frozen=True)
class Case:
    """`arguments`: with the first the written loops run, unless none does (`refused`: why no loop of `f` is written).

    `flags`: of the tuning, `later`: of other compilations of the written file.
    """

    source: str
    flags: tuple[str, ...]
    arguments: tuple[str, ...]
    refused: str = ""
    later: tuple[tuple[str, ...], ...] = ()


_FOLDED = """static int a[600]; void f(int n) { for (int i = 0; i < n; i++) { a[i] += 1;
 if (i * 4300000 < 0) a[i] = 1000; } }
int main(int c, char **v) { f(atoi(v[1])); int s = 0; for (int i = 0; i < 600; i++) s += a[i] * i;
 printf("%d\\n", s); }"""
_SUM = """static long a[4000]; void f(long *p, int n, int m) { for (int i = m; i + 7 < n; i++) p[i & 1023] += i; }
int main(int c, char **v) { f(a, atoi(v[1]), atoi(v[2])); printf("%ld %ld %ld\\n", a[0], a[5], a[1023]); }"""
_WIDE = """static int a[400]; void f(int n, int k) { for (int i = 0; i < n; i++) {
 long at = (long)(i * k) + 5; if (at >= 0)
 a[i] = 3; else a[i] = 2; } }
int main(int c, char **v) { f(atoi(v[1]), atoi(v[2])); int s = 0; for (int i = 0; i < 400; i++) s += a[i] * (i % 7);
 printf("%d\\n", s); }"""
_EXIT = """static int a[100], last; void f(int first, int n) { int t = 0; for (int i = first; i <= n; i += 1000000000)
 a[t++ & 31] += i; last = t; }
int main(int c, char **v) { f(atoi(v[1]), atoi(v[2])); printf("%d\\n", last + a[0] + a[1] + a[2] + a[3]); }"""
_TRAP = """static int a[100]; void f(int n, int k) { for (int i = 0; i < n; i++) a[i] = a[i] * 3 + k; }
int main(int c, char **v) { f(atoi(v[1]), atoi(v[2])); printf("%d\\n", a[7]); }"""
_TRAP_INDEX = """static double a[600]; void f(int n) { for (int i = 0; i < n; i++)
 if (i * 4300000 < 0) a[i] = 2; else a[i] += 1; }
int main(int c, char **v) { f(atoi(v[1])); printf("%g\\n", a[7]); }"""
_ALIAS = """float pool[64]; void f(int *n, float *p, int *q, int m) { for (int i = 0; i < m; i++) {
 p[i] = 1.5f; q[i] += 3; } }
int main(int c, char **v) { int m = atoi(v[1]); f(0, pool, c > 2 ? (int *)pool + 1 : (int *)pool + 32, m);
 double s = 0; for (int i = 0; i < 64; i++) s += pool[i] * (i + 1); printf("%.9g\\n", s); }"""
_CHAR = """static int b[300]; static char a[300]; void f(int n) { for (int i = 0; i < n; i++)
 b[i] = a[i] < 0 ? 7 : a[i]; }
int main(int c, char **v) { for (int i = 0; i < 300; i++) a[i] = i; f(atoi(v[1])); printf("%d\\n", b[200]); }"""
_ENUM = """enum e { A, B = 200 }; struct s { enum e x; char y; int z; }; static struct s t[90]; static int b[90];
void f(int n) { for (int i = 0; i < n; i++) b[i] = t[i].z + (int)sizeof(enum e); }
int main(int c, char **v) { for (int i = 0; i < 90; i++) t[i].z = i; f(atoi(v[1])); printf("%d\\n", b[20] + b[0]); }"""
_WCHAR = """static wchar_t a[300]; static long b[300]; void f(int n) { for (int i = 0; i < n; i++) b[i] = a[i] - 1; }
int main(int c, char **v) { f(atoi(v[1])); printf("%ld\\n", b[20]); }"""
_ROOT = """static double a[100]; void f(int n) { for (int i = 0; i < n; i++) a[i] = %s(i * 0.5); }
int main(int c, char **v) { f(atoi(v[1])); printf("%%.17g\\n", a[7] + a[30]); }"""
_SINGLE = """static float a[100]; void f(int n) { for (int i = 0; i < n; i++) a[i] = a[i] * 0.1 + 0.3; }
int main(int c, char **v) { for (int i = 0; i < 100; i++) a[i] = i * 0.7f; f(atoi(v[1])); printf("%.9g\\n", a[7]); }"""
_LEVEL = """static int a[100]; void f(int n) { for (int i = 0; i < n; i++) {
#ifdef MACRO
 a[i] = i + 1;
#else
 a[i] = 2 * i;
#endif
 } } int main(int c, char **v) { f(atoi(v[1])); printf("%d\\n", a[7]); }"""
_VALUE = """static int a[100]; void f(int n) { for (int i = 0; i < n; i++) a[i] = i * MACRO; }
int main(int c, char **v) { f(atoi(v[1])); printf("%d\\n", a[7]); }"""
_FLOATS = """static double a[100], s; void f(int n) { for (int i = 0; i < n; i++) a[i] = a[i] * 0.1 + i / 3.0; }
int main(int c, char **v) { f(atoi(v[1])); for (int i = 0; i < 100; i++) s += a[i]; printf("%.6g\\n", s); }"""
_OPTIMIZE = 'void f(int n) __attribute__((optimize("wrapv"))); '
_ENDS = "2147483647"

_PUSHED = f'#pragma GCC push_options\n#pragma GCC optimize "wrapv"\n{_FOLDED}\n#pragma GCC pop_options\n'
_STRIPES = """static int a[99]; void f(int n, int t) { for (int i = 0; i < n; i += t) a[i & 63] += 1; }
int main(int c, char **v) { f(atoi(v[1]), atoi(v[2])); printf("%d\\n", a[0] + a[9]); }"""
CASES = {
    "wrapv": Case(_FOLDED, ("-fwrapv",), ("490", "512", "600")),
    "wrapv later": Case(_FOLDED, (), ("490",), later=(("-fwrapv",), ("-fno-strict-overflow",))),
    "strict-overflow": Case(_FOLDED, ("-fno-strict-overflow",), ("490", "512", "600")),
    "negated first": Case(_FOLDED, ("-fno-wrapv", "-fwrapv"), ("490", "512")),
    "attribute": Case(_OPTIMIZE + _FOLDED, (), ("490", "512", "600")),
    "pragma": Case('#pragma GCC optimize ("O2", "no-strict-overflow")\n' + _FOLDED, (), ("490", "512")),
    "pragma operator": Case('_Pragma("GCC optimize (\\"wrapv\\")")\n' + _FOLDED, (), ("490", "512")),
    "pushed": Case(_PUSHED, (), ("490", "512")),
    "a sum in the condition": Case(
        _SUM, ("-fwrapv",), ("500 3", f"{_ENDS} 2147483600", "-2147483640 -2147483648", f"9 {_ENDS}")
    ),
    "widened": Case(_WIDE, ("-fwrapv",), ("400 3", "400 100000000", "9 -2147483648", "400 -7")),
    "steps over the end": Case(_EXIT, ("-fwrapv",), ("0 1000", "2147000000 2147480000", "5 1000000007")),
    "steps by a variable": Case(_STRIPES, ("-fwrapv",), ("300 9", "20 7", "2147483647 2147483647"), "leave the range"),
    "trapv": Case(_TRAP, ("-ftrapv",), ("90 3", "90 2000000000"), "signed integer"),
    "trapv subscripts": Case(_TRAP_INDEX, ("-ftrapv",), ("490", "512")),
    "undefined": Case(_TRAP, ("-fsanitize=undefined", "-fno-sanitize-recover"), ("90 3", "90 2000000000"),
                      "signed integer"),
    "strict-aliasing": Case(_ALIAS, ("-fno-strict-aliasing",), ("20", "20 x", "3 x")),
    "unsigned-char": Case(_CHAR, ("-funsigned-char",), ("300", "3"), later=(("-fsigned-char",),)),
    "signed-char": Case(_CHAR, ("-fno-unsigned-char",), ("300",), later=(("-funsigned-char",),)),
    "short-enums": Case(_ENUM, ("-fshort-enums",), ("90",), later=(("-fno-short-enums",), ("-fpack-struct",))),
    "pack-struct": Case(_ENUM, ("-fpack-struct",), ("90", "4"), "packed structure"),
    "pack-struct later": Case(_ENUM, (), ("90", "4"), later=(("-fpack-struct",), ("-fpack-struct=2",))),
    "pack-struct=2": Case(_ENUM, ("-fpack-struct=2",), ("90", "4"), "packed structure"),
    "short-wchar": Case(_WCHAR, ("-fshort-wchar",), ("90", "4"), later=(("-fno-short-wchar",),)),
    "no-builtin": Case(_ROOT % "cbrt", ("-fno-builtin",), ("90",), "may be a function of the program's own"),
    "no-builtin-cbrt": Case(_ROOT % "cbrt", ("-fno-builtin-cbrt",), ("90",), "may be a function of the program's own"),
    "no-builtin-sqrt": Case(_ROOT % "cbrt", ("-fno-builtin-sqrt",), ("90", "3")),
    "freestanding": Case(_ROOT % "floor", ("-ffreestanding",), ("90",), "may be a function of the program's own"),
    "builtin later": Case(_ROOT % "log2", (), ("90",), later=(("-fno-builtin",),)),
    "__builtin": Case(_ROOT % "__builtin_sqrt", ("-fno-builtin",), ("90",)),
    "single precision": Case(_SINGLE, ("-fsingle-precision-constant",), ("90",), "another type"),
    "single precision later": Case(_SINGLE, (), ("90",), later=(("-fsingle-precision-constant",),)),
    "-O0": Case(_LEVEL.replace("MACRO", "__OPTIMIZE__"), ("-O0",), ("90",), later=(("-O2",),)),
    "-O2": Case(_LEVEL.replace("MACRO", "__OPTIMIZE__"), ("-O2",), ("90",), later=(("-O0",),)),
    "fast-math macro": Case(_LEVEL.replace("MACRO", "__FAST_MATH__"), ("-ffast-math",), ("90",), later=(("-O2",),)),
    "Ofast macro": Case(_LEVEL.replace("MACRO", "__FAST_MATH__"), ("-Ofast",), ("90",), later=(("-O2",),)),
    "finite-math macro": Case(_VALUE.replace("MACRO", "__FINITE_MATH_ONLY__"), ("-ffinite-math-only",), ("90",)),
    "compiler": Case(_LEVEL.replace("MACRO", "__clang__"), (), ("90",), "the C parser"),
    "version": Case(_VALUE.replace("MACRO", "__GNUC__"), (), ("90",), "the C parser"),
    "standard": Case(_VALUE.replace("MACRO", "(__STDC_VERSION__ > 200000L)"), ("-std=c99",), ("90",),
                     later=(("-std=c11",),)),
    "gnu89": Case(_VALUE.replace("MACRO", "3"), ("-std=gnu99", "-std=gnu89", "-fgnu89-inline"), (), "C of 1999"),
    "m32": Case(_VALUE.replace("MACRO", "3"), ("-m64", "-m32"), (), "64-bit"),
    "mx32": Case(_VALUE.replace("MACRO", "3"), ("-mx32",), (), "64-bit"),
    "387": Case(_FLOATS, ("-mfpmath=387",), ("90",), "more precision"),
    "387 by attribute": Case('#pragma GCC target("fpmath=387")\n' + _FLOATS, (), ("90",), "more precision"),
    "call exceptions": Case(_FLOATS, ("-fnon-call-exceptions", "-fexceptions"), ("90",), "leave the loop"),
    "auto-var-init": Case(_FLOATS, ("-ftrivial-auto-var-init=zero",), ("90",), "before they are set"),
    "unknown": Case(_FLOATS, ("-fno-such-flag",), (), "not known"),
    "environment": Case("#pragma STDC FENV_ACCESS ON\n" + _FLOATS, (), ("90",), "modes of arithmetic"),
    "mathematics": Case(
        _FLOATS, ("-frounding-math", "-fsignaling-nans", "-fno-trapping-math", "-fno-signed-zeros", "-fno-math-errno"),
        ("90",),
    ),
    "code": Case(_FLOATS, ("-fPIC", "-fno-delete-null-pointer-checks", "-fexceptions", "-funroll-loops",
                           "-mtune=native", "-fexcess-precision=standard",
                           "-mno-red-zone", "-fno-plt", "-fcx-limited-range"), ("90",)),
    "handed to the preprocessor": Case(_VALUE, ("-Wp,-DMACRO=5", "-Xpreprocessor", "-UX"), ("90",)),
    "included": Case(_VALUE, ("-imacros", "macros.h"), ("90", "2")),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "macros.h").write_text("#define MACRO 11\n")
    monkeypatch.chdir(tmp_path)


def _run(path: Path, flags: tuple[str, ...], arguments: str) -> tuple[int, str]:
    program = path.with_suffix("")
    command = ["gcc", "-O2", "-ffp-contract=off", *flags, "-w", str(path), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([str(program), *arguments.split()], capture_output=True, text=True, timeout=20)
    return ran.returncode, ran.stdout


@pytest.mark.parametrize("name", CASES)
def test_a_program_under_a_flag(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path, written, only = tmp_path / "old.c", tmp_path / "new.c", tmp_path / "only.c"
    source = read(path, (_HEAD + case.source).encode(), case.flags)
    own = any(n.function == "f" for n in source.nests)
    if case.refused:
        reasons = [r.reason for r in source.rejections if r.function == "f"]
        tests = surveyed(source, case.flags).tests if own else {}
        reasons += [found.reason for found in tests.values() if isinstance(found, Untestable)]
        assert any(case.refused in reason for reason in reasons), reasons
        if not case.arguments:
            return
    content = identity(source, case.flags)
    written.write_bytes(content)
    for flags in ((), *case.later):
        for arguments in case.arguments:
            both = [_run(p, (*case.flags, *flags), arguments) for p in (path, written)]
            assert both[0] == both[1], (flags, arguments, content.decode())
    if case.refused:
        return
    only.write_bytes(without_originals(content))
    assert b"abort" in only.read_bytes()
    assert _run(only, case.flags, case.arguments[0]) == _run(path, case.flags, case.arguments[0]), content.decode()
