"""What `population` compares, and that it kills everything."""

import subprocess
import time
from pathlib import Path

from tests.campaigns.population import Content, PopulationResult, descendants, differences, kill_tree


def test_differences() -> None:
    one: Content = {"nests": frozenset({("a",), ("b",)}), "runs": frozenset({("r", 1)})}
    other: Content = {"nests": frozenset({("b",), ("c",), ("d",)}), "runs": frozenset({("r", 1)})}
    assert differences(one, one) == []
    assert differences(one, other) == ["1 nests missing, such as ('a',)", "2 nests additional, such as ('c',)"]


def test_verdict() -> None:
    assert PopulationResult(kills=3).passed
    assert not any(
        r.passed for r in (PopulationResult(lost=1), PopulationResult(twice=1), PopulationResult(differences=["x"]))
    )


def test_what_detached_itself_is_killed_too() -> None:
    process = subprocess.Popen(["sh", "-c", "setsid sleep 60 & wait"], start_new_session=True)
    while not (found := [p for p in descendants(process.pid) if b"sleep\0" in Path(f"/proc/{p}/cmdline").read_bytes()]):
        time.sleep(0.01)
    kill_tree(process.pid)
    assert process.wait() == -9
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{p}/stat").exists() and " Z " not in Path(f"/proc/{p}/stat").read_text() for p in found):
        assert time.monotonic() < deadline
        time.sleep(0.01)
