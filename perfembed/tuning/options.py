"""What tuning can be asked for: the one declaration that the command line and Python take their options from.

A field that users set carries how the command line writes it (`Option`). Light: the command line starts with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, get_args, get_type_hints
from typing import Literal as OneOf

from perfembed.errors import UsageError
from perfembed.retrieval.options import SAME, Same
from perfembed.world import World

Search = OneOf["transfer", "beam", "mcts", "random", "exhaustive", "sample", "isl", "genetic"]
Evaluate = OneOf["run", "model", "model+run"]
Guarding = OneOf["none", "classifier", "model"]
Profiling = OneOf["auto", "always", "never"]
SEARCHES: tuple[Search, ...] = get_args(Search)

PROGRAM, RUN, SEARCH, DATABASE, OUTPUT = "The program", "Running it", "Search", "Database and models", "Output"
"""Panels of the help."""


@dataclass(frozen=True, slots=True)
class Option:
    """How the command line writes a field: `names`, what stands for the value (`metavar`), and what it means.

    `kind`: the type on the command line where a text is read, with its `default` (else the field's own; sequences are
    repeated options). `hidden`: only `--help-all` shows it.
    """

    names: tuple[str, ...]
    metavar: str | None
    help: str
    panel: str
    hidden: bool = False
    kind: Any = None
    default: Any = ...
    least: int | None = None
    most: int | None = None


def _names(kind: Any) -> str:
    return ", ".join(get_args(kind))


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """`output` None with neither `in_place` nor `dry_run` writes nothing either: the command line names a default.

    `parameters`: sizes where there is no main. `environment`: of compilers and programs. `began_s`: on time.monotonic's
    clock, when the budget begins; None: with the tuning. `inputs`: files that are compiled and linked with the program,
    other.c or lib.a. `pictures`: also collect what a page draws (`NestPicture`), which takes a moment more.
    """

    output: Annotated[
        str | None,
        Option(
            ("-o", "--output"),
            "OUT",
            "Where the tuned file goes, or the folder of several.  [default: FILE.opt.c]",
            OUTPUT,
        ),
    ] = None
    output_folder: Annotated[
        str | None,
        Option(
            ("--output-dir",), "DIR", "Where tuned files go, under the names they have in the current folder.", OUTPUT
        ),
    ] = None
    in_place: Annotated[bool, Option(("--in-place",), None, "Rewrite the files themselves.", OUTPUT)] = False
    dry_run: Annotated[bool, Option(("--dry-run",), None, "Do everything but write the files.", OUTPUT)] = False
    functions: Annotated[
        tuple[str, ...], Option(("--function",), "NAME", "Only nests of this function (repeatable).", PROGRAM)
    ] = ()
    cc: Annotated[str, Option(("--cc",), "PROGRAM", "The C compiler.", PROGRAM)] = "gcc"
    cflags: Annotated[
        tuple[str, ...],
        Option(
            ("--cflags",),
            "FLAGS",
            "Compiler flags, in one argument.",
            PROGRAM,
            kind=str,
            default="-O3 -march=native",
        ),
    ] = ("-O3", "-march=native")
    inputs: tuple[str, ...] = ()
    world: World = field(default_factory=World)
    expect_exit: Annotated[
        int | None,
        Option(("--expect-exit",), "N", "The exit code that the program ends with.", RUN, True, least=0, most=255),
    ] = 0  # None: any
    parameters: Annotated[
        tuple[tuple[str, int], ...],
        Option(
            ("--param",),
            "NAME=N",
            "The value of a size where there is no main (repeatable).",
            RUN,
            kind=list[str] | None,
            default=None,
        ),
    ] = ()
    threads: Annotated[
        int, Option(("--threads",), "N", "Threads.  [default: cores]", RUN, kind=int | None, default=None)
    ] = 1
    search: Annotated[
        Search, Option(("--search",), "NAME", f"Where schedules come from: {_names(Search)}.", SEARCH)
    ] = "transfer"
    evaluate: Annotated[
        Evaluate,
        Option(
            ("--evaluate",),
            "HOW",
            "run: measure every candidate; model: predict them; model+run: predict them, measure the best.  "
            "[default: model+run for beam, mcts and genetic, else run]",
            SEARCH,
            True,
            kind=Evaluate | None,
            default=None,
        ),
    ] = "run"
    guard: Annotated[
        Guarding,
        Option(
            ("--guard",),
            "NAME",
            f"With --search genetic: what says whether a candidate is worth running: {_names(Guarding)}.",
            SEARCH,
            True,
        ),
    ] = "none"
    profiling: Annotated[
        Profiling,
        Option(
            ("--profile",),
            "WHEN",
            "Profile nests before donors are looked for: auto (where that may tell more), always, never.",
            SEARCH,
            True,
        ),
    ] = "never"
    neighbours: Annotated[
        int, Option(("-k",), "N", "Donors a nest, of a transfer.", SEARCH, True, least=1, most=100)
    ] = 5
    measure: Annotated[
        int,
        Option(("--measure",), "N", "Candidates measured a nest, where not all are.", SEARCH, True, least=1, most=1000),
    ] = 10
    without: Annotated[
        tuple[str, ...],
        Option(
            ("--without",),
            "ALGORITHM",
            "Take no donor of it, of its family or of generated programs that do the like (repeatable).",
            SEARCH,
            True,
        ),
    ] = ()
    same: Annotated[
        tuple[Same, ...],
        Option(
            ("--same",),
            "THING",
            "Only donors of the same machine, of the same element type, or without assumptions (of sizes, say) where "
            f"the nest makes none: {', '.join(SAME)} (repeatable).",
            SEARCH,
            True,
        ),
    ] = ()
    schedules: Annotated[
        tuple[str, ...],
        Option(
            ("--schedule",),
            "TEXT",
            "Only try this schedule, of the nest NEST in 'NEST: step; step' (repeatable).",
            SEARCH,
            True,
        ),
    ] = ()
    budget_s: Annotated[
        float, Option(("--budget",), "TIME", "Time to search: 60s, 2m, 1h.", SEARCH, kind=str, default="60s")
    ] = 60.0
    began_s: float | None = None
    reassociate: Annotated[
        bool, Option(("--reassociate",), None, "Allow reordering sums: results may differ by rounding.", SEARCH)
    ] = False
    trust_openmp: Annotated[
        bool,
        Option(
            ("--trust-openmp",),
            None,
            "Believe OpenMP pragmas where data decide whether iterations meet.",
            SEARCH,
            True,
        ),
    ] = False
    seed: Annotated[int, Option(("--seed",), "N", "Seed of everything random.", SEARCH, True)] = 0
    environment: tuple[tuple[str, str], ...] = ()
    workdir: str | None = None
    weights: Annotated[
        str | None,
        Option(
            ("--weights",),
            "DIR",
            "Cost models of your own, by `train cost`.  [default: PERFEMBED_WEIGHTS, else those that ship]",
            DATABASE,
            True,
        ),
    ] = None
    database: Annotated[
        str | None,
        Option(
            ("--db",),
            "PATH",
            "The database.  [default: PERFEMBED_DB, else ~/.local/share/perfembed/perfembed.duckdb]",
            DATABASE,
        ),
    ] = None
    cache: str | None = None  # folder where what was measured of the machine is kept; None: nothing is
    pictures: bool = False


def declared() -> Mapping[str, tuple[Any, Any, Option]]:
    """The fields that users set: (type, default, how the command line writes it), by name."""
    hints = get_type_hints(TuneOptions, include_extras=True)
    return {
        one.name: (*get_args(hints[one.name])[:1], one.default, option)
        for one in fields(TuneOptions)
        for option in getattr(hints[one.name], "__metadata__", ())
        if isinstance(option, Option)
    }


def asked_options(*, evaluate: str | None = None, **asked: Any) -> TuneOptions:
    """Options by their fields' names, as a user gives them: checked, with what follows from them filled in.

    Without `evaluate` what learns from its candidates is guided by a model, but for a genetic search with a guard.
    Raises UsageError.
    """
    if unknown := sorted(set(asked) - {one.name for one in fields(TuneOptions)}):
        raise UsageError(f"there is no option {unknown[0]!r}")
    for name, kinds in (("search", Search), ("guard", Guarding), ("profiling", Profiling)):
        if name in asked and asked[name] not in get_args(kinds):
            raise UsageError(f"--{name} {asked[name]!r}: expected {_names(kinds)}")
    if strange := [thing for thing in asked.get("same", ()) if thing not in SAME]:
        raise UsageError(f"--same {strange[0]!r}: expected {', '.join(SAME)}")
    if "same" in asked:
        asked["same"] = tuple(thing for thing in SAME if thing in asked["same"])
    search, guard = asked.get("search", "transfer"), asked.get("guard", "none")
    if guard != "none" and (search != "genetic" or evaluate not in (None, "run")):
        raise UsageError(f"--guard {guard} is of --search genetic with --evaluate run")
    if asked.get("profiling") == "always" and search != "transfer":
        raise UsageError("--profile always goes with --search transfer: donors are looked for with the profile")
    if evaluate is None:
        guided = search in ("beam", "mcts") or (search == "genetic" and guard == "none")
        return TuneOptions(evaluate="model+run" if guided else "run", **asked)
    if search == "transfer" and evaluate != "run":
        raise UsageError(f"--evaluate {evaluate} is of a search, not of a transfer", "say which: --search beam")
    for known in get_args(Evaluate):
        if evaluate == known:
            return TuneOptions(evaluate=known, **asked)
    raise UsageError(f"--evaluate {evaluate!r}: expected {_names(Evaluate)}")
