"""Count the numbers that a stack of Transformer layers learns.

Source: Vaswani et al. 2017, section 3, https://arxiv.org/abs/1706.03762 (the layer);
    Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.3 (the norm
    after the last layer); Touvron et al. 2023, Llama, section 2.2,
    https://arxiv.org/abs/2302.13971 (gated feed-forward network, no biases)
Ours / theirs: num_positions = n_ctx;  d_ff = intermediate_size;  num_kv_heads = num_key_value_heads
"""

from course_utils.validation import (
    check_at_least,
    check_head_groups,
    check_instance,
    check_num_heads,
)


def transformer_parameters(
    vocab_size: int,
    d_model: int,
    num_layers: int,
    d_ff: int,
    num_heads: int,
    num_kv_heads: int,
    num_positions: int,
    gated: bool,
    bias: bool,
    tied: bool,
) -> int:
    """Count the parameters of one stack: embedding, layers, last norm and output matrix.

    Args:
        vocab_size: How many tokens there are.
        d_model: Width of the stream.
        num_layers: How many layers there are.
        d_ff: Width inside a feed-forward network.
        num_heads: How many query heads share d_model.
        num_kv_heads: How many heads of keys and values there are, each as wide as a query head.
        num_positions: How many positions are learned; 0 for none.
        gated: Whether a feed-forward network has a third matrix, for its gate.
        bias: Whether each matrix of a layer adds a learned vector, and each norm too.
        tied: Whether the output matrix is the embedding.
    """
    check_at_least(1, vocab_size=vocab_size, d_model=d_model, d_ff=d_ff)
    check_at_least(0, num_layers=num_layers, num_positions=num_positions)
    check_num_heads(num_heads, d_model)
    check_at_least(1, num_kv_heads=num_kv_heads)
    check_head_groups(num_heads, num_kv_heads)
    check_instance(bool, gated=gated, bias=bias, tied=tied)
    d_kv = d_model // num_heads * num_kv_heads
    into = 2 if gated else 1  # matrices from the stream into the feed-forward network
    matrices = d_model * (2 * d_model + 2 * d_kv + (into + 1) * d_ff)
    vectors = 2 * d_model + 2 * d_kv + into * d_ff + d_model
    norm = d_model * (2 if bias else 1)
    layer = matrices + (vectors if bias else 0) + 2 * norm
    embedding = (vocab_size + num_positions) * d_model
    output = 0 if tied else vocab_size * d_model
    return embedding + num_layers * layer + norm + output
