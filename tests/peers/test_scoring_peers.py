"""Scores and kernel smoothing beside torch's, Hugging Face's and scikit-learn's."""

import pytest
import torch
from sklearn.metrics.pairwise import rbf_kernel
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import flex_attention
from transformers.models.slanet.modeling_slanet import SLANetAttentionGRUCell

from course_utils.attention import (
    additive_score,
    attend,
    context_vector,
    dot_score,
    general_score,
    local_monotonic_weights,
    local_predictive_weights,
    location_score,
    nadaraya_watson,
    predicted_centre,
)
from tests.peers.peer_support import BATCH, in_its_own_precision
from tests.support import LENGTHS, assert_same_function, draw

D_Q, D_K, D_A = 6, 4, 5
each_length = pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)


def real_keys(num_keys: int) -> Tensor:
    """Return a mask with one key of padding in the first sequence; it may have no other."""
    return torch.arange(num_keys) < torch.tensor([[num_keys - 1], [num_keys]])


@pytest.mark.parametrize("num_keys", [1, 5])
@pytest.mark.peer(
    "02", "`additive_score`, `attend`", "the attention cell of SLANet", "float64 1e-7",
    "states, weights, gradients",
)  # fmt: skip
def test_additive_attention_is_slanet_s(num_keys, monkeypatch) -> None:
    """Their cell takes one query, its state; ours has no bias."""
    in_its_own_precision(monkeypatch)
    theirs = SLANetAttentionGRUCell(D_K, D_A, 3).double()
    torch.nn.init.zeros_(theirs.hidden_to_hidden.bias)
    parts = (theirs.hidden_to_hidden, theirs.input_to_hidden, theirs.score)
    W_q, W_k, v = (part.weight.detach().T for part in parts)
    mask, symbol = torch.ones(BATCH, num_keys, dtype=torch.bool), draw(BATCH, 3)

    def ours(state: Tensor, key: Tensor) -> tuple[Tensor, ...]:
        context, weights = attend(
            additive_score(state.unsqueeze(1), key, W_q, W_k, v.flatten()), key, mask
        )
        return theirs.rnn(torch.cat((context.squeeze(1), symbol), dim=1), state), weights

    given = draw(BATCH, D_A), draw(BATCH, num_keys, D_K, seed=1)
    assert_same_function(ours, lambda *x: theirs(*x, symbol), given)


@each_length
@pytest.mark.peer(
    "02", "`general_score`, `dot_score`", "`F.bilinear`", "float64 1e-7", "scores, gradients"
)
def test_general_and_dot_scores_are_torch_s_bilinear_form(num_queries, num_keys) -> None:
    def theirs(query: Tensor, key: Tensor, W: Tensor) -> Tensor:
        shape = (BATCH, num_queries, num_keys, -1)
        pairs = query.unsqueeze(2).expand(shape), key.unsqueeze(1).expand(shape)
        return F.bilinear(*(x.contiguous() for x in pairs), W.unsqueeze(0)).squeeze(-1)

    query, key = draw(BATCH, num_queries, D_Q), draw(BATCH, num_keys, D_K, seed=1)
    assert_same_function(general_score, theirs, (query, key, draw(D_Q, D_K)))
    unit = torch.eye(D_K, dtype=torch.float64)
    given = query[..., :D_K], key
    assert_same_function(dot_score, lambda *x: theirs(*x, unit), given)


@each_length
@pytest.mark.peer(
    "02", "`location_score`", "`F.linear`, padded", "float64 1e-7", "scores, gradients"
)
def test_location_scores_are_a_linear_layer_s_padded_with_minus_infinity(
    num_queries, num_keys
) -> None:
    def theirs(query: Tensor, W: Tensor) -> Tensor:
        scores = F.pad(F.linear(query, W.T), (0, 4), value=-torch.inf)
        return scores[..., :num_keys].exp()  # a loss of infinite scores has no gradient

    given = draw(BATCH, num_queries, D_Q), draw(D_Q, 4)
    assert_same_function(lambda *x: location_score(*x, num_keys).exp(), theirs, given)


@each_length
@pytest.mark.peer(
    "02", "`attend`", "SDPA, the scores as its mask", "float64 1e-7", "contexts, weights, gradients"
)
def test_attending_is_sdpa_where_the_scores_are_all_it_is_told(num_queries, num_keys) -> None:
    mask, no_query = real_keys(num_keys), torch.zeros(BATCH, num_queries, 1, dtype=torch.float64)

    def theirs(scores: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        seen = scores.masked_fill(~mask.unsqueeze(1), -torch.inf)
        found = torch.cat((value, torch.eye(num_keys).expand(BATCH, -1, -1)), dim=-1)
        no_key = torch.zeros_like(found[..., :1])
        out = F.scaled_dot_product_attention(no_query, no_key, found, seen)
        return out.split((D_K, num_keys), dim=-1)

    given = draw(BATCH, num_queries, num_keys), draw(BATCH, num_keys, D_K)
    assert_same_function(lambda *x: attend(*x, mask), theirs, given)


@pytest.mark.parametrize("num_keys", [1, 5])
@pytest.mark.peer(
    "01", "`context_vector`", "`F.embedding_bag` with weights", "float64 1e-7", "outputs, gradients"
)
def test_a_context_is_torch_s_weighted_sum_of_rows(num_keys) -> None:
    rows = torch.arange(BATCH * num_keys).view(BATCH, num_keys)
    assert_same_function(
        context_vector,
        lambda weights, states: F.embedding_bag(
            rows, states.flatten(0, 1), mode="sum", per_sample_weights=weights
        ),
        (draw(BATCH, num_keys), draw(BATCH, num_keys, D_K)),
    )


@pytest.mark.parametrize("half_width", [0, 2])
@each_length
@pytest.mark.peer(
    "02", "`local_monotonic_weights`", "`torch.softmax` under FlexAttention's mask", "float64 1e-7",
    "weights, gradients",
)  # fmt: skip
def test_local_m_is_a_softmax_under_flex_attention_s_mask(
    num_queries, num_keys, half_width
) -> None:
    near = flex_attention.create_mask(
        lambda b, h, q, k: (q - k).abs() <= half_width, 1, 1, num_queries, num_keys, device="cpu"
    )[0]
    sees = near.any(dim=-1, keepdim=True)

    def theirs(scores: Tensor) -> Tensor:
        hidden = ~near & sees
        return scores.masked_fill(hidden, -torch.inf).softmax(-1) * sees

    scores = draw(BATCH, num_queries, num_keys)
    assert_same_function(lambda x: local_monotonic_weights(x, half_width), theirs, (scores,))


@each_length
@pytest.mark.peer(
    "02", "`predicted_centre`, `local_predictive_weights`", "Luong's equations 9 and 10, in a loop",
    "float64 1e-7", "centres, weights, gradients",
)  # fmt: skip
def test_local_p_agrees_with_luong_s_equations_9_and_10(num_queries, num_keys) -> None:
    lengths = torch.tensor([num_keys, 1])

    def ours(query: Tensor, W_p: Tensor, v_p: Tensor, scores: Tensor) -> tuple[Tensor, ...]:
        centre = predicted_centre(query, W_p, v_p, lengths)
        return centre, local_predictive_weights(scores, centre, 1.5)

    def theirs(query: Tensor, W_p: Tensor, v_p: Tensor, scores: Tensor) -> tuple[Tensor, ...]:
        rows = [
            (length * torch.sigmoid(v_p @ torch.tanh(W_p.T @ h_t)), score_t)
            for states, length, table in zip(query, lengths, scores, strict=True)
            for h_t, score_t in zip(states, table, strict=True)
        ]
        weights = [
            torch.exp(-((s - p_t) ** 2) / (2 * 1.5**2)) * score_t[s].exp() / score_t.exp().sum()
            for p_t, score_t in rows
            for s in range(num_keys)
        ]
        centre = torch.stack([p_t for p_t, _ in rows]).view(BATCH, num_queries)
        return centre, torch.stack(weights).view(scores.shape)

    query, scores = draw(BATCH, num_queries, D_Q), draw(BATCH, num_queries, num_keys)
    assert_same_function(ours, theirs, (query, draw(D_Q, D_A, seed=1), draw(D_A), scores))


@pytest.mark.parametrize("bandwidth", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@pytest.mark.peer(
    "15", "`nadaraya_watson`", "scikit-learn's `rbf_kernel`, its rows divided by their sums",
    "float64 1e-7", "outputs",
)  # fmt: skip
def test_the_weights_are_scikit_learn_s_kernel(num_queries, num_keys, bandwidth) -> None:
    query, key, value = draw(num_queries, 3), draw(num_keys, 3, seed=1), draw(num_keys, 4, seed=2)
    kernel = torch.from_numpy(rbf_kernel(query.numpy(), key.numpy(), gamma=1 / (2 * bandwidth**2)))
    want = kernel / kernel.sum(-1, keepdim=True) @ value
    torch.testing.assert_close(nadaraya_watson(query, key, value, bandwidth), want)
