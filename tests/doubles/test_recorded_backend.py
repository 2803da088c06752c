"""Stored profiles: given back for the same text, arguments and threads, and for nothing else."""

import dataclasses
from pathlib import Path

import pytest

from profilers.backend import ProfileFailed, ProfileRequest
from profilers.build import CompilerConfig
from profilers.contained.errors import ProfilersError
from profilers.machine import describe_machine
from profilers.profile import Profile
from profilers.workload import Argument, CapturedFill, ConstantFill, Workload
from tests.doubles.recorded_backend import RecordedBackend, workload_digest

MACHINE = describe_machine()
WORKLOAD = Workload(
    "w", "void pe_kernel(void *const *args) {}", (Argument("x", "int", (4,), ConstantFill(1), True),), 2
)
PROFILE = Profile("likwid", "0123456789abcdef", 2, 0.5, 64, (("loads", (1.0, 2.0)),), 0.0, ("a note",))


def request(workload: Workload = WORKLOAD) -> ProfileRequest:
    return ProfileRequest(workload, None, CompilerConfig("gcc", ()), MACHINE, Path("/nonexistent"))


def test_a_stored_profile_comes_back_with_its_source(tmp_path):
    backend = RecordedBackend(tmp_path / "profiles")
    assert not backend.available({}).usable
    path = backend.record(PROFILE, request())
    assert backend.profile(request()) == PROFILE and backend.available({}).usable
    assert [one.name for one in path.parent.iterdir()] == [f"{workload_digest(WORKLOAD)}.json"]
    assert path.read_text().count("\n") == 1
    newer = dataclasses.replace(PROFILE, runtime_s=0.25)
    backend.record(newer, request())
    assert backend.profile(request()) == newer


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(WORKLOAD, source="void pe_kernel(void *const *args) { }"),
        dataclasses.replace(WORKLOAD, arguments=(Argument("x", "int", (4,), ConstantFill(2), True),)),
        dataclasses.replace(WORKLOAD, threads=1),
    ],
    ids=["text", "arguments", "threads"],
)
def test_another_workload_has_no_profile(tmp_path, other):
    backend = RecordedBackend(tmp_path)
    backend.record(PROFILE, request())
    found = backend.profile(request(other))
    assert isinstance(found, ProfileFailed) and "no profile of w" in found.reason


def test_captured_data_counts_and_not_where_it_lies(tmp_path):
    def captured(name: str, data: bytes, offset: int) -> Workload:
        (tmp_path / name).write_bytes(bytes(offset) + data)
        fill = CapturedFill(str(tmp_path / name), offset)
        return dataclasses.replace(WORKLOAD, arguments=(Argument("x", "int", (4,), fill, True),))

    first = workload_digest(captured("a", bytes(range(16)), 0))
    assert workload_digest(captured("b", bytes(range(16)) + b"more", 8)) == first
    assert workload_digest(captured("c", bytes(range(1, 17)), 0)) != first
    gone = captured("d", bytes(16), 0)
    (tmp_path / "d").unlink()
    found = RecordedBackend(tmp_path).profile(request(gone))
    assert isinstance(found, ProfileFailed) and "cannot be read" in found.reason


def test_a_damaged_file_is_one_line(tmp_path):
    backend = RecordedBackend(tmp_path)
    for text in (b"{}", b"\xff", PROFILE.to_json().replace('"threads":2', '"threads":1').encode()):
        (tmp_path / f"{workload_digest(WORKLOAD)}.json").write_bytes(text)
        found = backend.profile(request())
        assert isinstance(found, ProfileFailed) and "\n" not in found.reason
    single = dataclasses.replace(PROFILE, threads=1, counts=())
    with pytest.raises(ProfilersError):
        backend.record(single, request())
    (tmp_path / f"{workload_digest(WORKLOAD)}.json").write_text(single.to_json())
    found = backend.profile(request())
    assert isinstance(found, ProfileFailed) and "1 threads" in found.reason
