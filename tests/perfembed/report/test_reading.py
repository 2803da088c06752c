"""Documents read back: what was written, what an earlier or a later version wrote, and what is none of ours."""

import json
from typing import Any

import pytest

from perfembed.errors import UsageError
from perfembed.report.documents import tune_document
from perfembed.report.reading import read_tune_document
from tests.perfembed.report.tuned import RESULT


def changed(**more: Any) -> str:
    return json.dumps({**json.loads(tune_document(RESULT)), **more})


def test_what_was_written_comes_back() -> None:
    assert read_tune_document(tune_document(RESULT), "r.json") == RESULT


def test_of_other_versions() -> None:
    """Fields are only added: those of a later version are passed over, those an earlier one lacks have defaults."""
    content = json.loads(changed(later={"x": 1}))
    content["nests"][0]["later"] = 2
    assert read_tune_document(json.dumps(content), "r.json") == RESULT
    for name in ("date", "search", "budget_s", "ceilings", "phases"):
        del content[name]
    for nest in content["nests"]:
        del nest["trials"], nest["picture"]
    old = read_tune_document(json.dumps(content), "r.json")
    assert old.date == "" and old.ceilings is None and old.nests[0].trials == () and old.nests[0].picture is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        (tune_document(RESULT)[:-9], "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"seconds": ' + "9" * 10_000 + "}", "not JSON"),
        ("[]", "not of perfembed"),
        ("{}", "not of perfembed"),
        (changed(schema_version=2), "schema_version 2: this perfembed reads 1"),
        (changed(schema_version=[1]), r"schema_version \[1\]"),
        (changed(kind="inspect"), "not a result of tune, but 'inspect'"),
        (changed(kind=None), "not a result of tune"),
        (changed(nests={}), "nests: expected a list, found {}"),
        (changed(nests=[{}]), r"nests\[0\].nest is missing"),
        (changed(nests=[3]), r"nests\[0\]: expected an object, found 3"),
        (changed(threads=2.5), "threads: expected an integer, found 2.5"),
        (changed(threads=True), "threads: expected an integer, found true"),
        (changed(seconds="1"), "seconds: expected a number"),
        (changed(seconds=float("nan")), "seconds: expected a finite number, found NaN"),
        (changed(seconds=10**400), "seconds: expected a finite number"),
        (changed(interrupted=1), "interrupted: expected true or false"),
        (changed(flags=["-O3", None]), r"flags\[1\]: expected a text, found null"),
        (changed(phases={"x": "y"}), "phases.x: expected a number"),
        (tune_document(RESULT).replace('"tuned"', '"eaten"'), r"nests\[0\].status: expected 'tuned' or"),
    ],
)
def test_foreign(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read_tune_document(text, "r.json")
    assert caught.value.message.startswith("r.json: ") and "\n" not in caught.value.message
    assert len(caught.value.message) < 250 and "tune FILE --json" in caught.value.advice


def test_pairs_have_two() -> None:
    content = json.loads(tune_document(RESULT))
    content["nests"][0]["transfer"]["failed"] = [["a"]]
    with pytest.raises(UsageError, match=r"failed\[0\]: expected a list of 2"):
        read_tune_document(json.dumps(content), "r.json")
