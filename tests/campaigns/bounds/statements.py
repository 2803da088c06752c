"""What random loops do: stores, sums, conditions, and subscripts of typed numbers."""

from __future__ import annotations

from collections.abc import Callable

from tests.campaigns.bounds.numbers import Numbers


class Statements(Numbers):
    """The insides of the loops of one function."""

    def condition(self) -> str:
        rng, n, o = self.rng, self.of["n"], self.of["o"]
        relation = rng.choice(("<", "<=", ">", ">=", "!=", "=="))
        forms: list[str | Callable[[], str]] = [lambda: f"{self.small()} {relation} {self.small()}"] * 3
        if self.loops:
            i = rng.choice(self.loops)
            forms += [
                f"{i.name} - {o} < {n}",
                f"{i.name} >= ({self.ctype()})first[{i.near}]",
                f"({self.ctype()})({i.name} - {o}) < {n}",
                f"{i.name} % 2",
                f"{i.name} - {o}",
            ]
        return self.one(*forms)

    def at(self) -> str:
        """A subscript, of which some are always inside."""
        i = self.rng.choice(self.loops)
        o, other = self.of["o"], self.rng.choice(self.loops)
        return self.one(
            *(i.near, i.near, i.near, f"{i.near} + 1", f"{i.name} - {o}", f"(unsigned)({i.name} + {other.near})"),
            *(f"{i.near} + {other.near}", f"(unsigned char)({i.name} - {o})", f"({i.name} + {o}) & 31"),
            lambda: f"(unsigned char)({self.small()})",
            lambda: f"({self.ctype()})({i.name} - {o})",
            lambda: f"({self.small()}) & 63",
            lambda: self.rng.choice((*self.locals, i.near)),
            f"first[{i.near}]",
            f"(size_t)({i.near}) * 7 + {other.near}",
            f"({i.name} - {o}) % 16",
        )

    def element(self) -> str:
        array = self.rng.choice(("U", "U", "L", "S", "H", "D", "C", "p", "q", "M", "M", "F", "F", "v"))
        if array == "M":
            inner = self.loops[-1].near
            return f"M[{self.at()}][{self.rng.choice((inner, inner, self.at()))}]"
        if array == "v":
            return f"v[{self.at()}][{self.loops[-1].near}]"
        if array == "F":
            outer, inner, long = self.rng.choice(self.loops).near, self.loops[-1].near, self.of[self.rng.choice("nmmo")]
            cast = self.rng.choice(("", "", "(size_t)", f"({self.ctype()})"))
            return f"F[{cast}{outer} * {long} + {self.rng.choice((inner, inner, self.at()))}]"
        return f"{array}[{self.at()}]"

    def statement(self) -> str:
        rng, element = self.rng, self.element()
        i = rng.choice(self.loops)
        value = self.one(
            *(
                i.near,
                f"{i.near} + 1",
                "1",
                "3",
                f"(unsigned)({i.name}) * 3u",
                f"(unsigned)({i.name} - {self.of['o']})",
            ),
            lambda: f"(unsigned)({self.small()})",
            lambda: f"{self.one('U', 'S', 'C')}[{self.at()}]",
            lambda: f"M[{self.at()}][{self.at()}]",
        )
        match element[0]:
            case "H":
                return f"{element} {rng.choice(('*=', '*=', '+=', '-='))} ({value}) & 127;"
            case "D":
                return f"{element} += (double)(({value}) & 15);"
            case "L" | "q":
                return f"{element} {rng.choice(('+=', '=', '^='))} ({value}) & 255;"
        if rng.random() < 0.2:
            least = rng.choice(("<", ">"))
            return self.one(
                *(f"sum += {element};", f"total += (unsigned long)({value});", f"sum ^= ({value});"),
                *(f"own += ({value}) & 7;", f"own -= {i.near};", f"own *= ({value}) & 3;"),
                *(f"if ({value} {least} best) best = {value};", f"best = {value};", f"sum += {i.name} {least} best;"),
            )
        return f"{element} {rng.choice(('+=', '+=', '+=', '=', '^='))} {value};"
