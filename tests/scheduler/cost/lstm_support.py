"""Nests, schedules and problems the tests of the recursive LSTM share."""

import re

from scheduler.cost.problem import Problem
from scheduler.cost.representation import represent_nest
from scheduler.cost.schedule_arrays import NestArrays, ScheduleArrays
from scheduler.cost.schedule_representation import ScheduleEncoder
from scheduler.ir.nest import LoopNest
from scheduler.machine.target import Target
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from tests.scheduler import nests

TARGET = Target(2)
SIZES = {"n": 100, "m": 200, "l": 300, "T": 10}

GEMM_SCHEDULES = (
    "",
    "interchange(j, k)",
    "interchange(j, k); vectorize(j)",
    "parallelize(i)",
    "distribute(i, 1); interchange(j, k); parallelize(i_d); vectorize(j)",
    "distribute(i, 1); tile([i_d, j, k], [32, 64, 16]); parallelize(i_d_t)",
    "distribute(i, 1); tile([i_d, j, k], [32, 64, 32]); parallelize(i_d_t)",
    "unroll(k, 4)",
    "unroll(k, 8)",
    "distribute(i, 1); interchange(j, k); interchange(i_d, k); tile([i_d, j], [48, 64]); unroll(j, 2)",
)

STENCIL_SCHEDULES = (
    "",
    "parallelize(i); parallelize(i2)",
    "interchange(i, j); vectorize(i)",
    "shift(i2, S1, 1); fuse(i, i2); shift(j2, S1, 1); fuse(j, j2); skew(t, i, 2); skew(t, j, 2); "
    "tile([t, i, j], [32, 32, 32]); skew(t_t, i_t, 1); interchange(t_t, i_t); parallelize(t_t)",
    "tile([i2, j2], [8, 64]); vectorize(j2)",
)


def arrays(nest: LoopNest, sizes: dict[str, int] = SIZES, *, boxes: bool = False) -> NestArrays:
    return represent_nest(nest, sizes, TARGET, boxes=boxes)


def encoded(nest: LoopNest, *schedules: str) -> tuple[NestArrays, ScheduleArrays]:
    """Schedule 0 is the nest as written, whatever is asked for."""
    replayer = Replayer(nest)
    found = arrays(replayer.nest)
    steps = [parse_schedule(text) for text in schedules]
    return found, ScheduleEncoder(found, replayer.tree).encode([(s, replayer.tree(s)) for s in steps])


def scheduled(replayer: Replayer, *schedules: str) -> list[ScheduledNest]:
    """Without the check of legality: models do not ask."""
    steps = [parse_schedule(text) for text in schedules]
    return [ScheduledNest(replayer.nest, replayer.tree(s), s) for s in steps]


def renamed(text: str) -> str:
    """The same nest or schedule under other names of loops, arrays, parameters and the nest."""
    words = {"i": "q", "j": "b", "k": "a", "j0": "zz", "A": "Q", "B": "A", "C": "B", "n": "len", "m": "n", "l": "m"}
    words |= {"gemm": "other", **{f"{name}_d": f"{new}_d" for name, new in words.items()}}
    words |= {f"{name}_t": f"{new}_t" for name, new in words.items()}
    return re.sub(r"[A-Za-z_][A-Za-z_0-9]*", lambda m: words.get(m[0], m[0]), text)


def problem(text: str, schedules: tuple[str, ...], speedups: tuple[float, ...], name: str = "") -> Problem:
    return Problem(nests.nest(text), SIZES, TARGET, tuple(map(parse_schedule, schedules)), speedups, name, name)
