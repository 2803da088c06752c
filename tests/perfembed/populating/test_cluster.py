"""`populate --cluster`: real worker processes, one of which is killed."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from optdb.database import Database
from optdb.records import SourceRecord, format_record
from perfembed.errors import EnvironmentMissing
from perfembed.populating.cluster import Returned, connected, keep, places, populate_cluster, search_apart
from perfembed.populating.populate import make_plan, populate, recover, this_place
from perfembed.populating.programs import (
    NestSearched,
    PopulateEvent,
    PopulateOptions,
    ProgramDone,
    ProgramSkipped,
    ProgramStarted,
    programs_of,
)
from tests.campaigns.population import content, inconsistencies
from tests.perfembed.populate_support import write_programs

distributed: Any = pytest.importorskip("distributed")


@pytest.fixture
def options(tmp_path: Path) -> PopulateOptions:
    environment = tuple(os.environ.items())
    return PopulateOptions(tmp_path / "db.duckdb", "random", 3, 5, cflags=("-O1",), environment=environment)


@pytest.fixture
def cluster(options: PopulateOptions) -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        resources={"measure": 1},
        dashboard_address=None,
        silence_logs=50,
    ) as found:
        yield found


@pytest.mark.gcc
def test_a_program_apart(options: PopulateOptions, tmp_path: Path) -> None:
    one, _, bad, _ = write_programs(tmp_path / "programs")
    found, broken = (search_apart(p.read(), options) for p in programs_of([str(one), str(bad)], 0, 5))
    assert [type(event) for event in found.events] == [NestSearched, ProgramDone]
    assert [type(event) for event in broken.events] == [ProgramSkipped]
    assert [kind for kind, _ in found.records].count("measurement") >= 3
    assert not options.database.exists() and not list((tmp_path / "tmp").rglob("records.duckdb*"))
    source = SourceRecord.of("x", "file", "x.c", "x")
    forged = Returned((*found.records, ("run", "{}"), ("x", "y"), ("source", format_record(source))), ())
    assert keep(forged, options.database) == 2
    recover(options.database)
    with Database.open(options.database, read_only=True) as database:
        assert database.value("SELECT count(*) FROM _store.measurements WHERE kind = 'search'") == 3
        assert database.value("SELECT count(*) FROM _store.runs") == 1
    assert inconsistencies(options.database) == []


@pytest.mark.slow
def test_a_worker_dies(options: PopulateOptions, cluster: Any, tmp_path: Path) -> None:
    programs = programs_of(list(map(str, write_programs(tmp_path / "programs")[:3])), 0, 5)
    started: list[PopulateEvent] = []
    events: list[PopulateEvent] = []
    killed: list[int] = []

    with connected(cluster.scheduler_address) as client:

        def progress(event: PopulateEvent) -> None:
            events.append(event)
            if isinstance(event, ProgramStarted):
                started.append(event)
                if len(started) == 2:
                    killed.append(next(iter(client.run(os.getpid).values())))
                    time.sleep(0.3)
                    os.kill(killed[0], signal.SIGKILL)

        assert places(client, options) == (this_place(options),)
        plan = make_plan(programs, options, places(client, options))
        assert len(plan.waiting) == 3
        result = populate_cluster(client, plan, options, progress)
        assert killed and result.complete and not result.interrupted
        assert (result.programs, result.skipped, result.nests, result.labels, result.lost) == (3, 1, 2, 6, 0)
        assert make_plan(programs, options, places(client, options)).waiting == ()

    here = replace(options, database=tmp_path / "here.duckdb")
    assert populate(make_plan(programs, here), here, lambda event: None).complete
    assert content(options.database) == content(here.database)
    assert inconsistencies(options.database) == []


@pytest.mark.slow
def test_interrupted(options: PopulateOptions, cluster: Any, tmp_path: Path) -> None:
    one, two, *_ = write_programs(tmp_path / "programs")
    programs = programs_of([str(one), str(two)], 0, 5)

    def progress(event: PopulateEvent) -> None:
        if isinstance(event, ProgramDone):
            raise KeyboardInterrupt  # as Ctrl-C does wherever it meets us

    with connected(cluster.scheduler_address) as client:
        plan = make_plan(programs, options, places(client, options))
        result = populate_cluster(client, plan, options, progress)
        assert result.interrupted and not result.complete and result.programs == 1
        rest = make_plan(programs, options, places(client, options))
        assert len(rest.waiting) == 1
        assert populate_cluster(client, rest, options, lambda event: None).complete
    with Database.open(options.database, read_only=True) as database:
        assert database.value("SELECT count(*) FROM _store.measurements WHERE kind = 'search'") == 6


@pytest.mark.gcc
def test_what_is_missing(options: PopulateOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as bare,
        connected(bare.scheduler_address) as client,
        pytest.raises(EnvironmentMissing, match="no worker of the cluster has the resource 'measure'") as caught,
    ):
        places(client, options)
    assert "--resources measure=1" in caught.value.advice
    with pytest.raises(EnvironmentMissing, match="cannot connect"), connected("nonsense://x"):
        pass
    monkeypatch.setattr("perfembed.populating.cluster._CONNECT_S", 0.5)
    with pytest.raises(EnvironmentMissing, match="cannot connect"), connected("tcp://127.0.0.1:9"):
        pass
