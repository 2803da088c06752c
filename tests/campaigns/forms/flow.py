"""Random C programs with while loops, break, continue, switch, minima, maxima, flags and counters."""

import random

HEAD = """#include <stdio.h>
#include <string.h>
#include <math.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
enum { N = 120, M = 24 };
static double A[N], B[N], G[M][M];
static float F[N];
static int K[N], L[N], H[256], P[N];
static unsigned U[N];
static unsigned char C[N];
static unsigned long hash = 1469598103934665603ul;
static void add(const void *at, size_t size)
{
    const unsigned char *bytes = at;
    for (size_t k = 0; k < size; k++) hash = (hash ^ bytes[k]) * 1099511628211ul;
}
static unsigned state = SEEDu;
static unsigned drawn(void) { state = state * 1664525u + 1013904223u; return state >> 8; }
static double odd(void)
{
    switch (drawn() % 12) {
    case 0: return NAN;
    case 1: return -NAN;
    case 2: return 0.0;
    case 3: return -0.0;
    case 4: return INFINITY;
    case 5: return -INFINITY;
    case 6: return -1.0;
    }
    return (double)(int)(drawn() % 2001 - 1000) / 8.0;
}
"""
_MAIN = """int main(void)
{
    for (int r = 0; r < 4; r++) {
        for (int k = 0; k < N; k++) {
            A[k] = odd(); B[k] = (r & 1) ? odd() : (double)(drawn() % 100); F[k] = (float)odd();
            K[k] = (int)(drawn() % 41) - 20; L[k] = (int)(drawn() % N); P[k] = (int)(drawn() % (k + 1)) - 1;
            U[k] = drawn() * 257u; C[k] = (unsigned char)drawn();
        }
        for (int k = 0; k < 256; k++) H[k] = drawn() % 3 ? -1 : (int)(drawn() % 97);
        H[drawn() % 256] = -1;
        for (int k = 0; k < M; k++) for (int l = 0; l < M; l++) G[k][l] = odd();
        work(r == 3 ? 1 : r == 2 ? 37 : N, (int)(drawn() % 7));
        add(A, sizeof A); add(B, sizeof B); add(F, sizeof F); add(K, sizeof K); add(L, sizeof L);
        add(U, sizeof U); add(C, sizeof C); add(G, sizeof G);
    }
    printf("%lx\\n", hash);
    return 0;
}
"""
_COUNTED = (
    "for (int i = 0; i < n; i++) {{ {body} }}",
    "int {i} = 0; while ({i} < n) {{ int i = {i}; {body} {i}++; }}",
    "int {i}; {i} = 0; while ({i} < n) {{ const int i = {i}; {body} {i} += 1; }}",
    "int {i} = 0; do {{ int i = {i}; {body} {i}++; }} while ({i} < n);",
    "int {i} = 0; do {{ int i = {i}; {body} }} while (++{i} < n);",
    "int {i} = 0; for (;;) {{ if ({i} >= n) break; int i = {i}; {body} {i}++; }}",
    "int {i} = n - 1; while (1) {{ int i = {i}; {body} {i}--; if ({i} < 0) break; }}",
    "for (int i = 0;; i++) {{ if (i >= n) break; {body} }}",
    "int {i}; for ({i} = 0; {i} < n;) {{ int i = {i}; {body} {i}++; }}",
)
_SEARCHES = (
    "int h = (K[i] * 37) & 255; while (H[h] != -1 && H[h] != K[i]) h = (h + 1) & 255; L[i] = H[h];",
    "int h = U[i] & 255, w = -7; while (H[h] != -1) { if (H[h] == K[i]) { w = h; break; } h = (h + 1) & 255; } "
    "L[i] = w;",
    "int lo = 0, hi = n; while (lo < hi) { int mid = (lo + hi) / 2; if (B[mid] < A[i]) lo = mid + 1; else hi = mid; } "
    "L[i] = lo;",
    "int w = n; for (int j = 0; j < n; j++) if (B[j] > A[i]) { w = j; break; } L[i] = w + q;",
    "int w = 0; for (int j = P[i]; j >= 0; j = P[j]) { if (K[j] < q) continue; w += K[j] & 15; } U[i] += w;",
    "double z = A[i] * 0.001; int t = 0; while (z * z < 4.0 && t < 50) { z = z * z + B[i] * 0.01; t++; } L[i] = t;",
    "unsigned x = U[i] | 1u; int t = 0; "
    "do { x = x & 1u ? 3u * x + 1u : x / 2u; t++; if (t > 60) break; } while (x != 1u); L[i] = t;",
    "int j; for (j = 0; j < n && K[j] != K[i]; j++) ; L[i] = j;",
    "int t = 0; while (t < 9) { t++; if (K[(i + t) % n] > 3) continue; if (t > q) break; A[i] += 0.5; } L[i] = t;",
    "int t = 0; while (1) { if (B[(i + t) % n] > 2) { t += 2; if (t > 9) break; } else { t++; break; } } L[i] = t;",
)
_BODIES = (
    "if (K[i] < 0) { if (B[i] > 3) continue; A[i] = 2 * B[i]; } K[i] ^= 5;",
    "if (K[i] > 3) continue; if (q > 2) { A[i] += 1; } else { if (K[i] == 0) continue; A[i] -= 1; } B[i] = A[i];",
    "switch (K[i] & 3) { case 0: A[i] = 1; break; case 1: case 2: A[i] *= 2; break; default: B[i] = q; }",
    "switch (q) { case 0: A[i] = K[i]; break; case 3: { if (K[i] > 2) A[i] = 4; else A[i] = 5; break; } default: ; }",
    "switch (C[i] % 5) { case 4: continue; case 1: L[i] = 1; break; case 0: if (q) L[i] = 3; } K[i]++;",
    "do { A[i] = K[i] * 0.5; if (q > 3) B[i] = 1; } while (0);",
    "A[i] = K[i] + q; B[i] = A[i] < 3 ? A[i] : 3;",
    "C[i] = (unsigned char)(C[i] * 3 + q); U[i] += C[i];",
    "if (i == q) continue; else if (i < q) { if (K[i]) A[i] = 1; else continue; } C[i]++;",
)
_BOTH = (
    "if (G[k][l] > best) { best = G[k][l]; bk = k; bl = l; }",
    "if (best >= G[k][l]) best = G[k][l];",
)
_TYPES = {"double": "A", "float": "F", "int": "K", "unsigned": "U", "unsigned char": "C"}
_RESULT = " add(&{m}, sizeof {m});"


def _extreme(rng: random.Random, number: int) -> tuple[str, str, str]:
    """(declaration, body, what is printed behind) of a reduction."""
    ctype = rng.choice(tuple(_TYPES))
    x, m, at = f"{_TYPES[ctype]}[i]", f"m{number}", f"at{number}"
    start = rng.choice((f"{_TYPES[ctype]}[0]", "0", "1", "-1" if ctype in ("int", "double", "float") else "7"))
    op = rng.choice(("<", ">", "<=", ">="))
    test = rng.choice((f"{x} {op} {m}", f"{m} {op} {x}"))
    form = rng.randrange(11)
    declared = f"{ctype} {m} = {start}; int {at} = -5;"
    shown = _RESULT.format(m=m) + _RESULT.format(m=at)
    if form < 2:
        return declared, f"if ({test}) {m} = {x};", shown
    if form < 5:
        more = rng.choice(("", "K[i] > -9 && "))
        return declared, f"if ({more}{test}) {{ {m} = {x}; {at} = i; }}", shown
    if form == 5:
        return declared, f"{m} = {test} ? {x} : {m};", shown
    if form == 6:
        macro = rng.choice(("MAX", "MIN"))
        return declared, f"{m} = {macro}({rng.choice((f'{m}, {x}', f'{x}, {m}'))});", shown
    if form == 7:
        return f"int {m} = 0; int {at} = 1;", f"if (K[i] == q) {m} = 1; else if (K[i] > 18) {at} = 0;", shown
    if form == 8:
        return f"int {m} = 3; int {at} = 0;", f"if ({_TYPES[ctype]}[i] > 1) {m}++; else {at} += 2;", shown
    if form == 9:
        op = rng.choice(("|", "&", "^", "+", "*"))
        return f"unsigned {m} = U[0]; int {at} = 0;", f"{m} = {m} {op} U[i];", shown
    return f"double {m} = 1; int {at} = 0;", f"{m} = fmax({m}, B[i]); {at} |= K[i];", shown


def program(seed: int) -> str:
    """A program that prints one hash of all it computed."""
    rng = random.Random(f"flow:{seed}")
    parts = []
    for number in range(rng.randint(2, 4)):
        shape = rng.random()
        index = f"i{number}"
        if shape < 0.35:
            declared, body, shown = _extreme(rng, number)
            if rng.random() < 0.3:
                found = [_extreme(rng, 10 + number)]
                declared, body, shown = declared + found[0][0], body + " " + found[0][1], shown + found[0][2]
        elif shape < 0.7:
            declared, body, shown = "", rng.choice(_SEARCHES), ""
        else:
            declared, body, shown = "", rng.choice(_BODIES), ""
        wraps = _COUNTED if "continue" not in body else (_COUNTED[0], _COUNTED[7])
        parts.append(f"    {declared}\n    {rng.choice(wraps).format(i=index, body=body)}\n   {shown}\n")
    if rng.random() < 0.4:
        at = rng.choice(_BOTH)
        parts.append(
            "    double best = G[0][0]; int bk = -1, bl = -1;\n"
            f"    for (int k = 0; k < M; k++) for (int l = 0; l < M; l++) {at}\n"
            "    add(&best, sizeof best); add(&bk, sizeof bk); add(&bl, sizeof bl);\n"
        )
    rng.shuffle(parts)
    inside = "".join(f"    {{\n{part}    }}\n" for part in parts)
    work = f"static void work(int n, int q)\n{{\n    (void)q;\n{inside}}}\n"
    return HEAD.replace("SEEDu", f"{seed * 7919 + 17}u") + work + _MAIN
