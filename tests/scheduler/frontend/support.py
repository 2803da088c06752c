"""Reading snippets in this process, and nests as short text for comparisons."""

from __future__ import annotations

from scheduler.frontend.child import parse
from scheduler.frontend.model import Rejection, Request, SourceFile
from scheduler.frontend.parsing import parser_arguments
from scheduler.frontend.scop.detection import INTERNAL
from scheduler.ir import nest as ir
from scheduler.ir.affine import Affine


def read(code: str | bytes, *arguments: str, path: str = "/snippets/t.c") -> SourceFile:
    """The snippet as the parser process would read it."""
    content = code.encode() if isinstance(code, str) else code
    found = parse(Request(path, content, parser_arguments(arguments, "gcc"), 1 << 32, 10))
    assert isinstance(found, SourceFile), found
    assert not [r for r in found.rejections if INTERNAL in r.reason], found.rejections
    return found


def nest(code: str, *arguments: str) -> ir.LoopNest:
    """The only nest of a snippet without refusals."""
    found = read(code, *arguments)
    assert not found.rejections, [(r.span.line, r.span.column, r.reason) for r in found.rejections]
    assert len(found.nests) == 1, [n.name for n in found.nests]
    return found.nests[0]


def loop(header: str, body: str = "a[i] = 0", parameters: str = "int n, int m, double *a") -> ir.LoopNest:
    return nest(f"#include <stddef.h>\nvoid f({parameters}) {{ for ({header}) {body}; }}")


def refusal(code: str, *arguments: str) -> Rejection:
    """The only refusal of a snippet."""
    found = read(code, *arguments)
    assert len(found.rejections) == 1, [(r.span.line, r.reason) for r in found.rejections]
    return found.rejections[0]


def expr(e: ir.Expr | Affine) -> str:
    match e:
        case Affine():
            return str(e)
        case ir.Literal():
            return e.text
        case ir.Name():
            return e.name
        case ir.Read():
            return access(e.access)
        case ir.Unary():
            return e.op + expr(e.operand)
        case ir.Binary():
            return f"({expr(e.left)} {e.op} {expr(e.right)})"
        case ir.Call():
            return f"{e.function}({', '.join(map(expr, e.arguments))})"
        case ir.Cast():
            return f"({e.ctype}){expr(e.operand)}"
        case ir.Conditional():
            return f"({expr(e.condition)} ? {expr(e.then)} : {expr(e.orelse)})"


def access(a: ir.Access) -> str:
    """Opaque subscripts are marked with `~`."""
    return a.array + "".join(f"[{expr(s)}]" if isinstance(s, Affine) else f"[~{expr(s)}]" for s in a.subscripts)


def constraint(c: ir.Constraint) -> str:
    return f"{c.affine} mod {c.modulus}" if c.kind == "mod" else f"{c.affine} {c.kind} 0"


def bound(b: ir.Bound) -> str:
    """The expressions of a minimum or maximum in alphabetical order."""
    return ", ".join(sorted(map(str, b))) if isinstance(b, tuple) else "~" + expr(b)


def actions(found: tuple[ir.Action, ...]) -> str:
    parts = []
    for action in found:
        if isinstance(action, ir.Assign):
            parts.append(f"{access(action.target)} {action.op} {expr(action.value)}")
        else:
            orelse = f" else {{{actions(action.orelse)}}}" if action.orelse else ""
            parts.append(f"if {expr(action.condition)} {{{actions(action.then)}}}{orelse}")
    return "; ".join(parts)


def lines(found: ir.LoopNest | tuple[ir.Node, ...], indent: str = "") -> list[str]:
    """One line a node."""
    result = []
    for node in found.body if isinstance(found, ir.LoopNest) else found:
        match node:
            case ir.Loop():
                step = "" if node.step == 1 else f" by {node.step}"
                result.append(f"{indent}for {node.name} = {bound(node.start)} to {bound(node.stop)}{step}")
                result += lines(node.body, indent + " ")
            case ir.Guard():
                dnf = " or ".join(" and ".join(map(constraint, c)) for c in node.condition)
                result.append(f"{indent}if {dnf}")
                result += lines(node.body, indent + " ")
            case ir.Predicate():
                result.append(f"{indent}when {expr(node.condition)}")
                result += lines(node.body, indent + " ")
            case ir.Statement():
                result.append(indent + actions(node.body))
    return result


def assumptions(found: ir.LoopNest) -> set[str]:
    return {constraint(c) for c in found.assumptions}


def shape(found: ir.LoopNest, name: str) -> str:
    array = found.array(name)
    flat = "flat " if array.flat else ""
    return flat + ", ".join("?" if e is None else str(e) for e in array.shape)
