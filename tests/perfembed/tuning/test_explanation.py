"""What a transfer did, from a C file to the text of `explain`."""

from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.report.explanation import render_explanation
from perfembed.report.style import Style
from perfembed.retrieval.retrieve import Retrieval
from perfembed.tuning.explanation import explain
from perfembed.tuning.nest_outcome import NestOutcome
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.source import parse
from scheduler.replay import Replayer
from tests.perfembed.report.test_explanation import NEST, RESULT
from tests.perfembed.retrieval.test_retrieve import SPACE, Counting, source, stored
from tests.perfembed.transfer_support import MACHINE, SEIDEL
from tests.scheduler.transform.test_reschedule_transfer import WAVEFRONT

pytestmark = pytest.mark.gcc

PROJECTED = """#include <stdio.h>
#define ROWS 900
#define COLS 700
static double phi[ROWS][COLS], charge[ROWS][COLS];
static void relax(void)
{
    for (int s = 0; s < 60; s++)
        for (int r = 1; r < ROWS - 1; r++)
            for (int c = 1; c < COLS - 1; c++) {
                double next = 0.25 * (phi[r - 1][c] + phi[r + 1][c] + phi[r][c - 1] + phi[r][c + 1] - charge[r][c]);
                phi[r][c] = next > 0.0 ? next : 0.0;
            }
}
int main(void)
{
    relax();
    printf("%.17g\\n", phi[5][5]);
    return 0;
}
"""


def test_a_wavefront_of_time_maps_goes_from_one_stencil_to_another(tmp_path: Path) -> None:
    """Gauss-Seidel's goes to the projected one, whose body has two statements and other sizes."""
    path = tmp_path / "relax.c"
    path.write_text(PROJECTED)
    nest = parse(str(path), path.read_bytes(), TuneOptions()).nests[0]
    donors = source(stored(SEIDEL, "gauss-seidel", WAVEFRONT))
    retrieval = Retrieval(SPACE, [donors], MACHINE, k=1, cost=Counting())
    found = retrieval.retrieve(retrieval.side(Replayer(nest), {}), measure=4)
    report = explain(NestOutcome(retrieved=found))
    assert report is not None
    text = render_explanation(replace(RESULT, nests=(replace(NEST, transfer=report),)), Style(), verbose=True)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    first = next(k for k, line in enumerate(lines) if line.startswith("applied reschedule("))
    assert [line.partition(" => ")[::2] for line in lines[first : first + 5]] == [
        (
            "applied reschedule([S0 -> (0, t, 0, i + 2*t, 0, j + 2*t, 0)])",
            "reschedule([S0 -> (0, s, 0, r + 2*s, 0, c + 2*s, 0), S1 -> (0, s, 0, r + 2*s, 0, c + 2*s, 1)])"
            " S1 with the statements beside them",
        ),
        ("applied tile([t, i, j], [16, 32, 128])", "tile([s, r, c], [8, 16, 64])"),
        ("applied skew(t_t, i_t, 2)", "skew(s_t, r_t, 2)"),
        ("applied interchange(t_t, i_t)", "interchange(s_t, r_t)"),
        ("applied parallelize(t_t)", "parallelize(s_t)"),
    ]
