"""What the user's program is given when it runs, and what a run of it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal as OneOf

from profilers.contained.child import Finished, Limits
from profilers.run import describe_signal

PROGRAM_LIMITS = Limits(wall_s=60.0, memory_bytes=64 << 30, output_bytes=64 << 20)


@dataclass(frozen=True, slots=True)
class World:
    """How the user's program is started, and what of what it leaves has to be the same.

    It runs in a copy of `directory` (None: in an empty folder) with `variables` on top of the environment. `stdin`: a
    file (None: nothing). `checked`: the files it writes that are compared, relative to `directory`; none: all that it
    writes there and that are the same whenever the original runs. Numbers in its output and in the files may differ by
    `tolerance`, relative; 0: no byte may. `writable`: folders outside of the copy that it may write to.
    """

    directory: Path | None = None
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    stdin: Path | None = None
    checked: tuple[str, ...] = ()
    tolerance: float = 0.0
    writable: tuple[Path, ...] = ()
    limits: Limits = PROGRAM_LIMITS


@dataclass(frozen=True, slots=True)
class Left:
    """What stands at a path after a run. `identity`: of its content (a file), or where it leads (a link).

    `content`: where the bytes of a file are kept; None: there were too many.
    """

    kind: OneOf["file", "folder", "link", "nothing"]
    identity: str = ""
    content: Path | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Ran:
    """One run. `files`: what it changed in its folder, by the path in there."""

    finished: Finished
    files: Mapping[str, Left] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def stdout(self) -> bytes:
        return self.finished.stdout

    @property
    def stderr(self) -> bytes:
        return self.finished.stderr

    @property
    def dropped(self) -> str:
        """A digest of output beyond what is kept."""
        return self.finished.dropped

    @property
    def exit_code(self) -> int:
        return self.finished.returncode

    @property
    def wall_s(self) -> float:
        return self.finished.wall_s


def run_failure(finished: Finished, limits: Limits) -> str | None:
    """Why a run does not count, in the user's words; None where the program ended by itself, with any exit code."""
    if finished.limit is None and finished.signal is None:
        return None
    if finished.timed_out:
        what = f"{limits.wall_s:g} s" if finished.limit == "wall" else "its CPU time"
        reason = f"the program did not end within {what}"
    elif finished.limit == "memory":
        reason = f"the program needed more than {limits.memory_bytes / 2**30:g} GiB of memory"
    elif finished.limit is not None:
        reason = f"the program was stopped ({finished.limit})"
    else:
        reason = f"the program crashed ({describe_signal(finished.signal or 0)})"
    return f"{reason}{last_words(finished.stderr)}"


def last_words(stderr: bytes) -> str:
    """The last lines that a program said, after a colon; empty where it said nothing."""
    last = stderr.decode(errors="replace").strip().splitlines()[-3:]
    return f": {' / '.join(last)[:500]}" if last else ""
