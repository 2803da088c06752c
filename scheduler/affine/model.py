"""What isl's scheduler is asked about a nest, and what it answers: plain values that go between processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True, slots=True)
class Setting:
    """A way to ask: `options` are those of the isl context (`schedule_…`); `inputs`: what is read twice counts too.

    What is `quick` is asked first, for half the time. `after`: not asked where isl did not get through with that one,
    which is easier.
    """

    name: str
    options: tuple[tuple[str, int], ...] = ()
    inputs: bool = False
    quick: bool = False
    after: str = ""


_FUSED = (("maximize_band_depth", 1), ("maximize_coincidence", 1))
SETTINGS = (
    Setting("default"),
    Setting("least fusion", (("serialize_sccs", 1),)),
    Setting("parallel outside", (("outer_coincidence", 1), ("maximize_coincidence", 1)), quick=True),
    Setting("Feautrier", (("algorithm", 1),), quick=True),
    Setting("least fusion, inputs", (("serialize_sccs", 1),), inputs=True, after="least fusion"),
    Setting("inputs", (), inputs=True, after="default"),
    Setting("most fusion", (("whole_component", 1), *_FUSED), after="default"),
    Setting("deep bands", _FUSED, after="default"),
)
"""The scheduler is Pluto's (Bondhugula et al. 2008) in isl's form (Verdoolaege, PPCG); Feautrier's (1992) carries as
many dependences as it can outside."""


@dataclass(frozen=True, slots=True)
class Question:
    """A nest as isl text: what runs, in which order, what must keep its order, and what is read and written."""

    domain: str
    order: str
    validity: str
    coincidence: str
    reads: str
    surely_written: str
    perhaps_written: str
    nearest: bool  # whether what keeps the order of accesses that follow each other keeps all that `validity` asks
    settings: tuple[Setting, ...] = SETTINGS
    seconds: float = 0.8  # of the processor, for each setting


Linear = tuple[dict[int, int], dict[str, int], int]
"""Coefficients of a statement's iterators (by place), of parameters (isl's names), and the constant."""


@dataclass(frozen=True, slots=True)
class Band:
    """Loops of which each has a row for every statement below.

    Those of a `permutable` band may stand in any order; `coincident` says of each whether it carries nothing.
    """

    rows: tuple[dict[str, Linear], ...]
    coincident: tuple[bool, ...]
    permutable: bool
    child: Node


@dataclass(frozen=True, slots=True)
class Several:
    """Parts one after the other, or, with `ordered` False, in any order."""

    children: tuple[Node, ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements at the end of a branch; no dependence is between instances of several that run at one time."""

    names: tuple[str, ...]


Node = Union[Band, Several, Statements]  # noqa: UP007


@dataclass(frozen=True, slots=True)
class Answer:
    """The schedule tree for a setting; without one, why there is none."""

    setting: str
    tree: Node | None
    reason: str = ""
