"""What the tests of perfembed.capture share: C files with marked nests, and running a nest on its capture."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from perfembed.building.compiling import one_file
from perfembed.capture import (
    CapturedNest,
    CaptureFailed,
    ProgramFailed,
    ProgramProfile,
    World,
    capture_nests,
    make_workload,
    profile_program,
)
from perfembed.capture.fills import dtype_of
from profilers.build import Built, CompilerConfig, compile_workloads
from profilers.contained.child import Limits
from profilers.harness import write_reference
from profilers.outcome import Timed
from profilers.workload import CapturedFill, ConstantFill
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import kernel_source, plain
from scheduler.frontend import SourceFile
from scheduler.ir.nest import LoopNest, Span
from scheduler.ir.text import parse_nest

GCC = CompilerConfig("gcc", ("-O2", "-ffp-contract=off"))
LIMITS = Limits(wall_s=20.0, memory_bytes=4 << 30)
HEADER = 16 + 16  # of a reference file


def marked(path: Path, text: str | bytes, *nests: str) -> SourceFile:
    """A file whose nests stand between /*<*/ and /*>*/, with the IR given as text, in order."""
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(content)
    begins = [m.end() for m in re.finditer(rb"/\*<\*/", content)]
    ends = [m.start() for m in re.finditer(rb"/\*>\*/", content)]
    spans = (Span(str(path), begin, end, 1, 1) for begin, end in zip(begins, ends, strict=True))
    parsed = (parse_nest(nest) for nest in nests)
    found = tuple(replace(nest, span=span) for nest, span in zip(parsed, spans, strict=True))
    return SourceFile(str(path), content, found, (), (), True, ())


def profiled(
    source: SourceFile,
    workdir: Path,
    *arguments: str,
    compiler: CompilerConfig = GCC,
    limits: Limits = LIMITS,
    stdin: Path | None = None,
) -> ProgramProfile | ProgramFailed:
    folder = Path(source.path).absolute().parent
    build = one_file(source.path, source.content, compiler, folder)
    world = World(folder, arguments, stdin=stdin, limits=limits, writable=(folder,))
    return profile_program((source,), build, world, workdir)


def good_profile(source: SourceFile, workdir: Path, *arguments: str, compiler: CompilerConfig = GCC) -> ProgramProfile:
    profile = profiled(source, workdir, *arguments, compiler=compiler)
    assert isinstance(profile, ProgramProfile), profile
    return profile


def captured(
    source: SourceFile, workdir: Path, *arguments: str, cap: int = 1 << 30
) -> list[CapturedNest | CaptureFailed]:
    """Every nest of the file, with its outputs."""
    profile = good_profile(source, workdir, *arguments)
    return list(capture_nests((source,), source.nests, profile, workdir, cap_bytes=cap, after=True).values())


def good(capture: CapturedNest | CaptureFailed) -> CapturedNest:
    assert isinstance(capture, CapturedNest), capture
    return capture


def contents(capture: CapturedNest, name: str, after: bool = False) -> np.ndarray[Any, np.dtype[Any]]:
    """The captured elements of an array, in its shape; zeros where nothing needed them."""
    array = capture.array(name)
    fill = dict(capture.outputs)[name] if after else array.fill
    if isinstance(fill, ConstantFill):
        return np.full(array.shape, fill.value, dtype_of(array.ctype))
    assert isinstance(fill, CapturedFill)
    with open(fill.path, "rb") as file:
        file.seek(fill.offset)
        return np.fromfile(file, dtype_of(array.ctype), array.count).reshape(array.shape)


def replay(nest: LoopNest, capture: CapturedNest, workdir: Path, compiler: CompilerConfig = GCC) -> dict[str, bytes]:
    """Runs the nest alone on its captured inputs: the bytes of what it wrote."""
    source, specs = kernel_source(plain(nest), emit_original(plain(nest)), capture.parameters)
    workload = make_workload(nest, source, specs, capture, "captured", 1)
    assert not isinstance(workload, CaptureFailed), workload
    built = compile_workloads((workload,), compiler, workdir / "build", 1)[0]
    assert isinstance(built, Built), built
    written = write_reference(built, workdir / "reference")
    assert isinstance(written, Timed), written
    data, at, outputs = (workdir / "reference").read_bytes(), HEADER, {}
    for argument in workload.arguments:
        if argument.written:
            outputs[argument.name] = data[at : at + argument.bytes]
            at += argument.bytes
    assert at == len(data)
    return outputs


def assert_replays(nest: LoopNest, capture: CapturedNest, workdir: Path, compiler: CompilerConfig = GCC) -> None:
    """The nest alone computes what it computed in the program, bit for bit, and changes something."""
    outputs = replay(nest, capture, workdir, compiler)
    assert outputs
    for name, data in outputs.items():
        after = contents(capture, name, after=True)
        if isinstance(
            capture.array(name).fill, ConstantFill
        ):  # elements that the nest leaves alone are not the program's
            found = np.frombuffer(data, after.dtype).reshape(after.shape)
            after = np.where(found != 0, after, found)
        assert data == after.tobytes(), name
    assert any(data != contents(capture, name).tobytes() for name, data in outputs.items())
