"""Cost of additive scoring, with the projections computed once or for every pair.

Source: Bahdanau et al. 2015, Neural Machine Translation by Jointly Learning to Align and
    Translate, appendix A.1.2, https://arxiv.org/abs/1409.0473, which says to precompute U_a h_j
Ours / theirs: num_queries, num_keys = T_y, T_x;  d_a = n'
Differs: the projection of the query is computed once per query too; a tanh counts as 1.
"""

from course_utils.validation import check_at_least, check_instance


def additive_flops(
    num_queries: int, num_keys: int, d_q: int, d_k: int, d_a: int, precompute: bool
) -> int:
    """Count the floating-point operations of tanh(q W_q + k W_k)·v for all pairs of one sequence.

    Args:
        num_queries: How many queries there are.
        num_keys: How many keys there are.
        d_q: Width of a query.
        d_k: Width of a key.
        d_a: Width of the hidden layer.
        precompute: Whether each query and each key is projected once, or again for every pair.
    """
    check_at_least(0, num_queries=num_queries, num_keys=num_keys, d_q=d_q, d_k=d_k, d_a=d_a)
    check_instance(bool, precompute=precompute)
    pairs = num_queries * num_keys
    query_projections = num_queries if precompute else pairs
    key_projections = num_keys if precompute else pairs
    projections = 2 * d_a * (query_projections * d_q + key_projections * d_k)
    return projections + 4 * d_a * pairs
