"""Bred matrices: legal whatever is mutated or crossed, near their parents, and equal to the trees they come from."""

import random

import pytest

from scheduler.matrices.crossover import Breeder, matrix_of
from scheduler.matrices.sample import Matrix
from scheduler.matrices.tree import Simplifier
from scheduler.polyhedral.farkas import Row
from scheduler.replay import Replayer, ScheduledNest
from scheduler.schedule import parse_schedule
from scheduler.transform.reschedule import Reschedule, time_maps
from tests.scheduler import nests

SOME = {
    "gemm": nests.GEMM, "jacobi": nests.JACOBI, "cholesky": nests.CHOLESKY, "covariance": nests.COVARIANCE,
    "seidel": nests.SEIDEL, "private": nests.PRIVATE,
}  # fmt: skip


class Family:
    def __init__(self, text: str, seed: int = 0) -> None:
        self.replayer = Replayer(nests.nest(text))
        binding = [d for d in self.replayer.dependences if not self.replayer.checker.relaxed(d)]
        self.breeder = Breeder(self.replayer.model, binding, random.Random(seed))
        self.simplifier = Simplifier(self.replayer.model, self.breeder.pairs, self.breeder.space)

    def legal(self, matrix: Matrix) -> Reschedule:
        tree = self.simplifier.tree(matrix)
        assert isinstance(self.replayer.replay((tree,)), ScheduledNest), str(tree)
        return tree


@pytest.mark.parametrize("name", SOME)
def test_every_child_is_legal(name: str) -> None:
    family = Family(SOME[name])
    breeder = family.breeder
    parents = [breeder.sample() for _ in range(4)]
    trees = {family.legal(parent) for parent in parents}
    for number in range(12):
        first, second = random.Random(number).sample(parents, 2)
        for child in (
            breeder.mutated(first, 0.1 + 0.07 * number),
            breeder.crossed(first, second),
            breeder.between(first, second),
            breeder.distributed(first),
        ):
            trees.add(family.legal(child))
    assert len(trees) > 8


def test_small_mutations_stay_near() -> None:
    """Most rows of a parent are found again where few are exchanged, and fewer where many are."""
    family = Family(nests.COVARIANCE)

    def kept(strength: float) -> float:
        shares = []
        for _ in range(30):
            parent = family.breeder.sample()
            child = family.breeder.mutated(parent, strength)
            shares.append(len(set(parent) & set(child)) / len(parent))
        return sum(shares) / len(shares)

    assert kept(0.05) > 0.6 > kept(1.0)


def test_the_matrix_of_a_tree_makes_that_tree() -> None:
    family = Family(nests.COVARIANCE)
    replayer = family.replayer
    for text in ("", "distribute(i, 1)", "interchange(i2, j2)"):
        schedule = parse_schedule(text)
        if not isinstance(replayer.replay(schedule), ScheduledNest):
            continue
        maps = time_maps(replayer.tree(schedule))
        made = family.breeder.completed(matrix_of(maps))
        again = family.breeder.completed(matrix_of(family.simplifier.tree(made)))
        assert family.legal(made) == family.legal(again)


def test_an_illegal_plan_is_mended() -> None:
    """Rows turned round keep nothing; what is drawn in their place does."""
    family = Family(nests.SEIDEL)
    turned = [Row(tuple((n, e * -1) for n, e in row.of)) for row in family.breeder.sample()]
    family.legal(family.breeder.completed(turned))


def test_statements_are_put_apart() -> None:
    family = Family(nests.COVARIANCE, seed=3)
    together = family.breeder.completed(matrix_of(time_maps(family.replayer.tree(()))))
    apart = [family.legal(family.breeder.distributed(together)) for _ in range(12)]
    places = [{one.positions[0] for one in tree.maps} for tree in apart]
    before = {one.positions[0] for one in family.legal(together).maps}
    assert max(map(len, places)) >= len(before)
    assert len(set(apart)) > 1
