"""The file of finished kernels: nothing finished is lost, nothing broken is believed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from perfembed.comparing.rows import NestRow, ProgramRow, Row, Store, key_of, winner_origin
from perfembed.tuning.result import CandidateReport, NestReport, TransferReport


def row(key: str = "k", kernel: str = "gemm") -> Row:
    programs = {"gcc": ProgramRow([0.2, 0.1], [0.3, 0.2], [True, True], "equal")}
    nests = [NestRow("gemm_0", 3, "tuned", "", "parallelize(i)", 2.0)]
    return Row(key, kernel, "gemm.c", "2026-11-21T10:00:00+00:00", {"threads": 2}, ["gemm"], "tuned", "", "equal",
               nests, programs, [0.0], False, 3.0)  # fmt: skip


def test_round_trip(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    assert store.load() == {}
    store.append(row("a"))
    store.append(row("b", "lu"))
    assert store.load() == {"a": row("a"), "b": row("b", "lu")}


def test_the_last_row_of_a_key_counts(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    store.append(row("a", "old"))
    store.append(row("a", "new"))
    assert store.load()["a"].kernel == "new"


def test_a_line_cut_off_is_passed_over_and_not_continued(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    store.append(row("a"))
    store.append(row("b"))
    content = store.path.read_bytes()
    store.path.write_bytes(content[:-40])
    assert set(store.load()) == {"a"}
    store.append(row("c"))
    assert set(store.load()) == {"a", "c"}


@pytest.mark.parametrize(
    "line", ["", "null", "[]", '{"schema_version": 99}', '{"schema_version": 1, "key": "x"}', "\x00"]
)
def test_other_lines_are_passed_over(tmp_path: Path, line: str) -> None:
    store = Store(tmp_path / "rows.jsonl")
    store.path.write_text(line + "\n")
    store.append(row("a"))
    assert set(store.load()) == {"a"}


def test_unknown_fields_are_passed_over(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.jsonl")
    store.append(row("a"))
    content = json.loads(store.path.read_text())
    store.path.write_text(json.dumps({**content, "later": 1}) + "\n")
    assert set(store.load()) == {"a"}


def test_key_depends_on_text_and_conditions() -> None:
    keys = {key_of(text, {"threads": n}) for text in (b"a", b"b") for n in (1, 2)}
    assert len(keys) == 4
    assert key_of(b"a", {"x": 1, "y": 2}) == key_of(b"a", {"y": 2, "x": 1})


def test_seconds_are_of_good_and_right_runs() -> None:
    assert ProgramRow([3.0, 1.0, 2.0], [], [True, False, True], "close").seconds == 2.0
    assert ProgramRow([3.0, 1.0], [], [False, False], "equal").seconds == 1.0
    assert ProgramRow([3.0], [], [True], "differs").seconds is None
    assert ProgramRow([3.0], [], [True], "equal", "crashed").seconds is None
    assert ProgramRow().seconds is None


def candidate(origin: str, chosen: bool = False, refines: int | None = None) -> CandidateReport:
    return CandidateReport("", origin, "", "", None, None, None, False, chosen, refines)  # type: ignore[arg-type]


def test_a_winner_comes_from_where_what_it_refines_came_from() -> None:
    report = NestReport("n", "f", "n.c", 1, 1, None, "tuned", "")
    candidates = (candidate("computed"), candidate("transferred"), candidate("refined", True, 2))
    assert winner_origin(report) == "search"
    transfer = TransferReport((), candidates, 3, ())
    assert winner_origin(replace(report, transfer=transfer)) == "transferred"
    assert winner_origin(replace(report, transfer=transfer, status="kept")) == ""
