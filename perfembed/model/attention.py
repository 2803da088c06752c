"""Graph attention in plain torch: what the network needs of a message passing library, and nothing written to disk.

The same operations in the same order as PyG's TransformerConv, AttentionalAggregation and global_max_pool (2.8), under
the same names of weights. Shapes: N nodes and M edges of B graphs together, C channels.
"""

from __future__ import annotations

import math

from torch import Tensor, nn


class GraphAttention(nn.Module):
    """Attention of each node over the edges that end in it, with edge features (Shi et al. 2021).

    Each of `heads` heads has `size / heads` channels; they are put side by side.
    """

    def __init__(self, size: int, heads: int, edge_size: int) -> None:
        super().__init__()
        self.heads, self.channels = heads, size // heads
        self.lin_key = nn.Linear(size, size)
        self.lin_query = nn.Linear(size, size)
        self.lin_value = nn.Linear(size, size)
        self.lin_edge = nn.Linear(edge_size, size, bias=False)
        self.lin_skip = nn.Linear(size, size)

    def forward(self, x: Tensor, edges: Tensor, attributes: Tensor) -> Tensor:
        """`x` [N, size]; `edges` [2, M]: from, to; `attributes` [M, edge_size]. Gives [N, size]."""
        shape = (-1, self.heads, self.channels)
        source, target = edges[0], edges[1]
        query = self.lin_query(x).view(shape).index_select(0, target)
        key = self.lin_key(x).view(shape).index_select(0, source)
        value = self.lin_value(x).view(shape).index_select(0, source)
        along = self.lin_edge(attributes).view(shape)
        weight = (query * (key + along)).sum(dim=-1) / math.sqrt(self.channels)  # [M, heads]
        weight = group_softmax(weight, target, x.size(0))
        messages = (value + along) * weight.unsqueeze(-1)  # [M, heads, channels]
        gathered = group_sum(messages, target, x.size(0)).view(-1, self.heads * self.channels)
        return gathered + self.lin_skip(x)  # type: ignore[no-any-return]


class AttentionPool(nn.Module):
    """A weighted sum of the nodes of each graph; `gate_nn` [N, C] -> [N, 1] gives the weights, `nn` what is summed."""

    def __init__(self, gate: nn.Module, values: nn.Module) -> None:
        super().__init__()
        self.gate_nn = gate
        self.nn = values

    def forward(self, x: Tensor, graph: Tensor, count: int) -> Tensor:  # [N, C], [N] -> [B, C]
        gate, values = self.gate_nn(x), self.nn(x)
        return group_sum(group_softmax(gate, graph, count) * values, graph, count)


def group_softmax(values: Tensor, group: Tensor, count: int) -> Tensor:
    """Softmax over the rows of each group: `values` [n, ...], `group` [n] in 0 … count - 1."""
    values = (values - group_max(values.detach(), group, count).index_select(0, group)).exp()
    return values / (group_sum(values, group, count) + 1e-16).index_select(0, group)


def group_sum(values: Tensor, group: Tensor, count: int) -> Tensor:
    """[n, ...] -> [count, ...]; 0 where there is none."""
    return values.new_zeros(count, *values.shape[1:]).scatter_add_(0, _spread(group, values), values)


def group_max(values: Tensor, group: Tensor, count: int) -> Tensor:
    """[n, ...] -> [count, ...]; 0 where there is none."""
    zeros = values.new_zeros(count, *values.shape[1:])
    return zeros.scatter_reduce_(0, _spread(group, values), values, reduce="amax", include_self=False)


def _spread(group: Tensor, values: Tensor) -> Tensor:
    return group.view(-1, *(1,) * (values.dim() - 1)).expand_as(values)
