"""The capture run: the program once more, writing what chosen nests work on just before their typical call.

Long, because what is written, what it is read back from and why it may be missing belong together.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.building.text import c_string
from perfembed.capture.captured import CapturedArray, CapturedNest, CaptureFailed
from perfembed.capture.extents import (
    Extents,
    ExtentUnknown,
    Touched,
    box_text,
    broken_assumption,
    element_bytes,
    object_text,
    outer_arrays,
    rows_text,
)
from perfembed.capture.instrument import Around, leaving, named_values, recorded_values, values_text, without_culprits
from perfembed.capture.overlaps import RowsWritten, Written, overlaps
from perfembed.capture.profile import NestProfile, ProgramProfile, instrumented, not_watched
from perfembed.capture.program import ProgramFailed, Runtime, build_program, run_program
from perfembed.capture.rows import rows_name
from perfembed.world import last_words, run_failure
from profilers.deadline import OutOfTime, left_s, share_of_time
from profilers.workload import ELEMENT_TYPES, PAGE, CapturedFill, ConstantFill
from scheduler.frontend import SourceFile
from scheduler.ir.nest import Array, LoopNest

_HERE = Path(__file__).parent
_WRAPPED = ("malloc", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "free")
DEFAULT_CAP_BYTES = 2 << 30
_ROOMS = 4
_SEARCH_S = 60.0  # for finding nests with which the program fails
_SEARCH_SHARE = 0.5  # of the time that is left, for that
_LATE = "the budget was spent before its inputs were captured"
_BARRIER = '_Pragma("omp barrier")'
_ALONE = {"OMP_THREAD_LIMIT": "1"}


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to write of one nest."""

    nest: LoopNest
    profile: NestProfile
    objects: tuple[Extents, ...]
    unread: frozenset[str]  # arrays whose contents do not matter
    stem: Path
    after: bool

    @property
    def data(self) -> Path:
        return self.stem.with_name(self.stem.name + ".bin")

    @property
    def outputs(self) -> Path:
        return self.stem.with_name(self.stem.name + ".after.bin")

    @property
    def report(self) -> Path:
        return self.stem.with_name(self.stem.name + ".txt")

    @property
    def delivered(self) -> bool:
        """Whether the program wrote what was asked for, or said why not."""
        words = self.report.read_text(encoding="ascii").split() if self.report.exists() else []
        return words[-1:] == ["end"] or "failed" in words


def capture_nests(
    sources: Sequence[SourceFile],
    nests: tuple[LoopNest, ...],
    profile: ProgramProfile,
    workdir: Path,
    *,
    cap_bytes: int | None = None,
    after: bool = False,
) -> dict[str, CapturedNest | CaptureFailed]:
    """The inputs of each nest at its typical call, by name, from one run of the program.

    The program is stopped once it has delivered. `after`: the contents after the call are kept too. Nests with more
    than `cap_bytes` are left out; None: than the machine has room for, in memory and where `workdir` lies.
    Raises what building and containment raise: CompilerMissing, NotExecutable, ContainmentError.
    """
    workdir = workdir.absolute()
    workdir.mkdir(parents=True, exist_ok=True)
    cap_bytes = room_for(workdir) if cap_bytes is None else cap_bytes
    found: dict[str, CapturedNest | CaptureFailed] = {}
    plans: list[_Plan] = []
    half_s = left_s() / 2
    for index, nest in enumerate(nests):
        ran = profile.nest(nest.name)
        if ran.other_threads and not _context(sources, nest):
            found[nest.name] = CaptureFailed(nest.name, "the program runs it in several threads at once")
            continue
        if plans and left_s() < half_s:  # the first ones matter most
            found[nest.name] = CaptureFailed(nest.name, _LATE)
            continue
        planned = _plan(nest, ran, workdir / f"nest{index}", cap_bytes, after)
        if isinstance(planned, CaptureFailed):
            found[nest.name] = planned
        else:
            plans.append(planned)

    problems: dict[str, str] = {}

    # What a team shares, or several threads run, is recorded with a team of one, so that nobody changes it meanwhile;
    # in a program that insists on its threads, while those of the team wait.
    teams = [plan for plan in plans if _is_shared(sources, plan)]
    alone = replace(profile, program=replace(profile.program, environment={**profile.program.environment, **_ALONE}))

    def works(part: tuple[_Plan, ...]) -> bool:
        others, shared = [p for p in part if p not in teams], [p for p in part if p in teams]
        problem = _run(sources, others, profile, workdir, cap_bytes) if others else None
        if shared:
            failed = _run(sources, shared, alone, workdir, cap_bytes)
            if failed and not all(plan.delivered for plan in shared):
                failed = _run(sources, shared, profile, workdir, cap_bytes, waiting=True)
            problem = problem or failed
        missing = [plan for plan in part if not plan.delivered]
        problems.update({plan.nest.name: not_watched(problem) for plan in missing if problem})
        return problem is None or not missing

    try:
        if plans and not works(tuple(plans)):  # the program runs well without our calls: it is one of them
            waiting = [plan for plan in plans if not plan.delivered]
            with share_of_time(_SEARCH_SHARE):
                good = without_culprits(waiting, works, min(60, max(2, int(_SEARCH_S / max(profile.wall_s, 0.1)))))
            rest = tuple(plan for plan in plans if plan not in waiting or plan in good)
            if rest:
                works(rest)
    except OutOfTime:
        problems.update((plan.nest.name, _LATE) for plan in plans if not plan.delivered)
    for plan in plans:
        found[plan.nest.name] = _read(plan, problems.get(plan.nest.name), cap_bytes)
    return {nest.name: found[nest.name] for nest in nests}


def _is_shared(sources: Sequence[SourceFile], plan: _Plan) -> bool:
    """Whether others change what a nest works on meanwhile, or may make the call that is recorded."""
    context = _context(sources, plan.nest)
    return context == "team" or (context == "thread" and plan.profile.other_threads > 0)


def _context(sources: Sequence[SourceFile], nest: LoopNest) -> str:
    found = (source.sharing.get(nest.name) for source in sources)
    return next((sharing.context for sharing in found if sharing is not None), "")


def room_for(folder: Path) -> int:
    """Bytes that the inputs of a nest may have: outputs, a reference and other programs need room, too."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(memory, shutil.disk_usage(folder).free) // _ROOMS


def _plan(nest: LoopNest, profile: NestProfile, stem: Path, cap_bytes: int, after: bool) -> _Plan | CaptureFailed:
    """What to write, or why it cannot be."""
    if profile.problem:
        return CaptureFailed(nest.name, profile.problem)
    if profile.typical_call is None:
        return CaptureFailed(nest.name, "the program never runs it")
    if broken := broken_assumption(nest, profile.values):
        values = ", ".join(f"{p.name} = {profile.values[p.name]}" for p in nest.parameters)
        return CaptureFailed(nest.name, f"it is understood only where {broken}, which does not hold for {values}")
    objects: list[Extents] = []
    unread: set[str] = set()
    touched = Touched(nest, profile.values)
    for array in outer_arrays(nest):
        if array.ctype not in ELEMENT_TYPES:
            return CaptureFailed(nest.name, f"{array.name} has elements of type {array.ctype}, which is not supported")
        try:
            objects.append(touched.extents(array))
            if array.shape and touched.overwritten(array):
                unread.add(array.name)
        except ExtentUnknown as unknown:
            return CaptureFailed(nest.name, str(unknown))
    known = sum((o.count or 0) * element_bytes(o.array.ctype) for o in objects)
    if known > cap_bytes:
        return CaptureFailed(nest.name, too_large(known, cap_bytes))
    return _Plan(nest, profile, tuple(objects), frozenset(unread), stem, after)


def _run(
    sources: Sequence[SourceFile],
    plans: Sequence[_Plan],
    profile: ProgramProfile,
    workdir: Path,
    cap_bytes: int,
    waiting: bool = False,
) -> str | None:
    """Builds and runs; what went wrong with the program, if anything did. `waiting`: all threads come to the nests."""
    runtime = Runtime(
        "capture",
        _HERE / "capture_runtime.c",
        _HERE / "instrument.h",
        _tables(plans, cap_bytes),
        ("-Dregister=",),  # the address of a scalar is taken
        tuple(f"-Wl,--wrap={name}" for name in _WRAPPED),
    )
    _forget(plans)
    texts = instrumented(
        sources,
        ((plan.nest, _dumped(k, plan, waiting and not plan.profile.other_threads)) for k, plan in enumerate(plans)),
    )
    executable = build_program(texts, profile.program, runtime, workdir)
    if isinstance(executable, ProgramFailed):
        return executable.reason
    _forget(plans)  # what a program that the build runs has left
    ran = run_program(executable, profile.program, (workdir,))
    if ran.finished.signal is None and ran.exit_code not in (0, profile.exit_code):
        return f"the program ended with exit code {ran.exit_code}{last_words(ran.stderr)}"
    return run_failure(ran.finished, profile.program.world.limits)


def _forget(plans: Sequence[_Plan]) -> None:
    for plan in plans:
        plan.report.unlink(missing_ok=True)


def _dumped(index: int, plan: _Plan, waiting: bool = False) -> Around:
    """The calls that write what a nest is given; `waiting`: the threads of its team for each other."""
    nest = plan.nest
    assert nest.span is not None
    addresses = ", ".join(f"(const void *){_address(o.array)}" for o in plan.objects)
    pointers = f"__extension__ (const void *const[]){{{addresses}}}" if addresses else "0"
    values = values_text(nest)
    before = f"if (perfembed_due({index}, {values})) perfembed_before({index}, {values}, {pointers});"
    after = ""
    if waiting:
        before = f"{_BARRIER} {before} {_BARRIER}"
        after = f"{_BARRIER} perfembed_after({index});" if plan.after else _BARRIER
    elif plan.after:
        before = f"{leaving(str(index))} {before}"
    return Around(nest.span.begin, nest.span.end, before, after)


def _address(array: Array) -> str:
    return f"{'&' if array.is_scalar else ''}({array.base or array.name})"


def _tables(plans: Sequence[_Plan], cap_bytes: int) -> str:
    lines = [f"#define PE_NESTS {len(plans)}", f"#define PE_WANTED {len(plans)}", f"#define PE_CAP {cap_bytes}ULL"]
    rows = []
    for k, plan in enumerate(plans):
        texts = []
        for position, extents in enumerate(plan.objects):
            unread = extents.array.name in plan.unread
            if extents.rows is None:
                texts.append(object_text(extents, unread))
                continue
            boxes = ", ".join(box_text(box) for box in extents.rows.boxes)
            lines.append(f"static const struct pe_box pe_boxes_{k}_{position}[] = {{{boxes}}};")
            texts.append(rows_text(extents, unread, f"pe_boxes_{k}_{position}"))
        objects = ", ".join(texts) or "{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}"
        lines.append(f"static const struct pe_object pe_objects_{k}[] = {{{objects}}};")
        paths = ", ".join(c_string(str(path)) for path in (plan.data, plan.outputs, plan.report))
        counts = f"{plan.profile.typical_call}ULL, {len(recorded_values(plan.nest))}, {len(plan.objects)}"
        wanted = "0"
        if plan.profile.other_threads:  # which of them makes which call is not known before
            wanted = f"pe_wanted_{k}"
            numbers = (plan.profile.values[name] for name, _, _ in recorded_values(plan.nest))
            known = ", ".join(f"(long long){number % (1 << 64)}ULL" for number in numbers)
            lines.append(f"static const long long {wanted}[] = {{{known or 0}}};")
        rows.append(f"    {{{counts}, {plan.after:d}, {wanted}, pe_objects_{k}, {paths}}},")
    return "\n".join([*lines, "static const struct pe_nest pe_nests[PE_NESTS] = {", *rows, "};"]) + "\n"


def _read(plan: _Plan, problem: str | None, cap_bytes: int) -> CapturedNest | CaptureFailed:
    name, call = plan.nest.name, plan.profile.typical_call
    text = plan.report.read_text(encoding="ascii") if plan.report.exists() else ""
    lines = [line.split() for line in text.splitlines()]
    if failed := next((words for words in lines if words[0] == "failed"), None):
        return CaptureFailed(name, _reason(plan, failed[1], int(failed[2]), int(failed[3]), cap_bytes))
    if not lines or lines[-1] != ["end"]:
        return CaptureFailed(name, problem or f"the program ended before call {call} when it was run a second time")
    values = named_values(plan.nest, [int(word) for word in lines[0][1:]])
    if changed := next((n for n, value in values.items() if value != plan.profile.values[n]), None):
        before, now = plan.profile.values[changed], values[changed]
        return CaptureFailed(name, f"the program does not repeat itself: {changed} was {before} and then {now}")
    written = [Written(*map(int, words[1:])) for words in lines if words[0] == "object"]
    tables = {int(words[1]): RowsWritten(*map(int, words[2:])) for words in lines if words[0] == "rows"}
    arrays = tuple(
        captured
        for k, (e, w) in enumerate(zip(plan.objects, written[: len(plan.objects)], strict=True))
        for captured in (_array(plan, e, w), *([_table(plan, e, tables[k])] if k in tables else []))
    )
    outputs = tuple(
        (e.array.name, CapturedFill(str(plan.outputs), w.offset))
        for e, w in zip(plan.objects, written[len(plan.objects) :], strict=False)
    )
    parameters: Mapping[str, int] = {p.name: values[p.name] for p in plan.nest.parameters}
    total = sum(w.size for w in written[: len(plan.objects)])
    names = [e.array.name for e in plan.objects]
    shared = overlaps(plan.nest, names, plan.data, written, tables)
    return CapturedNest(name, parameters, arrays, shared, total, call, outputs)


def _array(plan: _Plan, extents: Extents, written: Written) -> CapturedArray:
    array, width = extents.array, element_bytes(extents.array.ctype)
    inner = tuple(extent or 1 for extent in extents.shape[1:])
    shape = (written.size // (extents.row * width), *inner) if extents.shape else ()
    modulo = written.address % PAGE // width * width
    fill = ConstantFill(0) if array.name in plan.unread else CapturedFill(str(plan.data), written.offset)
    holes = frozenset(k for k, member in enumerate(array.members) if not member)
    return CapturedArray(array.name, array.ctype, shape, fill, modulo, written.known, holes=holes)


def _table(plan: _Plan, extents: Extents, rows: RowsWritten) -> CapturedArray:
    name = rows_name(extents.array.name)
    return CapturedArray(name, "long", (rows.count,), CapturedFill(str(plan.data), rows.offset), 0, 0, table=True)


def _reason(plan: _Plan, kind: str, index: int, number: int, cap_bytes: int) -> str:
    array = plan.objects[index].array
    if kind == "rows":
        return f"the rows of {array.name} begin between its elements"
    if kind == "large":
        return too_large(number, cap_bytes)
    if kind == "null":
        return f"{array.name} is a null pointer at call {plan.profile.typical_call}"
    if kind == "unknown":
        return (
            f"the size of {array.name} is unknown: its subscripts depend on data, and it points neither into memory"
            " from malloc nor into a global or static array"
        )
    if kind == "outside":
        needed = plan.objects[index].sure * element_bytes(array.ctype)
        return f"it uses {needed} bytes of {array.name}, of which only {number} are allocated"
    if kind == "unmapped":
        return f"{array.name} ends earlier than its subscripts reach (unmapped memory)"
    return f"its inputs could not be written to {plan.data} (error {number})"


def too_large(total: int, cap_bytes: int) -> str:
    """The reason for a failure: these bytes are more than the cap."""
    return f"its inputs are {total / 2**30:.2f} GiB, more than the limit of {cap_bytes / 2**30:.2f} GiB"
