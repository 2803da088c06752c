"""A process of its own that counts with pylikwid: `likwid.py` starts it in the place of `likwid-perfctr`.

It takes the options that are given to `likwid-perfctr` there and writes the same tables, so that one parser reads both:
`-i` describes the CPU; `-C CPUS -g EVENTS PROGRAM` counts a whole run; with `-m` each region of the marker API is a
table. LIKWID's own messages go to standard error. The package must not be loaded elsewhere: it ends the process at exit
(Python 3.11), and a counter that cannot be read does so, too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

from profilers.contained.scratch import scratch_folder

_PIN_LIBRARY = "liblikwidpin.so"
_CPU = (("CPU name", "osname"), ("CPU type", "name"), ("CPU family", "family"), ("CPU model", "model"))


def main(argv: Sequence[str]) -> int:
    """The exit status: of the program where it ran, else 1 after a message on standard error."""
    parser = argparse.ArgumentParser(prog="likwid_child")
    parser.add_argument("-O", action="store_true")  # always
    parser.add_argument("-i", action="store_true")
    parser.add_argument("-m", action="store_true")
    parser.add_argument("-M", type=int)
    parser.add_argument("-C", type=lambda text: [int(cpu) for cpu in text.split(",")], default=[0])
    parser.add_argument("-g", default="")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    asked = parser.parse_args(argv)
    try:
        import pylikwid  # type: ignore[import-not-found]
    except ImportError as problem:
        print(f"pylikwid cannot be loaded: {problem}", file=sys.stderr)
        return 1
    if asked.i:
        return _describe(pylikwid)
    if asked.M is not None:
        pylikwid.hpmmode(asked.M)
    mode = asked.M if asked.M is not None else (pylikwid.getconfiguration() or {}).get("daemonMode", 1)
    pylikwid.init(asked.C)  # that this went wrong shows when events are added
    group = pylikwid.addeventset(asked.g)
    if group < 0 or pylikwid.setup(group) < 0:
        print("pylikwid could not set the counters up", file=sys.stderr)
        return 1
    with scratch_folder() as folder:
        path = os.path.join(folder, "regions.txt")
        environment = {**os.environ, **_marker_environment(path, mode, asked.g, asked.C)} if asked.m else None
        if not asked.m and pylikwid.start() < 0:
            print("pylikwid could not start the counters", file=sys.stderr)
            return 1
        ended = subprocess.run(asked.program, env=environment, close_fds=False).returncode
        if not asked.m:
            pylikwid.stop()
            values = {cpu: _counts(pylikwid, group, place) for place, cpu in enumerate(asked.C)}
            _table("Group 1 Raw", asked.g.split(","), values)
        elif os.path.exists(path):
            pylikwid.markerreadfile(path)
            for region in range(pylikwid.markernumregions()):
                _table(f"Region {_tag(pylikwid, region)},Group 1 Raw", asked.g.split(","), _regions(pylikwid, region))
        else:
            print("Marker API result file does not exist", file=sys.stderr)
    return ended if ended >= 0 else 128 - ended


def _describe(likwid: ModuleType) -> int:
    if not likwid.inittopology():
        print("pylikwid cannot read the topology", file=sys.stderr)
        return 1
    found: Mapping[str, object] = likwid.getcpuinfo()
    for label, name in (*_CPU, ("CPU short", "short_name")):
        value = found.get(name)
        print(f"{label}:\t{'nil' if value is None else value}")
    return 0


def _marker_environment(path: str, mode: int, events: str, cpus: Sequence[int]) -> dict[str, str]:
    """What the marker API reads in the program (likwid-perfctr 5 sets the same), each thread on its own core."""
    found = {
        "LIKWID_FILEPATH": path,
        "LIKWID_MODE": str(mode),
        "LIKWID_DEBUG": "0",
        "LIKWID_EVENTS": events,
        "LIKWID_THREADS": ",".join(map(str, cpus)),
        "LIKWID_FORCE": os.environ.get("LIKWID_FORCE", "-1"),
        "LIKWID_SILENT": "true",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(len(cpus))),
    }
    if len(cpus) == 1:
        return {**found, "LIKWID_PIN": str(cpus[0])}
    before = os.environ.get("LD_PRELOAD", "")
    return {
        **found,
        "LIKWID_PIN": ",".join(map(str, (*cpus[1:], cpus[0]))),  # the first thread comes last
        "LD_PRELOAD": f"{_PIN_LIBRARY}:{before}" if before else _PIN_LIBRARY,
    }


def _counts(likwid: ModuleType, group: int, thread: int) -> list[float]:
    return [likwid.getresult(group, event, thread) for event in range(likwid.getnumberofevents(group))]


def _regions(likwid: ModuleType, region: int) -> dict[int, list[float]]:
    events = likwid.markerregionevents(region)
    return {
        cpu: [likwid.markerregionresult(region, event, thread) for event in range(events)]
        for thread, cpu in enumerate(likwid.markerregioncpulist(region))
    }


def _tag(likwid: ModuleType, region: int) -> str:
    """LIKWID appends the number of the group to the name: "nest0-0"."""
    return str(likwid.markerregiontag(region)).rpartition("-")[0] or str(likwid.markerregiontag(region))


def _table(head: str, events: Sequence[str], values: Mapping[int, Sequence[float]]) -> None:
    """As `likwid-perfctr -O` writes it; `values`: core -> one count for each event."""
    print(f"TABLE,{head},Custom,{len(events)}")
    print(",".join(["Event", "Counter", *(f"HWThread {cpu}" for cpu in values)]))
    for place, event in enumerate(events):
        name, _, counter = event.partition(":")
        print(",".join([name, counter, *(f"{counts[place]:.17g}" for counts in values.values())]))


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # an ordinary exit would abort in the package
