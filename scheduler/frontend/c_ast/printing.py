"""Syntax trees as C-like text, for people who look at what a pass did."""

from __future__ import annotations

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
    Index,
    Items,
    JumpStmt,
    Leave,
    Lit,
    Member,
    OtherStmt,
    Ref,
    ReturnStmt,
    Set,
    Step,
    Un,
    Unmodelled,
    Variable,
)

_INDENT = "    "


def function_text(function: CFunction) -> str:
    """A function; implied conversions are left out."""
    parameters = ", ".join(_declared(p.ctype, p.name) for p in function.parameters) or "void"
    return "\n".join(_block(_declared(function.result, f"{function.name}({parameters})"), function.body, ""))


def statements_text(body: tuple[CStmt, ...]) -> str:
    """Statements, one after the other."""
    return "\n".join(line for stmt in body for line in _lines(stmt, ""))


def expression_text(expr: CExpr) -> str:
    """An expression; operands that are operations stand in parentheses."""
    match expr:
        case Lit(text=text):
            return text
        case Ref(var=variable):
            return variable.name
        case Index(base=base, index=index):
            return f"{_operand(base)}[{expression_text(index)}]"
        case Member(base=base, name=name, arrow=arrow):
            return f"{_operand(base)}{'->' if arrow else '.'}{name}"
        case Un(op=op, operand=operand):
            return f"{op}{_operand(operand)}"
        case Step(op=op, operand=operand, prefix=prefix):
            return f"{op}{_operand(operand)}" if prefix else f"{_operand(operand)}{op}"
        case Bin(op=op, left=left, right=right):
            return f"{_operand(left)} {op} {_operand(right)}"
        case Set(op=op, left=left, right=right):
            return f"{expression_text(left)} {op} {expression_text(right)}"
        case CCall(name=name, arguments=arguments):
            return f"{name}({_listed(arguments)})"
        case Conv(operand=operand, explicit=explicit, ctype=ctype):
            return f"({ctype.name}){_operand(operand)}" if explicit else expression_text(operand)
        case Cond(condition=condition, then=then, orelse=orelse):
            return f"{_operand(condition)} ? {_operand(then)} : {_operand(orelse)}"
        case Items(items=items):
            return f"{{{_listed(items)}}}"
        case Unmodelled(what=what, parts=parts):
            return f"/* {what} */({_listed(parts)})"


def _listed(exprs: tuple[CExpr, ...]) -> str:
    return ", ".join(map(expression_text, exprs))


def _operand(expr: CExpr) -> str:
    bare = expr
    while isinstance(bare, Conv) and not bare.explicit:
        bare = bare.operand
    text = expression_text(bare)
    return f"({text})" if isinstance(bare, Bin | Set | Cond | Un | Step | Conv) else text


def _declared(ctype: CType, name: str) -> str:
    while ctype.kind == "array" and ctype.element is not None:
        extent = "" if ctype.extent is None else ctype.extent
        name += f"[{extent if isinstance(extent, int | str) else expression_text(extent)}]"
        ctype = ctype.element
    return f"{ctype.name}{'' if ctype.name.endswith('*') else ' '}{name}"


def _definition(variable: Variable) -> str:
    text = _declared(variable.ctype, variable.name)
    return text if variable.init is None else f"{text} = {expression_text(variable.init)}"


def _block(head: str, stmt: CStmt, indent: str, tail: str = "") -> list[str]:
    body = stmt.body if isinstance(stmt, Compound) else (stmt,)
    inner = (line for part in body for line in _lines(part, indent + _INDENT))
    return [f"{indent}{head} {{" if head else f"{indent}{{", *inner, f"{indent}}}{tail}"]


def _lines(stmt: CStmt, indent: str) -> list[str]:
    match stmt:
        case ExprStmt(expr=expr):
            return [f"{indent}{expression_text(expr)};"]
        case DeclStmt(variables=variables):
            return [f"{indent}{_definition(variable)};" for variable in variables]
        case Compound():
            return _block("", stmt, indent)
        case IfStmt(condition=condition, then=then, orelse=orelse):
            lines = _block(f"if ({expression_text(condition)})", then, indent)
            return lines if orelse is None else [*lines[:-1], *_block("} else", orelse, indent)]
        case ForStmt(init=init, condition=condition, increment=increment, body=body):
            first = ", ".join(line.rstrip(";") for line in _lines(init, "")) if init is not None else ""
            test, step = ("" if e is None else f" {expression_text(e)}" for e in (condition, increment))
            bottom = " /* tested behind each iteration */" if stmt.bottom else ""
            return _block(f"for ({first};{test};{step}){bottom}", body, indent)
        case ReturnStmt(value=value):
            return [f"{indent}return;" if value is None else f"{indent}return {expression_text(value)};"]
        case JumpStmt(what=what):
            return [f"{indent}{what};"]
        case Leave(reason=reason):
            return [f"{indent}leave; // {reason}"]
        case OtherStmt():
            return _other(stmt, indent)


def _other(stmt: OtherStmt, indent: str) -> list[str]:
    exprs, body = _listed(stmt.exprs), stmt.body
    match stmt.what:
        case "do":
            return [line for part in body for line in _block("do", part, indent, f" while ({exprs});")]
        case "for":  # its start stands before it, and its step in its body
            return [line for part in body for line in _block(f"while ({exprs or 1})", part, indent)]
        case "case":
            label = f"{indent}case {exprs}:" if exprs else f"{indent}default:"
            return [label, *(line for part in body for line in _lines(part, indent + _INDENT))]
        case "null":
            return [f"{indent};"]
    head = f"{stmt.what} ({exprs})" if exprs else stmt.what
    return [line for part in body for line in _block(head, part, indent)] or [f"{indent}{head};"]
