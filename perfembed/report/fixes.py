"""What `inspect --fix` changes and what it holds back, as lines beside the patch."""

from __future__ import annotations

from perfembed.inspection.fixing import FixedFile, OfferedFix
from perfembed.inspection.shares import RunShares
from perfembed.report.style import Style, count, one_line


def render_fixes(fixed: FixedFile, run: RunShares | None, style: Style) -> str:
    """`run`: what the loops cost, by which the fixes are put in order."""
    path = one_line(fixed.path)
    lines = [style.paint(f"{path}: {_fixes(len(fixed.fixes))}", "bold")]
    for offered in _ordered(fixed.fixes, run):
        lines += _lines(path, offered, run)
    if fixed.held_back:
        lines += [
            "",
            style.paint(f"{_fixes(len(fixed.held_back))} more with --unsafe, the same under a condition only:", "bold"),
        ]
        for offered in _ordered(fixed.held_back, run):
            lines += _lines(path, offered, run)
    for flag, loops in fixed.flags.items():
        lines += ["", f"without a fix: compiled with {flag}, {count(loops, 'refused loop')} more can be read"]
    if not fixed.complete:
        lines += ["", "there were too many loops to try every fix: name a --function"]
    return "\n".join(lines)


def _fixes(number: int) -> str:
    return "1 fix" if number == 1 else f"{number} fixes"


def _ordered(fixes: tuple[OfferedFix, ...], run: RunShares | None) -> list[OfferedFix]:
    return sorted(fixes, key=lambda f: (-(_share(f, run) or 0.0), f.line, f.column))


def _share(offered: OfferedFix, run: RunShares | None) -> float | None:
    """Of the run's time, what the loop took itself: it is what the fix makes tunable."""
    if run is None or not offered.reason:
        return None
    place = (offered.line, offered.column, offered.reason)
    return sum(loop.share for loop in run.loops if (loop.line, loop.column, loop.reason) == place)


def _lines(path: str, offered: OfferedFix, run: RunShares | None) -> list[str]:
    share = _share(offered, run)
    freed = "" if share is None else f" (frees {100 * share:.1f} % of the run)"
    inside = f" in {offered.function}" if offered.function else ""
    why = f": {one_line(offered.reason)}" if offered.reason else ""
    lines = [f"  {path}:{offered.line}:{offered.column}{inside}{why}{freed}"]
    lines += [f"    {one_line(title)} [{kind}]" for kind, title in offered.changes]
    return [*lines, *(f"    the same where {one_line(caveat)}" for caveat in offered.caveats)]
