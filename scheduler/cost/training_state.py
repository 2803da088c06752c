"""The state of an interrupted training: weights, the best so far, the optimizer's moments, and what was counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from scheduler.cost.checkpoint import CheckpointError, load_checkpoint, save_checkpoint


def store_training(
    path: Path,
    kind: str,
    identity: Mapping[str, Any],
    progress: Mapping[str, Any],
    network: nn.Module,
    best: Mapping[str, Tensor],
    optimizer: torch.optim.AdamW,
) -> None:
    """`identity` says which training it is, `progress` (JSON values, infinity allowed) how far.

    Raises CheckpointError.
    """
    tensors = {f"last/{name}": t for name, t in network.state_dict().items()}
    tensors |= {f"best/{name}": t for name, t in best.items()}
    for name, parameter in network.named_parameters():
        tensors |= {f"{key}/{name}": value for key, value in optimizer.state[parameter].items()}
    group = optimizer.param_groups[0]
    state = {key: None if value == math.inf else value for key, value in progress.items()}
    card = {"identity": dict(identity), "state": state, "rate": group["lr"], "betas": list(group["betas"])}
    save_checkpoint(path, kind, {name: t.detach().cpu().numpy() for name, t in tensors.items()}, card)


def restore_training(
    path: Path,
    kind: str,
    identity: Mapping[str, Any],
    network: nn.Module,
    optimizer: torch.optim.AdamW,
    cycle: torch.optim.lr_scheduler.OneCycleLR,
    device: torch.device,
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """(progress, the best weights) of `store_training`; the rest goes where it came from. `progress` counts "steps".

    Raises CheckpointError for another training, or a file that does not fit.
    """
    arrays, card = load_checkpoint(path, kind)
    if card.get("identity") != identity:
        raise CheckpointError(f"{path}: of another training (other data, seed or settings): remove it to begin again")
    tensors = {name: torch.from_numpy(array.copy()).to(device) for name, array in arrays.items()}
    try:
        progress = {key: math.inf if value is None else value for key, value in card["state"].items()}
        names = list(network.state_dict())
        network.load_state_dict({name: tensors[f"last/{name}"] for name in names})
        best = {name: tensors[f"best/{name}"] for name in names}
        for name, parameter in network.named_parameters():
            moments = {key: tensors[f"{key}/{name}"] for key in ("exp_avg", "exp_avg_sq")}
            optimizer.state[parameter] = {"step": tensors[f"step/{name}"].cpu(), **moments}
        done = min(int(progress["steps"]), cycle.total_steps - 1)
        cycle.load_state_dict({"last_epoch": done, "_step_count": done + 1})
        group = optimizer.param_groups[0]
        group["lr"], group["betas"] = card["rate"], tuple(card["betas"])
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as problem:
        raise CheckpointError(f"{path}: does not fit its card: {str(problem).splitlines()[0]}") from None
    return progress, best
