"""Compiles emitted nests and compares what they compute, bit for bit."""

import ctypes
import hashlib
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from scheduler.codegen.emit.emit_c import emit
from scheduler.codegen.emit.original import emit_original
from scheduler.codegen.emit.workload import ArgumentSpec, kernel_source, plain
from scheduler.ir.nest import LoopNest, Storage
from scheduler.ir.text import parse_nest
from scheduler.polyhedral.model import Model
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule

FAST = ("-O3", "-march=native", "-fopenmp", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unknown-pragmas")
CHECKED = ("-O1", "-g", "-fopenmp", "-ffp-contract=off", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
RELAXED = tuple(f for f in FAST if f != "-Werror")
DTYPES = {
    "double": np.float64,
    "float": np.float32,
    "int": np.int32,
    "long": np.int64,
    "unsigned int": np.uint32,
    "unsigned long": np.uint64,
    "size_t": np.uint64,
}

GEMM = """nest gemm { param n: int; param m: int; param l: int;
array A: double[n][l]; array B: double[l][m]; array C: double[n][m];
for i: int in [0, n) step 1 { for j: int in [0, m) step 1 { for k: int in [0, l) step 1 {
S0: C[i][j] += A[i][k] * B[k][j]; } } } }"""


def scheduled(nest: LoopNest, schedule: str) -> tuple[ScheduledNest, Model]:
    """The legal schedule replayed; an assertion fails if it is not legal."""
    replayer = Replayer(plain(nest))
    steps = parse_schedule(schedule)
    result = replayer.replay(steps)
    assert isinstance(result, ScheduledNest), result
    return result, replayer.of(steps).model


def text_of(nest: LoopNest, schedule: str, **options: int) -> str:
    tree, model = scheduled(nest, schedule)
    return emit(tree, model, **options)  # type: ignore[arg-type]


def shapes(nest: LoopNest, parameters: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    return {a.name: tuple(max(1, e.evaluate(parameters)) if e is not None else 1 for e in a.shape) for a in nest.arrays}


def inputs(nest: LoopNest, parameters: Mapping[str, int], seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    data = {}
    for array in nest.arrays:
        shape, dtype = shapes(nest, parameters)[array.name], DTYPES[array.ctype]
        values = rng.standard_normal(shape) if np.dtype(dtype).kind == "f" else rng.integers(0, 9, shape)
        data[array.name] = np.ascontiguousarray(np.asarray(values).astype(dtype))
    return data


def build(folder: Path, name: str, source: str, flags: tuple[str, ...], cc: str = "gcc") -> Path:
    """A library; the same text with the same flags is compiled once in a folder."""
    name += f"-{_digest(source, cc, *flags)}"
    path, library = folder / f"{name}.c", folder / f"{name}.so"
    if library.exists():
        return library
    path.write_text(source)
    done = subprocess.run(
        [cc, "-std=gnu11", *flags, "-shared", "-fPIC", "-o", str(library), str(path), "-lm"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stderr}\n{source}"
    return library


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def run(
    library: Path, specs: tuple[ArgumentSpec, ...], parameters: Mapping[str, int], data: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Calls the kernel on copies of the data and returns all arrays afterwards."""
    kernel = ctypes.CDLL(str(library))
    kernel.pe_storage.restype = ctypes.c_void_p
    values: list[np.ndarray] = []
    arguments = (ctypes.c_void_p * max(1, len(specs)))()
    for index, spec in enumerate(specs):
        dtype = DTYPES[spec.ctype]
        value = np.array(parameters[spec.name], dtype) if spec.is_parameter else np.array(data[spec.name], order="C")
        values.append(value)
        own = kernel.pe_storage(index)
        if own:
            ctypes.memmove(own, value.ctypes.data, value.nbytes)
        arguments[index] = own or value.ctypes.data
    kernel.pe_kernel(arguments)
    result = {}
    for index, spec in enumerate(specs):
        if not spec.is_parameter:
            own = kernel.pe_storage(index)
            if own:
                ctypes.memmove(values[index].ctypes.data, own, values[index].nbytes)
            result[spec.name] = values[index]
    return result


MAIN = """
#include <stdio.h>
int main(int argc, char **argv)
{
    void *args[64];
    FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
    long count, sizes[64];
    if (fread(&count, sizeof count, 1, in) != 1) return 2;
    for (long i = 0; i < count; i++) {
        if (fread(&sizes[i], sizeof(long), 1, in) != 1) return 2;
        args[i] = pe_storage(i) ? pe_storage(i) : malloc(sizes[i]);
        if (sizes[i] && fread(args[i], sizes[i], 1, in) != 1) return 2;
    }
    pe_kernel(args);
    for (long i = 0; i < count; i++) {
        fwrite(args[i], 1, sizes[i], out);
        if (!pe_storage(i)) free(args[i]);
    }
    fclose(in); fclose(out);
    return 0;
}
"""


def run_checked(
    folder: Path,
    name: str,
    source: str,
    specs: tuple[ArgumentSpec, ...],
    parameters: Mapping[str, int],
    data: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The same under the address and undefined-behaviour sanitizers, in a process of its own."""
    name += f"-{_digest(source)}"
    path, program = folder / f"{name}_main.c", folder / f"{name}_main"
    if not program.exists():
        path.write_text("#include <stdlib.h>\n" + source + MAIN)
        done = subprocess.run(
            ["gcc", "-std=gnu11", *CHECKED, "-o", str(program), str(path), "-lm"],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{done.stderr}\n{source}"
    values = [
        np.array(parameters[s.name], DTYPES[s.ctype]) if s.is_parameter else np.array(data[s.name], order="C")
        for s in specs
    ]
    blob = np.int64(len(values)).tobytes() + b"".join(np.int64(v.nbytes).tobytes() + v.tobytes() for v in values)
    (folder / f"{name}.in").write_bytes(blob)
    done = subprocess.run(
        [str(program), str(folder / f"{name}.in"), str(folder / f"{name}.out")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stderr}\n{source}"
    output, position, result = (folder / f"{name}.out").read_bytes(), 0, {}
    for spec, value in zip(specs, values, strict=True):
        part = output[position : position + value.nbytes]
        position += value.nbytes
        if not spec.is_parameter:
            result[spec.name] = np.frombuffer(part, value.dtype).reshape(value.shape)
    return result


def check_same(
    folder: Path,
    nest: LoopNest | str,
    schedule: str,
    *sizes: Mapping[str, int],
    data: Callable[[Mapping[str, int]], Mapping[str, np.ndarray]] | None = None,
    sanitize: bool = True,
    cc: str = "gcc",
    expect: tuple[str, ...] = (),
    **options: int,
) -> str:
    """The scheduled nest computes what the original does, for every parameter set, on its `data` (None: random).

    Returns its text.
    """
    if isinstance(nest, str):
        nest = parse_nest(nest)
    result, model = scheduled(nest, schedule)
    text = emit(result, model, **options)  # type: ignore[arg-type]
    for part in expect:
        assert part in text, f"no {part!r} in\n{text}"
    base = plain(nest)
    # Arrays of pointers make one text for all sizes, which is compiled once.
    sizeless = with_storage(base, **{a.name: Storage.RESTRICT for a in base.arrays if a.storage is Storage.GLOBAL})
    for number, parameters in enumerate(sizes):
        given = dict(data(parameters)) if data is not None else inputs(base, parameters)
        before, specs = kernel_source(sizeless, emit_original(base), parameters)
        after, same_specs = kernel_source(sizeless if number else base, text, parameters)
        assert specs == same_specs
        reference = run(build(folder, "original", before, RELAXED), specs, parameters, given)
        outcomes = [run(build(folder, "scheduled", after, RELAXED if number else FAST, cc), specs, parameters, given)]
        if sanitize:
            after, _ = kernel_source(sizeless, text, parameters)
            outcomes.append(run_checked(folder, "checked", after, specs, parameters, given))
        for outcome in outcomes:
            for name, value in reference.items():
                assert value.tobytes() == outcome[name].tobytes(), f"{name} differs for {parameters}\n{text}"
    return text


def with_storage(nest: LoopNest, **storage: object) -> LoopNest:
    arrays = tuple(replace(a, storage=storage[a.name]) if a.name in storage else a for a in nest.arrays)
    return replace(nest, arrays=arrays)  # type: ignore[arg-type]
