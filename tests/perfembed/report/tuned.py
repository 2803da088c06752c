"""A result with everything in it that a page draws, made by hand; and one whose every text would break out."""

from dataclasses import replace

from perfembed.inspection.views import DependenceView
from perfembed.tuning.pictures import Ceilings, Level, NestPicture, NestWork, Peak, SourceLines, TrialReport
from perfembed.tuning.result import NestReport, TuneResult
from tests.perfembed.report.test_explanation import TRANSFER

SCHEDULE = "interchange(j, k); tile([i], [64]); parallelize(i_t)"
EVIL = (
    "</title></style></pre><script>document.title = 'broken'</script><img src=x onerror=alert(1)>\"' & \x1b[31m\u202e"
)

CARRIED = DependenceView(
    "flow", "S0", "S1", "A", True, False, (("i", 0, 0), ("k", 1, None)), (("i", 0), ("k", 0)), (("i", 0), ("k", 1)), ()
)
ANTI = replace(CARRIED, kind="anti")
FREE = DependenceView("output", "S0", "S1", "B", False, True, (), (), (), ())
CEILINGS = Ceilings(
    "2026-11-24T10:00:00+00:00",
    2,
    False,
    (Level("L1", 500.0, 32 << 10), Level("L2", 200.0, 1 << 20), Level("memory", 40.0, None)),
    (
        Peak("float", "scalar", 4e10), Peak("float", "vector", 2e11),
        Peak("double", "scalar", 3e10), Peak("double", "vector", 1e11),
    ),
)  # fmt: skip
PICTURE = NestPicture(
    text="nest gemm_0 {\n}\n",
    before=SourceLines(12, "    for (int i = 0; i < n; i++)\n        a[i] = b[i] < 3;"),
    after=SourceLines(40, "    {\n    /* perfembed: 6.10x */\n    }"),
    dependences=(CARRIED, ANTI, FREE),
    work=NestWork(2e9, 0.0, 1e9, 1e8, 5e7),
)
TRIALS = (
    TrialReport(1.0, "parallelize(i)", 0.8),
    TrialReport(1.5, "tile([i], [8])", None),
    TrialReport(2.0, SCHEDULE, 0.164, chosen=True),
    TrialReport(2.5, "unroll(k, 4)", 0.2, given_up=True),
    TrialReport(3.0, "reverse(i)", 0.9, estimated=True),
)
TUNED = NestReport(
    "gemm_0", "gemm", "dir/gemm.c", 12, 5, 0.8, "tuned", "confirmed faster and checked", SCHEDULE, 6.1, 5.9, 6.3,
    original_s=1.0, tuned_s=0.164, candidates=5, failed=1, normalization="distribute(i, 1)",
    checks=("bit-identical on the captured input",), transfer=TRANSFER, notes=("a note",),
    told_low=6.0, told_high=6.2, told_coverage=0.94875, runs=6, trials=TRIALS, picture=PICTURE,
)  # fmt: skip
KEPT = NestReport(
    "init_0", "main", "dir/gemm.c", 40, 3, 0.1, "kept", "no legal schedule was faster than the original",
    original_s=0.1, picture=NestPicture(problem="the analysis takes too long"),
)  # fmt: skip
REFUSED = NestReport("loop at line 60", None, "dir/gemm.c", 60, 3, None, "refused", "calls 'rnd', which has effects")
RESULT = TuneResult(
    "dir/gemm.c", "dir/gemm.opt.c", (TUNED, KEPT, REFUSED), 1.25, 0.5, True, 12.0, 2, "gcc 12", ("-O3",),
    "some machine", False, 0, {"candidates": 6.0, "compiling": 4.0, "other": 2.0}, "2026-11-24T12:00:00+00:00",
    "transfer", 60.0, CEILINGS,
)  # fmt: skip


def evil() -> TuneResult:
    """All texts that come from outside are `EVIL`."""
    transfer = replace(
        TRANSFER,
        donors=tuple(replace(d, name=EVIL, place=EVIL, algorithm=EVIL, schedule=EVIL) for d in TRANSFER.donors),
        candidates=tuple(
            replace(
                c,
                schedule=EVIL,
                parameters=EVIL,
                steps=tuple(replace(s, donor=EVIL, steps=EVIL, reason=EVIL) for s in c.steps),
                matches=tuple(replace(m, donor=EVIL, target=EVIL) for m in c.matches),
            )
            for c in TRANSFER.candidates
        ),
        failed=((TRANSFER.donors[1].nest_id, EVIL),),
    )
    loops = ((EVIL, 0, None),)
    views = (replace(CARRIED, kind=EVIL, source=EVIL, sink=EVIL, array=EVIL, distance=loops, source_at=((EVIL, 1),)),)
    picture = NestPicture(EVIL, SourceLines(1, EVIL), SourceLines(1, EVIL), views, PICTURE.work, EVIL)
    nest = replace(
        TUNED, nest=EVIL, function=EVIL, file=EVIL, reason=EVIL, schedule=EVIL, normalization=EVIL, checks=(EVIL,),
        notes=(EVIL,), less_work=EVIL, transfer=transfer, picture=picture,
        trials=tuple(replace(t, schedule=EVIL) for t in TRIALS),
    )  # fmt: skip
    kept = replace(nest, status="kept", picture=NestPicture(problem=EVIL))
    limits = replace(CEILINGS, date=EVIL, levels=tuple(replace(level, name=EVIL) for level in CEILINGS.levels))
    return replace(
        RESULT, path=EVIL, output_path=EVIL, nests=(nest, kept, replace(REFUSED, nest=EVIL, file=EVIL, reason=EVIL)),
        compiler=EVIL, flags=(EVIL,), machine=EVIL, phases={EVIL: 1.0}, date=EVIL, search=EVIL, ceilings=limits,
    )  # fmt: skip
