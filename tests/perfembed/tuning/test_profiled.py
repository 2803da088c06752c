"""When a nest is profiled before donors are looked for, and what becomes of that."""

import os
from pathlib import Path
from typing import cast

import pytest

from perfembed.capture import CapturedNest, synthesize
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import EXIT_ENVIRONMENT, EXIT_USAGE
from perfembed.report.explanation import profile_words
from perfembed.retrieval.donors import Found, StoredDonor
from perfembed.tuning.options import Profiling
from perfembed.tuning.profiled import Profiler, depends_on_data, disagree
from perfembed.tuning.result import ProfileReport
from profilers.backends import choose
from profilers.build import CompilerConfig
from profilers.machine import describe_machine
from scheduler.codegen.emit.workload import plain
from scheduler.machine.target import Target
from tests.scheduler import nests

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def donor(name: str, *schedules: str) -> Found:
    machine, sizes = Target(2), {"n": 10}
    stored = StoredDonor(
        name, name, "", "a", "p", "m", machine, sizes, "double", schedules, tuple(2.0 for _ in schedules)
    )
    return Found(stored, 1.0)


def profiler(asked: Profiling) -> Profiler:
    return Profiler(asked, choose("simulated", ENVIRONMENT), describe_machine(), ENVIRONMENT)


def test_data_that_decide() -> None:
    assert depends_on_data(nests.nest(nests.SPMM))
    assert not depends_on_data(nests.nest(nests.LU))


def test_donors_that_want_different_things() -> None:
    tiled = donor("a", "tile([i, j], [32, 32]); parallelize(i_t)")
    likewise = donor("b", "tile([k, l], [8, 64]); parallelize(k_t)")
    other = donor("c", "skew(t, i, 1); interchange(t, i); vectorize(t)")
    assert not disagree([tiled, likewise]) and disagree([tiled, other])
    assert not disagree([tiled]) and not disagree([])


def test_reasons() -> None:
    plain_nest, same = nests.nest(nests.LU), [donor("a", "reverse(i)"), donor("b", "reverse(j)")]
    assert profiler("never").reason(nests.nest(nests.SPMM), ()) == ""
    assert profiler("always").reason(plain_nest, same) == "asked for"
    assert "depend on data" in profiler("auto").reason(nests.nest(nests.SPMM), same)
    assert profiler("auto").reason(plain_nest, same) == ""
    assert "different things" in profiler("auto").reason(plain_nest, [*same[:1], donor("c", "unroll(k, 4)")])


@pytest.mark.gcc
def test_a_profile_and_what_cannot_be_profiled(tmp_path: Path) -> None:
    nest = plain(nests.nest(nests.GEMM))
    captured = cast("CapturedNest", synthesize(nest, {"n": 40, "m": 40, "l": 40}, 1, tmp_path / "inputs"))
    compiler = CompilerConfig("gcc", ("-O2", "-fopenmp"))
    found = profiler("always").profile("asked for", nest, captured, 2, compiler, tmp_path / "build")
    assert found.profile is not None and found.profile.source == "simulated" and found.seconds > 0
    assert sum(dict(found.profile.counts)["loads"]) >= 40**3 / 8
    nothing = profiler("always").profile(
        "asked for", nest, captured, 2, CompilerConfig("gcc", ("-fno-such-flag",)), tmp_path / "bad"
    )
    assert nothing.profile is None and "no-such-flag" in nothing.problem


def test_words() -> None:
    changed = ProfileReport("asked for", "simulated", 0.5, "", (("id", "kernel_0"),))
    assert profile_words(changed) == "simulated, 500 ms (asked for); without it kernel_0 would be among the donors"
    assert "the same without" in profile_words(ProfileReport("asked for", "perf", 1.0, "", ()))
    assert profile_words(ProfileReport("asked for", "", 1.0, "it crashed", ())) == "none (asked for): it crashed"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["tune", "x.c", "--profile", "sometimes"], EXIT_USAGE),
        (["tune", "x.c", "--profile", "always", "--search", "beam"], EXIT_USAGE),
        (["populate", "--generate", "1", "--backend", "perf"], EXIT_USAGE),
        (["populate", "--generate", "1", "--profiles", "--backend", "nobody"], EXIT_USAGE),
    ],
)
def test_bad_options(arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.c").write_text("int main(void) { return 0; }\n")
    assert main(arguments, Session(ENVIRONMENT)) == code


@pytest.mark.gcc
def test_who_does_not_count_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if choose("auto", ENVIRONMENT).name != "simulated":
        pytest.skip("hardware counters count here")
    arguments = ["populate", "--generate", "1", "--profiles", "--backend", "likwid", "--db", "a.duckdb"]
    assert main(arguments, Session(ENVIRONMENT)) == EXIT_ENVIRONMENT
