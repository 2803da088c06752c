"""`perfembed tune` on programs that misbehave: a documented exit code, no survivor, and never another result."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from perfembed.cli.building import default_output
from tests.attack.behaviours import BEHAVIOURS, Behaviour
from tests.attack.harness import check, children, end_survivors, known_open, perfembed

pytestmark = pytest.mark.gcc

LIMIT_S = 60.0


def parameters() -> list[object]:
    found = []
    for b in BEHAVIOURS.values():
        marks = [pytest.mark.slow] if b.slow else []
        found.append(pytest.param(b, id=b.name, marks=[*marks, *known_open(b.open)]))
    return found


@pytest.mark.parametrize("found", parameters())
def test_tune(found: Behaviour, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    source = folder / found.file
    source.write_bytes(found.source)
    flags = () if any(o.startswith("--cflags") for o in found.options) else ("--cflags=-O1",)

    run = perfembed(
        ("tune", *flags, *found.options, "--budget", "1s", "--threads", "1", "--json", "-q", "--", found.file),
        folder,
        tmp_path / "scratch",
        LIMIT_S,
        stop_after_s=found.stop_after_s,
    )

    check(run, found.codes, found.said)
    if not found.changes:
        assert source.read_bytes() == found.source
    output = folder / default_output(found.file)
    expected = {source.name, output.name} if run.code in (0, 130) else {source.name}
    assert {path.name for path in folder.iterdir()} <= expected
    if run.code != 0:
        assert not output.exists() or output.read_bytes() == found.source
        return
    document = json.loads(run.out)
    assert document["schema_version"] == 1
    if not any(nest["status"] == "tuned" for nest in document["nests"]):
        assert output.read_bytes() == found.source
    elif b"int main" in found.source:
        original = tmp_path / found.file
        original.write_bytes(found.source)
        tuned, before = printed(output, found, tmp_path), printed(original, found, tmp_path)
        assert tuned.split(b" ns")[0][:16] == before[:16] if found.name == "prints-the-time" else tuned == before


def printed(source: Path, found: Behaviour, folder: Path) -> bytes:
    extra = [flag for option in found.options for flag in option.split() if flag in ("-pthread", "-std=gnu89")]
    command = ["gcc", "-O2", "-w", "-ffp-contract=off", "-fopenmp", *extra, str(source), "-o", str(folder / "program")]
    subprocess.run([*command, "-lm"], check=True, timeout=60)
    command = [str(folder / "program")]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    before = children()
    with (folder / "printed").open("wb") as out:  # no pipe: what the program leaves running would keep it open
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, timeout=30, env=environment, cwd=folder)
    end_survivors(before, 0.0)
    assert done.returncode == 0
    return (folder / "printed").read_bytes()
