"""Changes of variables inside expressions, as statements of their own."""

from __future__ import annotations

import pytest

from tests.scheduler.frontend.support import lines, nest, read

HEAD = "void f(int n, int k, int q, double *restrict a, double *restrict b, int *restrict l) {\n"


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("if (a[i] > 0) l[k++] = i;", ["if (a[i] > 0) { l[~k] = i; k += 1 }"]),
        ("if (a[i] > 0) l[--k] = i;", ["if (a[i] > 0) { k -= 1; l[~k] = i }"]),
        ("double t; if ((t = a[i]) > 0) b[i] = t;", ["t = a[i]", "if (t > 0) b[i] = t"]),
        ("a[i] > 0 && (b[i] = 1);", ["if (a[i] > 0) b[i] = 1"]),
        ("a[i] > 0 || (b[i] = 1);", ["if !(a[i] > 0) b[i] = 1"]),
        ("a[i] > 0 ? (b[i] = 1) : (a[i] = 2);", ["if (a[i] > 0) b[i] = 1 else a[i] = 2"]),
    ],
)
def test_apart(body: str, written: list[str]) -> None:
    found = "".join(lines(nest(f"{HEAD}for (int i = 0; i < n; i++) {{ {body} }} }}"))[1:])
    for part in written:
        words = [
            w for w in part.replace("{", " ").replace("}", " ").replace(";", " ").split() if w not in ("if", "else")
        ]
        places = [found.find(w) for w in words]
        assert all(p >= 0 for p in places), (words, found)


def test_order() -> None:
    code = "{ int t = 0; int u = t++, v = l[i]; if (t++ < v) a[i] = t; l[i] = u; }"
    found = "\n".join(lines(nest(f"{HEAD}for (int i = 0; i < n; i++) {code} }}")))
    assert found.count("t += 1") == 2 and "(t - 1) < v" in found


@pytest.mark.parametrize(
    "body",
    [
        "a[i] = l[k++] + k;",
        "a[i] = q > 3 ? l[k++] : 0;",
        "a[i] = q > 3 && l[k++];",
        "l[k] = k++;",
        "a[i] = l[l[0]++];",
        "if (l[k++] && (k = 3)) a[i] = 1;",
    ],
)
def test_left_alone(body: str) -> None:
    found = read(f"{HEAD}for (int i = 0; i < n; i++) {body} }}")
    assert not found.nests and any("inside an expression" in r.reason for r in found.rejections)


def test_asserts() -> None:
    """Statement expressions whose value nobody uses are blocks; what they only read has no address taken."""
    code = """#include <assert.h>
        void f(int n, double *a) { int i; assert(n > 0); for (i = 0; i < n; i++) a[i] = 1; assert(i == n); }"""
    found = nest(code)
    assert lines(found) == ["for i_2 = 0 to n", " a[i_2] = 1", "i = ((0 < n) ? n : 0)"]
    code = "void f(int n, double *a) { int i, k = ({ int *p = &i; *p; }); for (i = 0; i < n; i++) a[i] = k; }"
    assert "through a pointer" in read(code).rejections[0].reason
    code = "void f(int n, double *a) { int i, k = ({ n + 1; }); for (i = 0; i < n; i++) a[i] = k; }"
    assert len(read(code).nests) == 1
