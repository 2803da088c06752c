"""Profiles counted by LIKWID, with the marker API around each repetition of the nest.

Through the package pylikwid in a process of its own where it is installed (`perfembed[likwid]`), else by the command
`likwid-perfctr`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import re
import shutil
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from profilers.backend import ProfileFailed, ProfileRequest
from profilers.build import CompilerConfig, compile_workloads
from profilers.contained.child import Finished, Limits
from profilers.contained.errors import ProfilersError
from profilers.counting import Counted, Counting, count_workload, warmups
from profilers.likwid_output import architecture, read_regions, read_single, refusal
from profilers.machine import CounterSupport
from profilers.mapping import EventMap, Values, event_maps, medians
from profilers.outcome import BuildFailed, TimedOut
from profilers.profile import Profile
from profilers.run import DEFAULT_ENVIRONMENT, run_contained

_TOOL = "likwid-perfctr"
_PACKAGE = "pylikwid"
_CHILD = Path(__file__).with_name("likwid_child.py")
_MARKER = Path(__file__).with_name("likwid_marker.c")
_TRIAL = Limits(wall_s=20.0)
_LIMITS = Limits(wall_s=300.0, memory_bytes=16 << 30, output_bytes=4 << 20)
_COMPILE_S = 60.0
_SOCKETS = "memory traffic is that of whole sockets, other programs included; it stands with the first thread of each"


@dataclass(frozen=True, slots=True)
class LikwidBackend:
    """One run of `likwid-perfctr -m -C CPUS -g EVENTS -O`, or of `likwid_child.py`, for each group of counters.

    Which events these are is in `profilers/groups/likwid-*.toml`; the file whose CPU is the one `likwid-perfctr -i`
    names is used. `options` are put before all others: ("-M", "0") makes LIKWID access the registers directly.
    `package`: whether pylikwid is used; by default where it is installed and can be loaded.
    """

    options: tuple[str, ...] = ()
    package: bool | None = None
    limits: Limits = _LIMITS

    @property
    def name(self) -> str:
        """What `Profile.source` says."""
        return "likwid"

    def available(self, environment: Mapping[str, str]) -> CounterSupport:
        """Whether LIKWID knows this CPU, has access to its counters, and counts something."""
        try:
            chosen, tool, env = self._prepare(environment)
            argv = (*tool, *self.options, "-O", "-C", str(_cpus()[0]), "-g", chosen.probe, "true")
            finished = run_contained(argv, limits=_TRIAL, env=env, cwd="/")
        except ProfilersError as problem:
            return CounterSupport(self.name, False, _line(str(problem)))
        if finished.timed_out:
            return CounterSupport(self.name, False, f"LIKWID did not answer within {_TRIAL.wall_s:g} s")
        said = finished.stdout.decode(errors="replace")
        counted = read_single(said).get(chosen.probe, math.nan)
        if counted > 0:
            return CounterSupport(self.name, True, f"counted {counted:.0f} instructions as {chosen.name}")
        if finished.ok and counted == 0:
            return CounterSupport(self.name, False, f"{chosen.probe} stays 0: the counters do not count here")
        return CounterSupport(self.name, False, refusal(said, finished.stderr.decode(errors="replace")))

    def profile(self, request: ProfileRequest) -> Profile | ProfileFailed:
        """Counts group after group, each `repetitions` times in a process of its own; each thread's medians."""
        support = self.available(request.environment)
        if not support.usable:
            return ProfileFailed(f"LIKWID does not count here: {support.detail}")
        try:
            return self.count(request)
        except ProfilersError as problem:
            return ProfileFailed(_line(str(problem)))

    def count(self, request: ProfileRequest) -> Profile | ProfileFailed:
        """`profile` without the question whether anything counts. Raises ProfilersError."""
        chosen, tool, env = self._prepare(request.environment)
        threads, cpus = request.workload.threads, _cpus()
        if threads > len(cpus):
            return ProfileFailed(f"LIKWID pins every thread to a core of its own: {threads} threads, {len(cpus)} cores")
        config = _compiler(request.compiler, shutil.which(_TOOL, path=env["PATH"]))
        built = compile_workloads((request.workload,), config, request.workdir, 1, _COMPILE_S, environment=env)[0]
        if isinstance(built, BuildFailed):
            return ProfileFailed(f"{request.workload.name} does not compile with LIKWID: {_line(built.message)}")
        counts: list[tuple[str, tuple[float, ...]]] = []
        absent: list[str] = []
        seconds: list[float] = []
        reason, counted = "", False
        for run in chosen.runs(request.machine.flags):
            repetitions: tuple[tuple[Values, ...], ...] = (({},) * threads,)
            if run.events:
                wrapper = (*tool, *self.options, "-O", "-m", "-C", ",".join(map(str, cpus[:threads])))
                wrapper += ("-g", ",".join(run.events))
                counting = Counting(warmups(request.workload, request.machine), request.repetitions, (), wrapper)
                ran = count_workload(built, counting, limits=self.limits, environment=env)
                if isinstance(ran, TimedOut):
                    return ProfileFailed(f"the counted runs did not end within {ran.limit_s:g} s")
                if not isinstance(ran, Counted | Finished):
                    return ProfileFailed(_line(ran.message))
                finished = ran if isinstance(ran, Finished) else ran.finished
                said = finished.stdout.decode(errors="replace")
                repetitions = read_regions(said, cpus[:threads], request.repetitions)
                if not repetitions or isinstance(ran, Finished):
                    reason = reason or refusal(said, finished.stderr.decode(errors="replace"))
                    absent += [counter.name for counter in run.counters]
                    continue
                seconds += [sample for group in ran.samples_s for sample in group]
            found, without = medians(run, repetitions)
            counts += found
            absent += without
            counted |= bool(run.events and found)
        if not counted:
            return ProfileFailed(reason or "LIKWID counted none of the events")
        return _profile(request, chosen, counts, seconds, absent, reason)

    def _prepare(self, environment: Mapping[str, str]) -> tuple[EventMap, tuple[str, ...], dict[str, str]]:
        """The map of this CPU, the command that counts and the environment. Raises ProfilersError with one line."""
        env = {**DEFAULT_ENVIRONMENT, **environment, "LC_ALL": "C"}
        command = shutil.which(_TOOL, path=env["PATH"])
        tools: list[tuple[str, ...]] = [(command,)] if command is not None and not self.package else []
        if self.package or (self.package is None and importlib.util.find_spec(_PACKAGE) is not None):
            tools.insert(0, (sys.executable, str(_CHILD)))
        if not tools:
            raise ProfilersError(f"{_TOOL} is not installed: install LIKWID")
        for tool in tools:
            finished = run_contained((*tool, *self.options, "-i"), limits=_TRIAL, env=env, cwd="/")
            if finished.ok:
                break
        said = finished.stdout.decode(errors="replace")
        return choose(event_maps("likwid"), architecture(said), said, finished), tool, env


def choose(maps: tuple[EventMap, ...], named: Mapping[str, str], said: str, finished: Finished) -> EventMap:
    """The map for the CPU as `likwid-perfctr -i` names it. Raises ProfilersError with one line."""
    short, kind = named.get("CPU short", "nil"), named.get("CPU type", "nil")
    for one in maps:
        if short in one.selects.get("cpu_short", ()) or kind in one.selects.get("cpu_types", ()):
            return one
    if not named:
        raise ProfilersError(refusal(said, finished.stderr.decode(errors="replace")))
    if kind == "nil":
        numbers = f"family {named.get('CPU family', '?')}, model {named.get('CPU model', '?')}"
        cpu = named.get("CPU name", "?")
        raise ProfilersError(f"this version of LIKWID does not know the CPU {cpu} ({numbers}): install a newer one")
    raise ProfilersError(f"there is no map of events for {kind}: add profilers/groups/likwid-{short.lower()}.toml")


def _profile(
    request: ProfileRequest,
    chosen: EventMap,
    counts: list[tuple[str, tuple[float, ...]]],
    seconds: list[float],
    absent: list[str],
    reason: str,
) -> Profile:
    notes = chosen.remarks(frozenset(name for name, _ in counts))
    if any(counter.scope == "socket" and counter.name in dict(counts) for counter in chosen.counters):
        notes += (_SOCKETS,)
    if absent:
        notes += (f"not counted: {', '.join(absent)}: {reason or 'LIKWID gave no value for the events'}",)
    line = request.machine.cache(1)
    return Profile(
        source="likwid",
        machine=request.machine.fingerprint,
        threads=request.workload.threads,
        runtime_s=statistics.median(seconds),
        line_bytes=line.line_bytes if line else 64,
        counts=tuple(counts),
        notes=notes,
    )


def _compiler(config: CompilerConfig, tool: str | None) -> CompilerConfig:
    """The compiler with the marker API: headers and library of the LIKWID that the tool belongs to."""
    prefix = Path(tool).resolve().parent.parent if tool is not None else Path("/usr")
    own = prefix not in (Path("/usr"), Path("/"))
    include = (f"-I{prefix}/include",) if own else ()
    library = (f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib") if own else ()
    # executables are kept by their flags: the digest tells those of another text of the marker file apart
    digest = hashlib.sha256(_MARKER.read_bytes()).hexdigest()[:8]
    flags = (*config.flags, "-DLIKWID_PERFMON", f"-DPE_MARKER_{digest}", *include)
    return replace(config, flags=flags, libs=(*config.libs, str(_MARKER), *library, "-llikwid"))


def _cpus() -> tuple[int, ...]:
    """The usable logical cores, one of each physical core first."""
    seen: dict[str, int] = {}
    ranked = []
    for cpu in sorted(os.sched_getaffinity(0)):
        try:
            siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text().strip()
        except OSError:
            siblings = str(cpu)
        ranked.append((seen.get(siblings, 0), cpu))
        seen[siblings] = seen.get(siblings, 0) + 1
    return tuple(cpu for _, cpu in sorted(ranked))


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:300]
