"""Counting with pylikwid: the child's tables are those of the command; the package's place is taken where it is not."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from profilers.likwid import LikwidBackend
from profilers.likwid_output import architecture, read_regions, read_single, refusal
from profilers.run import DEFAULT_ENVIRONMENT

CHILD = Path(__file__).parents[2] / "profilers/likwid_child.py"
# What pylikwid 0.4.2 with LIKWID 5.2.2 has of it, with numbers that tell event, core and region. As there, a failed
# init shows when events are added, a region's name ends with the number of its group, and an exit ends in an abort.
STAND_IN = """
import atexit, os, sys
atexit.register(os.abort)
cpus, events, regions, mode = [], [], [], 1
def hpmmode(chosen):
    global mode
    mode = chosen
def getconfiguration():
    return {"daemonMode": mode}
def inittopology():
    return True
def getcpuinfo():
    named = {"osname": "AMD EPYC 7763", "name": "AMD K19 (Zen3) architecture", "short_name": "zen3"}
    return {**named, "family": 25, "model": 1}
def init(chosen):
    cpus[:] = chosen
    return True
def addeventset(text):
    if text.startswith("NO_SUCH"):
        sys.stderr.write("WARN: Event NO_SUCH not found for current architecture\\n")
        return -22
    events[:] = text.split(",")
    return 0
def setup(group):
    return 0
def start():
    return 0
def stop():
    return 0
def getnumberofevents(group):
    return len(events)
def getresult(group, event, thread):
    return 1000.0 * (event + 1) + thread
def markerreadfile(path):
    regions[:] = open(path).read().split()
def markernumregions():
    return len(regions)
def markerregiontag(region):
    return regions[region] + "-0"
def markerregionevents(region):
    return len(events)
def markerregioncpulist(region):
    return cpus
def markerregionresult(region, event, thread):
    return 1000.0 * (event + 1) + 100 * thread + region
"""
# In the place of a program with the marker API: writes what it was told where it was told to.
PROGRAM = (
    "import os; open(os.environ['LIKWID_FILEPATH'], 'w').write('nest0 nest1');"
    "print(*(os.environ[name] for name in ('LIKWID_MODE', 'LIKWID_EVENTS', 'LIKWID_THREADS', 'LIKWID_PIN')))"
)


def counted(folder: Path, *arguments: str, stand_in: str = STAND_IN) -> subprocess.CompletedProcess[str]:
    (folder / "pylikwid.py").write_text(stand_in)
    env = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, str(CHILD), *arguments], capture_output=True, text=True, env=env)


def test_regions_are_read_as_those_of_the_command(tmp_path: Path) -> None:
    ended = counted(tmp_path, "-M", "0", "-O", "-m", "-C", "1,0", "-g", "A:PMC0,B:PMC1", sys.executable, "-c", PROGRAM)
    assert ended.returncode == 0, ended.stderr
    assert "0 A:PMC0,B:PMC1 1,0 0,1" in ended.stdout.splitlines()
    assert read_regions(ended.stdout, (0, 1), 2) == (
        ({"A:PMC0": 1100.0, "B:PMC1": 2100.0}, {"A:PMC0": 1000.0, "B:PMC1": 2000.0}),
        ({"A:PMC0": 1101.0, "B:PMC1": 2101.0}, {"A:PMC0": 1001.0, "B:PMC1": 2001.0}),
    )


def test_a_whole_run_is_read_as_that_of_the_command(tmp_path: Path) -> None:
    ended = counted(tmp_path, "-O", "-C", "0", "-g", "A:FIXC0", "false")
    assert ended.returncode == 1 and read_single(ended.stdout) == {"A:FIXC0": 1000.0}


def test_the_cpu_is_described(tmp_path: Path) -> None:
    assert architecture(counted(tmp_path, "-i").stdout) == {
        "CPU name": "AMD EPYC 7763",
        "CPU type": "AMD K19 (Zen3) architecture",
        "CPU family": "25",
        "CPU model": "1",
        "CPU short": "zen3",
    }


def test_what_cannot_be_counted_is_said(tmp_path: Path) -> None:
    ended = counted(tmp_path, "-O", "-C", "0", "-g", "NO_SUCH:PMC0", "true")
    assert ended.returncode == 1 and "does not know the event NO_SUCH" in refusal(ended.stdout, ended.stderr)
    crashed = counted(tmp_path, "-m", "-C", "0", "-g", "A:PMC0", "true")
    assert "crashed or ended the process" in refusal(crashed.stdout, crashed.stderr)
    broken = counted(tmp_path, "-i", stand_in="raise ImportError('liblikwid.so.5: no such file')")
    assert broken.returncode == 1 and "liblikwid.so.5" in broken.stderr


def test_a_package_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pylikwid") is not None:
        pytest.skip("pylikwid is installed")
    found = LikwidBackend(package=True).available(DEFAULT_ENVIRONMENT)
    assert not found.usable and "pylikwid cannot be loaded" in found.detail


@pytest.mark.skipif(
    importlib.util.find_spec("pylikwid") is None or shutil.which("likwid-perfctr") is None, reason="no pylikwid here"
)
def test_the_real_package_sees_the_cpu_that_the_command_sees() -> None:
    child, command = (
        architecture(subprocess.run([*argv, "-i"], capture_output=True, text=True).stdout)
        for argv in ([sys.executable, str(CHILD)], ["likwid-perfctr"])
    )
    assert child and child.items() <= command.items()
