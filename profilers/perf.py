"""Profiles counted by perf, for machines without LIKWID: `perf stat` on the threads of the nest, while it runs."""

from __future__ import annotations

import contextlib
import json
import math
import re
import shutil
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from profilers.backend import ProfileFailed, ProfileRequest
from profilers.build import compile_workloads
from profilers.contained.child import Finished, Limits, memory_file
from profilers.contained.errors import ProfilersError
from profilers.counting import ACK_FD, CONTROL_FD, Counted, Counting, count_workload, warmups
from profilers.machine import CounterSupport, Machine
from profilers.mapping import EventMap, Run, Values, event_maps, medians
from profilers.outcome import BuildFailed, TimedOut
from profilers.profile import Profile
from profilers.run import DEFAULT_ENVIRONMENT, run_contained

_TRIAL = Limits(wall_s=20.0)
_LIMITS = Limits(wall_s=600.0, memory_bytes=16 << 30, output_bytes=1 << 16)
_COMPILE_S = 60.0
_REFUSALS = (  # what perf says, what it means and what to do
    (
        "Access to performance monitoring and observability operations is limited|perf_event_paranoid|No permission",
        "perf may not count: set kernel.perf_event_paranoid to 2 or less (sysctl kernel.perf_event_paranoid=2)",
    ),
    ("unknown switch `j'", "this perf is too old: install 5.17 or later"),
    ("perf not found for kernel", "perf is not installed for this kernel: install its linux-perf or linux-tools"),
    ("Function not implemented", "the kernel refuses perf_event_open: allow it in the container's seccomp profile"),
    ("event syntax error", "this perf does not know an event: add a map for this CPU to profilers/groups"),
)


@dataclass(frozen=True, slots=True)
class PerfBackend:
    """`perf stat --per-thread`, attached to the threads after the warm-up, enabled only around the nest's call.

    `maps` None means the files in `profilers/groups`; the one for the machine's vendor is used, or perf-generic.
    """

    maps: tuple[EventMap, ...] | None = None
    limits: Limits = _LIMITS

    @property
    def name(self) -> str:
        """What `Profile.source` says."""
        return "perf"

    def available(self, environment: Mapping[str, str]) -> CounterSupport:
        """Whether perf counts: it exits with 0 even where it could not, so only a number counts."""
        env = _environment(environment)
        tool = shutil.which("perf", path=env["PATH"])
        if tool is None:
            return CounterSupport(self.name, False, "perf is not installed: install linux-perf or linux-tools")
        probe = self._maps()[0].probe
        try:
            finished = run_contained((tool, "stat", "-x;", "-e", probe, "true"), limits=_TRIAL, env=env, cwd="/")
        except ProfilersError as problem:
            return CounterSupport(self.name, False, _line(str(problem)))
        return verdict(finished, probe)

    def profile(self, request: ProfileRequest) -> Profile | ProfileFailed:
        """Counts every group in `repetitions` runs of one process, and takes each thread's medians."""
        support = self.available(request.environment)
        if not support.usable:
            return ProfileFailed(f"perf does not count here: {support.detail}")
        try:
            return self._profile(request, _environment(request.environment))
        except ProfilersError as problem:
            return ProfileFailed(_line(str(problem)))

    def _maps(self) -> tuple[EventMap, ...]:
        return event_maps("perf") if self.maps is None else self.maps

    def _map(self, machine: Machine) -> EventMap:
        own = (one for one in self._maps() if machine.vendor in one.selects.get("vendors", ()))
        general = (one for one in self._maps() if not one.selects.get("vendors"))
        found = next(own, None) or next(general, None)
        if found is None:
            raise ProfilersError(f"there is no map of perf's events for {machine.vendor}")
        return found

    def _profile(self, request: ProfileRequest, env: Mapping[str, str]) -> Profile | ProfileFailed:
        chosen = self._map(request.machine)
        runs = chosen.runs(request.machine.flags)
        measured = [run for run in runs if run.events]
        built = compile_workloads(
            (request.workload,), request.compiler, request.workdir, 1, _COMPILE_S, environment=env
        )[0]
        if isinstance(built, BuildFailed):
            return ProfileFailed(f"{request.workload.name} does not compile: {_line(built.message)}")
        tool = shutil.which("perf", path=env["PATH"]) or "perf"
        with contextlib.ExitStack() as stack:
            logs = [stack.enter_context(memory_file("counts")) for _ in measured]
            counting = Counting(
                warmups(request.workload, request.machine),
                request.repetitions,
                tuple(_command(tool, run, log.fileno()) for run, log in zip(measured, logs, strict=True)),
            )
            fds = tuple(log.fileno() for log in logs)
            ran = count_workload(built, counting, pass_fds=fds, limits=self.limits, environment=env)
            said = []
            for log in logs:
                log.seek(0)
                said.append(log.read().decode(errors="replace"))
        if isinstance(ran, Finished):
            return ProfileFailed(refusal(ran.stderr.decode(errors="replace")))
        if isinstance(ran, TimedOut):
            return ProfileFailed(f"the counted runs did not end within {ran.limit_s:g} s")
        if not isinstance(ran, Counted):
            return ProfileFailed(_line(ran.message))
        if ran.failed is not None:
            return ProfileFailed(refusal(ran.finished.stderr.decode(errors="replace")))
        return _result(request, chosen, runs, said, ran)


def verdict(finished: Finished, probe: str) -> CounterSupport:
    """What `perf stat -x; -e PROBE` shows."""
    if finished.timed_out:
        return CounterSupport("perf", False, f"perf did not answer within {_TRIAL.wall_s:g} s")
    said = finished.stderr.decode(errors="replace")
    for line in said.splitlines():
        fields = line.split(";")
        if len(fields) > 2 and _plain(fields[2]) == _plain(probe):
            if _number(fields[0]) > 0:
                return CounterSupport("perf", True, f"counted {fields[0]} {probe}")
            reason = "the CPU's counters are not visible, as is usual in virtual machines"
            return CounterSupport("perf", False, f"{probe}: {fields[0]}: {reason}")
    return CounterSupport("perf", False, refusal(said))


def refusal(said: str) -> str:
    """One line for what perf wrote to stderr instead of counting."""
    for pattern, meaning in _REFUSALS:
        if re.search(pattern, said):
            return meaning
    lines = [line.strip() for line in said.splitlines()]
    telling = [line for line in lines if line and line != "Error:" and not line.startswith("Events ")]
    return f"perf failed: {telling[0][:200]}" if telling else "perf failed and did not say why"


@dataclass(frozen=True, slots=True)
class Read:
    """`repetitions[r][t]` counts by event; whether any event had to share a counter with others."""

    repetitions: tuple[tuple[Values, ...], ...]
    shared: bool


def read_counts(said: str, run: Run, threads: int) -> Read:
    """Reads what `perf stat -j --per-thread` wrote, once a repetition, about a process of so many threads.

    A thread that slept all the time is "<not counted>", like an event that never got a counter: the former has
    counted nothing else either, and has done nothing. Raises ProfilersError for anything else than such counts.
    """
    repetitions: list[dict[tuple[int, str], float]] = []
    shared = False
    events = {_plain(event): event for event in run.events}
    for line in said.splitlines():
        if not line.startswith("{"):
            continue
        try:
            entry = json.loads(line)
            thread, event = int(str(entry["thread"]).rpartition("-")[2]), events[_plain(str(entry["event"]))]
            text, running = str(entry["counter-value"]), float(entry["pcnt-running"])
        except (ValueError, KeyError, TypeError) as problem:
            raise ProfilersError(f"not a count of perf's: {line[:100]}") from problem
        place = next((one for one in repetitions if (thread, event) not in one), None)
        if place is None:
            place = {}
            repetitions.append(place)
        place[thread, event] = _number(text) if text != "<not counted>" else -1.0
        shared |= running < 100 and place[thread, event] >= 0
    found = sorted({thread for one in repetitions for thread, _ in one})
    if not found or len(found) > threads:
        raise ProfilersError(f"perf saw {len(found)} threads instead of {threads}")
    return Read(tuple(_by_thread(one, found, run.events, threads) for one in repetitions), shared)


def _by_thread(
    counted: Mapping[tuple[int, str], float], found: Iterable[int], events: tuple[str, ...], threads: int
) -> tuple[Values, ...]:
    """Thread by thread; -1 stands for "<not counted>". Threads that never came to be have counted 0."""
    anywhere = {event for (_, event), value in counted.items() if value >= 0}
    result: list[Values] = []
    for thread in found:
        values = {event: counted.get((thread, event), math.nan) for event in events}
        slept = not any(value >= 0 for value in values.values())
        result.append({e: (0.0 if slept and e in anywhere else math.nan) if v < 0 else v for e, v in values.items()})
    idle = {event: 0.0 if event in anywhere else math.nan for event in events}
    return (*result, *[idle] * (threads - len(result)))


def _command(tool: str, run: Run, log: int) -> tuple[str, ...]:
    control = ("-D", "-1", "--control", f"fd:{CONTROL_FD},{ACK_FD}")
    return (tool, "stat", "-j", "--per-thread", *control, "--log-fd", str(log), "-e", ",".join(run.events), "-p", "PID")


def _result(
    request: ProfileRequest, chosen: EventMap, runs: Iterable[Run], said: list[str], ran: Counted
) -> Profile | ProfileFailed:
    threads = request.workload.threads
    counts: list[tuple[str, tuple[float, ...]]] = []
    absent: list[str] = []
    shared: list[str] = []
    remaining = iter(said)
    counted = False
    for run in runs:
        read = read_counts(next(remaining), run, threads) if run.events else Read((({},) * threads,), False)
        found, without = medians(run, read.repetitions)
        counts += found
        absent += without
        shared += [name for name, _ in found] if read.shared else []
        counted |= bool(run.events and found)
    if not counted:
        return ProfileFailed("perf counted nothing: every event is <not supported> or <not counted> on this machine")
    notes = chosen.remarks(frozenset(name for name, _ in counts))
    if absent:
        notes += (f"not counted: {', '.join(absent)}: this machine or kernel does not offer the events",)
    if shared:
        notes += (f"estimated from a part of the time, as counters were shared: {', '.join(shared)}",)
    samples = [sample for group in ran.samples_s for sample in group]
    line = request.machine.cache(1)
    return Profile(
        source="perf",
        machine=request.machine.fingerprint,
        threads=threads,
        runtime_s=statistics.median(samples),
        line_bytes=line.line_bytes if line else 64,
        counts=tuple(counts),
        notes=notes,
    )


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {**DEFAULT_ENVIRONMENT, **environment, "LC_ALL": "C"}  # counts with a point, messages in English


def _plain(event: str) -> str:
    """The event without its modifiers, which perf writes for some events and not for others."""
    return event.partition(":")[0]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
