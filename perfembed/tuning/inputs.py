"""The inputs that nests are run on: captured from the program where it has a main, made up otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perfembed.capture import (
    CapturedNest,
    CaptureFailed,
    NestProfile,
    ProgramFailed,
    ProgramProfile,
    capture_nests,
    profile_program,
    synthesize,
)
from perfembed.errors import SourceRejected
from perfembed.measuring.stopwatch import Stopwatch
from perfembed.tuning.options import TuneOptions
from perfembed.tuning.project import Project, is_left_to_one_thread, left_to_one_thread
from perfembed.tuning.result import Event, Message
from perfembed.tuning.source import again
from perfembed.tuning.specialize import Specialized, specialized
from perfembed.world import last_words
from scheduler.ir.nest import LoopNest

MINIMUM_SHARE = 0.01
_SLOW_S = 4.0
_BANDWIDTH = 100e9  # bytes a second from memory: more than most machines have, for it is to be a bound
_LEAST_GAIN = 0.05
_AS_IT_SHOULD = "see what it is given (--args, --stdin, --workdir); where this is what it should do: --expect-exit {}"


@dataclass(frozen=True, slots=True)
class NestInputs:
    """A nest that can be run. `share` of the program's time and `in_program_s` are None without a program."""

    nest: LoopNest
    captured: CapturedNest
    share: float | None
    in_program_s: float | None
    seconds: float = 0.0  # of all its calls in the program
    inside: float = 0.0  # the part of `share` in which another nest was running

    @property
    def gain_s(self) -> float:
        """What tuning it can save of the program's time at most: all that its data need not take to be read once.

        What it takes inside of other nests is theirs.
        """
        if self.in_program_s is None:
            return 1.0  # nothing is known: all nests alike
        least_s = self.captured.total_bytes / _BANDWIDTH
        own = 1.0 - self.inside / self.share if self.share else 1.0
        return self.seconds * max(_LEAST_GAIN, own * (1.0 - least_s / self.in_program_s))


@dataclass(frozen=True, slots=True)
class NoInputs:
    """A nest that is left alone, and why."""

    nest: LoopNest
    share: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """`found` in the order of their share of the time; `profile` None where the file has no main."""

    profile: ProgramProfile | None
    found: tuple[NestInputs, ...]
    skipped: tuple[NoInputs, ...]


ReadForValues = Callable[[ProgramProfile, float], Project]


@dataclass(frozen=True, slots=True)
class Collecting:
    """How inputs are collected, and who is told of it.

    Nests that take less than `least_share` of the time (0 … 1) are left alone, of a program that takes long less than
    `least_of_slow`: to capture what it does last takes as long as all of it. `timed` is called once no run is left
    whose time counts: what it starts may go on meanwhile. `read_again`: what becomes of the project once it is known
    with which values its nests run (`known_values`, where nothing is given). `ran`: as `profile_program`'s.
    """

    least_share: float = MINIMUM_SHARE
    least_of_slow: float = 0.0
    watch: Stopwatch = field(default_factory=Stopwatch)
    timed: Callable[[], None] = lambda: None
    read_again: ReadForValues | None = None
    ran: Callable[[float], None] = lambda wall_s: None


def collect_inputs(
    project: Project,
    options: TuneOptions,
    scratch: Path,
    progress: Callable[[Event], None],
    how: Collecting | None = None,
) -> Inputs:
    """Runs the program once to see where its time goes, and once more to capture the nests that matter, of all files.

    Raises SourceRejected where the program does not compile or run, or ends with another exit code than it should;
    OutOfTime.
    """
    how = how or Collecting()
    with how.watch.phase("capture"):
        return _collected(project, options, scratch, progress, how)


def known_values(project: Project, profile: ProgramProfile, least_share: float) -> Specialized:
    """Nests of which more is affine for the values that they ran with, read for these."""
    return specialized(
        project, profile, least_share, lambda source, given: again(source, project.unit_of(source).compiler, given)
    )


def _collected(
    project: Project, options: TuneOptions, scratch: Path, progress: Callable[[Event], None], how: Collecting
) -> Inputs:
    if not project.runs:
        return made_up(project.nests, options, scratch)
    progress(Message("running the program to see where its time goes"))
    environment = dict(options.environment)
    profile = profile_program(project.sources, project.build, options.world, scratch / "profile", environment, how.ran)
    if isinstance(profile, ProgramFailed):
        raise SourceRejected(f"{project.paths}: {profile.reason}", profile.advice)
    if options.expect_exit not in (None, profile.exit_code):
        raise SourceRejected(f"{project.paths}: {_ending(profile)}", _AS_IT_SHOULD.format(profile.exit_code))
    unusual = [f"{_ending(profile)}; that is taken as what it does"] if options.expect_exit is None else []
    for note in (*profile.program.stage.notes, *(unusual if profile.exit_code else ())):
        progress(Message(note))
    for name in options.world.checked:
        if name not in profile.files:
            raise SourceRejected(
                f"{project.paths}: the program does not write {name}", "--check-file names what it does"
            )
    how.watch.shift(profile.wall_s, "capture", "original")
    least_share = max(how.least_share, how.least_of_slow) if profile.wall_s > _SLOW_S else how.least_share
    if how.read_again is not None:
        project = how.read_again(profile, least_share)
    else:
        project = known_values(left_to_one_thread(project, profile), profile, least_share).project
    by_name = {nest.name: nest for nest in project.nests}
    chosen: list[NestProfile] = []
    skipped: list[NoInputs] = []
    for nest in sorted((n for n in profile.nests if n.name in by_name), key=lambda n: -n.share):
        reason = _left_alone(nest, least_share, is_left_to_one_thread(project, nest.name))
        if reason:
            skipped.append(NoInputs(by_name[nest.name], nest.share, reason))
        else:
            chosen.append(nest)
    how.timed()
    progress(Message(f"capturing the inputs of {len(chosen)} nest{'s' * (len(chosen) != 1)}"))
    captured = capture_nests(project.sources, tuple(by_name[n.name] for n in chosen), profile, scratch / "capture")
    found: list[NestInputs] = []
    for nest in chosen:
        inputs = captured[nest.name]
        if isinstance(inputs, CaptureFailed):
            skipped.append(NoInputs(by_name[nest.name], nest.share, inputs.reason))
        else:
            typical_s = nest.typical_seconds or None
            found.append(NestInputs(by_name[nest.name], inputs, nest.share, typical_s, nest.seconds, nest.inside))
    return Inputs(profile, tuple(found), tuple(skipped))


def _ending(profile: ProgramProfile) -> str:
    return f"the program ends with exit code {profile.exit_code}{last_words(profile.stderr)}"


def _left_alone(nest: NestProfile, least_share: float, by_one: bool) -> str:
    if nest.problem:
        return nest.problem
    if nest.calls == 0:
        return "the program never ran it"
    if nest.share < least_share:
        return f"only {nest.share:.2%} of the run time"
    return "it runs in several threads already" if nest.other_threads and not by_one else ""


def made_up(nests: Sequence[LoopNest], options: TuneOptions, scratch: Path) -> Inputs:
    """Inputs made up from the nests' shapes, for sizes `options.parameters`."""
    found: list[NestInputs] = []
    skipped: list[NoInputs] = []
    for nest in nests:
        wanted = {p.name for p in nest.parameters if p.value is None}
        given = {k: v for k, v in options.parameters if k in wanted}
        inputs = synthesize(nest, given, options.seed, scratch / "inputs")
        if isinstance(inputs, CaptureFailed):
            skipped.append(NoInputs(nest, None, inputs.reason))
        else:
            found.append(NestInputs(nest, inputs, None, None))
    return Inputs(None, tuple(found), tuple(skipped))
