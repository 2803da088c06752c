"""Strict JSON: what goes in comes out, and nothing else is accepted."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optdb.codec import columns, digest, encode, from_document, is_object, object_text, to_document
from optdb.errors import RecordError
from optdb.records import ConditionsRecord, MeasurementRecord
from tests.optdb.support import BASE, one


def test_columns_begin_with_the_computed_key() -> None:
    assert columns(MeasurementRecord)[0] == ("measurement_id", "VARCHAR")
    assert ("samples", "DOUBLE[]") in columns(MeasurementRecord)


def test_a_document_gives_the_record_back() -> None:
    document = json.loads(encode(to_document(one())))
    assert from_document(MeasurementRecord, document) == one()


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("threads", 2.0, "threads"),
        ("threads", True, "threads"),
        ("threads", "2", "threads"),
        ("threads", 2**63, "threads"),
        ("flags", "-O3", "flags"),
        ("flags", ["-O3", 3], "flags"),
        ("reassociated", 0, "reassociated"),
        ("compiler", None, "compiler"),
        ("compiler", "a\0b", "compiler"),
        ("conditions_id", "0" * 16, "does not belong"),
        ("sizes", '{"n": 1}', "canonical"),
        ("sizes", '{"n":1.5}', "canonical"),
        ("sizes", '{"n":true}', "canonical"),
        ("machine", "../../etc", "no id"),
    ],
)
def test_a_wrong_value_is_refused_by_name(name: str, value: object, part: str) -> None:
    document = json.loads(encode(to_document(BASE[2])))
    with pytest.raises(RecordError, match=part):
        from_document(ConditionsRecord, {**document, name: value})


def test_keys_are_exact_and_in_order() -> None:
    document = json.loads(encode(to_document(BASE[2])))
    for wrong in ({**document, "more": 1}, dict(reversed(document.items())), {}, [], None, "x"):
        with pytest.raises(RecordError, match="has the fields"):
            from_document(ConditionsRecord, wrong)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_json_has_no_nan(value: float) -> None:
    with pytest.raises(RecordError):
        encode([value])


@given(st.lists(st.text(max_size=4), max_size=3), st.lists(st.text(max_size=4), max_size=3))
def test_digests_tell_tuples_apart(left: list[str], right: list[str]) -> None:
    assert (digest(*left) == digest(*right)) == (left == right)
    assert digest(["a", "b"]) != digest("a", "b") and len(digest("a", length=32)) == 32


@given(st.dictionaries(st.text(max_size=3), st.integers(-(2**40), 2**40)))
def test_object_text_is_canonical(values: dict[str, int]) -> None:
    text = object_text(values)
    assert text == object_text(dict(reversed(values.items()))) and json.loads(text) == values
    assert is_object(text, int) and not is_object(" " + text, int)
    assert not is_object("[" * 100_000) and not is_object('{"a":NaN}') and not is_object("[]")
