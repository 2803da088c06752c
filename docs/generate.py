"""Writes the reference pages that follow from the code: `python -m docs.generate` in the repository's root.

`tests/test_docs.py` makes the same texts in memory and compares.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from docs.markdown import NOTE, cell, code, paragraphs, table
from docs.python_page import python_page
from docs.transformations_page import transformations_page
from optdb.database import Database
from perfembed import errors
from perfembed.cli.main import app
from profilers.counters import STATISTICS, counters, feature_names, metrics
from scheduler.frontend.clang.dialect import FLAGS

FOLDER = Path(__file__).parent / "reference"
# ------------------------------------------------------------------------------------------------ command line

_CLI = """\
Every command and option, as `--help` lists them. `-h` and `--help` work everywhere. What commands end with is in
[exit codes](exit-codes.md). A report goes to stdout, progress to stderr; with `--json` errors, too, are a document on
stdout.
"""


def commands(command: Any = None, path: tuple[str, ...] = ("perfembed",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it, groups before what is in them."""
    command = command or typer.main.get_command(app)
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


def options(command: Any) -> list[Any]:
    return [p for p in command.params if p.param_type_name == "option"]


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _limits(parameter: Any) -> str:
    # Of older versions of typer the type knows them, of newer ones the parameter itself.
    low, high = (
        getattr(parameter, end, getattr(getattr(parameter, "type", None), end, None)) for end in ("min", "max")
    )
    if low is None and high is None:
        return ""
    return f"{low} to {high}" if high is not None and low is not None else f"at least {low}"


def _option(parameter: Any) -> list[str]:
    names = ", ".join(code(name) for name in parameter.opts)
    if parameter.secondary_opts:
        names += " / " + ", ".join(code(name) for name in parameter.secondary_opts)
    elif not parameter.is_flag:
        names += f" {code(parameter.metavar or 'VALUE')}"
    meaning, _, rest = (parameter.help or "").partition("[default: ")
    default, shown = rest.rstrip("]"), parameter.show_default
    if not default and isinstance(shown, str):
        default = shown
    elif not default and shown and not parameter.is_flag and isinstance(parameter.default, str | int | float | Path):
        default = code(str(parameter.default)) if parameter.default != "" else ""
    elif parameter.secondary_opts and isinstance(parameter.default, bool):
        default = code((parameter.opts if parameter.default else parameter.secondary_opts)[0])
    limits = _limits(parameter)
    meaning = cell(meaning)
    return [names, f"{meaning} ({limits})".strip() if limits else meaning, default if "`" in default else cell(default)]


def cli_page() -> str:
    parts = [
        "# Command line\n",
        NOTE,
        _CLI,
    ]
    for path, command in commands():
        inner = getattr(command, "commands", {})
        parts.append(f"{'#' * min(len(path) + 1, 4)} {' '.join(path)}\n")
        parts += [f"{cell(text)}\n" for text in paragraphs(command.help)]
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        words = [*path, *(["[OPTIONS]"] if options(command) else []), *map(_argument, arguments)]
        parts.append(f"```text\n{' '.join([*words, *(['COMMAND …'] if inner else [])])}\n```\n")
        if arguments:
            rows = [[code(_argument(p)), cell(getattr(p, "help", None) or "")] for p in arguments]
            parts.append(table(["argument", "meaning"], rows))
        if options(command):
            parts.append(table(["option", "meaning", "default"], [_option(p) for p in options(command)]))
    return "\n".join(parts)


# --------------------------------------------------------------------------------------------------- exit codes


def exit_codes_page() -> str:
    raised = {
        kind.exit_code: kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.PerfembedError) and kind is not errors.PerfembedError
    }
    rows = [
        [str(value), meaning, code(raised[value].__name__) if value in raised else ""]
        for value, meaning in errors.EXITS.items()
    ]
    parts = [
        "# Exit codes\n",
        NOTE,
        "In Python the same failures are exceptions of `perfembed.errors`, all below `PerfembedError`.\n",
        table(["code", "meaning", "exception"], rows),
        "With `--json` errors, too, are a document on stdout:\n"
        '`{"schema_version": 1, "kind": "error", "error": {…}}`.\n',
        "The exceptions:\n",
        "\n".join(f"- `{kind.__name__}`: {' '.join(paragraphs(kind.__doc__))}" for kind in raised.values()) + "\n",
    ]
    return "\n".join(parts)


# -------------------------------------------------------------------------------------------- views of the database

_COLUMNS = {
    "algorithm": "what was computed: the name of a file, or a generator's pattern; must not be on both sides of an "
    "evaluation",
    "algorithms": "of the sources it was found in",
    "baseline": "seconds of each run of the original next to which it was measured",
    "baseline_min_s": "least time of the original next to which it was measured, s",
    "best_s": "least time of the run up to here, s",
    "best_speedup": "`baseline_min_s` / `best_s`",
    "budget_s": "the time it was given, s",
    "byte_offset": "where in the file, bytes",
    "c_text": "the nest as C",
    "caches": "the data caches, as JSON",
    "command": "the command line",
    "compiler": "its name",
    "compiler_version": "the first line of its `--version`",
    "conditions_id": "identifies everything a time depends on but nest and schedule",
    "cpu_model": "as the processor names itself",
    "donor_distance": "Euclidean, of the embeddings",
    "donor_name": "its name where it was found",
    "donor_nest_id": "the nest whose schedule was transferred",
    "element_type": "the C type that decides how wide vectors are",
    "ended": "UTC; NULL for a run that goes on or was killed",
    "evaluation": "counts the candidates of a run and nest, from 0",
    "features": "counts of what the nest is made of, as JSON",
    "file": "of the spool",
    "flags": "of the compiler",
    "functions": "it was found in",
    "isa": "architecture and vector extensions",
    "kind": "`search`, `confirm` (interleaved with the original) or `transfer`",
    "line": "number expected there; the header is 0",
    "logical_cores": "hardware threads",
    "lost": "records, as far as their numbers tell",
    "machine": "fingerprint, 16 hex digits",
    "measured": "when, UTC",
    "measured (best_schedules)": "verified measurements under these conditions",
    "measurement_id": "identifies schedule, conditions, kind, seed and repetition",
    "measurements": "of this nest",
    "median_s": "median of the samples, s",
    "memory_bytes": "bytes",
    "message": "what went wrong, where something did",
    "min_s": "least of the samples, s",
    "name": "of the nest, where it was found first",
    "nest_id": "equal for nests that differ in names and sizes only",
    "noise": "coefficient of variation",
    "normalized_id": "mostly equal for nests that differ in names, loop order and fission",
    "origin": "`file` or `generated`",
    "other_load": "cores that others kept busy meanwhile",
    "outcome": "`timed`; `stopped` (given up, slower than the cut-off); `build_failed`, `crashed`, `timed_out`, "
    "`wrong_result`",
    "physical_cores": "cores",
    "place": "the path, or what makes the generator write it again",
    "places": "of the sources it was found in",
    "reason": "why it could not be stored",
    "reassociated": "whether sums may be reordered (`--reassociate`)",
    "repetition": "which of several measurements of the same",
    "source (profiles)": "who counted: likwid, perf, simulated",
    "runtime_s": "wall time of the nest in its canonical schedule, in seconds",
    "counts": "counter to one number a thread; a counter that was not counted is missing",
    "notes": "what limits the profile",
    "profile_id": "what was counted, as a hash",
    "run_id": "identifies the run",
    "samples": "seconds of each repetition",
    "schedule": "its text form: see [transformations](transformations.md)",
    "schedule_id": "identifies nest and schedule",
    "schedules": "of this nest",
    "search": "`transfer`, `beam`, `mcts`, `random`, `exhaustive`, `sample`, `isl` or `genetic`",
    "seed": "of everything random",
    "sizes": "parameter to value, as JSON",
    "source_id": "SHA-256 of the text",
    "speedup": "`baseline_min_s` / `min_s`",
    "speedup_high": "upper end of the confidence interval",
    "speedup_low": "lower end of the confidence interval",
    "started": "UTC",
    "text": "the nest in the tool's notation, under canonical names",
    "threads": "OpenMP threads",
    "tolerance": "largest relative difference that was allowed; 0 is bit for bit",
    "vendor": "of the processor",
    "verified": "whether its output agreed with the original's on all `verified_on`",
    "verified (nests)": "measurements whose output was verified",
    "verified_on": "`captured`, `randomized`",
    "verify_seeds": "of the randomized inputs",
    "versions": "of the packages it depends on, as JSON",
}
_STABLE = """\
The views are the stable interface: they and their columns stay when the tables change. `perfembed sql` without a query
lists them. Every view of times carries what a time depends on (`machine`, `cpu_model`, `isa`, `compiler`,
`compiler_version`, `flags`, `threads`, `sizes`, `element_type`, `reassociated`): rows that differ in any of it are not
to be compared.
"""
_VIEWS = """
    SELECT v.view_name, v.comment, c.column_name, c.data_type
    FROM duckdb_views() v JOIN duckdb_columns() c ON c.table_name = v.view_name AND c.schema_name = v.schema_name
    WHERE NOT v.internal ORDER BY v.view_name, c.column_index
"""


def views() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """(view, its comment) -> its columns and their types, of a new database."""
    with tempfile.TemporaryDirectory() as folder, Database.open(Path(folder) / "empty.duckdb") as database:
        rows = database.rows(_VIEWS)
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for view, comment, column, kind in rows:
        found.setdefault((str(view), str(comment)), []).append((str(column), str(kind)))
    return found


def views_page() -> str:
    parts = [
        "# Views of the database\n",
        NOTE,
        _STABLE,
    ]
    for (view, comment), columns in views().items():
        rows = []
        for column, kind in columns:
            meaning = _COLUMNS.get(f"{column} ({view})") or _COLUMNS[column]
            rows.append([code(column), code(kind.partition("(")[0]), meaning])
        parts += [f"## {view}\n", f"{comment[:1].upper()}{comment[1:]}.\n", table(["column", "type", "meaning"], rows)]
    return "\n".join(parts)


# ------------------------------------------------------------------------------------------------------- metrics


_COUNTERS = """\
A profile (`perfembed profile FILE`) has {counters} counters, one value a thread, for one run of the nest in its
canonical schedule. Their statistics over the threads ({statistics}) are {features} numbers: the profile's part of what
is embedded. From the sums follow {metrics} metrics, which the embedding is trained to predict.

Source: Trümper et al. 2023 (Performance Embeddings, ICS), section 3.2 and table 5.
"""
_METRICS = """\
Names in formulas are sums of counters over the threads, `runtime` (s), `threads`, `line` (bytes of a cache line) and
`lower_bound` (bytes of memory traffic that the nest needs at least). 0 / 0 is 0.
"""


def metrics_page() -> str:
    numbers = {
        "counters": len(counters()),
        "statistics": ", ".join(STATISTICS),
        "features": len(feature_names()),
        "metrics": len(metrics()),
    }
    counted = [[code(c.name), c.group, c.unit, cell(c.meaning)] for c in counters()]
    derived = [[code(m.name), "" if m.unit == "1" else m.unit, code(m.formula), cell(m.meaning)] for m in metrics()]
    parts = [
        "# Counters and metrics\n",
        NOTE,
        _COUNTERS.format(**numbers),
        "## Counters\n",
        table(["counter", "group", "unit", "meaning"], counted),
        "## Metrics\n",
        _METRICS,
        table(["metric", "unit", "formula", "meaning"], derived),
    ]
    return "\n".join(parts)


# ---------------------------------------------------------------------------------------------- compiler flags

_FLAGS = """\
What each compiler flag means to the reading of a file, wherever it comes from: `--cflags`, a build, a
compile_commands.json, `perfembed cc`, `#pragma GCC optimize` and `target`, or such attributes. Where flags contradict
each other the last one counts; what attributes and pragmas say counts for the whole file. Flags that begin with `-f` or
`-m` and are not in this table leave the file as it is, and the report says so; all other flags say nothing about loops.

A written file is compiled with other flags, too. What differs then is tested in it, and where a test fails the original
loops run: by macros, by sizes and types, `pe_exact()` (no `-fwrapv`, for which compilers have no macro: clang without
optimization runs the original loops) and `pe_library()` (no `-fno-builtin`). That arrays of different types do not
overlap, and that nobody compiles it with `-fno-strict-aliasing`, cannot be tested: a comment above such loops says so.
"""
_EFFECTS = {
    "nothing": "changes nothing",
    "parser": "changes what is read",
    "standard": "changes what is read; C of before 1999 is refused",
    "openmp": "changes what is read",
    "wraps": "signed arithmetic may wrap around",
    "traps": "signed arithmetic may end the program",
    "untyped": "arrays of different types may overlap",
    "sanitizer": "as it says",
    "library": "functions may be the program's own",
    "refused": "no loop is changed",
}


def flags_page() -> str:
    rows = [
        [" ".join(code(w) if w.startswith("-") else w for w in f.shown.split()), _EFFECTS[f.effect], cell(f.why)]
        for f in FLAGS
    ]
    return f"# Compiler flags\n\n{NOTE}\n{_FLAGS}\n{table(('flags', 'effect', 'how, or why'), rows)}"


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "exit-codes.md": exit_codes_page,
    "views.md": views_page,
    "metrics.md": metrics_page,
    "transformations.md": transformations_page,
    "flags.md": flags_page,
    "python.md": python_page,
}


def page_text(name: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", PAGES[name]())


def main() -> None:
    for name in PAGES:
        (FOLDER / name).write_text(page_text(name), encoding="utf-8")
        print(f"wrote {FOLDER.name}/{name}")


if __name__ == "__main__":
    main()
