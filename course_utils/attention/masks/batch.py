"""Non-causal masks that differ from sequence to sequence: same document, lengths per query.

Source: Krell et al. 2021, Efficient Sequence Packing without Cross-contamination,
    https://arxiv.org/abs/2107.02027 (BERT's packed documents read in both directions); lengths for
    each query are `valid_lens` with two axes in Zhang et al., Dive into Deep Learning, section
    11.3, https://d2l.ai
Ours / theirs: True = may attend
Differs: a row that may see nothing is all False; D2L gives such a row uniform weights.
Same contract as: the rules q_id == kv_id and kv_idx < length[b, q_idx] in FlexAttention
"""

from jaxtyping import Bool, Int
from torch import Tensor

from course_utils.attention.masks.causal import first_keys
from course_utils.validation import check_integers


def same_document_mask(
    query_ids: Int[Tensor, "batch L"], key_ids: Int[Tensor, "batch S"]
) -> Bool[Tensor, "batch 1 L S"]:
    """Return the mask in which a query sees all keys of its own document, later ones too.

    With the same ids twice, joined with a causal mask, it is `document_mask`.

    Args:
        query_ids: Which document each query belongs to.
        key_ids: Which document each key belongs to: equal numbers, same document.
    """
    check_integers("batch length", query_ids=query_ids, key_ids=key_ids)
    if len(query_ids) != len(key_ids):
        raise ValueError(
            "query_ids and key_ids must have the same number of sequences, "
            f"got {len(query_ids)} and {len(key_ids)}"
        )
    return (query_ids.unsqueeze(-1) == key_ids.unsqueeze(-2)).unsqueeze(1)


def query_lengths_mask(
    lengths: Int[Tensor, "batch L"], num_keys: int
) -> Bool[Tensor, "batch 1 L S"]:
    """Return the mask in which query i of sequence b sees the first lengths[b, i] keys.

    Args:
        lengths: How many keys each query sees.
        num_keys: How many keys there are.

    Raises:
        ValueError: A length is not from 0 to num_keys.
    """
    check_integers("batch L", lengths=lengths)
    return first_keys(lengths, num_keys).unsqueeze(1)
