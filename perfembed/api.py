"""The Python interface: tune a C file, or embed its loop nests.

>>> import perfembed
>>> result = perfembed.tune(source, output=tuned, search="beam", budget_s=5)
>>> result.exit_code, result.program_output_equal is not False, sorted({nest.status for nest in result.nests})
(0, True, ['kept', 'tuned'])
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfembed.tuning.options import TuneOptions, asked_options
from perfembed.tuning.result import Event, TuneResult
from perfembed.world import World

if TYPE_CHECKING:
    from perfembed.mapping.embed_file import NestEmbedding


def _ignore(event: Event) -> None:
    pass


def tune(
    path: str | os.PathLike[str],
    *,
    arguments: Sequence[str] = (),
    progress: Callable[[Event], None] = _ignore,
    **options: Any,
) -> TuneResult:
    """Tunes the loop nests of a C file. `options` are the fields of `perfembed.tuning.options.TuneOptions`, by name.

    `output` is where the faster file goes (without it: nowhere), `database` the one whose schedules are used and where
    what is measured is kept. `arguments` are the program's, which runs in a copy of the current folder; `world`: what
    it is given instead of these. Other than on the command line the program may end with any exit code
    (`expect_exit`), `environment` is little more than a PATH, and nothing is kept of what is measured of the machine's
    memory without a `cache`. Paths may be `os.PathLike`, `parameters` a mapping. Raises
    `perfembed.errors.PerfembedError`.
    """
    from perfembed.tuning.file_tuner import tune as run
    from profilers.run import DEFAULT_ENVIRONMENT

    asked: dict[str, Any] = {"expect_exit": None, "environment": DEFAULT_ENVIRONMENT, **options}
    asked.setdefault("world", World(Path.cwd(), tuple(arguments)))
    return run(os.fspath(path), _options(asked | {"dry_run": asked.get("output") is None}), progress)


tune.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        *list(inspect.signature(tune).parameters.values())[:-1],
        *(
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
            for one in fields(TuneOptions)
            if one.name not in ("dry_run", "in_place", "output_folder", "began_s", "inputs", "workdir")
        ),
    ],
    return_annotation=TuneResult,
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


def embed(
    path: str | os.PathLike[str], *, weights: str | os.PathLike[str] | None = None, **options: Any
) -> tuple[NestEmbedding, ...]:
    """The embedding of every loop nest of a C file, in the order of the file, without running anything.

    Of `options`, those of `tune`, only `functions`, `cc`, `cflags`, `parameters` and `threads` matter. Sizes that the
    file does not fix are `parameters`, or 1000. `weights`: a folder with other weights than those that ship. Raises
    `perfembed.errors.PerfembedError`.
    """
    from perfembed.mapping.embed_file import embed_file

    return embed_file(os.fspath(path), _options(options), Path(weights) if weights is not None else None)
