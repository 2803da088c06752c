"""`perfembed cc`: compiles like the real compiler, with the best schedules that the database has for a file's nests.

Imports as little as it can: it starts once for each file of a build.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from perfembed.building.arguments import CommandLine, expanded
from perfembed.cli.folders import DATABASE_NAME, cache_folder, data_folder
from perfembed.errors import EXIT_INTERRUPTED

_CPLUSPLUS = "c++"


def run_compiler(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Compiles, or becomes the compiler where there is nothing to do for this one. The exit code."""
    database, words = _own_options(words)
    compiler = environment.get("PERFEMBED_CC", "").split() or ["gcc"]
    line = CommandLine(expanded(words))
    verbose = "-v" in line.words

    def say(text: str) -> None:
        if verbose:
            warn(text)

    def warn(text: str) -> None:
        print(f"perfembed cc: {text}", file=sys.stderr, flush=True)

    if any(one.language == _CPLUSPLUS for one in line.inputs):
        say("C++ is compiled as it is")
    from perfembed.wrapper.linking import expects_code, openmp_for

    words = [*words, *openmp_for(line)]
    if line.sources and line.stage in ("compile", "assemble", "link") and expects_code(line.words):
        path = database or environment.get("PERFEMBED_DB") or _default(environment)
        if os.path.isfile(path):
            code = _spliced(compiler, words, line, path, environment, say, warn)
            if code is not None:
                return code
    try:
        os.execvp(compiler[0], [*compiler, *words])
    except OSError as problem:
        print(f"perfembed cc: {compiler[0]}: {problem.strerror}", file=sys.stderr)
        return 127


def _own_options(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The database that is named in front of the compiler's words, and these."""
    if words and words[0].startswith("--db="):
        return words[0][5:], list(words[1:])
    if len(words) > 1 and words[0] == "--db":
        return words[1], list(words[2:])
    return None, list(words)


def _spliced(
    compiler: Sequence[str],
    words: Sequence[str],
    line: CommandLine,
    database: str,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> int | None:
    """The exit code; None where nothing was done. Nothing that goes wrong here keeps anyone from compiling."""
    try:
        from pathlib import Path

        from perfembed.wrapper.compile import Wrapper

        folder = cache_folder(environment)
        cache = Path(folder) if folder is not None else None
        return Wrapper(compiler, words, line, Path(database), cache, environment, say, warn).run()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as problem:
        say(f"compiled as it is: {problem}")
        return None


def _default(environment: Mapping[str, str]) -> str:
    return os.path.join(data_folder(environment) or "", DATABASE_NAME)
