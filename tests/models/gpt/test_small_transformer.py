import pytest
import torch

from course_utils.models import SmallTransformer
from course_utils.models.training import descend


def small(**changes: int) -> SmallTransformer:
    torch.manual_seed(0)
    sizes = {"d_model": 12, "num_heads": 3, "num_layers": 2, "max_length": 7, **changes}
    return SmallTransformer(10, **sizes)


def test_every_position_gets_a_score_for_every_token() -> None:
    tokens = torch.arange(10).view(2, 5)
    assert small()(tokens).shape == (2, 5, 10)
    assert [layer.shape for layer in small().weights(tokens)] == [(2, 3, 5, 5)] * 2


def test_a_causal_mask_keeps_later_tokens_out_of_every_layer() -> None:
    model, tokens = small(), torch.arange(7)[None]
    causal = torch.ones(7, 7).tril().bool()
    changed = tokens.clone()
    changed[0, 4:] = 9
    before, after = model(tokens, causal), model(changed, causal)
    torch.testing.assert_close(before[:, :4], after[:, :4], rtol=0, atol=0)
    assert not torch.allclose(before[:, 4:], after[:, 4:])
    assert all(torch.equal(w, w.tril()) for w in model.weights(tokens, causal))


def test_a_head_that_is_left_out_says_nothing_in_its_layer_only() -> None:
    model, tokens = small(), torch.arange(6).view(2, 3)
    keep = torch.ones(2, 3).bool()
    torch.testing.assert_close(model(tokens, keep=keep), model(tokens))
    keep[1, 2] = False
    silenced = small()
    with torch.no_grad():
        silenced.blocks[1].attention.out_proj.weight[:, 8:12] = 0.0
    torch.testing.assert_close(model(tokens, keep=keep), silenced(tokens))


def test_without_feed_forward_only_attention_writes_to_the_stream() -> None:
    assert all(block.feed_forward is None for block in small(d_ff=0).blocks)


def test_longer_sequences_than_positions_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 7 tokens, got 8"):
        small()(torch.zeros(1, 8).long())


@pytest.mark.thorough
def test_it_learns_to_copy_the_first_token() -> None:
    model = small()
    generator = torch.Generator().manual_seed(0)

    def loss() -> torch.Tensor:
        tokens = torch.randint(10, (32, 7), generator=generator)
        target = tokens[:, :1].expand(-1, 7)
        return torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), target.flatten())

    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = descend(model, loss, optimiser, steps=150, learning_rate=1e-2)
    assert losses[-1] < 0.1 < losses[0]
