"""The map as a page: what a browser makes of it, and what in a nest could break out of it."""

import re
from pathlib import Path

import numpy as np
import pytest

from perfembed.mapping.embed_file import NestEmbedding
from perfembed.mapping.plane import Point, map_points, node_points
from perfembed.report.map_page import map_page
from tests.perfembed.report.browser import needs_browser, opened
from tests.perfembed.retrieval.test_retrieve import DONORS, SPACE

_EVIL = "</script><script>document.title = 'broken'</script>"


def point(name: str, x: float, own: bool = False, steps: tuple[str, ...] = ()) -> Point:
    speedup = None if own else 2.0 + x
    metrics = {} if own else {"runtime": x}
    return Point(name, "a.c:3", "gemm", x, x * x, f"nest {name} {{}}", speedup, "tile([i], [8])", steps, own, metrics)


def pointed_at(page: str, folder: Path) -> str:
    """The document as a browser has it after the script ran; the pointer has been at the first mark."""
    point_at = '<script>document.querySelector("circle").dispatchEvent(new Event("mouseenter"))</script>'
    dom, console = opened(page.replace("</body>", f"{point_at}</body>"), folder)
    assert not console
    return dom


@pytest.mark.gcc
@needs_browser
def test_in_a_browser(tmp_path: Path) -> None:
    points = [
        point("first", 0.0, steps=("tile",)),
        point("second", 1.0),
        point(_EVIL, 2.0),
        point("mine", 3.0, own=True),
    ]
    dom = pointed_at(map_page(points, "a & b"), tmp_path)
    assert "<title>a &amp; b</title>" in dom
    assert len(re.findall("<circle", dom)) == 3 and len(re.findall("<path", dom)) == 1
    assert len(set(re.findall(r'<circle[^>]*fill="([^"]*)"', dom))) == 3  # by speedup
    about = dom[dom.index('id="about"') :]
    assert "nest first {}" in about and "2x faster" in about
    assert '<option value="tile">' in dom and "this file" in dom
    assert '<optgroup label="predicted metric"><option value="runtime">' in dom


def test_needs_no_network_and_nothing_breaks_out() -> None:
    page = map_page([point(_EVIL, 0.0)], "t")
    assert page.count("</script>") == 1
    assert not re.search(r"(?:src|href)\s*=|@import|url\(", page)
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "const points = [];" in map_page([], "nothing")


def test_points_of_donors() -> None:
    found = map_points([DONORS], (), "a.c", SPACE, 0)
    assert [p.name for p in found] == [d.name for d in DONORS.by_id.values()]
    assert {"tile", "register_block", "pack"} <= set(found[0].steps) and found[0].speedup == 8.0
    assert found == map_points([DONORS], (), "a.c", SPACE, 0)
    assert all(len(p.metrics) == 20 for p in found)


@pytest.mark.gcc
def test_nodes_of_a_nest() -> None:
    vectors = np.random.default_rng(0).standard_normal((6, 128)).astype(np.float32)
    kinds = ("access", "loop_entry", "loop_exit", "body", "access", "access")
    nest = NestEmbedding(
        "gemm_0", "gemm", 7, "0" * 16, "m", vectors[0], vectors, kinds, ("A", "i", "i", "S0", "B", "C")
    )
    found = node_points([nest, nest], "a.c", 0)
    assert [p.algorithm for p in found] == [*kinds, *kinds] and found[3].name == "body S0"
    assert len({(p.x, p.y) for p in found[:6]}) == 6 and found[0].place == "gemm_0, a.c:7"
    assert not node_points([], "a.c", 0)
