"""What our copies of a program break is not the program's fault: the nests behind it are left alone."""

from pathlib import Path
from typing import Any

import pytest

import perfembed.capture.profile as profile_module
from perfembed.building.compiling import one_file
from perfembed.capture import CapturedNest, CaptureFailed, ProgramProfile, World, capture_nests, profile_program
from perfembed.capture.instrument import without_culprits
from profilers.build import CompilerConfig
from profilers.deadline import within
from scheduler.frontend import ParseOptions, read_source
from tests.perfembed.capture_support import marked, profiled

GCC = CompilerConfig("gcc", ("-O1",))


@pytest.mark.parametrize("bad", [set(), {0}, {6}, {2, 3}, {0, 1, 2, 3, 4, 5, 6}])
def test_the_culprits_are_found(bad: set[int]) -> None:
    found = without_culprits(range(7), lambda part: not bad & set(part))
    assert found == tuple(k for k in range(7) if k not in bad)


def test_what_only_fails_together_is_found() -> None:
    assert without_culprits(range(4), lambda part: not {0, 3} <= set(part)) == (0, 1, 2)
    assert without_culprits([5], lambda part: True) == ()
    assert without_culprits(range(8), lambda part: 0 not in part, attempts=2) == ()


NEST = """nest {0} {{
  param n: int;
  array {0}: double[n];
  for i: int in [0, n) step 1 {{
    S0: {0}[i] += 1.0;
  }}
}}
"""


def program(end: str = "") -> str:
    """`y` is inside a macro that allows no block, `z` behind one that reads the name of a variable of ours."""
    return f"""#include <stdio.h>
#define PLUS(...) __VA_ARGS__
#define ONLY_LOOP(x) for (int once = 0; once < 1; once++) x
static double x[99], y[99], z[99];
int main(void)
{{
    int n = 99;
    /*<*/for (int i = 0; i < n; i++) x[i] += 1.0;/*>*/
    n += sizeof(char[PLUS(/*<*/)/*>*/ 1]) - 1;
    /*<*/for (int i = 0; i < n; i++) z[i] += 1.0;/*>*/
    printf("%g %g\\n", x[3], z[3]);
    {end}
    return 0;
}}
"""


@pytest.mark.gcc
def test_a_nest_our_calls_do_not_fit_at_is_left_alone(tmp_path: Path) -> None:
    source = marked(tmp_path / "p.c", program(), *(NEST.format(name) for name in "xyz"))
    profile = profiled(source, tmp_path / "work", compiler=GCC)
    assert isinstance(profile, ProgramProfile), profile
    assert [nest.calls for nest in profile.nests] == [1, 0, 1]
    assert "error" in profile.nest("y").problem and not profile.nest("x").problem
    captured = capture_nests((source,), source.nests, profile, tmp_path / "capture")
    assert [type(captured[name]) for name in "xyz"] == [CapturedNest, CaptureFailed, CapturedNest]


@pytest.mark.gcc
def test_what_changes_the_output_is_left_alone(tmp_path: Path) -> None:
    text = program().replace("n += sizeof(char[PLUS(/*<*/)/*>*/ 1]) - 1;", "")
    told = text.replace("z[i] += 1.0;/*>*/", "z[i] += 1.0;/*>*/\n#ifdef PERFEMBED_INSTRUMENT_H\nz[3] = 7;\n#endif\n")
    source = marked(tmp_path / "p.c", told, NEST.format("x"), NEST.format("z"))
    profile = profiled(source, tmp_path / "work", compiler=GCC)
    assert isinstance(profile, ProgramProfile), profile  # whatever is watched, it prints something else
    assert all("output changes" in nest.problem for nest in profile.nests) and profile.stdout == b"1 1\n"


@pytest.mark.gcc
def test_a_capture_that_fails_at_one_nest_keeps_the_others(tmp_path: Path) -> None:
    """The address of a register variable cannot be taken where its name is hidden from -Dregister=."""
    text = """#include <stdio.h>
static double x[99], y[99];
int main(void)
{
#undef register
    register double s = 0;
    for (int i = 0; i < 99; i++) x[i] = i;
    for (int i = 0; i < 99; i++) s += x[i];
    printf("%g\\n", s);
    for (int i = 0; i < 99; i++) y[i] = x[i] * 2;
    printf("%g\\n", y[3]);
    return 0;
}
"""
    path = tmp_path / "r.c"
    path.write_text(text)
    source = read_source(path, ParseOptions())
    profile = profiled(source, tmp_path / "work", compiler=GCC)
    assert isinstance(profile, ProgramProfile), profile
    captured = capture_nests((source,), source.nests, profile, tmp_path / "capture")
    kinds = [type(captured[nest.name]) for nest in source.nests]
    assert CapturedNest in kinds, captured
    bad = [c for c in captured.values() if isinstance(c, CaptureFailed)]
    assert len(bad) == 1 and "register" in bad[0].reason, bad


@pytest.mark.gcc
def test_a_statement_that_ends_in_a_macro_call_is_watched(tmp_path: Path) -> None:
    path = tmp_path / "m.c"
    path.write_text("""#define S(x) x
static double A[99], B[99], C[99];
int main(void)
{
    for (int i = 0; i < 99; i++) A[i] = (B[i] + C[i]) / S(9.0);
    return A[3] != 0;
}
""")
    profile = profiled(read_source(path, ParseOptions()), tmp_path / "work", compiler=GCC)
    assert isinstance(profile, ProgramProfile), profile
    assert [(nest.calls, nest.problem) for nest in profile.nests] == [(1, "")]


@pytest.mark.gcc
def test_where_the_time_is_over_nests_are_left_alone_and_it_is_said(tmp_path: Path) -> None:
    text = program().replace("n += sizeof(char[PLUS(/*<*/)/*>*/ 1]) - 1;", "")
    source = marked(tmp_path / "p.c", text, NEST.format("x"), NEST.format("z"))
    profile = profiled(source, tmp_path / "work", compiler=GCC)
    assert isinstance(profile, ProgramProfile), profile
    left = iter((10.0, 9.0, 1.0, *[-1.0] * 99))  # at the beginning, before the second one, and then
    with within(lambda: next(left)):
        captured = capture_nests((source,), source.nests, profile, tmp_path / "capture")
    assert {type(one) for one in captured.values()} == {CaptureFailed}
    assert all("the budget was spent" in one.reason for one in captured.values() if isinstance(one, CaptureFailed))


@pytest.mark.gcc
def test_the_first_run_of_a_program_takes_as_long_as_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only then it is known how long that is: no deadline ends it."""
    text = program().replace("n += sizeof(char[PLUS(/*<*/)/*>*/ 1]) - 1;", "")
    source = marked(tmp_path / "p.c", text, NEST.format("x"), NEST.format("z"))
    build = one_file(source.path, source.content, GCC, tmp_path)
    left = [20.0]
    built = profile_module.build_program

    def build_and_be_late(*arguments: Any) -> Any:
        made = built(*arguments)
        left[0] = 0.0
        return made

    def ran(wall_s: float) -> None:
        left[0] += wall_s + 20.0

    monkeypatch.setattr(profile_module, "build_program", build_and_be_late)
    with within(lambda: left[0]):
        profile = profile_program((source,), build, World(tmp_path), tmp_path / "work", ran=ran)
        assert isinstance(profile, ProgramProfile) and profile.built_s > 0
    assert left[0] == 20.0 + profile.wall_s
