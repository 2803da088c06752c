"""What a nest was read under, as tests in C: where one fails, the loops as they were written run.

A tuned file is a source file: it is compiled with other macros, flags, headers and types than it was tuned with. The
macros and conditionals that a nest depends on are asked of the preprocessor itself, by two texts made from the
file: `first_probe` tells which branches are active and which macros in force, `second_probe` what the names in a nest
expand to where it stands. Both come out of `cc -E`; nothing in them is compiled.
Long, because it has one kind of assumption beside the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scheduler.codegen.runtime_checks.assumption_tests import (
    LINES_BELOW,
    TEXT,
    arithmetic_tests,
    on_its_line,
    same_tests,
    samples_tests,
    types_tests,
    values_tests,
)
from scheduler.codegen.runtime_checks.macros import foreign_names, misread_branch, misread_macro
from scheduler.frontend import SourceFile
from scheduler.frontend.clang.lexical import Directive, Text
from scheduler.frontend.clang.preprocessing import (
    Conditional,
    Macro,
    Use,
    changed_between,
    conditionals,
    is_constant,
    macros,
    names,
    unbalanced,
)
from scheduler.frontend.model import SourceAssumptions
from scheduler.frontend.openmp.pragmas import WORDS, is_openmp
from scheduler.ir.names import free_name, safe_text

_STRING = r'"(?:[^"\\]|\\.)*"'
_LINE_MARKER = re.compile(r'^# \d+ ".*\n', re.MULTILINE)
_WIDTH = 100
_CHANGING = frozenset(("__LINE__", "__COUNTER__", "__TIME__", "__DATE__", "__TIMESTAMP__", "__FILE__"))
_KEYWORDS = frozenset(("for", "if", "while", "switch", "return", "sizeof"))  # a `(` behind them is no call
_ABI = (
    "defined __GNUC__ && __STDC_VERSION__ >= 199901L",
    "__SIZEOF_INT__ == 4 && __SIZEOF_LONG__ == 8 && __SIZEOF_POINTER__ == 8",
    "(__FLT_EVAL_METHOD__ == 0 || __FLT_EVAL_METHOD__ == 16)",  # 16: 0 but for _Float16, of gcc where vectors have it
)


def free_prefix(*texts: str) -> str:
    """`pe_`, or `pe2_`, `pe3_`, ... where a name in the texts begins so (in a file that was tuned before, too)."""
    taken = {match for text in texts for match in re.findall(r"(?<![\w$])pe\d*_", text)}
    return f"{free_name('pe', {name.removesuffix('_') for name in taken}, '')}_"


@dataclass(frozen=True, slots=True)
class AssumptionTests:
    """The tests of one nest: `directive` for the preprocessor, `parts` for C."""

    directive: str
    parts: tuple[str, ...]

    def condition(self, runtime: str | None) -> str:
        """All of them and `runtime`, on lines of their own where they are long; empty where there are none."""
        lines: list[str] = []
        for part in (*self.parts, *([runtime] if runtime else [])):
            if lines and len(lines[-1]) + len(part) < _WIDTH:
                lines[-1] += f" && {part}"
            else:
                lines.append(part)
        return " &&\n    ".join(lines)


@dataclass(frozen=True, slots=True)
class Untestable:
    """Why the text of a nest cannot be tested; the reason is for the user."""

    reason: str


class Surroundings:
    """The texts around the nests of a file. Used in turn: `first_probe`, `second_probe`, `tests`."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.directives: tuple[Directive, ...] = Text(source.content, source.trigraphs).directives()
        self.conditionals = conditionals(source.content, self.directives)
        self._active: set[int] = set()
        self._macros: Mapping[str, Macro] = {}
        self.prefix = "pe_"  # of the names that the written text makes; after `second_probe`
        self._unsigned = False
        self._items: dict[str, tuple[str, ...]] = {}
        self._directive: dict[str, str] = {}
        self._torn: frozenset[str] = frozenset()  # macros that hold half of a pair of parentheses
        self._untestable: dict[str, str] = {}
        self._defined: Counter[str] = Counter()  # how often lines define or undefine a macro
        # Which headers are included, the file's own lines say.
        self._headers = [(b"", self.directives), *((text, Text(text).directives()) for text in source.headers)]

    # ------------------------------------------------------------------------------------ the probes

    def first_probe(self) -> bytes:
        """For `cc -E -dD`, with the flags the file was read with."""
        marks = [(b.begin, f"\npe_branch_{b.begin}") for c in self.conditionals for b in c.branches]
        return self._with(marks, "")

    def second_probe(self, first: str) -> bytes:
        """For `cc -E`, with the flags the written file is compiled with; `first`: what came of the first probe."""
        self._active = {int(offset) for offset in re.findall(r"\bpe_branch_(\d+)\b", first)}
        found = macros(first)
        self.prefix = free_prefix(re.sub(r"\bpe_branch_\d+", "", first), *self._texts_of_files())
        self._macros = found
        self._defined = Counter(re.findall(r"^#(?:define|undef) ([\w$]+)", first, re.MULTILINE))
        self._unsigned = "__CHAR_UNSIGNED__" in found
        self._torn = unbalanced(found)
        marks = []
        for number, nest in enumerate(self.source.nests):
            assert nest.span is not None
            assumptions = self.source.assumptions[nest.name]
            self._directive[nest.name] = " && ".join(self._conditions(assumptions))
            items = tuple(dict.fromkeys((*self._texts(assumptions), *self._foreign(assumptions))))
            if (foreign := self._unknown_body(assumptions)) is not None:
                self._untestable[nest.name], items = foreign, ()
            elif torn := [item for item in items if item.partition("(")[0] in self._torn]:
                self._untestable[nest.name], items = f"the macro '{torn[0]}' holds half of a pair of parentheses", ()
            elif (misread := self._misread(assumptions)) is not None:
                self._untestable[nest.name], items = misread, ()
            elif (changed := self._changed(assumptions)) is not None:
                self._untestable[nest.name], items = changed, ()
            self._items[nest.name] = items
            lines, below = [f"pe_site_{number}"], "\n" * LINES_BELOW
            lines += [f"pe_first_{number} pe_text({i}){below}pe_again_{number} pe_text({i})" for i in items]
            condition = " && ".join(part for part in (self.abi, self._directive[nest.name]) if part)
            lines += [f"#if {condition}", f"pe_holds_{number}", "#endif\n"]
            marks.append((nest.span.begin, "\n" + "\n".join(lines)))
        return self._with(marks, TEXT)

    def tests(self, second: str) -> dict[str, AssumptionTests | Untestable]:
        """Of each nest by its name; `second`: what came of the second probe."""
        found: dict[str, AssumptionTests | Untestable] = {}
        second = _LINE_MARKER.sub("", second)  # gcc puts them around what comes from a system's macro
        for number, nest in enumerate(self.source.nests):
            items, assumptions = self._items[nest.name], self.source.assumptions[nest.name]
            if nest.name in self._untestable:
                found[nest.name] = Untestable(self._untestable[nest.name])
                continue
            once, again = (re.findall(rf"\bpe_{which}_{number}\s+({_STRING})", second) for which in ("first", "again"))
            if len(once) != len(items) or len(again) != len(items):
                found[nest.name] = Untestable("its macros cannot be tested where it stands")
            elif f"pe_holds_{number}\n" not in second:
                reason = "the preprocessor's conditions around it do not hold where it stands, with these flags"
                found[nest.name] = Untestable(reason)
            else:
                inside = {u.name for u in self._inside(assumptions)}
                moving = {i: on_its_line(a, b) for i, a, b in zip(items, once, again, strict=True) if a != b}
                own = {*self._own_texts(assumptions)} & moving.keys()
                if inside & _CHANGING or any(moving[item] is None for item in own):
                    found[nest.name] = Untestable("its text depends on the line it stands in (__LINE__)")
                    continue
                texts = [(i, a) for i, a in zip(items, once, strict=True) if i not in moving]
                lines = [f"pe_same({moving[item]}, {safe_text(item)})" for item in sorted(own)]
                parts = (
                    *same_tests(texts),
                    *lines,
                    *types_tests(assumptions),
                    *values_tests(assumptions),
                    *samples_tests(assumptions),
                )
                parts += tuple(arithmetic_tests(assumptions))
                found[nest.name] = AssumptionTests(self._directive[nest.name], parts)
        return found

    @property
    def macros(self) -> Mapping[str, Macro]:
        """Those in force at the end of the file; after `second_probe`."""
        return self._macros

    def _texts_of_files(self) -> Iterator[str]:
        """What the file and its headers say, in whichever branch."""
        yield from (text.decode("latin-1") for text in (self.source.content, *self.source.headers))

    @property
    def abi(self) -> str:
        """What must hold in the whole file, for the preprocessor."""
        return " && ".join((*_ABI, f"{'' if self._unsigned else '!'}defined __CHAR_UNSIGNED__"))

    def _with(self, marks: Iterable[tuple[int, str]], head: str) -> bytes:
        pieces, position = [head.encode()], 3 if self.source.content.startswith(b"\xef\xbb\xbf") else 0
        for offset, mark in sorted(marks):
            pieces += [self.source.content[position:offset], mark.encode()]
            position = offset
        return b"".join([*pieces, self.source.content[position:]])

    # -------------------------------------------------------------------------------- what is looked at

    def _names(self, begin: int, end: int) -> Iterator[Use]:
        """The names in a range, those in its OpenMP pragmas, too: compilers expand macros there."""
        yield from names(self.source.content, begin, end, self.directives, self.source.trigraphs)
        for line in self.directives:
            if begin <= line.begin < end and is_openmp(line):
                text = line.text.encode()
                yield from (u for u in names(text, text.index(b"omp"), len(text), ()) if u.name not in WORDS)

    def _own_texts(self, assumptions: SourceAssumptions) -> Iterator[str]:
        """The names of a nest, as arguments of `pe_text`."""
        for use in self._inside(assumptions):
            macro = self._macros.get(use.name)
            if macro is None or not macro.system:
                yield self._item(use)

    def _inside(self, assumptions: SourceAssumptions) -> Iterator[Use]:
        """The names of a nest, of its pragmas, and of the functions in it, but for those of exits."""
        for begin, end in (*assumptions.texts, *assumptions.pragmas):
            for first, last in sorted(e for e in assumptions.exits if begin <= e[0] and e[1] <= end):
                if begin <= first:
                    yield from self._names(begin, first)
                    begin = last
            yield from self._names(begin, end)

    def _texts(self, assumptions: SourceAssumptions) -> Iterator[str]:
        """Those, and of the text around the nest the macros that might matter."""
        yield from self._own_texts(assumptions)
        around = [(0, len(self.source.content))] if assumptions.whole_file else [assumptions.function]
        if not assumptions.dead and not assumptions.whole_file:
            return
        dead = set(assumptions.dead)
        for begin, end in around:
            for use in self._names(begin, end):
                macro = self._macros.get(use.name)
                if macro is None or (macro.parameters is not None and use.arguments is None):
                    continue
                mentions = dead & set(re.findall(r"[\w$]+", use.text))
                if mentions or not (macro.system or is_constant(macro, dict(self._macros))):
                    yield self._item(use)

    def _foreign(self, assumptions: SourceAssumptions) -> Iterator[str]:
        return map(self._item, foreign_names(assumptions.bodies, self._headers, self._macros))

    def _unknown_body(self, assumptions: SourceAssumptions) -> str | None:
        """Why what a body of another file depends on cannot be tested; None where it can."""
        if not assumptions.hidden:
            return None
        whose = f"'{assumptions.hidden[0]}' of another file"
        if not all(assumptions.bodies):
            reason = f"it holds the body of {whose}, which has preprocessor lines or comes from a macro"
            return f"{reason} (move that function into this file)"
        for use in foreign_names(assumptions.bodies, self._headers, self._macros):
            macro = self._macros.get(use.name)
            if macro is not None and macro.parameters is not None and use.arguments is None:
                return f"what '{use.name}', on which {whose} depends, expands to cannot be asked"
            if self._defined[use.name] > 1:
                return f"'{use.name}', on which {whose} depends, is defined more than once"
        return None

    def _misread(self, assumptions: SourceAssumptions) -> str | None:
        """Where the parser took the text for another one than the compiler does."""
        ranges = [assumptions.function, *assumptions.texts, *assumptions.pragmas]
        around = [c for c in self.conditionals if any(_overlap(c, r) for r in ranges) and self._reached(c)]
        branch = misread_branch(around, self._active, self.source.skipped)
        if branch is not None:
            return f"the C parser reads another branch of '#if {branch.branches[0].condition}' than the compiler"
        used = {use.name for begin, end in ranges for use in self._names(begin, end)}
        name = misread_macro(used, self._macros, self.source.macros, self._defined)
        return None if name is None else f"the C parser takes '{name}' for something else than the compiler does"

    def _changed(self, assumptions: SourceAssumptions) -> str | None:
        around = [c for c in self.conditionals if any(_overlap(c, text) for text in assumptions.texts)]
        used = {use.name for begin, end in assumptions.texts for use in self._names(begin, end)}
        used |= {word for c in around for b in c.branches for word in re.findall(r"[\w$]+", b.condition)}
        active = tuple(d for d in self.directives if not self._left_out(d.begin))
        for pragma in assumptions.pragmas:
            spelled = {use.name for use in self._names(*pragma)}
            changed = changed_between(
                (assumptions.texts[0], pragma), spelled, active, self._macros, "a pragma around it"
            )
            if changed is not None:
                return changed
        return changed_between(assumptions.texts, used, active, self._macros)

    def _left_out(self, offset: int) -> bool:
        """By one of the conditionals that are looked at."""
        return any(
            branch.begin <= offset < branch.end and branch.begin not in self._active
            for conditional in self.conditionals
            for branch in conditional.branches
        )

    def _item(self, use: Use) -> str:
        macro = self._macros.get(use.name)
        if use.arguments is None or (macro is None and use.name in _KEYWORDS):
            return use.name
        if macro is not None and macro.parameters is not None and macro.pastes:
            return use.text
        return f"{use.name}({', '.join(f'pe_{k}' for k in range(1, use.arguments + 1))})"

    def _conditions(self, assumptions: SourceAssumptions) -> Iterator[str]:
        """Which branches of the conditionals that matter were active, as conditions of `#if`."""
        if assumptions.whole_file:
            yield "__INCLUDE_LEVEL__ == 0"  # a file that includes this one may call static functions
        if assumptions.openmp:
            yield "defined _OPENMP"
        if "NDEBUG" in self._macros and any(use.name == "assert" for use in self._inside(assumptions)):
            yield "defined NDEBUG"  # which is how the system's header came to its assert
        ranges = [assumptions.function, *assumptions.texts]
        for conditional in self.conditionals:
            wide = assumptions.whole_file and not conditional.includes
            if not (wide or any(_overlap(conditional, r) for r in ranges)):
                continue
            if not self._reached(conditional):
                continue
            for branch in conditional.branches:
                if branch.begin in self._active:
                    if branch.condition != "1":
                        yield branch.condition
                    break
                yield f"!({branch.condition})"

    def _reached(self, conditional: Conditional) -> bool:
        """Every branch that holds it is active."""
        return all(
            branch.begin in self._active
            for outer in self.conditionals
            for branch in outer.branches
            if outer is not conditional and branch.begin <= conditional.begin < branch.end
        )


def _overlap(conditional: Conditional, text: tuple[int, int]) -> bool:
    return conditional.begin < text[1] and text[0] < conditional.end
