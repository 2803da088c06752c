"""Files of random functions under random legal schedules, compiled in several ways and called with many values."""

from __future__ import annotations

import random
import re
import shlex
import traceback
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfembed.tuning.rewrite import Rewrite, rewrite_source
from perfembed.tuning.surroundings import Surveyed, survey
from profilers.build import CompilerConfig
from scheduler.codegen.runtime_checks.source_assumptions import AssumptionTests
from scheduler.errors import SchedulerError
from scheduler.frontend import ParseOptions, SourceFile
from scheduler.frontend.child import parse
from scheduler.frontend.parsing import parser_request, understood
from scheduler.ir.nest import LoopNest
from scheduler.polyhedral.model import QuotaExceeded
from scheduler.replay import Replayer
from scheduler.schedule import format_schedule
from tests.campaigns.bounds.arguments import drawn, ordinary
from tests.campaigns.bounds.builds import ORIGINAL, TUNED, Call, DoesNotCompile, Said, build, counted, run
from tests.campaigns.bounds.driver import only, program
from tests.campaigns.bounds.generate import unit
from tests.campaigns.bounds.model import BASE, SANITIZED, Campaign, Fault, Kind, Tally, Way, ways
from tests.campaigns.bounds.unit import Unit
from tests.campaigns.forms.check import drawn_for, for_values

_CANDIDATES = 22  # values to choose those of a function from: many leave its arrays
_FEWEST = 2  # values without which a function is left out
_ORIGINAL_MS, _WRITTEN_MS = 4, 30_000  # of processor time: a step limit, and what an endless loop is told by
_FOR_VALUES = 0.15  # share of the files of which half the nests are read for some values
_VECTOR_BYTES = 32
_DEFINED = Way("defined", "gcc", SANITIZED)
_SLOW = Way("slow", "gcc", ("-O0",))
_QUOTED = re.compile(r"'[^']*'|\d+")


@dataclass(frozen=True, slots=True)
class Batch:
    """A file: its functions, the calls that C defines, and what these print."""

    units: tuple[Unit, ...]
    seed: str
    text: str
    calls: tuple[Call, ...]
    expected: tuple[Said, ...]
    flags: tuple[str, ...]

    def of(self, numbers: Collection[int | None]) -> Batch:
        """With the calls of these functions alone."""
        pairs = [(c, e) for c, e in zip(self.calls, self.expected, strict=True) if c[0] in numbers]
        units = tuple(u for u in self.units if u.number in numbers)
        return replace(self, units=units, calls=tuple(c for c, _ in pairs), expected=tuple(e for _, e in pairs))


@dataclass(frozen=True, slots=True)
class Written:
    """A file with its nests under schedules; `nests` in the order of the counters."""

    content: bytes
    nests: tuple[LoopNest, ...]
    schedules: tuple[str, ...]


def defined(units: Sequence[Unit], calls: Sequence[Call], seed: str, flags: tuple[str, ...], folder: Path,
            tuples: int = 1 << 30, fewest: int = _FEWEST) -> Batch:  # fmt: skip
    """The functions with at least `fewest` calls that sanitizers find nothing in and that end soon.

    Also without optimization: what a compiler takes away, as loops that do nothing, a written file may spend hours on.

    Raises DoesNotCompile.
    """
    path = folder / "original.c"
    path.write_text(program(units, seed))
    said = run(build(path, _DEFINED, flags), calls, _DEFINED, _ORIGINAL_MS).calls
    pairs = [(call, words) for call, words in zip(calls, said, strict=True) if not words.ended]
    slow = run(build(path, _SLOW, flags), [call for call, _ in pairs], _SLOW, _ORIGINAL_MS).calls
    good: list[tuple[Call, Said]] = []
    number: Counter[int] = Counter()
    for (call, words), again in zip(pairs, slow, strict=True):
        if words == again and number[call[0]] < tuples:
            number[call[0]] += 1
            good.append((call, words))
    kept = tuple(u for u in units if number[u.number] >= fewest)
    names = {u.number for u in kept}
    good = [(call, words) for call, words in good if call[0] in names]
    text = program(kept, seed)
    return Batch(kept, seed, text, tuple(c for c, _ in good), tuple(w for _, w in good), flags)


def read(path: Path, flags: tuple[str, ...]) -> SourceFile:
    """In this process: a parser of its own for each file would take longer than all else. Raises ParseFailed."""
    options = ParseOptions((*BASE, *flags), "gcc")
    request = parser_request(str(path), path.read_bytes(), options)
    return understood(parse(request), request, options)


def surroundings(source: SourceFile, flags: tuple[str, ...], folder: Path) -> Surveyed:
    before = (*BASE, *flags)
    return survey(
        source, CompilerConfig("gcc", before), CompilerConfig("gcc", (*before, "-fopenmp")), folder / "survey"
    )


def of_unit(nest: LoopNest) -> int | None:
    """The number of the function that a nest stands in; None for one of the driver's."""
    match = re.fullmatch(r"f(\d+)", nest.function or "")
    return int(match.group(1)) if match else None


class Checker:
    """The files of one process."""

    def __init__(self, campaign: Campaign, folder: Path) -> None:
        self.campaign = campaign
        self.folder = folder
        self.tally = Tally()
        self.ways = tuple(way for way in ways(campaign.clang) if way.name in campaign.ways)

    def check(self, begin: int, end: int) -> None:
        """The functions [begin, end) of the campaign in one file; what is wrong goes to the tally."""
        seed = f"{self.campaign.seed}-{begin}"
        rng = random.Random(f"bounds {seed}")
        flags = tuple(shlex.split(rng.choice(self.campaign.flags)))
        units = [unit(f"bounds {self.campaign.seed}-{n}", n - begin) for n in range(begin, end)]
        self.tally.counts["programs"] += len(units)
        try:
            calls = [(u.number, values) for u in units for values in _values(rng)]
            batch = defined(units, calls, seed, flags, self.folder, self.campaign.tuples)
            self.tally.counts["undefined"] += len(units) - len(batch.units)
            self.tally.counts["calls"] += len(batch.calls)
            if batch.units:
                self._checked(batch, begin, rng)
        except DoesNotCompile as error:
            self.tally.faults.append(Fault(begin, "program at fault", str(error)[-3000:]))
        except (Exception, RecursionError):
            self.tally.faults.append(Fault(begin, "internal error", traceback.format_exc()))

    def _checked(self, batch: Batch, begin: int, rng: random.Random) -> None:
        self._refusals(batch, rng)
        faulty: set[int] = set()
        for number, written in enumerate(self.written(batch, rng)):
            batch = batch.of({of_unit(nest) for nest in written.nests})
            if number == 0:
                self.tally.counts["programs written"] += len(batch.units)
            for way in self.ways:
                found = list(self.compared(batch, written, way, faulty))
                self.tally.faults += (replace(fault, program=begin + fault.program) for fault in found)
                if any(fault.kind == "does not compile" for fault in found):
                    break  # nor will it in the other ways

    def _refusals(self, batch: Batch, rng: random.Random) -> None:
        path = self.folder / "program.c"
        path.write_text(batch.text)
        source = read(path, batch.flags)
        self.source = for_values(path, "gcc", source, rng) if not batch.flags and rng.random() < _FOR_VALUES else source
        for rejection in source.rejections:
            self.tally.refused[_QUOTED.sub("…", rejection.reason)] += 1
        self.tally.counts["refused"] += len(source.rejections)

    def written(self, batch: Batch, rng: random.Random) -> Iterator[Written]:
        """The file with all nests in their own order, then under random schedules."""
        source = self.source
        surveyed = surroundings(source, batch.flags, self.folder)
        counts = self.tally.counts
        replayers: dict[str, Replayer] = {}
        for nest in source.nests:
            if of_unit(nest) is None:
                continue
            counts["nests"] += 1
            tests = surveyed.tests[nest.name]
            if not isinstance(tests, AssumptionTests):
                counts["untestable"] += 1
                self.tally.refused[f"untestable: {_QUOTED.sub('…', tests.reason)}"] += 1
                continue
            try:
                replayers[nest.name] = Replayer(nest)
            except (SchedulerError, QuotaExceeded) as error:
                counts["without code"] += 1
                self.tally.refused[f"not analysed: {_QUOTED.sub('…', str(error))}"] += 1
        for number in range(self.campaign.schedules):
            chosen = {name: drawn_for(replayer, rng) if number else () for name, replayer in replayers.items()}
            rewrites = [Rewrite(nest, chosen[nest.name], 1.0) for nest in source.nests if nest.name in chosen]
            written = None
            try:
                written = write(source, rewrites, surveyed) if rewrites else None
            except (SchedulerError, QuotaExceeded):
                rewrites = self._coded(source, rewrites, surveyed, replayers)
                written = write(source, rewrites, surveyed) if rewrites else None
            if written is not None:
                counts["rewritten"] += len(rewrites)
                counts["reordered"] += sum(bool(r.schedule) for r in rewrites)
                yield written

    def _coded(
        self, source: SourceFile, rewrites: list[Rewrite], surveyed: Surveyed, replayers: dict[str, Replayer]
    ) -> list[Rewrite]:
        """Those that there is code for; the others are forgotten."""
        coded = []
        for rewrite in rewrites:
            try:
                rewrite_source(source, [rewrite], _VECTOR_BYTES, surveyed)
            except (SchedulerError, QuotaExceeded) as error:
                self.tally.counts["without code"] += 1
                self.tally.refused[f"no code: {_QUOTED.sub('…', str(error))}"] += 1
                del replayers[rewrite.nest.name]
            else:
                coded.append(rewrite)
        return coded

    def compared(self, batch: Batch, written: Written, way: Way, faulty: set[int]) -> Iterator[Fault]:
        """One fault a function at most; `faulty`: those that have theirs."""
        calls = [(c, e) for c, e in zip(batch.calls, batch.expected, strict=True) if c[0] not in faulty]
        path = self.folder / "written.c"
        path.write_bytes(only(written.content, {number for (number, _), _ in calls}))
        try:
            found = run(build(path, way, batch.flags), [c for c, _ in calls], way, _WRITTEN_MS)
        except DoesNotCompile as error:
            yield Fault(0, "does not compile", str(error)[-3000:], way.name, shlex.join(batch.flags), written.schedules,
                        written=written.content.decode())  # fmt: skip
            return
        units = {u.number: u for u in batch.units}
        original: Mapping[Call, Said] | None = None
        nests: dict[int, int] = {}
        for (call, expected), said in zip(calls, found.calls, strict=True):
            self._paths(said, nests)
            if (said.text, said.ended) == (expected.text, "") or call[0] in faulty:
                continue
            if original is None:
                original = self._original(batch, way)
            if (said.text, said.ended) == (original[call].text, original[call].ended):
                self.tally.counts["compiled otherwise"] += 1
                continue
            faulty.add(call[0])
            schedules = tuple(
                s for nest, s in zip(written.nests, written.schedules, strict=True) if of_unit(nest) == call[0]
            )
            detail = f"expected {expected.text}\nfound    {said.text or said.ended}"
            yield Fault(call[0], _kind(said, way), detail, way.name, shlex.join(batch.flags), schedules, call[1],
                        units[call[0]], batch.seed)  # fmt: skip
        self.tally.counts["nests reached"] += len(nests)
        self.tally.counts["nests never tuned"] += sum(not bits & TUNED for bits in nests.values())

    def _original(self, batch: Batch, way: Way) -> Mapping[Call, Said]:
        path = self.folder / "same.c"
        path.write_text(batch.text)
        said = run(build(path, way, batch.flags), batch.calls, way, _WRITTEN_MS).calls
        return dict(zip(batch.calls, said, strict=True))

    def _paths(self, said: Said, nests: dict[int, int]) -> None:
        """Counts which loops ran in a call; `nests`: which did so far, by nest."""
        counts = self.tally.counts
        counts["runs"] += 1
        bits = 0
        for nest, branches in said.ran:
            nests[nest] = nests.get(nest, 0) | branches
            counts["nests run"] += 1
            counts["nests run tuned"] += bool(branches & TUNED)
            bits |= branches
        counts["runs tuned"] += bool(bits & TUNED)
        counts["runs original"] += bits == ORIGINAL
        counts["runs without nest"] += bits == 0


def _values(rng: random.Random) -> Iterator[tuple[int, ...]]:
    yield ordinary(rng)
    yield ordinary(rng)
    for _ in range(_CANDIDATES - 2):
        yield drawn(rng)


def _kind(said: Said, way: Way) -> Kind:
    if said.ended in ("SIGPROF", "SIGALRM", "SIGKILL"):
        return "does not end"
    if not said.ended:
        return "wrong output"
    return "sanitizer" if way.name == "sanitized" else "crash"


def write(source: SourceFile, rewrites: Sequence[Rewrite], surveyed: Surveyed) -> Written:
    content = counted(rewrite_source(source, rewrites, _VECTOR_BYTES, surveyed))
    inside = sorted(rewrites, key=lambda r: r.nest.span.begin if r.nest.span else 0)
    nests = tuple(r.nest for r in inside)
    return Written(content, nests, tuple(f"{r.nest.name}: {format_schedule(r.schedule)}" for r in inside))
