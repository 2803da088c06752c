"""Schemas of records: every form a field can have, the words that go with it, and what has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import pytest
from jsonschema import Draft202012Validator, ValidationError

from perfembed.report.documents import plain
from tests.schemas.derive import Described, json_schema


@dataclass(frozen=True, slots=True)
class Part:
    """A part.

    `inner` may hold
    more of them.
    """

    size_s: float  # seconds
    inner: "tuple[Part, ...]" = ()


class Choice(TypedDict):
    mode: Literal["fast", "safe"]


@dataclass(frozen=True, slots=True)
class Whole:
    parts: Sequence[Part]
    pair: tuple[str, int]
    choice: Choice
    counts: Mapping[str, int] = field(default_factory=dict)
    title: str | None = None
    part: Part | None = None
    anything: Any = None
    pairs: tuple[tuple[str, int], ...] = ()  # an object in the document
    secret: bytes = b""


CHANGES = {(Whole, "pairs"): Mapping[str, int], (Whole, "secret"): None, (Whole, "passed"): bool}
SCHEMA = json_schema(Described("a whole", Whole, ("whole --json",), CHANGES))
WHOLE = Whole((Part(1.5, (Part(2.0),)),), ("a", 1), {"mode": "fast"})
RIGHT = {
    **{name: value for name, value in plain(WHOLE).items() if name != "secret"},
    "schema_version": 1,
    "kind": "a whole",
    "pairs": {"n": 3},
    "passed": True,
}


def test_a_document_is_as_its_schema_says() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(RIGHT)
    assert "secret" not in SCHEMA["properties"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "another"},
        {"schema_version": 2},
        {"parts": [{"size_s": "1"}]},
        {"parts": [{"size_s": 1.0, "inner": [{}]}]},
        {"pair": ["a"]},
        {"pair": ["a", 1, 2]},
        {"choice": {"mode": "slow"}},
        {"counts": {"n": "many"}},
        {"title": 3},
        {"part": 3},
        {"pairs": [["n", 3]]},
        {"passed": None},
    ],
    ids=str,
)
def test_and_another_one_is_not(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Draft202012Validator(SCHEMA).validate(RIGHT | wrong)


def test_nothing_may_be_missing() -> None:
    for name in RIGHT:
        with pytest.raises(ValidationError):
            Draft202012Validator(SCHEMA).validate({key: value for key, value in RIGHT.items() if key != name})


def test_words_come_from_docstrings_and_comments() -> None:
    part = SCHEMA["$defs"]["Part"]
    assert part["description"] == "A part.\n\n`inner` may hold more of them."
    assert part["properties"]["size_s"] == {"type": "number", "description": "seconds"}
    assert SCHEMA["description"] == "What `perfembed whole --json` prints."
    assert "description" not in SCHEMA["$defs"]["Choice"]


def test_what_json_cannot_show_is_refused() -> None:
    @dataclass
    class Odd:
        values: set[int]

    Odd.__annotations__["values"] = set[int]
    with pytest.raises(TypeError, match="no form in JSON"):
        json_schema(Described("odd", Odd, ()))
