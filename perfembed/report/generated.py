"""Generated programs as a document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfembed.report.documents import document
from scheduler.generator import GeneratedProgram


@dataclass(frozen=True, slots=True)
class ProgramContent:
    """One generated program.

    The same `seed` and `number` always give the same one. `type` of its numbers; `depth` of its deepest nest; `work`:
    statements that it runs, about; `bytes` of its data.
    """

    name: str
    seed: int
    number: int
    patterns: tuple[str, ...]
    function: str
    type: str
    depth: int
    loops: int
    work: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ProgramsContent:
    programs: tuple[ProgramContent, ...]


def programs_document(programs: Iterable[GeneratedProgram]) -> str:
    return document("programs", ProgramsContent(tuple(map(_content, programs))))


def _content(p: GeneratedProgram) -> ProgramContent:
    return ProgramContent(
        p.name, p.seed, p.number, tuple(p.patterns), p.function, p.ctype, p.depth, p.loops, round(p.work), p.bytes
    )
