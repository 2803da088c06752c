"""What became of the trials of the optimization database, as text and as a document."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from perfembed.bench.database.damage import VERDICTS, DamageResult
from perfembed.bench.database.kills import KillsResult
from perfembed.bench.database.scale import ScaleResult
from perfembed.bench.database.writers import WritersResult
from perfembed.report.database_info import bytes_text
from perfembed.report.documents import document, plain
from perfembed.report.style import Style, count, seconds, table

AIM_INGEST_PER_S = 20_000
AIM_BEST_OF_NEST_S = 0.010
AIM_TOP_100_S = 1.0
_SHOWN = 20  # failures


@dataclass(slots=True)
class DatabaseTrials:
    """The results of `perfembed.bench.database`; None for what was not tried, or not to its end."""

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


def render_database(trials: DatabaseTrials, style: Style) -> str:
    """A paragraph for each kind of trial, with its verdict."""
    lines: list[str] = []
    if trials.kills is not None:
        lines += _kills(trials.kills, style)
    if trials.damage is not None:
        lines += _damage(trials.damage, style)
    if trials.writers is not None:
        lines += _writers(trials.writers, style)
    if trials.scale is not None:
        lines += _scale(trials.scale, style)
    lines.append(f"{'interrupted; ' if trials.interrupted else ''}seed {trials.seed}, {seconds(trials.seconds)}")
    return "\n".join(lines)


def _kills(result: KillsResult, style: Style) -> list[str]:
    killed = sum(number for _, number in result.killed)
    phases = ", ".join(f"{number} in {phase}" for phase, number in result.killed if number)
    return [
        style.paint(f"{count(killed, 'kill')} at work: {phases}", "bold"),
        f"  {result.acknowledged:,} acknowledged records, {result.lost:,} lost; always opens, none lost, none twice:"
        f" {_verdict(result.passed, style)}",
        *_failures(result.failures),
    ]


def _damage(result: DamageResult, style: Style) -> list[str]:
    found: dict[tuple[str, str], Counter[str]] = {}
    for how, target, verdict, number in result.verdicts:
        found.setdefault((how, target), Counter())[verdict] += number
    rows = [["", *VERDICTS]]
    rows += [
        [f"{how} of the {target}", *(str(verdicts[v]) for v in VERDICTS)] for (how, target), verdicts in found.items()
    ]
    wrong = len(result.failures)
    return [
        style.paint(f"{result.tried:,} files cut short or with a bit flipped", "bold"),
        *table(rows),
        f"  {wrong} silent wrong answers or crashes, aim none: {_verdict(result.passed, style)}",
        *_failures(result.failures),
    ]


def _writers(result: WritersResult, style: Style) -> list[str]:
    return [
        style.paint(f"{result.processes} writers of {count(result.records, 'measurement')} each", "bold"),
        f"  {result.stored:,} of {result.expected:,} stored, each once and without an error:"
        f" {_verdict(result.passed, style)}",
        f"  written in {seconds(result.write_s)} ({result.acknowledged_per_s:,.0f} a second on the disk), all ingested"
        f" after {seconds(result.ingest_s)}; meanwhile a reader got {count(result.reads, 'answer')}"
        f" and timed out {count(result.refusals, 'time')}, waiting {seconds(result.longest_wait_s)} at most",
        *_failures(result.failures),
    ]


def _scale(r: ScaleResult, style: Style) -> list[str]:
    each = r.bytes / r.measurements
    timed = ((r.best_of_nest_s, AIM_BEST_OF_NEST_S), (r.top_100_s, AIM_TOP_100_S))
    best, top = ([seconds(v), f"at most {seconds(aim)}: {_verdict(v <= aim, style)}"] for v, aim in timed)
    fast = _verdict(r.ingest_per_s >= AIM_INGEST_PER_S, style)
    rows = [
        ["size", bytes_text(r.bytes), f"{each:.0f} B a measurement, all included"],
        ["spool", f"{r.append_per_s:,.0f} records/s", ""],
        ["ingest", f"{r.ingest_per_s:,.0f} records/s", f"aim {AIM_INGEST_PER_S:,}: {fast}"],
        ["open", seconds(r.open_s), ""],
        ["best_schedules of a nest", best[0], f"aim {best[1]}"],
        ["top 100 of everything", top[0], f"aim {top[1]}"],
        ["what a resumed search asks", seconds(r.resume_s), ""],
        ["merge", f"{r.merge_per_s:,.0f} records/s", f"{r.merged_records:,} records of another database"],
        ["compact", seconds(r.compact_s), f"both together: {bytes_text(r.compacted_bytes)}"],
    ]
    title = f"{r.nests:,} nests, {r.measurements:,} measurements, {r.records:,} records in all"
    return [style.paint(title, "bold"), *table(rows)]


def _verdict(met: bool, style: Style) -> str:
    return style.paint("met", "green") if met else style.paint("missed", "red")


def _failures(failures: tuple[str, ...]) -> list[str]:
    more = [f"  … and {len(failures) - _SHOWN} more"] if len(failures) > _SHOWN else []
    return [*(f"  {text}" for text in failures[:_SHOWN]), *more]


def database_document(trials: DatabaseTrials) -> str:
    return document("bench database", {**plain(trials), "passed": trials.passed})
