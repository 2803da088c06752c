"""Compilers are found by trying them."""

import os
from pathlib import Path

import pytest

from perfembed.comparing.compilers import NAMES, Toolbox, configurations, newest_clang

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def tool(folder: Path, name: str, text: str = "exit 1") -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_newest_clang(tmp_path: Path) -> None:
    assert newest_clang({"PATH": str(tmp_path)}) is None
    tool(tmp_path, "clang")
    assert newest_clang({"PATH": str(tmp_path)}) == "clang"
    for name in ("clang-9", "clang-14", "clang-tidy-22", "clang-format"):
        tool(tmp_path, name)
    assert newest_clang({"PATH": f"/nowhere:{tmp_path}"}) == "clang-14"


@pytest.mark.gcc
def test_what_is_missing_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    tool(
        folder, "clang-99", 'case "$1" in --version) echo clang 99;; *) echo "error: no -polly here" >&2; exit 1;; esac'
    )
    environment = {"PATH": f"{folder}:{os.environ['PATH']}"}
    found = {c.name: c for c in configurations(NAMES, Toolbox(), environment, tmp_path)}
    assert list(found) == list(NAMES)
    assert not found["gcc"].missing and not found["ours"].missing
    assert "gcc" in found["gcc"].version
    for name in ("clang", "polly", "polly-stripmine"):
        assert found[name].missing == "error: no -polly here"
        assert found[name].version == "clang 99"


@pytest.mark.gcc
def test_graphite_is_used_where_gcc_has_it(tmp_path: Path) -> None:
    (_, found) = configurations(("graphite",), Toolbox(threads=3), ENVIRONMENT, tmp_path)
    assert found.name == "graphite" and "-ftree-parallelize-loops=3" in found.compiler.flags
    tool(
        tmp_path,
        "cc-without",
        """case "$*" in
*-floop-nest-optimize*) echo "sorry, unimplemented: Graphite loop optimizations cannot be used" >&2; exit 1;;
*) exec gcc "$@";; esac""",
    )
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    (gcc, found) = configurations(("graphite",), Toolbox(cc="cc-without"), environment, tmp_path)
    assert not gcc.missing and "Graphite loop optimizations cannot be used" in found.missing


@pytest.mark.gcc
def test_no_clang_at_all(tmp_path: Path) -> None:
    found = {c.name: c for c in configurations(("clang",), Toolbox(clang="no-such-clang"), ENVIRONMENT, tmp_path)}
    assert list(found) == ["gcc", "clang"]
    assert "no-such-clang" in found["clang"].missing


@pytest.mark.skipif(newest_clang(ENVIRONMENT) is None, reason="no clang")
def test_clang_works_where_it_is(tmp_path: Path) -> None:
    (_, clang) = configurations(("clang",), Toolbox(), ENVIRONMENT, tmp_path)
    assert not clang.missing
    assert "clang" in clang.version
