"""What the tests of perfembed.transfer share: nests, a machine, donors."""

from collections.abc import Mapping
from functools import cache

from perfembed.transfer.candidates import Donor, read_donor
from perfembed.transfer.embedders import HandmadeEmbedder
from perfembed.transfer.view import Side
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.source import parse
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest
from scheduler.machine.target import Target
from scheduler.replay import Replayer

MACHINE = Target(threads=2, vector_bytes=32, l1_bytes=32 << 10, l2_bytes=1 << 20, l3_bytes=32 << 20)
EMBEDDER = HandmadeEmbedder()

# What a beam search found for tests/kernels/gemm.c, its loops of that nest's names.
GEMM_SCHEDULE = (
    "interchange(j_2, k); interchange(i_2, j_2); tile([j_2, k, i_2], [280, 304, 204]); interchange(k, i_2); "
    "register_block([i_2, j_2], [6, 8]); pack(i_2_t, A, [0, 1], 0, 6); pack(k_t, B, [1, 0], 1, 8); "
    "parallelize(i); parallelize(j_2_t)"
)
JACOBI_SCHEDULE = (
    "shift(i_2, S1, 1); fuse(i, i_2); skew(t, i, 2); tile([t, i], [16, 32]); skew(t_t, i_t, 2); "
    "interchange(t_t, i_t); parallelize(t_t); distribute(i, 1); vectorize(j); vectorize(j_2)"
)
MVT_SCHEDULE = (
    "parallelize(i); unroll_jam(i, 4); tile([i_2], [512]); interchange(i_2, j_2); parallelize(i_2_t); vectorize(i_2)"
)

GEMM = """nest gemm {
  array beta: double local const; array alpha: double local const;
  array A: double[1000][1200]; array B: double[1200][1100]; array C: double[1000][1100];
  for i: int in [0, 1000) step 1 { for j: int in [0, 1100) step 1 { S0: C[i][j] *= beta; } }
  for i_2: int in [0, 1000) step 1 {
    for j_2: int in [0, 1100) step 1 {
      for k: int in [0, 1200) step 1 { S1: C[i_2][j_2] += alpha * A[i_2][k] * B[k][j_2]; }
    }
  }
}"""

# The same product with other names, its second operand transposed, the loops in the good order already.
TRANSPOSED = """nest product {
  array X: float[900][700]; array Y: float[800][700]; array Z: float[900][800];
  for a: int in [0, 900) step 1 {
    for c: int in [0, 700) step 1 {
      for b: int in [0, 800) step 1 { S0: Z[a][b] += X[a][c] * Y[b][c]; }
    }
  }
}"""

# Two products, each begun inside its loops: nothing is perfectly nested.
TWO = """nest two {
  array A: double[900][800]; array B: double[800][700]; array T: double[900][700];
  array D: double[700][600]; array E: double[900][600];
  for i: int in [0, 900) step 1 {
    for j: int in [0, 700) step 1 {
      S0: T[i][j] = 0.0;
      for k: int in [0, 800) step 1 { S1: T[i][j] += A[i][k] * B[k][j]; }
    }
  }
  for p: int in [0, 900) step 1 {
    for q: int in [0, 600) step 1 {
      S2: E[p][q] = 0.0;
      for r: int in [0, 700) step 1 { S3: E[p][q] += T[p][r] * D[r][q]; }
    }
  }
}"""

MVT = """nest mvt {
  array A: double[5900][5900]; array x1: double[5900]; array x2: double[5900];
  array y1: double[5900]; array y2: double[5900];
  for i: int in [0, 5900) step 1 { for j: int in [0, 5900) step 1 { S0: x1[i] += A[i][j] * y1[j]; } }
  for i_2: int in [0, 5900) step 1 { for j_2: int in [0, 5900) step 1 { S1: x2[i_2] += A[j_2][i_2] * y2[j_2]; } }
}"""

BICG = """nest bicg {
  array A: double[3000][2800]; array s: double[2800]; array q: double[3000]; array p: double[2800];
  array r: double[3000];
  for i: int in [0, 3000) step 1 {
    for j: int in [0, 2800) step 1 {
      S0: s[j] += r[i] * A[i][j];
      S1: q[i] += A[i][j] * p[j];
    }
  }
}"""

JACOBI = """nest jacobi {
  array A: double[1000][1000]; array B: double[1000][1000];
  for t: int in [0, 500) step 1 {
    for i: int in [1, 999) step 1 {
      for j: int in [1, 999) step 1 { S0: B[i][j] = A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]; }
    }
    for i_2: int in [1, 999) step 1 {
      for j_2: int in [1, 999) step 1 {
        S1: A[i_2][j_2] = B[i_2][j_2] + B[i_2 - 1][j_2] + B[i_2 + 1][j_2] + B[i_2][j_2 - 1] + B[i_2][j_2 + 1];
      }
    }
  }
}"""

LINE = """nest line {
  array A: double[200000]; array B: double[200000];
  for t: int in [0, 500) step 1 {
    for i: int in [1, 199999) step 1 { S0: B[i] = A[i - 1] + A[i] + A[i + 1]; }
    for j: int in [1, 199999) step 1 { S1: A[j] = B[j - 1] + B[j] + B[j + 1]; }
  }
}"""

SEIDEL = """nest seidel {
  array A: double[1000][1000];
  for t: int in [0, 500) step 1 {
    for i: int in [1, 999) step 1 {
      for j: int in [1, 999) step 1 { S0: A[i][j] = A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]; }
    }
  }
}"""


def side(nest: str | LoopNest, sizes: Mapping[str, int] | None = None, machine: Target = MACHINE) -> Side:
    found = parse_nest(nest) if isinstance(nest, str) else nest
    return Side(Replayer(found), sizes or {}, machine, EMBEDDER)


def donor(nest: str | LoopNest, schedule: str, name: str = "donor", **more: float) -> Donor:
    return read_donor(nest, schedule, {}, MACHINE, EMBEDDER, name=name, **more)


@cache
def kernel(name: str, function: str) -> LoopNest:
    """The nest of a function of one of the programs in tests/kernels."""
    path = f"tests/kernels/{name}.c"
    with open(path, "rb") as file:
        source = parse(path, file.read(), TuneOptions(functions=(function,)))
    return source.nests[0]
