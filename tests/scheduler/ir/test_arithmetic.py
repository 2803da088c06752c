"""Every operator on every pair of types against gcc -O0."""

import ctypes
from itertools import product

import numpy as np
import pytest

from scheduler.ir.arithmetic import InterpreterError, literal_value
from scheduler.ir.types import FUNCTIONS, binary_type, common_type, known_type, unary_type
from tests.doubles.arithmetic import numpy_type
from tests.scheduler.ir.c_snippets import call, compile_c, elementwise_c, run_elementwise, same

TYPES = ("_Bool", "char", "unsigned short", "int", "unsigned int", "long", "unsigned long", "float", "double",
         "long double")  # fmt: skip
ARITHMETIC = ("+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!=", "&&", "||")
INTEGER_ONLY = ("%", "&", "|", "^", "<<", ">>")


def samples(ctype: str, nonzero: bool = False, small: bool = False) -> np.ndarray:
    """Twelve values, with the extremes of the type among them unless `small`."""
    scalar = known_type(ctype)
    dtype = numpy_type(ctype)
    if scalar.kind == "floating":
        values = [0.1, -2.5, 3.0, 1e30, -1e-30, 7.25, -0.0, 0.0, np.inf, np.nan, 1 / 3, 16777217.0]
        if small:
            values = [0.1, -2.5, 3.9, 100.0, 1e-30, 7.25, -0.0, 0.0, -0.99, 42.0, 1 / 3, 99.5]
        return np.array(values, dtype) if not nonzero else np.where(np.array(values) == 0, 2.0, values).astype(dtype)
    if scalar.kind == "bool":
        return np.array([1] * 12 if nonzero else [0, 1] * 6, dtype)
    high = (1 << (scalar.bits - scalar.signed)) - 1
    values = [1, 2, 3, 100, high, high - 1, high // 3, 7, 12, 5, 0, 0]
    if small:
        values = [1, 2, 3, 100, 77, 8, 16, 7, 12, 5, 0, 0]
    if scalar.signed:
        values[7:10] = [-7, -100, -1]
        values[3] = 100 if small else -high  # not the least value: its quotient by -1 traps
    return np.array([v or 3 if nonzero else v for v in values], dtype)


@pytest.mark.gcc
def test_binary_operators(tmp_path) -> None:
    cases = []
    for left, right in product(TYPES, TYPES):
        floating = known_type(common_type(left, right)).kind == "floating"
        for op in ARITHMETIC + (() if floating else INTEGER_ONLY):
            operands = {"a": left, "b": right}
            action = f"r[i] = a[i] {op} {'(b[i] & 7)' if op in ('<<', '>>') else 'b[i]'};"
            cases.append((binary_type(op, left, right), operands, action))
    library = compile_c(tmp_path, [elementwise_c(f"f{k}", *case) for k, case in enumerate(cases)])
    for k, (result, operands, action) in enumerate(cases):
        nonzero = "/" in action or "%" in action
        arrays = {
            "r": np.zeros(12, numpy_type(result)),
            "a": samples(operands["a"]),
            "b": np.roll(samples(operands["b"], nonzero and known_type(operands["b"]).kind != "floating"), 5),
        }
        assert same(run_elementwise(result, operands, action, arrays), call(library, f"f{k}", arrays, 12)), action


@pytest.mark.gcc
def test_casts_unary_operators_and_compound_assignments(tmp_path) -> None:
    cases = []
    for source, target in product(TYPES, TYPES):
        cases.append((target, {"a": source}, f"r[i] = ({target})a[i];"))
        cases.append((target, {"a": source}, "r[i] = a[i];"))
        for op in ("+=", "-=", "*=", "/="):
            cases.append((target, {"a": source}, f"r[i] = 30; r[i] {op} a[i] + 1;"))
        if "floating" not in (known_type(source).kind, known_type(target).kind):
            for op in ("%=", "&=", "|=", "^=", "<<=", ">>="):
                cases.append((target, {"a": source}, f"r[i] = 3; r[i] {op} (a[i] & 3) + 1;"))
    for ctype in TYPES:
        for op in ("-", "+", "!") + (("~",) if known_type(ctype).kind != "floating" else ()):
            cases.append((unary_type(op, ctype), {"a": ctype}, f"r[i] = {op}a[i];"))
    library = compile_c(tmp_path, [elementwise_c(f"f{k}", *case) for k, case in enumerate(cases)])
    for k, (result, operands, action) in enumerate(cases):
        small = known_type(operands["a"]).kind == "floating" and known_type(result).kind != "floating"
        small |= "/=" in action or "%=" in action
        values = np.abs(samples(operands["a"], small=True)) if small else samples(operands["a"])
        if small and "; " in action:
            values = np.minimum(values, 3).astype(values.dtype)
        arrays = {"r": np.zeros(12, numpy_type(result)), "a": values}
        if "; " in action:
            action = "{ " + action + " }"
        assert same(run_elementwise(result, operands, action, arrays), call(library, f"f{k}", arrays, 12)), (
            result, operands, action)  # fmt: skip


@pytest.mark.gcc
def test_library_functions(tmp_path) -> None:
    cases = []
    for name, (parameters, result) in FUNCTIONS.items():
        operands = dict(zip("abc", parameters, strict=False))
        cases.append((result, operands, f"r[i] = {name}({', '.join(f'{key}[i]' for key in operands)});"))
    library = compile_c(tmp_path, [elementwise_c(f"f{k}", *case) for k, case in enumerate(cases)])
    for k, (result, operands, action) in enumerate(cases):
        arrays = {"r": np.zeros(12, numpy_type(result))}
        arrays |= {key: np.roll(samples(t, small=True), 3 * n) for n, (key, t) in enumerate(operands.items())}
        assert same(run_elementwise(result, operands, action, arrays), call(library, f"f{k}", arrays, 12)), action


def test_large_integers_round_once_to_float() -> None:
    from scheduler.ir.arithmetic import converter

    rng = np.random.default_rng(1)
    values = [int(v) for v in rng.integers(0, 2**64, 500, dtype=np.uint64)] + [2**63 + 2**39, 2**63 + 2**39 + 1]
    for value in values:
        assert converter("float")(value) == float(np.uint64(value).astype(np.float32))
        assert converter("float")(-value // 2) == float(np.int64(-value // 2).astype(np.float32))


@pytest.mark.parametrize(
    ("text", "ctype", "value"),
    [
        ("12", "int", 12),
        ("0x1Fu", "unsigned int", 31),
        ("017", "int", 15),
        ("9000000000", "long", 9000000000),
        ("1e-9", "double", 1e-9),
        ("0.1f", "float", ctypes.c_float(0.1).value),
        ("0x1p-3", "double", 0.125),
        ("'a'", "int", 97),
        ("'\\n'", "int", 10),
        ("-1", "int", -1),
        ("-2.5", "double", -2.5),
        ("1000", "double", 1000.0),
        ("INFINITY", "float", float("inf")),
    ],
)
def test_literals(text: str, ctype: str, value: float) -> None:
    assert literal_value(text, ctype) == value


@pytest.mark.parametrize(
    ("types", "action", "a"),
    [
        (("int", "int"), "r[i] = 1 / a[i];", 0),
        (("int", "int"), "r[i] = 1 % a[i];", 0),
        (("int", "int"), "r[i] = 1 << a[i];", 32),
        (("int", "int"), "r[i] = 1 >> a[i];", -1),
        (("int", "double"), "r[i] = a[i];", np.nan),
        (("int", "double"), "r[i] = a[i];", 3e9),
        (("unsigned int", "double"), "r[i] = a[i];", -1.0),
    ],
)
def test_undefined_behaviour_is_an_error(types: tuple[str, str], action: str, a: float) -> None:
    arrays = {"r": np.zeros(1, numpy_type(types[0])), "a": np.array([a], numpy_type(types[1]))}
    with pytest.raises(InterpreterError):
        run_elementwise(types[0], {"a": types[1]}, action, arrays)
