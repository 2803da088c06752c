"""From C file to replayed nest, with the front end: shipped kernels and a file in many styles."""

from pathlib import Path

import pytest

from perfembed.capture import CaptureFailed, capture_nests
from profilers.build import CompilerConfig
from scheduler.frontend import ParseOptions, read_source
from tests.perfembed.capture_support import assert_replays, good, good_profile

pytestmark = pytest.mark.gcc

KERNELS = Path(__file__).parents[2] / "kernels"
SMALL = CompilerConfig("gcc", ("-O2", "-ffp-contract=off", "-DSMALL"))


@pytest.mark.parametrize(
    ("kernel", "nest"),
    [
        ("gemm", "gemm_0"),  # global arrays
        ("cholesky", "cholesky_0"),  # flat malloc
        ("jacobi-2d", "jacobi_2d_0"),  # VLA parameters
        ("spmv", "spmv_0"),  # CSR, called many times
        ("histogram", "equalize_0"),  # data-dependent subscripts of global arrays
    ],
)
def test_kernel_replays(tmp_path: Path, kernel: str, nest: str) -> None:
    source = read_source(KERNELS / f"{kernel}.c", ParseOptions(("-DSMALL",)))
    chosen = next(n for n in source.nests if n.name == nest)
    profile = good_profile(source, tmp_path / "work", compiler=SMALL)
    [capture] = capture_nests((source,), (chosen,), profile, tmp_path / "work", after=True).values()
    assert_replays(chosen, good(capture), tmp_path, SMALL)


STYLES = """#include <stdio.h>
#include <stdlib.h>
#define IDX(i, j) ((i) * w + (j))
struct image { int w, h; float *data; };
static void blur(const struct image *in, struct image *out)
{
    int w = in->w;
    if (w > 2)
        for (int i = 1; i < in->h - 1; i++)
            for (int j = 1; j < w - 1; j++)
                out->data[IDX(i, j)] = (in->data[IDX(i, j - 1)] + in->data[IDX(i, j + 1)]) * 0.5f;
}
int main(void)
{
    static short table[64];
    int local[32];
    struct image a = {40, 30, malloc(4800)}, b = {40, 30, calloc(1200, 4)};
    for (int i = 0; i < 1200; i++) a.data[i] = i % 17;
    for (int i = 0; i < 64; i++) table[i] = (short)(i * 3);
    printf("%d\\n", table[5]);
    for (int i = 31; i >= 0; i--) local[i] = table[2 * i] + 1;
    printf("%d\\n", local[5]);
    blur(&a, &b);
    long size = 100;
    double *p = malloc(size * sizeof *p), *e = p + size / 2;
    for (long i = 0; i < size; i++) p[i] = i;
    printf("%g\\n", p[3]);
    for (unsigned i = 0; i < 50; ++i) e[i] = e[i] + p[i];
    printf("%g %g\\n", e[3], b.data[41]);
    return 0;
}
"""


def test_every_nest_of_a_file_in_many_styles(tmp_path: Path) -> None:
    path = tmp_path / "styles.c"
    path.write_text(STYLES)
    source = read_source(path, ParseOptions())
    profile = good_profile(source, tmp_path / "work")
    assert profile.stdout == b"15\n31\n3\n56 7\n"
    captures = capture_nests((source,), source.nests, profile, tmp_path / "work", after=True)
    assert list(captures) == [nest.name for nest in source.nests]
    assert not any(isinstance(capture, CaptureFailed) for capture in captures.values()), captures
    for nest in source.nests:
        (tmp_path / nest.name).mkdir()
        assert_replays(nest, good(captures[nest.name]), tmp_path / nest.name)
