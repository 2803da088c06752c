"""A comparison as a whole: tuned, checked, measured, kept, printed."""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.comparing import run as module
from perfembed.comparing.against import OWN
from perfembed.comparing.compilers import parse_peer
from perfembed.comparing.measure import MeasureSettings
from perfembed.comparing.model import CompareOptions, CompareResult
from perfembed.comparing.noted import compare_outputs
from perfembed.comparing.rows import ProgramRow, Row, Store
from perfembed.comparing.run import compare
from perfembed.comparing.summary import best_peer, summary
from perfembed.errors import EnvironmentMissing, NoTunableNest
from perfembed.report.comparison import comparison_document, render_comparison
from perfembed.report.style import Style
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.result import NestReport, TuneResult

PROGRAM = """#include <stdio.h>
#ifdef SMALL
#define N 50
#else
#define N 300
#endif
static double A[N][N], B[N][N];
static void init(void) { for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) A[i][j] = i + j; }
static void work(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            B[j][i] = A[j][i] * 0.5;
}
int main(void)
{
    double sum = 0;
    init();
    work();
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) sum += B[i][j];
    printf("%016llx %.17g\\n", 1ULL + (unsigned long long)sum, sum);
    return 0;
}
"""
FASTER = "for (int j = 0; j < N; j++)\n        for (int i = 0; i < N; i++)"
PLAIN = "for (int i = 0; i < N; i++)\n        for (int j = 0; j < N; j++)"
QUICK = MeasureSettings(least=2, most=3, enough_s=0.0, budget_s=1.0, quiet_s=0.0, max_other_load=100.0, noisy_cov=9.0)

Tune = Callable[[str, TuneOptions, object], TuneResult]


def nest_report(status: str, reason: str = "") -> NestReport:
    return NestReport("work_0", "work", "a.c", 12, 5, 0.5, status, reason, "interchange(i, j)", 2.0)  # type: ignore[arg-type]


def tuned_as(edit: Callable[[str], str], status: str = "tuned", interrupted: bool = False) -> Tune:
    """A `tune` that edits the text."""

    def tune(path: str, options: TuneOptions, progress: object) -> TuneResult:
        assert options.output is not None
        Path(options.output).write_text(edit(Path(path).read_text()))
        reports = (nest_report(status), dataclasses.replace(nest_report("tuned"), nest="init_0", function="init"))
        return TuneResult(path, options.output, reports, 1.0, 0.5, True, 3.0, options.threads, "gcc", (), "m",
                          interrupted, 0)  # fmt: skip

    return tune


@pytest.fixture
def bench(tmp_path: Path) -> CompareOptions:
    path = tmp_path / "work.c"
    path.write_text(PROGRAM)
    return CompareOptions(
        paths=(str(path),),
        flags=("-O3", "-DSMALL"),
        threads=2,
        budget_s=1.0,
        only=("gcc", "ours"),
        out=tmp_path / "rows.jsonl",
        settings=QUICK,
        environment=(("PATH", os.environ["PATH"]),),
    )


def result_of(bench: CompareOptions, monkeypatch: pytest.MonkeyPatch, tune: Tune) -> CompareResult:
    monkeypatch.setattr(module, "tune", tune)
    return compare(bench, lambda text: None)


@pytest.mark.gcc
def test_a_tuned_kernel(bench: CompareOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    def tune(path: str, options: TuneOptions, progress: object) -> TuneResult:
        assert options.functions == ("work",)
        assert "-DSMALL" in options.cflags
        return tuned_as(lambda text: text.replace(PLAIN, FASTER, 1))(path, options, progress)

    result = result_of(bench, monkeypatch, tune)
    (row,) = result.rows
    assert (row.status, row.reason, row.timed) == ("tuned", "", ["work"])
    assert row.verified == "output equal, bit for bit, in 3 runs"
    assert [(n.nest, n.line, n.schedule) for n in row.nests] == [("work_0", 11, "interchange(i, j)")]
    for name in ("gcc", "ours"):
        program = row.programs[name]
        assert program.output == "equal"
        assert len(program.kernel_s) == len(program.whole_s) == 2
        assert all(0 < k < w for k, w in zip(program.kernel_s, program.whole_s, strict=True))
    assert row.conditions["compilers"]["gcc"]["flags"] == ["-O3", "-DSMALL"]
    assert Store(bench.out).load() == {row.key: row}


@pytest.mark.gcc
def test_what_is_finished_is_not_measured_again(bench: CompareOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    first = result_of(bench, monkeypatch, tuned_as(lambda text: text))

    def never(path: str, options: TuneOptions, progress: object) -> TuneResult:
        raise AssertionError

    assert result_of(bench, monkeypatch, never).rows == first.rows
    again = result_of(dataclasses.replace(bench, resume=False), monkeypatch, tuned_as(lambda text: text, "kept"))
    assert again.rows[0].status == "kept"
    other = dataclasses.replace(bench, threads=1)
    assert result_of(other, monkeypatch, tuned_as(lambda text: text)).rows[0].key != first.rows[0].key
    Path(bench.paths[0]).write_text(PROGRAM.replace("0.5", "0.25"))
    assert result_of(bench, monkeypatch, tuned_as(lambda text: text)).rows[0].key != first.rows[0].key


@pytest.mark.gcc
def test_a_wrong_result_is_found(bench: CompareOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = result_of(bench, monkeypatch, tuned_as(lambda text: text.replace("* 0.5", "* 0.75"))).rows
    assert row.status == "wrong"
    assert "in place of" in row.verified
    assert row.programs["ours"].output == "differs"
    assert row.seconds("ours") is None


@pytest.mark.gcc
def test_a_tuned_file_that_does_not_compile_or_run(bench: CompareOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = result_of(bench, monkeypatch, tuned_as(lambda text: text + "garbage\n")).rows
    assert row.status == "wrong"
    assert "the tuned program" in row.verified
    assert row.programs["ours"].failure
    crash = dataclasses.replace(bench, resume=False)
    (row,) = result_of(crash, monkeypatch, tuned_as(lambda t: t.replace("init();", "__builtin_trap();"))).rows
    assert row.status == "wrong"
    assert "crashed" in row.programs["ours"].failure


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (NoTunableNest("no loop"), "kept", "no loop"),
        (EnvironmentMissing("no OpenMP"), "failed", "no OpenMP"),
        (ZeroDivisionError("oops"), "failed", "internal error: ZeroDivisionError: oops"),
    ],
)
def test_tuning_that_ends_otherwise(
    bench: CompareOptions, monkeypatch: pytest.MonkeyPatch, error: Exception, status: str, reason: str
) -> None:
    def tune(path: str, options: TuneOptions, progress: object) -> TuneResult:
        raise error

    (row,) = result_of(bench, monkeypatch, tune).rows
    assert (row.status, row.reason) == (status, reason)
    assert row.seconds("ours") is not None  # the original


def with_peers(bench: CompareOptions, *peers: str) -> CompareOptions:
    environment = dict(bench.environment)
    return dataclasses.replace(bench, peers=tuple(parse_peer(text, (), environment) for text in peers))


@pytest.mark.gcc
def test_peers_build_the_original(bench: CompareOptions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrapper = tmp_path / "my cc"
    wrapper.write_text('#!/bin/sh\ns=$1 o=$2\nshift 2\nexec gcc "$@" -w "$s" -o "$o" -lm\n')
    wrapper.chmod(0o755)
    asked = with_peers(
        bench,
        f"mine='{wrapper}' {{source}} {{output}} {{flags}}",
        "copy=cp {source} {output_c}",
        "wrong=sed {source} -e 's/\\* 0.5/* 0.75/' -n -e 'w {output_c}'",
        "silent=true {source} {output}",
        "fails=cp {source} /no/such/folder/{output_c}",
        "text=cp {source} {output}",
    )
    result = result_of(asked, monkeypatch, tuned_as(lambda text: text, "kept"))
    (row,) = result.rows
    assert row.programs.keys() == {"gcc", "mine", "copy", "wrong", "silent", "fails", "text", "ours"}
    assert row.programs["mine"].output == row.programs["copy"].output == "equal"
    assert row.seconds("mine") and row.seconds("copy")
    assert row.programs["wrong"].output == "differs" and row.seconds("wrong") is None
    assert row.programs["silent"].failure == "it wrote no program"
    assert "/no/such/folder" in row.programs["fails"].failure
    assert row.programs["text"].failure == "what it wrote is no program"
    best = best_peer(row)
    assert best is not None and best[0] in ("gcc", "mine", "copy")
    text = render_comparison(result, Style())
    assert "work: wrong printed another result, beyond rounding; its time does not count" in text
    assert "work: silent: it wrote no program" in text
    header = text.splitlines()[2].split()
    assert header[1] == "gcc" and header[header.index("best") - 1] == "ours"
    other = with_peers(bench, "copy=cp -f {source} {output_c}")
    assert result_of(other, monkeypatch, tuned_as(lambda text: text, "kept")).rows[0].key != row.key


@pytest.mark.gcc
def test_flags_and_arguments_of_any_program(
    bench: CompareOptions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = PROGRAM.replace("int main(void)", "int main(int argc, char **argv)").replace(
        "    init();", "    if (argc != 2 || argv[1][0] != 'x' || FACTOR != 0.5) return 3;\n    init();"
    )
    Path(bench.paths[0]).write_text('#include "factor.h"\n' + text.replace("0.5;", "FACTOR;"))
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "factor.h").write_text("#define FACTOR 0.5\n")
    monkeypatch.chdir(tmp_path)
    asked = dataclasses.replace(bench, flags=("-O1", "-Imore", "-DSMALL"), arguments=("x",))
    (row,) = result_of(with_peers(asked, "copy=cp {source} {output_c}"), monkeypatch, tuned_as(lambda t: t)).rows
    assert [row.programs[name].output for name in ("gcc", "copy", "ours")] == ["equal"] * 3, row
    assert row.work is not None and not row.work.reason and row.work.flops["double"] == 2500


@pytest.mark.gcc
def test_an_interrupt_keeps_what_is_finished(
    bench: CompareOptions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    second = tmp_path / "second.c"
    second.write_text(PROGRAM.replace("0.5", "0.125"))
    both = dataclasses.replace(bench, paths=(*bench.paths, str(second)))

    def tune(path: str, options: TuneOptions, progress: object) -> TuneResult:
        stop = "0.125" in Path(path).read_text()
        return tuned_as(lambda text: text, "kept", interrupted=stop)(path, options, progress)

    result = result_of(both, monkeypatch, tune)
    assert result.interrupted
    assert [row.kernel for row in result.rows] == ["work"]
    assert len(Store(bench.out).load()) == 1
    assert "interrupted" in render_comparison(result, Style())


@pytest.mark.gcc
def test_a_file_that_cannot_be_timed_is_said(bench: CompareOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, reason in (("int main(void) { return 0; }\n", "no kernel found"), ("int main(void) { retur 0; }\n", "")):
        Path(bench.paths[0]).write_text(text)
        (row,) = result_of(bench, monkeypatch, tuned_as(lambda text: text)).rows
        assert row.status == "failed"
        assert reason in row.reason


# -------------------------------------------------------------------------------------- outputs


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        (b"0123456789abcdef 1.5\n", b"0123456789abcdef 1.5\n", "equal"),
        (b"0123456789abcdef 1.5\n", b"fedcba9876543210 1.5000001\n", "close"),
        (b"0123456789abcdef 1.5\n", b"fedcba9876543210 1.6\n", "differs"),
        (b"0123456789abcdef 1.5\n", b"fedcba9876543210 1.5 2\n", "differs"),
        (b"0123456789abcdef 1.5\n", b"fedcba9876543210 nan\n", "differs"),
        (b"0123456789abcdef word\n", b"fedcba9876543210 other\n", "differs"),
        (b"0123456789abcdef 1e-300\n", b"fedcba9876543210 -1e-300\n", "differs"),
    ],
)
def test_outputs_are_compared(expected: bytes, actual: bytes, verdict: str) -> None:
    assert compare_outputs(expected, actual) == verdict


# --------------------------------------------------------------------------------------- report


def made(kernel: str, status: str = "tuned", noisy: bool = False, **times: float | str) -> Row:
    programs = {}
    for name, value in times.items():
        program = ProgramRow([float(value)], [1.0], [True], "equal") if not isinstance(value, str) else ProgramRow()
        if value == "differs":
            program = ProgramRow([0.001], [1.0], [True], "differs")
        elif isinstance(value, str):
            program.failure = value
        programs[name.replace("_", "-")] = program
    conditions = {"threads": 2, "budget_s": 60.0, "search": "beam", "compilers": {}}
    return Row("k" + kernel, kernel, f"{kernel}.c", "2026-11-21T10:00:00+00:00", conditions, [kernel], status,  # type: ignore[arg-type]
               "a reason" if status != "tuned" else "", "", [], programs, [0.0], noisy)  # fmt: skip


ROWS = (
    made("gemm", gcc=1.0, clang=0.9, polly=0.5, polly_stripmine=0.25, ours=0.05, openblas=0.04),
    made("lu", gcc=1.0, clang=1.0, polly=2.0, polly_stripmine="no room", ours=0.5),
    made("jacobi", "kept", gcc=1.0, clang=1.0, polly="differs", polly_stripmine=0.4, ours=1.1, noisy=True),
)


def test_summary() -> None:
    found = summary(ROWS)
    over = found["geomean_over_gcc"]
    assert over["ours"] == pytest.approx((20 * 2 / 1.1) ** (1 / 3))
    assert found["minimum"] == {"kernel": "jacobi", "speedup": pytest.approx(1 / 1.1)}
    assert found["slower"] == ["jacobi"]
    assert (found["tuned"], found["wrong"], found["noisy"]) == (2, [], ["jacobi"])


def test_rendering() -> None:
    result = CompareResult((), ROWS, 3, "a machine", False)
    text = render_comparison(result, Style())
    lines = text.splitlines()
    assert lines[0].startswith("3 programs of 3, 2 threads, 60 s of beam search each; 2026-11-21; a machine")
    gemm_line = next(line for line in lines if line.startswith("gemm "))
    assert gemm_line.split()[-7:] == ["5.00x", "80", "%", "OpenBLAS", "0", "%", "tuned"]
    assert "polly-stripmine 250 ms" in gemm_line
    assert "jacobi" in text and "polly-stripmine 400 ms" in next(x for x in lines if x.startswith("jacobi "))
    assert any(x.startswith("ours over the best peer of each kernel (2.15x over gcc): 1.54x; below 0.97: 1 (jacobi)")
               for x in lines)  # fmt: skip
    assert "no bounds but OpenBLAS" in text
    assert "20.0x" in gemm_line
    assert any("below 0.97: 1 (jacobi)" in line for line in lines)
    assert "lu: polly-stripmine: no room" in text
    assert "jacobi: polly printed another result" in text
    assert "jacobi: kept: a reason" in text
    assert "2 tuned, 1 not; none wrong" in text
    markdown = render_comparison(result, Style(), markdown=True).splitlines()
    assert markdown[2].startswith("| kernel | gcc | clang | polly |")
    assert all(line.count("|") == 15 for line in markdown[2:7])
    document = json.loads(comparison_document(result))
    assert document["kind"] == "compare"
    assert document["rows"][0]["programs"]["gcc"]["kernel_s"] == [1.0]
    assert document["rows"][0]["best_peer"] == {"name": "polly-stripmine", "seconds": 0.25}
    assert document["rows"][0]["over_best_peer"] == pytest.approx(5.0)
    assert document["rows"][0]["bound"] == {"seconds": 0.04, "limit": "OpenBLAS", "share": pytest.approx(0.8)}
    assert document["rows"][1]["bound"] is None
    assert document["summary"]["slower_than_best_peer"] == ["jacobi"]


def test_rendering_of_nothing() -> None:
    assert "no program was measured" in render_comparison(CompareResult((), (), 2, "m", True), Style())


# ------------------------------------------------------------------------------------------ CLI


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "icc"), "--only icc"),
        (("--against", "no/such/folder"), "no checkout of perfembed"),
        (("--peer", "theirs=cp {source} {output}"), "a column of that name"),
        (("--format", "xml"), "'xml' is not one of"),
        (("--threads", "0"), "--threads 0"),
        (("--budget", "soon"), "--budget 'soon'"),
        (("--out", "/nowhere/rows"), "--out /nowhere/rows"),
        (("/no/such.c",), "no such file"),
        (("--peer", "cp {source} {output}"), "expected NAME="),
        (("--peer", "a=cp {source}"), "expected {output}"),
        (("--peer", "a=cp {source} {output} {output_c}"), "and not both"),
        (("--peer", "a=cp {output}"), "{source}, the C file, is missing"),
        (("--peer", "a=cp {source} {output} {flag}"), "{flag} is none of"),
        (("--peer", "a=cp '{source} {output}"), "no closing quotation"),
        (("--peer", "a="), "there is no command"),
        (("--peer", "a=no-such-tool {source} {output}"), "there is no program 'no-such-tool'"),
        (("--peer", "clang=cp {source} {output}"), "a column of that name"),
        (("--peer", "a=cp {source} {output}", "--peer", "a=cp {source} {output}"), "a column of that name"),
        (("--cflags", "'"), "--cflags"),
    ],
)
def test_usage(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    assert main(["compare", "tests/kernels/gemm.c", *arguments], Session({"PATH": os.environ["PATH"]})) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.gcc
@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "work.c"
    source.write_text(PROGRAM)
    arguments = ["compare", str(source), "-DSMALL", "--budget", "3s", "--threads", "2", "--format",
                 "json", "--only", "gcc,ours", "--out", str(tmp_path / "rows")]  # fmt: skip
    assert main(arguments, Session({"PATH": os.environ["PATH"]})) == 0
    document = json.loads(capsys.readouterr().out)
    (row,) = document["rows"]
    assert row["status"] in ("tuned", "kept")
    assert row["programs"]["ours"]["output"] == "equal"
    assert document["summary"]["wrong"] == []


SIDES = (
    ProgramRow([1.0], [1.0], [True], tuning_s=20.0, candidates=4),
    ProgramRow([0.5], [0.5], [True], tuning_s=10.0, candidates=12),
)


def test_another_checkout_beside_ours() -> None:
    """Both speedups, both tuning times and how many candidates each nest had."""
    rows = []
    for number, (theirs, ours) in enumerate([SIDES, SIDES[::-1], SIDES]):
        programs = {"gcc": ProgramRow([2.0], [2.0], [True]), "theirs": theirs, "ours": ours}
        row = Row(f"{number}", f"k{number}", "k.c", "2026-11-24", {"threads": 2, "budget_s": 60.0,
                  "search": "transfer", "compilers": {}}, ["f"], "tuned", programs=programs)  # fmt: skip
        rows.append(row)
    found = summary(rows)
    assert found["geomean_over_gcc"]["theirs"] == pytest.approx((2 * 4 * 2) ** (1 / 3))
    assert found["ours_over_theirs"] == pytest.approx(2 ** (1 / 3))
    assert found["median_tuning_s"] == {"theirs": 20.0, "ours": 10.0}
    assert best_peer(rows[0]) == ("gcc", 2.0)  # they are no peer
    text = render_comparison(CompareResult((), tuple(rows), 3, "machine", False), Style())
    header, first = text.splitlines()[2:4]
    assert "theirs/gcc  their tuning  their least  ours/gcc" in header
    assert "tuning  least  noise" in header
    assert first.split()[7:] == [
        "gcc",
        "2",
        "s",
        "2.00x",
        "20",
        "s",
        "4",
        "4.00x",
        "4.00x",
        "-",
        "10",
        "s",
        "12",
        "0",
        "%",
        "tuned",
    ]
    assert "ours over theirs: 1.26x" in text and "tuning, median: theirs 20 s, ours 10 s" in text


@pytest.mark.gcc
def test_this_checkout_against_itself(bench: CompareOptions) -> None:
    asked = dataclasses.replace(bench, against=OWN, search="random", budget_s=1.0)
    (row,) = compare(asked, lambda text: None).rows
    assert row.programs.keys() == {"gcc", "theirs", "ours"}
    for name in ("theirs", "ours"):
        program = row.programs[name]
        assert program.output == "equal" and program.seconds and program.tuning_s and program.tuning_s > 0.5
        assert program.candidates is None or program.candidates > 0
    assert row.tuning_s == row.programs["ours"].tuning_s
    assert row.conditions["against"][0] == row.conditions["against"][1]
    assert Store(asked.out).load() == {row.key: row}
    folder = asked.out.parent / "perfembed" / "cli"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "main.py").write_text("raise SystemExit('not today')\n")
    broken = dataclasses.replace(asked, against=asked.out.parent, resume=False)
    (row,) = compare(broken, lambda text: None).rows
    assert "does not run: not today" in row.programs["theirs"].failure and row.seconds("ours")
