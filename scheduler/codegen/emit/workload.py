"""A nest as a C file of its own, for measuring: storage, arguments and one function that runs the body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from scheduler.codegen.emit.expr import Printer
from scheduler.codegen.emit.text import block, declarator, preamble
from scheduler.errors import CodegenUnsupported
from scheduler.ir.affine import Affine
from scheduler.ir.nest import (
    Access,
    Action,
    Array,
    Assign,
    Call,
    Expr,
    Guard,
    Loop,
    LoopNest,
    Node,
    Predicate,
    Read,
    Statement,
    Storage,
)
from scheduler.ir.walk import children, placed_statements, uses

_STDLIB = frozenset(("abs", "labs", "llabs"))


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """Argument i of `pe_kernel`: args[i] points to an array's first element, or to a scalar's value.

    Where `pe_storage(i)` is not NULL the storage is the file's own (a global) and args[i] is ignored.
    """

    name: str
    ctype: str
    written: bool
    is_parameter: bool


def rows_name(array: str) -> str:
    """The argument that says where the rows of an array lie in its memory (`perfembed.capture.rows`)."""
    return f"{array}.rows"


def plain(nest: LoopNest) -> LoopNest:
    """The nest with every array under its own name, as `kernel_source` declares them (no `base`)."""
    return replace(nest, arrays=tuple(replace(a, base=None, members=()) for a in nest.arrays))


def kernel_source(
    nest: LoopNest,
    body: str,
    parameters: Mapping[str, int] | None = None,
    constants: Mapping[str, int] | None = None,
    errno: bool = False,
) -> tuple[str, tuple[ArgumentSpec, ...]]:
    """A standalone C file whose `pe_kernel(args)` runs `body`, C text emitted from `plain(nest)`.

    `parameters` give concrete values where the shape of a global array needs them; those of `constants` are
    compiled in. `errno`: as for `preamble`.
    """
    fixed = {p.name: p.value for p in nest.parameters if p.value is not None} | dict(constants or {})
    values = fixed | dict(parameters or {})
    printer = Printer.of(nest, wide=False)
    written = {u.access.array for s in placed_statements(nest) for u in uses(s) if u.is_write}
    arrays = [a for a in nest.arrays if a.storage is not Storage.PRIVATE]
    specs = [ArgumentSpec(p.name, p.ctype, False, True) for p in nest.parameters]
    places: dict[str, int] = {}
    for array in arrays:
        places[array.name] = len(specs)
        specs.append(ArgumentSpec(array.name, array.ctype, array.name in written, False))
        if array.rows:
            specs.append(ArgumentSpec(rows_name(array.name), "long", False, False))
    storage, formal, actual, unpack, repack = [], [], [], [], []
    for index, parameter in enumerate(nest.parameters):
        if parameter.name in fixed:
            continue
        formal.append(f"{parameter.ctype} {parameter.name}")
        actual.append(f"*(const {parameter.ctype} *)args[{index}]")
    cases = []
    tables: list[str] = []
    for array in arrays:
        index = places[array.name]
        if array.rows:
            tables += _table_function(array)
            formal.append(_row_type(array)(f"{'*' * (array.rows + 1)}{array.name}"))
            actual.append(f"pe_table_{array.name}(args[{index}], args[{index + 1}])")
        elif array.storage is Storage.GLOBAL and None not in array.shape:
            storage.append("static " + declarator(array.ctype, array.name, _extents(array, values)) + ";")
            cases.append(f"case {index}: return {'&' if array.is_scalar else ''}{array.name};")
        elif array.is_scalar:
            if array.name in written:
                formal.append(f"{array.ctype} *pe_{array.name}")
                unpack.append(f"{array.ctype} {array.name} = *pe_{array.name};")
                repack.append(f"*pe_{array.name} = {array.name};")
            else:
                formal.append(f"{array.ctype} {array.name}")
            actual.append(f"{'' if array.name in written else '*'}({array.ctype} *)args[{index}]")
        else:
            declared, kind = _pointer(array, printer)
            formal.append(declared)
            actual.append(f"({kind})args[{index}]")
    # At file scope: array parameters may be declared with them.
    known = [f"static const {p.ctype} {p.name} = {fixed[p.name]};" for p in nest.parameters if p.name in fixed]
    inner = [*unpack, *body.rstrip("\n").split("\n"), *repack]
    lines = [
        *known,
        *storage,
        *tables,
        "",
        "void *pe_storage(int i);",
        "void pe_kernel(void *const *args);",
        "",
        *block("void *pe_storage(int i)", [*block("switch (i)", [*cases, "default: return 0;"])]),
        "",
        # noipa: gcc 12 was seen to delete the call of a function that only writes through its arguments.
        "#if defined __GNUC__ && !defined __clang__",
        "#define PE_ALONE __attribute__((noinline, noipa))",
        "#else",
        "#define PE_ALONE __attribute__((noinline))",
        "#endif",
        f"static void PE_ALONE pe_nest({', '.join(formal) or 'void'})",
        *block("", inner),
        "",
        "void pe_kernel(void *const *args)",
        *block("", ["(void)args;", f"pe_nest({', '.join(actual)});"]),
    ]
    includes = ["stddef.h", "stdint.h", "stdbool.h", *(["stdlib.h"] if tables else [])]
    functions = {name for node in nest.body for name in _calls(node)}
    if functions - _STDLIB:
        includes.append("math.h")
    if functions & _STDLIB:
        includes.append("stdlib.h")
    head = "".join(f"#include <{h}>\n" for h in includes)
    return head + preamble(body, errno=errno, contained=True) + "\n".join(lines) + "\n", tuple(specs)


def _extents(array: Array, values: Mapping[str, int]) -> list[str]:
    extents = []
    for extent in array.shape:
        assert extent is not None
        try:
            extents.append(max(extent.evaluate(values), 1))
        except KeyError as missing:
            raise CodegenUnsupported(f"global array {array.name}: no value for {missing}") from None
    if array.flat:
        total = 1
        for e in extents:
            total *= e
        extents = [total]
    return [str(e) for e in extents]


def _row_type(array: Array) -> Callable[[str], str]:
    """Makes the declaration of a name with so many stars: of a pointer to pointers to an array's rows."""
    tail = "".join(f"[{e.const}]" for e in array.shape[array.rows + 1 :] if e is not None)
    return lambda name: f"{array.ctype} ({name}){tail}" if tail else f"{array.ctype} {name}"


def _table_function(array: Array) -> list[str]:
    """Makes the tables of pointers once for each block that the rows lie in."""
    declared, stars = _row_type(array), "*" * array.rows
    levels = array.rows
    count = " * ".join(f"places[{k}]" for k in range(levels))
    body = [
        f"static {declared(f'{stars}*top')};",
        f"static {declared('**rows')};",
        "static char *made;",
        "char *base = block;",
        "const long *places = where;",
        "if (made == base)",
        "    return top;",
        f"rows = malloc(sizeof *rows * (size_t)({count} + 1));",
        "if (!rows)",
        "    abort();",
        f"for (long k = 0; k < {count}; k++)",
        f"    rows[k] = (void *)(base + places[{levels} + k]);",
    ]
    if levels == 1:
        body.append("top = rows;")
    else:
        body += [
            "top = malloc(sizeof *top * (size_t)(places[0] + 1));",
            "if (!top)",
            "    abort();",
            "for (long k = 0; k < places[0]; k++)",
            "    top[k] = rows + k * places[1];",
        ]
    body += ["made = base;", "return top;"]
    return block(f"static void *pe_table_{array.name}(void *block, const void *where)", body)


def _pointer(array: Array, printer: Printer) -> tuple[str, str]:
    """(declaration of the function's argument, its type for a cast)."""
    element = ("const " if array.const else "") + array.ctype
    # Named arrays are known to overlap no others, which is what restrict says.
    restrict = "" if array.storage is Storage.POINTER else "restrict "
    if array.flat or len(array.shape) == 1:
        return f"{element} *{restrict}{array.name}", f"{element} *"
    inner = []
    for extent in array.shape[1:]:
        if extent is None:
            raise CodegenUnsupported(f"array {array.name} has an unknown inner extent")
        inner.append(printer.affine(extent)[0])
    tail = "".join(f"[{e}]" for e in inner)
    return f"{element} (*{restrict}{array.name}){tail}", "void *"


def _calls(node: Node) -> Iterator[str]:
    if isinstance(node, Statement):
        for action in node.body:
            yield from _action_calls(action)
        return
    if isinstance(node, Loop):
        for bound in (node.start, node.stop):
            if not isinstance(bound, tuple):
                yield from _expr_calls(bound)
    elif isinstance(node, Predicate):
        yield from _expr_calls(node.condition)
    else:
        assert isinstance(node, Guard)
    for child in node.body:
        yield from _calls(child)


def _action_calls(action: Action) -> Iterator[str]:
    if isinstance(action, Assign):
        yield from _access_calls(action.target)
        yield from _expr_calls(action.value)
        return
    yield from _expr_calls(action.condition)
    for inner in (*action.then, *action.orelse):
        yield from _action_calls(inner)


def _access_calls(access: Access) -> Iterator[str]:
    for subscript in access.subscripts:
        if not isinstance(subscript, Affine):
            yield from _expr_calls(subscript)


def _expr_calls(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Call):
        yield expr.function
    if isinstance(expr, Read):
        yield from _access_calls(expr.access)
    for child in children(expr):
        yield from _expr_calls(child)
