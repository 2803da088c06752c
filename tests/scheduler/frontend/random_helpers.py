"""Random C programs whose loops call helper functions: with loops, arrays, effects, early returns and conversions."""

from __future__ import annotations

import random

from tests.scheduler.frontend.programs import HEAD

_GLOBALS = """
static double G = 0.5; static int K = 3; int E = 2; static double M[16][16]; static const double C[4] = {1, 2, 0.5, 3};
static double P1[512], P2[512]; static float P3[512]; static int P4[512];
static double near(double x) { return x > 1e3 || x < -1e3 || x != x ? 0.75 : x; }
"""
_INTEGERS = ("int", "long", "short", "signed char", "unsigned char", "unsigned", "size_t", "_Bool")
_FLOATS = ("float", "double")
_POINTERS = {"double": "D", "float": "F", "int": "I"}


class Helper:
    """`parameters`: (kind, type, name); kind is scalar, pointer or matrix."""

    def __init__(self, name: str, result: str, parameters: list[tuple[str, str, str]]) -> None:
        self.name = name
        self.result = result
        self.parameters = parameters


class Writer:
    """Writes helpers, then loops that call them."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.helpers: list[Helper] = []
        self.number = 0
        self.integers: list[str] = []
        self.floats: list[str] = []
        self.pointers: dict[str, list[str]] = {}
        self.matrices: list[str] = []

    def pick(self, *items: str) -> str:
        return self.choose.choice(items)

    def name(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number % 7}_{self.number}" if self.choose.random() < 0.5 else f"{prefix}_{self.number}"

    # -------------------------------------------------------------------------------- expressions

    def integer(self, depth: int = 0) -> str:
        chance = self.choose.random()
        if chance < 0.3 or depth > 2:
            return str(self.choose.randrange(7))
        if chance < 0.75 and self.integers:
            return self.choose.choice(self.integers)
        if chance < 0.8:
            return self.pick("K", "E")
        left, right = self.integer(depth + 1), self.integer(depth + 1)
        shapes = (f"({left} + {right})", f"(({left} & 15) * 3)", f"({left} & 7)", f"(I[({left}) & 63] & 31)")
        return self.pick(*shapes, f"(({left} & 63) - 1)")

    def index(self) -> str:
        """Below 64, inside what any pointer may be moved by."""
        if self.integers and self.choose.random() < 0.6:
            return f"({self.choose.choice(self.integers)} & 31) + {self.choose.randrange(4)}"
        return f"({self.integer()}) & 63"

    def element(self) -> str:
        kinds = [k for k in self.pointers if self.pointers[k]]
        if self.matrices and self.choose.random() < 0.3:
            return f"{self.choose.choice(self.matrices)}[({self.integer()}) & 15][({self.integer()}) & 15]"
        if kinds and self.choose.random() < 0.8:
            pointer = self.choose.choice(self.pointers[self.choose.choice(kinds)])
            return f"*({pointer} + ({self.index()}))" if self.choose.random() < 0.1 else f"{pointer}[{self.index()}]"
        return self.pick("G", f"D[{self.index()}]", f"M[({self.integer()}) & 15][3]", f"C[({self.integer()}) & 3]")

    def value(self, depth: int = 0) -> str:
        chance = self.choose.random()
        if depth > 2 or chance < 0.15:
            return self.pick("1.5", "0.25f", "2", "G")
        if chance < 0.35 and self.floats:
            return self.choose.choice(self.floats)
        if chance < 0.45:
            return f"(({self.integer()}) & 255)"
        if chance < 0.55:
            return f"({self.value(depth + 1)} {self.pick('+', '-', '*')} {self.value(depth + 1)})"
        if chance < 0.6:
            return f"({self.condition()} ? {self.value(depth + 1)} : {self.value(depth + 1)})"
        if chance < 0.7:
            return self.call(("float", "int"), depth) or "0.5"
        return self.bounded(self.element())

    def bounded(self, text: str) -> str:
        return f"near({text})"

    def condition(self) -> str:
        if self.choose.random() < 0.5:
            return f"{self.integer(1)} {self.pick('<', '>', '==', '!=')} {self.integer(1)}"
        return f"{self.value(2)} {self.pick('<', '>')} {self.value(2)}"

    def call(self, results: tuple[str, ...], depth: int = 0) -> str:
        """A call of a helper that gives what is asked for, or nothing."""
        kinds = {"float": _FLOATS, "int": _INTEGERS, "void": ("void",)}
        wanted = [h for h in self.helpers if any(h.result in kinds[r] for r in results)]
        if not wanted or depth > 2:
            return ""
        helper = self.choose.choice(wanted)
        given = [self.argument(kind, ctype, depth) for kind, ctype, _ in helper.parameters]
        text = f"{helper.name}({', '.join(given)})"
        return text if "void" in results else f"({text})"

    def argument(self, kind: str, ctype: str, depth: int) -> str:
        if kind == "matrix":
            return self.choose.choice([*self.matrices, "M"])
        if kind == "pointer":
            base = self.choose.choice([*self.pointers.get(ctype, []), _POINTERS[ctype], _POINTERS[ctype] + " + 128"])
            offset = self.integer(1)
            shapes = (
                base,
                f"{base} + ({offset} & 15)",
                f"&({base})[({offset}) & 15]",
                f"({base}) + 2 * ({offset} & 7)",
            )
            row = f"M[({offset}) & 7]"
            return self.pick(*shapes, row, f"&{row}[2]") if ctype == "double" else self.pick(*shapes)
        if ctype in _INTEGERS:
            return self.pick(self.integer(), f"({self.integer()}) + 300", f"({self.integer()}) * 70 - 200")
        return self.value(depth + 1)

    # --------------------------------------------------------------------------------- statements

    def loop(self, depth: int, inside: bool) -> str:
        i = self.name("i")
        limit = self.pick("5", "8", *(f"({k} & 15)" for k in self.integers[:2]))
        self.integers.append(i)
        body = self.block(depth + 1, inside)
        self.integers.remove(i)
        head = self.pick(
            f"int {i} = 0; {i} < {limit}; {i}++",
            f"int {i} = {limit}; {i} > 0; {i}--",
            f"int {i} = 1; {i} <= {limit}; {i} += 2",
        )
        return f"for ({head}) {body}"

    def block(self, depth: int, inside: bool) -> str:
        integers, floats = len(self.integers), len(self.floats)
        text = "".join(self.statement(depth, inside) for _ in range(self.choose.randrange(1, 4)))
        del self.integers[integers:], self.floats[floats:]
        return "{\n" + text + "}\n"

    def statement(self, depth: int, inside: bool) -> str:
        """`inside`: of a helper."""
        chance = self.choose.random()
        if chance < 0.12 and depth < 2:
            return self.loop(depth, inside)
        if chance < 0.3:
            text = self.call(("void", "float", "int"))
            if text:
                return text + ";\n"
        if chance < 0.38:
            text, ctype = self.value(), self.pick(*_FLOATS)
            self.floats.append(self.name("t"))
            return f"{ctype} {self.floats[-1]} = {text};\n"
        if chance < 0.45:
            text = self.call(("int",)) if self.choose.random() < 0.5 else ""
            text = f"({text or self.integer()}) & 127"
            self.integers.append(self.name("k"))
            return f"{self.pick('int', 'long')} {self.integers[-1]} = {text};\n"
        if chance < 0.55:
            orelse = f" else {self.block(depth, inside)}" if self.choose.random() < 0.4 else ""
            return f"if ({self.condition()}) {self.block(depth, inside)}{orelse}"
        if chance < 0.6 and inside:
            own = [p for p in self.own if p in self.integers or p in self.floats]
            if own:
                return f"{self.choose.choice(own)} {self.pick('=', '+=')} {self.pick('1', '2', self.integer())};\n"
        if chance < 0.68:
            return self.pick(
                f"G = {self.value()};\n", f"K = ({self.integer()}) & 7;\n", f"E = ({self.integer()}) & 3;\n"
            )
        if chance < 0.72 and inside and depth == 0 and self.result == "void":
            return f"if ({self.condition()}) return;\n"
        op = self.pick("=", "=", "+=", "-=")
        target = self.element()
        if target.startswith("C["):
            target = "G"
        if target.startswith(("I", "q")):  # of integers
            return f"{target} = {self.integer()};\n"
        return f"{target} {op} {self.value()};\n"

    def helper(self) -> str:
        name = self.name("h")
        self.result = self.pick("void", "void", *_FLOATS, self.pick(*_INTEGERS))
        parameters: list[tuple[str, str, str]] = []
        texts = []
        self.integers, self.floats, self.pointers, self.matrices = [], [], {}, []
        for _ in range(self.choose.randrange(1, 5)):
            kind = self.pick("scalar", "scalar", "pointer", "pointer", "matrix")
            if kind == "scalar":
                ctype, own = self.pick(*_INTEGERS, *_FLOATS, *_FLOATS), self.name("p")
                (self.floats if ctype in _FLOATS else self.integers).append(own)
                texts.append(f"{ctype} {own}")
            elif kind == "pointer":
                ctype = self.pick("double", "double", "float", "int")
                own = self.name("q" if ctype == "int" else "d")
                self.pointers.setdefault(ctype, []).append(own)
                texts.append(self.pick(f"{ctype} *{own}", f"{ctype} {own}[]", f"{ctype} *const {own}"))
            else:
                ctype, own = "double", self.name("m")
                self.matrices.append(own)
                texts.append(self.pick(f"double {own}[16][16]", f"double (*{own})[16]", f"double {own}[][16]"))
            parameters.append((kind, ctype, own))
        self.own = [own for kind, _, own in parameters if kind == "scalar"]
        body = ""
        if self.choose.random() < 0.3:
            own = self.name("w")
            body = f"double {own}[64];\nfor (int i = 0; i < 64; i++) {own}[i] = i * 0.25;\n"
            self.pointers.setdefault("double", []).append(own)
        for _ in range(self.choose.randrange(1, 5)):
            body += self.statement(0, True)
        if self.result != "void":
            value = self.value() if self.result in _FLOATS else f"({self.integer()}) * 37"
            if self.choose.random() < 0.3:
                body += f"if ({self.condition()}) return {value};\n"
            value = self.value() if self.result in _FLOATS else f"({self.integer()}) * 41"
            body += f"return {value};\n"
        self.helpers.append(Helper(name, self.result, parameters))
        static = self.pick("static ", "static inline ", "")
        return f"{static}{self.result} {name}({', '.join(texts)})\n{{\n{body}}}\n"

    def function(self, number: int) -> str:
        self.integers, self.floats = ["n", "m"], ["g"]
        self.pointers = {"double": ["A", "B"], "float": ["X"], "int": ["Q"]}
        self.matrices = []
        self.result, self.own = "", []
        loops = "".join(self.loop(0, False) for _ in range(self.choose.randrange(1, 3)))
        head = f"double f{number}(int n, int m, double *A, double *B, float *X, int *Q)"
        return f"{head}\n{{\ndouble g = 1;\n{loops}return g;\n}}\n"


def random_helpers(seed: int, functions: int) -> str:
    """A program that prints hashes after every call. No array has two names in a function without helpers."""
    writer = Writer(random.Random(f"helpers {seed}"))
    texts = [HEAD, _GLOBALS]
    calls = []
    for number in range(functions):
        texts += [writer.helper() for _ in range(writer.choose.randrange(1, 4))]
        texts.append(writer.function(number))
        for n, m in ((12, 10), (1, 1), (3, 20)):
            calls.append(f"fill(); K = 3; E = 2; G = 0.5; r = f{number}({n}, {m}, P1, P2, P3, P4);")
            hashes = " ^ ".join(f"H({a}, sizeof {a})" for a in ("D", "F", "I", "M", "P1", "P2", "P3", "P4"))
            calls.append(f'printf("{number} %.17g %.17g %d %d %llx\\n", r, G, K, E, {hashes});')
    return "".join(texts) + "int main(void)\n{\ndouble r;\n" + "\n".join(calls) + "\nreturn 0;\n}\n"
