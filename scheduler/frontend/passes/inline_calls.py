"""Calls of functions with loops, arrays or effects, replaced by the statements of their bodies before a region is read.

The region is copied: variables declared in it, and those of each call, are fresh ones. Nodes of a function of the file
keep their offsets, so that a refusal can say where in the function it is.

Long, because statements, the arguments of calls in them and the bodies of these are copied by each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scheduler.frontend.analysis.aliases import Aliases
from scheduler.frontend.analysis.mod_ref import ModRef
from scheduler.frontend.c_ast.clone import Cloner, is_lasting
from scheduler.frontend.c_ast.csyntax import (
    Bin,
    CCall,
    CExpr,
    CFunction,
    Compound,
    Cond,
    Conv,
    CStmt,
    CType,
    DeclStmt,
    ExprStmt,
    ForStmt,
    IfStmt,
    Items,
    Leave,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Unit,
    Unmodelled,
    Variable,
    all_expressions,
    operands,
    statements,
    strip,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import explicit
from scheduler.frontend.c_ast.reject import LeftAround, Reject
from scheduler.frontend.c_ast.scalars import (
    declared_inside,
    flatten,
    iterator_of,
    returns,
    returns_always,
    written_variables,
)
from scheduler.frontend.passes.a_normal_form import ANormalForm
from scheduler.frontend.passes.inline_arguments import Arguments, unfit
from scheduler.frontend.passes.inline_returns import inlinable
from scheduler.frontend.passes.sroa_by_address import split_by_address

_MAX_DEPTH = 6
_MAX_NODES = 6000  # of the copies in one region
_MAX_LOOPS = 8  # what is larger is tuned in parts: programs that call all their steps from one loop over time
_ADVICE = "write the body of the function in the loop"
_APART = "call it in a statement of its own"
_VOID = CType("void", "void")

Values = dict[Variable, CExpr]
Places = tuple[CExpr, ...]
Path = tuple[tuple[str, int], ...]  # functions that are called by each other, each with the place of the call


class Calls:
    """Of one region of a function.

    `sites`: the functions whose bodies were put in, and where the region calls them; `repeated`: of those with loops,
    the calls that get the same arguments in every iteration.
    """

    def __init__(self, unit: Unit, caller: CFunction, effects: ModRef, aliases: Aliases) -> None:
        self.unit = unit
        self.caller = caller
        self.effects = effects
        self.aliases = aliases
        self.sites: dict[str, list[int]] = {}
        self.repeated: list[tuple[str, int]] = []
        self.bodies: dict[str, tuple[CStmt, ...]] = {}
        self.hidden: set[str] = set()
        self.varying: set[Variable] = set()  # of the region
        self.nodes = 0
        self.path: Path = ()
        self.paths: dict[str, Path] = {}  # to each function of `sites` that is called first
        self.places: dict[int, CExpr] = {}  # what stands for parts of what is copied, by their identity
        self.at: int | None = None  # of what is copied, where it is not of this file

    def region(self, region: tuple[CStmt, ...]) -> tuple[CStmt, ...]:
        """The statements that stand for a region. Raises Reject."""
        if not any(self._is_block(e) for stmt in region for e in all_expressions(stmt)):
            return region
        self.hidden = {v.name for v in self.caller.parameters} | {
            v.name for v in declared_inside((self.caller.body,)) - declared_inside(region)
        }
        self.varying = {*declared_inside(region), *written_variables(region)}
        for stmt in region:
            self.varying |= {
                v for s in statements(stmt) if isinstance(s, ForStmt) and (v := iterator_of(s)) is not None
            }
        values: Values = {}
        result: list[CStmt] = []
        for stmt in region:
            called = sum(map(len, self.sites.values()))
            copied = self.stmt(stmt, values)
            loops = sum(isinstance(s, ForStmt) for c in copied for s in statements(c))
            if sum(map(len, self.sites.values())) > called and loops > _MAX_LOOPS:
                reason = f"with the functions that it calls the loop holds {loops} loops, too many to tune as one"
                raise self._left_around(stmt, reason)
            result += copied
        return split_by_address(flatten(result))

    def _left_around(self, stmt: CStmt, reason: str) -> Reject:
        """Loops of functions of other files are not looked at where these are only included."""
        for name in self.sites:
            function = self.unit.functions[name]
            if not function.in_file and self.effects.has_loops(function):
                return Reject(stmt.begin, reason, f"define '{function.part_of or name}' in the file that calls it")
        return LeftAround(stmt.begin, reason)

    def _is_block(self, expr: CExpr) -> bool:
        function = self.unit.functions.get(expr.name) if isinstance(expr, CCall) else None
        return function is not None and self.effects.is_block(function)

    # --------------------------------------------------------------------------------- statements

    def stmts(self, body: tuple[CStmt, ...], values: Values) -> tuple[CStmt, ...]:
        return tuple(s for stmt in body for s in self.stmt(stmt, values))

    def stmt(self, stmt: CStmt, values: Values) -> list[CStmt]:
        begin, end = (stmt.begin, stmt.end) if self.at is None else (self.at, self.at)
        match stmt:
            case ExprStmt(expr=expr):
                return self._expression(expr, begin, end, values)
            case DeclStmt(variables=variables):
                result: list[CStmt] = []
                declared: list[Variable] = []
                for variable in variables:
                    fresh = self._copy(variable, values)
                    if variable.init is not None:
                        before, fresh.init = self.expr(variable.init, values)
                        if fresh.ctype.kind == "pointer":
                            self.aliases.set_to(fresh, fresh.init)
                        if before and declared:
                            result.append(DeclStmt(tuple(declared), begin, end))
                            declared = []
                        result += before
                    declared.append(fresh)
                return [*result, DeclStmt(tuple(declared), begin, end)]
            case Compound(body=body):
                return [Compound(self.stmts(body, values), begin, end)]
            case IfStmt():
                before, condition = self.expr(stmt.condition, values)
                then = self._one(stmt.then, values)
                orelse = None if stmt.orelse is None else self._one(stmt.orelse, values)
                return [*before, IfStmt(condition, then, orelse, begin, end)]
            case ForStmt():
                first = [] if stmt.init is None else self.stmt(stmt.init, values)
                test, increment = self._fixed_part(stmt.condition, values), self._fixed_part(stmt.increment, values)
                inner = self._one(stmt.body, values)
                init = first.pop() if first else None
                return [
                    *first,
                    replace(stmt, init=init, condition=test, increment=increment, body=inner, begin=begin, end=end),
                ]
            case ReturnStmt():
                value = self._fixed_part(stmt.value, values)  # of the region itself: it is refused as it stands
                return [ReturnStmt(value, begin, end)]
            case Leave(reason=reason):
                called = (f"calls '{name}'" for name in self._within())
                return [replace(stmt, reason=", which ".join((*called, reason)), begin=begin, end=end)]
            case OtherStmt():
                exprs = tuple(self._fixed(e, values) for e in stmt.exprs)
                held = tuple(self._one(s, values) for s in stmt.body)
                return [replace(stmt, exprs=exprs, body=held, begin=begin, end=end)]
            case _:
                return [replace(stmt, begin=begin, end=end)]

    def _one(self, stmt: CStmt, values: Values) -> CStmt:
        found = self.stmt(stmt, values)
        begin, end = (stmt.begin, stmt.end) if self.at is None else (self.at, self.at)
        return found[0] if len(found) == 1 else Compound(tuple(found), begin, end)

    def _copy(self, variable: Variable, values: Values) -> Variable:
        ctype = self._cloner(values).type_(variable.ctype)
        fresh = replace(variable, ctype=ctype, init=None, offset=variable.offset if self.at is None else self.at)
        self.aliases.copied(fresh, variable)
        values[variable] = Ref(fresh, ctype, fresh.offset)
        return fresh

    def _expression(self, expr: CExpr, begin: int, end: int, values: Values) -> list[CStmt]:
        bare = strip(expr)
        while isinstance(bare, Conv) and bare.ctype.kind == "void":
            bare = strip(bare.operand)
        if isinstance(bare, Bin) and bare.op == "," and any(map(self._is_block, subexpressions(bare))):
            parts = (bare.left, bare.right)
            return [s for part in parts for s in self._expression(part, begin, end, values)]
        if isinstance(bare, CCall) and bare.name in self.unit.functions:
            return self._call(bare, values, False)[0]
        if isinstance(bare, Set) and isinstance(bare.left, Items) and isinstance(bare.right, CCall):
            return self._receive(bare.left.items, bare.right, values)
        before, new = self.expr(expr, values)
        return [*before, ExprStmt(new, begin, end)]

    def _receive(self, targets: Places, call: CCall, values: Values) -> list[CStmt]:
        """All that a call returns, assigned; variables that only get a variable of the call are that one."""
        into = tuple(map(self._cloner(values).expr, targets))
        found = self._call(call, values, False, into)[0]
        body = self._body(self.unit.functions[call.name])
        if any(map(returns, body[:-1])) or not isinstance(body[-1], ReturnStmt):
            return found
        made = {v for s in found if isinstance(s, DeclStmt) for v in s.variables}
        first = len(found) - len(targets)
        kept: list[CStmt] = []
        for target, stmt in zip(targets, found[first:], strict=True):
            assert isinstance(stmt, ExprStmt) and isinstance(stmt.expr, Set)
            value = stmt.expr.right
            once = isinstance(target, Ref) and target.var.writes == 1 and not target.var.address_taken
            own = isinstance(value, Ref) and value.var in made and not value.var.address_taken
            if once and own and isinstance(target, Ref) and target.ctype.name == value.ctype.name:
                values[target.var] = value
            else:
                kept.append(stmt)
        return [*found[:first], *kept]

    # -------------------------------------------------------------------------------- expressions

    def _cloner(self, values: Values, results: dict[int, CExpr] | None = None) -> Cloner:
        return Cloner(values, self.at, len(self.path), {**self.places, **(results or {})}, self._within())

    def _within(self) -> tuple[str, ...]:
        """The functions that what is copied comes from, where they are not of this file."""
        return () if self.at is None else tuple(name.partition(".")[0] for name, _ in self.path)

    def expr(self, expr: CExpr, values: Values) -> tuple[list[CStmt], CExpr]:
        """A copy of an expression, and the statements that calls in it stand for. Raises Reject."""
        self._spend(expr)
        calls = list(self._outermost(expr, True))
        self._check_order(expr, [call for call, _ in calls])
        before: list[CStmt] = []
        results: dict[int, CExpr] = {}
        if not all(always for _, always in calls):
            return self._in_branches(expr, values)
        for call, _ in calls:
            statements_, result = self._call(call, values, True)
            assert result is not None
            before += statements_
            results[id(call)] = result
        return before, self._cloner(values, results).expr(expr)

    def _in_branches(self, expr: CExpr, values: Values) -> tuple[list[CStmt], CExpr]:
        """The same where C may not evaluate a call: `x = a ? f(b) : c;` is `if (a) x = f(b); else x = c;`."""
        spread = ANormalForm(self._is_block, False)
        new = spread.run(expr)
        held = [(call, always) for call, always in self._outermost(new, True) if not always]
        if held:
            raise Reject(self._place(held[0][0]), f"calls '{held[0][0].function}' where C may not evaluate it", _APART)
        before = [s for stmt in spread.before for s in self.stmt(stmt, values)]
        rest, value = self.expr(new, values)
        return [*before, *rest], value

    def _fixed_part(self, expr: CExpr | None, values: Values) -> CExpr | None:
        return None if expr is None else self._fixed(expr, values)

    def _fixed(self, expr: CExpr, values: Values) -> CExpr:
        """A copy of an expression that is evaluated again and again."""
        for call, _ in self._outermost(expr, True):
            raise Reject(self._place(call), f"calls '{call.function}' in the header of a loop", _APART)
        return self.expr(expr, values)[1]

    def _outermost(self, expr: CExpr, always: bool) -> Iterator[tuple[CCall, bool]]:
        """Calls of blocks that are not arguments of such calls, and whether they are certainly evaluated."""
        if isinstance(expr, CCall) and self._is_block(expr):
            yield expr, always
            return
        lazy = isinstance(expr, Cond) or (isinstance(expr, Bin) and expr.op in ("&&", "||", ","))
        for number, operand in enumerate(operands(expr)):
            yield from self._outermost(operand, always and not (lazy and number))

    def _check_order(self, expr: CExpr, calls: list[CCall]) -> None:
        """C does not say in which order calls and reads of one expression happen; where that matters, no compiler must.

        Raises Reject.
        """
        for call in calls:
            effect = self.effects.of(self.unit.functions[call.name])
            if not effect.stores:
                continue
            arguments = Arguments(effect, self.unit, self.effects)
            inside = {id(part) for part in subexpressions(call)}
            top = strip(expr)
            target = top.left if isinstance(top, Set) and top.op == "=" else None
            for part in subexpressions(expr):
                if id(part) in inside or part is target or (part is top and isinstance(top, Set | CCall)):
                    continue
                if not arguments.is_steady_node(part):
                    reason = f"calls '{call.function}', which changes memory, beside something that it might change"
                    raise Reject(self._place(call), reason, _APART)

    def _spend(self, expr: CExpr) -> None:
        self.nodes += sum(1 for _ in subexpressions(expr))
        if self.nodes > _MAX_NODES:
            raise Reject(self._place(expr), "the functions called from the loop are too large to inline", _ADVICE)

    def _place(self, expr: CExpr) -> int:
        return expr.at if self.at is None else self.at

    # -------------------------------------------------------------------------------------- calls

    def _call(self, call: CCall, values: Values, wanted: bool, into: Places = ()) -> tuple[list[CStmt], CExpr | None]:
        """The statements a call stands for, and its value where that is wanted; `into`: what gets the members of a
        structure. Raises Reject."""
        function, at = self.unit.functions[call.name], self._place(call)
        looped = function.in_file and self.effects.has_loops(function)
        if not self.path and looped and not self._varies(call):
            self.repeated.append((call.function, at))
        problem = self._problem(function, call)
        if problem is not None:
            raise Reject(at, f"calls '{call.function}', which {problem}", _ADVICE)
        before: list[CStmt] = []
        passed: list[CExpr] = []
        for argument in call.arguments:
            statements_, new = self.expr(argument, values)
            before += statements_
            passed.append(new)
        self._check_order(call, [c for a in call.arguments for c, _ in self._outermost(a, True)])
        inner: Values = {}
        arguments = Arguments(self.effects.of(function), self.unit, self.effects)
        for parameter, argument in zip(function.parameters, passed, strict=True):
            bound = arguments.bind(parameter, argument, inner, at)
            if isinstance(bound, str):
                raise Reject(at, f"calls '{call.function}', which {bound}", _ADVICE)
            before += bound
        outer_at, self.path = self.at, (*self.path, (call.name, at))
        self.paths.setdefault(call.name, self.path)
        if not function.in_file:
            self.at = at
        place = at if len(self.path) == 1 else self.sites[self.path[0][0]][-1]
        self.sites.setdefault(call.name, []).append(place)
        value: CExpr | None = None
        body = self._body(function)
        if wanted and isinstance(last := body[-1] if body else None, ReturnStmt) and not any(map(returns, body[:-1])):
            before += self.stmts(body[:-1], inner)
            more, value = self._value(last, inner, function, at)
            before += more
        elif wanted:
            result = _result(function, at)
            before.append(DeclStmt((result,), at, at))
            value = Ref(result, result.ctype, at)
            before += self._tail(body, inner, function, (value,))
        else:
            before += self._tail(body, inner, function, into)
        self.at, self.path = outer_at, self.path[:-1]
        return before, value

    def _body(self, function: CFunction) -> tuple[CStmt, ...]:
        known = self.bodies.get(function.name)
        if known is None:
            known = self.bodies[function.name] = inlinable(self.effects.exits.function(function))
        return known

    def _value(self, stmt: ReturnStmt, values: Values, function: CFunction, at: int) -> tuple[list[CStmt], CExpr]:
        """What the only return of a function returns, in a variable where it is more than numbers nobody changes."""
        if stmt.value is None:
            raise Reject(at, f"calls '{function.part_of or function.name}', which returns no number", _ADVICE)
        before, value = self.expr(stmt.value, values)
        value = explicit(value, function.result)
        if all(map(is_lasting, subexpressions(value))):
            return before, value
        result = _result(function, at)
        result.init = value
        return [*before, DeclStmt((result,), at, at)], Ref(result, result.ctype, at)

    def _varies(self, call: CCall) -> bool:
        """What is passed depends on the loops around the call: it does its part of their work."""
        return any(isinstance(e, Ref) and e.var in self.varying for a in call.arguments for e in subexpressions(a))

    def _problem(self, function: CFunction, call: CCall) -> str | None:
        """What makes it impossible to put the body of a function in place of a call, as `which ...`."""
        if function.oddity:
            return function.oddity
        if function.part_of and self.effects.of(function).stores:
            return "returns a structure and changes memory"
        if len(function.parameters) != len(call.arguments):
            return "is called with other parameters than it has"
        if any(function.name == name for name, _ in self.path) or self.effects.calls_itself(function):
            return "calls itself"
        if len(self.path) >= _MAX_DEPTH:
            return "is too many calls away"
        if function.has_goto:
            return "has a goto, a label or assembly"
        for stmt in (s for top in self._body(function) for s in statements(top)):
            if isinstance(stmt, DeclStmt):
                for variable in stmt.variables:
                    if variable.storage == "static":
                        return f"uses its static variable '{variable.name}'"
                    if unfit(variable.ctype):
                        return f"declares '{variable.name}', which is volatile"
            if isinstance(stmt, ForStmt | OtherStmt) and any(isinstance(s, ReturnStmt) for s in statements(stmt)):
                return "returns from inside a loop"
        own = {*function.parameters, *declared_inside((function.body,))}
        for expr in all_expressions(self.effects.exits.function(function).body):
            if isinstance(expr, Ref) and expr.var not in own and expr.var.name in self.hidden:
                return f"uses the global '{expr.var.name}', hidden here by a variable of that name"
        return None

    def _tail(self, body: tuple[CStmt, ...], values: Values, function: CFunction, result: Places) -> list[CStmt]:
        """The rest of a function; `result` gets what it returns, where that is wanted."""
        found: list[CStmt] = []
        for position, stmt in enumerate(body):
            if isinstance(stmt, ReturnStmt):
                return [*found, *self._returned(stmt, values, function, result)]
            if isinstance(stmt, IfStmt) and returns(stmt):
                before, condition = self.expr(stmt.condition, values)
                branches = []
                for branch in (stmt.then, stmt.orelse):
                    own = () if branch is None else flatten((branch,))
                    whole = own if returns_always(own) else (*own, *body[position + 1 :])
                    inner = self._tail(whole, dict(values), function, result)
                    branches.append(Compound(tuple(inner), self._begin(stmt), self._begin(stmt)))
                begin = self._begin(stmt)
                return [*found, *before, IfStmt(condition, branches[0], branches[1], begin, begin)]
            found += self.stmt(stmt, values)
        if result:
            at = self.sites[function.name][-1]
            raise Reject(
                at, f"calls '{function.part_of or function.name}', which does not return a value on every path", _ADVICE
            )
        return found

    def _begin(self, stmt: CStmt) -> int:
        return stmt.begin if self.at is None else self.at

    def _returned(self, stmt: ReturnStmt, values: Values, function: CFunction, result: Places) -> list[CStmt]:
        at = self._begin(stmt)
        if stmt.value is None:
            return []
        if not result:
            dropped = strip(stmt.value)
            if not any(isinstance(e, Set | Step | CCall | Unmodelled) for e in subexpressions(dropped)):
                return []
            before, value = self.expr(stmt.value, values)
            parts = value.items if isinstance(value, Items) else (value,)
            return [*before, *(ExprStmt(Conv(part, True, _VOID, at), at, at) for part in parts)]
        before, value = self.expr(stmt.value, values)
        parts = value.items if isinstance(value, Items) else (value,)
        if len(parts) != len(result) or any(not part.ctype.is_scalar for part in parts):
            reason = f"calls '{function.name}', which returns a structure that is not understood"
            raise Reject(self.sites[function.name][-1], reason, _ADVICE)
        sets = (Set("=", r, explicit(p, r.ctype), r.ctype, at) for r, p in zip(result, parts, strict=True))
        return [*before, *(ExprStmt(assignment, at, at) for assignment in sets)]


def _result(function: CFunction, at: int) -> Variable:
    return Variable(f"{function.name}_result", replace(function.result, is_const=False), "local", at)
