"""Respelled programs must be programs, and what is wrong with our reading or writing of them must be found."""

import dataclasses
import json
import random
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfembed.errors import UsageError
from scheduler.frontend import ParseFailed
from tests.campaigns.commands import app
from tests.campaigns.spelling import check
from tests.campaigns.spelling.campaign import run_campaign
from tests.campaigns.spelling.check import Checker
from tests.campaigns.spelling.model import Campaign, CampaignResult, Tally
from tests.campaigns.spelling.respell import LEXICAL, MACROS, STRUCTURE, TEXT, drawn_rewrites, respell
from tests.campaigns.spelling.tokens import Code, joined, tokens

PROGRAM = """#include <stdio.h>
#define N 12
static double A[N][N], B[N];
static void f(int n, double *restrict p, const double *q)
{
    for (int i = 0; i < n; i++) {
        p[i] += 2.0 * q[i];
    }
    if (n > 3)
        p[1] = (p[2] + 1.5) / 4.0;
}
int main(void)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            A[i][j] = i * j % 7;
    }
    double s = 0;
    f(N, B, &A[3][0]);
    for (int i = 0; i < N; i++) s += B[i] + A[i][2];
    printf("%g\\n", s);
    return 0;
}
"""
SMALL = Campaign(files=6, seed=5, every=3)


def run(campaign: Campaign) -> CampaignResult:
    return run_campaign(campaign, lambda done, tally: None)


def output(folder: Path, content: bytes, flags: tuple[str, ...]) -> bytes:
    (folder / "p.c").write_bytes(content)
    subprocess.run(["gcc", "-w", *flags, "p.c", "-o", "p"], cwd=folder, check=True)
    return subprocess.run([folder / "p"], check=True, capture_output=True).stdout


@pytest.mark.parametrize("name", [*STRUCTURE, *MACROS, *LEXICAL, *TEXT])
def test_each_rewrite_finds_a_place_and_keeps_the_program(name: str, tmp_path: Path) -> None:
    found = [respell(PROGRAM, 0, k, (f"{name}#0",)) for k in range(6)]
    respelled = next(r for r in found if r.applied)
    for file, content in respelled.files.items():
        (tmp_path / file).write_bytes(content)
    assert respelled.content != joined(tokens(PROGRAM)).encode()
    assert output(tmp_path, respelled.content, respelled.flags) == b"105.375\n"


def test_statements_are_found() -> None:
    code = Code(tokens(PROGRAM))
    kinds = [s.kind for s in code.statements()]
    assert kinds.count("for") == 4 and kinds.count("if") == 1 and kinds.count("declaration") == 1
    assert [code.tokens[b].text for _, b, _ in code.functions()] == ["{", "{"]
    assert code.tokens[code.closing(next(code.functions())[1])].text == "}"


def test_the_same_again_whatever_the_parts() -> None:
    assert drawn_rewrites(1, 2) == drawn_rewrites(1, 2)
    whole = run(SMALL)
    assert whole.faults == () and whole.counts["files"] == 6 and whole.counts["nests"] > 0
    parts = [run(dataclasses.replace(SMALL, files=3, first=k)) for k in (0, 3)]
    assert sum(p.counts["nests"] for p in parts) == whole.counts["nests"]


def test_faults_are_found_made_small_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Checker, path: Path, content: bytes, flags: tuple[str, ...]) -> object:
        if b"/*" in content:
            raise ParseFailed(("a.c:1:1: no comments",))
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(Checker, "_read", refuse)
    checker = Checker(dataclasses.replace(SMALL, keep=tmp_path / "kept"), tmp_path)
    monkeypatch.setattr(check, "drawn_rewrites", lambda seed, index: ("wrap#0", "comments#1", "digraphs#2"))
    checker.check(1)
    (fault,) = checker.tally.faults
    assert (fault.kind, fault.rewrites) == ("false refusal", ("comments#1",)) or fault.kind == "internal error"
    assert (tmp_path / "kept" / "5-1" / "why.txt").exists()


def test_a_rewrite_that_changes_the_program_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def wrong(code: Code, rng: random.Random) -> bool:
        place = next(k for k, t in enumerate(code.tokens) if t.text == "printf" and code.tokens[k + 1].text == "(")
        code.tokens[place].text = '(void)puts("no"); printf'
        return True

    monkeypatch.setitem(STRUCTURE, "wrap", wrong)
    monkeypatch.setattr(check, "drawn_rewrites", lambda seed, index: ("wrap#0",))
    checker = Checker(SMALL, tmp_path)
    checker.check(3)
    assert [f.kind for f in checker.tally.faults] == ["rewrite at fault"]


def test_the_command(tmp_path: Path) -> None:
    base = tmp_path / "base.c"
    base.write_text(PROGRAM)
    done = CliRunner().invoke(app, ["spelling", str(base), "--files", "2", "--every", "2", "--json"])
    result = json.loads(done.stdout)
    assert done.exit_code == 0 and result["faults"] == [] and result["counts"]["files"] == 2
    assert isinstance(CliRunner().invoke(app, ["spelling", "missing.c"]).exception, UsageError)


def test_tallies_add_up() -> None:
    total, other = Tally(), Tally()
    other.counts["nests"] += 2
    total.add(other)
    assert total.counts["nests"] == 2
