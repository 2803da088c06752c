"""Every transformation has its sentence, with what it is applied to."""

import re
from dataclasses import fields

import pytest

from scheduler.schedule import format_transformation, parse_schedule
from scheduler.transform import TRANSFORMATIONS, Transformation

EXAMPLES = parse_schedule(
    "split(i, 64*floor(k/64) + 64); columns(bb); eliminate(ss); interchange(ii, jj); skew(tt, xx, 2); reverse(ii);"
    "shift(ii, S1, n + 1); fuse(aa, bb); distribute(ii, 1); sink(S2, kk, j); tile([ii, jj], [32, 64]); unroll(kk, 4); "
    "unroll_jam(ii, 3);"
    "vectorize(jj); parallelize(ii, 1, 8, 2); register_block([ii, jj], [6, 16], 32); pack(kk, AA, [0, 1], 0, 6);"
    "stream(jj, CC); reschedule([S4 -> (1, ii + jj, 0, jj, 0), S5 -> (1, ii, 1)])"
)


def test_all_of_them() -> None:
    assert {type(step) for step in EXAMPLES} == set(TRANSFORMATIONS)
    assert len({step.words() for step in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("step", EXAMPLES, ids=format_transformation)
def test_one_sentence_that_names_everything(step: Transformation) -> None:
    said = step.words()
    assert said[0].isupper() and said.endswith(".") and ". " not in said
    for field in fields(step):
        value = getattr(step, field.name)
        if field.name in ("order", "panel_dim", "dynamic", "collapse"):
            continue  # said in other words
        for part in value if isinstance(value, tuple) else (value,):
            assert re.search(rf"(?<!\w){re.escape(str(part))}(?!\d)", said) or part == 1, (field.name, part, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tile([i], [8])", "Cut loop i into blocks of 8 iterations; loop i_t goes from block to block."),
        ("parallelize(i)", "Share the iterations of loop i among the threads (omp parallel for)."),
        ("unroll(k, 0)", "Unroll loop k completely."),
        ("interchange(i, j)", "Swap loops i and j, so that j runs outside i."),
    ],
)
def test_words(text: str, said: str) -> None:
    assert [step.words() for step in parse_schedule(text)] == [said]


def test_defaults_are_not_mentioned() -> None:
    said = " ".join(
        step.words() for step in parse_schedule("pack(k, A, [0, 1]); register_block([i], [4]); parallelize(i, 1)")
    )
    assert "panels" not in said and "bytes" not in said and "one by one" in said
