"""What the reading of a nest took for granted: the values, types and texts that code written for it has to test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CCall,
    CExpr,
    CFunction,
    CStmt,
    CType,
    ForStmt,
    Index,
    Items,
    Lit,
    Meaning,
    Member,
    Ref,
    Set,
    Un,
    Unmodelled,
    Variable,
    all_expressions,
    statements,
)
from scheduler.frontend.c_ast.folding import fold, known_value
from scheduler.frontend.c_ast.reject import Reject
from scheduler.frontend.c_ast.scalars import declared_inside, iterator_of
from scheduler.frontend.model import SourceAssumptions
from scheduler.frontend.passes.exits import Exits
from scheduler.frontend.scop import values
from scheduler.frontend.scop.context import Context
from scheduler.ir.names import spelled
from scheduler.ir.nest import Expr, LoopNest, Span, Storage

Texts = tuple[tuple[int, int], ...]

_NUMBERS = ((3.0, 1.5, 2.25), (5.5, 7.0, 1.25), (0.375, 2.0, 9.5))  # sums and products of them are exact


def assumptions(
    ctx: Context, region: tuple[CStmt, ...], written: tuple[CStmt, ...], nest: LoopNest, span: Span
) -> SourceAssumptions:
    """Of a nest that was read from `region` in `ctx`, which stands for the statements `written` in the file."""
    called = list(callees(ctx.exits, written))
    inlined = [function for function in called if function.in_file]
    texts = ((span.begin, span.end), *sorted((f.begin, f.end) for f in inlined))
    variables = _variables(ctx, region, called)
    own = {spelled(v.name) for v in declared_inside((*region, *(f.body for f in called)))}
    own |= {spelled(v.name) for f in called for v in f.parameters}
    hidden = [f for f in called if not f.in_file and not _samples(ctx, f)]
    return SourceAssumptions(
        texts=texts,
        function=(ctx.function.begin, ctx.function.end),
        values=_spelled((*_values(ctx, variables), *_layouts(ctx), *_constants(ctx, texts, own), *_doubles(region))),
        types=_spelled((*_types(ctx, variables), *_member_types(ctx), *_type_names(ctx, texts))),
        dead=tuple(sorted({spelled(v.whole.name) for v in _set_inside(ctx, region)})),
        whole_file=_looked_around(ctx, nest),
        samples=tuple(s for f in called if not f.in_file for s in _samples(ctx, f)),
        hidden=tuple(sorted({f.part_of or f.name for f in hidden})),
        bodies=tuple(dict.fromkeys(f.text for f in hidden)),
        openmp=ctx.region.only_openmp,
        exact=ctx.assumed.trusting,
        library=tuple(sorted(n for n in ctx.assumed.called if not n.startswith("__builtin_"))),
        inspector=ctx.inspector,
        exits=tuple(ctx.reading.apart),
    )


def _spelled(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys((spelled(a), spelled(b)) for a, b in pairs))


def callees(exits: Exits, region: tuple[CStmt, ...]) -> Iterator[CFunction]:
    """The functions with a body here that the region calls, directly or not."""
    seen: set[str] = set()
    pending = list(region)
    while pending:
        for expr in all_expressions(pending.pop()):
            function = exits.unit.functions.get(expr.name) if isinstance(expr, CCall) else None
            if function is not None and function.name not in seen:
                seen.add(function.name)
                function = exits.function(function)
                yield function
                pending.append(function.body)


def _variables(ctx: Context, region: tuple[CStmt, ...], called: list[CFunction]) -> list[Variable]:
    """Those declared outside that the region and what it calls name, and those that stand for them."""
    found: dict[Variable, None] = {}
    for stmt in (*region, *(function.body for function in called)):
        own = ctx.scope.inside if stmt in region else set()
        for expr in all_expressions(stmt):
            if not isinstance(expr, Ref) or expr.var in own:
                continue
            if stmt in region or expr.var.storage == "global":
                found[expr.var] = None
    for variable in (*ctx.assumed.maybe_parameters.values(), *(a.variable for a in ctx.accesses.arrays.values())):
        if variable is not None and variable not in ctx.scope.inside:
            found[variable] = None
    return [v for v in found if ctx.scope.outside.get(v.name, v) is v]


def _values(ctx: Context, variables: list[Variable]) -> Iterator[tuple[str, str]]:
    for variable in variables:
        if variable.ctype.kind == "int":
            value = fold(Ref(variable, variable.ctype, -1))
            value = known_value(variable) if value is None else value
            if value is not None:
                yield variable.text, str(value)
        derived = (
            ctx.assumed.derived.get(variable) is not None or ctx.accesses.derived_pointers.get(variable) is not None
        )
        if derived and variable.init_text:
            yield variable.name, f"({variable.init_text})"


def _constants(ctx: Context, texts: Texts, hidden: set[str]) -> Iterator[tuple[str, str]]:
    for found in _meant(ctx, ctx.unit.meanings.constants, texts):
        if not hidden & set(re.findall(r"\w+", found.text)):
            yield found.text, str(found.meaning)


def _doubles(region: tuple[CStmt, ...]) -> Iterator[tuple[str, str]]:
    """That constants like 1.0 are doubles."""
    exprs = (e for stmt in region for e in all_expressions(stmt))
    if any(isinstance(e, Lit) and e.ctype.name == "double" for e in exprs):
        yield "sizeof(1.0)", "8"


def _type_names(ctx: Context, texts: Texts) -> Iterator[tuple[str, str]]:
    for found in _meant(ctx, ctx.unit.meanings.type_names, texts):
        text = type_text(found.meaning) if isinstance(found.meaning, CType) else None
        if text is not None:
            yield found.text, text


def _meant(ctx: Context, meanings: list[Meaning], texts: Texts) -> Iterator[Meaning]:
    """What is used in the texts and can be named in front of the region."""
    for found in meanings:
        visible = found.declared < 0 or ctx.function.begin <= found.declared < ctx.begin
        if visible and any(begin <= found.at < end for begin, end in texts):
            yield found


def _samples(ctx: Context, function: CFunction) -> tuple[tuple[str, Expr], ...]:
    """Calls of a function with numbers, and what its body makes of them; none where that might not be harmless."""
    if not all(p.ctype.is_scalar and "(" not in p.whole.ctype.name for p in function.parameters):
        return ()
    if not all(_is_harmless(e, function) for e in all_expressions(function.body)):
        return ()
    found = []
    for numbers in _NUMBERS:
        arguments = tuple(_number(p.ctype, numbers[k % len(numbers)]) for k, p in enumerate(function.parameters))
        try:
            call = CCall(function.name, arguments, function.result, -1)
            with ctx.conditional():
                result = values.value(ctx, call)
        except Reject:
            return ()
        found.append((_called(function, arguments), result))
    return tuple(found)


def _called(function: CFunction, arguments: tuple[Lit, ...]) -> str:
    """The call in C, with structures put together of their members."""
    texts: list[str] = []
    last: Variable | None = None
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        owner = parameter.owner
        if owner is None:
            texts.append(argument.text)
            continue
        member = f"{parameter.base.removeprefix(owner.name)} = {argument.text}"
        if owner is last:
            texts[-1] = f"{texts[-1].removesuffix(' }')}, {member} }}"
        else:
            texts.append(f"({owner.ctype.name}){{ {member} }}")
        last = owner
    name = function.part_of or function.name
    return f"{name}({', '.join(texts)}){function.name.removeprefix(name)}"


def _is_harmless(expr: CExpr, function: CFunction) -> bool:
    """Evaluated anywhere it does nothing but give a number, and never fails."""
    if not expr.ctype.is_scalar or isinstance(expr, Index | Member | Unmodelled | Items):
        return False
    if isinstance(expr, Ref):
        return expr.var.storage not in ("global", "static")
    if isinstance(expr, Bin | Set) and expr.ctype.kind == "int":
        return expr.op.removesuffix("=") not in ("/", "%", "<<", ">>")
    return not isinstance(expr, Un) or expr.op not in ("*", "&")


def _number(ctype: CType, number: float) -> Lit:
    if ctype.kind == "int":
        return Lit(str(int(number)), int(number), INT, -1)
    return Lit(str(number), number, CType("float", "double"), -1)


def _types(ctx: Context, variables: list[Variable]) -> Iterator[tuple[str, str]]:
    for variable in variables:
        if variable.ctype.kind in ("int", "float", "pointer", "array"):
            yield typed(variable.text, variable.ctype, variable.storage == "param")
    for root, ctype in ctx.accesses.member_types.items():
        if ctype.kind in ("int", "float", "pointer", "array"):
            yield typed(root.text, ctype, False)


def _placed(ctx: Context) -> Iterator[tuple[str, str, int, CType, CType]]:
    """(an element of an array of structures, members, offset, types of both) of the members that are used."""
    for (root, steps), (offset, record, ctype) in ctx.accesses.placed.items():
        declared = ctx.accesses.member_types[root] if root.path else root.variable.ctype
        dimensions = 0
        inner: CType | None = declared
        while inner is not None and inner.kind in ("pointer", "array"):
            dimensions, inner = dimensions + 1, inner.element
        yield root.text + "[0]" * dimensions, ".".join(steps), offset, record, ctype


def _layouts(ctx: Context) -> Iterator[tuple[str, str]]:
    """Sizes of structures, and where their members are."""
    for element, member, offset, record, _ in _placed(ctx):
        yield f"sizeof({element})", str(ctx.unit.records[record.name].size)
        yield f"__builtin_offsetof(__typeof__({element}), {member})", str(offset)


def _member_types(ctx: Context) -> Iterator[tuple[str, str]]:
    for element, member, _, record, _ in _placed(ctx):
        ctype: CType | None = record
        for step in member.split("."):
            fields = ctx.unit.records[ctype.name].fields if ctype is not None else ()
            ctype = next((f.ctype for f in fields if f.name == step), None)
            while ctype is not None and "." in member and ctype.kind == "array":
                ctype = ctype.element
        if ctype is not None:
            yield typed(f"{element}.{member}", ctype, False)


def typed(text: str, ctype: CType, parameter: bool) -> tuple[str, str]:
    """An expression for an object (or an element of it, where a size is no constant), and its type in C."""
    if parameter and ctype.kind == "array" and ctype.element is not None:
        ctype = CType("pointer", "", ctype.element)
    whole = type_text(ctype)
    element: CType | None = ctype
    while whole is None and element is not None and element.kind in ("pointer", "array"):
        text, element = f"{text}[0]", element.element
        whole = type_text(element) if element is not None else None
    return text, whole or "void"


def type_text(ctype: CType, name: str = "") -> str | None:
    """A type in C; None where it has no name or a size that is no constant."""
    if ctype.kind == "pointer" and ctype.element is not None:
        inner = f"*{'const ' if ctype.is_const else ''}{name}".strip()
        return type_text(ctype.element, f"({inner})" if ctype.element.kind == "array" else inner)
    if ctype.kind == "array" and ctype.element is not None:
        if not (ctype.extent is None or isinstance(ctype.extent, int)):
            return None
        return type_text(ctype.element, f"{name}[{'' if ctype.extent is None else ctype.extent}]")
    if ctype.kind not in ("int", "float", "void", "record"):
        return None
    base = ctype.name.removeprefix("const ").removeprefix("volatile ")
    if "(" in base:  # a structure or union without a name
        return None
    return f"{'const ' if ctype.is_const else ''}{base}{' ' if name.startswith(('*', '(')) else ''}{name}"


def _set_inside(ctx: Context, region: tuple[CStmt, ...]) -> Iterator[Variable]:
    """Variables from outside that the region sets for itself, or what stands for them in a loop."""
    inside = ctx.scope.inside - ctx.region.owned.keys()
    for variable in ctx.region.writes:
        own = variable in ctx.scope.windows or any(v is variable for v, _ in ctx.scope.privates)
        if own and variable not in inside:
            yield variable
    for stmt in region:
        for inner in statements(stmt):
            iterator = iterator_of(inner) if isinstance(inner, ForStmt) else None
            if iterator is not None and iterator not in inside:
                yield iterator


def _looked_around(ctx: Context, nest: LoopNest) -> bool:
    """Whether it matters what the rest of the file does with pointers."""
    kinds = {a.storage for a in nest.arrays}
    for array in nest.arrays:
        info = ctx.accesses.arrays.get(array.name)
        if array.storage is Storage.RESTRICT and info is not None and info.storage is not Storage.RESTRICT:
            return True  # shown to be apart from all others
    if Storage.POINTER not in kinds:
        return False
    parameters = [ctx.assumed.maybe_parameters[p.name] for p in nest.parameters]
    return Storage.RESTRICT in kinds or any(v.storage == "global" and not v.ctype.is_const for v in parameters)
