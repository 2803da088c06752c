"""Profiles of many nests: variants of files, and a small run of it all that is resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from optdb.database import Database
from perfembed.learning.training_profiles import export_profiles, is_nest, read_examples
from perfembed.profiling.profile_many import MachineShare, ProgramProfiled, profile_nests
from perfembed.profiling.subjects import ProfilingOptions, variant
from perfembed.retrieval.donors import donor_shards, read_donors
from profilers.contained.errors import ProfilersError

WORKER = """
import sys, time
from pathlib import Path
from perfembed.profiling.profile_many import MachineShare
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


@pytest.mark.machine
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


@pytest.mark.machine
def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    text = "import sys, time\nfrom pathlib import Path\nfrom perfembed.profiling.profile_many import MachineShare\n"
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


TEXT = """#include <math.h>
#ifndef N
#define N SIZE(100, 10000)
#endif
#ifdef SMALL
#define M 5
#define K 7
#else
#define M 500
#define K 9
#endif
double x[N][M];
/* double as nothing */
void f(void) { for (int i = 0; i < N; i++) for (int j = 0; j < M; j++) x[i][j] = sqrt(x[i][j]); }
void g(int n, int *p) { for (int i = 0; i < n; i++) p[i] = i; }
"""


def sizes(flags: tuple[str, ...]) -> dict[str, int]:
    return {flag[2:].split("=")[0]: int(flag.split("=")[1]) for flag in flags}


def test_variants_have_other_sizes_and_types(tmp_path: Path) -> None:
    path = tmp_path / "some.c"
    path.write_text(TEXT)
    made = [variant(str(path), n, 3) for n in range(40)]
    assert made == [variant(str(path), n, 3) for n in range(40)]
    for number, one in enumerate(made):
        found = sizes(one.flags)
        assert found.keys() == {"N", "M", "K"}
        assert 100 <= found["N"] <= 10_000 and 5 <= found["M"] <= 500 and 7 <= found["K"] <= 9
        assert ("float x[N][M]" in one.text) == (number % 2 == 1) and "#include <math.h>" in one.text
        assert one.source.algorithm == "some"
    assert len({one.flags for one in made}) > 30


def test_a_third_size_is_not_drawn(tmp_path: Path) -> None:
    path, third = tmp_path / "some.c", tmp_path / "third" / "some.c"
    third.parent.mkdir()
    path.write_text(TEXT)
    more = TEXT.replace("SIZE(100, 10000)", "SIZE(100, 10000, 90000)")
    third.write_text(more.replace("#else\n", "#elif defined XLARGE\n#define M 70000\n#define K 80000\n#else\n"))
    for number in range(5):
        assert variant(str(third), number, 3).flags == variant(str(path), number, 3).flags


@pytest.mark.gcc
@pytest.mark.parametrize("files", [True, False])
def test_nests_are_profiled_once(tmp_path: Path, files: bool) -> None:
    path = tmp_path / "some.c"
    path.write_text(TEXT.replace("10000", "200"))
    options = ProfilingOptions(
        database=tmp_path / "a.db",
        seed=1,
        count=2,
        jobs=2,
        threads=2,
        cflags=("-O2",),
        environment=tuple(os.environ.items()),
        files=(str(path),) if files else (),
    )
    told: list[ProgramProfiled] = []
    result = profile_nests(options, told.append, print)
    assert result.programs == 2 and result.profiles == (4 if files else 2), told
    assert {one.name for one in told} == ({"some 0", "some 1"} if files else {"gen_1_0", "gen_1_1"})
    assert profile_nests(options, told.append, print).programs == 0
    shard = tmp_path / "a.parquet"
    assert export_profiles(options.database, shard) == result.profiles
    examples = read_examples([shard], lambda target: (float(target.threads),), disturbed=True)
    assert len(examples) == result.profiles and all(is_nest(e.group) is not files for e in examples)
    with Database.open(options.database, read_only=True) as database:
        assert database.value("SELECT count(*) FROM _store.profiles") == result.profiles


@pytest.mark.gcc
def test_donors_are_profiled_at_their_sizes(tmp_path: Path) -> None:
    donors = tuple(d for d in read_donors(donor_shards()).values() if d.speedups[0] < 2)[:2]
    options = ProfilingOptions(
        database=tmp_path / "a.db",
        seed=1,
        count=0,
        jobs=2,
        threads=2,
        environment=tuple(os.environ.items()),
        donors=donors,
    )
    told: list[ProgramProfiled] = []
    result = profile_nests(options, told.append, print)
    assert result.profiles == 2 and {one.name for one in told} == {d.name for d in donors}, told
    assert profile_nests(options, told.append, print).programs == 0
    with Database.open(options.database, read_only=True) as database:
        stored = database.rows("SELECT nest_id, c.sizes FROM _store.profiles JOIN conditions c USING (conditions_id)")
    assert {(key, tuple(sorted(json.loads(sizes).items()))) for key, sizes in stored} == {
        (d.nest_id, tuple(sorted(d.sizes.items()))) for d in donors
    }
