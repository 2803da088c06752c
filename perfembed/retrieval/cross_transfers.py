"""The cross-transfer matrix: what the schedules of donors, transferred to other nests, were measured to be worth there.

Which donors are asked is learned from it (`perfembed train retrieval`), and methods of asking are judged by it. What
was not asked, does not fit or was given up is said as such, and never filled in.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

import numpy as np
import numpy.typing as npt

import optdb
from perfembed.errors import UsageError
from perfembed.learning.training_data import is_generated, target_of_machine
from scheduler.cost.boosted import BoostedCostModel
from scheduler.cost.problem import Problem
from scheduler.cost.train_boosted import features_of
from scheduler.errors import SchedulerError
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import Replayer
from scheduler.schedule import Schedule, nest_steps, parse_schedule

if TYPE_CHECKING:
    from perfembed.retrieval.nest_space import NestSpace

RecipeKey = tuple[str, int]
"""A donor, and the number of its schedule."""

FOLDER = Path(optdb.__file__).with_name("data") / "transfers"
How = OneOf["anchor", "near", "drawn"]
DISTURBED = 0.3  # cores that others kept busy: times that say little
DOES_NOT_FIT = "does not fit"
_VERSION = 1
_COLUMNS = {
    "version": "INTEGER", "nest": "VARCHAR", "text": "VARCHAR", "algorithm": "VARCHAR", "place": "VARCHAR",
    "machine": "VARCHAR", "isa": "VARCHAR", "caches": "VARCHAR", "compiler": "VARCHAR", "flags": "VARCHAR[]",
    "threads": "INTEGER", "sizes": "VARCHAR", "element_type": "VARCHAR", "seconds": "DOUBLE", "again": "DOUBLE",
    "other_load": "DOUBLE",
    "trees": "STRUCT(schedule VARCHAR, predicted DOUBLE, outcome VARCHAR, seconds DOUBLE, again DOUBLE)[]",
    "asked": "STRUCT(donor VARCHAR, number INTEGER, how VARCHAR, chance DOUBLE, outcome VARCHAR, tree INTEGER)[]",
    "space": "VARCHAR", "vector": "FLOAT[]",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tried:
    """A loop tree that transfers led to. `outcome`: "timed"; "given up", `seconds` is what it took at least; or why
    there is no time. `again`: a second time, long after the first; of what is far from the fastest there is none.
    `predicted`: its speedup by the cost model that shipped then, given what the nest as written takes.
    """

    schedule: str
    predicted: float
    outcome: str = ""
    seconds: float | None = None
    again: float | None = None

    @property
    def best_s(self) -> float | None:
        """The faster of both times."""
        return None if self.seconds is None else min(self.seconds, self.again or self.seconds)


@dataclass(frozen=True, slots=True)
class Asked:
    """A donor's schedule, the `number`-th of those it has, and the tree it led to, a position in `Transfers.trees`;
    None with an `outcome` other than "fits". `chance`: with which it was asked, of those drawn at random."""

    donor: str
    number: int
    how: How
    chance: float
    outcome: str
    tree: int | None = None

    @property
    def key(self) -> RecipeKey:
        return self.donor, self.number


@dataclass(frozen=True, slots=True)
class Transfers:
    """A row of the matrix: a nest, where it was measured, and everything that was asked for it.

    `seconds`, `again`: of the nest as written, twice, far apart. `other_load`: cores that others kept busy, at most.
    `text` is empty where the nest is not ours to give away. `vector`: of the nest in that `space`.
    """

    nest: str
    text: str
    algorithm: str
    place: str
    machine: str
    isa: str
    caches: str
    compiler: str
    flags: tuple[str, ...]
    threads: int
    sizes: str
    element_type: str
    seconds: float
    again: float
    other_load: float
    trees: tuple[Tried, ...]
    asked: tuple[Asked, ...]
    space: str = ""
    vector: tuple[float, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """The nest, its sizes and the machine."""
        return self.nest, self.sizes, self.machine

    @property
    def target(self) -> Target:
        return target_of_machine(self.isa, self.caches, self.threads)

    @property
    def parameters(self) -> dict[str, int]:
        return {name: int(value) for name, value in json.loads(self.sizes).items()}

    @property
    def original_s(self) -> float:
        return min(self.seconds, self.again)

    def gain(self, one: Asked) -> float:
        """The logarithm of the speedup over the nest as written; 0 of what does not fit or is slower: nobody keeps it.

        NaN of what is not known: what there was no time to ask, what does not compile.
        """
        if one.tree is None:
            return 0.0 if one.outcome == DOES_NOT_FIT else math.nan
        tried = self.trees[one.tree]
        if tried.outcome == "given up":
            return 0.0
        return math.nan if tried.best_s is None else max(0.0, math.log(self.original_s / tried.best_s))


def as_line(row: Transfers) -> str:
    return json.dumps({"version": _VERSION, **asdict(row)}) + "\n"


def spooled(spool: Path) -> tuple[Transfers, ...]:
    """The rows of a spool; of its last line what a kill has torn is cut off. Raises OSError."""
    if not spool.exists():
        return ()
    text = spool.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        spool.write_bytes(whole)
    return tuple(_row(json.loads(line)) for line in whole.splitlines())


def export_transfers(rows: Sequence[Transfers], shard: Path) -> int:
    """Writes those that no shard beside it has to a new Parquet file; how many. Raises UsageError."""
    import duckdb

    from profilers.contained.scratch import scratch_folder

    if shard.exists():
        raise UsageError(f"{shard} exists already", "choose another name: shards are only added")
    shard.parent.mkdir(parents=True, exist_ok=True)
    known = {row.key for row in read_transfers(transfer_shards(shard.parent))}
    fresh = [row for row in rows if row.key not in known]
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in _COLUMNS.items())
    with scratch_folder() as folder, duckdb.connect(":memory:") as connection:
        lines = folder / "rows.jsonl"
        lines.write_text("".join(map(as_line, fresh)), encoding="utf-8")
        query = f"SELECT * FROM read_json({_quoted(lines)}, format = 'newline_delimited', columns = {{{columns}}})"
        connection.execute(f"COPY ({query}) TO {_quoted(shard)} (FORMAT parquet, COMPRESSION zstd)")
    return len(fresh)


def is_sealed(algorithm: str) -> bool:
    """Whether nests of that algorithm are kept for the very end, where they are looked at once; half of all are that
    are not generated."""
    return not is_generated(algorithm) and hashlib.sha256(f"sealed {algorithm}".encode()).digest()[0] % 2 == 1


def bare(row: Transfers) -> Transfers:
    """What may be given away of somebody else's nest: numbers and labels, neither its text nor whose it is."""
    return replace(row, text="", place="others")


def read_transfers(shards: Sequence[Path]) -> tuple[Transfers, ...]:
    """Raises UsageError."""
    from perfembed.learning.shards import read_shards

    return tuple(_row(row) for row in read_shards(shards, tuple(_COLUMNS)))


def transfer_shards(folder: Path = FOLDER) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def _row(row: Mapping[str, Any]) -> Transfers:
    known = {name: value for name, value in row.items() if name != "version"}
    trees = tuple(Tried(**tree) for tree in row["trees"])
    asked = tuple(Asked(**one) for one in row["asked"])
    more = {"space": row.get("space") or "", "vector": tuple(row.get("vector") or ())}
    return Transfers(**{**known, **more, "flags": tuple(row["flags"]), "trees": trees, "asked": asked})


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def nest_vectors(rows: Sequence[Transfers], space: NestSpace) -> dict[tuple[str, str, str], npt.NDArray[np.float32]]:
    """The vectors of nests in a space, by `Transfers.key`: those that are known, else made of the texts.

    Without those that cannot be embedded, or of which there is neither.
    """
    found: dict[tuple[str, str, str], npt.NDArray[np.float32]] = {}
    for row in rows:
        if row.space == space.space_id and row.vector:
            found[row.key] = np.array(row.vector, dtype=np.float32)
        elif row.text and row.key not in found:
            with contextlib.suppress(SchedulerError):
                found[row.key] = space.vector(Replayer(parse_nest(row.text)), row.parameters, row.target)
    return found


def with_vectors(rows: Sequence[Transfers], space: NestSpace) -> tuple[Transfers, ...]:
    """Rows with their vectors in that space, where they have one."""
    vectors = nest_vectors(rows, space)
    return tuple(
        replace(row, space=space.space_id, vector=tuple(map(float, vectors[row.key]))) if row.key in vectors else row
        for row in rows
    )


def with_predictions(rows: Sequence[Transfers], cost: BoostedCostModel) -> tuple[Transfers, ...]:
    """Rows with what a cost model predicts of their trees, knowing the time of the nest as written.

    Those without a text stay as they are.
    """
    return tuple(_predicted(row, cost) if row.text else row for row in rows)


def _predicted(row: Transfers, cost: BoostedCostModel) -> Transfers:
    written = Replayer(parse_nest(row.text))
    trees = list(row.trees)
    schedules: dict[Schedule, dict[int, Schedule]] = {}  # by the steps that change the nest
    for number, tried in enumerate(trees):
        if tried.schedule:
            whole = parse_schedule(tried.schedule)
            first: Schedule = nest_steps(whole)
            schedules.setdefault(first, {})[number] = whole[len(first) :]
    for first, rest in schedules.items():
        nest = written.of(first).nest if first else written.nest
        numbers = list(rest)
        problem = Problem(
            nest=nest,
            parameters=row.parameters,
            target=row.target,
            schedules=tuple(rest.values()),
            speedups=(1.0,) * len(rest),
            group=row.algorithm,
            seconds=row.original_s,
        )
        features, _ = features_of(problem)
        speedups = cost.speedups(np.array([vector for _, vector in features])) if features else ()
        for (position, _), speedup in zip(features, speedups, strict=True):
            number = numbers[position]
            trees[number] = replace(trees[number], predicted=round(float(speedup), 4))
    return replace(row, trees=tuple(trees))


def places(rows: Iterable[Transfers]) -> frozenset[str]:
    """Where the nests are from: programs that need not be done again."""
    return frozenset(row.place for row in rows)
