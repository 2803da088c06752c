"""What a profile is worth where one nest does different things on different data.

Each data set is a compilation of the same file with other macros. Donors are looked for without and with a profile of
the nest on that data, of what they lead to few candidates are measured, and the fastest ones are timed in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scheduler.cost.problem import CostModel
from tests.evaluation.method_scores import ORIGINAL, NestRow
from tests.evaluation.methods import MethodsBench, run_methods
from tests.evaluation.transfer import METHODS, NEAREST, PROFILED, leaving_out, measuring

_COMPARED = tuple(replace(method, refine=False) for method in METHODS if method.name in (NEAREST, PROFILED))


@dataclass(frozen=True, slots=True)
class DataRow:
    """A nest on one data set by one method: its `donors` (ids, nearest first), the schedule, and seconds of a run."""

    data: str
    nest: str
    method: str
    donors: tuple[str, ...]
    schedule: str
    seconds: float | None
    original: float | None

    @property
    def gain(self) -> float | None:
        return self.original / self.seconds if self.seconds and self.original else None

    @property
    def nearest(self) -> str:
        return " ".join(donor[:6] for donor in self.donors[:3]) or "-"

    @property
    def shown(self) -> str:
        return self.schedule or "as written"


def run_datasets(
    bench: MethodsBench, data: Sequence[str], counts: Sequence[int], cost: CostModel | None, say: Callable[[str], None]
) -> tuple[DataRow, ...]:
    """Of each data set (a macro, `NAME=VALUE`), with so many candidates measured. Raises PerfembedError, OptdbError.

    The methods of `bench` are not looked at; `out` is not written.
    """
    methods = measuring(_COMPARED, counts)
    donors = leaving_out(methods, cost, bench.seeds[0])
    found: list[DataRow] = []
    for macro in data:
        say(macro)
        on_data = replace(bench, methods=methods, out=None, cflags=(*bench.cflags, f"-D{macro}"))
        for row in run_methods(on_data, cost, say, donors):
            found += (_row(macro, row, method.name) for method in methods)
    return tuple(found)


def _row(data: str, row: NestRow, method: str) -> DataRow:
    donors, schedule = tuple(row.donors.get(method, ())), row.schedules.get(method, "")
    return DataRow(data, row.nest, method, donors, schedule, row.seconds.get(method), row.seconds.get(ORIGINAL))


def told_apart(rows: Sequence[DataRow]) -> dict[tuple[str, str], int]:
    """(nest, method): how many different lists of donors it got on all data sets together."""
    lists: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for row in rows:
        lists.setdefault((row.nest, row.method), set()).add(row.donors)
    return {key: len(found) for key, found in lists.items()}
