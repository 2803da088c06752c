"""What arrays and integers of a nest may share memory, by what the file says of pointers."""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast.csyntax import Variable
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.scop.context import Context
from scheduler.ir.nest import Array, Storage

_CHARS = ("char", "signed char", "unsigned char")


def restricted(ctx: Context, arrays: dict[str, Array], array: Array) -> Array:
    """A restrict pointer from which another pointer of the nest was computed says nothing about that one."""
    own = ctx.accesses.arrays[array.name].variable if array.storage == Storage.RESTRICT else None
    if own is None:
        return array
    if any(other.rows for other in arrays.values()):  # pointers in a table may come from anywhere
        return replace(array, storage=Storage.POINTER)
    for other in arrays.values():
        info = ctx.accesses.arrays.get(other.name)
        variable = info.variable if info is not None else None
        if other is array or other.storage != Storage.POINTER or variable is None or variable.storage == "param":
            continue
        if ctx.aliases.may_derive(variable, own):
            return replace(array, storage=Storage.POINTER)
    return array


def distinct(ctx: Context, arrays: dict[str, Array], array: Array) -> Array:
    """A pointer that the file shows to be apart from every other array of the nest is as good as restrict."""
    if array.storage != Storage.POINTER or ctx.accesses.arrays[array.name].path or any(a.rows for a in arrays.values()):
        return array
    own = ctx.accesses.arrays[array.name].variable
    others = [
        a
        for a in arrays.values()
        if a is not array
        and not a.shares(array)
        and a.storage != Storage.PRIVATE
        and not (a.is_scalar and a.storage == Storage.LOCAL)
    ]
    if not others:
        return array
    for other in others:
        info = ctx.accesses.arrays.get(other.name)
        variable = info.variable if info is not None else ctx.assumed.maybe_parameters.get(other.name)
        path = info is not None and info.path
        if own is None or variable is None or path or not ctx.aliases.apart(own, variable):
            return array
    return replace(array, storage=Storage.RESTRICT)


def _apart(ctx: Context, stored: Variable, variable: Variable) -> bool:
    """A store through the first one never changes the other, which may stand for an integer anywhere in memory."""
    if variable in ctx.assumed.member_variables.values() or variable in ctx.assumed.tests.values():
        return ctx.aliases.exclusive(stored)
    return ctx.aliases.apart(stored, variable)


def check_aliases(ctx: Context, arrays: dict[str, Array], written: set[str]) -> None:
    """Marks the parameters that other code can point to: that no store through a pointer changes them is tested."""
    for name in ctx.assumed.parameters:
        variable = ctx.assumed.maybe_parameters[name]
        itself = next((r.variable for r, v in ctx.assumed.tests.items() if v is variable and not r.path), variable)
        exposed = itself.address_taken or (itself.storage == "global" and not itself.internal)
        if not exposed or variable.ctype.is_const:
            continue
        for array in arrays.values():
            test = variable in ctx.assumed.tests.values()
            own = "" if test else variable.ctype.name.removeprefix("unsigned ")
            same = ctx.unit.dialect.untyped or array.ctype in _CHARS or array.ctype.removeprefix("unsigned ") == own
            info = ctx.accesses.arrays.get(array.name)
            if (
                info is not None
                and info.variable is not None
                and not info.rows
                and _apart(ctx, info.variable, variable)
            ):
                continue
            member = variable in ctx.assumed.member_variables.values()
            inside = info is not None and (bool(info.members) or info.path)  # of a structure
            aimed = array.storage == Storage.POINTER or (member and inside)
            if test and array.name in written and array.storage == Storage.POINTER and same:
                reason = f"a store to '{array.name}' may change the pointer that is tested by '{variable.text}'"
                raise Reject(ctx.begin, reason, "copy the pointer to a local variable in front of the loop")
            if not test and array.name in written and aimed and same:
                ctx.assumed.parameters[name] = replace(ctx.assumed.parameters[name], exposed=True)
