"""Compiles C snippets and runs them on NumPy arrays: what the interpreter is compared with."""

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scheduler.ir.text import parse_nest
from tests.doubles.interpret import interpret


def compile_c(folder: Path, functions: Sequence[str]) -> ctypes.CDLL:
    source = folder / "snippets.c"
    library = folder / "snippets.so"
    source.write_text("#include <math.h>\n#include <stdlib.h>\n" + "\n".join(functions))
    command = ["gcc", "-O0", "-ffp-contract=off", "-fno-builtin", "-shared", "-fPIC", "-w", "-o"]
    subprocess.run([*command, str(library), str(source), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def call(library: ctypes.CDLL, name: str, arrays: dict[str, np.ndarray], *integers: int) -> dict[str, np.ndarray]:
    """Runs `void name(T *first, …, int …)` on copies of the arrays."""
    copies = {key: np.array(value, order="C", copy=True) for key, value in arrays.items()}
    getattr(library, name)(*(ctypes.c_void_p(a.ctypes.data) for a in copies.values()), *map(ctypes.c_int, integers))
    return copies


def same(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> bool:
    """Bit for bit, except that all NaNs are equal."""
    return all(
        left[k].dtype == right[k].dtype
        and np.array_equal(left[k], right[k], equal_nan=left[k].dtype.kind == "f")
        and np.array_equal(np.signbit(left[k]), np.signbit(right[k]))
        | (left[k].dtype.kind != "f")
        | bool(np.isnan(left[k]).any())
        for k in left
    )


def elementwise(result: str, operands: dict[str, str], action: str) -> str:
    """A nest that runs `action` for every i; arrays r (of type `result`) and the operands."""
    arrays = "".join(f"array {name}: {ctype}[n];" for name, ctype in {"r": result, **operands}.items())
    return f"nest snippet {{ param n: int; {arrays} for i: int in [0, n) step 1 {{ S0: {action} }} }}"


def elementwise_c(name: str, result: str, operands: dict[str, str], action: str) -> str:
    arrays = ", ".join(f"{ctype} *{key}" for key, ctype in {"r": result, **operands}.items())
    return f"void {name}({arrays}, int n) {{ for (int i = 0; i < n; i++) {{ {action} }} }}"


def run_elementwise(
    result: str, operands: dict[str, str], action: str, arrays: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    return interpret(parse_nest(elementwise(result, operands, action)), {"n": len(arrays["r"])}, arrays)
