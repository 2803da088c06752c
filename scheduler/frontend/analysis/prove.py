"""What follows from loop bounds, and what must be assumed of parameters: small questions to isl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import islpy as isl

from scheduler.ir.affine import Affine, FloorDiv
from scheduler.ir.nest import Constraint


@dataclass(frozen=True, slots=True)
class Domain:
    """Iterators around a point of the program and what is known of them (a superset of what runs)."""

    iterators: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    exact: bool = True  # it is what runs, not a superset

    def enter(self, iterator: str, constraints: Iterable[Constraint], exact: bool = True) -> Domain:
        return Domain((*self.iterators, iterator), (*self.constraints, *constraints), self.exact and exact)

    def inexact(self) -> Domain:
        return replace(self, exact=False)

    def without_divisions(self) -> Domain:
        """A larger domain: what follows for it is no condition with remainders."""
        plain = tuple(c for c in self.constraints if c.kind != "mod" and c.affine.is_linear)
        return self if plain == self.constraints else replace(self, constraints=plain, exact=False)

    def where(self, constraints: Iterable[Constraint]) -> Domain:
        return replace(self, constraints=(*self.constraints, *constraints))


@dataclass(slots=True)
class Facts:
    """Ranges of parameters and the assumptions made so far."""

    ranges: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    assumptions: list[Constraint] = field(default_factory=list)

    def range_constraints(self, names: Iterable[str]) -> list[Constraint]:
        result = []
        for name in names:
            low, high = self.ranges.get(name, (None, None))
            if low is not None:
                result.append(Constraint(Affine.of(name) - low))
            if high is not None:
                result.append(Constraint(-Affine.of(name) + high))
        return result

    def proves(self, affine: Affine, domain: Domain) -> bool:
        """affine >= 0 at every point of the domain, for all parameters allowed."""
        if affine.is_constant:
            return affine.const >= 0
        return bool(self._violations(affine, domain).is_empty())

    def require(self, affine: Affine, domain: Domain) -> bool:
        """Make affine >= 0 hold over the domain: by proof, or by assuming something of parameters.

        False: neither is possible, and nothing was assumed.
        """
        if affine.is_constant and affine.const < 0 and not domain.iterators:
            return False
        violations = self._violations(affine, domain)
        if violations.is_empty():
            return True
        wanted: list[Constraint] | None = None
        for around in dict.fromkeys((domain, domain.without_divisions())):
            if wanted is None:
                context = self._set((), around, self.assumptions, affine.names()).params()
                wanted = _conditions(self._violations(affine, around), context, affine)
        if wanted is None:
            return False
        trial = Facts(self.ranges, [*self.assumptions, *wanted])
        if not trial.plausible() or not trial.proves(affine, domain):
            return False
        self.assumptions.extend(wanted)
        return True

    def never(self, affine: Affine, domain: Domain) -> bool:
        """Whenever the (exact) domain has points, affine >= 0 fails at one of them."""
        if not domain.exact:
            return False
        failing = self._set((Constraint(-affine - 1),), domain, self.assumptions).params()
        running = self._set((), domain, self.assumptions, affine.names()).params()
        return not running.is_empty() and bool(running.is_subset(failing))

    def plausible(self) -> bool:
        """Parameters of ordinary size satisfy the assumptions."""
        names: set[str] = set()
        for constraint in self.assumptions:
            names |= constraint.affine.names()
        usual = [
            constraint
            for name in names
            if not self._is_special(name)
            for constraint in (Constraint(Affine.of(name) - 64), Constraint(-Affine.of(name) + 30_000))
        ]
        return not self._set(usual, Domain(), self.assumptions).is_empty()

    def _is_special(self, name: str) -> bool:
        """Its value is known, or none of an ordinary size."""
        low, high = self.ranges.get(name, (None, None))
        return high is not None and (low == high or high < 64)

    def contradictory(self, domain: Domain) -> bool:
        """No parameters satisfy the assumptions, or the domain never runs under them."""
        return bool(self._set((), domain, self.assumptions).is_empty())

    def _violations(self, affine: Affine, domain: Domain) -> isl.Set:
        return self._set((Constraint(-affine - 1),), domain, self.assumptions)

    def _set(
        self,
        extra: Iterable[Constraint],
        domain: Domain,
        assumed: Iterable[Constraint],
        mentioned: frozenset[str] = frozenset(),
    ) -> isl.Set:
        constraints = [*domain.constraints, *extra, *assumed]
        names: set[str] = set(mentioned)
        for constraint in constraints:
            names |= constraint.affine.names()
        parameters = sorted(names - set(domain.iterators))
        constraints += self.range_constraints(parameters)
        return isl.Set(set_text(parameters, domain.iterators, constraints))


def set_text(parameters: Iterable[str], iterators: Iterable[str], constraints: Iterable[Constraint]) -> str:
    """isl's text of a set; names get a prefix so that none is a keyword of isl."""
    iterators = tuple(iterators)
    renamed = {name: Affine.of(f"v_{name}") for name in (*parameters, *iterators)}
    parts = []
    for constraint in constraints:
        text = str(constraint.affine.substitute(renamed))
        if constraint.kind == "mod":
            text = f"({text}) mod {constraint.modulus} = 0"
        else:
            text += " >= 0" if constraint.kind == ">=" else " = 0"
        parts.append(text)
    head = ", ".join(f"v_{p}" for p in parameters)
    tuple_text = ", ".join(f"v_{i}" for i in iterators)
    return f"[{head}] -> {{ [{tuple_text}] : {' and '.join(parts) or 'true'} }}"


def _conditions(violations: isl.Set, context: isl.Set, wanted: Affine) -> list[Constraint] | None:
    """Conditions on parameters under which the set is empty."""
    bad = violations.params().coalesce()
    bad = bad.gist(context).coalesce().compute_divs()
    result: list[Constraint] = []
    basics = bad.get_basic_sets()
    if len(basics) > 4:
        return None
    for basic in basics:
        choices = []
        for constraint in basic.get_constraints():
            affine = _affine(constraint)
            if affine is None:
                return None
            if not affine.is_constant:
                choices.append(-affine - 1)
                if constraint.is_equality():
                    choices.append(affine - 1)
        if not choices:
            return None
        names = wanted.names()
        choices.sort(key=lambda a: (-len(a.names() & names), len(a.terms), str(a)))
        possible = (Constraint(c) for c in choices if not context.intersect(_parameter_set(c)).is_empty())
        chosen = next(possible, None)
        if chosen is None:
            return None
        if chosen not in result:
            result.append(chosen)
    return result


def _parameter_set(affine: Affine) -> isl.Set:
    return isl.Set(set_text(sorted(affine.names()), (), (Constraint(affine),))).params()


def _affine(constraint: isl.Constraint) -> Affine | None:
    """A constraint over parameters only; None with divisions."""
    try:
        aff = constraint.get_aff()
    except isl.Error:  # a division isl has no expression for
        return None
    if aff.dim(isl.dim_type.div):
        return None
    terms = []
    for position in range(aff.dim(isl.dim_type.param)):
        value = aff.get_coefficient_val(isl.dim_type.param, position)
        name = str(aff.get_dim_name(isl.dim_type.param, position))
        terms.append((name.removeprefix("v_"), int(value.to_python())))
    return Affine.build(terms, int(aff.get_constant_val().to_python()))


def bounds_of(affine: Affine, ranges: Mapping[str, tuple[int | None, int | None]]) -> tuple[int | None, int | None]:
    """Interval of an affine expression of names with known ranges."""
    low: int | None = affine.const
    high: int | None = affine.const
    for atom, coefficient in affine.terms:
        if isinstance(atom, FloorDiv):
            inner = bounds_of(atom.numerator, ranges)
            below, above = (None if x is None else x // atom.denominator for x in inner)
        else:
            below, above = ranges.get(atom, (None, None))
        if coefficient < 0:
            below, above = above, below
        low = None if low is None or below is None else low + coefficient * below
        high = None if high is None or above is None else high + coefficient * above
    return low, high
