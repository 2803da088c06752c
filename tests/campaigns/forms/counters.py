"""Random C programs whose loops count in the ways people write: several iterators, moving pointers, `k++` inside
expressions, counting down, iterators and positions that are read behind the loop, labels as `continue`."""

import random

from tests.campaigns.forms.flow import HEAD

_MAIN = """static void fill(int r)
{
    for (int k = 0; k < N; k++) {
        A[k] = (double)(int)(drawn() % 2001 - 1000) / 8.0; B[k] = (double)(int)(drawn() % 801 - 400) / 16.0;
        F[k] = (float)(drawn() % 100); K[k] = (int)(drawn() % 41) - 20; L[k] = (int)(drawn() % N);
        U[k] = drawn() * 257u; C[k] = (unsigned char)drawn();
    }
    for (int k = 0; k < M; k++) for (int l = 0; l < M; l++) G[k][l] = (double)(int)(drawn() % 101) - 50;
}
int main(void)
{
    static const int lengths[] = { N, 37, 2, 1, 0, 64, -3 };
    for (int r = 0; r < 7; r++) {
        fill(r);
        work(lengths[r], (int)(drawn() % 7), A, B, A + N, (size_t)(lengths[r] < 0 ? 0 : lengths[r]));
        add(A, sizeof A); add(B, sizeof B); add(F, sizeof F); add(K, sizeof K); add(L, sizeof L);
        add(U, sizeof U); add(C, sizeof C); add(G, sizeof G);
    }
    printf("%lx\\n", hash);
    return 0;
}
"""
_WORK = "static void work(int n, int q, double *x, double *y, double *end, size_t z)\n{\n"

# {b}: a body that uses i; {s}: a shift; {j}, {k}: names; what is in <> is written behind the loop, or not
_LOOPS = (
    "int i, {j}; for (i = 0, {j} = n - 1; i < n; i++, {j}--) {{ A[i] += 2 * K[{j}]; }} <i {j}>",
    "int i, {j}; for (i = 0, {j} = n - 1; i < {j}; i++, {j}--) {{ double t = A[i]; A[i] = A[{j}]; "
    "A[{j}] = t; }} <i {j}>",
    "int i, {j}; for (i = 0, {j} = n - 1; i <= {j}; ++i, --{j}) {{ A[i] += B[{j}]; K[{j}] ^= 3; }} <i {j}>",
    "long i, {j}; for ({j} = n - 1, i = 0; i < {j}; {j}--, i++) {{ A[i] -= B[{j}]; }} <i {j}>",
    "for (int i = 0, {j} = 0; i < n / 2; i++, {j} += 2) {{ A[i] = B[{j}] + B[{j} + 1]; }}",
    "int {j} = {s}; for (int i = 0; i < n - 3; i++) {{ A[i] += B[{j}]; if ({j} < n) K[{j}]++; {j} = {j} + 1; }} <{j}>",
    "unsigned {j} = {s}; for (int i = 0; i < n / 3; i++) {{ {j} += 3; U[i] += {j}; }} <{j}>",
    "int {j} = 0; for (int i = n - 1; i >= 0; i--) {{ L[{j}] = K[i]; {j}++; A[i] += {j}; }} <{j}>",
    "int {j} = 0; for (int i = 0; i < n; i += 3) {{ K[{j}] += i; {j}++; }} <{j}>",
    "int {j} = 0; for (int i = 0; i + 1 < n; i += 2) {{ A[i] = B[i + 1]; L[{j}++] = i; }} <{j}>",
    "double *p = x, *r = y; for (int i = 0; i < n; i++) *p++ += 2.0 * *r++; <p-x r-y>",
    "double *p = x; const double *r = y; for (int i = 0; i < n; i++) {{ *p = *r * 0.5; p++; ++r; }} <p-x>",
    "double *p = x; for (int i = 0; i < n / 2; i++, p += 2) {{ p[0] += p[1]; }} <p-x>",
    "double *p; for (p = x; p < x + n; p++) *p = 2.0 * *p + q; <p-x>",
    "for (double *p = x; p != x + z; ++p) *p += 1.5;",
    "double *p = x, *e = x + z; while (p < e) {{ *p = *p - 3; p++; }} <p-x>",
    "for (double *p = A, *r = B; p < A + n; p++, r++) *p += *r;",
    "int m = n; double *p = x, *r = y; while (m-- > 0) *p++ = 0.25 * *r++; <m p-x>",
    "size_t m = z; float *f = F; while (m--) *f++ += 1.0f; <f-F>",
    "int m = n; while (--m >= 0) {{ A[m] += K[m]; }} <m>",
    "int m = -1; while (++m < n) A[m] -= 0.5; <m>",
    "for (int i = n > 0 ? n : 0; i; i--) K[i - 1] += i;",
    "for (unsigned i = (unsigned)z; i-- > 0;) A[i] += B[i];",
    "int {k} = 0; for (int i = 0; i < M; i++) for (int j = 0; j < 4; j++) G[i][j] = B[{k}++]; <{k}>",
    "int {k} = 0; for (int i = 0; i < M; i++) for (int j = 0; j < q; j++) {{ G[i][j] += B[{k} % N]; {k}++; }} <{k}>",
    "double *p = &G[0][0]; for (int i = 0; i < M; i++) for (int j = 0; j < M; j++) *p++ += i + j; <p-&G[0][0]>",
    "int {k} = 0; for (int i = 0; i < M; i++) {{ int c = 1 + (K[i] & 3); for (int j = 0; j < c; j++) {{ "
    "A[{k}] = j + c; {k}++; }} }} <{k}>",
    "int {k} = 0; for (int i = 0; i < M; i++) {{ const int c = i % 4; L[i] = {k}; for (int j = 0; j < c; j++) "
    "B[{k}++] += j; }} <{k}>",
    "int {k} = 0; for (int i = 0; i < 12; i++) for (int j = 0; j < i; j++) {{ A[{k}] += G[i][j]; {k}++; }} <{k}>",
    "int {k} = 0; for (int i = 0; i < M; i++) {{ int c = C[i] & 3; {k} += c; K[i] = {k}; }} <{k}>",
    "int {k} = 0; for (int i = 0; i < M; i++) {{ int c = C[i] & 3, d = 2; {k} += d; K[{k}] += c; }} <{k}>",
    "double *p = x; for (int i = 0; i < M; i++) {{ int c = C[i] & 3; for (int j = 0; j < c; j++) *p++ += j; }} <p-x>",
    "int {k} = 0; for (int i = 0; i < M; i++) {{ for (int j = 0, c = L[i] & 3; j < c; j++) B[{k}++] += j; }} <{k}>",
    "for (int i = 0; i < M; i++) {{ double *p = G[i], *e = p + M; while (p < e) *p++ = i; }}",
    "for (int i = 0; i < M; i++) {{ const double *r = G[i]; double t = 0; for (int j = 0; j < M; "
    "j++) t += *r++; A[i] = t; }}",
    "for (int i = 0; i < M; i++) for (double *p = G[i]; p < &G[i][M]; p++) *p *= 2;",
    "int {k} = 0; for (int i = 0; i < n; i++) if (K[i] > {s}) L[{k}++] = K[i]; <{k}>",
    "int {k} = -1; for (int i = 0; i < n; i++) if (K[i] > {s}) L[++{k}] = K[i]; <{k}>",
    "for (int i = 0; i < n; i++) {{ int t = 0; int a = t++, c = K[i] + a; if (t++ < c) A[i] += t; "
    "else B[i] -= t; L[i] = t; }}",
    "for (int i = 0; i < n; i++) {{ double t; if ((t = A[i]) > 0) B[i] = t; else if ((t = t - 1) < -5) B[i] = -t; }}",
    "for (int i = 0; i < n; i++) {{ K[i] > 0 ? (A[i] = 1) : (B[i] = 2); K[i] < -5 && (L[i] = 7); q || (L[i] += 1); }}",
    "for (int i = 0; i < n; i++) {{ int v[5], t = 0; for (int j = 0; j < 5; j++) {{ int w = K[(i + j) % N], u = t++; "
    "while (u > 0 && v[u - 1] > w) {{ v[u] = v[u - 1]; u--; }} v[u] = w; }} L[i] = v[2]; }}",
    "int i; for (i = 0; i < n; i++) A[i] = B[i] + {s}; <i>",
    "int i; for (i = n - 1; i > {s}; i -= 2) A[i] += i; <i>",
    "int i = 0; for (; i < n - 3; i += 4) {{ A[i] += 1; A[i + 1] += 2; A[i + 2] += 3; A[i + 3] += 4; }} "
    "for (; i < n; i++) A[i] += 5; <i>",
    "int i = {s}; while (i <= n / 2) {{ K[i] += L[i]; i++; }} <i>",
    "int i = 0; do {{ if (i < n) A[i] *= 2; i++; }} while (i < n); <i>",
    "int i, j; for (i = 0; i < M; i++) {{ for (j = 0; j < i; j++) G[i][j] += G[j][i]; L[i] = j; }} <i j>",
    "int i; for (i = 0; i != M; i++) {{ if (G[i][0] < 0) continue; G[i][1] = i; }} <i>",
    "size_t i; for (i = 0; i < z; i += 5) U[i] += i; <i>",
    "for (int i = 0; i < n; i++) {{ if (K[i] < 0) goto {k}; A[i] = B[i]; {k}: ; }}",
    "for (int i = 0; i < n; i++) {{ for (int j = 0; j < 5; j++) if (K[(i + j) % N] > 17) goto {k}; "
    "L[i] = -i; {k}: ; }}",
    "for (int i = 0; i < n; i++) {{ switch (K[i] & 3) {{ case 0: A[i] = 1; case 1: A[i] += 2; "
    "break; case 2: B[i] = q; "
    "default: L[i]++; }} }}",
    "for (int i = 0; i < n; i++) {{ int t = C[i]; while (t > 2) {{ int u = t; while (u > 3) {{ u -= "
    "3; L[i]++; }} t = t / 2; "
    "for (int j = 0; j < u; j++) L[i] ^= j; }} K[i] = t; }}",
    "for (int i = 0; i < n; i++) {{ int t = 0; for (int j = 0; j < 9; j++) {{ if (K[(i + j) % N] > "
    "9) j += 2; t++; }} L[i] = t; }}",
)


def program(seed: int) -> str:
    """A program that prints one hash of all it computed."""
    rng = random.Random(f"counter:{seed}")
    parts = []
    for number in range(rng.randint(2, 4)):
        text = rng.choice(_LOOPS)
        names = {"j": f"j{number}", "k": f"k{number}", "s": str(rng.randint(0, 3)), "b": ""}
        text = text.format(**names)
        if text.endswith(">"):
            text, _, read = text[:-1].rpartition("<")
            for name in read.split():
                if rng.random() < 0.6:
                    text += f" {{ long seen = (long)({name}); add(&seen, sizeof seen); }}"
        if rng.random() < 0.25:
            text = f"for (int outer = 0; outer < 3; outer++) {{ {text} K[outer] ^= outer; }}"
        parts.append(f"    {{ {text} }}\n")
    return HEAD.replace("SEEDu", f"{seed * 7919 + 17}u") + _WORK + "    (void)q;\n" + "".join(parts) + "}\n" + _MAIN
