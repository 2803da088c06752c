"""Runs the harness of a built workload under counters: warm-up, then each repetition counted by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profilers.build import Built
from profilers.contained.child import Finished, Limits
from profilers.errors import HarnessError
from profilers.harness import DEFAULT_LIMITS, answer_of, harness_environment, launch
from profilers.machine import Machine
from profilers.outcome import Crashed, TimedOut, WrongResult
from profilers.run import DEFAULT_ENVIRONMENT
from profilers.specification import OpenMP, TimingSettings, specification_of
from profilers.workload import Workload

CONTROL_FD, ACK_FD = 100, 101  # see harness.c
# waiting threads would count the instructions of their spinning
_ASLEEP = OpenMP(wait_policy="passive")
_MOST_WARMUPS = 1000
_ASSUMED_L2_BYTES = 1 << 20


def warmups(workload: Workload, machine: Machine) -> int:
    """How many runs move twice the L2 cache's size, each taken to move every argument once; at most 1,000."""
    moved = max(1, sum(argument.bytes for argument in workload.arguments))
    l2 = machine.cache(2)
    wanted = 2 * (l2.size_bytes if l2 else _ASSUMED_L2_BYTES)
    return max(1, min(_MOST_WARMUPS, -(-wanted // moved)))


@dataclass(frozen=True, slots=True)
class Counting:
    """How a kernel is counted: `warmups` calls, then `repetitions` counted ones for each command.

    A command is a program that counts for the process whose number replaces the word PID, between the orders
    "enable" and "disable", which it reads from CONTROL_FD and answers with "ack" on ACK_FD; SIGINT ends it. Without
    commands only `pe_region` (see harness.c) learns of the repetitions. `wrapper` is put before the harness.
    """

    warmups: int
    repetitions: int
    commands: tuple[tuple[str, ...], ...] = ()
    wrapper: tuple[str, ...] = ()
    openmp: OpenMP = _ASLEEP

    def __post_init__(self) -> None:
        words = tuple(word for command in self.commands for word in command)
        if self.warmups < 0 or self.repetitions < 1 or any(not word or "\n" in word or word == "." for word in words):
            raise HarnessError(f"cannot count like this: {self}")

    @property
    def lines(self) -> tuple[str, ...]:
        """What harness.c reads of it."""
        counts = f"count {self.warmups} {self.repetitions} {len(self.commands)}"
        return (counts, *(word for command in self.commands for word in (*command, ".")))


@dataclass(frozen=True, slots=True)
class Counted:
    """A counted run: seconds of each repetition, one tuple a command; what the process tree said.

    `failed` is the number of the command that did not count or None.
    """

    samples_s: tuple[tuple[float, ...], ...]
    failed: int | None
    finished: Finished


def count_workload(
    built: Built,
    counting: Counting,
    *,
    pass_fds: tuple[int, ...] = (),
    limits: Limits = DEFAULT_LIMITS,
    environment: Mapping[str, str] = DEFAULT_ENVIRONMENT,
) -> Counted | Finished | WrongResult | Crashed | TimedOut:
    """Runs a workload under counters in one contained process tree. Finished: the wrapper ended without its answer.

    Raises HarnessError where a capture file cannot be read.
    """
    exact, arguments = (-1.0, 0.0), built.workload.arguments
    specification = specification_of(arguments, "count", TimingSettings(), "", exact, counting.lines)
    env = harness_environment(environment, built.workload.threads, counting.openmp)
    ran = launch(built, specification, limits, env, counting.wrapper, pass_fds)
    if not isinstance(ran, tuple):
        return ran
    finished, said = ran
    if not said and counting.wrapper:
        return finished  # the wrapper may have refused before it came to the harness
    answer = answer_of(built, finished, said)
    if not isinstance(answer, dict):
        return answer
    samples = tuple(tuple(float(sample) for sample in one) for one in answer["counted"])
    return Counted(samples, int(answer["failed"]) if answer["failed"] >= 0 else None, finished)
