"""One random program of a campaign: its schedules, their verdicts, and whether the interpreter agrees."""

from __future__ import annotations

import random
import traceback
from itertools import chain

from scheduler.codegen import emit
from scheduler.errors import CodegenUnsupported, NotApplicable
from scheduler.ir.arithmetic import InterpreterError
from scheduler.ir.nest import Loop, LoopNest, Predicate
from scheduler.ir.text import format_nest
from scheduler.ir.types import known_type
from scheduler.ir.walk import placed_statements, uses
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.polyhedral.verdict import Illegal, Unknown
from scheduler.replay import Refused, Replayed, ScheduledNest
from scheduler.schedule import format_schedule
from tests.campaigns.legality.drawn import drawn_schedules, free_schedules, sampled_schedules
from tests.campaigns.legality.model import Campaign, Disagreement, Kind, Runnable, Tally
from tests.campaigns.legality.planted import Variant, variants
from tests.campaigns.legality.privates import privates_problem
from tests.campaigns.legality.subject import Mismatch, Subject
from tests.campaigns.legality.witness import witness_problem
from tests.generator import random_nest, random_spelling, with_rows

_COMPILED = 2  # schedules of a program

_ROWS = 0.15  # share of the programs over arrays of structures
_SPELLED = 0.3  # share with sums in scalars and values in temporaries
_INDICES = 0.2  # share of those where subscripts stand in one, too


def generate(seed: int, index: int) -> tuple[LoopNest, bool]:
    """Program number `index` of a seed, and whether sums in it may be reordered (integers only)."""
    rng = random.Random(f"{seed}:{index}")
    nest = random_nest(rng, name=f"random_{index}")
    if rng.random() < _ROWS:
        nest = with_rows(nest, rng)
    if rng.random() < _SPELLED:
        nest = random_spelling(nest, rng, rng.random() < _INDICES)
    integers = all(known_type(a.ctype).kind != "floating" for a in nest.arrays)
    return nest, integers and rng.random() < 0.3


def is_data_dependent(nest: LoopNest) -> bool:
    """Whether data decide what runs, how often, or which elements it touches."""
    return any(
        any(isinstance(a, Predicate) or (isinstance(a, Loop) and a.is_opaque) for a in placed.ancestors)
        or any(not use.access.is_affine for use in uses(placed))
        for placed in placed_statements(nest)
    )


def run_program(campaign: Campaign, index: int) -> Tally:
    """Everything about one program; what goes wrong inside counts as a disagreement too."""
    tally = Tally()
    try:
        nest, reassociate = generate(campaign.seed, index)
    except Exception:
        tally.disagreements.append(Disagreement("internal error", index, "", "", (), traceback.format_exc(limit=-8)))
        return tally
    try:
        subject = Subject(nest, f"{campaign.seed}:{index}", reassociate)
        _Program(campaign, index, subject, tally).run()
        tally.counts["programs"] += 1
        tally.counts["data-dependent programs"] += is_data_dependent(nest)
    except InterpreterError:
        tally.counts["invalid programs"] += 1
    except QuotaExceeded:
        tally.counts["too hard programs"] += 1
    except Exception:
        detail = traceback.format_exc(limit=-8)
        tally.disagreements.append(Disagreement("internal error", index, format_nest(nest), "", (), detail))
    return tally


class _Program:
    def __init__(self, campaign: Campaign, index: int, subject: Subject, tally: Tally) -> None:
        self.campaign = campaign
        self.index = index
        self.subject = subject
        self.tally = tally
        self.counts = tally.counts
        self.rng = random.Random(f"{campaign.seed}:{index}:schedules")

    def run(self) -> None:
        replayer = self.subject.replayer
        legal: list[ScheduledNest] = []
        drawn = drawn_schedules(replayer, self.rng, self.campaign.schedules)
        own = random.Random(f"{self.campaign.seed}:{self.index}:matrices")
        matrices = sampled_schedules(replayer, own, self.campaign.matrices)
        free = free_schedules(replayer, random.Random(f"{self.campaign.seed}:{self.index}:free"), self.campaign.free)
        for schedule in chain(drawn, matrices, free):
            self.counts["schedules"] += 1
            replayed = replayer.replay(schedule)
            try:
                tree = replayer.tree(schedule)
            except NotApplicable:
                tree = ()
            if isinstance(replayed, ScheduledNest):
                legal.append(replayed)
            self.judge(replayed, Variant("", tree, schedule))
        bases = legal or [s for s in (replayer.replay(()),) if isinstance(s, ScheduledNest)]
        if not bases:
            self.report("internal error", Variant("", replayer.tree(()), ()), (), "the source order is not legal")
        for base in bases:
            for variant in variants(replayer, base.schedule, self.rng, self.campaign.planted):
                self.counts["variants"] += 1
                self.judge(replayer.check(variant.tree, variant.schedule), variant)
        if self.index - self.campaign.first < self.campaign.compiled:
            self.emit(legal or bases)

    def judge(self, replayed: Replayed, variant: Variant) -> None:
        """Counts the verdict and holds it against the interpreter."""
        seed = f"{self.campaign.seed}:{self.index}:{format_schedule(variant.schedule)}:{variant.change}"
        if isinstance(replayed, Refused):
            self.counts["refused"] += 1
            if variant.how:
                self.plant(variant, self.subject.mismatch(variant.tree, seed, quick=True))
        elif isinstance(replayed, Unknown):
            self.counts["undecided"] += 1
        elif isinstance(replayed, Illegal):
            self.counts["illegal"] += 1
            if problem := witness_problem(self.subject.replayer.nest, variant.tree, replayed):
                self.report("false witness", variant, replayed.parameters, f"{replayed}\n{problem}")
            if variant.how:
                self.plant(variant, self.subject.mismatch(variant.tree, seed, quick=True))
        else:
            self.counts["legal"] += 1
            self.legal(replayed, variant, self.subject.mismatch(replayed.tree, seed))

    def plant(self, variant: Variant, mismatch: Mismatch | None) -> None:
        """A rejected variant counts as planted where the interpreter shows that it is wrong."""
        if mismatch is not None and not mismatch.failed:
            self.counts[f"planted {variant.how}"] += 1

    def legal(self, scheduled: ScheduledNest, variant: Variant, mismatch: Mismatch | None) -> None:
        if mismatch is not None:
            kind: Kind = "accepted but racing" if mismatch.raced else "accepted but wrong"
            self.report(kind, variant, mismatch.parameters, mismatch.detail)
            return
        for run in self.subject.runs:
            if problem := privates_problem(scheduled, run):
                given = tuple(sorted(run.parameters.items()))
                self.report("accepted but its private storage is shared", variant, given, problem)
                return

    def emit(self, legal: list[ScheduledNest]) -> None:
        """The longest legal schedules as C text."""
        for scheduled in sorted(legal, key=lambda s: -len(s.schedule))[:_COMPILED]:
            try:
                body = emit(scheduled, self.subject.replayer.model, checked=True)
            except CodegenUnsupported:
                self.counts["not emitted"] += 1
                continue
            text = format_schedule((*self.subject.splits, *scheduled.schedule))
            self.tally.runnable.append(Runnable(self.index, text, body, self.subject.reassociate))

    def report(self, kind: Kind, variant: Variant, parameters: tuple[tuple[str, int], ...], detail: str) -> None:
        schedule = format_schedule((*self.subject.splits, *variant.schedule))
        if variant.change:
            schedule += f"\n# and then by hand: {variant.change}"
        nest = format_nest(self.subject.nest)
        reassociate = self.subject.reassociate
        entry = Disagreement(kind, self.index, nest, schedule, parameters, detail, reassociate)
        self.tally.disagreements.append(entry)
