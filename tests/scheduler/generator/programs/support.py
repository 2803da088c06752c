"""Running generated programs, and what their arrays hold before and after each nest."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

from scheduler.frontend.child import parse
from scheduler.frontend.model import Request, SourceFile
from scheduler.frontend.parsing import parser_arguments
from scheduler.generator.programs import GeneratedProgram
from scheduler.generator.programs.kernel import Kernel
from scheduler.generator.programs.values import Array
from scheduler.ir.nest import LoopNest, Storage

SANITIZED = ("-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
DTYPES = {"double": "f8", "float": "f4", "int": "i4", "unsigned char": "u1"}
Snapshot = dict[str, np.ndarray]


def compiled(text: str, folder: Path, *flags: str) -> Path:
    source = folder / "program.c"
    source.write_text(text)
    done = subprocess.run(
        ["gcc", *flags, str(source), "-o", str(folder / "program"), "-lm"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return folder / "program"


def sanitized(program: GeneratedProgram, folder: Path) -> tuple[str, float]:
    """The checksum and the sum that the small program prints, with every warning and check there is."""
    binary = compiled(program.source, folder, "-DSMALL", *SANITIZED)
    done = subprocess.run([str(binary)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    checksum, total = done.stdout.split()
    return checksum, float(total)


def small_nests(program: GeneratedProgram) -> list[LoopNest]:
    """As `read_back(program, small=True)`, in this process."""
    arguments = parser_arguments(("-DSMALL",), "gcc")
    found = parse(Request("/generated/p.c", program.source.encode(), arguments, 1 << 32, 10))
    assert isinstance(found, SourceFile), found
    assert not [r for r in found.rejections if r.function == program.function], found.rejections
    return [n for n in found.nests if n.function == program.function]


def snapshots(
    program: GeneratedProgram, kernel: Kernel, nests: list[LoopNest], folder: Path
) -> list[tuple[Snapshot, Snapshot]]:
    """All arrays and scalars before and after each nest, as gcc computes them."""
    arrays = [*kernel.scalars, *kernel.arrays]
    dumps = "".join(f"fwrite({_start(a)}, sizeof({a.ctype}), {_count(kernel, a)}, stdout); " for a in arrays)
    text = program.source.encode()
    for nest in sorted(nests, key=lambda n: -n.span.begin if n.span else 0):
        assert nest.span is not None
        inside = text[nest.span.begin : nest.span.end]
        text = text[: nest.span.begin] + b"dump(); " + inside + b" dump();" + text[nest.span.end :]
    whole = text.decode()
    whole = whole.replace("static void kernel(", f"static void dump(void) {{ {dumps} }}\nstatic void kernel(", 1)
    whole = whole.replace("static void dump(void)", _globals(program, kernel) + "static void dump(void)", 1)
    whole = re.sub(r"(    kernel\()", r"    remember();\n\1", whole, count=1)
    whole = re.sub(r'    printf\("%016llx.*\n', "    (void)h; (void)sum;\n", whole)
    binary = compiled(whole, folder, "-DSMALL", "-O1", "-ffp-contract=off", "-w")
    done = subprocess.run([str(binary)], capture_output=True, timeout=60, check=True)
    data, place, found = done.stdout, 0, []
    for _ in range(2 * len(nests)):
        values: Snapshot = {}
        for array in arrays:
            count, dtype = _count(kernel, array), np.dtype(DTYPES[array.ctype])
            values[array.name] = np.frombuffer(data, dtype, count, place).copy()
            place += count * dtype.itemsize
        found.append(values)
    assert place == len(data)
    return list(zip(found[::2], found[1::2], strict=True))


def _globals(program: GeneratedProgram, kernel: Kernel) -> str:
    """Pointers to the arrays, for the kernel's parameters hide their names."""
    names = [a.name for a in kernel.arrays]
    return (
        "".join(f"static const void *at_{n}; " for n in names)
        + f"static void remember(void) {{ {' '.join(f'at_{n} = {n};' for n in names)} }}\n"
    )


def _start(array: Array) -> str:
    return f"at_{array.name}" if array.shape else f"&{array.name}"


def _count(kernel: Kernel, array: Array) -> int:
    count = 1
    for extent in array.shape:
        count *= kernel.at(extent, large=False)
    return count


def parameters(kernel: Kernel, nest: LoopNest) -> dict[str, int]:
    sizes = {name.lower(): value for name, value in kernel.sizes[0].items()}
    return {p.name: sizes[p.name] for p in nest.parameters}


def inputs(nest: LoopNest, values: dict[str, int], before: Snapshot) -> Snapshot:
    """What the interpreter starts from: locals of the function start at 0, as generated programs have them."""
    found = {}
    for array in nest.arrays:
        if array.storage is Storage.PRIVATE:
            continue
        if array.name not in before:
            assert not array.shape and array.storage is Storage.LOCAL, array
            found[array.name] = np.zeros((), DTYPES[array.ctype])
            continue
        inner = [extent.evaluate(values) for extent in array.shape[1:] if extent is not None]
        found[array.name] = before[array.name].reshape((-1, *inner) if array.shape else ())
    return found
