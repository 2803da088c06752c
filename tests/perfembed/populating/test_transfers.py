"""What the cross-transfer matrix is collected of: real programs, transferred, compiled and run."""

import math
import os
from pathlib import Path

import pytest

from perfembed.populating.asking import CollectOptions, Prepared
from perfembed.populating.programs import Program, programs_of
from perfembed.populating.transfers import collect_transfers
from perfembed.retrieval.anchors import read_anchors
from perfembed.retrieval.cross_transfers import spooled
from perfembed.retrieval.donors import donor_shards, read_donors
from perfembed.retrieval.families import related
from scheduler.generator.programs import GeneratorSettings
from scheduler.ir.text import nest_id, parse_nest
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule

SMALL = GeneratorSettings(least_work=1e6, most_work=4e6, nests=1)
DIES = """
#include <stdio.h>
double a[300][300], b[300][300];
int main(void) {
    for (int r = 0; r < 20; r++)
        for (int i = 0; i < 300; i++)
            for (int j = 0; j < 300; j++)
                a[j][i] += 0.5 * b[j][i] + r;
    printf("%g\\n", a[7][9]);
}
"""


def options(**changes: object) -> CollectOptions:
    return CollectOptions(
        read_anchors()[:3],
        7,
        2,
        math.inf,
        environment=tuple(os.environ.items()),
        near=2,
        drawn=2,
        **changes,  # type: ignore[arg-type]
    )


@pytest.mark.machine
def test_rows_say_what_was_asked_and_what_it_was_worth(tmp_path: Path) -> None:
    spool, said = tmp_path / "spool.jsonl", list[str]()
    source = tmp_path / "columns.c"
    source.write_text(DIES)
    programs = (*programs_of([str(source), str(tmp_path / "missing.c")], 0, 0), *programs_of((), 1, 46, SMALL))
    done = collect_transfers(programs, options(), spool, said.append)
    assert any("missing.c" in text for text in said)
    rows = spooled(spool)
    assert len(rows) == done.nests == 2 and done.labels == sum(len(row.asked) for row in rows)
    assert {row.place for row in rows} >= {"columns.c"} and any("seed 46 number 0" in row.place for row in rows)
    donors = read_donors(donor_shards())
    for row in rows:
        nest = parse_nest(row.text)
        assert nest_id(nest) == row.nest and row.original_s > 0 and row.threads == 2
        assert [one.how for one in row.asked].count("drawn") == 2
        assert {one.key for one in row.asked if one.how == "anchor"} == set(read_anchors()[:3])
        others = [one for one in row.asked if one.how != "anchor"]
        assert not any(related(donors[one.donor].algorithm, row.algorithm) for one in others)
        assert {one.tree for one in row.asked} - {None} == set(range(len(row.trees)))
        replayer = Replayer(nest)
        for tried in row.trees:
            assert isinstance(replayer.replay(parse_schedule(tried.schedule)), ScheduledNest)
            assert tried.best_s or tried.outcome not in ("timed", "given up")
    before = spool.read_bytes()
    again = collect_transfers(programs, options(), spool, said.append)
    assert again.nests == 0 and spool.read_bytes() == before  # all is there


def _dies_of_two(program: Program, folder: Path) -> list[Prepared]:
    if program.algorithm == "two":
        os._exit(3)
    return []


@pytest.mark.machine
def test_a_process_that_dies_takes_one_program_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfembed.populating.transfers._prepare", _dies_of_two)
    said = list[str]()
    programs = [Program(f"{name}.c", name) for name in ("one", "two", "three")]
    done = collect_transfers(programs, options(), tmp_path / "spool.jsonl", said.append)
    assert done.nests == 0 and [text for text in said if "died" in text] == ["two.c: its process died"]
