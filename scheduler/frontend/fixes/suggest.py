"""Which fixes the refusals of a file may have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ctypes import ArgumentError
from typing import TYPE_CHECKING

from scheduler.frontend.clang.libclang import TranslationUnit
from scheduler.frontend.fixes import arrays, headers, hoists, pragmas, statements
from scheduler.frontend.fixes.model import Fix
from scheduler.frontend.fixes.place import Maker, Place
from scheduler.frontend.fixes.restrict import restricted
from scheduler.frontend.fixes.syntax import LOOPS, View

if TYPE_CHECKING:
    from scheduler.frontend.model import Rejection, SourceFile

MAKERS: tuple[tuple[str, Maker], ...] = (  # what a reason is like -> what helps
    (r"uses the comma operator", statements.comma),
    (r"chains compound assignments", statements.chained),
    (r"a statement without effect", statements.without_effect),
    (r"calls '.*' without using its result", statements.unused_call),
    (r"uses a statement expression", statements.statement_expression),
    (r"the loop contains goto", statements.forward_goto),
    (r"declares an array inside a branch", arrays.branch_array),
    (r"the initializer of '.*' is not understood", arrays.array_text),
    (r"uses sizeof of a variable length array", arrays.vla_sizeof),
    (r"uses a call through a pointer", statements.by_name),
    (r"'.*' is static inside the loop", hoists.static_local),
    (r"'.*' has a long initializer", hoists.constant_table),
    (r"uses a string", hoists.text_table),
    (r"uses a compound literal", hoists.literal_table),
    (r"uses a thread-local variable", hoists.thread_local_copy),
    (r"'.*' is volatile", hoists.volatile_local),
    (r"'.*' is volatile", hoists.volatile_copy),
    (r"calls 'strlen'", hoists.string_length),
    (r"calls '.*' in the header of a loop|calls '.*', which may have side effects", hoists.limit_call),
    (r"the loop changes '.*', (?:which its limit|and its limit)", hoists.limit_copy),
    (r"a loop with != may", headers.not_equal),
    (r"the loop counts with '.*' of type '(?:double|float)'", headers.float_iterator),
    (r"the iterator '.*' is not local", headers.shared_iterator),
    (r"the iterator '.*' may leave the range", headers.wide_iterator),
    (r"an unsigned iterator is always >= 0", headers.wide_iterator),
    (r".*", statements.top_test),
    (r"race: all iterations", pragmas.private),
    (r"there is '#pragma|the loop stands in '#pragma|of '#pragma", pragmas.without_pragma),
)

_MISTAKES = (ArgumentError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


def suggestions(unit: TranslationUnit, path: str, content: bytes, wraps: bool, source: SourceFile) -> tuple[Fix, ...]:
    """For each refused loop what its advice says, as edits, where the conditions hold under which that is the same."""
    view = View(unit, path, content, wraps)
    found = tuple(fix for rejection in source.rejections for fix in _of(view, rejection))
    return (*found, *restricted(view, source.nests))


def _of(view: View, rejection: Rejection) -> Iterator[Fix]:
    span = rejection.loop
    function = view.function_at(span.begin) if span is not None else None
    if span is None or function is None:
        return
    loop = next((n for n in function.walk() if n.kind in LOOPS and n.begin == span.begin), None)
    if loop is None:
        return
    place = Place(view, function, loop, rejection.span.begin, rejection)
    for pattern, maker in MAKERS:
        if re.match(pattern, rejection.reason):
            try:
                yield from list(maker(place))
            except _MISTAKES:  # a mistake of ours costs the user that fix, not the file
                continue
