"""Structures that are variables, arguments, results and assigned values."""

from __future__ import annotations

import pytest

from scheduler.ir.nest import LoopNest, Storage
from scheduler.ir.text import format_nest
from tests.scheduler.frontend.support import lines, nest, read, refusal

COMPLEX = """typedef struct { double re, im; } cplx;
static cplx mul(cplx a, cplx b) { cplx r; r.re = a.re * b.re - a.im * b.im; r.im = a.re * b.im + a.im * b.re;
    return r; }
static cplx add(cplx a, cplx b) { return (cplx){ a.re + b.re, a.im + b.im }; }
static cplx larger(cplx a, cplx b) { if (a.re > b.re) return a; return b; }
"""


def bases(found: LoopNest) -> dict[str, str | None]:
    return {a.name: a.base for a in found.arrays if a.storage is not Storage.PRIVATE}


def test_members_of_a_structure_are_sizes_and_arrays() -> None:
    found = nest("""struct m { int n, ld; double *data; };
void f(struct m m) { for (int i = 0; i < m.n; i++) for (int j = 0; j < m.n; j++) m.data[i * m.ld + j] = 0; }""")
    assert [(p.name, p.base, p.exposed) for p in found.parameters] == [("m_ld", "m.ld", False), ("m_n", "m.n", False)]
    assert bases(found) == {"m_data": "m.data"}
    assert lines(found)[-1].strip() == "m_data[i][j] = 0"


def test_members_of_a_static_structure_have_their_values() -> None:
    found = nest("""static struct { int nx; struct { int ny; double w[2]; } in; } cfg = {4, {5, {1, 2}}};
void f(double *a) { for (int i = 0; i < cfg.in.ny; i++) a[i] = cfg.in.w[1]; }""")
    assert [(p.name, p.value, p.base) for p in found.parameters] == [("cfg_in_ny", 5, "cfg.in.ny")]
    assert bases(found)["cfg_in_w"] == "cfg.in.w"


def test_values_of_structures_are_one_value_a_member() -> None:
    found = nest(
        COMPLEX
        + "void f(int n, cplx *y, cplx *z, cplx w) { for (int i = 0; i < n; i++) y[i] = add(mul(z[i], w), y[i]); }"
    )
    arrays = {a.name: a for a in found.arrays}
    assert arrays["y"].members == (".re", ".im") and arrays["y"].base == "y"
    assert {"w_re", "w_im"} <= set(arrays)
    written = [line for line in lines(found) if "y[i]" in line.split("=")[0]]
    assert len(written) == 2


@pytest.mark.parametrize(
    ("loop", "text"),
    [
        ("for (int i = 0; i < n; i++) a[i] = square(s.x);", "(double)s_x * (double)s_x"),
        ("for (unsigned i = s.k; i < 9; i++) a[i] = 0;", "s_k >= 0"),
    ],
)
def test_members_are_converted(loop: str, text: str) -> None:
    assert text in format_nest(
        nest(f"""static struct {{ float x; int k; }} s; static double square(double x) {{ return x * x; }}
void set(float x, int k) {{ s.x = x; s.k = k; }} void f(int n, double *a) {{ {loop} }}""")
    )


def test_a_value_is_whole_before_it_is_assigned() -> None:
    found = nest(COMPLEX + "void f(int n, cplx *z) { for (int i = 0; i < n; i++) z[i] = (cplx){ z[i].im, z[i].re }; }")
    text = lines(found)
    last_read = max(k for k, line in enumerate(text) if "z[i]" in line.split("=", 1)[-1])
    first_write = min(k for k, line in enumerate(text) if line.split("=")[0].strip().startswith("z[i]"))
    assert last_read < first_write


def test_a_structure_whose_address_is_known_elsewhere_stays() -> None:
    found = nest("""struct m { int n; double *data; }; void init(struct m *m);
void f(void) { struct m m; init(&m); for (int i = 0; i < m.n; i++) m.data[i] = 0; }""")
    assert [(p.base, p.exposed) for p in found.parameters] == [("m.n", False)]
    exposed = nest("""struct m { int n; int *data; }; void init(struct m *m);
void f(void) { struct m m; init(&m); for (int i = 0; i < m.n; i++) m.data[i] = 0; }""")
    assert [(p.base, p.exposed) for p in exposed.parameters] == [("m.n", True)]


@pytest.mark.parametrize(
    ("init", "value"),
    [
        ("{ { 1, 2 }, 5 }", 5),
        ("{ .n = 5 }", 5),
        ("{ .n = 5, .in = { 1 } }", 5),
        ("{ .in = { 1 }, 5 }", 5),
        ("{ .in.a = 1, .n = 5 }", None),
        ("{ .n = 4, .n = 5 }", None),
        ("{ 1, 2, 5 }", None),
        ("{ .in = 1, 2, 5 }", None),
    ],
)
def test_values_of_initializers(init: str, value: int | None) -> None:
    found = nest(f"""static struct {{ struct {{ int a, b; }} in; int n; }} s = {init};
void f(double *a) {{ for (int i = 0; i < s.n; i++) a[i] = 0; }}""")
    assert found.parameters[0].value == value


def test_an_index_that_the_assignment_changes_is_refused() -> None:
    code = (
        "struct l { int next; double v; }; void f(int n, struct l *a, struct l *b) { for (int i = 0; i < n; i++) %s; }"
    )
    assert read(code % "a[i] = b[i]").nests
    assert "of type 'struct l'" in refusal(code % "a[a[i].next] = b[i]").reason
    assert not read(code % "a[a[i].next] = b[i]").nests


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ("union { double d; int i; } x;", "a union"),
        ("int a : 3; double d;", "bit-fields"),
        ("double d __attribute__((aligned(32)));", "specially aligned"),
        ("int n; double tail[];", "flexible array"),
        ("struct { double d; };", "unnamed structure"),
    ],
)
def test_structures_that_are_refused(members: str, reason: str) -> None:
    use = "a[i].x.d" if "union" in members else "a[i].n" if "tail" in members else "a[i].d"
    rest = "" if "tail" in members else "double q;"
    head = f"struct s {{ {members} {rest} }}; void f(int n, struct s *a)"
    found = refusal(f"{head} {{ for (int i = 0; i < n; i++) {use} = 0; }}")
    assert reason in found.reason, found.reason


def test_packed_structures_are_refused() -> None:
    for head, tail in (("struct __attribute__((packed)) s", ""), ("#pragma pack(1)\nstruct s", "#pragma pack()\n")):
        function = "void f(int n, struct s *a) { for (int i = 0; i < n; i++) a[i].d = 0; }"
        assert "packed" in refusal(f"{head} {{ char c; double d; }};\n{tail}{function}").reason


def test_types_of_one_name_are_kept_apart() -> None:
    code = """void f(int n, void *p) { struct s { double d; }; struct s *a = p;
    for (int i = 0; i < n; i++) a[i].d = 0; }
void g(int n, void *p) { struct s { int x; double d; }; struct s *a = p; for (int i = 0; i < n; i++) a[i].d = 0; }"""
    found = read(code)
    assert not found.nests and all("types named" in r.reason for r in found.rejections)
