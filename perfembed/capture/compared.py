"""What two runs of a program say and leave, compared: bit for bit, or as text with numbers that may differ a little."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from perfembed.world import Left, World

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_TEXT_BYTES = 256 << 20  # of a file that is read to be compared as text
_NOTHING = Left("nothing")
_SHOWN = 80


class Said(Protocol):
    """What a run of the program printed and left."""

    @property
    def stdout(self) -> bytes: ...

    @property
    def stderr(self) -> bytes: ...

    @property
    def dropped(self) -> str: ...

    @property
    def exit_code(self) -> int: ...

    @property
    def files(self) -> Mapping[str, Left]: ...


def difference(first: Said, other: Said, world: World, again: Sequence[Said] = ()) -> str:
    """The first thing that differs; `again`: other runs of the first, and the words that they change are left out.

    Only a file of `world.checked` counts all the same.
    """
    a, b = first.exit_code, other.exit_code
    if a != b and all(run.exit_code == a for run in again):
        return f"exit code {a} became {b}"
    for what, tolerance in _streams(world):
        repeated = [_stream(run, what) for run in again]
        if different := _different_text(what, _stream(first, what), _stream(other, what), repeated, tolerance):
            return different
    if first.dropped != other.dropped and all(run.dropped == first.dropped for run in again):
        return "the output is too long to be kept, and its end differs"
    return _different_files(first.files, other.files, [run.files for run in again], world)


def varying(first: Said, again: Sequence[Said], world: World) -> str:
    """What the same program changes from run to run, for the user: so many words, these files; empty: nothing."""
    words = sum(
        _varying_words(_stream(first, what), [_stream(run, what) for run in again], tolerance)
        for what, tolerance in _streams(world)
    )
    files = {path for run in again for path in {*first.files, *run.files} - set(world.checked)}
    changed = sum(
        any(not _same(first.files.get(p, _NOTHING), run.files.get(p, _NOTHING), world.tolerance) for run in again)
        for p in files
    )
    counted = [f"{n} {what}{'s' if n > 1 else ''}" for n, what in ((words, "word"), (changed, "file")) if n]
    return " and ".join(counted)


def alike(first: bytes, other: bytes, tolerance: float) -> bool:
    """Whether two texts have the same words, with numbers that differ by `tolerance` at most, relative."""
    if first == other:
        return True
    if not tolerance or b"\0" in first:
        return False
    numbers, others = _NUMBER.findall(first), _NUMBER.findall(other)
    if len(numbers) != len(others):
        return False
    if not all(a.split() == b.split() for a, b in zip(_NUMBER.split(first), _NUMBER.split(other), strict=True)):
        return False
    return all(a == b or _near(float(a), float(b), tolerance) for a, b in zip(numbers, others, strict=True))


def _near(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def _streams(world: World) -> tuple[tuple[str, float], ...]:
    return ("stdout", world.tolerance), ("stderr", 0.0)


def _stream(said: Said, what: str) -> bytes:
    return said.stdout if what == "stdout" else said.stderr


def _different_text(what: str, first: bytes, other: bytes, repeats: Sequence[bytes], tolerance: float) -> str:
    if first == other:
        return ""
    before, after = first.split(b"\n"), other.split(b"\n")
    repeated = [text.split(b"\n") for text in repeats]
    reordered = _reordered(before, repeated)
    if reordered or any(len(lines) != len(before) for lines in repeated):
        if lost := _kept(before, repeated) - Counter(after):
            return f"{what}: the line {next(iter(lost))[:_SHOWN]!r} is missing"
        new = Counter(after) - Counter(before) if reordered else None
        return f"{what}: the line {next(iter(new))[:_SHOWN]!r} is new" if new else ""
    for number, (x, y, *zs) in enumerate(zip(before, after, *repeated, strict=False), 1):
        if not _alike_but(x, y, zs, tolerance):
            return f"{what} line {number}: {x[:_SHOWN]!r} became {y[:_SHOWN]!r}"
    if len(before) != len(after):
        return f"{what} has {len(first)} bytes, then {len(other)}"
    return ""


def _alike_but(first: bytes, other: bytes, repeats: Sequence[bytes], tolerance: float) -> bool:
    """Whether two lines are alike but for the words that differ in the repeats of the first, too."""
    if alike(first, other, tolerance):
        return True
    if all(alike(first, repeat, tolerance) for repeat in repeats):
        return False
    words, others, repeated = first.split(), other.split(), [repeat.split() for repeat in repeats]
    if any(len(again) != len(words) for again in repeated):
        return True
    return len(words) == len(others) and all(
        alike(a, b, tolerance) or not all(alike(a, z, tolerance) for z in zs)
        for a, b, *zs in zip(words, others, *repeated, strict=True)
    )


def _reordered(first: list[bytes], repeats: Sequence[list[bytes]]) -> bool:
    """Whether the same lines come in another order, as those of threads do."""
    if all(lines == first for lines in repeats):
        return False
    return all(Counter(lines) == Counter(first) for lines in repeats)


def _kept(first: list[bytes], repeats: Sequence[list[bytes]]) -> Counter[bytes]:
    """The lines that are there each time."""
    kept = Counter(first)
    for lines in repeats:
        kept &= Counter(lines)
    return kept


def _varying_words(first: bytes, repeats: Sequence[bytes], tolerance: float) -> int:
    before, repeated = first.split(b"\n"), [text.split(b"\n") for text in repeats]
    if any(len(lines) != len(before) for lines in repeated) or _reordered(before, repeated):
        lost = Counter(before) - _kept(before, repeated)
        return sum(count * len(line.split()) for line, count in lost.items())
    count = 0
    for x, *zs in zip(before, *repeated, strict=True):
        if all(alike(x, z, tolerance) for z in zs):
            continue
        words, again = x.split(), [z.split() for z in zs]
        if any(len(z) != len(words) for z in again):
            count += len(words)
        else:
            count += sum(not all(alike(a, b, tolerance) for b in bs) for a, *bs in zip(words, *again, strict=True))
    return count


def _different_files(
    first: Mapping[str, Left], other: Mapping[str, Left], repeats: Sequence[Mapping[str, Left]], world: World
) -> str:
    names_vary = any(set(first) != set(again) for again in repeats)
    for path in world.checked or sorted({*first, *other}):
        before, after = first.get(path, _NOTHING), other.get(path, _NOTHING)
        if _same(before, after, world.tolerance) or (names_vary and path not in first and not world.checked):
            continue
        varied = [r.get(path, _NOTHING) for r in repeats if not _same(before, r.get(path, _NOTHING), world.tolerance)]
        if varied and world.checked:
            return f"{path} is another one whenever the original runs"
        if varied and _differ_alike(before, after, varied, world.tolerance):
            continue
        return _described(path, before, after, world.tolerance)
    return ""


def _differ_alike(first: Left, other: Left, repeats: Sequence[Left], tolerance: float) -> bool:
    """Whether a file that varies by itself differs by no more than it does; all may vary where it is no text."""
    if first.kind != other.kind:
        return any(again.kind == other.kind for again in repeats)
    a, b, texts = _content(first), _content(other), [_content(again) for again in repeats]
    if a is None or b is None or None in texts or b"\0" in a:
        return True
    return not _different_text("", a, b, [text for text in texts if text is not None], tolerance)


def _same(first: Left, other: Left, tolerance: float) -> bool:
    if first == other:
        return True
    if not tolerance or first.kind != "file" or other.kind != "file":
        return False
    a, b = _content(first), _content(other)
    return a is not None and b is not None and alike(a, b, tolerance)


def _content(left: Left) -> bytes | None:
    """The bytes of a file that was kept and is short enough to be read."""
    path: Path | None = left.content
    return path.read_bytes() if path is not None and path.stat().st_size <= _TEXT_BYTES else None


def _described(path: str, first: Left, other: Left, tolerance: float) -> str:
    if first.kind != other.kind:
        return f"{path}: {_word(first)} became {_word(other)}"
    a, b = _content(first), _content(other)
    if a is None or b is None:
        return f"{path} has another content"
    if b"\0" not in a:
        return _different_text(path, a, b, (), tolerance) or f"{path} has another content"
    at = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return f"{path} differs from byte {at} on"


def _word(left: Left) -> str:
    return left.kind if left.kind == "nothing" else f"a {left.kind}"
