"""Explanations of small stacks as Python computes them and the explanation graph must."""

import base64
from typing import Any

import numpy as np
import torch

from course_utils.interpretability import (
    attention_flow,
    attention_rollout,
    gradient_attention,
    rank_correlation,
)
from course_utils.widgets import ExplanationGraph, explanation_graph

WORDS = ("[class]", "kraj", "a<b", "kruna", "jezyk", "wyspa")


def stack(seed: int, layers: int, heads: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights, some of them 0, and slopes of both signs."""
    drawn = np.random.default_rng(seed).normal(size=(2, layers, heads, length, length))
    powers = np.exp(2 * drawn[0]) * (drawn[1] > -1)
    powers[..., 0] += 0.01
    return (powers / powers.sum(-1, keepdims=True)).astype("f4"), drawn[1].astype("f4")


def widget(seed: int = 0, layers: int = 2, heads: int = 3, **chosen: Any) -> ExplanationGraph:
    weights, slopes = stack(seed, layers, heads, len(WORDS))
    left_out = np.random.default_rng(9).normal(size=len(WORDS)).round(2)
    left_out[3] = left_out[4]  # equal values share a place
    return explanation_graph(WORDS, weights, slopes, left_out.tolist(), **chosen)


def tensors(graph: ExplanationGraph) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return what a widget was given, as a batch of one for each layer."""
    layers, heads, length = graph.shape
    shape = (layers, 1, heads, length, length)
    whole = (np.frombuffer(one, "<f4").reshape(shape) for one in (graph.weights, graph.gradients))
    weights, slopes = (list(torch.tensor(one).double()) for one in whole)
    return weights, slopes


def explained(graph: ExplanationGraph, residual: float | None = None) -> dict[str, list[float]]:
    """Return the four rankings of a widget's tokens at its node above."""
    weights, slopes = tensors(graph)
    level, position = graph.target
    below, share = weights[:level], graph.residual if residual is None else residual
    raw = weights[graph.layer][0]
    raw = raw.mean(dim=0) if graph.head < 0 else raw[graph.head]
    own = torch.eye(graph.shape[2], dtype=torch.float64)
    # attention_flow lets half of a weight and of the residual through: other shares in its terms.
    pipes = [2 * (1 - share) * one.mean(dim=(0, 1)) + (2 * share - 1) * own for one in below]
    flows = [attention_flow(pipes, token, position) for token in range(graph.shape[2])]
    return {
        "raw": raw[position].tolist(),
        "rollout": attention_rollout(below, share)[0, position].tolist(),
        "flow": flows,
        "gradient": gradient_attention(below, slopes[:level])[0, position].tolist(),
    }


def agreement(
    graph: ExplanationGraph, method: str, residual: float | None = None
) -> dict[str, float]:
    """Return the rank correlations of a widget's ranking with leave-one-out."""
    ranked = [i for i in range(graph.shape[2]) if i != graph.reader]
    said = torch.tensor(explained(graph, residual)[method]).double()[ranked]
    left = torch.tensor(graph.importance).double()[ranked]
    return {
        "signed": rank_correlation(said, left).item(),
        "size": rank_correlation(said, left.abs()).item(),
    }


def cases() -> list[dict[str, Any]]:
    made = []
    for seed, layers, heads, share, chosen, target in (
        (0, 2, 3, 0.5, (1, -1), [2, 0]),
        (1, 2, 3, 0.0, (0, 2), [1, 3]),
        (2, 3, 1, 0.8, (2, 0), [3, 4]),
        (3, 1, 2, 1.0, (0, 1), [1, 0]),
    ):
        graph = widget(seed, layers, heads)
        graph.residual, graph.target = share, target
        graph.layer, graph.head = chosen
        said = explained(graph)
        made.append({
            "shape": graph.shape, "weights": base64.b64encode(graph.weights).decode(),
            "gradients": base64.b64encode(graph.gradients).decode(),
            "importance": graph.importance, "reader": graph.reader, "residual": share,
            "layer": chosen[0], "head": chosen[1], "target": target,
            "said": said, "agreement": {name: agreement(graph, name) for name in said},
        })  # fmt: skip
    return made
