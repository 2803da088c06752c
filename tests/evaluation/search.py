"""Searches guided by a cost model against the one that runs every candidate.

Source: Baghdadi et al. 2021 (MLSys), table 2.
"""

from __future__ import annotations

from tests.evaluation.methods import Method

EXECUTED = "beam, executed"
METHODS = (
    Method(EXECUTED, "beam", factor=20.0),
    Method("beam by model and run", "beam", "model+run"),
    Method("beam by model, top 5", "beam", "model+run", refine=False, top=5),
    Method("MCTS by model, top 5", "mcts", "model+run", refine=False, top=5),
    Method("MCTS, executed", "mcts"),
    Method("random, executed", "random"),
    Method("sampled matrices, executed", "sample"),
    Method("structures of isl, executed", "isl"),
    Method("genetic, executed", "genetic"),
    Method("genetic, guarded by the classifier", "genetic", guard="classifier"),
    Method("genetic, guarded by the cost model", "genetic", guard="model"),
    Method("genetic by model and run", "genetic", "model+run"),
)
PROGRAMS = (
    "box-blur", "conv-relu", "conv", "cvtcolor", "doitgen", "heat-2d", "heat-3d", "jacobi-2d", "mvt", "seidel-2d",
)  # fmt: skip
