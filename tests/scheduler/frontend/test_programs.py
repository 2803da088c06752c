"""Programs whose nests are replaced by C printed from the IR must print what they printed before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.text import preamble, values_in_front
from scheduler.frontend import ParseOptions, SourceFile, read_source
from scheduler.frontend.scop.detection import INTERNAL
from scheduler.ir.affine import Affine
from scheduler.ir.text import format_nest, parse_nest, without_spans
from tests.scheduler.frontend.programs import PROGRAMS
from tests.scheduler.frontend.random_helpers import random_helpers
from tests.scheduler.frontend.random_programs import random_program

KERNELS = sorted((Path(__file__).parents[2] / "kernels").glob("*.c"))
FLAGS = ("-O1", "-w", "-ffp-contract=off")


def rewritten(source: SourceFile) -> bytes:
    """Every nest as the IR describes it, in place of the user's text, where its assumptions hold."""
    text = source.content
    for nest in sorted(source.nests, key=lambda n: -n.span.begin if n.span else 0):
        assert nest.span is not None
        assert parse_nest(format_nest(nest)) == without_spans(nest)
        tests = [f"{wide(c.affine)} {'==' if c.kind == '==' else '>='} 0" for c in nest.assumptions]
        original = text[nest.span.begin : nest.span.end]
        head = (
            f"{{ {' '.join(values_in_front(nest))} if ({' && '.join(tests) or 1}) {{\n{emit_original(nest)}}} else {{"
        )
        new = head.encode() + original + b"} }"
        text = text[: nest.span.begin] + new + text[nest.span.end :]
    return preamble(text.decode()).encode() + text


def wide(affine: Affine) -> str:
    """In arithmetic that does not wrap."""
    return " + ".join((*(f"{c} * (long){a}" for a, c in affine.terms), str(affine.const)))


def output(source: bytes, folder: Path, name: str, *flags: str) -> str:
    path = folder / f"{name}.c"
    path.write_bytes(source)
    subprocess.run(["gcc", *FLAGS, *flags, str(path), "-o", str(folder / name), "-lm"], check=True, timeout=60)
    done = subprocess.run([str(folder / name)], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


def check(source: SourceFile, folder: Path, *flags: str) -> None:
    assert not [r for r in source.rejections if INTERNAL in r.reason]
    assert output(rewritten(source), folder, "new", *flags) == output(source.content, folder, "old", *flags)


@pytest.mark.gcc
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, tmp_path: Path) -> None:
    source = read_source("t.c", ParseOptions(), PROGRAMS[name].encode())
    assert source.nests
    reasons = [r.reason for r in source.rejections]
    assert all("hidden here" in r for r in reasons), reasons
    check(source, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.stem)
def test_kernels(kernel: Path, tmp_path: Path) -> None:
    check(read_source(kernel, ParseOptions(("-DSMALL",))), tmp_path, "-DSMALL")


@pytest.mark.gcc
@pytest.mark.parametrize("seed", [3, *(pytest.param(k, marks=pytest.mark.slow) for k in range(100, 120))])
def test_random_helpers(seed: int, tmp_path: Path) -> None:
    source = read_source("t.c", ParseOptions(), random_helpers(seed, 4).encode())
    assert any(len(assumptions.texts) > 1 for assumptions in source.assumptions.values())
    check(source, tmp_path, "-fsanitize=undefined,address", "-fno-sanitize-recover=undefined")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    source = read_source("t.c", ParseOptions(), random_program(seed, 15).encode())
    assert len(source.nests) > 5
    check(source, tmp_path, "-fwrapv")
