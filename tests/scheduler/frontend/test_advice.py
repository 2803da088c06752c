"""That what a refusal advises makes the loop readable, and nothing else of the program."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import scheduler.frontend
from scheduler.frontend import read_source
from scheduler.frontend.child import parse
from scheduler.frontend.model import ParseOptions, SourceFile
from scheduler.frontend.parsing import parser_request
from scheduler.ir.walk import loops as loops_of
from tests.scheduler.frontend.advice_rows import ADVICE, MAIN, Row

ROOT = Path(scheduler.frontend.__file__).parent
ELSEWHERE = {  # what has no program of its own here, and why
    "please report it with the file": "a mistake of the front end",
    "use one name": "ends a region: the loops are read one by one then",
    "split it into smaller functions or files": "of what takes too long to read",
    "move the loops to a file without it": "what only gcc understands, said by `read_source`: test_parsing",
    "give it another name, and call it by that": "of whole programs: test_processes",
    "let the handler set a flag, and do the work elsewhere": "of whole programs: test_processes",
    "define 'f' in the file that calls it": "of several files: below",
    "rename one of them": "two variables of one name, which functions put in place of calls avoid",
    "check its bounds": "assumptions that contradict each other",
    "write { and } around it": "of rounds, without which the loop is then read",
    "let the loop count to a number that is computed in front of it": "of rounds, too",
    "turn it into an if around the rest of the body": "what is left of `continue` where it cannot be read",
}
IDS = [f"{k}-{re.sub(r'[^a-z]+', '-', row.advice.lower())[:40]}" for k, row in enumerate(ADVICE)]
DEFINED = [pytest.param(row, id=name) for name, row in zip(IDS, ADVICE, strict=True) if row.defined]


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    """As the parser's process."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


def read(code: str, flags: tuple[str, ...]) -> SourceFile:
    found = parse(parser_request("/snippets/t.c", code.encode(), ParseOptions(flags)))
    assert isinstance(found, SourceFile), found
    return found


@pytest.mark.parametrize("row", ADVICE, ids=IDS)
def test_the_advice_helps(row: Row) -> None:
    refused = read(row.refused, row.flags).rejections
    given = [(r.span.line, r.reason, r.advice) for r in refused]
    assert any(line == row.line and row.reason in why and advice == row.advice for line, why, advice in given), given
    followed = read(row.followed, row.flags if row.flags_after is None else row.flags_after)
    assert followed.nests and not followed.rejections, [(r.span.line, r.reason) for r in followed.rejections]


@pytest.mark.gcc
@pytest.mark.parametrize("row", DEFINED)
def test_what_is_advised_computes_the_same(row: Row, tmp_path: Path) -> None:
    printed = []
    flags = row.flags if row.flags_after is None else row.flags_after
    for text, given in ((row.refused, row.flags), (row.followed, flags)):
        (tmp_path / "t.c").write_text(text)
        (tmp_path / "main.c").write_text(MAIN)
        command = ["gcc", "-w", "-fopenmp", *given, "t.c", "main.c", "-o", "program", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
        ran = subprocess.run([tmp_path / "program"], capture_output=True, timeout=20, check=True)
        printed.append(ran.stdout)
    assert printed[0] == printed[1]


def test_every_advice_has_a_program() -> None:
    shown = [row.advice for row in ADVICE]
    missing = []
    for path in sorted(ROOT.rglob("*.py")):
        for pattern in _advice(path):
            known = any(pattern.fullmatch(advice) for advice in (*shown, *ELSEWHERE))
            missing += [] if known else [f"{path.relative_to(ROOT)}: {pattern.pattern}"]
    assert not missing


def test_what_is_shown_is_advised() -> None:
    patterns = [pattern for path in ROOT.rglob("*.py") for pattern in _advice(path)]
    for advice in (*(row.advice for row in ADVICE), *ELSEWHERE):
        assert any(pattern.fullmatch(advice) for pattern in patterns), advice


def test_loops_of_included_files_are_not_looked_at_by_themselves(tmp_path: Path) -> None:
    """So that nothing is missed only where the function is in the file itself."""
    loops = "".join(f"  for (int k = 0; k < n; k++) v[k] += {number};\n" for number in range(9))
    function = f"static void sweep(double *v, int n) {{\n{loops}}}\n"
    main = "void f(double *a, int n) { for (int t = 0; t < n; t++) sweep(a + t, n); }\n"
    (tmp_path / "sweep.h").write_text(function)
    (tmp_path / "t.c").write_text(f'#include "sweep.h"\n{main}')
    found = read_source(tmp_path / "t.c", ParseOptions())
    (refused,) = found.rejections
    assert not found.nests and refused.advice == "define 'sweep' in the file that calls it" and refused.span.line == 2
    (tmp_path / "t.c").write_text(f"{function}{main}")
    found = read_source(tmp_path / "t.c", ParseOptions())
    assert found.nests and not found.rejections
    (around,) = found.around
    assert "10 loops" in around.reason and not around.advice
    (tmp_path / "sweep.h").write_text(
        "static void sweep(double *v, int n) { for (int k = 0; k < n; k++) v[k] *= 2; }\n"
    )
    (tmp_path / "t.c").write_text(f'#include "sweep.h"\n{main.replace("a + t", "a")}')
    found = read_source(tmp_path / "t.c", ParseOptions())
    (nest,) = found.nests
    assert [loop.name for loop in loops_of(nest)] == ["t", "k"] and not found.rejections and not found.around


@pytest.mark.parametrize(
    ("body", "reasons"),
    [
        ("for (int t = 0; t < n; t++) step(a, n);", ["calls 'step' with the same arguments again and again"]),
        ("for (int s = 0; s < n; s++) for (int t = 0; t < n; t++) again(a, n);", ["calls 'again'"] * 2),
        ("while (*a > 0) for (int t = 0; t < n; t++) step(a, n);", ["calls 'step' with the same"]),
        ("for (int t = 0; t < n; t++) step(a + t, n);", []),
    ],
)
def test_what_needs_nothing_is_no_refusal(body: str, reasons: list[str]) -> None:
    code = "static void step(double *a, int n) { for (int i = 0; i < n; i++) a[i] *= 2; }\n"
    code += "static void again(double *a, int n) { for (int i = 0; i < n; i++) a[i] = 2; }\n"
    found = read(f"{code}void f(double *a, int n) {{ {body} }}\n", ())
    assert [r.reason for r in found.rejections] == []
    assert len(found.around) == len(reasons)
    assert all(r.reason.startswith(reason) for r, reason in zip(found.around, reasons, strict=True))


_TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
_PASSED_ON = {
    "advice",
    "leave.advice",
    "refusal.advice",
    "spelled(refusal.advice)",
}  # where a refusal is made of another one


def _advice(path: Path) -> Iterator[re.Pattern[str]]:
    """What the third argument of every refusal in a module may be; what is computed for it matches anything there."""
    for node in ast.walk(_TREES[path]):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or len(node.args) < 3:
            continue
        if node.func.id in ("Reject", "Rejection", "Leave"):
            found = list(_texts(path, node.args[2]))
            assert found or ast.unparse(node.args[2]) in _PASSED_ON, f"{path}:{node.lineno}"
            yield from found


def _texts(path: Path, expr: ast.expr) -> Iterator[re.Pattern[str]]:
    if isinstance(expr, ast.Constant):
        yield re.compile(re.escape(str(expr.value)))
    elif isinstance(expr, ast.JoinedStr):
        parts = (re.escape(p.value) if isinstance(p, ast.Constant) else ".+" for p in expr.values)
        yield re.compile("".join(map(str, parts)))
    elif isinstance(expr, ast.Name):
        sets = [n.value for n in ast.walk(_TREES[path]) if isinstance(n, ast.Assign) and _sets(n, expr.id)]
        if not sets:  # imported
            sets = [n.value for t in _TREES.values() for n in t.body if isinstance(n, ast.Assign) and _sets(n, expr.id)]
        for value in sets:
            yield from _texts(path, value)
    elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name):
        for node in ast.walk(_TREES[path]):
            if isinstance(node, ast.FunctionDef) and node.name == expr.func.id:
                for back in (n for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None):
                    yield from _texts(path, back.value)  # type: ignore[arg-type]
    elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr == "get":
        yield from _texts(path, expr.func.value)
        yield from _texts(path, expr.args[1])
    elif isinstance(expr, ast.Dict):
        for value in expr.values:
            yield from _texts(path, value)
    elif isinstance(expr, ast.IfExp):
        yield from _texts(path, expr.body)
        yield from _texts(path, expr.orelse)


def _sets(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
