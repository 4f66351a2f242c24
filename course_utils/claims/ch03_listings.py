"""Checks of the claims of chapter 03 about listings."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import attention_weights
from course_utils.claims._inputs import draw, draws, largest
from course_utils.claims.finding import Finding, recomputes, weigh


@recomputes("03-32", "03-48")
def printed_shapes() -> Finding:
    """Outputs (2, 10, 512) and weights (2, 10, 10); (1, 5, 48) and (1, 5, 5)."""
    told = []
    for x, value in ((draw(2, 10, 512), draw(2, 10, 512)), (draw(1, 5, 64), draw(1, 5, 48))):
        weights = attention_weights(x, x)
        told += [tuple((weights @ value).shape), tuple(weights.shape)]
    return weigh(
        ", ".join(map(str, told)), holds=told == [(2, 10, 512), (2, 10, 10), (1, 5, 48), (1, 5, 5)]
    )


@recomputes("03-36")
def first_listing_runs() -> Finding:
    """A listing that calls torch and F, whose imports stand in the next listing."""
    listing = "def weights(q, k):\n    return F.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)"
    alone = _calls(listing)
    return weigh(
        f"alone: {alone}; with the imports of the next listing: {_calls(listing, F=F, math=math)}",
        holds=alone == "runs",
        amended=_calls(listing, F=F, math=math) == "runs",
    )


def _calls(listing: str, **names: object) -> str:
    exec(listing, names)
    weights = names["weights"]
    try:
        weights(draw(2, 4), draw(3, 4))  # type: ignore[operator]
    except NameError as error:
        return f"NameError, {error}"
    return "runs"


@recomputes("03-49")
def dividing_by_a_tensor() -> Finding:
    """torch.sqrt(torch.tensor(d_k)) for math.sqrt(d_k)."""
    products = draw(3, 5)
    off = largest(products / torch.sqrt(torch.tensor(64)), products / math.sqrt(64))
    return weigh(f"it works: {off:.0e} apart", holds=off == 0)


@recomputes("03-56")
def listing_with_a_mask() -> Finding:
    """masked_fill where the mask is not True: right, and NaN on a row that may see nothing."""
    query, key, value = draws((3, 4), (5, 4), (5, 6))
    mask = draw(3, 5, seed=3) > 0
    out = _with_mask(query, key, value, mask)
    off = largest(out, F.scaled_dot_product_attention(query, key, value, mask))
    mask[0] = False
    empty = bool(_with_mask(query, key, value, mask)[0].isnan().all())
    return weigh(f"{off:.0e} from torch's; NaN on an empty row: {empty}", holds=off < 1e-12)


def _with_mask(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    scores = (query @ key.mT / math.sqrt(query.shape[-1])).masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value
