"""The page of a tuning: what is on it, that nothing breaks out of it, and what a browser makes of it."""

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.report.documents import tune_document
from perfembed.report.reading import read_tune_document
from perfembed.report.tuning_nest import schedule_list
from perfembed.report.tuning_page import program_parts, tuning_page
from perfembed.tuning.result import NestReport, TuneResult
from tests.perfembed.report.browser import asked, needs_browser, opened
from tests.perfembed.report.tuned import KEPT, RESULT, TUNED, evil


def words_of(page: str) -> str:
    """The text without its tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page[page.index("<main>") :])).split())


def test_head() -> None:
    said = words_of(tuning_page(RESULT))
    assert "The program: 1.25 s → 500 ms, 2.50x faster. 1 of 3 nests tuned." in said
    for fact in ("some machine", "gcc 12", "-O3", "threads 2", "2026-11-24 12:00:00 UTC", "12 s; the budget was 60 s"):
        assert fact in said
    assert "identical to the original's" in said and "dir/gemm.opt.c" in said
    assert "DIFFERS" in words_of(tuning_page(replace(RESULT, program_output_equal=False)))
    assert "kept" in words_of(tuning_page(replace(RESULT, interrupted=True)))
    assert "3 s of it waiting" in words_of(tuning_page(replace(RESULT, phases={"waiting": 3.0})))


def test_a_nest() -> None:
    said = words_of(tuning_page(RESULT))
    assert "gemm_0: 6.10x faster" in said and "dir/gemm.c:12:5, in gemm" in said and "1 s → 164 ms" in said
    assert "6.00x to 6.20x: 6 runs of each" in said and "5 candidates, 1 failed" in said
    assert "Swap loops j and k, so that k runs outside j. interchange(j, k)" in said
    assert "bit-identical on the captured input" in said and "distribute(i, 1)" in said and "a note" in said
    assert "as it was, lines 12 to 13" in said and "as it is written, lines 40 to 42" in said
    assert "a[i] = b[i] &lt; 3;" in tuning_page(RESULT)
    assert "donor 1" in said and "Nodes that stand for each other" in said
    assert "init_0: kept" in said and "Kept: no legal schedule was faster than the original." in said
    assert "Not known: the analysis takes too long" in said
    assert "loop at line 60" in said and "calls 'rnd'" in said


def test_the_program_s_time() -> None:
    parts, before, after = program_parts(RESULT)
    assert [(p.name, p.before) for p in parts] == [("gemm_0", 1.0), ("init_0", 0.125)]
    assert parts[0].after == pytest.approx(1.0 / 6.1) and parts[1].after == 0.125
    assert (before, after) == (1.25, 0.5)
    without = replace(RESULT, program_before_s=None, program_after_s=None)
    parts, before, after = program_parts(without)
    assert before == pytest.approx(1.1) and after == pytest.approx(1.0 / 6.1 + 0.1)
    assert "one call of each nest" in tuning_page(without)
    assert program_parts(replace(RESULT, nests=())) == ([], 1.25, 0.5)
    assert "no nest was timed" in tuning_page(replace(RESULT, nests=()))


def test_where_nothing_was_tuned_there_is_one_bar() -> None:
    page = tuning_page(replace(RESULT, nests=(KEPT,), program_after_s=None))
    assert "unchanged: 1.25 s" in page and "before: " not in page and "The program takes 1.25 s." in page


def bare() -> list[TuneResult]:
    """Results with less in them, down to what an earlier version's document holds."""
    nests = (
        replace(TUNED, transfer=None, picture=None, trials=()),
        replace(TUNED, trials=TUNED.trials[1:2], picture=None),
        replace(TUNED, speedup=None, original_s=None, tuned_s=0.0),
        NestReport("n", None, "f.c", 1, 1, None, "tuned", ""),
    )
    some = [replace(RESULT, nests=(nest,)) for nest in nests]
    return [
        *some,
        replace(RESULT, phases={}, date="", search="", budget_s=None, ceilings=None),
        replace(RESULT, nests=(), program_before_s=0.0, program_after_s=0.0, seconds=0.0),
    ]


@pytest.mark.parametrize("number", range(len(bare())))
def test_with_less_in_it(number: int) -> None:
    result = bare()[number]
    page = tuning_page(read_tune_document(tune_document(result), "r.json"))
    assert page == tuning_page(result) and page.count("<section") == page.count("</section>") >= 2


def test_json_round_trip() -> None:
    assert read_tune_document(tune_document(RESULT), "r.json") == RESULT
    assert read_tune_document(tune_document(evil()), "r.json") == evil()


@pytest.mark.parametrize("result", [RESULT, evil()], ids=["good", "evil"])
def test_needs_no_network_and_nothing_breaks_out(result: TuneResult) -> None:
    page = tuning_page(result)
    tags = re.findall(r"<[^>]*>", page)
    assert not [t for t in tags if re.search(r"^<(?:script|img|link|iframe|object|embed|base)\b", t)]
    named = [(tag, re.sub(r'"[^"]*"', "", tag)) for tag in tags]  # what stands in quotes is no attribute
    assert all(re.fullmatch(r'<a href="#\w+">', t) for t, n in named if re.search(r"\s(?:href|src|action)\s*=", n))
    assert not [t for t, names in named if re.search(r"\son\w+\s*=|'", names)]
    assert not re.search(r"@import|url\(", page) and "default-src 'none'" in page
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", page)


def test_accessible() -> None:
    page = tuning_page(RESULT)
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids)) and '<html lang="en">' in page
    for drawing in re.findall(r'<svg[^>]*role="img"[^>]*>', page):
        names = re.search(r'aria-labelledby="([^"]*)"', drawing)
        assert "aria-label=" in drawing or (names is not None and set(names[1].split()) <= set(ids))
    charts = re.findall(
        r'<svg class="chart"[^>]*>\s*<title id="[^"]+">[^<]+</title><desc id="[^"]+">[^<]+</desc>', page
    )
    assert len(charts) == page.count('class="chart"') == 4
    assert page.count("<table") == page.count("<thead") == page.count("<caption")
    assert re.findall(r"<h([1-6])", page)[0] == "1" and page.count("<h1") == 1
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)


@pytest.mark.gcc
@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(tmp_path: Path, scheme: str) -> None:
    page = tuning_page(RESULT)
    dom, console = opened(page, tmp_path, scheme)
    assert not console and dom.count('class="chart"') == 4 and "<title>perfembed: dir/gemm.c</title>" in dom
    color = asked(page, tmp_path, "getComputedStyle(d.body).backgroundColor", 900, scheme)
    assert color == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 25, 31)"}[scheme]


@pytest.mark.gcc
@needs_browser
def test_what_would_break_out_in_a_browser(tmp_path: Path) -> None:
    dom, console = opened(tuning_page(evil()), tmp_path)
    assert not console and "<title>perfembed: &lt;/title&gt;" in dom and "<img" not in dom and "<script" not in dom


@pytest.mark.gcc
@needs_browser
@pytest.mark.parametrize("result", [RESULT, evil()], ids=["good", "evil"])
def test_nothing_is_wider_than_a_narrow_window(tmp_path: Path, result: TuneResult) -> None:
    wider = "[...d.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > 361"
    wider += " && !e.closest('.scroll, pre, svg, .hidden')).map(e => e.outerHTML.slice(0, 80)).join('; ')"
    page = tuning_page(result)
    assert asked(page, tmp_path, f"d.documentElement.scrollWidth + ' ' + {wider}", 360).split(" ", 1)[1] == ""
    assert int(asked(page, tmp_path, "d.documentElement.scrollWidth", 360)) <= 360


def test_a_sentence_each_step() -> None:
    shown = schedule_list("interchange(i, gr_u00f6__u00df_e); unroll(k, 4)")
    assert shown.count("<li>") == 2 and "<code>unroll(k, 4)</code>" in shown
    assert "so that größe runs outside i" in shown and "interchange(i, größe)" in shown


def test_what_this_version_cannot_read_is_shown() -> None:
    assert schedule_list("fly(i); <b>") == "<p><code>fly(i); &lt;b&gt;</code></p>"
