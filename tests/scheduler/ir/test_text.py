import random
import time
from dataclasses import replace

import pytest

from scheduler.errors import TextError
from scheduler.ir.nest import (
    Access,
    Assign,
    Binary,
    Call,
    Cast,
    Conditional,
    Expr,
    Guard,
    Literal,
    Loop,
    LoopNest,
    Name,
    Predicate,
    Read,
    Span,
    Statement,
    Unary,
)
from scheduler.ir.text import format_expr, format_nest, nest_id, parse_nest, without_spans
from scheduler.ir.text_expressions import MAX_DEPTH, PRECEDENCE
from tests.generator import Size, random_nest

EVERYTHING = r"""nest "gemm.c: 12" of kernel_gemm {
  param n: int = 10 in [1, 2000];
  param nnz: unsigned long in [?, 9];
  param free: long;
  param low: int in [-3, ?];
  array A: double[n][n + 1] pointer flat base "s->A[\"x\"]";
  array rowptr: int[n + 1] const;
  array col: size_t[?] restrict;
  array s: double private(i);
  array u: unsigned char private;
  array f: float[n][2*n + floor((n)/2)] local;
  array t: long double[?][n] private(i) expanded 1;
  array i_3: int;
  assume n - 1 >= 0;
  assume (n) % 2 == 0;
  assume n - nnz == 0;
  for i: int in [0, n) step 1 {
    S0: s = 0.0;
    for p: long in [opaque(rowptr[i]), opaque(rowptr[i + 1])) step 1 {
      S1: s += A[i][opaque(col[p])] * (double)f[opaque(col[p] & 3)][floor((i)/2)];
    }
    when (f[i][0] > 0.5 && s < 100) {
      for j: int in [min(i - 1, n - 2), max(-1, i - 4)) step -1 {
        if (i - j >= 0 and (i + j) % 2 == 0) or (j == 0) or () {
          S2: if (A[i][j] > s) {
            A[i][j] = -(-s) + i / 2 + sqrt((double)n) * (f[i][0]@double > 0 ? 1 : 2.0f);
          } else {
            f[i][j] *= 2;
            if (!(s > 0x1Fu)) {} else {
              f[i][j] -= "-1"@int - (1 - 2) - 'a' / (n + 1) % (j << 1);
            }
          }
        }
      }
    }
    if never {
      S3: {}
    }
    S4: {
      A[i][n] = s + i@long;
      u <<= 1 | ~(i ^ 2);
    }
  }
  for i_3: int in [max(0, n - 4), min(n, nnz, 7)) step 1 {
    S5: A[i_3][0] = (s + i_3)@float - mystery($i_3, s)@double + (float)(unsigned long)-s;
  }
  for k: unsigned int in [0, 9) step 2 {
    S6: f[k][0] = (a_macro_less@int == 1) < 2 && (n || k) ? s ? 1 : 2 : i_3;
    S7: while (s < 9.0) {
      s += 1;
      if (f[k][0] > s) {
        u = 3;
      } break;
      if (!s) {} break;
    }
  }
}
"""


def test_everything_round_trips() -> None:
    nest = parse_nest(EVERYTHING)
    assert format_nest(nest) == EVERYTHING
    assert parse_nest(format_nest(nest)) == nest


@pytest.mark.parametrize("seed", range(300))
def test_random_nests_round_trip(seed: int) -> None:
    rng = random.Random(seed)
    nest = random_nest(rng, Size(depth=rng.randint(1, 4), nests=rng.randint(1, 3)))
    assert parse_nest(format_nest(nest)) == nest


def test_random_expressions_round_trip() -> None:
    """Any tree with any types, sensible or not."""
    rng = random.Random(5)
    types = ("int", "double", "float", "unsigned long", "char", "_Bool", "long double")
    base = parse_nest("nest e { param n: int; array A: float[n]; array s: double; S0: s = 0.0; }")

    def draw(depth: int) -> Expr:
        ctype = rng.choice(types)
        kind = rng.randrange(8) if depth else rng.randrange(3)
        if kind == 0:
            return Literal(
                rng.choice(("1", "0.5f", "1e-9", "0x1p3", "-1", "INFINITY", '"', "\\", "'\\n'", "9u")), ctype
            )
        if kind == 1:
            return Name(rng.choice(("n", "s", "unknown")), ctype)
        if kind == 2:
            inner = draw(depth - 1) if depth else Name("n", "int")
            return Read(rng.choice((Access("s"), Access("A", (inner,)))), ctype)
        if kind == 3:
            return Unary(rng.choice("-+!~"), draw(depth - 1), ctype)
        if kind in (4, 5):
            return Binary(rng.choice(list(PRECEDENCE)), draw(depth - 1), draw(depth - 1), ctype)
        if kind == 6:
            return Conditional(draw(depth - 1), draw(depth - 1), draw(depth - 1), ctype)
        if rng.random() < 0.5:
            return Cast(ctype, draw(depth - 1))
        return Call(rng.choice(("sqrt", "fmaxf", "f")), tuple(draw(depth - 1) for _ in range(rng.randrange(3))), ctype)

    for _ in range(1500):
        expr = draw(rng.randint(0, 5))
        nest = replace(base, body=(Statement("S0", (Assign(Access("s"), "=", expr),)),))
        assert parse_nest(format_nest(nest)) == nest, format_expr(nest, expr)


def test_types_are_written_only_where_c_would_not_derive_them() -> None:
    nest = parse_nest("nest e { param n: int; array f: float[n]; array d: double; array c: char; S0: d = 0.0; }")
    f = Read(Access("f", (Name("n", "int"),)), "float")
    d, c = Read(Access("d"), "double"), Read(Access("c"), "char")
    assert format_expr(nest, Binary("*", f, d, "double")) == "f[opaque(n)] * d"
    assert format_expr(nest, Binary("*", f, d, "float")) == "(f[opaque(n)] * d)@float"
    assert format_expr(nest, Binary("+", c, c, "int")) == "c + c"
    assert format_expr(nest, Binary("<", f, d, "int")) == "f[opaque(n)] < d"
    assert format_expr(nest, Binary("<<", c, Literal("1", "long"), "int")) == "c << 1@long"
    assert format_expr(nest, Call("sqrtf", (f,), "float")) == "sqrtf(f[opaque(n)])"
    assert format_expr(nest, Literal("1", "double")) == "1@double"


def test_spans_are_dropped() -> None:
    span = Span("a.c", 1, 2, 3, 4)
    nest = parse_nest(
        "nest e { array s: int; for i: int in [0, 4) step 1 { if (i >= 0) { when (s) { S0: s = 1; } } } }"
    )
    loop = nest.body[0]
    assert isinstance(loop, Loop)
    guard = loop.body[0]
    assert isinstance(guard, Guard)
    predicate = guard.body[0]
    assert isinstance(predicate, Predicate)
    statement = replace(predicate.body[0], span=span)
    body = replace(guard, body=(replace(predicate, body=(statement,)),))
    spanned = replace(nest, span=span, body=(replace(loop, span=span, body=(body,)),))
    assert without_spans(spanned) == nest != spanned
    assert parse_nest(format_nest(spanned)) == nest
    assert nest_id(spanned) == nest_id(nest)


# ------------------------------------------------------------------------------------- identity

GEMM = """nest gemm of main {
  param n: int = 1000 in [1, 2000];
  param m: int;
  array A: double[n][m] pointer base "p->A";
  array x: double[m] local;
  assume n - m >= 0;
  for i: int in [0, n) step 1 {
    for j: int in [0, m) step 1 {
      S0: A[i][j] += x[j] * i;
    }
  }
}
"""


def test_identity_ignores_names_values_and_places() -> None:
    other = """nest other {
  param z: int;
  param b: int in [3, 3];
  array x: double[b] local;
  array unordered: double[z][b] pointer;
  assume z - b >= 0;
  for q: int in [0, z) step 1 { for c: int in [0, b) step 1 { T: unordered[q][c] += x[c] * q; } }
}"""
    assert nest_id(parse_nest(GEMM)) == nest_id(parse_nest(other))
    assert len(nest_id(parse_nest(GEMM))) == 16


@pytest.mark.parametrize(
    ("old", "new"),
    [("x: double", "x: float"), ("param m: int", "param m: long"), ("+=", "="), ("x[j]", "x[i]"), ("x[j]", "x[j + 1]"),
     ("[0, m) step 1", "[0, m) step 2"), ("* i", "+ i"), ("[0, m)", "[0, n)"), ("for j: int", "for j: long"),
     ("x[j] * i", "x[j] * 2"), (" local", ""), ("n - m >= 0", "n - m == 0")],
)  # fmt: skip
def test_identity_depends_on_everything_else(old: str, new: str) -> None:
    assert old in GEMM
    assert nest_id(parse_nest(GEMM)) != nest_id(parse_nest(GEMM.replace(old, new)))


def test_identity_survives_the_round_trip() -> None:
    for seed in range(100):
        nest = random_nest(random.Random(seed))
        assert nest_id(parse_nest(format_nest(nest))) == nest_id(nest)


# -------------------------------------------------------------------------------------- hostility


def body(text: str) -> str:
    return f"nest k {{ param n: int; array A: double[n]; array s: double; {text} }}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nest",
        "nest k {",
        "nest k { } }",
        "nest k { param n: int = 99999999999999999999; }",
        "nest k { param n: integer; }",
        "nest k { param n: int; param n: int; }",
        "nest k { array A: double[x; }",
        "nest k { array A: double; array A: int; }",
        "nest k { array A: double private(i); }",
        "nest k { array A: struct foo; }",
        'nest "k { }',
        'nest "\\q" { }',
        body("S0: s = ;"),
        body("S0: s = 1"),
        body("S0: t = 1;"),
        body("S0: s = t;"),
        body("S0: s = A[0][0];"),
        body("S0: s = A;"),
        body("S0: s = A[i];"),
        body("S0: s = f(1);"),
        body('S0: s = "x";'),
        body("S0: s = 1 @ foo;"),
        body("S0: s =+ 1 +;"),
        body("S0: s ?= 1;"),
        body("S0: s = 08;"),
        body("S0: s = 1.2.3;"),
        body("S0: s = 99999999999999999999999;"),
        body("S0: s = 1; S0: s = 1;"),
        body("for i: int in [0, n) { }"),
        body("for i: int in [0, n) step 0 { }"),
        body("for i: int in [min(0, n), n) step 1 { }"),
        body("for i: int in [max(0, 1), n) step 2 { }"),
        body("for i: int in [max(0), n) step 1 { }"),
        body("for i: int in [i, n) step 1 { }"),
        body("for n: int in [0, 4) step 1 { }"),
        body("for i: int in [0, n) step 1 { for i: int in [0, n) step 1 { } }"),
        body("if (i >= 0) { }"),
        body("if (n >= 1) { }"),
        body("if (n % 0 == 0) { }"),
        body("if (n > 0) { }"),
        body("when (s > ) { }"),
        body("S0: s = 1; assume n >= 0;"),
        body("S0: if (s > 1) { s = 2; } break;"),
        body("S0: while (s > 1) { s = 2; break; }"),
        body("S0: while (s > 1) { } else { }"),
        body("S0: s = (int;"),
        body("S0: s = (int)(double);"),
        "nest k { \x00 }",
        "nest k { # }",
        "nëst k { }",
        "\udcff",
    ],
)
def test_malformed_text(text: str) -> None:
    with pytest.raises(TextError):
        parse_nest(text)


def test_errors_name_the_place() -> None:
    with pytest.raises(TextError, match="nest text 3:11: "):
        parse_nest("nest k {\n  array s: int;\n  S0: s = $B;\n}")
    with pytest.raises(TextError, match=r"1:\d+: "):
        parse_nest("nest k { oops }")


@pytest.mark.parametrize(
    "text",
    [
        body("S0: s = " + "(" * 100_000),
        body("S0: s = " + "(" * 5_000 + "1" + ")" * 5_000 + ";"),
        body("S0: s = " + "-" * 100_000 + "1;"),
        body("S0: s = " + "(int)" * 10_000 + "1;"),
        body("S0: s = " + "1 ? " * 10_000 + "1;"),
        body("S0: s = " + "1 ? 1 : " * 10_000 + "1;"),
        body("S0: s = " + "1 + " * 100_000 + "1;"),
        body("S0: s = " + "f(" * 10_000),
        body("S0: s = " + "A[opaque(" * 10_000),
        body("for i: int in [0, n) step 1 {" * 1),
        body("if (n >= 0) {" * 10_000),
        body("when (1) {" * 10_000 + "}" * 10_000),
        body("S0: " + "if (1) {" * 10_000),
        body("for i: int in [" + "(" * 100_000 + ", n) step 1 {}"),
        body("for i: int in [" + "floor((" * 10_000 + ", n) step 1 {}"),
        body("for i: int in [0, " + "9" * 100_000 + ") step 1 {}"),
        body("S0: s = " + "9" * 100_000 + ";"),
        body("S0: s = 1e" + "9" * 100_000 + ";"),
        body("S0: s = 0x" + "f" * 100_000 + "p1;"),
        "nest k { param n: int = " + "9" * 100_000 + "; }",
        'nest "' + "\\" * 100_001,
        "nest " + "a" * 5_000_000,
        "\x00\xff" * 100_000,
    ],
)
def test_hostile_text_fails_quickly(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(TextError):
        parse_nest(text)
    assert time.perf_counter() - start < 5


def test_mutilated_texts_never_crash() -> None:
    rng = random.Random(11)
    pieces = EVERYTHING.split()
    for _ in range(600):
        text = EVERYTHING
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text))
            text = rng.choice((
                text[:at] + text[at + rng.randint(1, 9) :],
                text[:at] + rng.choice(pieces) + text[at:],
                text[:at] + rng.choice("(){}[];:@?$\"'\\\x00é9") + text[at + 1 :],
            ))  # fmt: skip
        try:
            nest = parse_nest(text)
        except TextError:
            continue
        assert parse_nest(format_nest(nest)) == nest


def chain(levels: int, left: bool) -> LoopNest:
    expr: Expr = Literal("1", "int")
    for _ in range(levels - 1):
        one = Literal("1", "int")
        expr = Binary("-", expr, one, "int") if left else Binary("-", one, Unary("-", expr, "int"), "int")
    base = parse_nest(body("S0: s = 1;"))
    return replace(base, body=(Statement("S0", (Assign(Access("s"), "=", expr),)),))


def test_what_can_be_written_can_be_read() -> None:
    for left, most in ((True, MAX_DEPTH), (False, MAX_DEPTH // 2)):
        deep = chain(most, left)
        assert parse_nest(format_nest(deep)) == deep
        hash(deep)
        with pytest.raises(TextError, match="levels"):
            format_nest(chain(most + 3, left))


def test_what_cannot_be_written_is_refused() -> None:
    nest = parse_nest(GEMM)
    for broken in (
        replace(nest, arrays=(replace(nest.arrays[0], ctype="struct point"), nest.arrays[1])),
        replace(nest, arrays=(replace(nest.arrays[0], name="A B"), nest.arrays[1])),
        replace(nest, arrays=nest.arrays[:1]),
    ):
        with pytest.raises(TextError):
            format_nest(broken)
