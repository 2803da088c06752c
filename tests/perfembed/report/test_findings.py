"""Which loops of an inspection and of a run are findings."""

from dataclasses import replace

from perfembed.inspection.inspect_file import Inspection, NestFacts, RefusedNest
from perfembed.report.findings import inspection_findings, inspection_remarks, remark, tuning_findings, tuning_remarks
from scheduler.ir.nest import Span
from tests.perfembed.report.test_explanation import KEPT, NEST, RESULT

REFUSED = RefusedNest("f", Span("a.c", 40, 49, 4, 3), "the loop contains break", "give it a fixed number", "")
NESTS = Inspection(
    "a.c",
    (
        NestFacts("f_0", "", "f", Span("a.c", 5, 30, 2, 3), "", (), (), "the analysis takes too long"),
        NestFacts("f_1", "1", "f", Span("a.c", 31, 39, 3, 3), "", (), ()),
    ),
    (REFUSED,),
    (),
)


def test_inspection() -> None:
    first, second = inspection_findings(NESTS)
    assert (first.line, first.message) == (2, "not analysed: the analysis takes too long")
    assert (second.rule, second.file, second.line, second.column, second.end) == ("refused", "a.c", 4, 3, 49)
    assert second.message == "the loop contains break (give it a fixed number)" and second.function == "f"


def test_tuning() -> None:
    refused = replace(KEPT, status="refused", reason="calls 'rnd'", line=3)
    result = replace(RESULT, nests=(NEST, KEPT, refused))
    first, second = tuning_findings(result)
    assert (first.rule, first.message, first.line) == ("refused", "calls 'rnd'", 3)
    assert (second.rule, second.line, second.column, second.speedup) == ("missed-gain", 12, 5, 6.1)
    assert second.message == "gemm_0 can be made 6.10x faster: tile([i], [64]); parallelize(i_t)"


def test_what_was_written_is_not_missed() -> None:
    assert tuning_findings(replace(RESULT, output_path="dir/gemm.opt.c")) == ()


def test_remarks_of_an_inspection() -> None:
    assert inspection_remarks(NESTS) == [
        "a.c:2:3: remark: loop not tuned: not analysed: the analysis takes too long [-Rpass-missed=perfembed]",
        "a.c:4:3: remark: loop not tuned: the loop contains break (give it a fixed number) [-Rpass-missed=perfembed]",
    ]


def test_remarks_of_a_tuning() -> None:
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
