"""What differs between two runs of a program, and what differs by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from perfembed.capture.compared import alike, difference, varying
from perfembed.world import Left, World


@dataclass(frozen=True)
class Run:
    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
    files: Mapping[str, Left] = field(default_factory=dict)
    dropped: str = ""


@pytest.mark.parametrize(
    ("first", "other", "tolerance", "same"),
    [
        (b"x = 1.0", b"x = 1.0", 0.0, True),
        (b"x = 1.0", b"x = 1.0 ", 0.0, False),
        (b"x = 1.0", b"x =   1.00", 1e-9, True),
        (b"x = 1.0000001 y", b"x = 1.0 y", 1e-6, True),
        (b"x = 1.0000001 y", b"x = 1.0 z", 1e-6, False),
        (b"x = 1.0000001", b"x = 1.0", 1e-8, False),
        (b"1e300", b"-1e300", 0.5, False),
        (b"nan", b"0.0", 0.5, False),
        (b"nan", b"nan", 0.5, True),
        (b"1 2 3", b"1 2", 0.5, False),
        (b"1\0002", b"1\0002.0", 0.5, False),
        (b"0", b"1e-300", 1e-3, False),
        (b"a1.5b2", b"a1.5000001b2", 1e-3, True),
    ],
)
def test_alike(first: bytes, other: bytes, tolerance: float, same: bool) -> None:
    assert alike(first, other, tolerance) is same and alike(other, first, tolerance) is same


def test_text_and_exit_code() -> None:
    world = World()
    first = Run(b"a\nt 1\n", b"", 3)
    assert difference(first, first, world) == ""
    assert difference(first, Run(b"b\nt 1\n", b"", 3), world) == "stdout line 1: b'a' became b'b'"
    assert difference(first, Run(b"a\nt 1\n", b"w", 3), world).startswith("stderr")
    assert difference(first, Run(b"a\nt 1\n", b"", 0), world) == "exit code 3 became 0"
    assert difference(first, Run(b"a\nt 1\n", b"", 0), world, [Run(b"a\nt 1\n", b"", 4)]) == ""
    assert difference(first, Run(b"a\nt 2\n", b"", 3), world)
    assert not difference(first, Run(b"a\nt 2\n", b"", 3), world, [Run(b"a\nt 5\n", b"", 3)])
    assert difference(first, Run(b"b\nt 2\n", b"", 3), world, [Run(b"a\nt 5\n", b"", 3)])


def test_output_that_is_not_kept_is_compared() -> None:
    first, other = Run(b"a", dropped="1"), Run(b"a", dropped="2")
    assert "too long" in difference(first, other, World()) and not difference(first, first, World())
    assert not difference(first, other, World(), [other])


def test_tolerance_is_of_stdout_and_holds_where_the_original_varies_a_little() -> None:
    world = World(tolerance=1e-6)
    first, again = Run(b"sum 1.0000000\n"), Run(b"sum 1.0000001\n")
    assert not difference(first, Run(b"sum 1.0000002\n"), world)
    assert difference(first, Run(b"sum 1.1\n"), world, [again])  # it varies, but not by so much
    assert difference(Run(stderr=b"1.0"), Run(stderr=b"1.00"), world)


def test_only_words_that_vary_are_left_out() -> None:
    world = World()
    first, again = Run(b"sum 5 in 0.9 s\n"), Run(b"sum 5 in 1.1 s\n")
    assert not difference(first, Run(b"sum 5 in 0.2 s\n"), world, [again])
    assert difference(first, Run(b"sum 6 in 0.2 s\n"), world, [again])
    assert difference(first, Run(b"sum 5 in 0.2 of a s\n"), world, [again])
    assert not difference(first, Run(b"sum 5 in 0.2 s\n"), world, [first, again])
    assert varying(first, [again], world) == "1 word" and not varying(first, [first], world)


def test_lines_that_come_in_another_order_or_not_always() -> None:
    world = World()
    first, again = Run(b"a 1\nb 2\nc 3\n"), Run(b"b 2\na 1\nc 3\n")
    assert not difference(first, Run(b"c 3\nb 2\na 1\n"), world, [again])
    assert "b'a 1' is missing" in difference(first, Run(b"c 3\nb 2\na 2\n"), world, [again])
    assert "b'd' is new" in difference(first, Run(b"c 3\nd\nb 2\na 1\n"), world, [again])
    fewer = Run(b"b 2\nc 3\n")
    assert not difference(first, Run(b"x 9\nb 2\nc 3\n"), world, [fewer])
    assert "b'c 3' is missing" in difference(first, Run(b"a 1\nb 2\nc 4\n"), world, [fewer])


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path


def left(folder: Path, text: bytes) -> Left:
    path = folder / str(abs(hash(text)))
    path.write_bytes(text)
    return Left("file", str(hash(text)), path)


def test_files(kept: Path) -> None:
    world = World()
    one, two, three = (left(kept, text) for text in (b"x\n1\n", b"x\n2\n", b"x\n3\n"))
    first = Run(files={"a": one, "log": two})
    assert difference(first, Run(files={"a": one, "log": two}), world) == ""
    assert difference(first, Run(files={"a": two, "log": two}), world) == "a line 2: b'1' became b'2'"
    assert difference(first, Run(files={"log": two}), world) == "a: a file became nothing"
    assert difference(first, Run(files={**first.files, "b": one}), world) == "b: nothing became a file"
    varied = Run(files={"a": one, "log": three})
    assert difference(first, Run(files={"a": one, "log": one}), world, [varied]) == ""
    assert difference(first, Run(files={"a": two, "log": one}), world, [varied]).startswith("a line 2")
    times = [left(kept, text) for text in (b"sum 5\ntook 1\n", b"sum 5\ntook 2\n", b"sum 6\ntook 3\n")]
    runs = [Run(files={"a": time}) for time in times]
    assert difference(runs[0], runs[2], world, [runs[1]]) and not difference(runs[0], runs[1], world, [runs[1]])
    binary = [left(kept, text) for text in (b"\0\1\2", b"\0\1\3")]
    assert difference(Run(files={"b": binary[0]}), Run(files={"b": binary[1]}), world) == "b differs from byte 2 on"
    unknown = Left("file", "other")
    assert difference(Run(files={"b": one}), Run(files={"b": unknown}), world) == "b has another content"


def test_files_whose_names_change_are_left_alone(kept: Path) -> None:
    one = left(kept, b"1")
    runs = [Run(files={f"out.{pid}": one}) for pid in (1, 2, 3)]
    assert difference(runs[0], runs[1], World())
    assert difference(runs[0], runs[1], World(), [runs[2]]) == ""
    assert difference(runs[0], Run(files={"new": one, **runs[0].files}), World(), [runs[0]])


def test_checked_files_only(kept: Path) -> None:
    world = World(checked=("a",), tolerance=1e-3)
    one, near, far = (left(kept, text) for text in (b"x 1.0\n", b"x 1.0001\n", b"x 1.1\n"))
    first = Run(files={"a": one, "b": one})
    assert difference(first, Run(files={"a": near, "b": far, "c": far}), world) == ""
    assert difference(first, Run(files={"a": far}), world) == "a line 1: b'x 1.0' became b'x 1.1'"
    assert "whenever the original runs" in difference(first, Run(files={"a": far}), world, [Run(files={"a": far})])
    assert difference(first, Run(files={}), world, [first]) == "a: a file became nothing"
