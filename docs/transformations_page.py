"""The page of all transformations: what each is, and the code before and behind it."""

from __future__ import annotations

import ast
import importlib
import inspect
from dataclasses import MISSING, dataclass, fields

from docs.markdown import NOTE, paragraphs
from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.emit.original import emit_original
from scheduler.ir.text import parse_nest
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.transform import TRANSFORMATIONS, Transformation

_STEPS = """\
A schedule is a sequence of steps, separated by `; `. Loops and statements are named, never numbered. The text form is
what reports print and what the database stores; it reads back exactly. Loops that a step makes have names of their own:
`i_t` (tiles), `i_r` (register blocks), `i_u` (unroll-and-jam), `i_d` (distribution), `i_s` (splits),
`b_r` (copies of members of `b`).

A step is refused where its own preconditions do not hold: it is not *applicable*. Whether a schedule is *legal* is
decided once, of the result: see [dependences and legality](../how-it-works/legality.md).

The code below is what the code generator writes; `pe_…` are helpers that it defines in the same file.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A nest, the schedule of its first picture, and the steps that lead to the second; `says`: what to look at."""

    nest: str
    before: str
    steps: str
    says: str = ""


_ADD = """nest n {
  param n: int in [1, ?]; array A: double[n]; array B: double[n];
  for i: int in [0, n) step 1 { S0: A[i] = B[i] + 1.0; }
}"""
_TRANSPOSE = """nest n {
  param n: int in [1, ?]; array A: double[n][n]; array B: double[n][n] const;
  for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { S0: A[i][j] = B[j][i]; } }
}"""
_STENCIL = """nest n {
  param T: int in [1, ?]; param n: int in [1, ?]; array A: double[n];
  for t: int in [0, T) step 1 { for i: int in [1, n - 1) step 1 { S0: A[i] = 0.5 * (A[i - 1] + A[i + 1]); } }
}"""
_TWO_LOOPS = """nest n {
  param n: int in [1, ?]; array A: double[n]; array B: double[n];
  for i: int in [0, n) step 1 { S0: A[i] *= 2.0; }
  for j: int in [0, n) step 1 { S1: B[j] += A[j]; }
}"""
_TWO_STATEMENTS = """nest n {
  param n: int in [1, ?]; array A: double[n]; array B: double[n];
  for i: int in [1, n) step 1 { S0: A[i] *= 2.0; S1: B[i] = A[i - 1]; }
}"""
_SUMS = """nest n {
  param n: int in [1, ?]; param m: int in [1, ?]; array A: double[n][m]; array s: double[n];
  for i: int in [0, n) step 1 { S0: s[i] = 0.0; for j: int in [0, m) step 1 { S1: s[i] += A[i][j]; } }
}"""
_TRIANGLE = """nest n {
  param n: int in [1, ?]; array A: double[n][n] const; array x: double[n];
  for k: int in [0, n) step 1 { for i: int in [k + 1, n) step 1 { S0: x[i] -= A[i][k] * x[k]; } }
}"""
_BODIES = """nest n {
  param n: int in [1, ?]; array b: double[?][4] pointer base "b" members ".x" ".y" ".mass" ".pot";
  array p: double private(i);
  for i: int in [0, n) step 1 {
    S0: p = 0.0;
    for j: int in [0, n) step 1 { S1: p += b[j][2] * ((b[j][0] - b[i][0]) + (b[j][1] - b[i][1])); }
    S2: b[i][3] = p;
  }
}"""
_SUM_IN_A_SCALAR = """nest n {
  param n: int in [1, ?]; array A: double[n][n] const; array x: double[n] const; array y: double[n];
  array s: double private(i);
  for i: int in [0, n) step 1 {
    S0: s = 0.0;
    for j: int in [0, n) step 1 { S1: s += A[j][i] * x[j]; }
    S2: y[i] = s;
  }
}"""
_PRODUCT = """nest n {
  param n: int in [1, ?]; param m: int in [1, ?]; param l: int in [1, ?];
  array A: double[n][l] const; array B: double[l][m] const; array C: double[n][m];
  for i: int in [0, n) step 1 { for j: int in [0, m) step 1 {
    for k: int in [0, l) step 1 { S0: C[i][j] += A[i][k] * B[k][j]; } } }
}"""

EXAMPLES = {
    "split": Example(
        _TRIANGLE,
        "",
        "split(i, 64*floor((k)/64) + 64)",
        "Behind the split is what no longer depends on where in its block of 64 `k` is.",
    ),
    "columns": Example(
        _BODIES,
        "",
        "columns(b)",
        "Along `i` and `j` what is read lies side by side now, so that blocks of `i` can be vectorized.",
    ),
    "eliminate": Example(
        _SUM_IN_A_SCALAR,
        "",
        "eliminate(s)",
        "Nothing has to be kept for every `i` when the loops change places now.",
    ),
    "interchange": Example(_TRANSPOSE, "", "interchange(i, j)"),
    "skew": Example(
        _STENCIL,
        "",
        "skew(t, i, 1)",
        "The loops may now be tiled together: no dependence points backwards along `i` any more.",
    ),
    "reschedule": Example(
        _STENCIL,
        "",
        "reschedule([S0 -> (0, i + 2*t, 0, t, 0)])",
        "A wavefront: what stands on one diagonal does not depend on each other, so that the inner loop is parallel.",
    ),
    "reverse": Example(_ADD, "", "reverse(i)"),
    "shift": Example(_TWO_STATEMENTS, "", "shift(i, S1, 1)"),
    "fuse": Example(_TWO_LOOPS, "", "fuse(i, j)"),
    "distribute": Example(_SUMS, "", "distribute(i, 1)"),
    "sink": Example(
        _SUMS,
        "",
        "sink(S0, j, 0); interchange(i, j)",
        "Sinking makes the nest perfect, so that the loops can be interchanged (or tiled) with `S0` inside.",
    ),
    "tile": Example(_TRANSPOSE, "", "tile([i, j], [32, 64])"),
    "unroll": Example(_ADD, "", "unroll(i, 4)"),
    "unroll_jam": Example(_TRANSPOSE, "", "unroll_jam(i, 4)"),
    "vectorize": Example(_ADD, "", "vectorize(i)"),
    "parallelize": Example(_SUMS, "", "parallelize(i)"),
    "register_block": Example(
        _PRODUCT,
        "",
        "register_block([i, j], [2, 4])",
        "A full block keeps two vectors of `C` in registers over the whole of `k`; the edges run in the other branch.",
    ),
    "pack": Example(_TRANSPOSE, "tile([i, j], [32, 64])", "pack(j_t, B, [1, 0])"),
    "stream": Example(
        _ADD,
        "",
        "stream(i, A)",
        "The loop fills a small buffer as before; `pe_stream` copies it with non-temporal stores.",
    ),
}


def written(nest_text: str, schedule_text: str) -> str:
    """The nest as C, as written or after a legal schedule."""
    nest, schedule = parse_nest(nest_text), parse_schedule(schedule_text)
    if not schedule:
        return emit_original(nest)
    replayer = Replayer(nest)
    scheduled = replayer.replay(schedule)
    assert isinstance(scheduled, ScheduledNest), f"{schedule_text}: {scheduled}"
    return emit(scheduled, replayer.of(schedule).model)


def _refusals(kind: type[Transformation]) -> list[str]:
    """What the step's own file says where it does not apply, values left out."""
    source = inspect.getsource(importlib.import_module(kind.__module__))
    texts: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "NotApplicable":
            parts = node.args[0].values if isinstance(node.args[0], ast.JoinedStr) else [node.args[0]]
            said = "".join(str(p.value) if isinstance(p, ast.Constant) else "…" for p in parts)
            texts.append((node.lineno, said))
    return [said for _, said in sorted(texts)]


def transformations_page() -> str:
    parts = [
        "# Transformations\n",
        NOTE,
        _STEPS,
    ]
    for kind in TRANSFORMATIONS:
        shown = [f.name if f.default is MISSING else f"{f.name} = {f.default}" for f in fields(kind)]
        example = EXAMPLES[kind.keyword]
        parts.append(f"## {kind.keyword}\n")
        parts.append(f"```text\n{kind.keyword}({', '.join(shown)})\n```\n")
        parts += [f"{text}\n" for text in paragraphs(kind.__doc__)]
        first = f"After `{example.before}`:" if example.before else "As written:"
        parts.append(f"{first}\n\n```c\n{written(example.nest, example.before)}```\n")
        steps = "; ".join(filter(None, (example.before, example.steps)))
        parts.append(f"After `{example.steps}`:\n\n```c\n{written(example.nest, steps)}```\n")
        if example.says:
            parts.append(f"{example.says}\n")
        if refusals := _refusals(kind):
            parts.append("It does not apply, and says so:\n\n" + "\n".join(f"- {text}" for text in refusals) + "\n")
    return "\n".join(parts)
