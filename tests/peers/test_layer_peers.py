"""Whole layers beside torch's: the small Transformer, a layer without some heads, and two tests."""

import pytest
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import prune_linear_layer

from course_utils.attention import ablate_heads, causal_mask, leaks_future, merge_heads
from course_utils.models import Block, PositionedTransformer, SmallTransformer
from course_utils.positions import LearnedPositions, is_permutation_equivariant
from tests.peers.peer_support import BATCH, HEADS, WIDTH, results, seeded
from tests.support import assert_same_function, draw

TORCH_ENCODERS = pytest.mark.peer(
    "05", "`Block`, `SmallTransformer`, `PositionedTransformer`",
    "`nn.TransformerEncoderLayer`, `nn.TransformerEncoder`", "float64 1e-7", "outputs, gradients",
)  # fmt: skip

D_FF, LENGTH, TOKENS = 20, 7, 11
SIZES = {"d_model": WIDTH, "num_heads": HEADS, "num_layers": 2, "d_ff": D_FF}
PARTS = {
    "attention": "self_attn",
    "attention_norm": "norm1",
    "feed_forward.0": "norm2",
    "feed_forward.1": "linear1",
    "feed_forward.3": "linear2",
}


def torch_s_layer(**options) -> nn.TransformerEncoderLayer:
    how = {"dropout": 0.0, "batch_first": True, "norm_first": True, **options}
    return nn.TransformerEncoderLayer(WIDTH, HEADS, D_FF, activation="gelu", **how)


def copy(theirs: nn.TransformerEncoderLayer, ours: nn.Module) -> None:
    for own, part in PARTS.items():
        ours.get_submodule(own).load_state_dict(theirs.get_submodule(part).state_dict())


def parameters_of(layer: nn.Module, parts: list[str]) -> list[Tensor]:
    return [p for part in parts for _, p in sorted(layer.get_submodule(part).named_parameters())]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("length", [1, LENGTH])
@TORCH_ENCODERS
def test_a_block_is_torch_s_encoder_layer_with_the_norm_first(length, masked) -> None:
    theirs, ours = seeded(torch_s_layer()), Block(WIDTH, HEADS, D_FF).double()
    copy(theirs, ours)
    x, mask = draw(BATCH, length, WIDTH).requires_grad_(), None
    if masked:
        mask = causal_mask(length, length)
    hidden = None if mask is None else ~mask
    got = results(lambda x: ours(x, mask), (x,), (x, *parameters_of(ours, list(PARTS))))
    wanted = (x, *parameters_of(theirs, list(PARTS.values())))
    torch.testing.assert_close(got, results(lambda x: theirs(x, hidden), (x,), wanted))


@pytest.mark.parametrize("name", ["small", "positioned"])
@TORCH_ENCODERS
def test_both_small_transformers_are_torch_s_encoder_between_their_tables(name) -> None:
    if name == "small":
        ours = SmallTransformer(TOKENS, max_length=LENGTH, **SIZES)
        table = ours.position
    else:
        positions = LearnedPositions(LENGTH, WIDTH)
        ours, table = PositionedTransformer(TOKENS, positions=positions, **SIZES), positions.table
    seeded(ours)
    theirs = nn.TransformerEncoder(
        torch_s_layer(), 2, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False
    )
    seeded(theirs).norm.load_state_dict(ours.norm.state_dict())
    for layer, block in zip(theirs.layers, ours.blocks, strict=True):
        copy(layer, block)
    tokens = torch.arange(BATCH * LENGTH).view(BATCH, LENGTH) % TOKENS
    seen = causal_mask(LENGTH, LENGTH)

    def encoded() -> Tensor:
        return ours.out(theirs(ours.token(tokens) + table.weight, ~seen))

    wanted = (ours.token.weight, table.weight, ours.out.weight)
    got = results(lambda: ours(tokens, seen), (), wanted)
    torch.testing.assert_close(got, results(encoded, (), wanted))


@pytest.mark.parametrize("keep", [[True] * 4, [False, True, True, False]], ids=str)
@pytest.mark.peer(
    "05", "`ablate_heads`", "transformers' `prune_linear_layer`", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_leaving_heads_out_is_pruning_them_from_the_projection(keep) -> None:
    kept, d_k = torch.tensor(keep), WIDTH // HEADS
    rows = torch.arange(WIDTH).view(HEADS, d_k)[kept].flatten()
    W_o = draw(WIDTH, WIDTH).float().double()  # their new layer is float32

    def theirs(heads: Tensor) -> Tensor:
        layer = nn.Linear(WIDTH, WIDTH, bias=False).double()
        layer.weight.data = W_o.T
        return prune_linear_layer(layer, rows, dim=1).double()(merge_heads(heads)[..., rows])

    given = (draw(BATCH, HEADS, LENGTH, d_k),)
    assert_same_function(lambda x: ablate_heads(x, W_o, kept), theirs, given)


def recurrent(**options) -> nn.Module:
    return nn.GRU(WIDTH, WIDTH, batch_first=True, **options)


@pytest.mark.peer(
    "06", "`leaks_future`, `is_permutation_equivariant` (chapter 07)",
    "what is known of torch's encoder layer and GRU", "equal", "verdicts",
)  # fmt: skip
def test_what_is_known_of_torch_s_layers_is_found() -> None:
    torch.manual_seed(0)
    attention, hidden = torch_s_layer().eval(), ~causal_mask(LENGTH, LENGTH)
    forward, both_ways = recurrent(), recurrent(bidirectional=True)
    leaks = {
        lambda x: attention(x): True,
        lambda x: attention(x, hidden): False,
        lambda x: both_ways(x)[0]: True,
        lambda x: forward(x)[0]: False,
    }
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    x = draw(BATCH, LENGTH, WIDTH).float()
    with torch.no_grad():
        for layer, known in leaks.items():
            assert leaks_future(layer, LENGTH, WIDTH) is known
        assert is_permutation_equivariant(attention, x, order)
        assert not is_permutation_equivariant(lambda x: attention(x, hidden), x, order)
        assert not is_permutation_equivariant(lambda x: forward(x)[0], x, order)
