"""What is passed to a function whose body takes the place of its call: expressions in place of the parameters, or
variables that are set before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scheduler.frontend.analysis.mod_ref import Effect, ModRef
from scheduler.frontend.c_ast.clone import Cloner, repeatable
from scheduler.frontend.c_ast.csyntax import (
    INT,
    Bin,
    CCall,
    CExpr,
    Cond,
    Conv,
    CStmt,
    CType,
    DeclStmt,
    ExprStmt,
    Index,
    Lit,
    Member,
    Ref,
    Set,
    Un,
    Unit,
    Variable,
    operands,
    subexpressions,
)
from scheduler.frontend.c_ast.folding import explicit, fold, is_null

Values = dict[Variable, CExpr]
_MOST_COPIED = 64  # elements of an array that is a member of what is passed by value


class Arguments:
    """Of calls of a function with this effect."""

    def __init__(self, effect: Effect, unit: Unit, effects: ModRef) -> None:
        self.effect = effect
        self.unit = unit
        self.effects = effects

    def bind(self, parameter: Variable, argument: CExpr, values: Values, at: int) -> list[CStmt] | str:
        """Notes what stands for a parameter, and gives the statements that come first, or `which ...`: why it cannot.

        `argument` is evaluated in front of the body.
        """
        ctype = parameter.ctype
        if unfit(ctype) or parameter.oddity:
            return f"takes the volatile '{parameter.name}'"
        changes = bool(parameter.writes) or parameter.address_taken
        if ctype.is_scalar:
            if not argument.ctype.is_scalar:
                return f"is passed something that is not a number for '{parameter.name}'"
            if not changes and repeatable(argument) and self.is_loop_invariant(argument):
                values[parameter] = explicit(argument, ctype)
                return []
            return [self._variable(parameter, parameter.name, ctype, argument, values, at)]
        if ctype.kind not in ("pointer", "array") or ctype.element is None:
            return f"takes '{parameter.name}' of type '{ctype.name}'"
        if ctype.kind == "array" and parameter.owner is not None:  # a member of a structure: it is passed by value
            return self._elements(parameter, argument, values, at)
        if changes:
            return f"moves its pointer '{parameter.name}'"
        if is_null(argument):
            values[parameter] = Conv(Lit("0", 0, INT, at), True, ctype, at)
            return []
        if not same_layout(ctype.element, pointee(argument), values):
            return f"takes '{parameter.name}' with other elements than what is passed"
        before: list[CStmt] = []
        place = self._place(argument, parameter, before, at)
        if place is None:
            return f"is passed a pointer for '{parameter.name}' that is not understood"
        values[parameter] = place
        return before

    def _elements(self, parameter: Variable, argument: CExpr, values: Values, at: int) -> list[CStmt] | str:
        """An array that is a member of a structure passed by value: copied, unless it is only read."""
        before: list[CStmt] = []
        place = self._place(argument, parameter, before, at)
        if place is None:
            return f"is passed a structure for '{parameter.text}' that is not understood"
        if not self.effect.stores and parameter not in self.effect.changed and not parameter.address_taken:
            values[parameter] = place
            return before
        fresh = Variable(parameter.name, replace(parameter.ctype, is_const=False), "local", at)
        fresh.address_taken = parameter.address_taken
        before.append(DeclStmt((fresh,), at, at))
        pending: list[tuple[CExpr, CExpr]] = [(Ref(fresh, fresh.ctype, at), place)]
        for target, source in pending:
            inner = target.ctype
            if inner.kind != "array":
                before.append(ExprStmt(Set("=", target, source, inner, at), at, at))
                continue
            if inner.element is None or not isinstance(inner.extent, int) or len(pending) + inner.extent > _MOST_COPIED:
                return f"takes the array '{parameter.text}' by value"
            for k in range(inner.extent):
                number = Lit(str(k), k, INT, at)
                pending.append((Index(target, number, inner.element, at), Index(source, number, inner.element, at)))
        values[parameter] = Ref(fresh, fresh.ctype, at)
        return before

    def _variable(
        self, parameter: Variable, name: str, ctype: CType, init: CExpr, values: Values | None, at: int
    ) -> CStmt:
        fresh = Variable(name, replace(ctype, is_const=False), "local", at, init=init)
        if values is not None:
            fresh.writes, fresh.address_taken = parameter.writes, parameter.address_taken
            values[parameter] = Ref(fresh, fresh.ctype, at)
        return DeclStmt((fresh,), at, at)

    # ----------------------------------------------------------------------------------- pointers

    def _place(self, expr: CExpr, parameter: Variable, before: list[CStmt], at: int) -> CExpr | None:
        """A pointer or array expression with its subscripts computed now; None where it is something else."""
        match expr:
            case Ref(var=var):
                return expr if self._keeps(var) else None
            case Lit(value=None) if expr.ctype.kind == "array":  # a string
                return expr
            case Conv(operand=operand) if operand.ctype.kind in ("pointer", "array"):
                return self._place(operand, parameter, before, at)
            case Bin(op="+" | "-", left=left, right=right):
                swapped = left.ctype.kind not in ("pointer", "array")
                if (swapped and expr.op == "-") or (not swapped and not right.ctype.is_scalar):
                    return None
                moved = self._place(right if swapped else left, parameter, before, at)
                index = self._subscript(left if swapped else right, parameter, before, at)
                return None if moved is None else Bin(expr.op, moved, index, expr.ctype, expr.at)
            case Un(op="&", operand=operand):
                inner = self._object(operand, parameter, before, at)
                return None if inner is None else replace(expr, operand=inner)
            case Index() | Un(op="*") if expr.ctype.kind == "array" and expr.ctype.element is not None:
                row = self._object(expr, parameter, before, at)
                first = Lit("0", 0, INT, expr.at)  # that of a pointer, which may leave the row
                element = expr.ctype.element
                pointer = CType("pointer", f"{element.name} *", element)
                return None if row is None else Un("&", Index(row, first, element, expr.at), pointer, expr.at)
            case Member() | Index() | Un(op="*"):
                return self._object(expr, parameter, before, at)
        return None

    def _object(self, expr: CExpr, parameter: Variable, before: list[CStmt], at: int) -> CExpr | None:
        """The same for an object whose address is passed."""
        match expr:
            case Ref(var=var):
                return expr if var.storage != "other" else None
            case Index(base=base, index=index):
                place = self._place(base, parameter, before, at)
                subscript = self._subscript(index, parameter, before, at)
                return None if place is None else Index(place, subscript, expr.ctype, expr.at)
            case Un(op="*", operand=operand):
                place = self._place(operand, parameter, before, at)
                return None if place is None else replace(expr, operand=place)
            case Member(base=base):
                whole = self._place(base, parameter, before, at) if expr.arrow else None
                whole = whole or (None if expr.arrow else self._object(base, parameter, before, at))
                return None if whole is None else replace(expr, base=whole)
        return None

    def _subscript(self, expr: CExpr, parameter: Variable, before: list[CStmt], at: int) -> CExpr:
        if self.is_loop_invariant(expr):
            return expr
        declared = self._variable(parameter, f"{parameter.name}_at", expr.ctype, expr, None, at)
        assert isinstance(declared, DeclStmt)
        before.append(declared)
        return Ref(declared.variables[0], declared.variables[0].ctype, at)

    # ------------------------------------------------------------------------------- what may change

    def is_loop_invariant(self, expr: CExpr) -> bool:
        """Evaluated anywhere in the body it gives what it gives in front of it."""
        return all(map(self.is_steady_node, subexpressions(expr)))

    def is_steady_node(self, expr: CExpr) -> bool:
        """Of an expression without its operands."""
        match expr:
            case Lit() | Conv() | Cond():
                return True
            case Bin(op=op):
                return op != ","
            case Ref(var=var):
                return self._keeps(var)
            case Un(op="*") | Index() | Member():
                return not self.effect.stores or (expr.ctype.kind == "array" and isinstance(expr, Index))
            case Un(op=op):
                return op != "&"
            case CCall():
                function = self.unit.functions.get(expr.name)
                if function is None:
                    return expr.is_pure
                return not self.effect.stores and not self.effects.is_block(function)
        return False

    def _keeps(self, variable: Variable) -> bool:
        """The function leaves a variable of the caller, or a global one, as it is."""
        if variable.oddity or variable.ctype.is_volatile or variable in self.effect.assigned:
            return False
        if not self.effect.stores or variable.ctype.is_const or variable.ctype.kind in ("pointer", "array"):
            return True  # a store to a pointer is refused wherever it is
        return not variable.address_taken and (variable.storage in ("local", "param") or variable.internal)


def unfit(ctype: CType) -> bool:
    """Volatile, or made of what is."""
    return ctype.is_volatile or (ctype.element is not None and unfit(ctype.element))


# -------------------------------------------------------------------------------------------- types


def pointee(expr: CExpr) -> CType | None:
    """What a pointer points to, with the extents that its declaration gives; None where that is not known."""
    match expr:
        case Conv(operand=operand, ctype=ctype) if operand.ctype.kind in ("pointer", "array"):
            below = pointee(operand)
            same = below is not None and ctype.element is not None and bare(ctype.element) == bare(below)
            return below if same else None
        case Bin(op="+" | "-", left=left, right=right):
            return pointee(left if left.ctype.kind in ("pointer", "array") else right)
        case Un(op="&", operand=operand):
            return _object_type(operand)
        case Lit():
            return expr.ctype.element
        case Ref() | Index() | Member() | Un(op="*"):
            whole = _object_type(expr)
            return None if whole is None else whole.element
    return None


def _object_type(expr: CExpr) -> CType | None:
    match expr:
        case Ref(var=var):
            return var.ctype
        case Index(base=base):
            return pointee(base)
        case Un(op="*", operand=operand):
            return pointee(operand)
        case Member():
            return expr.ctype
    return None


def bare(ctype: CType) -> str:
    return ctype.name.replace("const ", "").replace("volatile ", "").replace(" *const", " *")


def same_layout(parameter: CType, passed: CType | None, values: Mapping[Variable, CExpr]) -> bool:
    """Elements of the two types lie alike in memory; `values` stand for the parameters before."""
    if passed is None or parameter.kind != passed.kind:
        return False
    if parameter.kind != "array":
        return bare(parameter) == bare(passed)
    if parameter.element is None or not same_layout(parameter.element, passed.element, values):
        return False
    if parameter.extent is None or passed.extent is None:
        return False
    first = parameter.extent if isinstance(parameter.extent, int) else Cloner(values, None, 0).expr(parameter.extent)
    second = passed.extent
    a = first if isinstance(first, int) else fold(first)
    b = second if isinstance(second, int) else fold(second)
    if a is not None or b is not None:
        return a == b
    assert not isinstance(first, int) and not isinstance(second, int)
    return _same(first, second)


def _same(first: CExpr, second: CExpr) -> bool:
    """The same value, of variables that never change."""
    first, second = _widened(first), _widened(second)
    if isinstance(first, Ref) and isinstance(second, Ref):
        var = first.var
        own = var.storage in ("local", "param") or var.internal or var.ctype.is_const
        return var is second.var and own and not var.writes and not var.address_taken
    if type(first) is not type(second) or first.ctype.name != second.ctype.name:
        return False
    if isinstance(first, Lit) and isinstance(second, Lit):
        return first.value == second.value and first.value is not None
    if isinstance(first, Bin) and isinstance(second, Bin) and first.op == second.op:
        return all(_same(a, b) for a, b in zip(operands(first), operands(second), strict=True))
    return False


def _widened(expr: CExpr) -> CExpr:
    """Without conversions between integers that are as wide or wider."""
    while isinstance(expr, Conv) and expr.operand.ctype.name in ("int", "long", "unsigned long", "unsigned int"):
        if expr.ctype.name not in ("int", "long", "unsigned long"):
            break
        expr = expr.operand
    return expr
