"""Writes what was tuned: into the user's files, or into files of their own."""

from __future__ import annotations

import os

from perfembed.files import write_output
from perfembed.tuning.project import Project
from perfembed.tuning.result import FileResult, TuneOptions
from perfembed.tuning.winners import Winners


def write(project: Project, winners: Winners, options: TuneOptions) -> tuple[FileResult, ...]:
    """Every file as it is now, the original's bytes where nothing was better; nothing on a dry run.

    In place, a file in which nothing changes is not written. Raises UsageError.
    """
    texts = winners.rewritten(winners.found)
    found = []
    for source in project.sources:
        tuned = sum(nest.name == winner.name for nest in source.nests for winner, _ in winners.found)
        target = None if options.dry_run or (options.in_place and not tuned) else _target(source.path, options)
        if target is not None:
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
            write_output(target, texts[source.path])
        found.append(FileResult(source.path, target, tuned))
    return tuple(found)


def _target(path: str, options: TuneOptions) -> str | None:
    if options.in_place:
        return path
    if options.output_folder is not None:
        return os.path.join(options.output_folder, path)
    return options.output
