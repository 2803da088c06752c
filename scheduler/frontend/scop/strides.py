"""Strides that are variables of their own (`a[k*sz + j*sy + i*sx]`): read as sizes where one is a multiple of the next.

`sz = q1 * sy` and `sy = q0 * sx` make the array `a[?][q1][q0][sx]`. The quotients are parameters that the written code
computes, 0 where a stride is no positive multiple of the next one; that they are at least 1, and that the subscripts
stay below them, are assumptions of the nest: what breaks them runs the loops as they were written. Which of two strides
is the larger one is guessed; a wrong guess costs speed only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from scheduler.frontend.analysis.magnitude import Magnitudes
from scheduler.frontend.analysis.poly import Atom, Group, Monomial, Poly, atom_names, monomial
from scheduler.frontend.analysis.prove import Domain
from scheduler.frontend.c_ast.arith import bits
from scheduler.frontend.c_ast.csyntax import CType, Variable
from scheduler.frontend.scop.context import Context
from scheduler.frontend.scop.delinearize import Shaped, delinearize, split
from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import Constraint

_LONG = CType("int", "long")
_MAX_STRIDES = 5  # of one array


@dataclass(frozen=True, slots=True)
class Loose:
    """An array with a linear subscript that has no shape yet. `needed`: it matters which elements are meant, because
    some are written, or might be those of another array."""

    name: str
    accesses: tuple[tuple[Poly, Domain], ...]
    needed: bool


def shapes(ctx: Context, arrays: Iterable[Loose]) -> dict[str, Shaped]:
    """The shapes of those arrays that have one; what they need is added to the parameters and assumptions of `ctx`."""
    arrays = sorted(arrays, key=lambda a: not a.needed)
    strides = {a.name: _strides(ctx, a) for a in arrays}
    order = _ordered(ctx, [a for a in arrays if strides[a.name]])
    made: dict[tuple[Atom, Monomial], str] = {}
    found: dict[str, Shaped] = {}
    for array in arrays:
        chain = sorted(strides[array.name], key=order.index)
        if len(chain) > 1 or (chain and len(chain[0]) > 1):
            shaped = _shaped(ctx, array, chain, made)
            if shaped is not None:
                found[array.name] = shaped
    return found


def _strides(ctx: Context, array: Loose) -> list[Monomial]:
    """Products of parameters that iterators are multiplied by; none where there are too many, or strange ones."""
    found: dict[Monomial, None] = {}
    for poly, _ in array.accesses:
        for mono, _ in poly.terms:
            iterators, parameters = split(mono, ctx.is_parameter_name)
            if iterators and parameters:
                found[parameters] = None
    strange = any(isinstance(atom, FloorDiv) for mono in found for atom in mono)
    return [] if strange or len(found) > _MAX_STRIDES else list(found)


def _ordered(ctx: Context, arrays: list[Loose]) -> list[Monomial]:
    """All strides, the largest first, as far as the program tells: by what it sets them to, else by three votes.

    Those are the order of the loops, that of the terms in subscripts, and that of the names (`sx`, `sy`, `sz`).
    """
    votes: Counter[tuple[Monomial, Monomial]] = Counter()
    strides: dict[Monomial, None] = {}
    depth = {active: k for a in arrays for _, d in a.accesses for k, active in enumerate(d.iterators)}
    for array in arrays:
        for poly, _ in array.accesses:
            terms: dict[Monomial, int] = {}  # the outermost loop that has a stride
            for mono, _ in poly.terms:
                iterators, parameters = split(mono, ctx.is_parameter_name)
                if iterators and parameters:
                    names = [n for a in iterators for n in atom_names(a)]
                    own = min(depth.get(n, len(depth)) for n in names)
                    terms[parameters] = min(own, terms.get(parameters, own))
            strides.update(dict.fromkeys(terms))
            listed = list(terms)
            for k, first in enumerate(listed):
                for second in listed[k + 1 :]:
                    votes[first, second] += 1  # it stands first
                    if terms[first] != terms[second]:
                        outer = (first, second) if terms[first] < terms[second] else (second, first)
                        votes[outer] += 1
    magnitudes = ctx.work.magnitudes = ctx.work.magnitudes or Magnitudes.of(ctx.unit)
    size = {mono: sum(_magnitude(ctx, magnitudes, atom) for atom in mono) for mono in strides}
    text = {mono: " ".join(map(str, mono)) for mono in strides}
    wins = dict.fromkeys(strides, 0)
    for first in strides:
        for second in strides:
            if first == second:
                continue
            contains = bool(Counter(first) - Counter(second)) - bool(Counter(second) - Counter(first))
            voted = votes[first, second] - votes[second, first]
            agreed = (voted > 0) - (voted < 0) if voted else (text[first] > text[second]) - (text[first] < text[second])
            wins[first] += (size[first] - size[second] or contains or agreed) > 0
    return sorted(strides, key=lambda mono: -wins[mono])


def _magnitude(ctx: Context, magnitudes: Magnitudes, atom: Atom) -> int:
    names = atom_names(atom)
    return max(
        (magnitudes.variable(ctx.assumed.maybe_parameters[n]) for n in names if n in ctx.assumed.maybe_parameters),
        default=1,
    )


def _shaped(ctx: Context, array: Loose, chain: list[Monomial], made: dict[tuple[Atom, Monomial], str]) -> Shaped | None:
    """The shape with these strides, the largest first; nothing is left behind where there is none."""
    pairs: list[tuple[Atom, Monomial]] = []
    for outer, below in reversed(list(pairwise(chain))):
        if Counter(below) - Counter(outer):
            if len(outer) > 1:
                return None
            pairs.append((outer[0], below))
    if not array.needed and not set(pairs) <= set(made):
        return None
    assumed, before = list(ctx.assumed.facts.assumptions), dict(made)
    replaced: dict[Atom, Monomial] = {}
    for outer_atom, below in pairs:
        name = _quotient(ctx, outer_atom, below, made)
        if name is None or outer_atom in replaced:
            break
        replaced[outer_atom] = monomial((name, *_substituted(below, replaced)))
    else:
        polys = [(_replace(poly, replaced), domain) for poly, domain in array.accesses]
        shaped = delinearize(ctx.assumed.facts, polys, ctx.is_parameter_name) if len(chain) > 1 else None
        if shaped is None and not pairs and len(chain[-1]) > 1 and array.needed:
            shaped = _planes(ctx, array, chain[-1], made)
        if shaped is not None and not any(
            _absurd(ctx.assumed.facts.assumptions[len(assumed) :], p, made) for p in pairs
        ):
            _note(ctx, pairs or [(atom, ()) for mono in chain for atom in mono])
            return shaped
    ctx.assumed.facts.assumptions[:] = assumed
    for key in [k for k in made if k not in before]:
        name = made.pop(key)
        del ctx.assumed.parameters[name], ctx.assumed.maybe_parameters[name], ctx.assumed.facts.ranges[name]
    return None


def _planes(ctx: Context, array: Loose, plane: Monomial, made: dict[tuple[Atom, Monomial], str]) -> Shaped | None:
    """The shape where elements are counted through planes of so many: the `c * (h * w) + i` of `i < area`."""
    name = _product(ctx, plane, made)
    if name is None:
        return None
    whole = Counter(plane)

    def counted(mono: Monomial) -> Monomial:
        rest = Counter(mono)
        return mono if whole - rest else monomial((name, *(rest - whole).elements()))

    polys = [(Poly.build((counted(mono), c) for mono, c in poly.terms), domain) for poly, domain in array.accesses]
    return delinearize(ctx.assumed.facts, polys, ctx.is_parameter_name)


def _product(ctx: Context, factors: Monomial, made: dict[tuple[Atom, Monomial], str]) -> str | None:
    """The parameter that is the product of positive sizes, and 0 where one is not positive."""
    if ("*", factors) in made:
        return made["*", factors]
    texts = [_text(ctx, atom) for atom in factors]
    if None in texts or len(factors) > 2:
        return None
    conditions = [c for atom in factors for c in _fits(ctx, atom)]
    conditions += [f"{text} {limit}" for text in texts for limit in (">= 1L", "<= 1L << 30")]
    words = ["_".join(sorted(atom_names(atom))) for atom in factors]
    return _computed(ctx, "_times_".join(words), " * ".join(t for t in texts if t), conditions, ("*", factors), made)


def _computed(
    ctx: Context,
    name: str,
    value: str,
    conditions: list[str],
    key: tuple[Atom, Monomial],
    made: dict[tuple[Atom, Monomial], str],
) -> str:
    """A parameter that the written code computes; that it is at least 1 is assumed."""
    name = ctx.fresh(name)
    variable = Variable(name, _LONG, "local", -1)
    variable.base = value
    ctx.assumed.conditions[variable] = " && ".join(dict.fromkeys(conditions))
    ctx.parameter(variable)
    ctx.assumed.facts.assumptions.append(Constraint(Affine.of(name) - 1))
    made[key] = name
    return name


def _absurd(
    assumed: Iterable[Constraint], pair: tuple[Atom, Monomial], made: Mapping[tuple[Atom, Monomial], str]
) -> bool:
    """A quotient is to be as large as what was divided: the strides are sizes in another order."""
    return any(
        made[pair] in (names := constraint.affine.names()) and names & atom_names(pair[0]) for constraint in assumed
    )


def _substituted(mono: Monomial, replaced: Mapping[Atom, Monomial]) -> Monomial:
    return monomial(a for atom in mono for a in replaced.get(atom, (atom,)))


def _replace(poly: Poly, replaced: Mapping[Atom, Monomial]) -> Poly:
    return Poly.build((_substituted(mono, replaced), c) for mono, c in poly.terms)


def _note(ctx: Context, pairs: list[tuple[Atom, Monomial]]) -> None:
    """The strides are parameters of the nest even where only their quotients are left in it."""
    for outer, below in pairs:
        for name in sorted(n for atom in (outer, *below) for n in atom_names(atom)):
            ctx.parameter(ctx.assumed.maybe_parameters[name])


def _quotient(ctx: Context, outer: Atom, below: Monomial, made: dict[tuple[Atom, Monomial], str]) -> str | None:
    """The parameter that is `outer / below` where that is a positive whole number, and 0 elsewhere."""
    if (outer, below) in made:
        return made[outer, below]
    texts = [_text(ctx, atom) for atom in (outer, *below)]
    if None in texts or len(below) > 2:
        return None
    dividend, *factors = (t for t in texts if t is not None)
    divisor = factors[0] if len(factors) == 1 else f"({' * '.join(factors)})"
    conditions = [c for atom in (outer, *below) for c in _fits(ctx, atom)]
    if len(factors) > 1:
        conditions += [f"{factor} {limit}" for factor in factors for limit in (">= 1L", "<= 1L << 31")]
    conditions += [f"{divisor} >= 1L", f"{dividend} % {divisor} == 0L"]
    words = ["_".join(sorted(atom_names(atom))) for atom in (outer, *below)]
    key = (outer, below)
    return _computed(ctx, f"{words[0]}_per_{'_'.join(words[1:])}", f"{dividend} / {divisor}", conditions, key, made)


def _fits(ctx: Context, atom: Atom) -> Iterator[str]:
    """Conditions under which the value can be read, and computed in a long, in C."""
    yield from fits(ctx, atom_names(atom), isinstance(atom, Group))


def fits(ctx: Context, names: Iterable[str], added: bool) -> Iterator[str]:
    """Conditions in C under which variables can be read, and sums of them, if they are `added`, be made in a long."""
    for name in sorted(names):
        variable = ctx.assumed.maybe_parameters[name]
        if ctx.assumed.conditions.get(variable):
            yield ctx.assumed.conditions[variable]
        if added and bits(variable.ctype.name) > 32:
            text = f"(long)({variable.text})"
            yield f"{text} >= -(1L << 40) && {text} <= 1L << 40"


def _text(ctx: Context, atom: Atom) -> str | None:
    return affine_text(ctx, atom.affine if isinstance(atom, Group) else Affine.of(atom))


def affine_text(ctx: Context, affine: Affine) -> str | None:
    """C text of its value as a long; None of what is no sum of variables."""
    parts = []
    for name, coefficient in affine.terms:
        variable = None if isinstance(name, FloorDiv) else ctx.assumed.maybe_parameters.get(name)
        if variable is None or not -(1 << 20) < coefficient < 1 << 20:
            return None
        parts.append(f"(long)({variable.text})" if coefficient == 1 else f"{coefficient}L * (long)({variable.text})")
    if not -(1 << 40) < affine.const < 1 << 40:
        return None
    if affine.const:
        parts.append(f"{affine.const}L")
    if not parts:
        return "0L"
    return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"
