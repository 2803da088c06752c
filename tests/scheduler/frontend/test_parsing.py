"""The parser process: hostile files, limits, options."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from scheduler.frontend import (
    CompilerAbsent,
    FrontendError,
    ParseFailed,
    ParseOptions,
    ParserDied,
    ParserStopped,
    SourceFile,
    parsers,
    read_source,
)
from scheduler.frontend import parsing as clang
from scheduler.frontend.parsing import parser_arguments
from tests.scheduler.frontend.support import lines

pytestmark = [pytest.mark.gcc, pytest.mark.usefixtures("own_parser")]

KERNELS = sorted((Path(__file__).parents[2] / "kernels").glob("*.c"))
LOOP = b"void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; }\n"
SEED = random.Random(7)


def nested(depth: int) -> bytes:
    loops = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++) " for k in range(depth))
    return f"void f(int n, double *a) {{ {loops} a[i0] = 0; }}".encode()


HOSTILE = {
    "20000 nested loops": nested(20_000),
    "1000 nested loops": nested(1_000),
    "300000 terms": b"void f(double *a) { for (int i = 0; i < 9; i++) a[i]=" + b"+".join([b"a[i]"] * 300_000) + b"; }",
    "5000 terms": b"void f(double *a) { for (int i = 0; i < 9; i++) a[i] = " + b"+".join([b"a[i]"] * 5_000) + b"; }",
    "50000 dimensions": b"double A" + b"[1]" * 50_000 + b"; void f(void) { A" + b"[0]" * 50_000 + b" = 0; }",
    "100000 parentheses": b"int x = " + b"(" * 100_000 + b"1" + b")" * 100_000 + b";",
    "binary": bytes(SEED.randrange(1, 256) for _ in range(20_000)),
    "NUL": LOOP + b"\0\0\0",
    "empty": b"",
    "unterminated comment": b"/* " + LOOP,
    "unterminated string": b'char *s = "abc\n' + LOOP,
    "includes itself": b'#include "t.c"\n' + LOOP,
    "missing include": b'#include "nowhere.h"\n' + LOOP,
    "exploding macros": b"".join(b"#define M%d(x) M%d(x) M%d(x) M%d(x)\n" % (k, k + 1, k + 1, k + 1) for k in range(14))
    + b"#define M14(x) x x x x\nvoid f(double *a) { M0(a[0] += 1;) }",
    "3000 loops": b"void f(int n, double *a) { " + b"for (int i = 0; i < n; i++) a[i] += 1;\n" * 3_000 + b"}",
    "5000 statements": b"void f(int n, double *a) { for (int i = 0; i < n; i++) { " + b"a[i] += 1;\n" * 5_000 + b"} }",
    "doubling locals": b"void f(int n, int *a) { for (int i = 0; i < n; i++) { int x0 = a[i];"
    + b"".join(b"int x%d = x%d + x%d;" % (k, k - 1, k - 1) for k in range(1, 60))
    + b"a[x59] = x59; } }",
    "calls of calls": b"static int f0(int x) { return x; }\n"
    + b"".join(b"static int f%d(int x) { return f%d(x) + f%d(x + 1); }\n" % (k, k - 1, k - 1) for k in range(1, 30))
    + b"void k(int n, int *a) { for (int i = 0; i < n; i++) a[i] = f29(i); }",
    "a forest of ifs": b"void f(int n, double *a) { for (int i = 0; i < n; i++) { "
    + b"if (i < n - 3 || i > 4) " * 150
    + b"a[i] = 0; } }",
    "wide condition": b"void f(int n, double *a) { for (int i = 0; i < n; i++) if ("
    + b" && ".join([b"(i < 3 || i > n)"] * 80)
    + b") a[i] = 0; }",
    "powers": b"void f(int n, int *a) { for (int i = 0; i < n; i++) a[" + b"*".join([b"(i + n)"] * 15) + b"] = 0; }",
    "huge numbers": b"void f(int *a) { for (long i = -9223372036854775807; i < 9223372036854775807; i++) a[i] = 0; }",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name: str) -> None:
    began = _children_s()
    try:
        found: SourceFile | FrontendError = read_source("t.c", ParseOptions(timeout_s=6), HOSTILE[name])
    except FrontendError as error:
        found = error
    assert _children_s() - began < 10
    if isinstance(found, ParseFailed):
        assert all(d.count(":") >= 3 for d in found.diagnostics)
    elif isinstance(found, ParserDied):
        assert found.reason
    else:
        assert not [r for r in found.rejections if "failed" in r.reason]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.stem)
def test_damaged_kernels(kernel: Path) -> None:
    content = kernel.read_bytes()
    chooser = random.Random(kernel.stem)
    at = chooser.randrange(len(content))
    damaged = chooser.choice(
        (
            content[:at],
            content[:at] + bytes([chooser.randrange(33, 127)]) + content[at + 1 :],
            content[:at] + content[at + chooser.randrange(60) :],
        )
    )
    try:
        found = read_source(kernel, ParseOptions(), damaged)
    except ParseFailed:
        return
    assert not [r for r in found.rejections if "failed" in r.reason]


def test_syntax_errors_have_places(tmp_path: Path) -> None:
    with pytest.raises(ParseFailed) as failed:
        read_source("x/t.c", ParseOptions(), b"int x;\nvoid f( { }\n")
    assert failed.value.diagnostics[0].startswith("x/t.c:2:9: ")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ParseFailed, match="No such file"):
        read_source(tmp_path / "none.c", ParseOptions())
    with pytest.raises(ParseFailed):
        read_source(tmp_path, ParseOptions())


def test_huge_files(tmp_path: Path) -> None:
    (tmp_path / "t.c").write_bytes(b" " * (9 << 20))
    with pytest.raises(ParseFailed, match="larger than"):
        read_source(tmp_path / "t.c", ParseOptions())


def test_time_and_memory_limits() -> None:
    with pytest.raises(ParserStopped, match=r"more than 0\.01 s of processor time"):
        read_source("t.c", ParseOptions(timeout_s=0.01), LOOP)
    with pytest.raises(ParserStopped, match=r"did not come to an end within 0\.01 s"):
        read_source("t.c", ParseOptions(wall_s=0.01), LOOP)
    with pytest.raises(ParserStopped, match="out of memory"):
        read_source("t.c", ParseOptions(memory_bytes=64 << 20), LOOP)


@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_CORE", "RLIMIT_FSIZE"])
def test_limits_of_the_user(name: str) -> None:
    what = {"RLIMIT_AS": 3 << 30, "RLIMIT_CPU": 5, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 1 << 20}[name]
    done = _limited(name, what)
    assert done.stdout == "1 nest\n", done.stderr


def test_little_memory_is_said() -> None:
    done = _limited("RLIMIT_AS", 200 << 20)
    assert "ParserStopped" in done.stderr and "`ulimit -v` allows 200 MiB" in done.stderr


def _limited(name: str, value: int) -> subprocess.CompletedProcess[str]:
    """The loop is read in a process that may not raise its limits again."""
    program = f"""import resource
from scheduler.frontend import ParseOptions, read_source
resource.setrlimit(resource.{name}, ({value}, {value}))
print(len(read_source("t.c", ParseOptions(), {LOOP!r}).nests), "nest")"""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_waiting_for_the_processor_does_not_count() -> None:
    clang.prepare_parser()
    process = parsers.waiting[-1].process
    process.send_signal(signal.SIGSTOP)  # as one that never has its turn
    threading.Timer(2.5, process.send_signal, (signal.SIGCONT,)).start()
    assert read_source("t.c", ParseOptions(timeout_s=2.4), LOOP).nests


@pytest.mark.parametrize("cc", ["no-such-compiler", "true"])
def test_without_a_compiler(cc: str) -> None:
    assert read_source("t.c", ParseOptions(cc=cc), LOOP).nests
    with pytest.raises(CompilerAbsent, match=cc):
        read_source("t.c", ParseOptions(cc=cc), b"#include <stddef.h>\n" + LOOP)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_reading_a_file(tmp_path: Path) -> None:
    (tmp_path / "size.h").write_text("#define N 8\n")
    path = tmp_path / "t.c"
    path.write_bytes(
        b"#include <size.h>\n#include <stddef.h>\ndouble A[N][M];\nint main(void) {\n"
        b"\tfor (int i = 0; i < N; i++)\r\n\t\tfor (size_t j = 0; j < M; j++)\r\n\t\t\tA[i][j] = i;\r\n}\n"
    )
    found = read_source(path, ParseOptions(("-DM=9", "-I", str(tmp_path), "-O3", "-fopenmp", "-o", "x")))
    assert found.path == str(path) and found.content == path.read_bytes()
    assert found.has_main and [f.name for f in found.functions] == ["main"]
    (nest,) = found.nests
    assert lines(nest) == ["for i = 0 to 8", " for j = 0 to 9", "  A[i][j] = i"]
    assert nest.span is not None and (nest.span.line, nest.span.column) == (5, 2)
    assert found.content[nest.span.begin : nest.span.end].endswith(b"A[i][j] = i;")
    assert nest.function == "main" and nest.name == "main_0"


def test_content_in_place_of_the_file() -> None:
    found = read_source("nowhere/t.c", ParseOptions(), LOOP)
    assert found.functions[0].parameters == (("int", "n"), ("double *", "a"))
    assert not found.functions[0].is_static and not found.has_main


def test_which_flags_reach_the_parser() -> None:
    flags = ("-O3", "-DN=3", "-D", "M", "-Iinc", "-std=c99", "-Wall", "-fopenmp", "-o", "-DX", "-lm")
    kept = parser_arguments(flags, "gcc")
    assert kept[:7] == ("-O3", "-DN=3", "-D", "M", "-Iinc", "-std=c99", "-D_OPENMP=201511")
    assert "-fopenmp" not in kept and "-DX" not in kept
    assert "-isystem" in kept
    assert "-isystem" not in parser_arguments((), "/no/such/compiler")


def test_old_habits_parse() -> None:
    code = b"int f(n, a) int n; double *a; { for (int i = 0; i < n; i++) a[i] = sqrt(i); return 0; }"
    found = read_source("t.c", ParseOptions(), code)
    assert len(found.nests) + len(found.rejections) == 1


def test_what_only_the_users_compiler_understands_is_refused_not_called_wrong() -> None:
    nested = b"int f(int n) { int g(int x) { return x + n; } for (int i = 0; i < n; i++) n += g(i); return n; }\n"
    source = read_source("a.c", ParseOptions(), nested)
    (rejection,) = source.rejections
    assert source.nests == () and "though gcc compiles it" in rejection.reason and rejection.span.column == 29
    with pytest.raises(ParseFailed):
        read_source("a.c", ParseOptions(), nested.replace(b"return x", b"retrn x"))


@pytest.mark.parametrize(
    ("end", "understood"),
    [("END", False), ("END2", False), ("END3", False), (";", True), ("/**/ ;", True), ("/*\n*/ END", False)],
)
@pytest.mark.parametrize("value", ["2", "ID(2)", "TWO"])
def test_macros_that_end_a_statement(end: str, understood: bool, value: str) -> None:
    """The span of a loop must end where its text ends."""
    text = "#define END ;\n#define END2 ; n++;\n#define END3 END\n#define ID(x) x\n#define TWO 2\n"
    text += f"void f(int n, double *a)\n{{\nfor (int i = 0; i < n; i++) a[i] *= {value} {end}\nn = 3;\n}}\n"
    source = read_source("a.c", ParseOptions(), text.encode())
    assert bool(source.nests) == understood
    for nest in source.nests:
        assert nest.span is not None and source.content[: nest.span.end].endswith(b";")
    if not understood:
        assert "ends inside a macro" in source.rejections[0].reason


def test_a_whole_statement_in_a_macro_is_understood() -> None:
    text = b"#define ST a[i] *= 2;\nvoid f(int n, double *a)\n{\nfor (int i = 0; i < n; i++) ST\nn = 3;\n}\n"
    (nest,) = read_source("a.c", ParseOptions(), text).nests
    assert nest.span is not None and text[: nest.span.end].endswith(b"++) ST")


@pytest.mark.parametrize(
    ("before", "understood"),
    [
        ('_Pragma("GCC ivdep")', True),
        ("UNROLL(4) // x\n", False),
        ("UNROLL(4)", False),
        ("UNROLL (4) /* x */", False),
        ("if (n > (3))", True),
        ("f(n - 1, a);", True),
    ],
)
def test_a_loop_behind_a_pragma_operator_is_left_alone(before: str, understood: bool) -> None:
    text = '#define UNROLL(k) _Pragma("GCC ivdep")\nvoid f(int n, double *a)\n{\n'
    text += f"{before} for (int i = 0; i < n; i++) a[i] *= 2;\n}}\n"
    assert bool(read_source("a.c", ParseOptions(), text.encode()).nests) == understood


def test_one_process_reads_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each where the command is then; what ends one reading ends no other."""
    assert read_source("t.c", ParseOptions(), LOOP).nests
    parser = parsers.waiting[-1]
    with pytest.raises(ParserStopped):
        read_source("t.c", ParseOptions(memory_bytes=64 << 20), LOOP)
    for name, count in (("one", b"0"), ("two", b"1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "here.h").write_bytes(b"#define LOOPS " + count + b"\n")
    text = b'#include "here.h"\n#if LOOPS\n' + LOOP + b"#endif\n"
    monkeypatch.chdir(tmp_path / "one")
    assert not read_source("t.c", ParseOptions(), text).nests
    monkeypatch.chdir(tmp_path / "two")
    assert len(read_source("t.c", ParseOptions(), text).nests) == 1
    assert parsers.waiting[-1] is parser


def test_a_parser_that_has_ended_is_replaced() -> None:
    assert read_source("t.c", ParseOptions(), LOOP).nests
    process = parsers.waiting[-1].process
    process.kill()
    process.wait()
    assert read_source("t.c", ParseOptions(), LOOP).nests
    assert parsers.waiting[-1].process is not process


def test_parsers_stay_with_the_process_that_started_them() -> None:
    assert read_source("t.c", ParseOptions(), LOOP).nests
    pid = os.fork()
    if pid == 0:
        os._exit(0 if not parsers.waiting and read_source("t.c", ParseOptions(), LOOP).nests else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert parsers.waiting and read_source("t.c", ParseOptions(), LOOP).nests
