"""A whole C file around a kernel: sizes as macros, arrays, their initial values, the kernel, and a checksum."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import TextWrapper

from scheduler.generator.programs.kernel import Block, Kernel, Style
from scheduler.generator.programs.values import Array, DataKind, Fill, format_affine
from scheduler.ir.affine import Affine

_SIZE = """#ifdef SMALL
#define SIZE(small, large) (small)
#else
#define SIZE(small, large) (large)
#endif
"""

_RANDOM = """static unsigned seed = {seed}u;

/* in [0, 1) */
static double rnd(void)
{{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) * (1.0 / 16777216.0);
}}
"""

_HASH = """static unsigned long long hash_bytes(unsigned long long h, const void *data, size_t len)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 1099511628211ULL;
    return h;
}
"""
_MATH = re.compile(r"\b(?:fabs|sqrt|exp|tanh|fmax|fmin|pow|log|sin|cos)f?\(")
_LIBRARY = re.compile(r"\babs\(")


def render(kernel: Kernel, title: str, function: str, heap: bool, const: bool, data: DataKind) -> str:
    """`heap`: arrays that are no globals to the kernel are allocated; `const`: pointers that are only read say so."""
    starts = "".join(_initial(kernel, a, data) for a in (*kernel.scalars, *kernel.arrays))
    body = "".join(_lines(kernel.root, kernel.rng.random() < 0.4, 0))
    written = [a for a in (*kernel.arrays, *kernel.scalars) if a.written]
    heap = heap and kernel.style is not Style.GLOBAL
    headers = ["math"] * bool(_MATH.search(body)) + ["stdio"] + ["stdlib"] * (heap or bool(_LIBRARY.search(body)))
    parts = [
        f"/* {title} */\n" + "".join(f"#include <{h}.h>\n" for h in headers),
        _SIZE + "".join(_macro(kernel, name) for name in kernel.sizes[1]),
        "".join(_declaration(kernel, array, heap) for array in (*kernel.scalars, *kernel.arrays)),
        _RANDOM.format(seed=kernel.rng.randrange(1, 1 << 31)),
        "static void init(void)\n{\n" + starts + "}\n",
        f"{_wrapped(f'static void {function}(', _parameters(kernel, body, const))})\n{{\n{body}}}\n",
        _HASH,
        *(_sum(ctype) for ctype in sorted({a.ctype for a in written})),
        _main(kernel, function, body, written, heap),
    ]
    return "\n".join(parts)


def _macro(kernel: Kernel, name: str) -> str:
    small, large = kernel.sizes[0][name], kernel.sizes[1][name]
    value = str(large) if small == large else f"SIZE({small}, {large})"
    return f"#ifndef {name}\n#define {name} {value}\n#endif\n"


# -------------------------------------------------------------------------------------------- kernel


def _lines(block: Block, always: bool, depth: int) -> Iterator[str]:
    """The text of a block's content; `always` braces, or only where there are several statements."""
    indent = "    " * (depth + 1)
    wrapper = TextWrapper(110, indent, indent + "    ", break_long_words=False, break_on_hyphens=False)
    for node in block.body:
        if isinstance(node, str):
            yield wrapper.fill(_kept_together(node)).replace("\0", " ") + "\n"
            continue
        braces = always or len(node.body) != 1 or node.head.startswith(("if", "else")) or not node.head
        yield f"{indent}{node.head} {{\n" if braces else f"{indent}{node.head}\n"
        yield from _lines(node, always, depth + 1)
        if braces:
            yield f"{indent}}}\n"


def _kept_together(statement: str) -> str:
    """Spaces inside subscripts and around `*` become characters that no line is broken at."""
    depth, text = 0, ""
    for character in statement.replace(" * ", "\0*\0"):
        depth += (character == "[") - (character == "]")
        text += "\0" if character == " " and depth else character
    return text


def _wrapped(head: str, items: list[str]) -> str:
    """An opening parenthesis and a list, on lines of at most 100 characters."""
    lines = [head]
    for place, item in enumerate(items):
        item += ", " if place < len(items) - 1 else ""
        if len(lines[-1]) + len(item) > 100:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * len(head))
        lines[-1] += item
    return "\n".join(lines)


def _parameters(kernel: Kernel, body: str, const: bool) -> list[str]:
    if kernel.style is Style.GLOBAL:
        return ["void"]
    names = [f"{kernel.index_type} {n.lower()}" for n in _passed(kernel, body)]
    return [*names, *(_parameter(kernel, array, const) for array in kernel.arrays)] or ["void"]


def _passed(kernel: Kernel, body: str) -> list[str]:
    """The extents the kernel needs as parameters."""
    needed = set(re.findall(r"\bn[a-z]\d*\b", body))
    if kernel.style is Style.VLA:
        needed |= {name.lower() for a in kernel.arrays for extent in a.shape for name in extent.names()}
    return [name for name in kernel.sizes[1] if name.lower() in needed]


def _parameter(kernel: Kernel, array: Array, const: bool) -> str:
    if kernel.style is Style.VLA:
        return f"{array.ctype} {array.name}" + "".join(f"[{kernel.text(extent)}]" for extent in array.shape)
    head = "const " if const and not array.written else ""
    return f"{head}{array.ctype} *{'restrict ' if kernel.style is Style.RESTRICT else ''}{array.name}"


# ---------------------------------------------------------------------------------- around the kernel


def _size(extent: Affine) -> str:
    text = format_affine(extent)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _elements(array: Array) -> str:
    return " * ".join(_size(extent) for extent in array.shape) or "1"


def _is_flat(kernel: Kernel, array: Array) -> bool:
    return len(array.shape) == 1 or kernel.style in (Style.FLAT, Style.RESTRICT)


def _declaration(kernel: Kernel, array: Array, heap: bool) -> str:
    if not array.shape:
        return f"static {array.ctype} {array.name};\n"
    flat = _is_flat(kernel, array)
    inner = "" if flat else "".join(f"[{format_affine(e)}]" for e in array.shape[1:])
    if heap:
        return f"static {array.ctype} {f'(*{array.name})' if inner else f'*{array.name}'}{inner};\n"
    outer = _elements(array) if flat else format_affine(array.shape[0])
    return f"static {array.ctype} {array.name}[{outer}]{inner};\n"


def _initial(kernel: Kernel, array: Array, data: DataKind) -> str:
    if not array.shape:
        return f"    {array.name} = 0;\n"
    if array.fill is Fill.ROWS:
        return _rows(array, data)
    rank = len(array.shape)
    if _is_flat(kernel, array) and array.fill is not Fill.DOMINANT:
        head = f"    for (int i = 0; i < {_elements(array)}; i++)\n"
        near = array.fill is Fill.INDICES and data.indices == "near"
        value = _near(array) if near else _value(array, "", "")
        return f"{head}        {array.name}[i] = {value};\n"
    names = "ijklmpqr"[:rank]
    heads = "".join(
        f"{'    ' * (depth + 1)}for (int {name} = 0; {name} < {format_affine(extent)}; {name}++)\n"
        for depth, (name, extent) in enumerate(zip(names, array.shape, strict=True))
    )
    if _is_flat(kernel, array):
        linear = names[0]
        for name, extent in zip(names[1:], array.shape[1:], strict=True):
            linear = (
                f"({linear}) * {_size(extent)} + {name}" if len(linear) > 1 else f"{linear} * {_size(extent)} + {name}"
            )
        place = f"[{linear}]"
    else:
        place = "".join(f"[{name}]" for name in names)
    return f"{heads}{'    ' * (rank + 1)}{array.name}{place} = {_value(array, *names[-2:])};\n"


def _rows(array: Array, data: DataKind) -> str:
    """Begins of rows rise from 0 to the number of entries."""
    last, each = _size(array.shape[0] - 1), array.each
    head = f"    for (int i = 0; i <= {last}; i++)"
    match data.rows:
        case "random":
            begin = f"i * {each} + (i > 0 && i < {last} ? (int)(rnd() * {each}) : 0)"
        case "even":
            begin = f"i * {each}"
        case "skewed":
            left = f"        double left = 1 - (double)i / {last};\n"
            begin = f"(int)((1 - left * left * left * left) * {last} * {each})"
            return f"{head} {{\n{left}        {array.name}[i] = {begin};\n    }}\n"
    return f"{head}\n        {array.name}[i] = {begin};\n"


def _near(array: Array) -> str:
    below = _size(array.below)
    return f"(int)((double)i / ({_elements(array)}) * {below} + rnd() * 32) % {below}"


def _value(array: Array, row: str, column: str = "") -> str:
    suffix = "f" * (array.ctype == "float")
    cast = "(float)" if suffix else ""
    match array.fill:
        case Fill.INDICES:
            return f"(int)(rnd() * {_size(array.below)})"
        case Fill.DOMINANT:
            size = format_affine(array.shape[-1])
            return f"{cast}((rnd() - 0.5) / ({size}) + ({row} == {column} ? 1.0 : 0.0))"
        case Fill.POSITIVE:
            return f"{cast}(0.5 + rnd())" if array.is_floating else f"1 + ({array.ctype})(rnd() * 15)"
        case _:
            return f"{cast}(rnd() - 0.5)" if array.is_floating else f"({array.ctype})(rnd() * 16)"


def _sum(ctype: str) -> str:
    name = ctype.replace(" ", "_")
    return (
        f"static double sum_{name}(const {ctype} *p, size_t n)\n{{\n    double sum = 0.0;\n"
        "    for (size_t i = 0; i < n; i++)\n        sum += p[i];\n    return sum;\n}\n"
    )


def _main(kernel: Kernel, function: str, body: str, written: list[Array], heap: bool) -> str:
    text = "int main(void)\n{\n    unsigned long long h = 14695981039346656037ULL;\n    double sum = 0.0;\n"
    if heap:
        text += "".join(f"    {a.name} = malloc((size_t){_elements(a)} * sizeof({a.ctype}));\n" for a in kernel.arrays)
        text += f"    if ({' || '.join(f'!{a.name}' for a in kernel.arrays)})\n        return 1;\n"
    arguments = [] if kernel.style is Style.GLOBAL else [*_passed(kernel, body), *(a.name for a in kernel.arrays)]
    text += "    init();\n" + _wrapped(f"    {function}(", arguments) + ");\n"
    for array in written:
        start = f"(const {array.ctype} *){array.name}" if array.shape else f"&{array.name}"
        count = f"(size_t){_elements(array)}"
        text += f"    h = hash_bytes(h, {start}, {count} * sizeof({array.ctype}));\n"
        text += f"    sum += sum_{array.ctype.replace(' ', '_')}({start}, {count});\n"
    text += '    printf("%016llx %.17g\\n", h, sum);\n'
    if heap:
        text += "".join(f"    free({a.name});\n" for a in kernel.arrays)
    return text + "    return 0;\n}\n"
