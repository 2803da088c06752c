"""Random C functions in many styles, in bounds and ending, for comparing before and after."""

from __future__ import annotations

import random

from tests.scheduler.frontend.programs import HEAD

_HELPERS = """
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static double h1(double x) { return x > 0 ? x : -x; }
static double h2(double x, int k) { double y = x * k; if (y > 2) return y - 1; y += 0.5; return y; }
static int h3(int v) { if (v < 3) return 1; return v & 7; }
"""
_SIZES = ((12, 10), (7, 12), (1, 1), (2, 3))


def random_program(seed: int, functions: int) -> str:
    """A program that prints hashes after every call."""
    choose = random.Random(seed)
    texts = [HEAD, _HELPERS]
    calls = []
    for number in range(functions):
        writer = _Writer(choose)
        loops = "".join(writer.loop(0) for _ in range(choose.randrange(1, 4)))
        head = f"double f{number}(int n, int m, double *A, double *B, float *F, int *I)"
        texts.append(f"{head}\n{{\ndouble g = 1;\n{loops}return g;\n}}\n")
        for n, m in _SIZES:
            calls.append(f"fill(); r = f{number}({n}, {m}, D, D + 2048, F, I);")
            hashes = "H(D, sizeof D), H(F, sizeof F), H(I, sizeof I)"
            calls.append(f'printf("{number} %.17g %llx %llx %llx\\n", r, {hashes});')
    return "".join(texts) + "int main(void)\n{\ndouble r;\n" + "\n".join(calls) + "\nreturn 0;\n}\n"


class _Writer:
    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.iterators: list[tuple[str, bool]] = []  # name, signed
        self.scalars = ["g"]
        self.integers: list[str] = []
        self.number = 0

    def name(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def integer(self, depth: int = 0) -> str:
        c, choice = self.choose.randrange(10), self.choose.choice
        if depth > 2 or c < 3:
            return str(self.choose.randrange(0, 6))
        if c < 7 and self.iterators:
            return choice(self.iterators)[0]
        if c == 7:
            return choice("nm")
        if c == 8 and self.integers:
            return choice(self.integers)
        left = f"({self.integer(depth + 1)})"
        return {
            "/": f"({left} / {self.choose.randrange(1, 5)})",
            "%": f"({left} % {self.choose.randrange(1, 5)})",
            "*": f"({left} * {self.choose.randrange(0, 4)})",
            "&": f"({left} & {choice((1, 3, 7))})",
            ">>": f"({left} >> {self.choose.randrange(3)})",
            "+": f"({left} + {self.integer(depth + 1)})",
            "-": f"({left} - {self.integer(depth + 1)})",
        }[choice(("+", "+", "-", "*", "/", "%", "&", ">>"))]

    def subscript(self) -> str:
        if self.iterators and self.choose.random() < 0.55:
            i, j = (self.choose.choice(self.iterators)[0] for _ in "ij")
            linear = f"{i} * {self.choose.choice(('m', '32', '(m + 2)'))} + {j}"
            return f"({linear} + {self.choose.randrange(3)}) & 1023" if self.choose.random() < 0.3 else f"64 + {linear}"
        if self.iterators and self.choose.random() < 0.5:
            return f"80 + {self.choose.choice(self.iterators)[0]}"
        return f"64 + (({self.integer()}) & 255)"

    def element(self) -> str:
        return f"{self.choose.choice('ABF')}[{self.subscript()}]"

    def value(self, depth: int = 0) -> str:
        c = self.choose.randrange(12)
        if depth > 2 or c < 2:
            return self.choose.choice(("1", "2.5", "0.25f", "3", "n"))
        deeper = depth + 1
        if c == 6:
            return self.choose.choice(self.scalars)
        if c == 7:
            return f"({self.integer()})"
        if c == 8:
            return f"({self.condition()} ? {self.value(deeper)} : {self.value(deeper)})"
        if c == 9:
            one = f"{self.choose.choice(('h1', 'fabs'))}({self.value(deeper)})"
            return one if self.choose.random() < 0.6 else f"h2({self.value(deeper)}, {self.integer()})"
        if c == 10:
            return f"(float)({self.value(deeper)})"
        if c == 11:
            return f"({self.value(deeper)} {self.choose.choice('+-*')} {self.value(deeper)})"
        return self.element()

    def condition(self) -> str:
        chance = self.choose.random()
        if chance < 0.3:
            return f"{self.element()} {self.choose.choice(('<', '>', '<='))} {self.value(2)}"
        if chance < 0.4:
            return f"({self.integer(1)}) % {self.choose.randrange(2, 4)} {self.choose.choice(('==', '!='))} 1"
        test = f"{self.integer(1)} {self.choose.choice(('<', '<=', '>', '>=', '==', '!='))} {self.integer(1)}"
        if chance < 0.5:
            return f"!({test})"
        return f"({test}) {self.choose.choice(('&&', '||'))} {self.integer(1)} > 2" if chance < 0.6 else test

    def loop(self, depth: int) -> str:
        kind = self.choose.choice(("int", "int", "int", "long", "size_t", "unsigned", "short"))
        unsigned = kind in ("size_t", "unsigned")
        i, low = self.name("i"), self.choose.choice("012")
        high = self.choose.choice(("n", "m", "9", "n - 1", "MIN(n, m)", "n / 2"))
        if self.iterators and not unsigned and self.choose.random() < 0.4:
            outer, signed = self.choose.choice(self.iterators)
            if signed:
                low = self.choose.choice((outer, f"{outer} + 1", f"MAX(0, {outer} - 2)"))
            else:
                high = f"{outer} + 3"
        heads = [
            f"{kind} {i} = {low}; {i} < {high}; {i}++",
            f"{kind} {i} = {low}; {i} <= {high}; ++{i}",
            f"{kind} {i} = {low}; {i} < {high}; {i} += {self.choose.randrange(1, 4)}",
            f"{kind} {i} = {low}; {high} > {i}; {i} = {i} + 2",
            f"{kind} {i} = {high}; {i}-- > 0;",
            f"{kind} {i} = {low}; {i} < {high} && {i} < 11; {i}++",
            f"{kind} {i} = 0; {i} != {self.choose.choice('nm7')}; {i}++",
        ]
        if not unsigned:
            heads += [f"{kind} {i} = {high}; {i} >= {low}; {i}--", f"{kind} {i} = {high} - 1; {i} > {low}; {i} -= 2"]
        self.iterators.append((i, kind == "int"))
        body = self.block(depth + 1)
        self.iterators.pop()
        return f"for ({self.choose.choice(heads)}) {body}\n"

    def block(self, depth: int) -> str:
        scalars, integers = len(self.scalars), len(self.integers)
        body = "".join(self.statement(depth) for _ in range(self.choose.randrange(1, 4)))
        del self.scalars[scalars:], self.integers[integers:]
        return "{\n" + body + "}"

    def statement(self, depth: int) -> str:
        c = self.choose.randrange(16)
        if c < 3 and depth < 3:
            return self.loop(depth)
        if c == 3:
            text = self.value()
            self.scalars.append(self.name("t"))
            return f"{self.choose.choice(('double', 'float'))} {self.scalars[-1]} = {text};\n"
        if c == 4:
            text = self.choose.choice((f"({self.integer()}) & 127", f"MAX(0, {self.integer()}) % 50"))
            self.integers.append(self.name("k"))
            return f"int {self.integers[-1]} = {text};\n"
        if c in (5, 6):
            orelse = f" else {self.block(depth)}" if self.choose.random() < 0.4 else ""
            return f"if ({self.condition()}) {self.block(depth)}{orelse}\n"
        if c == 7:
            return f"{self.choose.choice(self.scalars)} {self.choose.choice(('=', '+=', '*='))} {self.value()};\n"
        if c == 8 and self.choose.random() < 0.3:
            return f"if ({self.condition()}) continue;\n{self.element()} = 1;\n"
        if c == 9:
            op = self.choose.choice(("=", "+=", "^=", "-="))
            return f"I[{self.subscript()}] {op} {self.integer()} + h3({self.integer()});\n"
        return f"{self.element()} {self.choose.choice(('=', '=', '+=', '-=', '*='))} {self.value()};\n"
