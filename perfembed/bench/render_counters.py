"""Simulated counters against valgrind's as text and as a document."""

from __future__ import annotations

from perfembed.bench.contents import CountersContent
from perfembed.bench.counters import AIM_CORRELATION, AIM_ERROR, COUNTS, CountedNest, CountersResult, agreement
from perfembed.report.documents import document
from perfembed.report.style import Style, seconds, table

_PROGRAMS = {"written": "accesses as written", "compiled": "compiled, with vectors"}


def render_counters(result: CountersResult, style: Style, verbose: bool = False) -> str:
    """Correlation and median relative error of each count; with `verbose` each nest, too."""
    bench = result.bench
    caches = f"D1 {bench.d1[0] >> 10} KiB {bench.d1[1]}-way, LL {bench.ll[0] >> 10} KiB {bench.ll[1]}-way"
    title = f"{len(result.nests)} nests, simulated against valgrind, {caches}, lines of {bench.line_bytes} bytes"
    lines = [style.paint(title, "bold")]
    if verbose:
        lines += table([["nest", "", *COUNTS], *(row for nest in result.nests for row in _rows(nest))])
        lines.append("")
    rows = [["", "count", "correlation", "median error", "aim"]]
    for name, title in _PROGRAMS.items():
        for count, (correlation, error) in _agreements(result, name).items():
            met = not correlation < AIM_CORRELATION and error <= AIM_ERROR  # nan: nothing to correlate
            rows.append([title, count, f"{correlation:.4f}", f"{error:.2%}", "met" if met else "missed"])
    lines += table(rows)
    known = [nest for nest in result.nests if nest.operations[1] is not None]
    exact = [nest for nest in known if nest.operations[0] == nest.operations[1]]
    lines.append(
        f"floating-point operations equal the closed form exactly on {len(exact)} of {len(known)} affine nests"
    )
    lines += [
        f"  {_name(n)}: {n.operations[0]:.0f}, closed form {n.operations[1]:.0f}" for n in known if n not in exact
    ]
    lines += [f"skipped {name}: {why}" for name, why in result.skipped]
    lines.append(f"{'interrupted; ' if result.interrupted else ''}{seconds(result.seconds)}")
    return "\n".join(lines)


def counters_document(result: CountersResult) -> str:
    content: CountersContent = {
        "nests": result.nests,
        "agreement": {
            name: {
                count: {"correlation": correlation, "median_relative_error": error}
                for count, (correlation, error) in _agreements(result, name).items()
            }
            for name in _PROGRAMS
        },
        "d1": result.bench.d1,
        "ll": result.bench.ll,
        "skipped": result.skipped,
        "seconds": result.seconds,
        "interrupted": result.interrupted,
    }
    return document("bench counters", content)


def _agreements(result: CountersResult, program: str) -> dict[str, tuple[float, float]]:
    if not result.nests:
        return {}
    return {count: agreement([getattr(nest, program)[count] for nest in result.nests]) for count in COUNTS}


def _rows(nest: CountedNest) -> list[list[str]]:
    return [
        [_name(nest) if k == 0 else "", title, *(f"{ours:.0f}/{theirs:.0f}" for ours, theirs in pairs)]
        for k, (name, title) in enumerate(_PROGRAMS.items())
        for pairs in ([getattr(nest, name)[count] for count in COUNTS],)
    ]


def _name(nest: CountedNest) -> str:
    return f"{nest.file.rpartition('/')[2]}: {nest.nest}"
