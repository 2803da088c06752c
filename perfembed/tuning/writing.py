"""Writes what was tuned: into the user's files, or into files of their own."""

from __future__ import annotations

import os

from perfembed.building.text import under_name
from perfembed.files import write_output
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import Project
from perfembed.tuning.result import FileResult
from perfembed.tuning.winners import Winners
from scheduler.frontend import SourceFile

_PARALLEL = b"#pragma omp parallel"


def write(project: Project, winners: Winners, options: TuneOptions) -> tuple[FileResult, ...]:
    """A file as it is now, the original's bytes where nothing was better; nothing on a dry run.

    In place, and of several, files in which nothing changes are not written. Raises UsageError.
    """
    always = options.output is not None and not options.in_place
    texts = winners.rewritten(winners.found)
    found = []
    for source in project.sources:
        tuned = sum(nest.name == winner.name for nest in source.nests for winner, _ in winners.found)
        target = _target(source.path, options) if not options.dry_run and (tuned or always) else None
        if target is not None:
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
            text = texts[source.path]
            changed = tuned and not options.in_place
            write_output(target, under_name(text, source.path) if changed else text)
        found.append(FileResult(source.path, target, tuned, _needs(project, source, winners, texts[source.path])))
    return tuple(found)


def _needs(project: Project, source: SourceFile, winners: Winners, text: bytes) -> tuple[str, ...]:
    """The flags that the build has to be given for a text, which does with fewer threads without them."""
    if project.flags_given or not (text != source.content and _PARALLEL in text):
        return ()
    return tuple(flag for flag in winners.flags if flag not in project.unit_of(source).compiler.flags)


def _target(path: str, options: TuneOptions) -> str | None:
    if options.in_place:
        return path
    if options.output_folder is not None:
        return os.path.join(options.output_folder, path)
    return options.output
