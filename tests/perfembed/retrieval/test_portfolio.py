"""The recipes that are tried at every nest."""

from pathlib import Path

from perfembed.retrieval.cross_transfers import Asked, Transfers, Tried
from perfembed.retrieval.donors import StoredDonor, donor_shards, read_donors
from perfembed.retrieval.portfolio import NAME, SIZE, allowed, constant_portfolio, read_portfolio, write_portfolio
from tests.perfembed.transfer_support import GEMM, MACHINE

DONORS = {
    name: StoredDonor(name, name, GEMM, kind, "p", "m", MACHINE, {}, "double", ("tile([i], [8])",), (2.0,))
    for name, kind in {"a": "gemm", "b": "own-1", "c": "own-2", "d": "own-3"}.items()
}


def row(algorithm: str, seconds: dict[str, float]) -> Transfers:
    """Of a nest that takes a second; "x" does not fit."""
    trees = tuple(Tried(f"tile([i], [{n + 2}])", 2.0, "timed", s) for n, s in enumerate(seconds.values()))
    asked = [Asked(donor, 0, "anchor", 1.0, "fits", n) for n, donor in enumerate(seconds)]
    return Transfers(
        "n", GEMM, algorithm, "p", "m", "x", "[]", "gcc", (), 2, "{}", "double", 1.0, 1.0, 0.0, trees,
        (*asked, Asked("d", 1, "drawn", 0.1, "does not fit")),
    )  # fmt: skip


def test_relatives_and_what_does_not_fit_are_left_out() -> None:
    found = allowed(row("2mm", dict.fromkeys(("a", "b", "nobody", "c"), 0.5)), DONORS)
    assert [one.donor for one in found] == ["b", "c"]  # gemm is a relative of 2mm


def test_each_recipe_adds_what_those_before_do_not_do() -> None:
    helps_most, helps_else = {"b": 0.1, "c": 0.11, "d": 1.0}, {"b": 1.0, "c": 0.9, "d": 0.5}
    rows = [row("a", helps_most), row("b", helps_most), row("c", helps_else)]
    assert constant_portfolio(rows, DONORS) == (("b", 0), ("d", 0), ("c", 0))


def test_what_ships_names_donors_that_ship() -> None:
    donors = read_donors(donor_shards())
    found = read_portfolio()
    assert len(set(found)) == len(found) == SIZE
    assert all(number < len(donors[donor].schedules) for donor, number in found)


def test_it_is_kept_in_a_file(tmp_path: Path) -> None:
    assert read_portfolio(tmp_path) == ()
    recipes = (("a", 0), ("b", 1))
    assert write_portfolio(recipes, tmp_path / "new") == tmp_path / "new" / NAME
    assert read_portfolio(tmp_path / "new") == recipes
