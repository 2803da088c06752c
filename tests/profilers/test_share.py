"""Sharing a machine between real processes: alone means alone."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from profilers.contained.errors import ProfilersError
from profilers.share import MachineShare

WORKER = """
import sys, time
from pathlib import Path
from profilers.share import MachineShare
share, log = MachineShare(Path(sys.argv[1])), Path(sys.argv[2])

def note(word):
    with log.open("a") as file:
        file.write(f"{word} {sys.argv[3]}\\n")

with share.computing():
    for _ in range(5):
        note("compute")
        time.sleep(0.01)
        with share.alone():
            note("begin")
            time.sleep(0.02)
            note("end")
share.close()
"""


def test_nobody_computes_while_one_is_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", WORKER, str(tmp_path / "lock"), str(log)]
    workers = [subprocess.Popen([*command, str(k)]) for k in range(3)]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0, 0]
    lines = log.read_text().splitlines()
    assert sum(line.startswith("begin") for line in lines) == 15
    for position, line in enumerate(lines):
        if line.startswith("begin"):
            assert lines[position + 1] == line.replace("begin", "end")


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    text = "import sys, time\nfrom pathlib import Path\nfrom profilers.share import MachineShare\n"
    text += "share = MachineShare(Path(sys.argv[1]))\nwith share.computing(), share.alone():\n"
    text += " print(flush=True)\n time.sleep(60)"
    worker = subprocess.Popen([sys.executable, "-c", text, str(lock)], stdout=subprocess.PIPE)
    assert worker.stdout is not None and worker.stdout.readline()
    worker.kill()
    worker.wait()
    began = time.monotonic()
    share = MachineShare(lock)
    with share.computing():
        assert time.monotonic() - began < 30  # and not as long as it would have slept
    share.close()


def test_no_place_for_the_lock(tmp_path: Path) -> None:
    with pytest.raises(ProfilersError, match="cannot lock"):
        MachineShare(tmp_path / "missing" / "lock")
