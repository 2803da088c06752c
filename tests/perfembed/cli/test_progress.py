"""Progress on stderr, plain and live."""

import io
import re

import pytest

from perfembed.cli.progress import progress_on
from perfembed.measuring.events import CandidateMeasured
from perfembed.tuning.result import Message, NestFinished, NestReport, NestStarted

TUNED = NestReport(
    "gemm_1", "gemm", "a.c", 48, 5, 0.9, "tuned", "", "interchange(j, k)", 10.3, 9.1, 11.5, 1.49, 0.145,
    told_low=10.1, told_high=10.5,
)  # fmt: skip
SKIPPED = NestReport("init_1", "init", "a.c", 31, 5, 0.001, "skipped", "only 0.1 % of the run time")
EVENTS = (
    Message("capturing [bold]inputs"),
    NestStarted("gemm_1", "gemm", 48, 1, 2, 30.0),
    CandidateMeasured(0.5, 1.5, 7),
    NestFinished(TUNED),
    NestFinished(SKIPPED),
)


def shown(color: bool, quiet: bool = False, verbose: bool = False) -> str:
    stream = io.StringIO()
    with progress_on(stream, color, quiet=quiet, verbose=verbose) as progress:
        for event in EVENTS:
            progress(event)
    return stream.getvalue()


def test_plain() -> None:
    assert shown(color=False).splitlines() == [
        "capturing [bold]inputs",
        "nest 1 of 2: gemm_1 (line 48), up to 30 s",
        "tuned    gemm_1 (a.c:48:5), 90.0 % of the run: 10.3x faster [10.1x, 10.5x], 1.49 s -> 145 ms",
    ]


def test_verbose() -> None:
    text = shown(color=False, verbose=True)
    assert "7 candidates, best 500 ms (3.00x)" in text
    assert "skipped  init_1" in text


def test_quiet() -> None:
    assert shown(color=True, quiet=True) == shown(color=False, quiet=True) == ""


def test_what_is_loud_is_told_even_when_quiet() -> None:
    stream = io.StringIO()
    with progress_on(stream, False, quiet=True, verbose=False) as show:
        show(Message("capturing"))
        show(Message("warning: a file was not read", loud=True))
    assert stream.getvalue() == "warning: a file was not read\n"


def test_live() -> None:
    text = shown(color=True)
    assert "tuned    gemm_1" in text and "init_1" not in text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_one_line_of_a_nest_while_it_is_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best so far, how long it took, and how long it may take."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with progress_on(stream, True, quiet=False, verbose=False) as progress:
        for event in EVENTS:
            progress(event)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "0:00:00 of up to 30 s  1/2 gemm_1 (line 48): 7 candidates, best 500 ms (3.00x)" in text


@pytest.mark.parametrize("color", [False, True])
def test_what_fails_inside_gets_out(color: bool) -> None:
    with pytest.raises(KeyboardInterrupt), progress_on(io.StringIO(), color, quiet=False, verbose=False):
        raise KeyboardInterrupt
