"""What a nest is asked for the cross-transfer matrix: recipes are transferred to it, and what comes is compiled."""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from optdb.records import MachineRecord
from perfembed.errors import PerfembedError
from perfembed.learning.cost_models import load_cost_model
from perfembed.measuring.measurer import Conditions, Measurer
from perfembed.measuring.store import conditions_record
from perfembed.measuring.target import compiled_target
from perfembed.populating.programs import Program, place_of
from perfembed.retrieval.anchors import sample
from perfembed.retrieval.cross_transfers import (
    DOES_NOT_FIT,
    Asked,
    How,
    Transfers,
    Tried,
)
from perfembed.retrieval.donors import accepting, nearest
from perfembed.retrieval.families import LeftOut, related
from perfembed.retrieval.retrieve import Retrieval, open_sources
from perfembed.transfer.view import Side
from perfembed.tuning.inputs import Collecting, NestInputs, collect_inputs, made_up
from perfembed.tuning.openmp import with_openmp
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import one_file
from perfembed.tuning.source import parse
from perfembed.world import World
from profilers.build import Built, CompilerConfig, compiler_version
from profilers.machine import describe_machine
from profilers.outcome import BuildFailed
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import plain
from scheduler.errors import SchedulerError
from scheduler.generator.programs import GeneratorSettings, generate
from scheduler.generator.programs.generate import FUNCTION
from scheduler.identity import canonical_nest, canonical_text, carry_over
from scheduler.ir.text import nest_id
from scheduler.ir.tree import TreeNode
from scheduler.replay import LegalityOptions, Replayer, ScheduledNest
from scheduler.schedule import format_schedule

# More than half of the programs take over 2 ms, from what lies in the first cache to what lies in memory.
GENERATED = GeneratorSettings(least_work=4e6, most_work=8e7)
_ASK_S = 150.0  # for the donors of one nest
_LEAST_SHARE = 0.05  # of the time of a program


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """`anchors`: (donor, number of its schedule) that each nest is asked, related or not: who evaluates leaves out.

    `near`, `drawn`: how many donors are asked besides, those nearest and at random, none of them related.
    """

    anchors: tuple[tuple[str, int], ...]
    seed: int
    threads: int
    budget_s: float
    cc: str = "gcc"
    cflags: tuple[str, ...] = ("-O3", "-march=native")
    environment: tuple[tuple[str, str], ...] = ()
    near: int = 6
    drawn: int = 12


@dataclass(frozen=True, slots=True)
class Prepared:
    """A nest whose trees are compiled. `row` has no times yet; builds stand in the order of `row.trees`.

    `originals`: the nest as written, in the forms it may be compiled in; `expected_s`: what it takes in its program.
    """

    row: Transfers
    originals: tuple[Built, ...]
    builds: tuple[Built | None, ...]
    expected_s: float | None


def place_in_transfers(program: Program) -> str:
    return (
        Path(program.path).name if program.number is None else place_of(program.seed, program.number, program.settings)
    )


class Asking:
    """One process's: donors and models are loaded once."""

    def __init__(self, options: CollectOptions) -> None:
        self.options = options
        self.environment = dict(options.environment)
        self.machine = describe_machine()
        self.compiler = CompilerConfig(options.cc, options.cflags)
        self.version = compiler_version(options.cc, self.environment)
        self.target = compiled_target(self.machine, options.threads, self.compiler, self.environment)
        self.space, self.sources = open_sources(None)
        self.cost = load_cost_model()
        self.retrieval = Retrieval(self.space, self.sources, self.target, cost=self.cost)

    def program(self, program: Program, folder: Path) -> Iterator[Prepared]:
        """Its nests that can be run and asked about. Raises PerfembedError, SchedulerError."""
        options, content = self.options, program.content()
        asked = TuneOptions(
            functions=() if program.number is None else (FUNCTION,),
            cc=options.cc,
            cflags=with_openmp(program.path, content, options.cflags, lambda text: None),
            threads=options.threads,
            environment=options.environment,
            world=World(Path.cwd()),
            expect_exit=None,
        )
        source = parse(program.path, content, asked)
        if program.number is not None:
            asked = replace(asked, parameters=tuple(program.sizes().items()))
            inputs = made_up(source.nests, asked, folder)
        else:
            how = Collecting(_LEAST_SHARE)
            inputs = collect_inputs(one_file(source, asked), asked, folder, lambda event: None, how)
        for number, found in enumerate(inputs.found):
            with contextlib.suppress(PerfembedError, SchedulerError):
                yield self.nest(found, program, folder / f"nest-{number}")

    def nest(self, found: NestInputs, program: Program, folder: Path) -> Prepared:
        """Raises PerfembedError, SchedulerError."""
        options, nest = self.options, plain(found.nest)
        replayer = Replayer(nest)
        conditions = Conditions(
            self.compiler, options.threads, self.target, folder, self.environment, 1, LegalityOptions(), options.seed
        )
        measurer = Measurer(nest, replayer, found.captured, conditions)
        algorithm = program.algorithm if program.number is None else self._patterns(program)
        asked, trees = self._asked(replayer, found, algorithm)
        canonical = canonical_nest(nest)
        there = Replayer(canonical.nest)
        tried: list[Tried] = []
        bodies: list[str] = []
        positions: list[int | None] = []
        for scheduled, predicted in trees:
            text, body = "", measurer.body(scheduled)
            with contextlib.suppress(SchedulerError):
                text = format_schedule(carry_over(scheduled.schedule, replayer, there, canonical.names))
            refused = body.message if isinstance(body, BuildFailed) else "" if text else "no canonical form"
            tried.append(Tried(text, predicted, refused.splitlines()[0][:200] if refused else ""))
            if not refused:
                positions.append(len(bodies))
                bodies.append(str(body))
            else:
                positions.append(None)
        forms = (measurer, measurer.knowing_sizes()) if found.in_program_s is not None else (measurer,)
        originals = [b for form in forms for b in form.build([emit_original(nest)]) if isinstance(b, Built)]
        if not originals:
            raise SchedulerError("the nest as written does not compile")
        built = measurer.build(bodies)
        builds: list[Built | None] = []
        for number, position in enumerate(positions):
            one = built[position] if position is not None else None
            if isinstance(one, BuildFailed):
                tried[number] = replace(tried[number], outcome="does not compile")
            builds.append(one if isinstance(one, Built) else None)
        record = MachineRecord.of(self.machine)
        under = conditions_record(
            self.machine, options.cc, self.version, self.compiler.flags, options.threads, nest,
            found.captured.parameters, False,
        )  # fmt: skip
        row = Transfers(
            nest=nest_id(nest),
            text=canonical_text(nest),
            algorithm=algorithm,
            place=place_in_transfers(program),
            machine=self.machine.fingerprint,
            isa=f"{record.architecture} {' '.join(record.flags)}",
            caches=record.caches,
            compiler=self.version,
            flags=self.compiler.flags,
            threads=options.threads,
            sizes=under.sizes,
            element_type=under.element_type,
            seconds=math.nan,
            again=math.nan,
            other_load=0.0,
            trees=tuple(tried),
            asked=tuple(asked),
        )
        return Prepared(row, tuple(originals), tuple(builds), found.in_program_s)

    def _patterns(self, program: Program) -> str:
        assert program.number is not None
        return "+".join(generate(program.seed, program.number, program.settings).patterns)

    def _asked(
        self, replayer: Replayer, found: NestInputs, algorithm: str
    ) -> tuple[list[Asked], list[tuple[ScheduledNest, float]]]:
        """(what was asked, the trees that came of it and what the cost model predicts of each)"""
        side = self.retrieval.side(replayer, found.captured.parameters)
        trees: dict[tuple[TreeNode, ...], int] = {}
        made: list[tuple[ScheduledNest, float]] = []
        asked: list[Asked] = []
        until = time.monotonic() + _ASK_S
        donors = self.sources[0].by_id
        for donor, number, how, chance in self._recipes(side, algorithm):
            if time.monotonic() > until:
                asked.append(Asked(donor, number, how, chance, "not asked: no time"))
                continue
            try:
                led = self.retrieval.led_to(side, donors[donor], number)
            except SchedulerError as problem:
                asked.append(Asked(donor, number, how, chance, f"cannot be read: {problem}"[:200]))
                continue
            if not led:
                asked.append(Asked(donor, number, how, chance, DOES_NOT_FIT))
                continue
            scheduled, predicted = led
            if scheduled.tree not in trees:
                trees[scheduled.tree] = len(made)
                made.append((scheduled, round(predicted, 4)))
            asked.append(Asked(donor, number, how, chance, "fits", trees[scheduled.tree]))
        return asked, made

    def _recipes(self, side: Side, algorithm: str) -> list[tuple[str, int, How, float]]:
        """In an order drawn at random: where time runs out, no kind of donor goes without."""
        donors = self.sources[0].by_id
        rng = random.Random(f"{self.options.seed} {nest_id(side.replayer.nest)}")
        found: dict[tuple[str, int], tuple[How, float]] = {
            (donor, number): ("anchor", 1.0) for donor, number in self.options.anchors if donor in donors
        }
        vector = self.space.vector(side.replayer, side.parameters, self.target)
        for one in nearest(self.sources, vector, self.options.near, accepting(LeftOut((algorithm,)))):
            found.setdefault((one.donor.nest_id, 0), ("near", 0.0))
        others = sorted(key for key, donor in donors.items() if not related(donor.algorithm, algorithm))
        for key, chance in sample(rng, others, self.options.drawn, {donor for donor, _ in found}):
            found[key] = ("drawn", chance)
        recipes = [(donor, number, how, chance) for (donor, number), (how, chance) in found.items()]
        rng.shuffle(recipes)
        return recipes
