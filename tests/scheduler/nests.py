"""Nests the tests of this package share, in the text form."""

from scheduler.ir.nest import LoopNest
from scheduler.ir.text import parse_nest

GEMM = """nest gemm {
  param n: int in [1, ?];
  param m: int in [1, ?];
  param l: int in [1, ?];
  array A: double[n][l];
  array B: double[l][m];
  array C: double[n][m];
  for i: int in [0, n) step 1 {
    for j0: int in [0, m) step 1 { S0: C[i][j0] *= 2.0; }
    for j: int in [0, m) step 1 {
      for k: int in [0, l) step 1 { S1: C[i][j] += A[i][k] * B[k][j]; }
    }
  }
}"""

JACOBI = """nest jacobi {
  param T: int in [1, ?];
  param n: int in [1, ?];
  array A: double[n][n];
  array B: double[n][n];
  for t: int in [0, T) step 1 {
    for i: int in [1, n - 1) step 1 {
      for j: int in [1, n - 1) step 1 {
        S0: B[i][j] = A[i][j] + A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1];
      }
    }
    for i2: int in [1, n - 1) step 1 {
      for j2: int in [1, n - 1) step 1 {
        S1: A[i2][j2] = B[i2][j2] + B[i2 - 1][j2] + B[i2 + 1][j2] + B[i2][j2 - 1] + B[i2][j2 + 1];
      }
    }
  }
}"""

SEIDEL = """nest seidel {
  param T: int in [1, ?];
  param n: int in [1, ?];
  array A: double[n][n];
  for t: int in [0, T) step 1 {
    for i: int in [1, n - 1) step 1 {
      for j: int in [1, n - 1) step 1 {
        S0: A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j]
                       + A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9.0;
      }
    }
  }
}"""

CHOLESKY = """nest cholesky {
  param n: int in [1, ?];
  array A: double[n][n];
  for i: int in [0, n) step 1 {
    for j: int in [0, i) step 1 {
      for k: int in [0, j) step 1 { S0: A[i][j] -= A[i][k] * A[j][k]; }
      S1: A[i][j] /= A[j][j];
    }
    for k2: int in [0, i) step 1 { S2: A[i][i] -= A[i][k2] * A[i][k2]; }
    S3: A[i][i] = sqrt(A[i][i]);
  }
}"""

LU = """nest lu {
  param n: int in [1, ?];
  array A: double[n][n];
  for k: int in [0, n) step 1 {
    for i0: int in [k + 1, n) step 1 { S0: A[i0][k] /= A[k][k]; }
    for i: int in [k + 1, n) step 1 {
      for j: int in [k + 1, n) step 1 { S1: A[i][j] -= A[i][k] * A[k][j]; }
    }
  }
}"""

COVARIANCE = """nest covariance {
  param n: int in [1, ?];
  param m: int in [1, ?];
  array X: double[n][m];
  array C: double[m][m];
  for i: int in [0, m) step 1 {
    for j: int in [i, m) step 1 {
      S0: C[i][j] = 0.0;
      for k: int in [0, n) step 1 { S1: C[i][j] += X[k][i] * X[k][j]; }
      S2: C[i][j] /= 3.0;
      S3: C[j][i] = C[i][j];
    }
  }
}"""

SPMM = """nest spmm {
  param n: int in [1, ?];
  param m: int in [1, ?];
  array rowptr: int[?];
  array col: int[?];
  array val: double[?];
  array B: double[?][m];
  array C: double[n][m];
  for i: int in [0, n) step 1 {
    for p: int in [opaque(rowptr[i]), opaque(rowptr[i + 1])) step 1 {
      for j: int in [0, m) step 1 { S0: C[i][j] += val[p] * B[opaque(col[p])][j]; }
    }
  }
}"""

PRIVATE = """nest private {
  param n: int in [1, ?];
  param m: int in [1, ?];
  array t: double private(j);
  array A: double[n][m];
  array B: double[n][m];
  for i: int in [0, n) step 1 {
    for j: int in [0, m) step 1 {
      S0: t = A[i][j] * 2.0;
      S1: B[i][j] = t + 1.0;
    }
  }
}"""


def nest(text: str) -> LoopNest:
    return parse_nest(text)


BLUR = """nest blur {
  param h: int;
  param w: int;
  array sum: int private(x);
  array src: int[h][w] const;
  array dst: int[h][w];
  for y: int in [3, h - 3) step 1 {
    for x: int in [3, w - 3) step 1 {
      S0: sum = 0;
      for dy: int in [-3, 4) step 1 {
        for dx: int in [-3, 4) step 1 {
          S1: sum += src[y + dy][x + dx];
        }
      }
      S2: dst[y][x] = sum / 49;
    }
  }
}"""
