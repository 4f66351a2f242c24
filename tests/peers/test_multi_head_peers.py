"""Multi-head attention, module and functions, beside PyTorch's."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import (
    MultiHeadAttention,
    multi_head_attention,
    multi_head_attention_fused,
    multi_head_attention_loop,
)
from tests.peers.peer_support import BATCH, HEADS, MASKS, WIDTH, draw_mask, masks, results, streams
from tests.support import LENGTHS, assert_same_function, draw

TORCH_MODULE = pytest.mark.peer(
    "05", "`MultiHeadAttention` with every mask, with and without biases, with other widths",
    "`nn.MultiheadAttention`", "float64 1e-7", "outputs, gradients",
)  # fmt: skip
TORCH_FUNCTION = pytest.mark.peer(
    "05", "`multi_head_attention`, `multi_head_attention_loop`, `multi_head_attention_fused`",
    "`F.multi_head_attention_forward`", "float64 1e-7", "outputs, gradients",
)  # fmt: skip

OPTIONS = [
    {"bias": True},
    {"bias": False},
    {"bias": True, "d_key": 10, "d_value": 14},
    {"bias": False, "d_key": 10},
    {"bias": True, "d_value": 14},
]
ASKED = [
    {"need_weights": False},
    {"need_weights": True},
    {"need_weights": True, "average_attn_weights": False},
]


def new_module(bias: bool = True, **widths: int) -> MultiHeadAttention:
    torch.manual_seed(0)
    module = MultiHeadAttention(WIDTH, HEADS, bias=bias, **widths).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)  # biases too, which start at zero
    return module


def peer_of(
    ours: MultiHeadAttention,
    batch_first: bool = True,
    bias: bool = True,
    d_key: int | None = None,
    d_value: int | None = None,
) -> nn.MultiheadAttention:
    theirs = nn.MultiheadAttention(
        WIDTH, HEADS, bias=bias, kdim=d_key, vdim=d_value, batch_first=batch_first
    )
    theirs.double().load_state_dict(ours.state_dict())
    return theirs


def parameters(module: nn.Module) -> tuple[Tensor, ...]:
    return tuple(parameter for _, parameter in sorted(module.named_parameters()))


def compare(ours: MultiHeadAttention, theirs, kind: str, given, **options) -> None:
    """Compare outputs, and the gradients of the streams and of every parameter."""
    mask, their_masks = masks(kind, given[0].shape[1], given[1].shape[1])
    flip = (lambda x: x) if theirs.batch_first else (lambda x: x.transpose(0, 1))

    def call(*streams: Tensor) -> Tensor:
        return flip(theirs(*map(flip, streams), **their_masks, **options)[0])

    got = results(lambda *x: ours(*x, mask), given, (*given, *parameters(ours)))
    torch.testing.assert_close(got, results(call, given, (*given, *parameters(theirs))))


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@TORCH_MODULE
def test_agrees_at_every_length(num_queries, num_keys, kind) -> None:
    ours, given = new_module(), streams(num_queries, num_keys)
    compare(ours, peer_of(ours), kind, given, need_weights=False)


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@TORCH_MODULE
def test_agrees_with_and_without_bias_and_at_other_widths(options, kind) -> None:
    ours, given = new_module(**options), streams(7, 3, **options)
    compare(ours, peer_of(ours, **options), kind, given, need_weights=False)


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("asked", ASKED, ids=["no weights", "their mean", "each head's"])
@TORCH_MODULE
def test_agrees_however_torch_is_asked(asked, batch_first, kind) -> None:
    ours, given = new_module(**OPTIONS[2]), streams(7, 3, **OPTIONS[2])
    compare(ours, peer_of(ours, batch_first, **OPTIONS[2]), kind, given, **asked)


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@pytest.mark.peer(
    "05", "`MultiHeadAttention`: its weights", "`nn.MultiheadAttention`, averaged and by head",
    "float64 1e-7", "weights, gradients",
)  # fmt: skip
def test_weights_agree_with_torch_s_averaged_and_by_head(num_queries, num_keys, kind) -> None:
    ours = new_module()
    theirs, given = peer_of(ours), streams(num_queries, num_keys)
    mask, hidden = masks(kind, num_queries, num_keys)

    def weights(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        by_head = ours.weights(query, key, mask)
        return by_head, by_head.mean(1)

    def wanted(query: Tensor, key: Tensor) -> tuple[Tensor, ...]:
        averaged = (False, True)
        calls = (theirs(query, key, key, average_attn_weights=a, **hidden) for a in averaged)
        return tuple(found for _, found in calls)

    assert_same_function(weights, wanted, given[:2])


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("length", [1, 5])
@pytest.mark.parametrize("options", OPTIONS[:2], ids=str)
@TORCH_MODULE
def test_self_attention_agrees_in_one_product(options, length, causal) -> None:
    ours, x = new_module(**options), draw(BATCH, length, WIDTH).requires_grad_()
    theirs = peer_of(ours, **options)
    hidden = masks("causal" if causal else "none", length, length)[1]
    got = results(lambda x: ours(x, is_causal=causal), (x,), (x, *parameters(ours)))
    want = results(
        lambda x: theirs(x, x, x, need_weights=False, **hidden)[0],
        (x,),
        (x, *parameters(theirs)),
    )
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("kind", ["none", "queries", "padding"])
@pytest.mark.peer(
    "05", "`MultiHeadAttention`", "torch's fast path for inference", "float64 1e-7", "outputs"
)
def test_agrees_with_torch_s_fast_path_for_inference(kind, monkeypatch) -> None:
    ours, x = new_module(), draw(BATCH, 5, WIDTH)
    theirs, taken = peer_of(ours).eval(), []
    fast = torch._native_multi_head_attention
    monkeypatch.setattr(
        torch, "_native_multi_head_attention", lambda *a, **k: taken.append(1) or fast(*a, **k)
    )
    mask, hidden = masks(kind, 5, 5)
    with torch.inference_mode():
        for wanted in (False, True):
            out = theirs(x, x, x, need_weights=wanted, **hidden)[0]
            torch.testing.assert_close(ours(x, attn_mask=mask), out)
    assert len(taken) == 2


@TORCH_MODULE
def test_a_query_that_may_see_nothing_agrees_with_torch_without_weights() -> None:
    ours, given = new_module(), streams(3, 5)
    theirs, mask = peer_of(ours), draw_mask(3, 5)
    mask[1] = False
    got = results(lambda *x: ours(*x, mask), given, given)
    want = results(lambda *x: theirs(*x, attn_mask=~mask, need_weights=False)[0], given, given)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(got[0][:, 1], ours.out_proj.bias.expand(BATCH, -1))
    assert not ours.weights(*given[:2], mask)[:, :, 1].any()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.peer(
    "05", "`MultiHeadAttention`", "state dicts of `nn.MultiheadAttention`, loaded both ways",
    "equal", "outputs",
)  # fmt: skip
def test_state_dicts_load_both_ways(options) -> None:
    ours = new_module(**options)
    theirs = peer_of(ours, **options)
    back = MultiHeadAttention(WIDTH, HEADS, **options).double()
    back.load_state_dict(theirs.state_dict())
    given = streams(3, 5, **options)
    torch.testing.assert_close(back(*given), ours(*given), rtol=0, atol=0)
    assert list(theirs.state_dict()) == list(ours.state_dict())


def torch_s_function(q, k, v, W_q, W_k, W_v, W_o, hidden: Tensor | None) -> Tensor:
    weights = torch.cat([W_q.T, W_k.T, W_v.T]), None
    streams = (x.transpose(0, 1) for x in (q, k, v))
    out, _ = F.multi_head_attention_forward(
        *streams, WIDTH, HEADS, *weights, None, None, False, 0.0, W_o.T, None, attn_mask=hidden
    )
    return out.transpose(0, 1)


@pytest.mark.parametrize("kind", ["none", "queries", "heads"])
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@pytest.mark.parametrize("function", [multi_head_attention, multi_head_attention_loop])
@TORCH_FUNCTION
def test_the_functions_agree_with_torch_s(function, num_queries, num_keys, kind) -> None:
    mask, hidden = masks(kind, num_queries, num_keys)
    weights = (0.3 * draw(WIDTH, WIDTH, seed=i) for i in range(4))
    assert_same_function(
        lambda *x: function(*x, HEADS, mask),
        lambda *x: torch_s_function(*x, hidden.get("attn_mask")),
        (*streams(num_queries, num_keys), *weights),
    )


@pytest.mark.parametrize("kind", ["none", "queries", "heads", "causal"])
@pytest.mark.parametrize("length", [1, 5])
@TORCH_FUNCTION
def test_the_fused_function_agrees_with_torch_s(length, kind) -> None:
    mask, hidden = masks(kind, length, length)
    assert_same_function(
        lambda *x: multi_head_attention_fused(*x, HEADS, mask),
        lambda x, W, W_o: torch_s_function(
            x, x, x, *W.chunk(3, dim=1), W_o, hidden.get("attn_mask")
        ),
        (draw(BATCH, length, WIDTH), 0.3 * draw(WIDTH, 3 * WIDTH), 0.3 * draw(WIDTH, WIDTH)),
    )
