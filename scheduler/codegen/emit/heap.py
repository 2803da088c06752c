"""Memory of a nest's private arrays, at its top or a part for each thread, and the region that the threads run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.text import block
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import Array
from scheduler.ir.types import scalar_type


def region(lines: Sequence[str], fresh: Callable[[str], str]) -> list[str]:
    """The region around a loop that threads share; `fresh` makes a C name that is not used yet."""
    team, own = fresh("pe_team"), fresh("pe_own")
    inside = [f"const struct pe_floats {own} = pe_enter_team(&{team});", *lines, f"pe_leave_team(&{team}, {own});"]
    return block(
        "",
        [
            f"struct pe_team {team} = pe_gather_team();",
            f"#pragma omp parallel num_threads({team}.pe_threads)",
            *block("", inside),
            f"pe_dismiss_team(&{team});",
        ],
    )


STACK_BYTES = 8192  # larger buffers are allocated on the heap: stacks of threads may be small


def allocation(array: Array, printer: Printer) -> tuple[str, str]:
    """The declaration of an array that is allocated, and its name. Raises CodegenUnsupported."""
    extents, name = _extents(array, 0), array.base or array.name
    return (
        f"{array.ctype} {_pointer(array, extents, name, printer)} = pe_alloc({_bytes(array, extents, printer)});",
        name,
    )


def thread_array(array: Array, drop: int, printer: Printer, fresh: Callable[[str], str]) -> tuple[str, str, str] | None:
    """A private array of a parallel loop, without its first `drop` dimensions, in a block of all threads.

    Its declaration in the loop; that of the block, and its name. None for one that is small enough for the stacks of
    threads, which may be smaller than the one the original's stands on. Raises CodegenUnsupported.
    """
    extents = _extents(array, drop)
    kind = scalar_type(array.ctype)
    known = kind.bits // 8 if kind is not None else None
    for extent in extents:
        known = known * extent.const if known is not None and extent.is_constant else None
    if not extents or (known is not None and known <= STACK_BYTES):
        return None
    part = (
        f"(unsigned long){-(-known // 64) * 64}" if known else f"(({_bytes(array, extents, printer)} + 63) / 64 * 64)"
    )
    name = array.base or array.name
    whole = fresh(f"pe_{name}_all")
    inside = _pointer(array, extents, f"restrict {name}", printer)
    declaration = f"{array.ctype} {inside} = (void *)({whole} + {part} * pe_thread());"
    return declaration, f"char *{whole} = pe_alloc({part} * pe_threads());", whole


def _extents(array: Array, drop: int) -> tuple[Affine, ...]:
    found = [extent for extent in array.shape[drop:] if extent is not None]
    if len(found) < len(array.shape) - drop:
        raise CodegenUnsupported(f"private array {array.name} has an unknown extent")
    return tuple(found)


def _bytes(array: Array, extents: Sequence[Affine], printer: Printer) -> str:
    factors = (f"(unsigned long){_size(extent, printer)}" for extent in extents)
    return " * ".join((f"sizeof({array.ctype})", *factors))


def _pointer(array: Array, extents: Sequence[Affine], name: str, printer: Printer) -> str:
    """The declarator of a pointer to the first of an array's rows."""
    if array.flat or len(extents) == 1:
        return f"*{name}"
    return f"(*{name})" + "".join(f"[{_size(extent, printer)}]" for extent in extents[1:])


def _size(extent: Affine, printer: Printer) -> str:
    """At least 1, as types need it: the loops that use the array may not run at all."""
    return str(extent.const) if extent.is_constant else f"pe_max({printer.affine(extent)[0]}, 1)"
