"""The part of a program that is timed: its kernel, without input, checksum and output.

A kernel of a few milliseconds drowns in the noise of a program that fills its arrays for fifty, so the clock is
read inside the program. The *marked* text of a file reads it around the kernel; every compiler, and perfembed,
gets this same text. Where the kernel is a function, a variable with a cleanup handler at the top of its body
starts and stops the clock, so that no loop is separated from its neighbours and every return counts. Where it is
loops of `main`, they are put into a block of their own. The clock is read by functions the compilers may not
inline, which may read and write anything: no computation can leave or enter the marked part.

Whether Polly finds loops to transform depends on whether the kernel was inlined into `main` (it finds gemm only if
not, 3mm only if so); a second form of the marked text forbids that, and Polly is given the form it does better with.

What the kernel is: the functions (but main) that hold a loop which writes an array and reads one, unless their
name says that they prepare or check data, and their callers; without any, such loops of `main`; without any,
loops of `main` that write an array. `functions` overrides this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perfembed.capture.instrument import Around, wrap
from perfembed.errors import UsageError
from scheduler.frontend import Function, SourceFile
from scheduler.ir.nest import Loop, LoopNest, Node, Storage
from scheduler.ir.walk import placed_statements, uses

MARKS_VARIABLE = "PERFEMBED_MARKS"  # names an existing file of the program's environment

_PREPARING = re.compile(
    r"(^|_)(init\w*|fill|make|build|setup|random\w*|rand|rnd|noise|generate|field|tensor|load|read|print|write|"
    r"check\w*|verify|hash\w*|mix)(_|$)"
)

# Declared under names of its own, so that it needs no header and meets no declaration of the user's.
_PRELUDE = """\
extern int pe_marks_clock(int, long *) __asm__("clock_gettime"); \
extern char *pe_marks_getenv(const char *) __asm__("getenv"); \
extern int pe_marks_open(const char *, int, ...) __asm__("open"); \
extern long pe_marks_write(int, const void *, unsigned long) __asm__("write"); \
static struct { long passed, calls, depth, since[2]; } pe_marks; \
__attribute__((noinline, unused)) static int pe_marks_begin(void) { \
__asm__ volatile("" ::: "memory"); \
if (!pe_marks.depth++) pe_marks_clock(1, pe_marks.since); \
__asm__ volatile("" ::: "memory"); return 0; } \
__attribute__((noinline, unused)) static void pe_marks_end(int *unused) { \
long now[2]; (void)unused; __asm__ volatile("" ::: "memory"); \
if (--pe_marks.depth) return; \
pe_marks_clock(1, now); pe_marks.calls++; \
pe_marks.passed += (now[0] - pe_marks.since[0]) * 1000000000L + now[1] - pe_marks.since[1]; \
__asm__ volatile("" ::: "memory"); } \
__attribute__((destructor)) static void pe_marks_report(void) { \
const char *path = pe_marks_getenv("MARKS_FILE"); \
int file = path && *path ? pe_marks_open(path, 1) : -1; \
if (file >= 0 && pe_marks_write(file, &pe_marks, 2 * sizeof(long)) < 0) return; }
""".replace("MARKS_FILE", MARKS_VARIABLE)
_ENTER = " int pe_marks_mark __attribute__((cleanup(pe_marks_end), unused)) = pe_marks_begin();"
_NOINLINE = b"__attribute__((noinline)) "
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Marked:
    """The clock runs in `functions`, the kernel's loops are in `inner`; `loops` counts marked runs of main.

    `writing`: of main, all loops that write an array are marked, and not only those that read one, too. `apart` is
    the text with the functions kept out of line; None where the kernel is in main.
    """

    content: bytes
    apart: bytes | None
    functions: tuple[str, ...]
    inner: tuple[str, ...]
    loops: int
    writing: bool = False


def mark_kernel(source: SourceFile, functions: Sequence[str] = ()) -> Marked:
    """The marked text. Raises UsageError where nothing can be marked."""
    inner = _named(source, functions) if functions else _working_functions(source)
    if inner:
        outer = _outermost(source, inner)
        edits = [(_body(source.content, f), _ENTER.encode()) for f in outer]
        content = _with_prelude(_inserted(source.content, edits))
        apart = _with_prelude(_inserted(source.content, [*edits, *((f.span.begin, _NOINLINE) for f in outer)]))
        return Marked(content, apart, tuple(f.name for f in outer), tuple(f.name for f in inner), 0)
    working = list(_runs(source, _works))
    places = working or list(_runs(source, _writes))
    if not places:
        raise UsageError(f"{source.path}: no kernel found to time", "name its function with --kernel")
    return Marked(_with_prelude(wrap(source.content, places)), None, ("main",), ("main",), len(places), not working)


def kernel_part(nest: LoopNest, marked: Marked) -> LoopNest | None:
    """What of a nest the clock sees; None where it is no part of the kernel."""
    if not marked.loops:
        return nest if nest.function in {*marked.functions, *marked.inner} else None
    wanted = _writes if marked.writing else _works
    trees = tuple(tree for tree in _trees(nest) if wanted(nest, tree)) if nest.function in (None, "main") else ()
    return replace(nest, body=trees) if trees else None


def read_marks(data: bytes) -> tuple[float, int] | None:
    """(seconds, calls) a program left in its file; None where it left nothing."""
    if len(data) != 16:
        return None
    passed, calls = (int.from_bytes(data[k : k + 8], "little", signed=True) for k in (0, 8))
    return passed / 1e9, calls


def _named(source: SourceFile, names: Sequence[str]) -> list[Function]:
    found = [f for f in source.functions if f.name in names and f.name != "main"]
    missing = set(names) - {f.name for f in found}
    if missing:
        raise UsageError(f"{source.path}: no function {', '.join(sorted(missing))} to time")
    return found


def _working_functions(source: SourceFile) -> list[Function]:
    working = {nest.function for nest in source.nests for loop in _trees(nest) if _works(nest, loop)}
    return [f for f in source.functions if f.name in working and f.name != "main" and not _PREPARING.search(f.name)]


def _outermost(source: SourceFile, inner: Sequence[Function]) -> list[Function]:
    """Those that `main` calls: a function called by another one is timed there."""
    chosen: dict[str, Function] = {}
    waiting = list(inner)
    while waiting:
        function = waiting.pop()
        if function.name in chosen:
            continue
        chosen[function.name] = function
        waiting += [f for f in _callers(source, function) if f.name != "main"]
    return [
        f
        for f in chosen.values()
        if not (callers := [c.name for c in _callers(source, f) if c.name != f.name]) or set(callers) - chosen.keys()
    ]


def _callers(source: SourceFile, function: Function) -> list[Function]:
    call = re.compile(rb"\b" + re.escape(function.name.encode()) + rb"\s*\(")
    return [
        f for f in source.functions if call.search(_masked(source.content, f), _body(source.content, f) - f.span.begin)
    ]


def _trees(nest: LoopNest) -> Iterator[Loop]:
    return (node for node in nest.body if isinstance(node, Loop))


def _touched(nest: LoopNest, tree: Node, write: bool) -> bool:
    """Whether a loop reads (or writes) elements of an array that is not its own."""
    arrays = {a.name for a in nest.arrays if a.shape and a.storage is not Storage.PRIVATE}
    inside = replace(nest, body=(tree,))
    return any(
        use.access.array in arrays and use.is_write == write for s in placed_statements(inside) for use in uses(s)
    )


def _works(nest: LoopNest, tree: Node) -> bool:
    return _writes(nest, tree) and _touched(nest, tree, write=False)


def _writes(nest: LoopNest, tree: Node) -> bool:
    return _touched(nest, tree, write=True)


def _runs(source: SourceFile, wanted: object) -> Iterator[Around]:
    """Adjacent wanted loops of main, each run as one place."""
    assert callable(wanted)
    for nest in source.nests:
        if nest.function not in (None, "main"):
            continue
        begin: int | None = None
        end = 0
        for node in nest.body:
            span = node.span if isinstance(node, Loop) else None
            if span is not None and wanted(nest, node):
                begin = span.begin if begin is None else begin
                end = span.end
            elif begin is not None:
                yield _place(begin, end)
                begin = None
        if begin is not None:
            yield _place(begin, end)


def _place(begin: int, end: int) -> Around:
    return Around(begin, end, "pe_marks_begin();", "pe_marks_end(0);")


def _masked(content: bytes, function: Function) -> bytes:
    """The text of a function with blanks for comments and strings."""
    text = content[function.span.begin : function.span.end]
    quoted = rb"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\""
    return re.sub(quoted, lambda m: b" " * len(m[0]), text, flags=re.DOTALL)


def _body(content: bytes, function: Function) -> int:
    """Where the statements of a function begin."""
    return function.span.begin + _masked(content, function).index(b"{") + 1


def _inserted(content: bytes, edits: list[tuple[int, bytes]]) -> bytes:
    parts, at = [], 0
    for position, text in sorted(edits):
        parts += [content[at:position], text]
        at = position
    return b"".join((*parts, content[at:]))


def _with_prelude(content: bytes) -> bytes:
    return _PRELUDE.encode() + content.removeprefix(_BOM)
