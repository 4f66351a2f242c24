"""Mistakes with scores, weights and averages that are written out, where nothing is masked.

The lines speak of the steps

    products = query @ key.mT
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ value

`PRODUCTS` speaks of the first, `UNMASKED` and `SHARES` of the weights, `AVERAGES` of the output.
"""

from course_utils.checking.mistakes import mistake, without
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL
from course_utils.exercises.shared.softmax import SOFTMAX

_POWERS = "powers = (scores - scores.amax(-1, keepdim=True)).exp()\n"
_APART = "apart = torch.linalg.vector_norm(query.unsqueeze(-2) - key.unsqueeze(-3), dim=-1)\n"


def _shifted(peak: str) -> str:
    return f"powers = (scores - {peak}).exp()\nweights = powers / powers.sum(-1, keepdim=True)"


def smaller_epsilons(*epsilons: str) -> dict[str, tuple[str, ...]]:
    """Return versions of an epsilon, for `adding`, that show in the gradient alone."""
    line = _POWERS + "weights = powers / (powers.sum(-1, keepdim=True) + {})"
    return {"epsilon in the denominator": tuple(line.format(one) for one in epsilons)}


PRODUCTS = (
    mistake("key reshaped instead of transposed", "The numbers of different keys are mixed. `view` and `reshape` cut "
            "memory anew; what swaps two axes?", "products = query @ key.reshape(key.mT.shape)"),
    mistake("key not transposed", "Features of the query meet keys, not features of keys: a table (L, d) times (S, d) "
            "fits only where sizes happen to agree. Which axis is summed away?", "products = query @ key"),
    mistake("entry by entry instead of a dot product", "`*` multiplies entries in the same place: query i meets key i "
            "alone, and nothing is added up. Which product compares each query with each key?",
            "products = query * key"),
    mistake("distance instead of dot product", "Each pair is scored by its distance. A dot product also grows with the "
            "lengths: which operation multiplies entry by entry and adds up?", _APART + "products = -apart",
            _APART + "products = apart", _APART + "products = -(apart**2)", _APART + "products = -(apart**2) / 2"),
    mistake("features summed before the product", "The features were summed for each vector alone, and the two sums "
            "multiplied. In a dot product, which comes first: multiply or add?",
            "products = query.sum(-1, keepdim=True) * key.sum(-1).unsqueeze(-2)"),
)

# Without -inf among the scores, what is left out does as its neighbour does.
UNMASKED = without((ALWAYS_CAUSAL, *SOFTMAX), str(ALWAYS_CAUSAL.versions[1]), "weights = torch.softmax(scores, -2)",
                   "weights = stable_softmax(scores.relu())")
# Where the scores have a leading axis; without one, the first axis is that of the queries.
SHIFTED_BY_THE_BATCH = _shifted("scores.amax(0)")
SHARES = (
    mistake("shifted by another number than the row's maximum", "Some rows give NaN: what is subtracted before `exp` "
            "is not the row's own maximum, so that a row overflows, or all of it becomes 0. Which maximum does each "
            "row need?", _shifted("scores.max()"), _shifted("scores.amax(-2, keepdim=True)"), SHIFTED_BY_THE_BATCH,
            _shifted("scores.mean(-1, keepdim=True)")),
    mistake("divided by another number than the row's sum", "The exponentials are there and were divided, but a row of "
            "weights does not sum to 1. By the sum of which exponentials must each of them be divided?",
            _POWERS + "weights = powers / powers.sum()", _POWERS + "weights = powers / powers.sum(-2, keepdim=True)",
            _POWERS + "weights = powers / powers.sum(-1)",
            _POWERS + "weights = powers / (powers.sum(-1, keepdim=True) + 1)",
            _POWERS + "weights = powers / scores.shape[-1]", "weights = stable_softmax(scores) / scores.shape[-2]",
            "weights = scores.exp() / scores.exp().sum(-1)"),
    mistake("scores squashed before the softmax", "The scores were bent before the softmax: a sign or their size was "
            "lost. A softmax takes scores as they are, of any sign and size.",
            *(f"scores = scaled.{bent}()" for bent in ("tanh", "sigmoid", "abs", "square")),
            *(f"products = (query @ key.mT).{bent}()" for bent in ("tanh", "sigmoid", "square", "exp")),
            *(f"products = query.{bent}() @ key.mT.{bent}()" for bent in ("abs", "relu", "tanh"))),
    mistake("some weights cut away", "Small weights or negative scores were set aside. Every key gets a share, however "
            "small.", "shares = stable_softmax(scores)\nweights = shares.where(shares > 0.5, 0.0)",
            "weights = (stable_softmax(scores) > 0.5).to(scores.dtype) + 0.0 * scores",
            "weights = stable_softmax(scores.masked_fill(scores <= 0, -torch.inf))",
            "weights = torch.softmax(scores.masked_fill(scores <= 0, -torch.inf), -1)",
            "weights = stable_softmax(scores.masked_fill(scores <= 0, -1e9))",
            "least = scores.topk(min(2, scores.shape[-1]), dim=-1).values[..., -1:]\n"
            "weights = stable_softmax(scores.masked_fill(scores < least, -torch.inf))"),
    mistake("zeros taken for padding", "A score of 0 was hidden, as if its key were padding. Nothing is masked here: "
            "what share does a score of 0 get?",
            "weights = torch.softmax(scores.masked_fill(scores == 0, -torch.inf), -1)"),
)

AVERAGES = (
    mistake("queries averaged instead of values", "The weights average the queries. What is found at each key?",
            "out = weights @ query"),
    mistake("values transposed", "Features were averaged where values should be. Which axis of the values has one "
            "entry for each weight of a row?",
            "out = weights @ value.mT", "out = value @ weights", "out = (weights @ value).mT"),
    mistake("the values changed", "The weights average something other than the values as they are: they were bent, "
            "centred or put in another order first.",
            "out = weights @ value.softmax(-1)", "out = weights @ value.relu()", "out = weights @ value.tanh()",
            "out = weights @ (value - value.mean(-2, keepdim=True))", "out = weights @ F.normalize(value, dim=-1)",
            "out = weights @ F.layer_norm(value, value.shape[-1:])", "out = weights @ value.flip(-2)",
            "out = weights @ value.roll(1, -2)"),
    mistake(
        "weighted values not summed over the keys",
        "Every value has its weight, but the products were not summed over the keys, or over another axis instead. "
        "They are (L, S, d_v): which axis goes?",
        *(
            f"out = (weights.unsqueeze(-1) * value.unsqueeze(-3)){added}"
            for added in ("", ".sum(-3)", ".sum(-1)", ".amax(-2)")
        ),
    ),
    mistake("weights times values entry by entry", "Each weight met one entry of one value. A weight multiplies a "
            "whole value, and the products are added: which product of (L, S) and (S, d_v) does that?",
            "out = weights * value"),
)
