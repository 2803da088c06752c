"""Reads what `likwid-perfctr` writes: its CSV tables, its description of the CPU, its refusals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from profilers.mapping import Values

_RUNTIME = "Runtime (RDTSC) [s]"
_MSRS = "load the msr module (modprobe msr) and run as root, or make LIKWID's access daemon setuid root"
_REFUSALS = (  # what LIKWID says, what it means and what to do; the first that fits
    (
        r"perf_event_paranoid = (\d+)",
        r"kernel.perf_event_paranoid is \1: set it to 2 or less, or to 0 for memory traffic, too (sysctl)",
    ),
    (
        r"is locked|registers locked",
        "another user holds LIKWID's lock: wait, or have /var/run/likwid.lock removed",
    ),
    (
        r"register (\S+) is in use",
        r"the counter register \1 is in use: stop the program that counts (perf, or sysctl kernel.nmi_watchdog=0)",
    ),
    (
        r"find pci devices failed",
        "LIKWID finds no uncore counters (PCI devices), as is usual in virtual machines: use perf or the simulation",
    ),
    (r"Cannot access MSR device file", f"LIKWID has no access to the MSRs: {_MSRS}"),
    (r"[Uu]nsupported .*[Pp]rocessor|rocessor is not supported", "this version of LIKWID does not know the CPU"),
    (r"fork access daemon|path to access daemon", f"LIKWID's access daemon is missing or not executable: {_MSRS}"),
    (r"Cannot get access to (MSRs|performance counters)", f"LIKWID has no access to the MSRs: {_MSRS}"),
    (r"Event (\S+) not found", r"this version of LIKWID does not know the event \1: use a newer one"),
    (r"Counter (\S+) not defined", r"this CPU has no counter register \1: correct its map in profilers/groups"),
    (r"Register (\S+) not allowed for event (\S+)", r"\2 cannot be counted in \1: correct its map in profilers/groups"),
    (r"Cannot read group file (\S+)\.txt", r"LIKWID has no group \1: events are written EVENT:REGISTER"),
    (r"CPU (\d+) not in domain", r"LIKWID may not use core \1: run inside the cores of this process's cpuset"),
    (r"Marker API result file does not exist", "the nest crashed or ended the process before its counts were read"),
)  # fmt: skip


def architecture(said: str) -> dict[str, str]:
    """The "CPU ..." lines of `likwid-perfctr -i`, such as "CPU short": "skylakeX"; "nil" where LIKWID knows no name."""
    pairs = (line.partition(":") for line in said.splitlines() if line.startswith("CPU "))
    return {name: value.strip() for name, colon, value in pairs if colon}


def refusal(stdout: str, stderr: str) -> str:
    """One line for what LIKWID wrote instead of counts."""
    said = f"{stderr}\n{stdout}"
    for pattern, meaning in _REFUSALS:
        found = re.search(pattern, said)
        if found:
            return found.expand(meaning)
    telling = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"LIKWID failed: {telling[0][:200]}" if telling else "LIKWID failed and did not say why"


def read_regions(said: str, cpus: tuple[int, ...], repetitions: int) -> tuple[tuple[Values, ...], ...]:
    """`[r][t]`: what the thread on `cpus[t]` counted in region "nest<r>", by "EVENT:REGISTER".

    A core without a column ran no thread: it has counted 0. Empty where a region is missing.
    """
    regions: dict[str, dict[int, dict[str, float]]] = {}
    for head, rows in _tables(said):
        if head[0].startswith("Region ") and head[1].endswith(" Raw"):
            regions[head[0].removeprefix("Region ")] = _columns(rows)
    result = []
    for number in range(repetitions):
        found = regions.get(f"nest{number}")
        if not found:
            return ()
        idle = dict.fromkeys(next(iter(found.values())), 0.0)
        result.append(tuple(found.get(cpu, idle) for cpu in cpus))
    return tuple(result)


def read_single(said: str) -> Values:
    """What the first core counted in a run without the marker API, by "EVENT:REGISTER"; empty where it did not."""
    for head, rows in _tables(said):
        if re.fullmatch(r"Group \d+ Raw", head[0]):
            return next(iter(_columns(rows).values()), {})
    return {}


def _tables(said: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """The header's fields after TABLE, and the rows; the program's own output may stand anywhere between tables."""
    head: list[str] | None = None
    rows: list[list[str]] = []
    for line in said.splitlines():
        fields = line.split(",")
        if fields[0] in ("TABLE", "STRUCT"):
            if head:
                yield head, rows
            head, rows = (fields[1:] if fields[0] == "TABLE" and len(fields) > 3 else None), []
        else:
            rows.append(fields)
    if head:
        yield head, rows


def _columns(rows: list[list[str]]) -> dict[int, dict[str, float]]:
    """Core -> event -> count. Versions before 5 call a core "Core 0" instead of "HWThread 0"."""
    cores: list[int] = []
    columns: dict[int, dict[str, float]] = {}
    for row in rows:
        if row[:2] == ["Event", "Counter"]:
            names = [re.fullmatch(r"(?:HWThread|Core) (\d+)", cell) for cell in row[2:]]
            cores = [int(name[1]) for name in names if name]
            columns = {core: {} for core in cores}
        elif len(row) >= 2 + len(cores) and row[0] != _RUNTIME:
            for core, cell in zip(cores, row[2:], strict=False):
                columns[core][f"{row[0]}:{row[1]}"] = _number(cell)
    return columns


def _number(text: str) -> float:
    """NaN for "-" and "nan", which LIKWID writes where a core has no such counter."""
    try:
        return float(text)
    except ValueError:
        return math.nan
