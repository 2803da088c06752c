"""What mapping reaches: every access and every name, and nothing else changes."""

import random
from dataclasses import replace

from scheduler.ir.affine import Affine
from scheduler.ir.mapping import map_actions, map_bound, map_expr
from scheduler.ir.nest import Access, Loop, LoopNest, Name, Predicate, Statement
from scheduler.ir.text import parse_nest
from scheduler.ir.walk import action_uses, loops, placed_statements
from tests.generator import Size, random_nest


def first(nest: LoopNest) -> Statement:
    return next(placed_statements(nest)).statement


def test_every_access_is_reached_and_the_rest_stays() -> None:
    for seed in range(200):
        for placed in placed_statements(random_nest(random.Random(seed), Size(depth=4, nests=2))):
            met: list[Access] = []

            def look(access: Access, met: list[Access] = met) -> Access:
                met.append(access)
                return access

            assert map_actions(placed.statement.body, look) == placed.statement.body
            assert set(met) == {use.access for use in action_uses(placed.statement.body)}


def test_inner_accesses_come_first() -> None:
    nest = parse_nest(
        """nest g { param n: int; array A: double[n]; array at: int[n];
        for i: int in [0, n) step 1 { S0: A[opaque(at[i] + 1)] += A[i]; } }"""
    )
    seen: list[str] = []

    def renamed(access: Access) -> Access:
        seen.append(access.array)
        assert access.array != "A" or access.subscripts == (Affine.of("i"),) or "to" in repr(access.subscripts)
        return replace(access, array={"at": "to"}.get(access.array, access.array))

    (action,) = map_actions(first(nest).body, renamed)
    assert seen == ["at", "A", "A"] and "'to'" in repr(action) and "'at'" not in repr(action)


def test_names_in_subscripts_bounds_and_conditions() -> None:
    nest = parse_nest(
        """nest r { param n: int; array A: int[n]; array len: int[n];
        for i: int in [0, n) step 1 { when (A[opaque(i * i % n)] > 0) {
          for j: int in [0, opaque(len[i] + i)) step 1 { S0: A[opaque(i * j % n)] = i > j ? -i : (int)n; } } } }"""
    )

    def other(name: Name) -> Name:
        return replace(name, name="k") if name.name == "i" else name

    def same(access: Access) -> Access:
        return access

    (outer, inner), (guard,) = loops(nest), nest.body[0].body
    assert isinstance(guard, Predicate) and isinstance(inner, Loop)
    for before, after in (
        (guard.condition, map_expr(guard.condition, same, other)),
        (inner.stop, map_bound(inner.stop, same, other)),
        (first(nest).body, map_actions(first(nest).body, same, other)),
    ):
        assert "name='i'" in repr(before)
        assert repr(after) == repr(before).replace("name='i'", "name='k'")
    assert map_bound(outer.stop, same, other) is outer.stop


def test_loops_inside_statements_stay_loops() -> None:
    nest = parse_nest(
        """nest w { param n: int; array A: int[n]; array t: int private(i);
        for i: int in [0, n) step 1 {
          S0: { t = A[i]; while (t > 0) { t -= 1; if (A[opaque(t)] == 3) { A[i] = t; } break; } } } }"""
    )
    body = first(nest).body
    flows = [getattr(action, "flow", "") for action in body]
    assert "while" in flows and map_actions(body, lambda access: access) == body
