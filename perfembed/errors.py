"""The exceptions of this package and the exit codes they stand for."""

from typing import ClassVar

EXIT_DONE = 0
EXIT_VERIFICATION = 1
EXIT_USAGE = 2
EXIT_NO_NEST = 3
EXIT_SOURCE = 4
EXIT_ENVIRONMENT = 5
EXIT_STOPPED = 6
EXIT_DATABASE = 7
EXIT_NOT_MEASURED = 8
EXIT_NOT_READ = 9
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141  # what the shell reports of a C program whose reader went away

EXITS = {
    EXIT_DONE: "done; also when the original turned out to be the best",
    EXIT_VERIFICATION: "a check failed: `db info --check` found something, `db import` refused records, "
    "a comparison found a wrong result",
    EXIT_USAGE: "wrong usage: an unknown option, a bad value, a path that cannot be read or written",
    EXIT_NO_NEST: "no tunable loop nest",
    EXIT_SOURCE: "the C file does not parse, compile or run",
    EXIT_ENVIRONMENT: "the environment lacks something (a compiler, OpenMP): see `perfembed doctor`",
    EXIT_STOPPED: "`sql`: the query was stopped at its limit of time or memory",
    EXIT_DATABASE: "the database cannot be used: locked by another process, damaged, none at all (an empty file, "
    "a folder), of a newer version, or the disk is full",
    EXIT_NOT_MEASURED: "no nest could be measured: what is made of them does not compile or run, "
    "though the program does",
    EXIT_NOT_READ: "time or memory did not suffice to read a C file or analyse a nest, and nothing is known of it; "
    "`populate` tries it again the next time",
    EXIT_INTERNAL: "internal error, on one line; `--traceback` or `PERFEMBED_TRACEBACK=1` shows where",
    EXIT_INTERRUPTED: "interrupted; the best so far was written",
    EXIT_BROKEN_PIPE: "who read the output went away (`| head`)",
}
"""What each exit code of the command means, in ascending order; names of commands and options in backquotes."""


class PerfembedError(Exception):
    """Base of everything this package raises on purpose: one clear line, and where it helps what to do."""

    exit_code: ClassVar[int] = EXIT_INTERNAL

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class UsageError(PerfembedError):
    """The command line, an option's value or a path given by the user is wrong."""

    exit_code = EXIT_USAGE


class NoTunableNest(PerfembedError):
    """The file is fine but holds no loop nest that can be tuned."""

    exit_code = EXIT_NO_NEST


class SourceRejected(PerfembedError):
    """The C file does not parse, does not compile, or does not run."""

    exit_code = EXIT_SOURCE


class NothingMeasured(PerfembedError):
    """The program compiles and runs, but nothing that is made of its nests does."""

    exit_code = EXIT_NOT_MEASURED


class NotRead(PerfembedError):
    """Time or memory did not suffice to read a C file: nothing is known of it, and another time it may be read."""

    exit_code = EXIT_NOT_READ


class EnvironmentMissing(PerfembedError):
    """Something this machine lacks: a compiler, OpenMP, a place to write."""

    exit_code = EXIT_ENVIRONMENT


class QueryStopped(PerfembedError):
    """A limit (time, memory, size of the result) ended a query, or it crashed the engine."""

    exit_code = EXIT_STOPPED


class DatabaseProblem(PerfembedError):
    """The optimization database cannot be used: damaged, none at all, locked, of a newer version, the disk full."""

    exit_code = EXIT_DATABASE
