"""Graphs of nests: what is in them, and what leaves no trace."""

from collections import Counter

import numpy as np
import pytest

from perfembed.embedding.encoding.graph import encode
from perfembed.embedding.encoding.schema import NestGraph, columns, edge_columns
from scheduler.frontend import ParseOptions, read_source
from scheduler.generator import generate
from scheduler.ir.text import parse_nest
from scheduler.replay import Replayer
from scheduler.schedule import parse_schedule
from tests.generator.readback import read_back
from tests.perfembed.embedding_support import MATMUL, MATMUL_VARIANTS, SIZES, STENCIL, content, graph, nest
from tests.scheduler.nests import CHOLESKY, PRIVATE, SEIDEL, SPMM


def logarithm(value: float) -> float:
    return float(np.sign(value) * np.log2(1 + abs(value)) / 8)


def value(g: NestGraph, node: int, name: str) -> float:
    return float(g.features[node, columns()[g.nodes[node].kind, name]])


def edges_of(g: NestGraph, kind: str) -> list[tuple[int, int, dict[str, float]]]:
    """Forward edges of a kind with their raw columns."""
    at = edge_columns()
    found = []
    for (source, target), row in zip(g.edges.T, g.edge_features, strict=True):
        if row[at[kind]] and not row[at["backward"]]:
            found.append((int(source), int(target), {name: float(row[p]) for name, p in at.items()}))
    return found


def memlet(g: NestGraph, array: str, write: bool = False) -> int:
    (found,) = [
        n
        for n, node in enumerate(g.nodes)
        if node.kind == "memlet" and node.name == array and bool(value(g, n, "write")) is write
    ]
    return found


def scheduled(text: str, schedule: str, legality: bool = False) -> NestGraph:
    replayer = Replayer(nest(text))
    tree = replayer.tree(parse_schedule(schedule))
    return encode(replayer.nest, SIZES, tree, replayer if legality else None)


def test_shapes() -> None:
    g = graph(MATMUL)
    assert Counter(node.kind for node in g.nodes) == {
        "access": 3,
        "loop_entry": 3,
        "loop_exit": 3,
        "body": 1,
        "memlet": 4,
    }
    assert g.features.dtype == np.float32 and g.features.shape == (14, len(set(columns().values())))
    assert g.edges.dtype == np.int64 and g.edge_features.shape == (g.edges.shape[1], len(edge_columns()))
    assert g.edges.min() >= 0 and g.edges.max() < len(g.nodes)
    kinds = Counter(g.nodes[a].kind + ">" + g.nodes[b].kind for a, b, _ in edges_of(g, "contains"))
    assert kinds == {"loop_entry>loop_entry": 2, "loop_entry>body": 1}
    assert len(edges_of(g, "indexes")) == 12 and len(edges_of(g, "pairs")) == 3
    assert g.find("loop_entry", "j") == next(n for n, x in enumerate(g.nodes) if (x.kind, x.level) == ("loop_entry", 1))
    with pytest.raises(KeyError):
        g.find("access", "D")


def test_every_edge_goes_both_ways() -> None:
    g = graph(STENCIL)
    at = edge_columns()["backward"]
    forward = Counter((int(a), int(b)) for (a, b), row in zip(g.edges.T, g.edge_features, strict=True) if not row[at])
    backward = Counter((int(b), int(a)) for (a, b), row in zip(g.edges.T, g.edge_features, strict=True) if row[at])
    assert forward == backward and forward


def test_values_of_a_matrix_product() -> None:
    g = graph(MATMUL)
    a, body, k = g.find("access", "A"), g.find("body", "S0"), g.find("loop_entry", "k")
    assert value(g, a, "total_bytes") == pytest.approx(logarithm(200 * 400 * 8))
    assert value(g, a, "row_bytes") == pytest.approx(logarithm(3200))
    assert value(g, a, "alignment") == pytest.approx(logarithm(128))  # 3200 = 25 * 128
    assert (value(g, a, "floating"), value(g, a, "constant"), value(g, a, "transient")) == (1, 1, 0)
    assert value(g, k, "extent") == pytest.approx(logarithm(400))
    assert value(g, k, "iterations_around") == pytest.approx(logarithm(60_000))
    assert (value(g, k, "level"), value(g, k, "innermost")) == (pytest.approx(logarithm(2)), 1)
    assert value(g, body, "reduction_sum") == 1
    assert value(g, body, "add") == value(g, body, "multiply") == logarithm(1)
    assert value(g, body, "instances") == pytest.approx(logarithm(24e6))
    b = memlet(g, "B")
    strides = {g.nodes[s].name: e for s, t, e in edges_of(g, "indexes") if t == b}
    assert strides["k"]["stride"] == pytest.approx(logarithm(300)) and not strides["k"]["unit"]
    assert strides["j"]["unit"] == 1 and strides["i"]["still"] == 1
    assert strides["k"]["stride_bytes"] == pytest.approx(logarithm(2400))
    assert value(g, b, "first_stop") == pytest.approx(logarithm(399))
    assert value(g, memlet(g, "C", True), "innermost_still") == 1


@pytest.mark.parametrize("variant", MATMUL_VARIANTS)
def test_names_and_spelling_leave_no_trace(variant: str) -> None:
    assert content(graph(variant)) == content(graph(MATMUL))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("double[l][m]", "double[m][l]"),
        ("array B: double", "array B: float"),
        ("A[i][k] * B", "A[i][k] / B"),
        ("C[i][j] +=", "C[i][j] ="),
        ("B[k][j]", "B[j][k]"),
        ("for k: int in [0, l)", "for k: int in [0, l) step 1 { for z: int in [0, 1)"),
    ],
)
def test_what_matters_shows(old: str, new: str) -> None:
    text = MATMUL.replace(old, new)
    if "for z" in new:
        text = text.replace("B[k][j]; }", "B[k][j]; } }")
    assert text != MATMUL
    assert content(graph(text)) != content(graph(MATMUL))


C_VARIANTS = (
    "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = b[i][j] * 2 + a[i][j];",
    "for (int y = 0; y <= n - 1; ++y) for (int x = 0; x <= n - 1; x += 1) { a[y][x] += 2 * b[y][x]; }",
)


def test_the_same_loops_in_c() -> None:
    found = []
    for body in C_VARIANTS:
        source = f"void f(int n, double a[restrict n][n], const double b[restrict n][n]) {{ {body} }}".encode()
        (one,) = read_source("x.c", ParseOptions(), source).nests
        found.append(content(encode(one, {"n": 50})))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("C[i][j] = A[i][k] - B[k][j] + C[i][j]", "sum"),
        ("C[i][j] -= A[i][k]", "sum"),
        ("C[i][j] = C[i][j] * A[i][k]", "product"),
        ("C[i][j] = fmax(C[i][j], A[i][k])", "extreme"),
        ("C[i][j] = A[i][k] > C[i][j] ? A[i][k] : C[i][j]", "extreme"),
        ("C[i][j] = A[i][k] - C[i][j]", None),
        ("C[i][j] = C[i][j] + C[i][j] * A[i][k]", None),
        ("C[i][j] = A[i][k] / C[i][j]", None),
    ],
)
def test_reductions(statement: str, kind: str | None) -> None:
    g = graph(MATMUL.replace("C[i][j] += A[i][k] * B[k][j]", statement))
    body = g.find("body", "S0")
    found = [r for r in ("sum", "product", "extreme", "bitwise") if value(g, body, f"reduction_{r}")]
    assert found == ([kind] if kind else [])


def test_tiles() -> None:
    g = scheduled(MATMUL, "tile([i, j, k], [32, 64, 16]); parallelize(i_t)")
    outer, point = g.find("loop_entry", "k_t"), g.find("loop_entry", "k")
    assert value(g, outer, "extent") == pytest.approx(logarithm(25)) and value(g, outer, "tile_loop") == 1
    assert value(g, point, "extent") == pytest.approx(logarithm(16)) and value(g, point, "point_loop") == 1
    assert value(g, g.find("loop_entry", "j_t"), "extent") == pytest.approx(logarithm(5))  # 300 in blocks of 64
    entries = [n for n, node in enumerate(g.nodes) if node.kind == "loop_entry"]
    assert [g.nodes[n].name for n in entries if value(g, n, "parallel")] == ["i_t"]
    strides = {g.nodes[s].name: e["stride"] for s, t, e in edges_of(g, "indexes") if t == memlet(g, "A")}
    assert strides["k_t"] == pytest.approx(logarithm(16)) and strides["i_t"] == pytest.approx(logarithm(32 * 400))
    assert strides["i"] == pytest.approx(logarithm(400)) and strides["j"] == 0


def test_marks_and_order_show() -> None:
    plain = content(graph(MATMUL))
    variants = ("interchange(j, k)", "parallelize(i)", "vectorize(k)", "unroll(k, 4)", "tile([i], [8])", "reverse(i)")
    seen = [content(scheduled(MATMUL, s)) for s in variants]
    for position, one in enumerate(seen):
        assert one != plain and one not in seen[:position], variants[position]


def test_a_skewed_loop_moves_what_its_row_says() -> None:
    g = scheduled(SEIDEL, "skew(t, i, 1)")
    stored = memlet(g, "A", True)
    strides = {g.nodes[s].name: e["stride"] for s, t, e in edges_of(g, "indexes") if t == stored}
    # rows t, t + i, j: as t goes on with t + i held, i goes back by one row of 200
    assert strides["i"] == pytest.approx(logarithm(200)) and strides["t"] == pytest.approx(logarithm(-200))
    assert strides["j"] == pytest.approx(logarithm(1))
    assert value(g, g.find("loop_entry", "i"), "extent") == pytest.approx(logarithm(198))
    assert value(g, g.find("loop_entry", "i"), "skewed") == 1


def test_data_dependent_loops() -> None:
    g = graph(SPMM)
    p = g.find("loop_entry", "p")
    assert value(g, p, "dynamic") == 1 and value(g, g.find("loop_entry", "i"), "dynamic") == 0
    assert [(g.nodes[a].name, b) for a, b, _ in edges_of(g, "bounds")] == [("rowptr", p)]
    assert value(g, g.find("access", "rowptr"), "offset") == 0  # only bounds read it
    b = memlet(g, "B")
    assert (value(g, b, "dynamic"), value(g, b, "indirection"), value(g, b, "may")) == (1, 1, 0)
    assert [(g.nodes[a].name, t) for a, t, _ in edges_of(g, "indirect")] == [("col", b)]
    opaque = {g.nodes[s].name: bool(e["opaque"]) for s, t, e in edges_of(g, "indexes") if t == b}
    assert opaque == {"i": False, "p": True, "j": False}


def test_expanded_privates_are_seen_as_written() -> None:
    expanded = Replayer(nest(PRIVATE)).nest
    assert expanded != nest(PRIVATE)
    assert content(encode(expanded, SIZES)) == content(graph(PRIVATE))


def test_legality() -> None:
    g = scheduled(MATMUL, "interchange(j, k)", legality=True)
    carried = {n.name: value(g, i, "sequential") for i, n in enumerate(g.nodes) if n.kind == "loop_entry"}
    assert carried == {"i": 0, "j": 0, "k": 1}
    assert value(g, g.find("loop_entry", "i"), "legality_known") == 1
    assert value(graph(MATMUL), graph(MATMUL).find("loop_entry", "i"), "legality_known") == 0


def test_triangles_take_typical_extents() -> None:
    g = graph(CHOLESKY)
    assert value(g, g.find("loop_entry", "j"), "extent") == pytest.approx(logarithm(100), abs=0.02)
    assert value(g, g.find("loop_entry", "j"), "uneven") == 1 and value(g, g.find("loop_entry", "i"), "uneven") == 0


def test_sizes_without_value_are_assumed() -> None:
    assert content(encode(nest(MATMUL), {})) == content(encode(nest(MATMUL), dict.fromkeys("nml", 1000)))


def test_no_limits() -> None:
    depth = 14
    loops = "".join(f"for i{d}: int in [0, 3) step 1 {{ " for d in range(depth))
    subscripts = "".join(f"[i{d}]" for d in range(depth))
    terms = " + ".join(f"B{n}{subscripts}" for n in range(40))
    arrays = "".join(f"array B{n}: double{'[3]' * depth};\n" for n in range(40))
    target = f"array A: double{'[3]' * depth};"
    g = graph(f"nest deep {{\n{arrays}{target}\n{loops}S0: A{subscripts} = {terms};{' }' * depth}\n}}")
    assert len(g.nodes) == 41 + 2 * depth + 1 + 41 and np.isfinite(g.features).all()
    assert value(g, memlet(g, "B7"), "dimensions") == pytest.approx(logarithm(depth))


@pytest.mark.parametrize("number", [2, 26])
def test_generated_programs(number: int) -> None:
    for one in read_back(generate(11, number)):
        g = encode(one, {})
        assert np.isfinite(g.features).all() and np.isfinite(g.edge_features).all()
        assert Counter(n.kind for n in g.nodes)["loop_entry"] == Counter(n.kind for n in g.nodes)["loop_exit"] > 0
        assert (g.features == encode(one, {}).features).all()


def test_text_round_trip_makes_no_difference() -> None:
    from scheduler.identity import canonical_nest

    for text in (MATMUL, STENCIL, SPMM, CHOLESKY):
        canonical = canonical_nest(parse_nest(text))
        sizes = {canonical.names["P", p.name]: SIZES[p.name] for p in parse_nest(text).parameters}
        assert content(encode(canonical.nest, sizes)) == content(graph(text))
