import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.errors import TextError
from scheduler.ir.affine import Affine, parse_affine
from scheduler.schedule import Schedule, format_schedule, parse_schedule
from scheduler.transform import (
    TRANSFORMATIONS,
    Distribute,
    Fuse,
    Interchange,
    Pack,
    Parallelize,
    RegisterBlock,
    Reverse,
    Shift,
    Sink,
    Skew,
    Tile,
    Unroll,
    UnrollJam,
    Vectorize,
)

names = st.from_regex(r"[A-Za-z_][A-Za-z_0-9]{0,5}", fullmatch=True)
integers = st.integers(-(10**18) + 1, 10**18 - 1)
name_lists = st.lists(names, max_size=4).map(tuple)
integer_lists = st.lists(integers, max_size=4).map(tuple)
linear = st.builds(Affine.build, st.lists(st.tuples(names, st.integers(-9, 9)), max_size=3), st.integers(-99, 99))
affines = st.recursive(
    linear, lambda a: st.builds(lambda x, y, d: x + y.floordiv(d), a, a, st.integers(1, 9)), max_leaves=5
)
steps = st.one_of(
    st.builds(Interchange, names, names),
    st.builds(Skew, names, names, integers),
    st.builds(Reverse, names),
    st.builds(Shift, names, names, affines),
    st.builds(Fuse, names, names),
    st.builds(Distribute, names, integers),
    st.builds(Sink, names, names, affines),
    st.builds(Tile, name_lists, integer_lists),
    st.builds(Unroll, names, integers),
    st.builds(UnrollJam, names, integers),
    st.builds(Vectorize, names),
    st.builds(Parallelize, names, integers, integers, integers),
    st.builds(RegisterBlock, name_lists, integer_lists),
    st.builds(Pack, names, names, integer_lists, integers, integers),
)


@pytest.mark.campaign
@given(st.lists(steps, max_size=5).map(tuple))
def test_round_trip(schedule: Schedule) -> None:
    text = format_schedule(schedule)
    assert parse_schedule(text) == schedule
    assert format_schedule(parse_schedule(text)) == text


def test_the_text_form() -> None:
    schedule = (
        Interchange("i", "j"),
        Tile(("i", "j"), (32, 64)),
        Parallelize("i_t"),
        Parallelize("i_t", collapse=2),
        Sink("S0", "k", parse_affine("floor((floor((j)/2) + 1)/3) - 1")),
        Pack("k_t", "B", (1, 0), 1, 8),
    )
    assert format_schedule(schedule) == (
        "interchange(i, j); tile([i, j], [32, 64]); parallelize(i_t); parallelize(i_t, 0, 0, 2); "
        "sink(S0, k, floor((floor((j)/2) + 1)/3) - 1); pack(k_t, B, [1, 0], 1, 8)"
    )
    assert parse_schedule(format_schedule(schedule)) == schedule
    assert format_schedule(()) == "" and parse_schedule("") == ()
    assert parse_schedule(" reverse( i ) ;\nskew(i,j,-2);") == (Reverse("i"), Skew("i", "j", -2))


def test_every_transformation_has_its_own_keyword() -> None:
    assert len({t.keyword for t in TRANSFORMATIONS}) == len(TRANSFORMATIONS)


@pytest.mark.parametrize(
    "text",
    ["reverse", "reverse()", "reverse(i", "reverse(i))", "reverse(i, j)", "reverse(1)", "reverse(i)(j)", "reverse((i))",
     "nosuch(i)", "skew(i, j)", "skew(i, j, x)", "skew(i, j, 1.5)", "skew(i, j, 9999999999999999999)", "tile(i, 2)",
     "tile([i], [j])", "tile([i, ], [2])", "tile([[i]], [2])", "shift(i, S0, 2*)", "shift(i, S0, n*n)", "REVERSE(i)",
     "unroll(i, ٣)", "reverse(ü)", "reverse(i); drop table", "system('rm')", "\x00", "shift(i, S0, " + "(" * 9999,
     "shift(i, S0, " + "(" * 9999 + "1" + ")" * 9999 + ")", "a(" * 30_000],
)  # fmt: skip
def test_everything_else_is_a_text_error(text: str) -> None:
    with pytest.raises(TextError):
        parse_schedule(text)


@given(st.text(alphabet="reversktil([],;) ijS01-+*/floor\n\x00é", max_size=60))
def test_noise_never_crashes(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except TextError:
        return
    assert parse_schedule(format_schedule(schedule)) == schedule
