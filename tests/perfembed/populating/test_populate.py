"""`populate`: what it plans, and that nothing is lost or measured twice however it ends. Real processes."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from optdb.database import Database
from optdb.exchange import merge
from optdb.locks import FileLock
from perfembed.cli.generate import only_patterns
from perfembed.errors import UsageError
from perfembed.learning.cost_models import part_of
from perfembed.populating.populate import make_plan, populate, recover, this_place
from perfembed.populating.programs import (
    Place,
    PopulateEvent,
    PopulateOptions,
    PopulateResult,
    Program,
    ProgramSkipped,
    programs_of,
    source_record,
)
from scheduler.generator.programs import GeneratorSettings
from tests.campaigns.population import content, inconsistencies, kill_tree, measurements
from tests.little_time import no_time_to_read
from tests.perfembed.populate_support import run, spooled, start, write_programs

Programs = tuple[Path, Path, Path, Path]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return write_programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def whole(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of an undisturbed run over both programs."""
    path = tmp_path_factory.mktemp("whole") / "db.duckdb"
    code, out, err = run(path, *programs)
    assert code == 0, err
    assert out.startswith("4 programs, 2 nests, 6 candidates measured") and "2 programs skipped" in out
    assert "2/4 two.c".replace("two.c", str(programs[1])) in err
    assert "bad.c: skipped: " in err and "none.c: skipped: " in err
    return path


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str], limit_s: float = 60.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def alone(programs: Programs, whole: Path, tmp_path: Path) -> Iterator[Callable[[Path], None]]:
    """Checks a database of the first program against the undisturbed one."""

    def check(path: Path) -> None:
        found, expected = content(path), content(whole)
        (source,) = found["sources"]
        nests = {row[0] for row in expected["nests in sources"] if row[1] == source[0]}
        assert nests == {row[0] for row in found["nests"]}
        with Database.open(whole, read_only=True) as opened:
            rows = opened.rows("SELECT measurement_id, nest_id FROM _store.measurements WHERE kind = 'search'")
        assert {row[0] for row in found["search measurements"]} == {m for m, nest in rows if nest in nests}
        assert len(found["search measurements"]) == 3
        assert found["runs"] <= expected["runs"] and inconsistencies(path) == []

    yield check


@pytest.mark.gcc
@pytest.mark.usefixtures("own_parser")
def test_what_there_was_no_time_to_read_is_not_done(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = programs_of([str(programs[0]), str(programs[3])], 0, 5)
    options = PopulateOptions(tmp_path / "db.duckdb", schedules=2, cflags=("-O1",), environment=(("PATH", os.defpath),))
    told: list[PopulateEvent] = []

    def once() -> PopulateResult:
        recover(options.database)
        return populate(make_plan(listed, options), options, told.append)

    with monkeypatch.context() as patch:
        no_time_to_read(patch, "one.c")
        result = once()
    assert (result.programs, result.skipped, result.unread, result.complete) == (2, 2, 1, False)
    (again,) = (event for event in told if isinstance(event, ProgramSkipped) and event.again)
    assert "not read: the C parser needed more than" in again.reason
    assert [program.path for program in make_plan(listed, options).waiting] == [str(programs[0])]
    result = once()
    assert (result.programs, result.skipped, result.nests, result.unread, result.complete) == (1, 0, 1, 0, True)
    assert not make_plan(listed, options).waiting


@pytest.mark.gcc
def test_a_share_is_drawn_from_all_that_is_legal(programs: Programs, tmp_path: Path) -> None:
    path = tmp_path / "db.duckdb"
    code, out, err = run(path, programs[1], "--search=beam", "--schedules=5", "--drawn=0.6")
    assert code == 0, err
    assert out.startswith("1 program, 1 nest, 5 candidates (3 drawn) measured")
    with Database.open(path, read_only=True) as opened:
        schedules = {text for (text,) in opened.rows("SELECT schedule FROM measurements WHERE kind = 'search'")}
    assert len(schedules) >= 5 and any("reschedule(" in text for text in schedules)


def test_programs() -> None:
    made = programs_of(["x/a.c", "b.c"], 2, 7)
    assert [p.path for p in made] == ["x/a.c", "b.c", "gen_7_0.c", "gen_7_1.c"]
    assert [p.algorithm for p in made] == ["a", "b", "generated", "generated"]
    assert b"kernel" in made[2].content() and made[2].content() != made[3].content()
    with pytest.raises(UsageError, match=r"b\.c"):
        made[1].content()
    held_out = programs_of(["x/a.c"], 40, 7, held_out=True)
    assert held_out[0].path == "x/a.c" and 1 < len(held_out) < 20
    patterns = [source_record(program, program.content()).algorithm for program in held_out[1:]]
    assert {part_of(name) for name in patterns} == {"test"}
    large = programs_of([], 1, 7, GeneratorSettings(least_work=2e7, most_work=2e8))[0]
    assert large.content() != made[2].content() and max(large.sizes().values()) > max(made[2].sizes().values())
    assert source_record(large, large.content()).place == "seed 7 number 0 work 2e+07 to 2e+08"
    sparse = programs_of([], 1, 7, GeneratorSettings(1e6, 3e7, weights=only_patterns(["sparse"])))[0]
    assert source_record(sparse, sparse.content()).algorithm == "sparse"
    assert source_record(sparse, sparse.content()).place == "seed 7 number 0 only sparse"


@pytest.mark.gcc
def test_plan(programs: Programs, whole: Path, tmp_path: Path) -> None:
    listed = programs_of(list(map(str, programs)), 3, 5)
    options = PopulateOptions(whole, "random", 3, 5, cflags=("-O1",), threads=1, environment=tuple(os.environ.items()))
    plan = make_plan(listed, options)
    assert [p.path for p in plan.waiting] == ["gen_5_0.c", "gen_5_1.c", "gen_5_2.c"] and plan.total == 7
    second = make_plan(listed, replace(options, database=tmp_path / "none", shard=(2, 3)))
    assert [Path(p.path).name for p in second.waiting] == ["two.c", "gen_5_0.c"] and second.total == 2
    assert second.waiting[0].text == programs[1].read_bytes()
    for change in (
        {"seed": 6},
        {"schedules": 4},
        {"cflags": ("-O2",)},
        {"search": "beam"},
        {"threads": 2},
        {"nest_budget_s": 600.0},
        {"refine": True},
    ):
        assert len(make_plan(listed, replace(options, **change)).waiting) == 7
    here = this_place(options)
    elsewhere = Place("0" * 16, here.compiler)
    assert len(make_plan(listed, options, [elsewhere]).waiting) == 7
    assert len(make_plan(listed, options, [elsewhere, here]).waiting) == 3
    with pytest.raises(UsageError, match=r"missing\.c"):
        make_plan([Program("missing.c", "missing")], replace(options, database=tmp_path / "none"))


@pytest.mark.gcc
def test_dry_run_touches_nothing(programs: Programs, tmp_path: Path) -> None:
    code, out, _ = run(tmp_path / "db.duckdb", "--dry-run", *programs[:2])
    assert code == 0 and out.startswith("2 programs, 0 of them done already") and str(programs[0]) in out
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


@pytest.mark.gcc
def test_what_is_done_is_left_alone(programs: Programs, whole: Path) -> None:
    before = measurements(whole)
    code, out, err = run(whole, *programs)
    assert (code, err) == (0, "") and out.startswith("0 programs, 0 nests, 0 candidates measured")
    assert measurements(whole) == before


@pytest.mark.gcc
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_interrupted_and_resumed(
    number: signal.Signals, programs: Programs, alone: Callable[[Path], None], tmp_path: Path
) -> None:
    for attempt in range(5):  # it may end by itself before the signal comes
        path = tmp_path / f"{attempt}.duckdb"
        process = start(path, programs[0])
        wait_for(lambda path=path: "measurement" in spooled(path), process)  # type: ignore[misc]
        if number == signal.SIGKILL:
            kill_tree(process.pid)
        else:
            process.send_signal(number)
        out, err = process.communicate(timeout=60)
        if process.returncode != 0:
            break
    assert process.returncode == (-9 if number == signal.SIGKILL else 130), err
    if number != signal.SIGKILL:
        assert "interrupted" in out and "Traceback" not in err
    recover(path)
    before = times_measured(path)
    assert before and spooled(path) == []
    code, _, err = run(path, programs[0])
    assert code == 0, err
    assert before.items() <= times_measured(path).items()  # the same rows: not measured again
    alone(path)


def times_measured(path: Path) -> dict[str, float]:
    with Database.open(path, read_only=True) as opened:
        return dict(opened.rows("SELECT measurement_id, measured_at FROM _store.measurements"))


@pytest.mark.gcc
def test_interrupted_while_it_stores(programs: Programs, alone: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "db.duckdb"
    process = start(path, programs[0])
    wait_for(lambda: "run" in spooled(path), process)  # the database is there and settled
    lock = FileLock(path.with_name(path.name + ".lock"))
    lock.acquire(10.0, "test")
    try:
        wait_for(lambda: spooled(path).count("run") == 2, process)  # the program is done: it waits for the lock
        for _ in range(2):  # the second one while it tries to store what there is after the first
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        lock.release()
    assert process.returncode == 130 and "Traceback" not in err
    assert "kept in the spool: interrupted" in err
    waiting = Counter(spooled(path))
    assert waiting["measurement"] >= 3
    code, out, _ = run(path, programs[0])
    assert code == 0 and out.startswith("0 programs, 0 nests, 0 candidates measured")
    assert len(measurements(path)) == waiting["measurement"] and spooled(path) == []
    alone(path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.gcc
def test_full_disk(programs: Programs, alone: Callable[[Path], None], small_disk: Path, tmp_path: Path) -> None:
    path, real = tmp_path / "db.duckdb", small_disk / "db.duckdb"
    Database.open(real).close()
    for name in ("db.duckdb", "db.duckdb.lock", "db.duckdb.wal", "db.duckdb.spool"):
        (tmp_path / name).symlink_to(small_disk / name)
    (small_disk / "db.duckdb.spool").mkdir()
    free = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(b"\0" * (free.f_bavail * free.f_frsize - 4096))
    code, _, err = run(path, programs[0], "--quiet")
    assert code == 7, err
    assert err.startswith("perfembed populate: ") and "no space left" in err and len(err.splitlines()) == 2
    (small_disk / "filler").unlink()
    code, _, err = run(path, programs[0])
    assert code == 0, err
    alone(path)


@pytest.mark.slow
def test_two_shards_are_one_run(programs: Programs, whole: Path, tmp_path: Path) -> None:
    for shard in (1, 2):
        code, _, err = run(tmp_path / f"{shard}.duckdb", *programs, "--shard", f"{shard}/2")
        assert code == 0, err
    with Database.open(tmp_path / "merged.duckdb") as database:
        for shard in (1, 2):
            assert merge(database, tmp_path / f"{shard}.duckdb").refused == 0
    assert content(tmp_path / "merged.duckdb") == content(whole)
    assert inconsistencies(tmp_path / "merged.duckdb") == []
