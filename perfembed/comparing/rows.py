"""Finished programs as JSON lines: appended and flushed one by one, so that nothing measured is lost."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any
from typing import Literal as OneOf

from perfembed.comparing.bound import Work
from perfembed.tuning.result import NestReport
from profilers.timing import coefficient_of_variation

SCHEMA_VERSION = 1
LARGE_SHARE = 0.05
Status = OneOf["tuned", "kept", "failed", "wrong"]
Output = OneOf["equal", "close", "differs", ""]


@dataclass(slots=True)
class ProgramRow:
    """One configuration's runs in seconds.

    `output`: how what it printed compares with gcc's original. `apart`: the kernel was kept out of line. Where
    perfembed made it: `tuning_s`, without waiting for others that measure, and `candidates` (`least_measured`).
    """

    kernel_s: list[float] = field(default_factory=list)
    whole_s: list[float] = field(default_factory=list)
    good: list[bool] = field(default_factory=list)
    output: Output = ""
    failure: str = ""
    apart: bool = False
    tuning_s: float | None = None
    candidates: int | None = None

    @property
    def seconds(self) -> float | None:
        """The fastest run of the kernel that counts; None where it failed or computed something else."""
        if self.failure or self.output == "differs":
            return None
        counted = [s for s, good in zip(self.kernel_s, self.good, strict=True) if good] or self.kernel_s
        return min(counted, default=None)

    @property
    def cov(self) -> float:

        counted = [s for s, good in zip(self.kernel_s, self.good, strict=True) if good] or self.kernel_s
        return coefficient_of_variation(tuple(counted))


@dataclass(slots=True)
class NestRow:
    """What tuning did to one nest of the kernel. `origin`: where the schedule came from (`winner_origin`)."""

    nest: str
    line: int
    status: str
    reason: str
    schedule: str
    speedup: float | None
    share: float | None = None  # of the program's time
    candidates: int = 0  # measured
    origin: str = ""


def winner_origin(nest: NestReport) -> str:
    """Where the schedule of a tuned nest came from: "transferred", "derived", "computed" or "known", of a refined one
    what it was refined from; "search" where nothing was transferred; empty of a nest that is not tuned."""
    if nest.status != "tuned":
        return ""
    candidates = nest.transfer.candidates if nest.transfer is not None else ()
    chosen = next((one for one in candidates if one.chosen), None)
    while chosen is not None and chosen.refines is not None:
        chosen = candidates[chosen.refines - 1]
    return chosen.origin if chosen is not None else "search"


def least_measured(nests: Sequence[NestReport]) -> int | None:
    """Candidates that were run, the least over the nests that take 5 % of the program's time; None without any."""
    return min((n.candidates for n in nests if (n.share or 0.0) >= LARGE_SHARE), default=None)


@dataclass(slots=True)
class Row:
    """One kernel under one set of conditions; `key` identifies both."""

    key: str
    kernel: str
    path: str
    date: str
    conditions: dict[str, Any]
    timed: list[str]  # the functions the clock runs in
    status: Status = "kept"
    reason: str = ""
    verified: str = ""  # how the results of ours were checked, or what was wrong
    nests: list[NestRow] = field(default_factory=list)
    programs: dict[str, ProgramRow] = field(default_factory=dict)
    loads: list[float] = field(default_factory=list)
    noisy: bool = False
    tuning_s: float = 0.0
    work: Work | None = None  # what the kernel does at least; None where nobody looked

    def seconds(self, name: str) -> float | None:
        program = self.programs.get(name)
        return program.seconds if program else None


def key_of(content: bytes, conditions: Mapping[str, Any]) -> str:
    """Identifies a file's text and the conditions it is measured under."""
    text = json.dumps(conditions, sort_keys=True)
    return hashlib.sha256(hashlib.sha256(content).digest() + text.encode()).hexdigest()[:24]


class Store:
    """The file of rows. A later row of the same key replaces an earlier one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> dict[str, Row]:
        """All readable rows; what is cut off or of another version is passed over."""
        rows: dict[str, Row] = {}
        with contextlib.suppress(FileNotFoundError):
            for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
                with contextlib.suppress(ValueError, TypeError, KeyError):
                    content = json.loads(line)
                    if isinstance(content, dict) and content.pop("schema_version") == SCHEMA_VERSION:
                        row = _row(content)
                        rows[row.key] = row
        return rows

    def append(self, row: Row) -> None:
        """Returns when the row is on the disk."""
        line = json.dumps({"schema_version": SCHEMA_VERSION, **asdict(row)}, ensure_ascii=False)
        with self.path.open("ab+") as file:
            whole = file.tell() == 0
            if not whole:
                file.seek(-1, os.SEEK_END)
                whole = file.read(1) == b"\n"
            file.write((b"" if whole else b"\n") + line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _row(content: dict[str, Any]) -> Row:
    names = {f.name for f in fields(Row)}
    row = Row(**{name: value for name, value in content.items() if name in names})
    row.nests = [NestRow(**nest) for nest in content["nests"]]
    row.programs = {name: ProgramRow(**program) for name, program in content["programs"].items()}
    row.work = Work(**row.work) if isinstance(row.work, dict) else None
    return row
