"""Ways to read attention beside scipy, networkx, Captum and the papers' own equations."""

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import scipy.stats
import torch
from captum.attr import FeatureAblation
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

from course_utils.interpretability import (
    attention_entropy,
    attention_flow,
    attention_rollout,
    effective_attention,
    gradient_attention,
    induction_score,
    leave_one_out,
    rank_correlation,
)
from tests.support import assert_same_function, draw


def layers(number: int, *shape: int) -> Tensor:
    return draw(number, *shape, shape[-1]).softmax(-1)


@pytest.mark.peer("13", "`attention_entropy`", "`scipy.stats.entropy`", "float64 1e-7", "entropies")
def test_entropy_is_scipys() -> None:
    weights = (3 * draw(2, 3, 5, 7)).softmax(-1)
    weights[0, 1, 2] = torch.eye(7)[3]
    theirs = scipy.stats.entropy(weights.numpy(), axis=-1)
    torch.testing.assert_close(attention_entropy(weights), torch.from_numpy(theirs))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.peer(
    "13", "`rank_correlation`", "`scipy.stats.spearmanr`", "float64 1e-7", "correlations"
)
def test_rank_correlation_is_spearmans(ties) -> None:
    a, b = draw(6, 11), draw(6, 11, seed=1)
    if ties:
        a, b = (2 * a).round(), (2 * b).round()
    theirs = [scipy.stats.spearmanr(*both).statistic for both in zip(a, b, strict=True)]
    torch.testing.assert_close(rank_correlation(a, b), torch.tensor(theirs, dtype=a.dtype))


@pytest.mark.parametrize("sizes", [(1, 5), (2, 6), (4, 5)])
@pytest.mark.peer(
    "13", "`attention_flow`", "`networkx.maximum_flow_value`", "float64 1e-7", "flows"
)
def test_flow_is_networkxs(sizes) -> None:
    given = (2 * layers(*sizes)).softmax(-1)
    graph = nx.DiGraph()
    for level, weights in enumerate(given.tolist()):
        for i, row in enumerate(weights):
            for j, weight in enumerate(row):
                through = 0.5 * weight + 0.5 * (i == j)
                graph.add_edge((level, j), (level + 1, i), capacity=through)
    for source, target in ((0, 3), (4, 4), (2, 1)):
        theirs = nx.maximum_flow_value(graph, (0, source), (len(given), target))
        torch.testing.assert_close(attention_flow(list(given), source, target), theirs)


@pytest.mark.peer(
    "13", "`attention_flow`", "`scipy.sparse.csgraph.maximum_flow`", "float64 1e-6", "flows"
)
def test_flow_is_scipys_on_whole_numbers() -> None:
    """Its capacities are integers: ours times 2^24, rounded."""
    given, length = layers(3, 6), 6
    room = np.zeros((4 * length, 4 * length), dtype=np.int32)
    for level, weights in enumerate(given):
        through = 0.5 * weights + 0.5 * torch.eye(length)
        rows, columns = (slice(at * length, (at + 1) * length) for at in (level, level + 1))
        room[rows, columns] = (2**24 * through.T).round().numpy()
    for source, target in ((0, 5), (3, 3)):
        theirs = maximum_flow(csr_array(room), source, 3 * length + target).flow_value / 2**24
        ours = attention_flow(list(given), source, target)
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.peer(
    "13", "`attention_rollout`", "Abnar and Zuidema's joint attention in numpy", "float64 1e-7",
    "rollouts",
)  # fmt: skip
def test_rollout_is_the_papers_joint_attention() -> None:
    """Heads averaged, A + I, rows divided, the last layer on the left."""
    given = layers(4, 2, 3, 5)
    for number in range(2):
        joint = np.eye(5)
        for weights in given[:, number].mean(1).numpy():
            widened = weights + np.eye(5)
            joint = np.matmul(widened / widened.sum(axis=-1)[:, None], joint)
        torch.testing.assert_close(attention_rollout(list(given))[number], torch.from_numpy(joint))


@pytest.mark.peer(
    "13", "`gradient_attention`", "Chefer et al. 2021b, rules 5 and 6, entry by entry",
    "float64 1e-7", "relevances, gradients",
)  # fmt: skip
def test_gradient_attention_is_the_papers_two_rules() -> None:
    def theirs(weights: Tensor, slopes: Tensor) -> Tensor:
        relevance = torch.eye(4, dtype=weights.dtype).repeat(2, 1, 1)
        for layer, slope in zip(weights, slopes, strict=True):
            heads = [torch.where(slope[:, h] * layer[:, h] > 0, slope[:, h] * layer[:, h], 0.0)
                     for h in range(3)]  # fmt: skip
            averaged = sum(heads) / 3  # rule 5
            relevance = relevance + torch.einsum("bij,bjk->bik", averaged, relevance)  # rule 6
        return relevance

    assert_same_function(
        lambda weights, slopes: gradient_attention(list(weights), list(slopes)),
        theirs,
        (layers(3, 2, 3, 4), draw(3, 2, 3, 4, 4, seed=2)),
    )


@pytest.mark.peer(
    "13", "`induction_score`", "the mean of a diagonal, as TransformerLens's demos take it",
    "float64 1e-7", "scores",
)  # fmt: skip
def test_the_induction_score_is_the_diagonals_mean_less_its_first_entry() -> None:
    """`diagonal(1 - period)` has one entry more: that of query period - 1."""
    weights, period = layers(2, 3, 9), 4
    stripe = weights.diagonal(dim1=-2, dim2=-1, offset=1 - period)
    theirs = (stripe.mean(-1) * 6 - weights[..., 3, 0]) / 5
    torch.testing.assert_close(induction_score(weights, period), theirs)


@pytest.mark.peer(
    "13", "`leave_one_out`", "Captum's `FeatureAblation` over the mask", "equal", "importances"
)
def test_leave_one_out_is_captums_ablation_of_the_mask() -> None:
    table, tokens = draw(10, 3), torch.randint(10, (4, 6), generator=torch.Generator())
    mask = draw(4, 6, seed=3) > -1

    def predict(words: Tensor, seen: Tensor) -> Tensor:
        return (table[words] * seen.unsqueeze(-1)).sum(1).softmax(-1)

    chosen = predict(tokens, mask).argmax(-1)
    theirs = FeatureAblation(lambda seen: predict(tokens, seen > 0)).attribute(
        mask.double(), baselines=0.0, target=chosen
    )
    torch.testing.assert_close(leave_one_out(predict, tokens, mask), theirs, rtol=0, atol=0)


@pytest.mark.parametrize("sizes", [(4, 7, 3), (3, 2, 5), (5, 6, 6)])
@pytest.mark.peer("13", "`effective_attention`", "`scipy.linalg.orth`", "float64 1e-7", "weights")
def test_effective_attention_projects_on_scipys_basis(sizes) -> None:
    queries, keys, d_v = sizes
    weights, value = draw(queries, keys).softmax(-1), draw(keys, d_v)
    value[:, -1] = value[:, 0]
    basis = scipy.linalg.orth(value.numpy())
    theirs = torch.from_numpy(weights.numpy() @ basis @ basis.T)
    torch.testing.assert_close(effective_attention(weights, value), theirs)
