"""Random programs that count in all ways under random schedules: the output of the original."""

import os
from pathlib import Path

import pytest

from tests.differential.counter_programs import program
from tests.differential.test_flow_programs import check

PROGRAMS = int(os.environ.get("PERFEMBED_COUNTER_PROGRAMS", "16"))
FIRST = int(os.environ.get("PERFEMBED_COUNTER_FIRST", "0"))


@pytest.mark.parametrize("part", range(4))
def test_programs(tmp_path: Path, part: int) -> None:
    nests = parallel = 0
    refused: list[str] = []
    for seed in range(FIRST + part, FIRST + PROGRAMS, 4):
        found = check(tmp_path, seed, program)
        nests, parallel, refused = nests + found[0], parallel + found[1], refused + found[2]
    print(nests, parallel, sorted(set(refused)), len(refused))
    assert nests > PROGRAMS // 4 and parallel > PROGRAMS // 8
