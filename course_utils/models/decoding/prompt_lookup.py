"""A draft without a model: what followed the last tokens where they stood before.

Source: Saxena 2023, Prompt Lookup Decoding, https://github.com/apoorvumang/prompt-lookup-decoding
Ours / theirs: longest = max_ngram_size;  num_draft = num_pred_tokens
Differs: what is looked up may be shorter than `longest` only down to `shortest`
Same contract as: PromptLookupCandidateGenerator of transformers, with `shortest` 1
"""

from jaxtyping import Int
from torch import Tensor

from course_utils.validation import check_at_least, check_integers


def prompt_lookup(
    tokens: Int[Tensor, " L"], shortest: int, longest: int, num_draft: int
) -> list[int]:
    """Return the tokens behind the earliest place where the last ones stood already.

    Args:
        tokens: The text so far.
        shortest: How many of the last tokens must be found at least.
        longest: How many are looked for first; then fewer.
        num_draft: How many tokens are returned at most; fewer where the text ends.

    Raises:
        TypeError: The tokens are not integers, or a number is not an int.
        ValueError: There are no tokens, or shortest is below 1 or above longest.
    """
    check_integers("L", tokens=tokens)
    check_at_least(1, shortest=shortest)
    check_at_least(0, num_draft=num_draft)
    check_at_least(shortest, longest=longest)
    if not len(tokens):
        raise ValueError("tokens must hold one token at least, got none")
    for length in range(min(longest, len(tokens) - 1), shortest - 1, -1):
        places = tokens.unfold(0, length, 1)[:-1]  # all but the last tokens themselves
        found = (places == tokens[-length:]).all(-1).nonzero()
        if len(found):
            after = int(found[0]) + length
            return tokens[after : after + num_draft].tolist()
    return []
