import dataclasses

import pytest

from scheduler.ir.affine import Affine
from scheduler.ir.nest import Access, Array, Literal, Loop, LoopNest, Name, Read, Statement, Storage


def test_array_lookup() -> None:
    nest = LoopNest("k", (), (Array("A", "double", (Affine.of("n"),)), Array("s", "float")), ())
    assert nest.array("s").is_scalar
    assert not nest.array("A").is_scalar
    assert nest.array("A").storage is Storage.GLOBAL
    with pytest.raises(KeyError):
        nest.array("B")


def test_opaque_and_affine() -> None:
    column = Read(Access("col", (Affine.of("p"),)), "int")
    assert Access("x", (Affine.of("i"),)).is_affine
    assert Access("s").is_affine
    assert not Access("x", (column,)).is_affine
    assert not Loop("i", "int", (Affine(),), (Affine.of("n"),), 1, ()).is_opaque
    assert Loop("p", "int", column, (Affine.of("n"),), 1, ()).is_opaque
    assert Loop("p", "int", (Affine(),), Name("n", "int"), 1, ()).is_opaque


def test_nodes_are_values() -> None:
    statement = Statement("S0", ())
    assert statement == Statement("S0", ())
    assert len({Literal("1", "int"), Literal("1", "int"), Literal("1", "long")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        statement.name = "S1"  # type: ignore[misc]
