"""`populate` on the workers of a Dask cluster: a program a task, one measurement at a time on a worker.

A worker keeps the records of a program in a spool of its own and gives them back as text; the client takes them in as
foreign data and stores them. What a worker had when it died was not acknowledged: the program is searched again
elsewhere. Dask hands objects over by pickle: whoever reaches the scheduler can run anything, so keep it private.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from optdb.errors import RecordError
from optdb.records import parse_record
from optdb.spool import SUFFIX, SpoolWriter, spool_directory
from optdb.spool_reader import Position, SpoolFile
from perfembed.errors import EnvironmentMissing
from perfembed.populating.populate import search_program, settled, this_place
from perfembed.populating.programs import (
    Place,
    Plan,
    PopulateEvent,
    PopulateOptions,
    PopulateResult,
    Program,
    ProgramSkipped,
    ProgramStarted,
    Told,
)
from profilers.contained.scratch import scratch_folder

Client = Any  # distributed.Client: Dask is optional, and hardly typed
RESOURCE = "measure"
WORKERS = f"dask worker ADDRESS --nthreads 1 --resources {RESOURCE}=1"
_CONNECT_S = 15.0
_RETRIES = 3  # of a program whose worker died or failed
_PART_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Returned:
    """What a worker gives back: records as (kind, JSON), and what happened."""

    records: tuple[tuple[str, str], ...]
    events: tuple[PopulateEvent, ...]


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the cluster. Raises EnvironmentMissing with what to do."""
    dask = _dask()
    try:
        client = dask.Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as problem:
        text = " ".join(str(problem).split())[:200]
        raise EnvironmentMissing(f"--cluster {address}: cannot connect: {text}", "start one: dask scheduler") from None
    try:
        yield client
    finally:
        with suppress(OSError):
            client.close(timeout=5.0)


def places(client: Client, options: PopulateOptions) -> tuple[Place, ...]:
    """Machine and compiler of each worker that may measure. Raises EnvironmentMissing."""
    workers = _measuring(client)
    if not workers:
        raise EnvironmentMissing(f"no worker of the cluster has the resource {RESOURCE!r}", f"start them so: {WORKERS}")
    try:
        found = client.run(this_place, options, workers=workers)
    except Exception as problem:  # whatever the worker raised, such as a package that is missing there
        text = f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
        raise EnvironmentMissing(f"a worker of the cluster cannot measure: {text}") from None
    return tuple(sorted(set(found.values()), key=lambda place: (place.machine, place.compiler)))


def populate_cluster(
    client: Client, plan: Plan, options: PopulateOptions, progress: Callable[[PopulateEvent], None]
) -> PopulateResult:
    """As `populating.populate.populate`, on the cluster. A program whose workers all died waits for another run."""
    began = time.monotonic()
    result = PopulateResult()
    count = result.counting(progress)
    waiting = list(enumerate(plan.waiting, 1))[::-1]
    running: dict[Any, Program] = {}  # by future
    given_up = 0
    done = _dask().as_completed(loop=client.loop)

    def fill() -> None:
        slots = max(1, len(_measuring(client)))
        while waiting and len(running) < slots and time.monotonic() < began + options.budget_s:
            position, program = waiting.pop()
            future = client.submit(
                search_apart, program, options, pure=False, resources={RESOURCE: 1}, retries=_RETRIES
            )
            running[future] = program
            done.add(future)
            progress(ProgramStarted(program, position, len(plan.waiting)))

    try:
        fill()
        while running:
            future = next(done)
            program = running.pop(future)
            fill()
            problem = future.exception()
            if problem is None:
                returned: Returned = future.result()
                result.lost += keep(returned, options.database)
                for event in returned.events:
                    count(event)
                progress(settled(options.database, result))
            else:
                given_up += 1
                text = f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
                progress(ProgramSkipped(program, f"given up for now: {text}"))
            future.release()
        result.complete = not waiting and not given_up and not result.unread
    except KeyboardInterrupt:
        result.interrupted = True
        client.cancel(list(running), force=True)
        progress(settled(options.database, result))
    result.seconds = time.monotonic() - began
    return result


def search_apart(program: Program, options: PopulateOptions) -> Returned:
    """On the worker: searches a program into a folder of its own. Raises OptdbError."""
    events: list[PopulateEvent] = []

    def note(event: PopulateEvent) -> None:
        if not isinstance(event, Told):  # whom it waited for is no news when it has ended
            events.append(event)

    with scratch_folder() as folder:
        database = folder / "records.duckdb"
        search_program(program, replace(options, database=database), note)
        return Returned(tuple(_spooled(spool_directory(database))), tuple(events))


def keep(returned: Returned, database: Path) -> int:
    """Appends what a worker measured to our spool; how many records were none. Raises OptdbError."""
    records, refused = [], 0
    for kind, text in returned.records:
        try:
            records.append(parse_record(kind, text))
        except RecordError:
            refused += 1
    with SpoolWriter(spool_directory(database)) as writer:
        writer.append(records)
    return refused


def _spooled(spool: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(spool.glob("*" + SUFFIX)):
        file = SpoolFile(path)
        try:
            position = Position()
            while True:
                chunk = file.read(position, _PART_BYTES)
                for kind, texts in chunk.texts.items():
                    yield from ((kind, text) for text in texts)
                if chunk.last or chunk.after == position:
                    break
                position = chunk.after
        finally:
            file.close()


def _dask() -> Any:
    """The package. Raises EnvironmentMissing."""
    try:
        return import_module("distributed")
    except ImportError:
        raise EnvironmentMissing("--cluster needs Dask", "pip install 'perfembed[cluster]'") from None


def _measuring(client: Client) -> list[str]:
    """Addresses of the workers that may measure."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return [address for address, found in workers.items() if found["resources"].get(RESOURCE, 0) >= 1]
