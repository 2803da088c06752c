"""What the optimization database promises, tried one after the other, and what became of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from perfembed.report.database_info import bytes_text
from perfembed.report.style import seconds, table
from tests.campaigns.database.damage import VERDICTS, DamageResult
from tests.campaigns.database.damage import damage as run_damage
from tests.campaigns.database.kills import KillsResult
from tests.campaigns.database.kills import kills as run_kills
from tests.campaigns.database.scale import ScaleResult
from tests.campaigns.database.scale import scale as run_scale
from tests.campaigns.database.writers import WritersResult
from tests.campaigns.database.writers import writers as run_writers
from tests.printing import verdict

AIM_INGEST_PER_S = 20_000
AIM_BEST_OF_NEST_S = 0.010
AIM_TOP_100_S = 1.0


@dataclass(slots=True)
class DatabaseTrials:
    """None for what was not tried, or not to its end."""

    seed: int
    kills: KillsResult | None = None
    damage: DamageResult | None = None
    writers: WritersResult | None = None
    scale: ScaleResult | None = None
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Nothing lost, wrong or silent in what was tried; says nothing of times."""
        return all(result is None or result.passed for result in (self.kills, self.damage, self.writers))


def run_trials(
    trials: DatabaseTrials,
    kills: int,
    damage: int,
    writers: tuple[int, int],
    scale: tuple[int, int],
    merged: int | None,
    folder: Path | None,
    say: Callable[[str], None],
) -> DatabaseTrials:
    """Fills `trials`; nothing where a number is 0. Raises OptdbError."""
    began = time.monotonic()
    try:
        if kills:
            say(f"{kills} kills")
            trials.kills = run_kills(kills, trials.seed, folder)
        if damage:
            say(f"{damage} cuts and as many bit flips")
            trials.damage = run_damage(damage, trials.seed, folder)
        if all(writers):
            say(f"{writers[0]} writers of {writers[1]} measurements each")
            trials.writers = run_writers(*writers, folder)
        if all(scale):
            say(f"{scale[0]} nests, {scale[1]} measurements")
            trials.scale = run_scale(*scale, folder, merged)
    except KeyboardInterrupt:
        trials.interrupted = True
    trials.seconds = time.monotonic() - began
    return trials


def text(trials: DatabaseTrials) -> list[str]:
    """A paragraph for each kind of trial, with its verdict."""
    lines: list[str] = []
    if (k := trials.kills) is not None:
        phases = ", ".join(f"{number} in {phase}" for phase, number in k.killed if number)
        lines += [
            f"{sum(number for _, number in k.killed)} kills at work: {phases}",
            f"  {k.acknowledged:,} acknowledged records, {k.lost:,} lost; always opens, none lost, none twice:"
            f" {verdict(k.passed)}",
            *(f"  {failure}" for failure in k.failures),
        ]
    if (d := trials.damage) is not None:
        found: dict[tuple[str, str], Counter[str]] = {}
        for how, target, became, number in d.verdicts:
            found.setdefault((how, target), Counter())[became] += number
        rows = [[f"{how} of the {target}", *(str(n[v]) for v in VERDICTS)] for (how, target), n in found.items()]
        lines += [
            f"{d.tried:,} files cut short or with a bit flipped",
            *table([["", *VERDICTS], *rows]),
            f"  {len(d.failures)} silent wrong answers or crashes, aim none: {verdict(d.passed)}",
            *(f"  {failure}" for failure in d.failures),
        ]
    if (w := trials.writers) is not None:
        lines += [
            f"{w.processes} writers of {w.records} measurements each",
            f"  {w.stored:,} of {w.expected:,} stored, each once and without an error: {verdict(w.passed)}",
            f"  written in {seconds(w.write_s)} ({w.acknowledged_per_s:,.0f} a second on the disk), all ingested after "
            f"{seconds(w.ingest_s)}; meanwhile a reader got {w.reads} answers and timed out {w.refusals} times, "
            f"waiting {seconds(w.longest_wait_s)} at most",
            *(f"  {failure}" for failure in w.failures),
        ]
    if trials.scale is not None:
        lines += _scale(trials.scale)
    return [*lines, f"{'interrupted; ' if trials.interrupted else ''}seed {trials.seed}, {seconds(trials.seconds)}"]


def _scale(r: ScaleResult) -> list[str]:
    fast = verdict(r.ingest_per_s >= AIM_INGEST_PER_S)
    best, top = verdict(r.best_of_nest_s <= AIM_BEST_OF_NEST_S), verdict(r.top_100_s <= AIM_TOP_100_S)
    rows = [
        ["size", bytes_text(r.bytes), f"{r.bytes / r.measurements:.0f} B a measurement, all included"],
        ["spool", f"{r.append_per_s:,.0f} records/s", ""],
        ["ingest", f"{r.ingest_per_s:,.0f} records/s", f"aim {AIM_INGEST_PER_S:,}: {fast}"],
        ["open", seconds(r.open_s), ""],
        ["best_schedules of a nest", seconds(r.best_of_nest_s), f"aim at most {seconds(AIM_BEST_OF_NEST_S)}: {best}"],
        ["top 100 of everything", seconds(r.top_100_s), f"aim at most {seconds(AIM_TOP_100_S)}: {top}"],
        ["what a resumed search asks", seconds(r.resume_s), ""],
        ["merge", f"{r.merge_per_s:,.0f} records/s", f"{r.merged_records:,} records of another database"],
        ["compact", seconds(r.compact_s), f"both together: {bytes_text(r.compacted_bytes)}"],
    ]
    return [f"{r.nests:,} nests, {r.measurements:,} measurements, {r.records:,} records in all", *table(rows)]
