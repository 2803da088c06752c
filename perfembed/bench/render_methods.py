"""Methods held against each other, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfembed.bench.contents import MethodsContent
from perfembed.bench.method_scores import REFERENCE, MethodPair, NestRow, fastest_of_all, pairs, scores
from perfembed.bench.statistics import geometric_mean
from perfembed.report.documents import document
from perfembed.report.style import seconds, table, times

_AHEAD = 1 / 1.05
_HEAD = [
    "",
    "programs",
    "median",
    "worst",
    "mean",
    "95 %",
    "within 5 %",
    "over 25 %",
    "best",
    "over original",
    "predicted",
    "measured",
    "rejected",
    "tuning a nest",
    "overhead",
    "at most",
]


def render_methods(
    rows: Sequence[NestRow], methods: Sequence[str], against: str, machine: str, groups: Sequence[Sequence[str]] = ()
) -> str:
    """Times as multiples of those of `against`; the overhead is that of all of a program's nests.

    `mean` is the geometric one, with its interval. `groups`: methods that are also compared with the first of them.
    """
    found = scores(rows, methods, against)
    if not found:
        return f"no program has a time of {against} for all its nests"
    seeds = len({row.seed for row in rows})
    each = f"; a program counts once for each of {seeds} seeds" if seeds > 1 else ""
    lines = [f"time over that of {against}, {machine}{each}"]
    body = [
        [
            score.method,
            str(score.programs),
            f"{score.median:.2f}",
            f"{score.worst:.2f}",
            f"{score.mean:.2f}",
            f"{score.low:.2f} to {score.high:.2f}",
            str(score.within),
            str(score.beyond),
            str(score.best),
            times(score.speedup),
            f"{score.predicted:.0f}" if score.predicted else "-",
            f"{score.measured:.1f}",
            f"{score.rejected:.1f}" if score.rejected else "-",
            seconds(score.tuning_s) if score.tuning_s else "-",
            seconds(score.overhead_s) if score.overhead_s else "-",
            seconds(score.overhead_most_s) if score.overhead_most_s else "-",
        ]
        for score in found
    ]
    lines += table([_HEAD, *body])
    if len(found) > 1:
        lines += _of_all(fastest_of_all(rows, methods, against), against)
    if compared := pairs(rows, groups, against):
        lines += table([["", "over", "mean", "95 %"], *map(_pair, compared)])
    if searched_on := sorted({row.searched_on for row in rows if row.searched_on is not None}):
        lines.append(f"{REFERENCE} on machine {', '.join(searched_on)}; what it found was timed on this one")
    return "\n".join(lines)


def _pair(one: MethodPair) -> list[str]:
    return [one.method, one.against, f"{one.mean:.2f}", f"{one.low:.2f} to {one.high:.2f}"]


def _of_all(ratios: Mapping[str, float], against: str) -> list[str]:
    ahead = sorted((ratio, program) for program, ratio in ratios.items() if ratio <= _AHEAD)
    mean = geometric_mean(ratios.values())
    names = ", ".join(f"{program} {ratio:.2f}" for ratio, program in ahead)
    return [
        f"the fastest of all: {mean:.2f} of the time of {against} in the mean; 5 % ahead of it on "
        f"{len(ahead)} of {len(ratios)} programs{f': {names}' if names else ''}"
    ]


def methods_document(
    kind: str, rows: Sequence[NestRow], methods: Sequence[str], against: str, groups: Sequence[Sequence[str]] = ()
) -> str:
    content: MethodsContent = {
        "scores": scores(rows, methods, against),
        "pairs": pairs(rows, groups, against),
        "nests": rows,
    }
    return document(kind, content)
