"""What is timed of a program: found by what loops do, marked without changing what is computed."""

import os
import subprocess
from pathlib import Path

import pytest

from perfembed.comparing.regions import MARKS_VARIABLE, Marked, mark_kernel, read_marks
from perfembed.errors import UsageError
from scheduler.frontend import ParseOptions, read_source

KERNEL_FUNCTION = """#include <stdio.h>
#include <time.h>
#define N 2000
static double A[N], B[N];
static void init(void) { for (int i = 0; i < N; i++) A[i] = i % 7; for (int i = 1; i < N; i++) A[i] += A[i - 1]; }
/* smooth { is called by main */
static int smooth(int steps) /* { */ {
    if (steps < 0)
        return 1;
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < N - 1; i++)
            B[i] = A[i - 1] + A[i + 1];
    return 0;
}
int main(void)
{
    double sum = 0;
    init();
    smooth(-1);
    smooth(20);
    for (int i = 0; i < N; i++) sum += B[i];
    printf("%g %ld\\n", sum, (long)sizeof(time_t));
    return 0;
}
"""

IN_MAIN = """#include <stdio.h>
#define N 300
static double A[N][N];
int main(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] = i ^ j;
    for (int i = 1; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] += 0.5 * A[i - 1][j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += A[i][j];
    printf("%g\\n", sum);
    return 0;
}
"""

CALLED_BY_ANOTHER = """#include <stdio.h>
static double A[100][100];
static void row(double *a) { for (int j = 1; j < 100; j++) a[j] += 0.5 * a[j - 1]; }
static void rows(void) { for (int i = 0; i < 100; i++) row(A[i]); }
int main(void) { A[3][0] = 8; rows(); printf("%g\\n", A[3][3]); return 0; }
"""


def marked(tmp_path: Path, text: str, functions: tuple[str, ...] = ()) -> Marked:
    path = tmp_path / "a.c"
    path.write_text(text)
    return mark_kernel(read_source(path, ParseOptions()), functions)


def run(tmp_path: Path, content: bytes, cc: str = "gcc", flags: tuple[str, ...] = ()) -> tuple[str, bytes]:
    """What the program prints, and what it leaves in the file of marks."""
    source, program, marks = tmp_path / "marked.c", tmp_path / "program", tmp_path / "marks"
    source.write_bytes(content)
    command = [
        cc,
        "-O3",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-misleading-indentation",
        *flags,
        str(source),
        "-o",
        str(program),
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    marks.write_bytes(b"")
    environment = {**os.environ, MARKS_VARIABLE: str(marks)}
    shown = subprocess.run([str(program)], capture_output=True, text=True, env=environment, timeout=60, check=True)
    return shown.stdout, marks.read_bytes()


@pytest.mark.gcc
@pytest.mark.parametrize("flags", [(), ("-std=c99",), ("-fopenmp",), ("-flto",)], ids=str)
def test_a_function_is_timed_at_every_return(tmp_path: Path, flags: tuple[str, ...]) -> None:
    result = marked(tmp_path, KERNEL_FUNCTION)
    assert (result.functions, result.inner, result.loops) == (("smooth",), ("smooth",), 0)
    plain, _ = run(tmp_path, KERNEL_FUNCTION.encode())
    printed, data = run(tmp_path, result.content, flags=flags)
    assert printed == plain
    found = read_marks(data)
    assert found is not None
    assert found[1] == 2
    assert 0 < found[0] < 1


@pytest.mark.gcc
def test_the_form_kept_apart(tmp_path: Path) -> None:
    result = marked(tmp_path, KERNEL_FUNCTION)
    assert result.apart is not None
    assert b"__attribute__((noinline)) static int smooth(" in result.apart
    assert run(tmp_path, result.apart)[0] == run(tmp_path, result.content)[0]
    assert marked(tmp_path, IN_MAIN).apart is None


@pytest.mark.gcc
def test_loops_of_main_are_timed_without_input_and_checksum(tmp_path: Path) -> None:
    result = marked(tmp_path, IN_MAIN)
    assert (result.functions, result.loops) == (("main",), 1)
    text = result.content.decode()
    inside = text[text.rindex("pe_marks_begin();") : text.rindex("pe_marks_end(0);")]
    assert "0.5 * A[i - 1][j]" in inside
    assert "i ^ j" not in inside and "sum +=" not in inside
    printed, data = run(tmp_path, result.content)
    assert printed == run(tmp_path, IN_MAIN.encode())[0]
    assert (read_marks(data) or (0, 0))[1] == 1


@pytest.mark.gcc
def test_a_function_called_in_loops_is_timed_where_those_are(tmp_path: Path) -> None:
    result = marked(tmp_path, CALLED_BY_ANOTHER)
    assert (result.functions, result.inner) == (("rows",), ("row", "rows"))
    printed, data = run(tmp_path, result.content)
    assert printed == "1\n"
    assert (read_marks(data) or (0, 0))[1] == 1


def test_the_marks_hide_no_nest(tmp_path: Path) -> None:
    for text in (KERNEL_FUNCTION, IN_MAIN, CALLED_BY_ANOTHER):
        result = marked(tmp_path, text)
        before = read_source(tmp_path / "a.c", ParseOptions())
        after = read_source(tmp_path / "a.c", ParseOptions(), result.content)
        loops = [[len(n.body) for n in s.nests if n.function in result.inner] for s in (before, after)]
        assert sum(loops[0]) == sum(loops[1])


def test_a_named_function(tmp_path: Path) -> None:
    assert marked(tmp_path, KERNEL_FUNCTION, ("init",)).functions == ("init",)
    with pytest.raises(UsageError, match="no function nothing"):
        marked(tmp_path, KERNEL_FUNCTION, ("nothing",))


def test_nothing_to_time(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no kernel found"):
        marked(tmp_path, "int main(void) { return 0; }\n")


def test_marks_that_are_not_there() -> None:
    assert read_marks(b"") is None
    assert read_marks((1_500_000_000).to_bytes(8, "little") + (3).to_bytes(8, "little")) == (1.5, 3)
