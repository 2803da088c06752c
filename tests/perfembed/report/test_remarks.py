"""Remarks: one line each, marked as LLVM marks what was done and what was missed."""

from dataclasses import replace

from perfembed.report.remarks import inspection_remarks, remark, tuning_remarks
from tests.perfembed.report.test_explanation import RESULT
from tests.perfembed.report.test_findings import NESTS


def test_inspection() -> None:
    assert inspection_remarks(NESTS) == [
        "a.c:2:3: remark: loop not tuned: not analysed: the analysis takes too long [-Rpass-missed=perfembed]",
        "a.c:4:3: remark: loop not tuned: the loop contains break (give it a fixed number) [-Rpass-missed=perfembed]",
    ]


def test_tuning() -> None:
    missed, kept = tuning_remarks(RESULT)
    assert missed.startswith("dir/gemm.c:12:5: remark: gemm_0 can be made 6.10x faster: tile(")
    assert missed.endswith(" [-Rpass-missed=perfembed]")
    assert kept.endswith("main_0 not tuned: no legal schedule was faster [-Rpass-missed=perfembed]")


def test_what_was_written_is_no_missed_gain() -> None:
    written, kept = tuning_remarks(replace(RESULT, output_path="dir/gemm.opt.c"))
    assert "gemm_0 tuned 6.10x faster: tile(" in written and written.endswith(" [-Rpass=perfembed]")
    assert kept.endswith("[-Rpass-missed=perfembed]")


def test_one_line_whatever_it_says() -> None:
    line = remark("a\n.c", 1, 2, "b\nc\x1b[2J\r\nd", "-analysis")
    assert line.isprintable() and line.endswith("[-Rpass-analysis=perfembed]")
