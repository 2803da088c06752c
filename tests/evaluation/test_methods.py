"""Scores of ways to tune, and that finished programs are not done again."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from optdb.database import Database
from perfembed.cli.main import main
from perfembed.cli.session import Session
from perfembed.errors import UsageError
from perfembed.retrieval.donor_vectors import seed_donors
from perfembed.retrieval.donors import SEED
from perfembed.retrieval.space_training import usable_space
from profilers.machine import describe_machine
from scheduler.ir.text import parse_nest
from scheduler.replay import Replayer
from tests.evaluation import views
from tests.evaluation.method_scores import ORIGINAL, REFERENCE, NestRow, fastest_of_all, pairs, scores
from tests.evaluation.methods import Method, MethodsBench, run_methods
from tests.evaluation.transfer import MACHINES, METHODS, leaving_out, measuring
from tests.perfembed.transfer_support import GEMM, MACHINE

ROWS = (
    NestRow("gemm", "a", 1, 1.0, {ORIGINAL: 10.0, REFERENCE: 1.0, "m": 1.02}, {"m": 10}, {"m": 2.0}),
    NestRow("mvt", "a", 1, 2.0, {ORIGINAL: 4.0, REFERENCE: 1.0, "m": 1.0}, {"m": 4}, {"m": 4.0}, {"m": 1.0}),
    NestRow("mvt", "b", 9, 1.0, {ORIGINAL: 4.0, REFERENCE: 2.0, "m": 4.0}, {"m": 4}, {"m": 6.0}, {"m": 2.0}),
    NestRow("lost", "a", 1, 1.0, {ORIGINAL: 4.0, REFERENCE: None, "m": 4.0}),
)


def test_scores_are_of_whole_programs_that_have_a_reference() -> None:
    reference, mine = scores(ROWS, ["m"], REFERENCE)
    assert (reference.programs, reference.median, reference.worst) == (2, 1.0, 1.0)
    assert mine.worst == pytest.approx(6 / 4) and mine.median == pytest.approx((1.02 + 1.5) / 2)
    assert (mine.within, mine.beyond) == (1, 1)
    assert mine.speedup == pytest.approx(((10 / 1.02) * (12 / 6)) ** 0.5)
    assert mine.measured == pytest.approx(6) and mine.tuning_s == pytest.approx(4)
    assert (mine.overhead_s, mine.overhead_most_s) == (1.5, 3.0)
    assert "no program has a time" in views.methods((), ["m"], REFERENCE, "here")[0]
    assert "1.26" in "\n".join(views.methods(ROWS, ["m"], REFERENCE, "here"))


def test_the_fastest_of_all_methods() -> None:
    rows = (*ROWS, NestRow("lu", "a", 1, 1.0, {ORIGINAL: 4.0, REFERENCE: 2.0, "m": 1.0, "n": 3.0}))
    assert fastest_of_all(rows, ["m", "n"], REFERENCE) == {"gemm": 1.0, "mvt": 1.0, "lu": 0.5}
    text = "\n".join(views.methods(rows, ["m", "n"], REFERENCE, "here"))
    assert "the fastest of all: 0.79 of the time of long search in the mean; 5 % ahead of it on 1 of 3 programs" in text
    assert text.endswith(": lu 0.50")


def test_a_program_counts_once_for_each_seed_and_is_drawn_as_a_whole() -> None:
    rows = (*ROWS, *(replace(row, seed=1, seconds={**row.seconds, "m": 1.02}) for row in ROWS[:1]))
    mine = scores(rows, ["m"], REFERENCE)[1]
    assert mine.programs == 3 and mine.mean == pytest.approx((1.02**2 * 1.5) ** (1 / 3))
    assert mine.low == pytest.approx(1.02) and mine.high == pytest.approx(1.5)
    assert scores(rows, ["m"], REFERENCE)[0].low == 1.0
    first = "time over that of long search, here"
    assert "\n".join(views.methods(rows, ["m"], REFERENCE, "here")).startswith(
        f"{first}; a program counts once for each of 2"
    )
    assert views.methods(ROWS, ["m"], REFERENCE, "here")[0] == first


def test_methods_in_pairs() -> None:
    rows = [replace(row, seconds={**row.seconds, "n": 2.04}) for row in ROWS]
    (pair,) = pairs(rows, [["m", "n"], ["alone"]], REFERENCE)
    assert (pair.method, pair.against) == ("n", "m")
    gemm, mvt = 2.04 / 1.02, 3 * 2.04 / 6  # "lost" has no long search
    assert pair.mean == pytest.approx((gemm * mvt) ** 0.5)
    assert pair.low == pytest.approx(mvt) and pair.high == pytest.approx(gemm)
    assert pairs((), [["m", "n"]], REFERENCE) == ()
    text = "\n".join(views.methods(rows, ["m", "n"], REFERENCE, "here", [["m", "n"]]))
    assert text.splitlines()[-1].split() == ["n", "m", "1.43", "1.02", "to", "2.00"]


def test_each_number_of_candidates_is_a_method_that_refines_nothing() -> None:
    found = measuring((Method("near"), Method("beam", "beam")), (1, 3))
    assert [(m.name, m.top, m.refine) for m in found] == [
        ("near, 1 measured", 1, False),
        ("near, 3 measured", 3, False),
        ("beam", None, True),
    ]


@pytest.mark.gcc
def test_a_real_nest_by_two_searches(tmp_path: Path) -> None:
    source = tmp_path / "product.c"
    source.write_text(
        "double a[240][240], b[240][240], c[240][240];\n"
        "void f(void) { for (int i = 0; i < 240; i++) for (int j = 0; j < 240; j++) for (int k = 0; k < 240; k++)\n"
        "c[i][j] += a[i][k] * b[k][j]; }\n"
    )
    out = tmp_path / "out.jsonl"
    methods = (Method("beam", "beam"), Method("random", "random", factor=0))
    bench = MethodsBench((str(source),), out, 1, methods, budget_s=6.0, environment=tuple(os.environ.items()))
    (row,) = run_methods(bench, None, lambda text: None)
    assert (row.program, row.line) == ("product", 2)
    assert all(row.seconds[name] for name in (ORIGINAL, "beam", "random"))
    assert row.measured["beam"] > 1 and row.tuning["beam"] > 0.5
    assert (row.seconds["beam"] or 1.0) < (row.seconds[ORIGINAL] or 0.0)
    assert run_methods(bench, None, lambda text: None) == (row,) and len(out.read_text().splitlines()) == 1


@pytest.mark.gcc
def test_a_long_search_of_another_machine_is_timed_here(tmp_path: Path) -> None:
    source, database = tmp_path / "product.c", tmp_path / "long.duckdb"
    source.write_text(
        "double a[240][240], b[240][240], c[240][240];\n"
        "int main(void) { for (int i = 0; i < 240; i++) for (int j = 0; j < 240; j++) for (int k = 0; k < 240; k++)\n"
        "c[i][j] += a[i][k] * b[k][j]; return c[7][9] > 1; }\n"
    )
    arguments = ["populate", str(source), "--evaluate", "run", "--schedules", "6", "--budget", "20s", "--threads", "1"]
    assert main([*arguments, "--db", str(database)], Session()) == 0
    with Database.open(database) as opened:
        opened.execute("UPDATE _store.conditions SET machine = 'a', conditions_id = 'b'")
        opened.execute("UPDATE _store.measurements SET conditions_id = 'b'")
    methods = (Method("beam", "beam"),)
    bench = MethodsBench(
        (str(source),), None, 1, methods, database, budget_s=2.0, environment=tuple(os.environ.items())
    )
    (row,) = run_methods(bench, None, lambda text: None)
    assert row.searched_on == "a" and row.measured[REFERENCE] > 1 and row.schedules[REFERENCE]
    assert (row.seconds[REFERENCE] or 1.0) < (row.seconds[ORIGINAL] or 0.0)
    assert "long search on machine a; what" in "\n".join(views.methods((row,), ["beam"], REFERENCE, "here"))


@pytest.mark.gcc
def test_donors_of_this_and_of_other_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(SEED / "kernels-3.parquet", tmp_path)
    space = usable_space()
    donors = seed_donors(space, tmp_path)
    here = describe_machine().fingerprint
    known = sorted(donors.by_id)
    elsewhere = set(known[: len(known) // 3])  # fewer than those that are left
    by_id = {k: replace(d, machine="0" * 16 if k in elsewhere else here) for k, d in donors.by_id.items()}
    moved = replace(donors, by_id=by_id)
    monkeypatch.setattr("tests.evaluation.transfer.open_sources", lambda database: (space, [moved]))
    retrievals = leaving_out(MACHINES, None, 1)("gemm", MACHINE, 1)
    found = {}
    for name, retrieval in retrievals.items():
        side = retrieval.side(Replayer(parse_nest(GEMM)), {})
        found[name] = {n.donor.nest_id for n in retrieval.retrieve(side, measure=1).neighbours}
        assert len(found[name]) == 5 and all(moved.by_id[n].algorithm != "gemm" for n in found[name])
    own, fewer, foreign = found.values()
    assert foreign <= elsewhere and not (own | fewer) & elsewhere and own != fewer

    all_here = replace(donors, by_id={k: replace(d, machine=here) for k, d in donors.by_id.items()})
    monkeypatch.setattr("tests.evaluation.transfer.open_sources", lambda database: (space, [all_here]))
    with pytest.raises(UsageError, match="no donor was measured on another machine"):
        leaving_out(MACHINES[2:], None, 1)


def test_generated_programs_that_do_the_like_are_left_out_but_for_one_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SEED / "kernels-3.parquet", tmp_path)
    space = usable_space()
    donors = seed_donors(space, tmp_path)
    by_id = {
        k: replace(d, algorithm="contraction" if d.algorithm == "2mm" else d.algorithm) for k, d in donors.by_id.items()
    }
    monkeypatch.setattr(
        "tests.evaluation.transfer.open_sources", lambda database: (space, [replace(donors, by_id=by_id)])
    )
    methods = [replace(m, k=len(by_id)) for m in METHODS if m.name != "beam by model"]  # all that are not left out
    retrievals = leaving_out(methods, None, 1)("gemm", MACHINE, 1)
    keeping = set()
    for name, retrieval in retrievals.items():
        side = retrieval.side(Replayer(parse_nest(GEMM)), {})
        algorithms = {n.donor.algorithm for n in retrieval.neighbours(side)}
        assert "jacobi-2d" in algorithms and not algorithms & {"gemm", "3mm"}
        if "contraction" in algorithms:
            keeping.add(name)
    assert keeping == {"generated relatives too"}


@pytest.mark.gcc
def test_each_way_to_choose_donors_leaves_the_algorithm_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(SEED / "kernels-3.parquet", tmp_path)  # all of them would take a minute to embed
    space = usable_space()
    donors = seed_donors(space, tmp_path)
    monkeypatch.setattr("tests.evaluation.transfer.open_sources", lambda database: (space, [donors]))
    methods = [m for m in METHODS if m.name in ("with profiles", "random donors", "hand-made features")]
    retrievals = leaving_out(methods, None, 1)("gemm", MACHINE, 1)
    assert retrievals.keys() == {m.name for m in methods}
    for retrieval in retrievals.values():
        side = retrieval.side(Replayer(parse_nest(GEMM)), {})
        found = retrieval.retrieve(side, measure=2)
        assert len(found.neighbours) == 5 and all(n.donor.algorithm != "gemm" for n in found.neighbours)
        assert len(found.recommendation.chosen) <= 2
