"""What a transfer did, as text and on the page of its tuning."""

import re
from dataclasses import replace

from perfembed.report.explanation import render_explanation
from perfembed.report.style import Style
from perfembed.report.tuning_page import tuning_page
from perfembed.tuning.result import (
    CandidateReport,
    DonorReport,
    MatchReport,
    NestReport,
    StepReport,
    TransferReport,
    TuneResult,
)

DONORS = (
    DonorReport("a" * 16, "product", "seed 1 number 4", "contraction", 0.12, 8.5, "tile([x], [32])"),
    DonorReport("b" * 16, "other", "<b>.c", "stencil", 0.5, 2.0, "parallelize(t)", portfolio=True),
)
CHOSEN = CandidateReport(
    schedule="tile([i], [64]); parallelize(i_t)",
    origin="transferred",
    donor="a" * 16,
    parameters="adapted",
    cost=0.1,
    predicted=5.0,
    predicted_range=(3.0, 9.0),
    measured=6.0,
    given_up=False,
    chosen=True,
    steps=(
        StepReport("applied", "tile([x], [32])", "tile([i], [64])", ""),
        StepReport("skipped", "unroll(y, 4)", "", "no loop of the target stands for y"),
    ),
    matches=(MatchReport("loop", "x", "i", 0.05),),
)
REFINED = replace(CHOSEN, schedule="tile([i], [32])", origin="refined", donor="", measured=0.4, given_up=True)
REFINED = replace(REFINED, parameters="", predicted=None, chosen=False, refines=1)
TRANSFER = TransferReport(DONORS, (CHOSEN, REFINED), 17, (("b" * 16, "none of its steps fits"),))
NEST = NestReport(
    "gemm_0", "gemm", "dir/gemm.c", 12, 5, 0.9, "tuned", "confirmed", CHOSEN.schedule, 6.1, 5.9, 6.3, transfer=TRANSFER
)
KEPT = NestReport("main_0", "main", "dir/gemm.c", 40, 3, 0.1, "kept", "no legal schedule was faster")
RESULT = TuneResult(
    "dir/gemm.c", None, (NEST, KEPT), 1.0, 0.2, True, 9.0, 2, "gcc 12", ("-O3",), "some machine", False, 0
)


def test_text() -> None:
    text = render_explanation(RESULT, Style())
    assert "gemm_0 (dir/gemm.c:12:5), 90.0 % of the run" in text
    assert "#1 product  8.50x   0.120" in text and "seed 1 number 4" in text
    assert "  #2: tried at every nest\n" in text
    assert "#2 leads to nothing: none of its steps fits" in text
    assert "2 candidates to measure, the best of 17" in text
    assert "from #1, parameters adapted, predicted 5.00x (3.00x to 9.00x), measured 6.00x  <- chosen" in text
    assert "refined from 1, given up below 0.40x" in text and text.count("skipped  unroll(y, 4)") == 1
    assert "skipped  unroll(y, 4)" in text and "loop  x        i     0.050" in text
    assert "1.00 s -> 200 ms" in text or "1 s -> 200 ms" in text


def test_where_a_generated_donor_comes_from_is_cut_off() -> None:
    generated = replace(DONORS[0], place="seed 31 number 337 work 3e+06 to 3e+08 only contraction")
    nest = replace(NEST, transfer=replace(TRANSFER, donors=(generated, *DONORS[1:])))
    text = render_explanation(replace(RESULT, nests=(nest,)), Style())
    assert "seed 31 number 337 work 3e+06 to 3e+08 …\n" in text and "only" not in text


def test_a_refined_candidate_that_was_chosen_shows_the_steps_of_the_one_it_refines() -> None:
    candidates = (replace(CHOSEN, chosen=False), replace(REFINED, chosen=True))
    nest = replace(NEST, transfer=replace(TRANSFER, candidates=candidates))
    text = render_explanation(replace(RESULT, nests=(nest,)), Style())
    assert text.index("refined from 1") < text.index("steps of 1, whose sizes") < text.index("skipped  unroll(y, 4)")
    page = tuning_page(replace(RESULT, nests=(nest,)))
    assert "refined from 1" in page and "<h3>Steps of 1, whose sizes were then changed</h3>" in page


def test_page() -> None:
    page = tuning_page(RESULT)
    assert "&lt;b&gt;.c" in page and "<b>.c" not in page
    assert page.count('class="chosen"') == 1 and "<svg" in page and "loop x" in page
    linked = re.search(r"\b(?:src|href)\s*=\s*\"[^#]|@import|url\(", page)
    assert "<script" not in page and "://" not in page and not linked
    assert "no legal schedule was faster" in page
