"""Pages of documents in which any part is empty, missing or extreme: all is drawn that can be, and nothing fails."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from perfembed.errors import UsageError
from perfembed.report import tuning_nest
from perfembed.report.documents import tune_document
from perfembed.report.explanation import render_explanation
from perfembed.report.findings import tuning_remarks
from perfembed.report.reading import read_tune_document
from perfembed.report.style import Style
from perfembed.report.terminal import render_result
from perfembed.report.tuning_page import tuning_page
from tests.perfembed.report.tuned import RESULT, TRIALS, TUNED

_UNDRAWN = 'class="undrawn"'
_DOCUMENTS = 60  # of each seed
_WHOLE = (0, -1, 1, 2**63, -(10**18), 10**300)
_REAL = (0.0, -0.0, 5e-324, 1e-200, 1e-101, 1e-99, 1e-9, 0.5, 1e5, 9e99, 1e101, 1e200, 1.7e308, -1e308)
_TEXTS = ("", "\n", "x" * 3000, "\u202e\x00", "tuned", "S0", "tile([i], [0])")


def places(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if at:
        yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))


def change(document: Any, drawn: random.Random) -> None:
    """One place of a document becomes another value that its schema may allow."""
    *path, last = drawn.choice(list(places(document)))
    around = document
    for key in path:
        around = around[key]
    old = around[last]
    match old:
        case bool():
            new: Any = not old
        case int():
            new = drawn.choice(_WHOLE)
        case float():
            new = drawn.choice(_REAL)
        case str():
            new = drawn.choice(_TEXTS)
        case list():
            new = drawn.choice(([], old[:1], old * 2, old * 40, old[::-1]))
        case dict():
            new = None if drawn.random() < 0.2 else old
        case _:
            new = drawn.choice((0, 1.0, 1.7e308, "", []))
    around[last] = None if drawn.random() < 0.03 else new


@pytest.mark.parametrize("seed", range(6))
def test_any_part_may_be_empty_or_extreme(seed: int) -> None:
    drawn, pages = random.Random(seed), 0
    for number in range(_DOCUMENTS):
        document = json.loads(tune_document(RESULT))
        for _ in range(drawn.choice((1, 1, 2, 4))):
            change(document, drawn)
        try:
            result = read_tune_document(json.dumps(document), "r.json")
        except UsageError:
            continue  # the document is none
        pages += 1
        page = tuning_page(result)
        assert _UNDRAWN not in page, (seed, number, page[page.index(_UNDRAWN) :][:200])
        assert render_explanation(result, Style()) and render_result(result, Style(), verbose=True)
        assert isinstance(list(tuning_remarks(result)), list)
    assert pages > _DOCUMENTS / 3


def test_every_timed_candidate_was_given_up() -> None:
    """As on a machine that others use: stopped, each of them, and one failed."""
    trials = tuple(replace(trial, given_up=True, chosen=False) for trial in TRIALS)
    kept = replace(TUNED, status="kept", trials=trials, speedup=None, tuned_s=None)
    page = tuning_page(replace(RESULT, nests=(kept,)))
    assert _UNDRAWN not in page and "Candidates of gemm_0 over time" in page
    assert page.count("stopped, it takes more than") == 4 and "best: " not in page


def test_what_cannot_be_drawn_takes_nothing_else_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[str]:
        raise ZeroDivisionError("division by zero")

    whole = tuning_page(RESULT)
    monkeypatch.setattr(tuning_nest, "timeline_parts", broken)
    page = tuning_page(RESULT)
    assert "This cannot be drawn: ZeroDivisionError: division by zero." in page
    for heading in ("Roofline", "Source", "Dependences", "Candidates over time"):
        assert page.count(f"<h3>{heading}</h3>") == whole.count(f"<h3>{heading}</h3>") > 0
