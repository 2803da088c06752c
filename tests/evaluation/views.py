"""What evaluations print: tables of their records, then what these say together.

Long, because there is one for each.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence

from perfembed.comparing.summary import geometric_mean
from perfembed.report.style import seconds, table, times
from tests.evaluation import house as houses
from tests.evaluation.costmodel import CostModelResult
from tests.evaluation.counters import AIM_CORRELATION, AIM_ERROR, COUNTS, CountersResult, agreement
from tests.evaluation.datasets import DataRow, told_apart
from tests.evaluation.embedding import DONORS, PAPER_SIMILARITY, SIMILARITY, EmbeddingScores
from tests.evaluation.large import AIMS as LARGE_AIMS
from tests.evaluation.large import LargeResult, median
from tests.evaluation.method_scores import REFERENCE, NestRow, fastest_of_all, pairs, scores
from tests.evaluation.nest_spellings import SpellingDonors
from tests.evaluation.products import ProductRow
from tests.evaluation.programs import OPENMP, SEQUENTIAL, TUNED, ProgramsResult
from tests.evaluation.regions import RegionsResult
from tests.evaluation.replay import FRONTEND_AIM_MS, REPLAY_AIM_MS, ReplayTimes
from tests.evaluation.retrieval import COUNTS as TRIED
from tests.evaluation.retrieval import RetrievalScores
from tests.evaluation.spread import SpellingTimes
from tests.evaluation.startup import AIMS, INSTALL_AIM_S, StartupResult
from tests.evaluation.surrogate import SurrogateResult
from tests.evaluation.timing import TimingResult
from tests.evaluation.variants import VariantResult
from tests.printing import cells, counts, records, rows_shown, verdict

_AHEAD = 1 / 1.05
_EMBEDDING_AIM = 0.85
_PRODUCTS_AIM = 0.85
_COSTMODEL_PAPERS = (
    ("Tiramisu (MLSys 2021)", "their test set", "16.0 %", "", "0.95", "", "0.983", "0.94", "", "", "", ""),
    ("LOOPer (2024)", "their test set", "26.7 %", "", "0.74", "", "0.94", "", "", "", "", ""),
)
_COUNTED = {"written": "accesses as written", "compiled": "compiled, with vectors"}
_METHODS = {
    "": "{method}",
    "programs": "{programs}",
    "median": "{median:.2f}",
    "worst": "{worst:.2f}",
    "mean": "{mean:.2f}",
    "95 %": "{low:.2f} to {high:.2f}",
    "within 5 %": "{within}",
    "over 25 %": "{beyond}",
    "best": "{best}",
    "over original": "{speedup!x}",
    "predicted": "{predicted:.0f}",
    "measured": "{measured:.1f}",
    "rejected": "{rejected:.1f}",
    "tuning a nest": "{tuning_s!t}",
    "overhead": "{overhead_s!t}",
    "at most": "{overhead_most_s!t}",
}


def methods(
    rows: Sequence[NestRow], names: Sequence[str], against: str, machine: str, groups: Sequence[Sequence[str]] = ()
) -> list[str]:
    """Times as multiples of those of `against`; the overhead is that of all of a program's nests.

    `mean` is the geometric one, with its interval. `groups`: methods that are also compared with the first of them.
    """
    found = scores(rows, names, against)
    if not found:
        return [f"no program has a time of {against} for all its nests"]
    seeds = len({row.seed for row in rows})
    each = f"; a program counts once for each of {seeds} seeds" if seeds > 1 else ""
    lines = [f"time over that of {against}, {machine}{each}", *records(found, _METHODS)]
    if len(found) > 1:
        ratios = fastest_of_all(rows, names, against)
        ahead = [f"{name} {ratio:.2f}" for ratio, name in sorted((r, p) for p, r in ratios.items()) if ratio <= _AHEAD]
        lines.append(
            f"the fastest of all: {geometric_mean(ratios.values()):.2f} of the time of {against} in the mean; 5 % "
            f"ahead of it on {len(ahead)} of {len(ratios)} programs{': ' if ahead else ''}{', '.join(ahead)}"
        )
    if compared := pairs(rows, groups, against):
        pair = {"": "{method}", "over": "{against}", "mean": "{mean:.2f}", "95 %": "{low:.2f} to {high:.2f}"}
        lines += records(compared, pair)
    if searched_on := sorted({row.searched_on for row in rows if row.searched_on is not None}):
        lines.append(f"{REFERENCE} on machine {', '.join(searched_on)}; what it found was timed on this one")
    return lines


def datasets(rows: Sequence[DataRow], machine: str) -> list[str]:
    """A line for each data set, nest and method, then how often donors differ between data sets."""
    columns = {"data set": "{data}", "nest": "{nest}", "method": "{method}", "nearest donors": "{nearest}",
               "a run": "{seconds!t}", "over original": "{gain!x}", "schedule": "{shown}"}  # fmt: skip
    data = len({row.data for row in rows})
    return [
        f"one nest on different data, {machine}",
        *records(rows, columns),
        *(
            f"{nest}, {method}: {different} different lists of donors on {data} data sets"
            for (nest, method), different in told_apart(rows).items()
        ),
    ]


def embedding(found: EmbeddingScores) -> list[str]:
    """The correlation of each metric, how alike neighbours perform, and how alike their schedules are."""
    columns = {"metric": "{metric}", "with profile": "{profiled:.2f}", "of perf, AMD": "{partial:.2f}",
               "static": "{static:.2f}", "nests": "{count}"}  # fmt: skip
    lines = [
        f"Pearson correlation of metrics, {found.nests} nests of {found.algorithms} algorithms that no training saw",
        *records(found.metrics, columns),
    ]
    for name in ("profiled", "partial", "static"):
        values = [v for metric in found.metrics if math.isfinite(v := getattr(metric, name))]
        high = sum(value >= _EMBEDDING_AIM for value in values)
        lines.append(
            f"  {name}: {high} of {len(found.metrics)} at {_EMBEDDING_AIM} or more, lowest {min(values, default=0):.2f}"
        )
    similar = {"embedding": "{embedding}", **{name: f"{{values[{k}]:.2f}}" for k, name in enumerate(SIMILARITY)}}
    paper = ["paper, its own nests and machine", *(f"{value:.2f}" for value in PAPER_SIMILARITY)]
    lines += [
        "  paper: 17 of 20 at 0.80 or more, lowest 0.60",
        "",
        "coefficient of variation among a nest and its 3 nearest neighbours (less is better)",
        *table([*cells(found.similarity, similar), paper]),
    ]
    if found.likeness:
        alike = {"neighbours by": "{space}", "all of them": "{mean:.2f}", "the best": "{best:.2f}"}
        lines += [
            "",
            f"likeness of schedules to those of {DONORS} donors of other algorithms, {found.donors} nests that no "
            "training saw (more is better)",
            *records(found.likeness, alike),
        ]
    median, worst = found.static_ms
    return [*lines, "", f"static embedding of one nest: {median:.1f} ms in the median, {worst:.1f} ms at worst"]


def retrieval(found: RetrievalScores, title: str) -> list[str]:
    def ratio(over: tuple[float, float, float]) -> str:
        return "{:.3f} [{:.3f}, {:.3f}]".format(*over)

    lines = [
        f"{title}: {found.nests} nests of {found.algorithms} algorithms on {', '.join(found.machines)}; {found.labels} "
        f"recipes asked, {found.fits:.0%} fit; times of one tree differ by {found.noise:.1%} in the median",
        "share of the best that any recipe asked reaches, by how many trees are tried (geometric means)",
        "",
        *table(
            [
                ["", *map(str, TRIED), "95 % at 3"],
                *([m.method, *(f"{m.shares[k]:.3f}" for k in TRIED), f"{m.close[3]:.0%}"] for m in found.methods),
            ]
        ),
    ]
    others = list(dict.fromkeys(other for m in found.methods for other in m.over))
    for other in others:
        rows = [[m.method, *(ratio(m.over[other][k]) for k in (1, 3))] for m in found.methods if other in m.over]
        lines += ["", f"time over that of {other}, with 95 % over algorithms", "", *table([["", "1", "3"], *rows])]
    return lines


def costmodel(result: CostModelResult) -> list[str]:
    """A row for each model and part of the data, behind the papers' own."""
    order = ("spearman", "spearman_program", "ndcg", "ndcg_1", "ndcg_5", "ndcg_10")
    heads = ("Spearman", "a program", "nDCG", "@1", "@5", "@10")
    columns = {
        "model": "{model}",
        "on": "{part} ({scores.programs} nests, {scores.labels} labels)",
        "MAPE": "{scores.mape:.1%}",
        "median": "{scores.median_ape:.1%}",
        **{head: f"{{scores.{name}:.3f}}" for head, name in zip(heads, order, strict=True)},
        "top-1 regret": "{scores.regret_1:.1%}",
        "top-5 regret": "{scores.regret_5:.1%}",
    }
    head, *rows = cells(result.scores, columns)
    return [
        "predicted speedups over the program as written",
        *table([head, *map(list, _COSTMODEL_PAPERS), *rows]),
        *(
            f"{t.model}: {t.alone:.0f} predictions/s alone, {t.whole:.0f}/s with replay and legality"
            for t in result.throughput
        ),
    ]


def surrogate(result: SurrogateResult) -> list[str]:
    """One row a classifier and protocol, then the importance of the features."""
    shares = {"profitable": "profitable", "accuracy": "accuracy", "precision": "precision", "recall": "recall",
              "saved": "saved", "nests lost": "worst_best"}  # fmt: skip
    columns = {"classifier": "{classifier}", "protocol": "{protocol}", "on": "{data}", "tested": "{scores.tested}",
               **{head: f"{{scores.{name}:.1%}}" for head, name in shares.items()}}  # fmt: skip
    ordered = sorted(result.gini.items(), key=lambda pair: -pair[1])
    return [
        f"{result.schedules} schedules, {result.profitable_share:.1%} of them profitable",
        *records(result.rows, columns),
        "importance (GINI): " + ", ".join(f"{name} {share:.2f}" for name, share in ordered),
    ]


def counters(result: CountersResult) -> list[str]:
    """Correlation and median relative error of each count over all nests."""
    rows = [["", "count", "correlation", "median error", "aim"]]
    for name, title in _COUNTED.items():
        for count in COUNTS if result.nests else ():
            correlation, error = agreement([getattr(nest, name)[count] for nest in result.nests])
            met = not correlation < AIM_CORRELATION and error <= AIM_ERROR  # nan: nothing to correlate
            rows.append([title, count, f"{correlation:.4f}", f"{error:.2%}", verdict(met)])
    known = [nest for nest in result.nests if nest.operations[1] is not None]
    d1, ll = result.bench.d1, result.bench.ll
    wrong = [nest for nest in known if nest.operations[0] != nest.operations[1]]
    return [
        f"{len(result.nests)} nests, simulated against valgrind, D1 {d1[0] >> 10} KiB {d1[1]}-way, "
        f"LL {ll[0] >> 10} KiB {ll[1]}-way, lines of {result.bench.line_bytes} bytes",
        *table(rows),
        f"floating-point operations equal the closed form exactly on {len(known) - len(wrong)} of {len(known)} affine "
        "nests",
        *(f"  {n.file}: {n.nest}: {n.operations[0]:.0f}, closed form {n.operations[1]:.0f}" for n in wrong),
        *(f"skipped {name}: {why}" for name, why in result.skipped),
        f"{'interrupted; ' if result.interrupted else ''}{seconds(result.seconds)}",
    ]


def timing(result: TimingResult) -> list[str]:
    """False alarms against at most 1 %, planted slowdowns found against at least 90 %."""
    alarms = result.alarms / result.equal if result.equal else 0.0
    found = result.found / result.planted if result.planted else 0.0
    missing = result.untold / result.equal if result.equal else 0.0
    ratios = sorted(result.ratios)
    spread = f"{ratios[0]:.4f} to {ratios[-1]:.4f}, median {statistics.median(ratios):.4f}" if ratios else "none"
    return [
        f"{result.equal} comparisons of a nest with itself: {result.alarms} declared faster"
        f" ({alarms:.1%}, aim at most 1 %: {verdict(alarms <= 0.01)}), {result.others} slower; ratios {spread}",
        f"{result.untold} of their intervals as they are printed leave 1 out ({missing:.1%}, promised at most"
        f" {1 - result.told:.1%}: {verdict(missing <= 1 - result.told)})",
        f"{result.planted} comparisons with one that is {result.bench.slowdown:.1%} slower: {result.found} found"
        f" ({found:.1%}, aim at least 90 %: {verdict(found >= 0.9)}), {result.reversed} declared faster",
        f"{result.noisy} of them on a noisy machine; {'interrupted; ' if result.interrupted else ''}"
        f"{seconds(result.seconds)}",
    ]


def regions(result: RegionsResult) -> list[str]:
    """Microseconds of a call, by form."""
    rows = [["", "median", "least", "most"]]
    rows += [[name, *(f"{by[name] * 1e6:.2f} µs" for by in (result.seconds, result.least, result.most))]
             for name in result.seconds]  # fmt: skip
    return [
        *table(rows),
        f"{result.elements} elements, {result.threads} threads, {result.rounds} rounds of {result.calls} calls:"
        f" {result.more * 1e6:+.2f} µs a region (medians)",
    ]


def replay(found: ReplayTimes) -> list[str]:
    """The distributions over all files and candidates, in milliseconds."""
    named = {
        "front end of a file": found.frontend,
        "setup of a nest (dependences)": found.setup,
        "replay + legality of a candidate": found.replay,
        "the same, nothing cached": found.cold,
        "code generation of a candidate": found.codegen,
    }
    columns = {"count": "{count}", "min": "{least:.2f}", "median": "{median:.2f}", "p90": "{p90:.2f}",
               "max": "{greatest:.2f}"}  # fmt: skip
    head, *rows = cells(named.values(), columns)
    aims = (
        ("replay + legality, median", found.replay.median, REPLAY_AIM_MS),
        ("the same, nothing cached", found.cold.median, REPLAY_AIM_MS),
        ("front end, slowest file", found.frontend.greatest, FRONTEND_AIM_MS),
    )
    faults = [f"{f.path}: {n.nest}: {fault}" for f in found.files for n in f.nests for fault in n.faults]
    return [
        f"milliseconds, {len(found.files)} files, {found.legal} legal candidates",
        *table([["", *head], *([name, *row] for name, row in zip(named, rows, strict=True))]),
        *(f"{what}: {value:.2f} ms, aim < {aim:g} ms: {verdict(value < aim)}" for what, value, aim in aims),
        *(f"{f.path}: {f.problem}" for f in found.files if f.problem),
        *(f"code generation failed: {fault}" for fault in faults),
    ]


def startup(result: StartupResult) -> list[str]:
    """Medians of both, and how many times as much the other one needs."""
    if not result.ours:
        return ["nothing was measured"]
    rows: list[tuple[str, tuple[float, float], float | None]] = [
        ("import perfembed", result.median("library_s"), AIMS["library_s"]),
        ("perfembed --help", result.median("help_s"), AIMS["help_s"]),
        ("importing what tune needs", result.median("imports_s"), None),
        ("first program has run", result.median("program_s"), AIMS["program_s"]),
        ("first candidate measured", result.median("candidate_s"), AIMS["candidate_s"]),
        ("processor time until then", result.median("processor_s"), None),
        ("memory at most", result.median("memory_bytes"), AIMS["memory_bytes"]),
    ]
    if result.installed is not None:
        ours, theirs = result.installed
        rows = [
            ("pip install, cached", (ours.install_s, theirs.install_s), INSTALL_AIM_S),
            ("installed: perfembed", (ours.own_bytes, theirs.own_bytes), None),
            ("installed: everything", (ours.all_bytes, theirs.all_bytes), None),
            *rows,
        ]
    shown = [["", "this", str(result.bench.against or "torch loaded first"), "ratio", "aim"]]
    for name, (ours_, theirs_), aim in rows:
        unit = (lambda value: f"{value / 2**20:.0f} MiB") if max(ours_, theirs_) > 1e5 else seconds
        met = "" if aim is None else f"{unit(aim)}: {verdict(ours_ <= aim)}"
        shown.append([name, unit(ours_), unit(theirs_), f"{theirs_ / ours_:.2f}", met])
    return [
        f"perfembed tune of an example: medians of {len(result.ours)} runs of each, in alternation",
        *table(shown),
    ]


def large(result: LargeResult) -> list[str]:
    """Medians of both, and how many times as much the other one needs; infinitely long: not within the budget."""
    shown = [["", "wall", "processor", "theirs", "processor", "ratio", "aim"]]
    for task, (ours, theirs) in result.spent.items():
        (wall, used), (their_wall, their_used) = median(ours), median(theirs)
        times = ["", "", ""] if not theirs else [seconds(their_wall), seconds(their_used), f"{their_used / used:.2f}"]
        aim = LARGE_AIMS.get(task)
        met = "" if aim is None else f"{seconds(aim)}: {verdict(wall <= aim)}"
        shown.append([task, seconds(wall), seconds(used), *times, met])
    runs = len(next(iter(result.spent.values()))[0])
    return [f"{result.files} files, {result.lines} lines: medians of {runs} runs of each", *table(shown)]


def products(rows: Sequence[ProductRow]) -> list[str]:
    """A row for each product, then how many reach the aim."""
    columns = {"spelling": "{spelling}", "type": "{ctype}", "size": "{size}", "-march": "{march}", "ours": "{ours:.1f}",
               "OpenBLAS": "{openblas:.1f}", "ratio": "{ratio:.0%}", "spread": "{apart:.0%}",
               "tuning": "{tuning_s:.1f} s", "": "{problem}"}  # fmt: skip
    lines = ["GFLOP/s, the fastest of three runs in turns; spread of ours", *records(rows, columns)]
    if ratios := sorted(row.ratio for row in rows if row.ratio is not None):
        reached = sum(ratio >= _PRODUCTS_AIM for ratio in ratios)
        lines.append(
            f"{reached} of {len(rows)} at {_PRODUCTS_AIM:.0%} of OpenBLAS or more; least {ratios[0]:.0%}, "
            f"median {ratios[len(ratios) // 2]:.0%}"
        )
    return lines


def programs(result: ProgramsResult, markdown: bool = False) -> list[str]:
    """A row for each program, then what kept loops from being read. `markdown`: as docs/results/programs.md has it."""
    bench = result.bench
    machines, dates = ({getattr(s, name) for s in result.scores} - {""} for name in ("machine", "date"))
    when = " to ".join(sorted({min(dates), max(dates)})) if dates else ""
    measured = [
        [
            s.name,
            str(s.lines),
            *(seconds(s.best(form)) for form in (SEQUENTIAL, OPENMP, TUNED)),
            f"{s.spread:.0%}",
            times(s.gain(SEQUENTIAL)),
            times(s.gain(OPENMP)),
            f"{s.seen:.0%}",
            f"{s.nests_tuned} of {s.nests} ({s.tuned:.0%})",
            {True: "same", False: "DIFFERS", None: ""}[s.output],
            seconds(s.tuning_s),
        ]
        for s in result.scores
        if not s.problem
    ]
    head = ["program", "lines", "sequential", "OpenMP", "tuned", "spread", "over sequential", "over OpenMP", "seen",
            "tuned nests", "output", "took"]  # fmt: skip
    over = ", ".join(f"{times(result.mean_gain(form))} over {form}" for form in (SEQUENTIAL, OPENMP))
    good, seen = sum(s.output is True for s in result.scores), [s.seen for s in result.scores] or [math.nan]
    reasons = sum((Counter(s.refused) for s in result.scores), Counter[str]())
    about = f"{len(result.scores)} programs at {bench.threads} threads, budget {seconds(bench.budget_s)}"
    return [
        "; ".join([about, *sorted(machines), when]),
        *rows_shown([head, *measured], markdown),
        *(f"  {s.name}: {s.problem}" for s in result.scores if s.problem),
        f"geometric mean of {good}: {over}; {statistics.fmean(seen):.0%} seen in the mean",
        "",
        "refused loops",
        *counts(reasons, 12),
    ]


def variants(
    results: Sequence[VariantResult], spelled: Sequence[SpellingDonors], timed: Sequence[SpellingTimes]
) -> list[str]:
    """How many nests are found again, get the same donors and end as fast."""
    whole, nests, found = (sum(getattr(r, name) for r in results) for name in ("whole", "nests", "found"))
    lines = [f"{r.program}: {r.problem}" for r in results if r.problem]
    lines.append(f"{whole} of {len(results)} variants found with all their nests; {found} of {nests} nests")
    if other := sum(result.spellings for result in spelled):
        first = sum(result.same_first for result in spelled)
        shared = sum(result.shared * result.spellings for result in spelled) / other
        lines.append(
            f"{len(spelled)} nests in {other} other spellings: the same first donor in {first / other:.0%}, "
            f"{shared:.0%} of the five nearest donors the same"
        )
    for one in timed:
        ended = ", ".join(seconds(value) for value in one.tuned)
        lines.append(
            f"{one.program}: {one.nest}: {seconds(one.original)} as written, tuned {ended}: {one.spread:.0%} apart; "
            f"the first one again {seconds(one.again)}, {one.noise:.0%} apart"
        )
    if timed:
        close, same = sum(one.spread <= 0.1 for one in timed), sum(one.noise <= 0.1 for one in timed)
        lines.append(f"spellings of {close} of {len(timed)} nests within 10 %; of {same} one spelling tuned twice")
    return lines


def house(found: houses.House, before: houses.House | None) -> list[str]:
    rows = [["", *(["before"] if before else []), "now", "aim"]]
    for name, count in found.figures.items():
        rows.append([name, *([f"{before.figures[name]:,}"] if before else []), f"{count:,}", f"{houses.AIMS[name]:,}"])
    return [*table(rows), *(f"{name}: {count} lines" for count, name in found.longest)]
