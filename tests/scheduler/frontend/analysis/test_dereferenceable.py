"""Members of structures are read in front of a nest only where their pointers were followed on the way to it."""

from pathlib import Path

import pytest

from scheduler.frontend import ParseOptions, read_source

HEAD = """
struct box { int n, h; };
int size(const struct box *x); void free(void *); void done(void);
void work(struct box *x, double *restrict a, int m, int k)
{
"""
LOOP = "for (int i = 0; i < m; i++) for (int j = 0; j < x->h; j++) a[1000 * i + j] = 1.0;\n}\n"
FOLLOWED = {
    "read": "int q = x->n; a[0] = q;",
    "argument": "done(); size(x); a[0] = size(0) + x->n;",
    "condition": "if (x->n > 3) a[0] = 1;",
    "written": "x->n = 4;",
    "limit": "for (int t = 0; t < x->n; t++) a[t] = 0;",
    "left of and": "if (x->n && m) a[0] = 1;",
    "around": "if (x->n == 3)",
    "block": "{ { x->n++; } }",
}
NOT_FOLLOWED = {
    "not at all": "",
    "in a branch": "if (m > 7) x->n = 3;",
    "right of and": "if (m && x->n) a[0] = 1;",
    "one of two": "a[0] = m ? x->n : 1;",
    "only its address": "int *q = &x->n; a[0] = q == 0;",
    "in a loop": "for (int t = 0; t < m; t++) a[t] = x->n;",
    "freed": "a[0] = x->n; if (m == 0) free(x);",
    "another one": "a[0] = x->n; x = 0;",
    "over a jump": "if (m) goto there; a[0] = x->n; there:",
    "another case": "switch (m) { case 1: a[0] = x->n; break; case 2:;",
}


def limits(path: Path, text: str) -> list[str]:
    path.write_text(HEAD + text + LOOP + ("}" if "switch" in text else ""))
    source = read_source(path, ParseOptions())
    return [p.name for nest in source.nests for p in nest.parameters if p.base == "x->h" and not p.where]


@pytest.mark.parametrize("name", FOLLOWED)
def test_followed(name: str, tmp_path: Path) -> None:
    assert limits(tmp_path / "a.c", FOLLOWED[name])


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_not_followed(name: str, tmp_path: Path) -> None:
    assert not limits(tmp_path / "a.c", NOT_FOLLOWED[name])
