import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.errors import TextError
from scheduler.ir.affine import Affine, FloorDiv, parse_affine

NAMES = ("i", "j", "n", "floor", "s.x")


def affines(depth: int = 2) -> st.SearchStrategy[Affine]:
    plain = st.builds(
        Affine.build,
        st.lists(st.tuples(st.sampled_from(NAMES), st.integers(-4, 4)), max_size=3),
        st.integers(-20, 20),
    )
    if depth == 0:
        return plain
    floored = st.builds(lambda a, d: a.floordiv(d), affines(depth - 1), st.integers(1, 5))
    return st.builds(lambda a, f, c: a + f * c, plain, floored, st.integers(-3, 3))


values = st.fixed_dictionaries({name: st.integers(-9, 9) for name in NAMES})


@given(affines())
def test_text_round_trip(affine: Affine) -> None:
    again = parse_affine(str(affine))
    assert again == affine
    assert hash(again) == hash(affine)
    assert str(again) == str(affine)


@given(affines(), affines(), st.integers(-4, 4), st.integers(1, 6), values)
def test_operators_agree_with_integers(a: Affine, b: Affine, factor: int, divisor: int, at: dict[str, int]) -> None:
    x, y = a.evaluate(at), b.evaluate(at)
    assert (a + b).evaluate(at) == x + y
    assert (a - b).evaluate(at) == x - y
    assert (a + 7).evaluate(at) == x + 7
    assert (-a).evaluate(at) == -x
    assert (a * factor).evaluate(at) == x * factor
    assert a.floordiv(divisor).evaluate(at) == x // divisor


@given(affines(), st.fixed_dictionaries({"i": affines(1), "n": affines(1)}), values)
def test_substitution_is_composition(a: Affine, by: dict[str, Affine], at: dict[str, int]) -> None:
    inner = {**at, **{name: value.evaluate(at) for name, value in by.items()}}
    assert a.substitute(by).evaluate(at) == a.evaluate(inner)


@given(affines(), affines())
def test_normal_form(a: Affine, b: Affine) -> None:
    assert a + b == b + a
    assert a - a == Affine()
    assert all(c for _, c in (a + b).terms)
    assert (a * 0) == Affine()


def test_queries() -> None:
    affine = parse_affine("2*i - n + floor((j + 1)/4) + 3")
    assert affine.names() == {"i", "n", "j"}
    assert (affine.coefficient("i"), affine.coefficient("n"), affine.coefficient("j")) == (2, -1, 0)
    assert not affine.is_linear and not affine.is_constant
    assert parse_affine("i + 1").is_linear
    assert Affine.constant(4).is_constant
    assert affine.terms[-1][0] == FloorDiv(Affine.of("j") + 1, 4)
    with pytest.raises(KeyError):
        affine.evaluate({"i": 1})
    with pytest.raises(ValueError):
        affine.floordiv(0)


def test_exact_divisions_fold() -> None:
    assert str(parse_affine("4*i + 2*n + 3").floordiv(2)) == "2*i + n + 1"
    assert str(parse_affine("4*i + n").floordiv(2)) == "floor((4*i + n)/2)"
    assert parse_affine("floor((7)/2)") == Affine.constant(3)
    assert parse_affine("floor((-7)/2)") == Affine.constant(-4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i+i", "2*i"),
        ("3*(i - j)*2", "6*i - 6*j"),
        ("-(i)", "-i"),
        ("0", "0"),
        ("j + i", "i + j"),
        (" i\n+ 1", "i + 1"),
    ],
)
def test_other_spellings(text: str, expected: str) -> None:
    assert str(parse_affine(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["", "i +", "i j", "i * j", "2 3", "(i", "i)", "i / 2", "floor(i)", "floor((i)/0)", "floor((i)/j)", "- - i",
     "é", "²", "i @ 1", "\x00", "0x10", "9" * 5000, "(" * 10_000, "floor((" * 3000,
     "9999999999999999999*9999999999999999999", "i" * 10 + "\U0001f600"],
)  # fmt: skip
def test_everything_else_is_a_text_error(text: str) -> None:
    with pytest.raises(TextError):
        parse_affine(text)


def test_long_sums_take_no_time() -> None:
    start = time.perf_counter()
    parse_affine(" + ".join(f"a{k}" for k in range(20_000)))
    assert time.perf_counter() - start < 3
