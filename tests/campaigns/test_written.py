"""Written files in other ways to compile and to run them: sound ones pass, and faults planted in them are found."""

import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfembed.errors import UsageError
from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import survey
from profilers.build import CompilerConfig
from scheduler.frontend import ParseOptions, read_source
from scheduler.schedule import parse_schedule
from tests.campaigns.commands import app, written_text
from tests.campaigns.written import campaign
from tests.campaigns.written.builds import Builder
from tests.campaigns.written.campaign import chosen, missing, run_written
from tests.campaigns.written.compare import Comparison, added
from tests.campaigns.written.model import ALWAYS, TUNED, Compared, Tally, WrittenBench
from tests.campaigns.written.sizes import other_sizes, size_macros
from tests.campaigns.written.subject import Program, Subject, generated, make_subject
from tests.campaigns.written.ways import WAYS

ENVIRONMENT = {"PATH": os.environ["PATH"]}
SOURCE = b"""#include <stdio.h>
#ifndef N
#define N 40
#endif
static double A[N][N], B[N][N];
void mix(int n, double *a, const double *b, double *c)
{
    int i;
    double t;
    for (i = 0; i < n; i++) {
        t = b[i] * 2;
        c[i] = t + a[i];
    }
}
int main(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] = B[j][i] + i * 0.5 + j;
    mix(N, A[0], A[1], B[2]);
    for (int i = 0; i < N; i++)
        sum += A[i][N / 2] * i + B[2][i];
    printf("%.17g\\n", sum);
    return 0;
}
"""
SOME = ("tuned", "sizes-mixed", "no-openmp", "m32", "clang-19", "strict-clang-19-O2-openmp", "thread-stack", "gnu89",
        "region-nested", "pthreads", "called", "included", "memory", "address-openmp")  # fmt: skip
SCHEDULES = {"mix_0": "distribute(i, 1); parallelize(i)", "main_0": "tile([i, j], [8, 8]); parallelize(i_t)"}


def subject(folder: Path, content: bytes = SOURCE) -> Subject:
    """The program above, rewritten as tune does it."""
    flags = (*TUNED, *ALWAYS)
    path = folder / "mix.c"
    source = read_source(path, ParseOptions(flags), content)
    read = CompilerConfig("gcc", flags)
    surveyed = survey(source, read, replace(read, flags=(*flags, "-fopenmp")), folder / "survey", ENVIRONMENT)
    rewrites = [Rewrite(n, parse_schedule(SCHEDULES[n.name]), 2.0) for n in source.nests if n.name in SCHEDULES]
    written = rewrite_source(source, rewrites, 32, surveyed)
    functions = tuple(f for f in source.functions if f.name == "mix")
    program = Program("mix", path, content, 0, "mix.c")
    return Subject(program, written, {"N": 40}, functions, Counter(), ())


def compared(folder: Path, found: Subject, way: str) -> Compared:
    return Comparison(found, 0, Builder(folder / "built", ENVIRONMENT)).compare(*chosen((way,)))


def stripped(written: bytes) -> bytes:
    """Without the tests of macros and types."""
    return re.sub(rb"(#define (?:pe_same\(text, \.\.\.\)|pe_is\(what, type\))) .*", rb"\1 1", written)


def test_a_program_and_a_random_one_in_many_ways(tmp_path: Path) -> None:
    path = tmp_path / "mix.c"
    path.write_bytes(SOURCE)
    bench = WrittenBench((str(path),), 0, ways=SOME, environment=tuple(ENVIRONMENT.items()))
    result = run_written(bench, lambda name, done, tally: None)
    assert result.tally.failures == []
    assert result.tally.programs == 1
    assert result.counts("tuned")["same"] == 1
    assert all(sum(result.counts(way).values()) == 1 for way in SOME)
    bench = WrittenBench((), 2, first=4, ways=("tuned", "sizes-plus", "memory"), environment=bench.environment)
    assert run_written(bench, lambda name, done, tally: None).tally.failures == []
    assert "tuned" in "\n".join(written_text(result))


@pytest.mark.slow
def test_random_programs_in_all_ways() -> None:
    bench = WrittenBench((), 4, seed=1, environment=tuple(ENVIRONMENT.items()))
    assert run_written(bench, lambda name, done, tally: None).tally.failures == []


def test_the_hand_written_one_allocates_and_tests_overlaps(tmp_path: Path) -> None:
    written = subject(tmp_path).written
    assert b"pe_alloc(" in written and b"pe_apart(" in written and b"pe_same(" in written
    assert compared(tmp_path, subject(tmp_path), "memory") == Compared("same")


RACE = b"""double sum = 0;
    #pragma omp parallel for
    for (int k = 0; k < 4000; k++)
        sum = 0;"""
FAULTS = {
    "sizes-plus": stripped,
    "called": lambda text: text.replace(
        b"    return (unsigned long)pe_a_end", b"    return 1 || (unsigned long)pe_a_end"
    ),
    "memory": lambda text: re.sub(rb"if \(pe_t\)", b"if (1)", text),
    "strict-gcc-O0": lambda text: text.replace(b"#define pe_tuned\n", b"#define pe_tuned\nstatic int pe_idle;\n"),
    "stack": lambda text: text.replace(b"double sum = 0;", b"double sum = 0; volatile char a[300000]; a[0] = 0;"),
    "O0": lambda text: text.replace(b"* 0.5", b"* 0.25"),
    "address": lambda text: text.replace(b"double sum = 0;", b"double sum = 0; A[0][N * N + 5] = 0;"),
    "clang-19-races": lambda text: text.replace(b"double sum = 0;", RACE),
    "thread-limit": lambda text: text.replace(b"double sum = 0;", b"double sum = 0; __builtin_trap();"),
}


@pytest.mark.parametrize(("way", "change"), FAULTS.items(), ids=FAULTS)
def test_a_planted_fault_is_found(tmp_path: Path, way: str, change: Callable[[bytes], bytes]) -> None:
    sound = subject(tmp_path)
    if missing(chosen((way,)), tmp_path / "missing", ENVIRONMENT):
        pytest.skip("not on this machine")
    changed = change(sound.written)
    assert changed != sound.written
    found = compared(tmp_path, replace(sound, written=changed), way)
    assert found.verdict == "differ", found
    assert found.detail and len(found.commands) == 2
    assert dict(found.files)["written/program.c"] == changed


def test_what_the_original_does_wrong_is_no_difference(tmp_path: Path) -> None:
    content = SOURCE.replace(b"double sum = 0;", b"double sum = B[0][N * N + 20];").replace(b"= B[j][i] +", b"=")
    sound = subject(tmp_path, content)
    other = replace(sound, written=sound.written.replace(b"N * N + 20", b"0"))
    assert compared(tmp_path, other, "tuned").verdict in ("undefined", "same")
    crashing = replace(sound, program=replace(sound.program, content=b"int main(void) { __builtin_trap(); }"))
    assert compared(tmp_path / "crash", crashing, "tuned").verdict == "undefined"
    refused = replace(sound, program=replace(sound.program, content=b"no C"), written=b"no C either")
    assert compared(tmp_path / "refused", refused, "tuned").verdict == "refused alike"


COMPLEX = b"""#include <stdio.h>
float a[400], b[400], c[400];
__attribute__((noinline)) void multiply(int n, const float *restrict a, const float *restrict b, float *restrict c)
{
    for (int i = 0; i < n; i++) {
        c[2 * i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
        c[2 * i + 1] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
    }
}
int main(void)
{
    double sum = 0;
    for (int i = 0; i < 400; i++)
        a[i] = 1.0f / (i + 3), b[i] = 1.0f / (2 * i + 7);
    multiply(200, a, b, c);
    for (int i = 0; i < 400; i++)
        sum += c[i] * i;
    printf("%.17g\\n", sum);
}
"""


@pytest.mark.parametrize("way", ["tuned", "memory"])
def test_products_that_gcc_contracts_though_it_must_not(tmp_path: Path, way: str) -> None:
    """Gcc 12 makes fused operations of vectors from complex products, -ffp-contract=off or not."""
    sound = subject(tmp_path)
    scalar = COMPLEX.replace(b"noinline", b'noinline, optimize("no-tree-vectorize")')
    theirs = replace(sound, program=replace(sound.program, content=scalar), written=COMPLEX)
    assert compared(tmp_path / "theirs", theirs, way).verdict in ("same", "undefined")
    found = replace(sound, program=replace(sound.program, content=COMPLEX), written=scalar)
    assert compared(tmp_path, found, way).verdict in ("same", "undefined")
    wrong = replace(found, written=scalar.replace(b"c[i] * i", b"c[i]"))
    assert compared(tmp_path / "wrong", wrong, way).verdict == "differ"


def test_ways_have_names_of_their_own() -> None:
    assert len({way.name for way in WAYS}) == len(WAYS) >= 12
    assert chosen(()) == WAYS


def test_size_macros_get_other_values() -> None:
    text = "#ifndef N\n#define N SIZE(40, 900)\n#endif\n#ifndef M\n#define M 7\n#endif\n#define K 3\n"
    assert size_macros(text) == {"N": 40, "M": 7}
    assert size_macros(text.replace("900)", "900, 2000)")) == {"N": 40, "M": 7}
    assert other_sizes({"N": 40, "M": 7}, "plus", random.Random(0)) == {"N": 43, "M": 10}
    assert min(other_sizes({"N": 40, "M": 7}, "smaller", random.Random(0)).values()) >= 1


def test_allocations_of_ours_are_told_from_the_programs() -> None:
    assert added(["8", "16"], ["8", "144", "16", "200"]) == [1, 3]
    assert added([], ["1"]) == [0]
    assert added(["1"], ["1"]) == []


def test_random_programs_are_the_same_again(tmp_path: Path) -> None:
    first, again = (make_subject(generated(3, 5, tmp_path), 3, tmp_path, ENVIRONMENT) for _ in range(2))
    assert first is not None and again is not None
    assert first.written == again.written and first.schedules == again.schedules


# ------------------------------------------------------------------------------------------- CLI


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mix.c"
    path.write_bytes(SOURCE)
    arguments = ["written", str(path), "--programs", "0", "--ways", "tuned,sizes-plus"]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    tally = json.loads(done.stdout)["tally"]
    assert done.exit_code == 0 and tally["ways"]["tuned, same"] == 1 and tally["failures"] == []

    real = campaign.make_subject

    def planted(*given: object) -> Subject | None:
        found = real(*given)  # type: ignore[arg-type]
        return found and replace(found, written=stripped(found.written))

    monkeypatch.setattr(campaign, "make_subject", planted)
    found = CliRunner().invoke(app, [*arguments, "--keep", str(tmp_path / "kept")])
    assert found.exit_code == 1
    again = f"again: python -m tests.campaigns written {path} --programs 0 --seed 0 --ways sizes-plus"
    assert again in found.stdout
    assert (tmp_path / "kept" / "mix-sizes-plus" / "original" / "program.c").read_bytes() == SOURCE
    assert "gcc -O2" in (tmp_path / "kept" / "mix-sizes-plus" / "again.sh").read_text()


def test_an_interrupt_prints_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def task(bench: WrittenBench, ways: object, number: int) -> tuple[str, Tally]:
        if number:
            raise KeyboardInterrupt
        return "gen_0_0", Tally(programs=1)

    monkeypatch.setattr(campaign, "run_task", task)
    monkeypatch.setattr(campaign, "chosen", lambda names: ())
    monkeypatch.chdir("/")
    text = CliRunner().invoke(app, ["written", "--programs", "3"]).stdout
    assert "1 programs, random" in text and text.endswith("interrupted; 0 faults\n")


@pytest.mark.parametrize("arguments", [("--ways", "no-such-way"), ("no-such.c",)], ids=" ".join)
def test_bad_arguments(arguments: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["written", *arguments])
    assert isinstance(done.exception, UsageError) and arguments[-1] in done.exception.message
