"""The Python interface: tune a C file, or embed its loop nests.

>>> import perfembed
>>> result = perfembed.tune(source, output=tuned, search="beam", budget_s=5)
>>> result.exit_code, result.program_output_equal is not False, sorted({nest.status for nest in result.nests})
(0, True, ['kept', 'tuned'])
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from perfembed.errors import UsageError
from perfembed.tuning.options import TuneOptions, asked_options
from perfembed.tuning.result import Event, TuneResult
from perfembed.world import World

if TYPE_CHECKING:
    from perfembed.mapping.embed_file import NestEmbedding


_Path = str | os.PathLike[str]


def _ignore(event: Event) -> None:
    pass


def tune(
    path: _Path | Sequence[_Path],
    *,
    arguments: Sequence[str] = (),
    build: str | None = None,
    program: str | None = None,
    compile_commands: _Path | None = None,
    progress: Callable[[Event], None] = _ignore,
    **options: Any,
) -> TuneResult:
    """Tunes the loop nests of a C file, or of several files of one program.

    `options` are the fields of `perfembed.tuning.options.TuneOptions`, by name. `output` is where the faster file goes
    (of several: `output_folder`; or `in_place=True`; without one of them: nowhere), `database` the one whose schedules
    are used and where what is measured is kept. `arguments` are the program's, which runs in a copy of the current
    folder; `world`: what it is given instead of these. Several files are compiled as a `compile_commands` says, or by
    the shell command `build`, which makes `program`; no files: all that it compiles. Other than on the command line the
    program may end with any exit code (`expect_exit`), `environment` is little more than a PATH, and nothing is kept of
    what is measured of the machine's memory without a `cache`. Paths may be `os.PathLike`, `parameters` a mapping.
    Raises `perfembed.errors.PerfembedError`.
    """
    from perfembed.tuning.file_tuner import tune as tune_file
    from perfembed.tuning.opening import HowBuilt, found_commands, tune_project
    from profilers.run import DEFAULT_ENVIRONMENT

    paths = [os.fspath(path)] if isinstance(path, str | os.PathLike) else [os.fspath(one) for one in path]
    asked: dict[str, Any] = {"expect_exit": None, **options}
    asked["environment"] = asked.get("environment") or DEFAULT_ENVIRONMENT
    asked["world"] = asked.get("world") or World(Path.cwd(), tuple(arguments))
    asked["dry_run"] = not any(asked.get(place) for place in ("output", "output_folder", "in_place"))
    whole = _options(asked)
    if whole.in_place and (whole.output or whole.output_folder):
        raise UsageError("in_place excludes output and output_folder")
    if len(paths) == 1 and build is None and compile_commands is None:
        return tune_file(paths[0], whole, progress)
    if not paths and build is None:
        raise UsageError("no file is named", "name the C files, or say how the program is built: build='make prog'")
    if whole.output is not None:
        raise UsageError("output is for one file", "several go to an output_folder, or in_place=True")
    commands = found_commands(paths) if compile_commands is None and build is None else compile_commands
    how = HowBuilt(build, program, None if commands is None else os.fspath(commands))
    return tune_project(paths, how, whole, progress)


def _as_table(result: TuneResult) -> str:
    """How a notebook shows a result."""
    from perfembed.report.tuning_page import summary

    return summary(result)


TuneResult._repr_html_ = _as_table  # type: ignore[attr-defined]  # here, not there: tuning knows no pages


def _parameters() -> Iterator[inspect.Parameter]:
    """The fields of the options as they are asked for here."""
    hints = get_type_hints(TuneOptions)
    found_out = ("world", "environment", "expect_exit", "threads", "evaluate")  # where nothing is said
    for one in fields(TuneOptions):
        if one.name not in ("dry_run", "began_s", "inputs", "workdir"):
            kind, default = hints[one.name], one.default
            if one.name in found_out:
                kind, default = kind | None, None
            yield inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


tune.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [*list(inspect.signature(tune).parameters.values())[:-1], *_parameters()], return_annotation=TuneResult
)


def _options(asked: dict[str, Any]) -> TuneOptions:
    """Mappings become pairs, paths texts, sequences tuples; threads are the machine's cores. Raises UsageError."""
    from profilers.machine import describe_machine

    for name, value in asked.items():
        if isinstance(value, Mapping):
            asked[name] = tuple(sorted(value.items())) if name == "environment" else tuple(value.items())
        elif isinstance(value, os.PathLike):
            asked[name] = os.fspath(value)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            asked[name] = tuple(value)
    if asked.get("threads") is None:
        asked["threads"] = describe_machine().physical_cores
    return asked_options(**asked)


def embed(path: _Path, *, weights: _Path | None = None, **options: Any) -> tuple[NestEmbedding, ...]:
    """The embedding of every loop nest of a C file, in the order of the file, without running anything.

    Of `options`, those of `tune`, only `functions`, `cc`, `cflags`, `parameters` and `threads` matter. Sizes that the
    file does not fix are `parameters`, or 1000. `weights`: a folder with other weights than those that ship. Raises
    `perfembed.errors.PerfembedError`.
    """
    from perfembed.mapping.embed_file import embed_file

    return embed_file(os.fspath(path), _options(options), Path(weights) if weights is not None else None)
