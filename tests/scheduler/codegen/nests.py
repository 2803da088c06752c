"""Small nests in the text form, one for each thing code generation has to get right."""

from scheduler.ir.nest import Storage

JACOBI = """nest jacobi { param t_max: int; param n: int; array A: double[n][n]; array B: double[n][n];
for t: int in [0, t_max) step 1 {
for i: int in [1, n - 1) step 1 { for j: int in [1, n - 1) step 1 {
S0: B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]); } }
for i_2: int in [1, n - 1) step 1 { for j_2: int in [1, n - 1) step 1 {
S1: A[i_2][j_2] = 0.2 * (B[i_2][j_2] + B[i_2][j_2 - 1] + B[i_2][j_2 + 1] + B[i_2 + 1][j_2] + B[i_2 - 1][j_2]); } }
} }"""

SEIDEL = """nest seidel { param t_max: int; param n: int; array A: double[n][n];
for t: int in [0, t_max) step 1 { for i: int in [1, n - 1) step 1 { for j: int in [1, n - 1) step 1 {
S0: A[i][j] = (A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]) / 5.0; } } } }"""

CHOLESKY = """nest cholesky { param n: int; array A: double[n][n];
for i: int in [0, n) step 1 {
for j: int in [0, i) step 1 {
for k: int in [0, j) step 1 { S0: A[i][j] -= A[i][k] * A[j][k]; }
S1: A[i][j] /= A[j][j]; }
for k_2: int in [0, i) step 1 { S2: A[i][i] -= A[i][k_2] * A[i][k_2]; }
S3: A[i][i] = sqrt(fabs(A[i][i])); } }"""

SYRK = """nest syrk { param n: int; param m: int; array A: double[n][m]; array C: double[n][n];
for i: int in [0, n) step 1 { for j: int in [0, i + 1) step 1 { for k: int in [0, m) step 1 {
S0: C[i][j] += A[i][k] * A[j][k]; } } } }"""

SPMM = """nest spmm { param rows: int; param m: int; array rowptr: int[rows + 1]; array col: int[?];
array val: double[?]; array B: double[?][m]; array C: double[rows][m];
for i: int in [0, rows) step 1 { for p: int in [opaque(rowptr[i]), opaque(rowptr[i + 1])) step 1 {
for j: int in [0, m) step 1 { S0: C[i][j] += val[p] * B[opaque(col[p])][j]; } } } }"""

GUARDS = """nest guards { param n: int; param m: int; array x: double[n]; array y: double[n]; array flag: int[n];
for i: int in [0, n) step 1 {
if (i - 2 >= 0 and -i + m >= 0) or (i - 10 == 0) or ((i) % 3 == 0) { S0: y[i] += x[i]; }
when (flag[i] > 3) { for j: int in [0, 4) step 1 { S1: y[i] = y[i] * 0.5 + x[j]; } S2: y[i] += 1.0; }
} }"""

BOUNDS = """nest bounds { param n: int; param m: int; array y: double[n + m + 1][n + m + 1];
for i: int in [0, n) step 1 { for j: int in [max(0, i - 3), min(m, i + 4, 2*i + 1)) step 1 {
S0: y[i][j] = y[i][j] * 1.5 + i - j; } } }"""

STEPS = """nest steps { param n: int; array y: double[2*n + 2]; array z: double[2*n + 2];
for i: int in [2*n, -1) step -2 { S0: y[i] = y[i + 1] * 0.5 + i; }
for k: int in [1, n) step 3 { S1: z[k] = z[k - 1] + y[k]; }
for l: size_t in [n - 1, -1) step -1 { S2: z[l] = z[l + 1] * 2.0 + (double)l; } }"""

PRIVATE = """nest private { param n: int; param m: int; array x: double[n][m]; array y: double[n][m];
array t: double private(i); array row: double[m] private(i);
for i: int in [0, n) step 1 {
S0: t = 0.0;
for j: int in [0, m) step 1 { S1: t += x[i][j]; }
for j_2: int in [0, m) step 1 { S2: row[j_2] = x[i][j_2] / t; }
for j_3: int in [0, m) step 1 { S3: y[i][j_3] = row[j_3] * row[m - 1 - j_3]; } } }"""

FLAT = """nest flat { param n: size_t; param m: size_t; array A: float[n][m] pointer flat; array x: float[m] restrict;
array y: float[n] pointer; array total: double local;
for i: size_t in [0, n) step 1 { for j: size_t in [1, m) step 1 {
S0: y[i] += A[i][j] * x[j - 1]; } S1: total += y[i]; } }"""

CHAIN = """nest chain { param n: int; array a: double[n]; array b: double[n]; array c: double[n];
for i: int in [1, n) step 1 { S0: b[i] = a[i] + a[i - 1]; }
for j: int in [2, n) step 1 { S1: c[j] = b[j] * b[j - 1]; } }"""

MINPLUS = """nest minplus { param n: int; array A: float[n][n]; array B: float[n][n]; array C: float[n][n];
for i: int in [0, n) step 1 { for j: int in [0, n) step 1 { for k: int in [0, n) step 1 {
S0: C[i][j] = A[i][k] + B[k][j] < C[i][j] ? A[i][k] + B[k][j] : C[i][j]; } } } }"""

LOCAL = Storage.LOCAL
