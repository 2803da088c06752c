"""The Python interface: one file or several, what is wrong with what it is given, and what a notebook shows."""

from pathlib import Path

import pytest

import perfembed
from perfembed import api
from perfembed.errors import UsageError
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.result import NestReport, TuneResult

PRODUCT = """#include "grid.h"
void product(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                C[i][j] += A[i][k] * B[k][j];
}
"""
MAIN = """#include <stdio.h>
#include "grid.h"
double A[N][N], B[N][N], C[N][N];
int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) { A[i][j] = i + j; B[i][j] = i - j; }
    product();
    printf("%.17g\\n", C[N / 2][N / 3]);
    return 0;
}
"""
HEADER = "#define N 300\nextern double A[N][N], B[N][N], C[N][N];\nvoid product(void);\n"


@pytest.mark.gcc
@pytest.mark.parametrize("build", [None, "cc -O2 -o grid main.c product.c"])
def test_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: str | None) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("product.c", PRODUCT), ("main.c", MAIN), ("grid.h", HEADER)):
        Path(name).write_text(text)
    named = [Path("main.c"), "product.c"] if build is None else []
    result = perfembed.tune(named, build=build, cflags=("-O2",), output_folder=tmp_path / "tuned", budget_s=20)
    [product] = [nest for nest in result.nests if nest.nest == "product_0"]
    assert product.status in ("tuned", "kept") and product.candidates and product.file == "product.c"
    assert (tmp_path / "tuned" / "product.c").exists() == (product.status == "tuned")
    assert Path("product.c").read_text() == PRODUCT and result.program_output_equal is not False


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file is named"):
        perfembed.tune([])
    with pytest.raises(UsageError, match="output is for one file"):
        perfembed.tune(["a.c", "b.c"], output=tmp_path / "c.c")
    with pytest.raises(UsageError, match="in_place excludes output"):
        perfembed.tune("a.c", in_place=True, output=tmp_path / "c.c")
    with pytest.raises(UsageError, match="there is no option 'budget'"):
        perfembed.tune("a.c", budget="60s")


def test_names() -> None:
    assert {"tune", "embed", "__version__"} <= set(dir(perfembed)) and perfembed.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="no attribute 'tun'"):
        perfembed.tun  # noqa: B018


def test_the_signature_has_every_option() -> None:
    known = {one.name for one in api._parameters()}
    assert set(TuneOptions.__dataclass_fields__) - known == {"dry_run", "began_s", "inputs", "workdir"}


def test_a_notebook_shows_a_table() -> None:
    tuned = NestReport("f_0", "f", "<b>.c", 3, 5, 0.9, "tuned", "", schedule="parallelize(i)", speedup=2.0)
    kept = NestReport("f_1", "f", "<b>.c", 9, 5, 0.1, "kept", "no legal schedule was faster")
    shown = TuneResult("<b>.c", None, (tuned, kept), 2.0, 1.1, True, 5.0, 2, "gcc", (), "cpu", False, 0)._repr_html_()  # type: ignore[attr-defined]
    assert "1.82x faster. 1 of 2 nests tuned." in shown and "parallelize(i)" in shown and "2.00x" in shown
    assert "&lt;b&gt;.c:9" in shown and "<b>" not in shown and "no legal schedule was faster" in shown
