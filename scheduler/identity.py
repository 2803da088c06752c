"""What makes nests the same, and schedules of one usable for another that differs only in names.

Databases keep nests and schedules under canonical names (L0, A0, P0, S0, …), which `canonical_nest` gives.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from scheduler.errors import NotApplicable, SchedulerError
from scheduler.ir.affine import Affine
from scheduler.ir.nest import LoopNest
from scheduler.ir.text import canonical_form, format_nest, parse_nest
from scheduler.ir.tree import Leaf, TreeLoop, TreeNode, format_tree
from scheduler.normalize.fission import maximal_fission
from scheduler.normalize.stride import minimize_strides
from scheduler.replay import Replayer
from scheduler.schedule import Schedule, parse_schedule
from scheduler.transform import Transformation
from scheduler.transform.reschedule import Reschedule, TimeMap

_TITLE = "nest"
_LOOP = re.compile(r"\bL\d+\b")


class NotTheSame(SchedulerError):
    """The nests differ in more than names."""


@dataclass(frozen=True, slots=True)
class CanonicalNest:
    """A nest under canonical names; `names` maps (kind: "L", "A", "P" or "S"; the nest's own name) to them."""

    nest: LoopNest
    names: Mapping[tuple[str, str], str]


def canonical_nest(nest: LoopNest) -> CanonicalNest:
    """Equal for nests with equal `nest_id`, but for ranges of parameters. Raises TextError."""
    text, names = canonical_form(nest)
    bare = parse_nest(text.replace("nest {", f"nest {_TITLE} {{", 1))
    ranges = {names["P", p.name]: (p.low, p.high) for p in nest.parameters if ("P", p.name) in names}
    known = {names["P", p.name]: p.value for p in nest.parameters if ("P", p.name) in names}
    parameters = tuple(
        replace(p, low=ranges[p.name][0], high=ranges[p.name][1], value=known[p.name]) for p in bare.parameters
    )
    return CanonicalNest(replace(bare, parameters=parameters), names)


def canonical_text(nest: LoopNest) -> str:
    """`format_nest` of the canonical nest, values of parameters left out."""
    canonical = canonical_nest(nest).nest
    return format_nest(replace(canonical, parameters=tuple(replace(p, value=None) for p in canonical.parameters)))


def normalized_id(replayer: Replayer) -> str:
    """16 hex digits, mostly equal for nests that differ in names, loop order and fission as written.

    `replayer` is of a canonical nest.
    """
    tree = replayer.tree(minimize_strides(replayer, maximal_fission(replayer)))
    given: dict[str, str] = {}
    text = format_tree(tree) + "\n" + format_nest(replayer.nest).partition("for ")[0]
    for name, placed in sorted(replayer.model.placed.items()):
        text += f"{name}: {placed.statement.body}\n"
    renamed = _LOOP.sub(lambda m: given.setdefault(m[0], f"N{len(given)}"), text)
    return hashlib.sha256(renamed.encode()).hexdigest()[:16]


def carry_over(
    schedule: Schedule, source: Replayer, target: Replayer, names: Mapping[tuple[str, str], str]
) -> Schedule:
    """The schedule of one nest for the same nest under other names.

    Loops are matched by where they stand in the tree before each step; `names` maps (kind, name) of arrays ("A"),
    statements ("S") and parameters ("P"). Raises NotTheSame.
    """
    done: Schedule = ()
    for position, step in enumerate(schedule):
        try:
            loops = _same_loops(source.tree(schedule[:position]), target.tree(done))
        except NotApplicable as problem:
            raise NotTheSame(str(problem)) from None
        done = (*done, _renamed(step, loops, names))
    return done


def in_names_of(text: str, canonical: CanonicalNest, there: Replayer, here: Replayer) -> Schedule | None:
    """A schedule of the canonical nest, from a database, in the names of the nest itself; None where it does not fit.

    `there` and `here` replay the two.
    """
    own = {(kind, name): mine for (kind, mine), name in canonical.names.items()}
    try:
        return carry_over(parse_schedule(text), there, here, own)
    except SchedulerError:
        return None


def _same_loops(source: tuple[TreeNode, ...], target: tuple[TreeNode, ...]) -> dict[str, str]:
    if len(source) != len(target):
        raise NotTheSame("the loop trees have different shapes")
    found: dict[str, str] = {}
    for one, other in zip(source, target, strict=True):
        if isinstance(one, TreeLoop) and isinstance(other, TreeLoop):
            found[one.name] = other.name
            found |= _same_loops(one.children, other.children)
        elif not (isinstance(one, Leaf) and isinstance(other, Leaf)):
            raise NotTheSame("the loop trees have different shapes")
    return found


_KINDS = {"array": "A", "statement": "S"}


def _known(names: Mapping[tuple[str, str], str], kind: str, name: str) -> str | None:
    """The other name; that of a statement which a split made is its original's, with the same ending."""
    if kind != "S":
        return names.get((kind, name))
    base, mark, ending = name.partition("_s")
    found = names.get((kind, base))
    return None if found is None else f"{found}{mark}{ending}"


def _renamed(step: Transformation, loops: Mapping[str, str], names: Mapping[tuple[str, str], str]) -> Transformation:
    if isinstance(step, Reschedule):
        return Reschedule(tuple(_renamed_map(one, names) for one in step.maps))

    def one(field: str, value: Any) -> Any:
        if isinstance(value, Affine):
            renamed = {
                n: Affine.of(loops.get(n) or names.get(("P", n)) or names.get(("L", n), n)) for n in value.names()
            }
            return value.substitute(renamed)
        if isinstance(value, tuple):
            return tuple(one(field, v) for v in value)
        if not isinstance(value, str):
            return value
        found = _known(names, _KINDS[field], value) if field in _KINDS else loops.get(value)
        if found is None:
            raise NotTheSame(f"{step.keyword}: there is no {value}")
        return found

    return type(step)(*(one(f.name, getattr(step, f.name)) for f in fields(step)))


def _renamed_map(one: TimeMap, names: Mapping[tuple[str, str], str]) -> TimeMap:
    """Rows are made of a statement's own iterators, whatever loops stand around it in the tree."""
    statement = _known(names, "S", one.statement)
    if statement is None:
        raise NotTheSame(f"reschedule: there is no {one.statement}")
    used = sorted({name for row in one.rows for name in row.names()})
    found = {name: names.get(("L", name)) or names.get(("P", name)) for name in used}
    if missing := [name for name, other in found.items() if other is None]:
        raise NotTheSame(f"reschedule: there is no {', '.join(missing)}")
    renamed = {name: Affine.of(other) for name, other in found.items() if other is not None}
    return replace(one, statement=statement, rows=tuple(row.substitute(renamed) for row in one.rows))
