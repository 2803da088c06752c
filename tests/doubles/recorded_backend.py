"""Profiles that were counted before: stored one to a file, and given back for the same workload."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from profilers.backend import ProfileFailed, ProfileRequest
from profilers.contained.errors import ProfilersError
from profilers.machine import CounterSupport
from profilers.profile import Profile
from profilers.specification import inputs_digest
from profilers.workload import CapturedFill, Workload

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class RecordedBackend:
    """Gives back what `record` stored in `folder`; the profiles keep the source that counted them."""

    folder: Path

    @property
    def name(self) -> str:
        """The name of this source; `Profile.source` names the one that counted."""
        return "recorded"

    def available(self, environment: Mapping[str, str]) -> CounterSupport:
        """Usable where the folder holds a profile."""
        stored = sum(1 for _ in self.folder.glob("*.json"))
        found = f"{stored} stored profiles" if stored else f"there are no stored profiles in {self.folder}"
        return CounterSupport(self.name, stored > 0, found)

    def profile(self, request: ProfileRequest) -> Profile | ProfileFailed:
        """The stored profile of the request's workload on any machine; it says which."""
        try:
            path = self._path(request.workload)
        except ProfilersError as problem:
            return ProfileFailed(str(problem))
        try:
            found = Profile.from_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return ProfileFailed(f"no profile of {request.workload.name} is stored in {self.folder}")
        except (OSError, UnicodeError, ProfilersError) as problem:
            return ProfileFailed(f"{path} cannot be read: {problem}")
        if found.threads != request.workload.threads:
            return ProfileFailed(f"{path} is of {found.threads} threads, not {request.workload.threads}")
        return found

    def record(self, profile: Profile, request: ProfileRequest) -> Path:
        """Stores a profile for the request's workload, whole or not at all, in place of an older one."""
        if profile.threads != request.workload.threads:
            raise ProfilersError(f"a profile of {profile.threads} threads for {request.workload.threads}")
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(request.workload)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            unfinished.write_text(profile.to_json() + "\n", encoding="utf-8")
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
        return path

    def _path(self, workload: Workload) -> Path:
        return self.folder / f"{workload_digest(workload)}.json"


def workload_digest(workload: Workload) -> str:
    """Identifies a workload by its text, its arguments with their captured data, and its threads: 32 hex digits.

    Where a capture lies does not matter. Raises ProfilersError where it cannot be read.
    """
    hasher = hashlib.sha256(repr((workload.source, workload.threads)).encode("utf-8", errors="surrogateescape"))
    for argument in workload.arguments:
        fill = argument.fill
        if isinstance(fill, CapturedFill):
            argument = replace(argument, fill=CapturedFill("", 0))
            _add(hasher, fill, argument.bytes)
        hasher.update(inputs_digest((argument,)).encode())
    return hasher.hexdigest()[:32]


def _add(hasher: hashlib._Hash, fill: CapturedFill, size: int) -> None:
    try:
        with open(fill.path, "rb") as capture:
            capture.seek(fill.offset)
            while size > 0 and (chunk := capture.read(min(size, _CHUNK))):
                hasher.update(chunk)
                size -= len(chunk)
    except OSError as problem:
        raise ProfilersError(f"the capture {fill.path} cannot be read: {problem}") from problem
