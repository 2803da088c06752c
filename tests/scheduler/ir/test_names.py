import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.ir.names import free_name, safe_name, spelled


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("n", "n"),
        ("größe", "gr_u00f6__u00df_e"),
        ("a$", "a_u0024_"),
        ("𝛼_2", "_u1d6fc__2"),
        ("_u_10", "_u_10"),
        ("u10", "u10"),
    ],
)
def test_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe
    assert spelled(f"for (long {safe} = 0; {safe} < {safe}_2; {safe}++)") == (
        f"for (long {name} = 0; {name} < {name}_2; {name}++)"
    )


@given(
    st.lists(st.sampled_from(["_", "u", "_u", "00e9", "é", "1f600", "x", "abcd", "$"]), min_size=1, max_size=8),
    st.sampled_from(["", "pe_"]),
    st.sampled_from(["", "_", "_2", "_t"]),
)
def test_they_come_back(parts: list[str], before: str, behind: str) -> None:
    name = "".join(parts)
    assert re.fullmatch(r"[A-Za-z0-9_]+", safe_name(name))
    assert spelled(before + safe_name(name) + behind) == before + name + behind


def test_free_names() -> None:
    assert free_name("i", {"j"}) == "i"
    assert free_name("i", {"i", "i_3"}) == "i_2"
    assert free_name("i", {"i", "i_2", "i_3"}) == "i_4"
    assert free_name("i", {"i", "i2"}, "") == "i3"
