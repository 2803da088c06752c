"""C text of expressions, statements and declarations."""

from dataclasses import replace
from pathlib import Path

import pytest

from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.text import helpers_for
from scheduler.codegen.emit.workload import kernel_source
from scheduler.codegen.tree.node_algebra import extreme, substitute
from scheduler.codegen.tree.nodes import IntOp, add, scale
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine, parse_affine
from scheduler.ir.nest import Access, Array, Binary, Call, Cast, Conditional, Expr, Literal, Name, Read, Unary
from scheduler.ir.text import parse_nest
from tests.scheduler.codegen import nests
from tests.scheduler.codegen.support import FAST, build, check_same, inputs, run, scheduled

a, b, c = (Read(Access(x), "double") for x in "abc")
PRINTER = Printer(arrays={x: Array(x, "double") for x in "abc"}, parameters={"n": "int", "u": "size_t"})


def binary(op: str, left: Expr, right: Expr) -> Binary:
    return Binary(op, left, right, "double")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (binary("+", binary("+", a, b), c), "a + b + c"),
        (binary("+", a, binary("+", b, c)), "a + (b + c)"),
        (binary("-", a, binary("-", b, c)), "a - (b - c)"),
        (binary("*", binary("+", a, b), c), "(a + b) * c"),
        (binary("*", a, binary("*", b, c)), "a * (b * c)"),
        (binary("/", binary("*", a, b), c), "a * b / c"),
        (binary("+", binary("*", a, b), c), "a * b + c"),
        (Unary("-", Unary("-", a, "double"), "double"), "-(-a)"),
        (Unary("-", binary("+", a, b), "double"), "-(a + b)"),
        (binary("-", a, Literal("-5.0", "double")), "a - -5.0"),
        (Cast("float", binary("+", a, b)), "(float)(a + b)"),
        (binary("*", Cast("float", a), b), "(float)a * b"),
        (Conditional(binary("<", a, b), a, b, "double"), "a < b ? a : b"),
        (binary("+", Conditional(a, b, c, "double"), a), "(a ? b : c) + a"),
        (Conditional(a, Conditional(a, b, c, "double"), c, "double"), "a ? (a ? b : c) : c"),
        (binary("||", binary("&&", a, b), c), "(a && b) || c"),
        (binary("<<", binary("+", a, b), c), "(a + b) << c"),
        (binary("&", binary("==", a, b), c), "(a == b) & c"),
        (binary("<", binary("<", a, b), c), "(a < b) < c"),
    ],
)
def test_minimal_parentheses(expr: Expr, text: str) -> None:
    assert PRINTER.expr(expr)[0] == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [("n - 1 - i", "n - i - 1"), ("-i", "-i"), ("5 - i", "5 - i"), ("-2*i + 3", "3 - 2*i"), ("-2*i - 3", "-2*i - 3"),
     ("floor((i + 1)/2) - n", "pe_floord(i + 1, 2) - n"), ("0", "0"), ("-4", "-4")],
)  # fmt: skip
def test_affine(text: str, printed: str) -> None:
    assert PRINTER.affine(parse_affine(text))[0] == printed


def test_wide_parameters_cannot_wrap() -> None:
    wide = Printer(parameters={"n": "int", "u": "size_t"}, wide=True)
    assert wide.affine(parse_affine("2*n + 3*u + i"))[0] == "i + 2L*n + 3*(long)u"


def test_iterators_keep_their_type() -> None:
    wide = Printer(values={"i": parse_affine("i - t")}, wide=True)
    assert wide.expr(Name("i", "unsigned int"))[0] == "(unsigned int)(i - t)"
    assert wide.expr(Name("i", "long"))[0] == "i - t"


def test_integer_algebra() -> None:
    i, n = Affine.of("i"), Affine.of("n")
    low = IntOp("min", (i, n))
    assert add(low, Affine.constant(1)) == IntOp("min", (i + 1, n + 1))
    assert scale(low, -1) == IntOp("max", (-i, -n))
    assert extreme("min", (low, i, Affine.constant(3), Affine.constant(2))) == IntOp("min", (i, n, Affine.constant(2)))
    assert substitute(n - i, {"i": low}) == IntOp("+", (IntOp("*", (Affine.constant(-1), low)), n)) or isinstance(
        substitute(n - i, {"i": low}), IntOp
    )


def test_helpers_are_defined_only_when_used() -> None:
    assert helpers_for("x = pe_minimum;") == ()
    assert [name for name, _ in helpers_for("pe_v4d x; p = pe_alloc(8);")] == ["pe_v4d", "pe_alloc"]


def test_original_keeps_the_structure() -> None:
    text = emit_original(parse_nest(nests.PRIVATE))
    assert "    double t;\n    double row[m];\n    t = 0.0;\n" in text and "pe_" not in text


@pytest.mark.gcc
def test_failed_allocation_runs_the_original(tmp_path: Path) -> None:
    nest = parse_nest(nests.PRIVATE)
    result, model = scheduled(nest, "distribute(i, 2)")
    text = emit(result, model)
    parameters = {"n": 5, "m": 4}
    source, specs = kernel_source(nest, text, parameters)
    data = inputs(nest, parameters)
    expected = run(build(tmp_path, "good", source, FAST), specs, parameters, data)
    failing = source.replace("__builtin_malloc(pe_size + 128)", "0")
    assert failing != source
    again = run(build(tmp_path, "bad", failing, ("-O1", "-ffp-contract=off", "-w")), specs, parameters, data)
    assert all(expected[name].tobytes() == again[name].tobytes() for name in expected)


def test_workload_keeps_what_the_compiler_knows() -> None:
    nest = parse_nest(
        "nest w { param n: int; param m: int = 7; array G: double[n][5]; array P: float[n][m] pointer;"
        " array F: int[n][n] restrict flat; array s: double local; array U: double[?] ;"
        " for i: int in [0, n) step 1 { S0: s += G[i][0] + P[i][1] + F[i][1] + U[i]; } }"
    )
    source, specs = kernel_source(nest, emit_original(nest), {"n": 11})
    assert "static double G[11][5];" in source and "const int m = 7;" in source
    assert "int n, float (*P)[m], int *restrict F, double *pe_s, double *restrict U" in source.replace("\n", " ")
    assert [s.name for s in specs if s.written] == ["s"]
    with pytest.raises(CodegenUnsupported, match="no value"):
        kernel_source(nest, "", {})


@pytest.mark.gcc
def test_hoisted_predicate_is_not_evaluated_for_empty_loops(tmp_path: Path) -> None:
    nest = """nest p { param n: int; param m: int; array flag: int[n]; array y: double[n][m];
    for i: int in [0, n) step 1 { for j: int in [0, m) step 1 { when (flag[i] > 3) { S0: y[i][j] += 1.0; } } } }"""
    text = check_same(tmp_path, nest, "", {"n": 9, "m": 5}, {"n": 9, "m": 0}, expect=("if (0 < m && flag[i] > 3) {",))
    assert text.index("flag") < text.index("long j")


def test_unsigned_iterators_do_not_wrap_in_floors() -> None:
    text = """nest u {
      param n: unsigned int in [1, ?];
      array A: int[n];
      for i: unsigned int in [0, n) step 1 { if (i - 1 % 3 == 0) { S0: A[floor((i - 1)/3) + 1] = 1; } }
    }"""
    lines = emit_original(parse_nest(text))
    assert "((long)i - 1) % 3 == 0" in lines
    assert "A[pe_floord((long)i - 1, 3) + 1] = 1;" in lines


def test_roots_are_written_as_what_gcc_vectorizes_where_asked() -> None:
    root = Call("sqrt", (Call("sqrtf", (a,), "float"),), "double")
    assert replace(PRINTER, roots=True).expr(root)[0] == "pe_sqrt(pe_sqrtf(a))"
    assert PRINTER.expr(root)[0] == "sqrt(sqrtf(a))"
    other = Call("exp", (a,), "double")
    assert replace(PRINTER, roots=True).expr(other)[0] == "exp(a)"


def test_a_number_beyond_long_is_not_written() -> None:
    printer = Printer.of(parse_nest(nests.SYRK), wide=False)
    assert printer.affine(Affine.constant(2**63 - 1))[0] == "9223372036854775807"
    with pytest.raises(CodegenUnsupported, match="beyond long"):
        printer.affine(Affine.of("n") + 2**64 - 3)
