"""Count the operations of one training step.

Source: Kaplan et al. 2020, section 2.1 and table 1, https://arxiv.org/abs/2001.08361;
    Korthikanti et al. 2022, appendix A, https://arxiv.org/abs/2205.05198 (attention, recomputation)
Ours / theirs: num_tokens = n_ctx = s;  d_ff = 4 h;  recompute = full activation recomputation
Differs: counts attention and the output layer, which 6ND leaves out; the causal mask saves nothing.
Same contract as: `torch.utils.flop_counter` on attention that is written as two products
"""

from course_utils.validation import check_at_least, check_instance


def training_flops(
    batch: int,
    num_tokens: int,
    d_model: int,
    num_layers: int,
    d_ff: int,
    vocab_size: int,
    recompute: bool,
) -> int:
    """Count the matrix products of one step, forward and backward, 2 per multiply-add.

    Args:
        batch: How many sequences there are.
        num_tokens: How many tokens each has.
        d_model: Width of the stream, and of all heads together.
        num_layers: How many layers there are.
        d_ff: Width inside a feed-forward network of two matrices.
        vocab_size: How many scores the output layer gives each token.
        recompute: Whether the layers' activations are computed again for the backward pass.
    """
    check_at_least(1, batch=batch, num_tokens=num_tokens, d_model=d_model)
    check_at_least(1, d_ff=d_ff, vocab_size=vocab_size)
    check_at_least(0, num_layers=num_layers)
    check_instance(bool, recompute=recompute)
    tokens = batch * num_tokens
    per_token = 4 * d_model * d_model + 2 * d_model * d_ff
    attention = 2 * num_tokens * d_model  # QKᵀ and PV, for each token
    layers = 2 * num_layers * tokens * (per_token + attention)
    output = 2 * tokens * d_model * vocab_size
    return 3 * (layers + output) + (layers if recompute else 0)
