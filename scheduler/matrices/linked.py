"""Statements that dependences link, and the orders they leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scheduler.polyhedral.farkas import Pairs


def components(names: Iterable[str], pairs: Iterable[Pairs]) -> list[tuple[str, ...]]:
    """The names in sets that no pairs link with each other, each in the order of `names`."""
    found = {name: name for name in names}

    def root(name: str) -> str:
        while found[name] != name:
            name = found[name]
        return name

    for one in pairs:
        if one.source in found and one.sink in found:
            found[root(one.sink)] = root(one.source)
    sets: dict[str, list[str]] = {}
    for name in found:
        sets.setdefault(root(name), []).append(name)
    return [tuple(members) for members in sets.values()]


def sequences(names: Sequence[str], pairs: Iterable[Pairs]) -> list[tuple[str, ...]]:
    """The names in sets that depend on each other around, in an order that the pairs allow (as in `names` if free)."""
    before: dict[str, set[str]] = {name: set() for name in names}
    for one in pairs:
        if one.source in before and one.sink in before:
            before[one.sink].add(one.source)
    return ordered(names, before)


def ordered(names: Sequence[str], before: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Names that come before each other in a circle together; the sets in an order that `before` allows.

    Where it allows several, what stands first in `names` comes first.
    """
    reached = {name: set(before[name]) for name in names}
    for middle in names:
        for name in names:
            if middle in reached[name]:
                reached[name] |= reached[middle]
    sets: list[tuple[str, ...]] = []
    for name in names:
        if not any(name in members for members in sets):
            sets.append(tuple(n for n in names if n == name or (n in reached[name] and name in reached[n])))
    found: list[tuple[str, ...]] = []
    while sets:
        waiting = {name for members in sets for name in members}
        free = next(s for s in sets if all(not (reached[name] & waiting) - set(s) for name in s))
        sets.remove(free)
        found.append(free)
    return found
