"""`perfembed bench transfer` and `perfembed bench search`: ways to tune a nest held against each other."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfembed.cli.bench.common import SHIPPED, Files, input_files
from perfembed.cli.options import Json, Measure, Quiet, Seed, Threads, Traceback, budget_seconds, thread_count
from perfembed.cli.say import say
from perfembed.cli.session import Session
from perfembed.errors import EXIT_DONE, DatabaseProblem, EnvironmentMissing, UsageError

if TYPE_CHECKING:
    from perfembed.bench.methods import Method, MethodsBench
    from scheduler.cost.surrogate import SurrogateClassifier

Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="METHOD", help="This method (repeatable).", show_default=False)
]
Budget = Annotated[str, typer.Option("--budget", metavar="TIME", help="Time a nest and method.")]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", min=1, max=100, help="With so many seeds, from --seed on.")]
_COUNTS = re.compile(r"[1-9]\d{0,2}(,[1-9]\d{0,2})*", re.ASCII)
_LONG = Path("long-searches.duckdb")
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Finished programs are kept here, a JSON line each.")]


def transfer(
    context: typer.Context,
    files: Files = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="DB",
            help="Database of long searches of the same files, by `populate`.  [default: long-searches.duckdb; without "
            "it all are compared with the first method]",
            show_default=False,
        ),
    ] = None,
    out: Out = Path("bench-transfer.jsonl"),
    only: Only = None,
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            metavar="N[,N…]",
            help="Candidates measured a nest; each of several numbers is a method of its own, without refinement.",
        ),
    ] = "10",
    budget: Budget = "60s",
    threads: Threads = None,
    seed: Seed = 0,
    seeds: Seeds = 1,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Tune programs by transfer from donors of other algorithms, and by other means, and compare with a long search.

    By default on the twelve applications of the paper's table 2. Only where they are asked for (--only): donors
    measured on this machine, as many of them as of other machines, and donors of other machines. May be stopped and
    started again at any time.
    """
    if reference is None and _LONG.exists():
        reference = _LONG
    if reference is not None and not reference.exists():
        raise UsageError(f"--reference {reference}: there is no such database", "perfembed populate FILES fills one")
    from perfembed.bench.method_scores import REFERENCE
    from perfembed.bench.methods import MethodsBench
    from perfembed.bench.transfer import APPLICATIONS, MACHINES, METHODS, measuring

    session = context.ensure_object(Session)
    counts = candidate_counts(measure)
    methods = _chosen((*METHODS, *MACHINES), only) if only else METHODS
    if len(counts) > 1:
        methods = measuring(methods, counts)
    bench = MethodsBench(
        paths=_by_default(files, APPLICATIONS),
        out=out,
        threads=thread_count(threads),
        methods=methods,
        reference=reference,
        measure=counts[0],
        budget_s=budget_seconds(budget),
        seeds=tuple(range(seed, seed + seeds)),
        environment=tuple(sorted(session.environment.items())),
    )
    return _run("bench-transfer", bench, methods[0].name if reference is None else REFERENCE, json, quiet)


def search(
    context: typer.Context,
    files: Files = None,
    out: Out = Path("bench-search.jsonl"),
    only: Only = None,
    measure: Measure = 10,
    schedules: Annotated[
        int | None,
        typer.Option(
            "--schedules",
            metavar="N",
            min=1,
            help="Candidates of a nest at most where all are run; then all have the same time.",
            show_default=False,
        ),
    ] = None,
    budget: Budget = "30s",
    threads: Threads = None,
    seed: Seed = 0,
    seeds: Seeds = 1,
    json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Compare searches by the cost model, by execution or both with beam by execution, which gets 20 times the budget.

    By default on the ten programs of table 2 of the Tiramisu paper. May be stopped and started again at any time.
    """
    from perfembed.bench.methods import MethodsBench
    from perfembed.bench.search import EXECUTED, METHODS, PROGRAMS

    session = context.ensure_object(Session)
    bench = MethodsBench(
        paths=_by_default(files, PROGRAMS),
        out=out,
        threads=thread_count(threads),
        methods=_chosen(METHODS, only),
        measure=measure,
        schedules=schedules,
        classifier=_classifier(_chosen(METHODS, only)),
        budget_s=budget_seconds(budget),
        seeds=tuple(range(seed, seed + seeds)),
        environment=tuple(sorted(session.environment.items())),
    )
    return _run("bench-search", bench, EXECUTED, json, quiet)


def _by_default(files: list[str] | None, programs: Collection[str]) -> tuple[str, ...]:
    """What is asked for, else those of the shipped files. Raises UsageError."""
    paths = input_files(files)
    if not files:
        paths = tuple(path for path in paths if Path(path).stem in programs)
    if not paths:
        raise UsageError(f"no C files given, and none of {', '.join(programs)} at {SHIPPED}")
    return paths


def candidate_counts(text: str) -> tuple[int, ...]:
    """Raises UsageError."""
    if not _COUNTS.fullmatch(text):
        raise UsageError(f"--measure {text!r}: expected a number from 1 to 999, or several with commas")
    return tuple(dict.fromkeys(map(int, text.split(","))))


def _classifier(methods: tuple[Method, ...]) -> SurrogateClassifier | None:
    """Where a method is guarded by it. Raises EnvironmentMissing."""
    if all(method.guard != "classifier" for method in methods):
        return None
    from perfembed.learning.surrogate import load_classifier

    return load_classifier()


def _chosen(methods: tuple[Method, ...], only: list[str] | None) -> tuple[Method, ...]:
    """Raises UsageError."""
    known = {method.name: method for method in methods}
    if unknown := sorted(set(only or ()) - set(known)):
        raise UsageError(f"--only {unknown[0]!r}: expected {', '.join(known)}")
    return tuple(known[name] for name in only) if only else methods


def _run(kind: str, bench: MethodsBench, against: str, json: bool, quiet: bool) -> int:
    from optdb.errors import OptdbError
    from perfembed.bench.methods import run_methods
    from perfembed.bench.render_methods import methods_document, render_methods
    from perfembed.bench.transfer import leaving_out
    from perfembed.learning.cost_models import load_cost_model
    from profilers.machine import describe_machine

    try:
        cost = load_cost_model()
    except EnvironmentMissing:
        cost = None
    try:
        donors = leaving_out(bench.methods, cost, bench.seeds[0]) if kind == "bench-transfer" else None
        rows = run_methods(bench, cost, lambda text: say(text, quiet), donors)
    except OptdbError as problem:
        raise DatabaseProblem(problem.message, problem.advice) from None
    names = [method.name for method in bench.methods]
    measured: dict[int | None, list[str]] = {}
    for method in bench.methods:
        measured.setdefault(method.top, []).append(method.name)
    groups = list(measured.values()) if kind == "bench-transfer" else []
    shown = f"{describe_machine().cpu_model}, {bench.threads} threads"
    if json:
        print(methods_document(kind, rows, names, against, groups))
    else:
        print(render_methods(rows, names, against, shown, groups))
    return EXIT_DONE
