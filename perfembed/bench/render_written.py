"""What became of written files in other ways to compile them, as text and as a document."""

from __future__ import annotations

from perfembed.bench.contents import WrittenContent
from perfembed.bench.written.model import VERDICTS, Failure, WrittenResult
from perfembed.bench.written.ways import WAYS
from perfembed.report.documents import document, plain
from perfembed.report.style import Style, count, seconds, table

_SHOWN = 20  # failures


def render_written(result: WrittenResult, style: Style) -> str:
    """What was rewritten, a row for each way, then every difference with the commands that show it again."""
    bench, tally = result.bench, result.tally
    mix = ", ".join(f"{n} {what}" for what, n in sorted(tally.mix.items(), key=lambda item: (-item[1], item[0])))
    lines = [f"{count(tally.programs, 'program')}, random ones of seed {bench.seed} from number {bench.first}: {mix}"]
    about = {way.name: way.about for way in WAYS}
    rows = [["way", *VERDICTS[:-1], ""]]
    for name in result.names:
        if name not in tally.missing:
            counts = result.counts(name)
            rows.append([name, *(str(counts[v]) if counts[v] else "" for v in VERDICTS[:-1]), about[name]])
    lines += table(rows)
    lines += [f"  {name}: not here ({said})" for name, said in tally.missing.items()]
    for failure in tally.failures[:_SHOWN]:
        lines += ["", *_failure(failure, style)]
    number = len(tally.failures)
    if number > _SHOWN:
        lines += ["", f"… and {number - _SHOWN} more; --json has them all"]
    verdict = style.paint(count(number, "difference"), "red" if number else "green")
    stopped = "interrupted; " if result.interrupted else ""
    return "\n".join([*lines, "", f"{stopped}{verdict} in {seconds(result.seconds)}"])


def _failure(failure: Failure, style: Style) -> list[str]:
    return [
        style.paint(f"{failure.program}: {failure.way}" if failure.way else failure.program, "bold", "red"),
        *(f"  {line}" for line in failure.detail.split("\n")),
        *([f"  again: {failure.again}"] if failure.again else []),
        *(f"  {command}" for command in failure.commands),
    ]


def written_document(result: WrittenResult) -> str:
    bench, tally = result.bench, result.tally
    content: WrittenContent = {
        "files": bench.files,
        "seed": bench.seed,
        "first": bench.first,
        "programs": tally.programs,
        "interrupted": result.interrupted,
        "seconds": result.seconds,
        "mix": dict(sorted(tally.mix.items())),
        "ways": {name: dict(result.counts(name)) for name in result.names},
        "not_here": tally.missing,
        "differences": tally.failures,
    }
    shown = [{key: value for key, value in plain(f).items() if key != "files"} for f in tally.failures]
    return document("bench written", {**content, "differences": shown})
