"""Structure variables as one variable a member, and assignments of structures as one assignment a member.

Afterwards a structure that is passed to or returned from a function is its members, too: `cmul` that returns a
complex number becomes `cmul.re` and `cmul.im`, whose parameters are numbers. Structures in memory that pointers or
arrays lead to stay; `scop.values` reads them.

Long, because expressions, statements and functions are rewritten by each other.
"""

from __future__ import annotations

from dataclasses import replace

from scheduler.frontend.c_ast.aggregates import (
    Leaf,
    Steps,
    Unclear,
    declared_in,
    is_place,
    leaves,
    member_variable,
    passed_only,
    repeats_unchanged,
    stepped,
    used_whole,
    variables_of,
    zero_of,
)
from scheduler.frontend.c_ast.csyntax import (
    INT,
    RECORD_COPY,
    RECORD_VALUE,
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
    Index,
    Items,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Unit,
    Unmodelled,
    Variable,
    all_expressions,
    statements,
    strip,
)
from scheduler.frontend.passes.hoist_calls import hoist_calls

_LITERAL = "a compound literal"


def sroa(unit: Unit) -> None:
    """Rewrites the functions of a unit."""
    splitter = _Sroa(unit)
    if any(_has_records(f) for f in unit.functions.values()):
        splitter.run()


def _has_records(function: CFunction) -> bool:
    if function.result.kind == "record" or any(p.ctype.kind == "record" for p in function.parameters):
        return True
    return any(e.ctype.kind == "record" for e in all_expressions(function.body)) or any(
        v.ctype.kind == "record" for s in statements(function.body) if isinstance(s, DeclStmt) for v in s.variables
    )


class _Sroa:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.names: set[str] = set()
        self.members: dict[Variable, dict[Steps, Variable]] = {}  # of the variables that are taken apart
        self.split: dict[str, tuple[Leaf, ...]] = {}  # functions that return structures
        self.in_headers: set[Variable] = set()  # of loops
        self.received: set[Variable] = set()  # that are declared with the result of a call
        self.assigned: dict[Variable, CExpr] = {}  # these and copies of what holds arrays: set behind their declaration
        self.rewritten: set[Variable] = set()  # their initializers: the parts of a function share its variables

    def run(self) -> None:
        functions = list(self.unit.functions.values())
        for function in functions:
            parts = leaves(self.unit, function.result) if function.result.kind == "record" else None
            if parts is not None and all(p.ctype.is_scalar for p in parts):
                self.split[function.name] = parts
        self.received = hoist_calls(self.unit, self._returns_members)
        found: dict[Variable, None] = {}
        for function in functions:
            for variable in variables_of(function):
                self.names.add(variable.name)
                if variable.ctype.kind == "record":
                    found[variable] = None
        whole = {v for f in functions for v in used_whole(f)}
        loops = (s for f in functions for s in statements(f.body) if isinstance(s, ForStmt))
        self.in_headers = {v for s in loops if isinstance(s.init, DeclStmt) for v in s.init.variables}
        for variable in found:  # globals first: their members are named in all functions
            if variable not in whole and variable.storage == "global":
                self._take_apart(variable, self.names)
        for function in functions:
            taken, own = set(self.names), declared_in(function)
            for variable in found:
                if variable not in whole and variable.storage != "global" and variable in own:
                    self._take_apart(variable, taken)
        for variable, members in self.members.items():
            if variable.init is not None and (variable in self.received or self._is_copy(variable, members)):
                self.assigned[variable] = variable.init
                for member in members.values():
                    member.writes += 1
            elif variable.init is not None:
                for steps, member in members.items():
                    member.init = self._initial(variable.init, steps, member.ctype)
        for variable in passed_only(functions) - self.in_headers:
            if variable.init is not None and variable not in self.members:
                self.assigned[variable], variable.init = variable.init, None
        for function in functions:
            self.unit.functions[function.name] = self._function(function, None)
            for part in self.split.get(function.name, ()):
                name = function.name + part.text
                self.unit.functions[name] = replace(self._function(function, part), name=name, part_of=function.name)
        self._count(functions)

    def _is_copy(self, variable: Variable, members: dict[Steps, Variable]) -> bool:
        """A variable with arrays in it, and a value that is not listed."""
        if variable.storage != "local" or variable in self.in_headers or variable.init is None:
            return False
        listed = isinstance(strip(variable.init), Items | Unmodelled)
        return not listed and any(member.ctype.kind == "array" for member in members.values())

    def _returns_members(self, expr: CExpr) -> bool:
        return isinstance(expr, CCall) and expr.name in self.split

    # ---------------------------------------------------------------------------------- variables

    def _take_apart(self, variable: Variable, taken: set[str]) -> None:
        """Makes a variable of each member that is no structure itself."""
        if variable.address_taken or variable.oddity or variable.ctype.is_volatile or variable.storage == "other":
            return
        made: dict[Steps, Variable] = {}

        def visit(ctype: CType, steps: Steps) -> bool:
            record = self.unit.records.get(ctype.name)
            if record is None or record.problem:
                return False
            for field in record.fields:
                here = (*steps, field.name)
                if field.ctype.kind != "record":
                    made[here] = member_variable(variable, here, field.ctype, taken)
                elif not visit(field.ctype, here):
                    return False
            return True

        if not visit(variable.ctype, ()):
            return
        self.members[variable] = made

    def _count(self, functions: list[CFunction]) -> None:
        """Assignments and addresses of the new variables."""
        for function in functions:
            for expr in all_expressions(self.unit.functions[function.name].body):
                target: CExpr | None = None
                if isinstance(expr, Set):
                    target = expr.left
                elif isinstance(expr, Step) or (isinstance(expr, Un) and expr.op == "&"):
                    target = expr.operand
                while isinstance(target, Member) and not target.arrow:
                    target = target.base
                if isinstance(target, Ref) and target.var.owner is not None:
                    if not isinstance(expr, Un):
                        target.var.writes += 1
                    else:
                        owner = target.var.owner
                        for member in self.members[owner].values():  # the first one leads to all
                            member.address_taken = True

    # ---------------------------------------------------------------------------------- functions

    def _function(self, function: CFunction, part: Leaf | None) -> CFunction:
        parameters: list[Variable] = []
        for parameter in function.parameters:
            members = self.members.get(parameter)
            parameters += members.values() if members is not None else (parameter,)
        body = self._stmt(function.body, part)
        assert isinstance(body, Compound)
        result = function.result if part is None else part.ctype
        return replace(function, parameters=tuple(parameters), result=result, body=body)

    def _arguments(self, call: CCall) -> tuple[CExpr, ...]:
        """With one for each member where the parameters are."""
        function = self.unit.functions.get(call.name)
        result: list[CExpr] = []
        given = function.parameters if function is not None and not function.part_of else ()
        originals = self._originals(given)
        for position, argument in enumerate(call.arguments):
            parameter = originals[position] if position < len(originals) else None
            members = self.members.get(parameter) if parameter is not None else None
            if members is None:
                result.append(self.expr(argument))
                continue
            try:
                result += [self.leaf(argument, steps, member.ctype) for steps, member in members.items()]
            except Unclear:
                unknown = Unmodelled("a structure that is not understood", (self.expr(argument),), INT, argument.at)
                result += [replace(unknown, ctype=member.ctype) for member in members.values()]
        return tuple(result)

    def _originals(self, parameters: tuple[Variable, ...]) -> list[Variable]:
        """The parameters of a function as they were, whether or not it has been rewritten."""
        result: list[Variable] = []
        for parameter in parameters:
            original = parameter.whole
            if not result or result[-1] is not original:
                result.append(original)
        return result

    # --------------------------------------------------------------------------------- statements

    def _stmt(self, stmt: CStmt, part: Leaf | None) -> CStmt:
        match stmt:
            case ExprStmt(expr=expr):
                bare = strip(expr)
                if isinstance(bare, Set) and bare.op == "=" and bare.ctype.kind == "record":
                    return self._copied(bare, stmt.begin, stmt.end)
                return replace(stmt, expr=self.expr(expr))
            case DeclStmt():
                return self._declared(stmt)
            case Compound(body=body):
                inner: list[CStmt] = []
                for below in body:
                    new = self._stmt(below, part)
                    inner += new.body if isinstance(below, DeclStmt) and isinstance(new, Compound) else (new,)
                return replace(stmt, body=tuple(inner))
            case IfStmt():
                orelse = None if stmt.orelse is None else self._stmt(stmt.orelse, part)
                then = self._stmt(stmt.then, part)
                return replace(stmt, condition=self.expr(stmt.condition), then=then, orelse=orelse)
            case ForStmt():
                return replace(
                    stmt,
                    init=None if stmt.init is None else self._stmt(stmt.init, part),
                    condition=None if stmt.condition is None else self.expr(stmt.condition),
                    increment=None if stmt.increment is None else self.expr(stmt.increment),
                    body=self._stmt(stmt.body, part),
                )
            case ReturnStmt(value=value):
                if value is None:
                    return stmt
                if part is None:
                    return replace(stmt, value=self._returned(value))
                try:
                    return replace(stmt, value=self.leaf(value, part.steps, part.ctype))
                except Unclear:
                    return replace(stmt, value=Unmodelled("a structure", (self.expr(value),), part.ctype, value.at))
            case OtherStmt():
                exprs = tuple(self.expr(e) for e in stmt.exprs)
                return replace(stmt, exprs=exprs, body=tuple(self._stmt(s, part) for s in stmt.body))
        return stmt

    def _declared(self, stmt: DeclStmt) -> CStmt:
        result: list[CStmt] = []
        declared: list[Variable] = []
        for variable in stmt.variables:
            members = self.members.get(variable)
            declared += (variable,) if members is None else members.values()
            value = self.assigned.get(variable)
            if value is None:
                if members is None and variable.init is not None and variable not in self.rewritten:
                    self.rewritten.add(variable)
                    variable.init = self.expr(variable.init)
                continue
            result.append(DeclStmt(tuple(declared), stmt.begin, stmt.end))
            declared = []
            whole = Ref(variable, variable.ctype, value.at)
            if variable in self.received:
                places = tuple(self.leaf(whole, part.steps, part.ctype) for part in self._parts(value))
                left = Items(places, variable.ctype, whole.at)
                taken = Set("=", left, self.expr(value), variable.ctype, whole.at)
                result.append(ExprStmt(taken, stmt.begin, stmt.end))
            else:
                assignment = Set("=", whole, value, variable.ctype, whole.at)
                result.append(self._copied(assignment, stmt.begin, stmt.end))
        if declared or not result:
            result.append(replace(stmt, variables=tuple(declared)))
        return result[0] if len(result) == 1 else Compound(tuple(result), stmt.begin, stmt.end)

    def _parts(self, call: CExpr) -> tuple[Leaf, ...]:
        assert isinstance(call, CCall)
        return self.split[call.name]

    def _returned(self, value: CExpr) -> CExpr:
        """All numbers of a structure, where they can be told."""
        if value.ctype.kind != "record":
            return self.expr(value)
        parts = leaves(self.unit, value.ctype)
        try:
            if parts is None:
                raise Unclear
            return Items(tuple(self.leaf(value, p.steps, p.ctype) for p in parts), value.ctype, value.at)
        except Unclear:
            return Unmodelled("a structure", (self.expr(value),), value.ctype, value.at)

    def _initial(self, init: CExpr, steps: Steps, ctype: CType) -> CExpr:
        try:
            return self.leaf(init, steps, ctype)
        except Unclear:
            return Unmodelled(RECORD_VALUE, (self.expr(init),), ctype, init.at)

    def _copied(self, assignment: Set, begin: int, end: int) -> CStmt:
        """`a = b;` member by member."""
        at, left, right = assignment.at, assignment.left, strip(assignment.right)
        parts = leaves(self.unit, assignment.ctype)
        target = self._member_of(left)
        try:
            if (
                parts is None
                or not repeats_unchanged(left, assignment.ctype)
                or not repeats_unchanged(right, assignment.ctype)
            ):
                raise Unclear
            targets = [self.leaf(left, p.steps, p.ctype) for p in parts]
            sources = [self.leaf(right, p.steps, p.ctype) for p in parts]
        except Unclear:
            value = Unmodelled(RECORD_COPY, (self.expr(right),), assignment.ctype, at)
            if target is None:
                return ExprStmt(Set("=", self.expr(left), value, assignment.ctype, at), begin, end)
            sets = [Set("=", Ref(m, m.ctype, at), value, m.ctype, at) for m in self._below(*target)]
            return Compound(tuple(ExprStmt(s, begin, end) for s in sets), begin, end)
        before: list[CStmt] = []
        if not is_place(right):  # a value made of what the first assignments change
            temporaries = []
            for part, source in zip(parts, sources, strict=True):
                plain = replace(part.ctype, is_const=False)
                made = Variable(
                    "value" + part.text.replace(".", "_").translate(_PLAIN), plain, "local", at, init=source
                )
                before.append(DeclStmt((made,), begin, end))
                temporaries.append(Ref(made, plain, at))
            sources = list(temporaries)
        sets = [Set("=", t, s, p.ctype, at) for t, s, p in zip(targets, sources, parts, strict=True)]
        return Compound((*before, *(ExprStmt(s, begin, end) for s in sets)), begin, end)

    # -------------------------------------------------------------------------------- expressions

    def expr(self, expr: CExpr) -> CExpr:
        """With members in place of the variables that are taken apart."""
        converted = isinstance(expr, Conv) and expr.ctype.kind != "record"  # the conversion stays
        found = None if converted else self._member_of(expr)
        if found is not None:
            variable, steps = found
            member = self.members[variable].get(steps)
            if member is not None:
                return Ref(member, expr.ctype, expr.at)
            return Items(tuple(Ref(m, m.ctype, expr.at) for m in self._below(variable, steps)), expr.ctype, expr.at)
        match expr:
            case Member(base=base):
                bare = strip(base)
                unread = isinstance(bare, Unmodelled) and bare.what != _LITERAL
                if base.ctype.kind == "record" and not is_place(bare) and not unread:
                    try:
                        return self.leaf(base, (expr.name,), expr.ctype)
                    except Unclear:
                        return Unmodelled("a member of a structure value", (self.expr(base),), expr.ctype, expr.at)
                return replace(expr, base=self.expr(base))
            case CCall():
                return replace(expr, arguments=self._arguments(expr))
            case Index(base=base, index=index):
                return replace(expr, base=self.expr(base), index=self.expr(index))
            case Bin(left=left, right=right) | Set(left=left, right=right):
                return replace(expr, left=self.expr(left), right=self.expr(right))
            case Un(operand=operand) | Step(operand=operand) | Conv(operand=operand):
                return replace(expr, operand=self.expr(operand))
            case Cond():
                condition, then, orelse = (self.expr(e) for e in (expr.condition, expr.then, expr.orelse))
                return replace(expr, condition=condition, then=then, orelse=orelse)
            case Items(items=items):
                return replace(expr, items=tuple(self.expr(e) for e in items))
            case Unmodelled(parts=parts):
                return replace(expr, parts=tuple(self.expr(e) for e in parts))
        return expr

    def leaf(self, expr: CExpr, steps: Steps, ctype: CType) -> CExpr:
        """A member of a structure value. Raises Unclear."""
        expr = strip(expr)
        if not steps:
            return self.expr(expr)
        found = self._member_of(expr)
        if found is not None:
            variable, before = found
            members = self.members[variable]
            whole = (*before, *steps)
            for length in range(len(whole), 0, -1):
                member = members.get(whole[:length])
                if member is not None:
                    return stepped(Ref(member, member.ctype, expr.at), whole[length:], self.unit)
            raise Unclear
        if is_place(expr):
            return stepped(self.expr(expr), steps, self.unit)
        match expr:
            case CCall(name=name) if name in self.split:
                text = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)
                if not any(p.text == text for p in self.split[name]):
                    raise Unclear
                return replace(expr, name=name + text, arguments=self._arguments(expr), ctype=ctype)
            case Cond():
                then, orelse = self.leaf(expr.then, steps, ctype), self.leaf(expr.orelse, steps, ctype)
                return Cond(self.expr(expr.condition), then, orelse, ctype, expr.at)
            case Unmodelled(what=what, parts=(Items() as items,)) if what == _LITERAL:
                return self._listed(items, expr.ctype, steps, ctype)
            case Items() if expr.ctype.kind == "record":
                return self._listed(expr, expr.ctype, steps, ctype)
        raise Unclear

    def _listed(self, items: CExpr | None, whole: CType, steps: Steps, ctype: CType) -> CExpr:
        """A member as a braced initializer of all of `whole` gives it; 0 where it does not. Raises Unclear."""
        if whole.kind not in ("record", "array"):
            if items is None or not isinstance(items, Items | Unmodelled):
                return zero_of(ctype) if items is None else self.expr(items)
            raise Unclear
        if items is not None and not isinstance(items, Items):  # a structure among the items, or braces left out
            if items.ctype.kind != "record" or whole.kind != "record" or items.ctype.name != whole.name or not steps:
                raise Unclear
            return self.leaf(items, steps, ctype)
        record = self.unit.records.get(whole.name) if whole.kind == "record" else None
        if not steps:
            if items is None or whole.kind != "array" or whole.element is None:
                raise Unclear
            if not all(self._fits(item, whole.element) for item in items.items):
                raise Unclear
            return self.expr(items)
        if whole.kind == "array":
            inner = [whole.element] * (whole.extent if isinstance(whole.extent, int) else 0)
            position = steps[0] if isinstance(steps[0], int) else len(inner)
        else:
            inner = [f.ctype for f in record.fields] if record is not None and not record.problem else []
            names = [f.name for f in record.fields] if record is not None else []
            position = names.index(str(steps[0])) if steps[0] in names else len(inner)
        given = items.items if items is not None else ()
        if position >= len(inner) or len(given) > len(inner):
            raise Unclear
        if not all(t is not None and self._fits(i, t) for i, t in zip(given, inner, strict=False)):
            raise Unclear
        below = inner[position]
        assert below is not None
        return self._listed(given[position] if position < len(given) else None, below, steps[1:], ctype)

    def _fits(self, item: CExpr, ctype: CType) -> bool:
        """An item stands for just the next member or element: none is named, and no braces are left out."""
        if ctype.kind == "record":
            return isinstance(item, Items) or item.ctype.kind == "record"
        if ctype.kind == "array":
            return isinstance(item, Items)
        return not isinstance(item, Items | Unmodelled)

    def _member_of(self, expr: CExpr) -> tuple[Variable, Steps] | None:
        """The variable taken apart that an expression is (a member of)."""
        steps: list[str] = []
        expr = strip(expr)
        while isinstance(expr, Member) and not expr.arrow:
            steps.insert(0, expr.name)
            expr = strip(expr.base)
        if not isinstance(expr, Ref) or expr.var not in self.members:
            return None
        members = self.members[expr.var]
        for length in range(len(steps)):
            if tuple(steps[:length]) in members:  # a member of an element
                return None
        return expr.var, tuple(steps)

    def _below(self, variable: Variable, steps: Steps) -> list[Variable]:
        return [m for path, m in self.members[variable].items() if path[: len(steps)] == steps]


_PLAIN = str.maketrans("[]", "__")
