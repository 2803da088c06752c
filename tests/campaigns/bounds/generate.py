"""Random functions whose loops count in all integer types, between values of all types, with all ways to end."""

from __future__ import annotations

import random

from tests.campaigns.bounds.numbers import Loop, is_unsigned
from tests.campaigns.bounds.statements import Statements
from tests.campaigns.bounds.unit import TEXTS, Block, Node, Place, Unit

_NAMES = ("n", "m", "o", "b", "s", "d")  # of the values: sizes, an offset, a base, a step, a shift
_KINDS = (*("parameter",) * 6, "global", "global", "member", "member", "pointer", "pointer", "element", "behind")


_FORMS = {
    "up": 7,
    "up to": 2,
    "turned": 1.5,
    "unequal": 1,
    "two limits": 1,
    "ahead": 1,
    "two ways": 1,
    "down to": 3,
    "down above": 2,
    "down unequal": 2,
    "wraps": 3,
    "down before": 1.5,
    "while down": 1,
    "while ahead": 1,
    "while up": 1,
    "do": 0.7,
}  # how often loops begin, go on and end so


def unit(seed: str, number: int) -> Unit:
    """The random function `f{number}` of a seed."""
    return _Writer(random.Random(seed), number).unit()


class _Writer(Statements):
    def unit(self) -> Unit:
        rng, k = self.rng, self.number
        places = self.places
        for value, name in enumerate(_NAMES):
            kind = rng.choice(_KINDS)
            text = TEXTS[kind].format(name=name, k=k, value=value)
            self.of[name] = text
            places.append(Place(text, self.ctype(), value, kind))
        body: list[Node] = []
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            body.append(self.local())
        for _ in range(rng.choice((1, 1, 1, 2))):
            body += self.nest(rng.choice((1, 2, 2, 2, 3)))
        sums = [
            "unsigned sum = 0;",
            "unsigned long total = 0;",
            f"{self.ctype()} own = 1;",
            f"{self.ctype()} best = 9;",
        ]
        ends = [f"keep({name});" for name in (*self.kept, "sum", "total", "own", "best")]
        row = rng.choice([*(p.name for p in places if p.kind != "behind" and p.name[0] in "nm"), "8"])
        return Unit(k, tuple(places), tuple(self.helpers), (*sums, *self.declared, *body, *ends), row)

    # -------------------------------------------------------------------------------------- loops

    def nest(self, depth: int) -> list[Node]:
        rng = self.rng
        before = len(self.locals)
        wrapped = self.rows() if depth > 1 and rng.random() < 0.1 else self.loop(depth)
        del self.locals[before:]
        return wrapped if rng.random() < 0.9 else [Block(f"if ({self.condition()})", tuple(wrapped))]

    def bounds(self) -> tuple[str, str, str]:
        """Where a loop begins and ends (exclusive), and what makes its iterator small (a format)."""
        rng, n, b = self.rng, self.of["n"], self.of["b"]
        kind = rng.random()
        if self.loops and kind < 0.1:  # a block of the loop around
            outer, size = self.loops[-1].name, rng.choice((self.of["s"], "4", "3", "8u", "(size_t)4"))
            return outer, rng.choice((f"{outer} + {size}", f"({outer} + {size} < {n} ? {outer} + {size} : {n})")), "{}"
        if kind < 0.35:
            return "0", rng.choice((n, self.of["m"])), "{}"
        if kind < 0.55:
            start = rng.choice((b, b, f"{b} + 1", f"{b} - {self.of['o']}"))
            return start, rng.choice((f"{b} + {n}", f"{b} + {n}", f"{b} + {self.small()}")), f"({{}} - {b})"
        start = self.small() if kind < 0.9 else "0"
        end = rng.choice((n, n, self.of["m"], self.small(), f"{n} * {self.of['m']}"))
        return start, end, "{}"

    def loop(self, depth: int) -> list[Node]:
        rng = self.rng
        name = "ijkl"[len(self.loops)] + (str(len(self.kept)) if self.kept else "")
        kind = self.ctype()
        start, end, near = self.bounds()
        outside = rng.random() < 0.4
        if rng.random() < 0.08 and not self.loops:
            outside, name = True, f"w{self.number}_{len(self.places)}"
            self.places.append(Place(name, kind, rng.choice((0, 2, 3)), rng.choice(("global", "parameter"))))
            self.kept.append(name)
        held = len(self.locals)
        head, first, tail, before = self.header(name, kind, start, end, outside)
        if name.startswith("w") and rng.random() < 0.5:
            before = ()  # it counts from where it is
        if (outside or before) and name not in self.kept:
            self.declared.append(f"{kind} {name} = 0;")
            self.kept.append(name)
        if rng.random() < 0.12:
            inside = [] if outside else self.locals[held:]  # what the head declares is not there before the loop
            del self.locals[len(self.locals) - len(inside) :]
            before = (*before, self.counter())
            self.locals[held:held] = inside
            first = (self.advance(), *first)
        self.loops.append(Loop(name, kind, near.format(name)))
        body: list[Node] = [self.local()] if rng.random() < 0.3 else []
        own = len(body)
        if depth > 1:
            if rng.random() < 0.2:
                body.append(self.statement())
            body += self.loop(depth - 1)
            if rng.random() < 0.2:
                body.append(self.statement())
        else:
            body += [self.statement() for _ in range(rng.choice((1, 1, 2)))]
        if rng.random() < 0.2:
            body = [*body[:own], Block(f"if ({self.condition()})", tuple(body[own:]))]
        del self.locals[held:]
        self.loops.pop()
        return [*before, Block(head, (*body, *first), tail)]

    def counter(self) -> str:
        """A second variable that counts with the loop, read behind it."""
        self.fresh += 1
        name = f"c{self.fresh}"
        self.declared.append(f"{self.ctype()} {name} = 0;")
        self.kept.append(name)
        self.locals.append(name)
        return f"{name} = {self.one('0', self.atom, self.of['n'], self.of['b'])};"

    def advance(self) -> str:
        name = self.locals[-1]
        return self.one(f"{name}++;", f"{name} += 2;", f"{name}--;", f"{name} -= 3;", f"{name} += {self.of['s']};")

    def rows(self) -> list[Node]:
        """A loop that calls a function with a loop, whose parameters have other types."""
        rng, kind = self.rng, self.ctype()
        name, types = f"r{self.number}_{len(self.helpers)}", [self.ctype() for _ in range(2)]
        element = rng.choice(("U[e - x]", "M[(unsigned char)x & 31][e - x]", "U[(unsigned char)e]", "L[e & 63]"))
        test = rng.choice(("e < y", "e < y", "e <= y", "e != y"))
        self.helpers.append(
            f"void {name}({types[0]} x, {types[1]} y) {{ for ({kind} e = x; {test}; e++) {element} += 1; }}"
        )
        start, end, near = self.bounds()
        counter, held = self.ctype(), len(self.locals)
        head, first, tail, before = self.header("i", counter, start, end, False)
        if before:
            del self.locals[held:]
            return self.loop(2)
        self.loops.append(Loop("i", counter, near.format("i")))
        low, high = self.small(), self.one(self.small, self.of["n"], self.of["m"])
        if "i" not in (low + high).split():
            low = f"i - {self.of['o']}"
        call = f"{name}({low}, {high});"
        self.loops.pop()
        return [Block(head, (call, *first), tail)]

    def header(
        self, i: str, kind: str, start: str, end: str, outside: bool
    ) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
        """The loop's head, what ends its body, what stands behind it, and what sets the iterator in front."""
        rng = self.rng
        d = "" if outside else f"{kind} "
        s = self.of["s"]
        typed = rng.choice(("1u", "2l", "(size_t)3", "(unsigned char)1"))
        up = (f"{i}++", f"{i}++", f"{i}++", f"++{i}", f"{i} += 2", f"{i} += 3", f"{i} = {i} + 1", f"{i} += {s}")
        step = rng.choice((*up, f"{i} += {typed}"))
        down = rng.choice((f"{i}--", f"{i}--", f"--{i}", f"{i} -= 2", f"{i} -= 1", f"{i} += -1", f"{i} -= {s}"))
        last = rng.choice((f"{end} - 1", f"({end}) - 1", end))
        wraps = is_unsigned(kind)
        form = rng.choices(list(_FORMS), list(_FORMS.values()))[0]
        if form == "down to" and wraps and start == "0":
            form = "wraps"
        if form == "wraps" and not wraps:
            form = "down above"
        match form:
            case "up":
                return f"for ({d}{i} = {start}; {i} < {end}; {step})", (), "", ()
            case "up to":
                return f"for ({d}{i} = {start}; {i} <= {end}; {step})", (), "", ()
            case "turned":
                return f"for ({d}{i} = {start}; {end} {rng.choice(('>', '>', '>='))} {i}; {step})", (), "", ()
            case "unequal":
                return f"for ({d}{i} = {start}; {i} != {end}; {rng.choice((step, f'{i}++'))})", (), "", ()
            case "two limits":
                other = rng.choice((f"{i} < {self.of['m']}", f"{i} <= {self.atom()}", f"{i} - {self.of['o']} < 40"))
                return f"for ({d}{i} = {start}; {i} < {end} && {other}; {step})", (), "", ()
            case "ahead":
                return f"for ({d}{i} = {start}; {i} + {rng.choice(('1', '2', '-1', '-2'))} < {end}; {step})", (), "", ()
            case "two ways":
                e = f"e{i}"
                self.locals.append(e)
                if outside:
                    self.declared.append(f"{kind} {e} = 0;")
                    self.kept.append(e)
                test = rng.choice((f"{i} < {end}", f"{i} < {e}", f"{i} <= {e}"))
                return (
                    f"for ({d}{i} = {start}, {e} = {end}; {test}; {i}++, {e}{rng.choice(('--', '++', ' += 2'))})",
                    (),
                    "",
                    (),
                )
            case "down to":
                return f"for ({d}{i} = {last}; {i} >= {start}; {down})", (), "", ()
            case "down above":
                return f"for ({d}{i} = {last}; {i} > {start}; {down})", (), "", ()
            case "down unequal":
                stop = rng.choice((f"({kind})-1", "-1", "(size_t)-1", start))
                return f"for ({d}{i} = {last}; {i} != {stop}; {i}--)", (), "", ()
            case "wraps":
                stop = rng.choice((f"< {end}", f"< {self.of['n']}", f"<= {end}", f"!= ({kind})-1"))
                return f"for ({d}{i} = {last}; {i} {stop}; {rng.choice((f'{i}--', down))})", (), "", ()
            case "down before":
                return f"for ({d}{i} = {end}; {i}-- > {rng.choice((start, '0'))};)", (), "", ()
            case "while down":
                test = rng.choice((f"{i}--", f"{i}-- > 0", f"--{i} > 0", f"--{i} >= 0", f"{i}-- != {start}"))
                return f"while ({test})", (), "", (f"{i} = {end};",)
            case "while ahead":
                return f"while (++{i} {rng.choice(('<', '<', '<=', '!='))} {end})", (), "", (f"{i} = {start};",)
            case "while up":
                test = rng.choice((f"{i} < {end}", f"{i} != {end}", f"{i} <= {end}"))
                return f"while ({test})", (f"{i}++;",), "", (f"{i} = {start};",)
            case _:
                return "do", (f"{i}++;",), f" while ({i} < {end});", (f"{i} = {start};",)
