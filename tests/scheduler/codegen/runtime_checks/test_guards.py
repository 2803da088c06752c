"""The run-time condition: assumptions and overlap of pointers."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from scheduler.codegen.emit.text import preamble
from scheduler.codegen.runtime_checks.guards import runtime_condition, untestable, with_inspector
from scheduler.errors import CodegenUnsupported
from scheduler.ir.text import format_nest, parse_nest
from scheduler.polyhedral.model import Model
from tests.scheduler.codegen.support import FAST, GEMM, build


def condition(text: str) -> str | None:
    nest = parse_nest(text)
    return runtime_condition(nest, Model(nest))


def test_globals_need_no_test() -> None:
    assert condition(GEMM) is None


def test_assumptions() -> None:
    text = GEMM.replace("array A", "assume n - 1 >= 0; assume -2*m + l >= 0; array A").replace(
        "param n: int", "param n: int in [1, ?]"
    )
    assert condition(text) == "(long)l >= 2*(long)m"


def test_restrict_is_trusted_and_read_only_pairs_are_not_tested() -> None:
    text = (
        GEMM.replace("[n][l]", "[n][l] pointer")
        .replace("[l][m]", "[l][m] pointer")
        .replace("C: double[n][m]", "C: double[n][m] restrict")
    )
    assert condition(text) is None


LEFT = """nest l { param n: int; param m: long; array a: double[?] pointer; array b: double[?] pointer const;
array c: int[?] pointer const; assume n - 3 >= 0; for i: int in [0, n) step 1 { S0: a[i] = b[opaque(c[i])]; } }"""
INSPECTOR = """nest l_inspector { param n: int; param m: long; array d: double[?] pointer const;
array c: int[?] pointer const; array t: double private(i);
for i: int in [0, n) step 1 { S0: t = d[i]; S1: if (t < 0) {} exit; S2: if (c[i] >= m) {} exit; } }"""


def test_the_inspector_runs_when_it_is_safe_to_read_and_before_what_reads_more() -> None:
    """Behind assumptions and the overlaps that decide what it finds; what reads `c` for ranges comes behind it."""
    nest, inspector = parse_nest(LEFT), parse_nest(INSPECTOR)
    text = runtime_condition(nest, Model(nest), None, inspector)
    assert text is not None
    places = [text.index(part) for part in ("(long)n >= 3", "pe_apart(&a[0]", "&d[0]", "goto pe_left", "pe_found((c)")]
    assert places == sorted(places) and text.count("goto pe_left") == 2 and text.count("pe_apart") == 2
    both = with_inspector(nest, inspector)
    assert parse_nest(format_nest(both)) == both
    assert {a.name for a in both.arrays} == {"a", "b", "c", "d", "t_2"}


def test_an_inspector_whose_overlaps_are_known_too_late() -> None:
    nest = parse_nest(LEFT.replace("a[i] = b[opaque(c[i])]", "a[opaque(c[i])] = b[i]"))
    assert "not known in time" in untestable(nest, parse_nest(INSPECTOR))
    assert not untestable(nest)


STENCIL = """nest s { param n: int; array a: double[n] pointer; array b: double[n] pointer; array c: float[n] pointer;
for i: int in [1, n - 1) step 1 { S0: a[i] = b[i - 1] + b[i + 1] + c[i]; } }"""


@pytest.mark.gcc
def test_pointers_are_tested(tmp_path: Path) -> None:
    text = condition(STENCIL)
    assert text is not None and text.count("pe_apart") == 1
    source = preamble(text) + f"int check(double *a, double *b, int n) {{ return {text}; }}\n"
    library = ctypes.CDLL(str(build(tmp_path, "guard", source, FAST)))
    memory = np.zeros(64)
    address = memory.ctypes.data

    def check(a: int, b: int) -> bool:
        return bool(library.check(ctypes.c_void_p(address + 8 * a), ctypes.c_void_p(address + 8 * b), ctypes.c_int(10)))

    assert check(0, 20) and check(20, 0)
    assert check(0, 9) and not check(0, 8) and not check(0, 0)  # a[1..8] written, b[0..9] read
    assert check(9, 0) is (9 + 1 >= 10)
    assert not check(8, 0)


def test_unknown_ranges_give_up() -> None:
    text = """nest s { param n: int; array a: double[n] pointer; array b: double[?] pointer; array c: int[n];
    for i: int in [0, n) step 1 { S0: if (a[i] > 0.0) { a[i] = b[opaque(c[opaque(c[i])])]; } } }"""
    with pytest.raises(CodegenUnsupported, match="elements of b are accessed depends on data"):
        condition(text)


def test_flat_and_triangular_ranges() -> None:
    text = """nest s { param n: int; array a: double[n][n] pointer flat; array b: double[n] pointer;
    for i: int in [0, n) step 1 { for j: int in [0, i) step 1 { S0: a[i][j] = b[j]; } } }"""
    assert condition(text) == (
        "(long)n >= 2 && pe_apart(&a[(long)n], &a[((long)n - 1)*(long)n + (long)n - 2] + 1, &b[0], &b[(long)n - 2] + 1)"
    )


@pytest.mark.gcc
def test_no_address_of_an_array_without_elements(tmp_path: Path) -> None:
    rows = """nest s { param n: int; param m: int in [1, ?];
    array a: double[n][m] pointer; array b: double[n][m] pointer;
    for i: int in [0, n) step 1 { for j: int in [0, m) step 1 { S0: a[i][j] = b[i][j]; } } }"""
    text = condition(rows)
    assert text is not None and text.startswith("(long)n > 0 && pe_apart(")
    source = f"{preamble(text)}static int check(int n, int m, double a[n][m], double b[n][m]) {{ return {text}; }}\n"
    source += "double A[4], B[4];\nint main(int c, char **v)\n{\n    (void)v;\n"
    source += "    return check(c - 1, 2, (void *)A, (void *)B) || !check(c, 2, (void *)A, (void *)B);\n}\n"
    (tmp_path / "t.c").write_text(source)
    flags = ("-O1", "-w", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    subprocess.run(["gcc", *flags, "t.c", "-o", "t"], cwd=tmp_path, check=True, timeout=60)
    done = subprocess.run([tmp_path / "t"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("array", "element", "declared"),
    [
        ("A: double[?][n] flat", "A[i - 1][0]", "double A[8];"),
        ('A: double[?][2] base "S" members ".x" ".y"', "A[i - 1][1]", "struct { double x, y; } S[4];"),
        ("A: double[8]", "A[i - 1]", "double A[8];"),
        ("A: double[8][4]", "A[i - 1][0]", "double A[8][4];"),
    ],
)
def test_no_subscript_is_needed_for_an_address_outside(array: str, element: str, declared: str, tmp_path: Path) -> None:
    """Where the loops around the access have no iterations it may be anywhere."""
    text = condition(f"""nest s {{ param n: int; array {array}; array b: double[n] pointer;
    for i: int in [0, n) step 1 {{ S0: {element} = b[i]; }} }}""")
    assert text is not None and "pe_apart(" in text
    source = f"{preamble(text)}{declared}\nstatic int check(int n, double *b) {{ return {text}; }}\n"
    source += "double b[2];\nint main(int c, char **v)\n{\n    (void)v;\n    return check(c, b) > 1;\n}\n"
    (tmp_path / "t.c").write_text(source)
    flags = ("-O1", "-w", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    subprocess.run(["gcc", *flags, "t.c", "-o", "t"], cwd=tmp_path, check=True, timeout=60)
    done = subprocess.run([tmp_path / "t"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_address_is_formed_of_what_is_null() -> None:
    arrays = "array a: double[?] pointer; array b: double[?] pointer const; array t: double[?][?] pointer const rows 1;"
    head = f'nest s {{ param n: int; param g: int in [0, 1] base "(b != 0)"; {arrays} '
    loops = "for i: int in [0, n) step 1 { S0: a[i] = g ? b[%s] : %s; } }"
    nest = parse_nest(head + loops % ("i", "0.0"))
    text = runtime_condition(nest, Model(nest)) or ""
    (test,) = (part for part in text.split(" && ") if "&b[0]" in part)
    assert test.startswith("(!g || pe_apart(&a[0], ")
    for subscript, other in (("opaque((long)a[i])", "0.0"), ("i", "t[i][i]")):
        assert untestable(parse_nest(head + loops % (subscript, other)))
