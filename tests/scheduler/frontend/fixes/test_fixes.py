"""Each kind of fix: what it makes of a program, that this computes the same, and where it is not offered."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scheduler.frontend.child import parse
from scheduler.frontend.fixes import suggest
from scheduler.frontend.fixes.model import Edit, Fix, applied, moved
from scheduler.frontend.model import ParseOptions, SourceFile
from scheduler.frontend.parsing import parser_request
from tests.scheduler.frontend.advice_rows import MAIN, program


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    caveat: str
    top: str
    before: str
    after: str
    not_offered: tuple[tuple[str, str], ...]
    defined: bool
    top_after: str


def _kinds() -> Iterator[Kind]:
    text = Path(__file__).with_name("kinds.txt").read_text(encoding="utf-8")
    for block in text.split("== kind: ")[1:]:
        name, *sections = block.rstrip().split("\n== ")
        found: dict[str, str] = {}
        likenesses = []
        for section in sections:
            key, _, value = section.partition(":")
            if key == "not":
                why, _, body = value.strip(" ").partition("\n")
                likenesses.append((why, body))
            else:
                found[key] = value.removeprefix(" ").removeprefix("\n")
        yield Kind(
            name,
            found.get("caveat", ""),
            found.get("top", ""),
            found["before"],
            found["after"],
            tuple(likenesses),
            "undefined" not in found,
            found.get("top after", found.get("top", "")),
        )


KINDS = [pytest.param(kind, id=f"{number}-{kind.name}") for number, kind in enumerate(_kinds())]
DEFINED = [pytest.param(kind, id=f"{number}-{kind.name}") for number, kind in enumerate(_kinds()) if kind.defined]
LIKENESSES = [pytest.param(k, body, id=f"{k.name}: {why}") for k in _kinds() for why, body in k.not_offered]


def read(code: str) -> SourceFile:
    found = parse(parser_request("/snippets/t.c", code.encode(), ParseOptions(("-fopenmp",), fixes=True)))
    assert isinstance(found, SourceFile), found
    return found


def offered(code: str, kind: str) -> list[Fix]:
    return [fix for fix in read(code).fixes if fix.kind == kind]


@pytest.mark.parametrize("kind", KINDS)
def test_what_becomes_of_a_program(kind: Kind) -> None:
    code = program(kind.top, kind.before)
    (fix,) = offered(code, kind.name)
    assert kind.caveat in fix.caveat and bool(kind.caveat) == bool(fix.caveat)
    fixed = applied(code.encode(), fix.edits)
    assert fixed.decode() == program(kind.top_after, kind.after)
    after = read(fixed.decode())
    begin = moved(fix.edits, fix.loop)
    assert not [r for r in after.rejections if r.loop is not None and r.loop.begin == begin]
    assert any(n.span is not None and n.span.begin <= begin < n.span.end for n in after.nests)


@pytest.mark.parametrize(("kind", "body"), LIKENESSES)
def test_where_it_is_not_offered(kind: Kind, body: str) -> None:
    fixes = offered(program(kind.top, body), kind.name)
    assert not fixes


@pytest.mark.gcc
@pytest.mark.parametrize("kind", DEFINED)
def test_it_computes_the_same(kind: Kind, tmp_path: Path) -> None:
    printed = []
    for top, body in ((kind.top, kind.before), (kind.top_after, kind.after)):
        (tmp_path / "t.c").write_text(program(top, body))
        (tmp_path / "main.c").write_text(MAIN)
        command = ["gcc", "-Wall", "-O1", "-fopenmp", "t.c", "main.c", "-o", "program", "-lm"]
        built = subprocess.run(command, cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True)
        ran = subprocess.run([tmp_path / "program"], capture_output=True, timeout=20, check=True)
        printed.append((ran.stdout, set(re.findall(r"\[-W([\w-]+)", built.stderr))))
    assert printed[0][0] == printed[1][0]
    assert printed[1][1] <= printed[0][1]


def test_every_maker_has_a_program() -> None:
    folder = Path(suggest.__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    made = set(
        re.findall(r'(?:place\.fix|_moved_declaration|_copied)\(\s*(?:place, )?(?:variable, )?"([a-z-]+)"', text)
    )
    assert made == {kind.name for kind in _kinds()}
    guide = (Path(__file__).parents[4] / "docs/guides/fix.md").read_text(encoding="utf-8")
    assert {*made, "restrict"} <= set(re.findall(r"`([a-z-]+)`", guide))


def test_restrict() -> None:
    code = (
        "void f(int n, double *a, const double *b, double c[], int *k) { for (int i = 0; i < n; i++) a[i] = b[i]; }\n"
    )
    (fix,) = offered(code, "restrict")
    assert fix.nest and "'a', 'b'" in fix.caveat
    fixed = applied(code.encode(), fix.edits).decode()
    assert "double *restrict a, const double *restrict b, double c[], int *k" in fixed
    assert not offered(fixed, "restrict")
    (nest,) = read(fixed).nests
    assert {a.storage.value for a in nest.arrays} == {"restrict"}
    for other in (
        "void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; }\n",
        "double f(int n, double *a, double *b) { double s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n",
    ):
        assert not offered(other, "restrict")


def test_edits() -> None:
    edits = (Edit(2, 4, b""), Edit(4, 4, b"xyz"), Edit(6, 7, b"q"))
    assert applied(b"0123456789", edits) == b"01xyz45q789"
    assert [moved(edits, k) for k in (0, 2, 3, 4, 5, 6, 7)] == [0, 2, 2, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="overlap"):
        applied(b"0123456789", (Edit(2, 5, b""), Edit(4, 6, b"")))


def test_comments_and_pragmas_in_front_of_a_loop() -> None:
    """What is put in front of a loop must not come between it and its pragma."""
    body = "for (int i = 0; i < n; i++) { static int s; a[i] = s; }"
    for between in ("", "// a comment\n", "/* one\n of two lines */\n", "\n"):
        code = f"void f(int n, double *a) {{\n#pragma omp parallel for\n{between}{body}\n}}\n"
        assert not offered(code, "static-local")
    code = f'#define P _Pragma("GCC ivdep")\nvoid f(int n, double *a) {{\nP\n{body}\n}}\n'
    assert not offered(code, "static-local")
    assert offered(f"void f(int n, double *a) {{\n// a comment\n{body}\n}}\n", "static-local")
