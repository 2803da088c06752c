"""A random function with loops: what of it a reducer may take away, and its C text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

VALUES = 7
"""Numbers that a function is called with: two sizes, an offset, a base, a step, a shift and a seed of its data."""


@dataclass(frozen=True, slots=True)
class Block:
    """`head {` body `}tail`: a loop or a condition."""

    head: str
    body: tuple[Node, ...]
    tail: str = ""


Node = str | Block


@dataclass(frozen=True, slots=True)
class Place:
    """Where the C type `ctype` of value number `value` is kept: a parameter, a global or a member, of this text."""

    name: str
    ctype: str
    value: int
    kind: str  # of TEXTS


TEXTS = {
    "parameter": "{name}",
    "global": "{name}{k}",
    "member": "G{k}.{name}",
    "pointer": "g->{name}",
    "element": "Z{k}[{value}]",
    "behind": "z[{value}]",
}
"""Where a value may be, by kind, of function number `k`: `z` is a parameter that points to `Z{k}`."""


@dataclass(frozen=True, slots=True)
class Unit:
    """`f{number}`: its values, file-scope helpers and statements; `row`: the extent of the rows that `v` points to."""

    number: int
    places: tuple[Place, ...]
    helpers: tuple[str, ...]
    body: tuple[Node, ...]
    row: str = "8"

    def text(self) -> str:
        """All of its definitions, `run{number}` last, which calls it."""
        k, body = self.number, _lines(self.body, 1)
        rows = any(uses(line, "v") for line in body)
        inside = "\n".join((*self.helpers, *body, *([self.row] if rows else [])))
        kinds = {p.kind for p in self.places if uses(inside, p.name)}
        used = [p for p in self.places if uses(inside, p.name)]
        out: list[str] = []
        if members := [p for p in used if p.kind in ("member", "pointer")]:
            fields = " ".join(f"{p.ctype} {p.name.rpartition('.')[2].rpartition('>')[2]};" for p in members)
            out.append(f"struct s{k} {{ {fields} }};")
        if "member" in kinds or "pointer" in kinds:
            out.append(f"static struct s{k} G{k};")
        out += [f"static {p.ctype} {p.name};" for p in used if p.kind == "global"]
        table = next((p.ctype for p in used if p.kind in ("element", "behind")), "int")
        if kinds & {"element", "behind"}:
            out.append(f"static {table} Z{k}[8];")
        out += [f"static {helper}" for helper in self.helpers if uses("\n".join(body), _name(helper))]
        parameters = [(f"{p.ctype} {p.name}", f"({p.ctype})v[{p.value}]") for p in used if p.kind == "parameter"]
        if "pointer" in kinds:
            parameters.append((f"const struct s{k} *g", f"&G{k}"))
        if "behind" in kinds:
            parameters.append((f"{'' if k % 2 else 'const '}{table} *z", f"Z{k}"))
        if rows:
            parameters.append((f"unsigned (*v)[{self.row}]", "(void *)PV"))
        parameters += [(f"{t} *{p}", a) for p, t, a in POINTERS if uses(inside, p)]
        head = ", ".join(p for p, _ in parameters) or "void"
        out += [f"static __attribute__((noinline)) void f{k}({head})", "{", *body, "}"]
        out += [f"static void run{k}(const long long *v)", "{", "    (void)v;"]
        for p in used:
            if p.kind != "parameter":
                place = p.name.replace("g->", f"G{k}.").replace("z[", f"Z{k}[")
                out.append(f"    {place} = ({p.ctype})v[{p.value}];")
        out += [f"    f{k}({', '.join(a for _, a in parameters)});", "}"]
        return "\n".join(out) + "\n"


POINTERS = (("p", "unsigned", "PU + 512"), ("q", "long", "PL + 256"))
"""Pointers to the middle of an array: name, element type, where it points."""


def uses(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.>]){re.escape(name)}(?!\w)", text) is not None


def _name(helper: str) -> str:
    found = re.search(r"(\w+)\(", helper)
    return found.group(1) if found else ""


def _lines(nodes: Sequence[Node], depth: int) -> list[str]:
    out: list[str] = []
    for node in nodes:
        if isinstance(node, str):
            out.append("    " * depth + node)
            continue
        out += ["    " * depth + node.head + " {", *_lines(node.body, depth + 1), "    " * depth + "}" + node.tail]
    return out


def renumbered(unit: Unit, number: int) -> Unit:
    """The same function by another number, which is a part of the names of what stands outside of it."""
    old = unit.number
    own = re.compile(rf"\b(?:([nmobsdGZ]){old}\b|([hrw]){old}_)")

    def text(of: str) -> str:
        return own.sub(lambda m: f"{m.group(1)}{number}" if m.group(1) else f"{m.group(2)}{number}_", of)

    def node(of: Node) -> Node:
        return text(of) if isinstance(of, str) else Block(text(of.head), tuple(map(node, of.body)), text(of.tail))

    places = tuple(replace(p, name=text(p.name)) for p in unit.places)
    return Unit(number, places, tuple(map(text, unit.helpers)), tuple(map(node, unit.body)), text(unit.row))


def smaller(unit: Unit) -> Iterator[Unit]:
    """Units with one piece less: a statement, or a block that leaves its body; what is used stays declared."""
    names = set(_DECLARED.findall("\n".join(_lines(unit.body, 0))))
    for body in _smaller(unit.body):
        text = "\n".join(_lines(body, 0))
        declared = set(_DECLARED.findall(text))
        if not any(uses(text, name) for name in names - declared):
            yield replace(unit, body=body)


_DECLARED = re.compile(r"(?:^\s*|for \()\w[\w ]* (\w+) = ", re.MULTILINE)


def _smaller(nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    for k, node in enumerate(nodes):
        before, after = nodes[:k], nodes[k + 1 :]
        yield (*before, *after)
        if isinstance(node, Block):
            yield (*before, *node.body, *after)
            for body in _smaller(node.body):
                yield (*before, replace(node, body=body), *after)
