"""What nests do to the machine, and what the machine can do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfembed.profiling.comparison import CounterComparison
from perfembed.profiling.profile_file import ProfiledNest, ProfileResult
from perfembed.report.documents import document, plain
from perfembed.report.style import Style, one_line, table
from profilers.calibration import Calibration
from profilers.counters import counters, metrics
from profilers.doctor import Check
from profilers.profile import Profile


def render_profiles(result: ProfileResult, style: Style, *, verbose: bool = False) -> str:
    """One block a nest with the derived metrics; `verbose` adds every counter with its statistics over threads."""
    lines: list[str] = []
    for nest in result.nests:
        lines += [*_nest(result.path, nest, style, verbose), ""]
    threads = f"{result.threads} thread{'s' * (result.threads != 1)}"
    lines.append(
        f"with     {one_line(result.compiler)} {' '.join(result.flags)}; {threads}; {one_line(result.machine)};"
        f" {result.seconds:.1f} s"
    )
    return "\n".join(lines)


def _nest(path: str, nest: ProfiledNest, style: Style, verbose: bool) -> list[str]:
    share = "" if nest.share is None else f", {nest.share:.1%} of the run"
    head = f"{nest.nest} ({one_line(path)}:{nest.line}:{nest.column}){share}"
    if nest.profile is None:
        return [style.paint(head, "bold"), f"  not profiled: {one_line(nest.reason)}"]
    profile = nest.profile
    lines = [style.paint(head, "bold") + style.paint(f"  {profile.source}", "dim")]
    lines.append(f"  schedule  {nest.schedule or 'as written: no loop is parallel'}")
    if profile.sampling_error:
        lines.append(f"  sampled   standard error {profile.sampling_error:.1%}")
    lines += [f"  note      {one_line(note)}" for note in profile.notes]
    if nest.bound is not None:
        lines.append(f"  at least  {_number(nest.bound.bytes)} bytes of memory traffic ({nest.bound.kind})")
    values = nest.metrics()
    rows = [[m.name, _number(values[m.name]), "" if m.unit == "1" else m.unit, m.meaning] for m in metrics()]
    lines += table(rows, 4)
    if verbose:
        lines += ["", *table(_counter_rows(profile), 4)]
    return lines


def _counter_rows(profile: Profile) -> list[list[str]]:
    features = profile.features()
    rows = [["counter", "min", "max", "mean", "std", "sum"]]
    for k, counter in enumerate(counters()):
        rows.append([counter.name, *(_number(v) for v in features[5 * k : 5 * k + 5])])
    return rows


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"


def profiles_document(result: ProfileResult) -> str:
    """Counters by thread and the metrics; a figure that is not known is null."""
    content = plain(result)
    for entry, nest in zip(content["nests"], result.nests, strict=True):
        entry["profile"] = None if nest.profile is None else _profile_document(nest.profile, nest.metrics())
    return document("profile", content)


def _profile_document(profile: Profile, values: dict[str, float]) -> dict[str, Any]:
    return {**plain(profile), "counts": plain(dict(profile.counts)), "metrics": plain(values)}


@dataclass(frozen=True, slots=True)
class DoctorContent:
    """`ready`: nests can be tuned here. `calibration` is null where there is none, `counters` where not asked for or
    where nothing counts."""

    ready: bool
    checks: tuple[Check, ...]
    calibration: Calibration | None
    counters: CounterComparison | None


def doctor_document(
    ready: bool,
    checks: Sequence[Check],
    calibration: Calibration | None,
    file: Path | None,
    counters: CounterComparison | None = None,
) -> str:
    """`file`: where the calibration is kept."""
    content: dict[str, Any] = plain(DoctorContent(ready, tuple(checks), calibration, counters))
    if calibration is not None:
        content["calibration"] |= {"noisy": calibration.noisy, "file": None if file is None else str(file)}
    return document("doctor", content)


def comparison_lines(found: CounterComparison, machine: str) -> list[str]:
    """One row a counter: simulated over measured of each nest."""
    counted = [nest for nest in found.nests if not nest.problem]
    rows = [["simulated / measured", "median", "least", "greatest", *(nest.name for nest in counted)]]
    for name, least, median, greatest, _ in found.rows():
        ratios = (nest.ratio(name) for nest in counted)
        rows.append([name, *map(_ratio, (median, least, greatest, *ratios))])
    lines = [f"counters of {found.source} on {machine}, each nest once as it is profiled", *table(rows)]
    lines += [f"  {nest.name}: {nest.problem}" for nest in found.nests if nest.problem]
    return [*lines, *(f"  {note}" for note in found.notes)]


def _ratio(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"
