"""What a transfer did, as data for reports: donors, matched nodes, what became of each step, and what it gained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfembed.retrieval.retrieve import Retrieved
from perfembed.transfer.candidates import Candidate
from perfembed.transfer.successors import Logged
from perfembed.tuning.nest_outcome import NestOutcome
from perfembed.tuning.result import (
    CandidateReport,
    DonorReport,
    MatchReport,
    Origin,
    ProfileReport,
    StepReport,
    TransferReport,
)
from scheduler.schedule import Schedule, format_schedule
from scheduler.transform import Transformation
from scheduler.transform.transfer import Pair


def explain(outcome: NestOutcome) -> TransferReport | None:
    """None where nothing was retrieved."""
    retrieved = outcome.retrieved
    if retrieved is None:
        return None
    recommended = retrieved.recommendation
    donors = tuple(
        DonorReport(
            nest_id=found.donor.nest_id,
            name=found.donor.name,
            place=found.donor.place,
            algorithm=found.donor.algorithm,
            distance=found.distance,
            speedup=found.donor.speedups[found.number or 0],
            schedule=found.donor.schedules[found.number or 0],
            portfolio=found.number is not None,
        )
        for found in retrieved.neighbours
    )
    transferred = {c.scheduled.schedule: c for c in recommended.chosen}
    fruitful = {c.donor.name for c in recommended.pool}
    failed = dict(f for f in (*retrieved.unreadable, *recommended.failed) if f[0] not in fruitful)
    order = [*transferred, *(schedule for schedule in outcome.seconds if schedule not in transferred)]
    number = {schedule: k for k, schedule in enumerate(order, 1)}
    return TransferReport(
        donors=donors,
        candidates=tuple(_candidate(s, transferred, outcome, retrieved, number) for s in order),
        pool=len(recommended.pool),
        failed=tuple(failed.items()),
        profile=_profile(outcome, retrieved),
    )


def _profile(outcome: NestOutcome, retrieved: Retrieved) -> ProfileReport | None:
    profiled = outcome.profiled
    if profiled is None:
        return None
    near = {found.donor.nest_id for found in retrieved.neighbours}
    left = tuple((f.donor.nest_id, f.donor.name) for f in profiled.before if f.donor.nest_id not in near)
    source = profiled.profile.source if profiled.profile is not None else ""
    return ProfileReport(profiled.why, source, profiled.seconds, profiled.problem, left)


def _candidate(
    schedule: Schedule,
    transferred: Mapping[Schedule, Candidate],
    outcome: NestOutcome,
    retrieved: Retrieved,
    number: Mapping[Schedule, int],
) -> CandidateReport:
    seconds = outcome.seconds.get(schedule)
    candidate = transferred.get(schedule)
    base = outcome.refined.get(schedule) if candidate is None else None
    explained = candidate or (transferred.get(base) if base is not None else None)
    origin: Origin = "known" if base is None else "refined"
    predicted = retrieved.predicted.get(schedule)
    spread = retrieved.spread
    if schedule in outcome.computed:
        origin = "computed"
    if candidate is not None:
        origin = "transferred" if candidate.donated else "derived"
    return CandidateReport(
        schedule=format_schedule(schedule),
        origin=origin,
        donor=candidate.donor.name if candidate and candidate.donated else "",
        parameters=candidate.parameters if candidate and candidate.donated else "",
        cost=candidate.cost if candidate else None,
        predicted=predicted,
        predicted_range=(predicted * spread[0], predicted * spread[1]) if predicted and spread else None,
        measured=outcome.original_s / seconds if outcome.original_s and seconds else None,
        given_up=schedule in outcome.given_up,
        chosen=schedule == outcome.chosen,
        refines=number.get(base) if base is not None else None,
        estimated=schedule in outcome.estimated,
        steps=tuple(_step(entry) for entry in explained.log) if explained else (),
        matches=_matches(explained.log) if explained else (),
        at_s=outcome.at_s.get(schedule),
    )


def _step(entry: Logged) -> StepReport:
    return StepReport(entry.action, _text(entry.donor), format_schedule(entry.steps), entry.reason)


def _text(step: Transformation | None) -> str:
    return format_schedule((step,)) if step is not None else ""


def _matches(log: Sequence[Logged]) -> tuple[MatchReport, ...]:
    """Each pair once, as it was matched first."""
    found: dict[tuple[str, str], Pair] = {}
    for entry in log:
        for pair in entry.pairs:
            found.setdefault((pair.kind, pair.donor), pair)
    return tuple(MatchReport(p.kind, p.donor, p.target, p.distance) for p in found.values())
