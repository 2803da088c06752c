"""The Python interface: tune a C file, or embed its loop nests.

>>> import perfembed
>>> result = perfembed.tune(source, output=tuned, search="beam", budget_s=5)
>>> result.exit_code, result.program_output_equal is not False, sorted({nest.status for nest in result.nests})
(0, True, ['kept', 'tuned'])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfembed.tuning.result import Event, TuneOptions, TuneResult, evaluation_of, guard_named, profiling_named
from perfembed.world import World

if TYPE_CHECKING:
    from perfembed.mapping.embed_file import NestEmbedding

_FLAGS = ("-O3", "-march=native")


def _ignore(event: Event) -> None:
    pass


def tune(
    path: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    db: str | os.PathLike[str] | None = None,
    search: str = "transfer",
    evaluate: str | None = None,
    guard: str = "none",
    profile: str = "never",
    schedules: Sequence[str] = (),
    k: int = 5,
    measure: int = 10,
    budget_s: float = 60.0,
    functions: Sequence[str] = (),
    cc: str = "gcc",
    cflags: Sequence[str] = _FLAGS,
    arguments: Sequence[str] = (),
    world: World | None = None,
    expect_exit: int | None = None,
    parameters: Mapping[str, int] | None = None,
    threads: int | None = None,
    reassociate: bool = False,
    trust_openmp: bool = False,
    seed: int = 0,
    weights: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    pictures: bool = False,
    progress: Callable[[Event], None] = _ignore,
) -> TuneResult:
    """Tunes the loop nests of a C file; `output` is where the faster file goes (None: nowhere).

    `db`: a database whose schedules are used and where what is measured is kept. `search`: "transfer" of the
    schedules of similar nests, `k` donors a nest, `measure` candidates; or over all schedules: "beam", "mcts",
    "random", "exhaustive", "sample", "isl", "genetic". `evaluate`: "run" measures all that a search meets, "model"
    predicts it, "model+run" predicts it and measures the best `measure`, as beam, mcts and genetic do by default.
    `profile`: whether a nest is profiled before donors are looked for, "auto", "always" or "never".
    `guard`: of genetic, "classifier" or "model" says whether something is worth measuring. `schedules`:
    only these, as "NEST: step; step". `trust_openmp`: believe
    the pragmas where data decide whether iterations meet. `budget_s` seconds for the file. `arguments` are the
    program's, which runs in a copy of the current folder; `world`: what it is given instead of these. `expect_exit`:
    the exit code it has to end with (None: any). `parameters`:
    the sizes where it has no main. `weights`: a folder with other cost models than those that ship. `cache`: a
    folder for what is measured of the machine's memory, once; without one nothing is. `environment`: of compilers
    and programs, by default little more than a PATH. `pictures`: collect what `perfembed.report.tuning_page` draws,
    too. Raises `perfembed.errors.PerfembedError`.
    """
    from perfembed.tuning.file_tuner import tune as run
    from profilers.machine import describe_machine
    from profilers.run import DEFAULT_ENVIRONMENT

    options = TuneOptions(
        output=os.fspath(output) if output is not None else None,
        dry_run=output is None,
        functions=tuple(functions),
        cc=cc,
        cflags=tuple(cflags),
        world=World(Path.cwd(), tuple(arguments)) if world is None else world,
        expect_exit=expect_exit,
        parameters=tuple((parameters or {}).items()),
        threads=describe_machine().physical_cores if threads is None else threads,
        search=search,
        evaluate=evaluation_of(search, evaluate, guard_named(guard, search, evaluate)),
        guard=guard_named(guard, search, evaluate),
        profiling=profiling_named(profile, search),
        schedules=tuple(schedules),
        neighbours=k,
        measure=measure,
        budget_s=budget_s,
        reassociate=reassociate,
        trust_openmp=trust_openmp,
        seed=seed,
        environment=tuple(sorted((DEFAULT_ENVIRONMENT if environment is None else environment).items())),
        database=os.fspath(db) if db is not None else None,
        weights=os.fspath(weights) if weights is not None else None,
        cache=os.fspath(cache) if cache is not None else None,
        pictures=pictures,
    )
    return run(os.fspath(path), options, progress)


def embed(
    path: str | os.PathLike[str],
    *,
    parameters: Mapping[str, int] | None = None,
    functions: Sequence[str] = (),
    cc: str = "gcc",
    cflags: Sequence[str] = _FLAGS,
    threads: int | None = None,
    weights: str | os.PathLike[str] | None = None,
) -> tuple[NestEmbedding, ...]:
    """The embedding of every loop nest of a C file, in the order of the file, without running anything.

    Sizes that the file does not fix are `parameters`, or 1000. `weights`: a folder with other weights than those
    that ship. Raises `perfembed.errors.PerfembedError`.
    """
    from perfembed.mapping.embed_file import embed_file
    from profilers.machine import describe_machine

    options = TuneOptions(
        functions=tuple(functions),
        cc=cc,
        cflags=tuple(cflags),
        parameters=tuple((parameters or {}).items()),
        threads=describe_machine().physical_cores if threads is None else threads,
    )
    return embed_file(os.fspath(path), options, Path(weights) if weights is not None else None)
