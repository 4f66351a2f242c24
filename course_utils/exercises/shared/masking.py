"""Mistakes where a mask is used, and with queries that may see nothing.

The lines speak of the steps

    scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)

where `scaled` are the scores before the mask and `allowed` is True where a query may see a key, of
any shape that broadcasts with them.
"""

from collections.abc import Iterable
from dataclasses import replace

from course_utils.checking.mistakes import Mistake, mistake

_AGAIN = "scores = scaled\nrest = stable_softmax(scores) * allowed\n"

MASK = (
    mistake("mask ignored", "A mask changes nothing. Where is `attn_mask` used?", "scores = scaled"),
    mistake("mask inverted", "Each query attends to exactly what it may not see. What does True mean in `attn_mask`, "
            "and what does True mean to `masked_fill`?",
            "scores = scaled.masked_fill(allowed, -torch.inf)", "scores = scaled.masked_fill(allowed, -1e9)",
            "scores = scaled.masked_fill(allowed, -torch.inf)\nweights = torch.softmax(scores, -1)"),
    mistake("mask added as 0 and 1", "True was added to the scores as 1 and False as 0: that hides nothing. How far "
            "down must a score go for its weight to be 0?", "scores = scaled + allowed.to(scaled.dtype)",
            "scores = scaled - (~allowed).to(scaled.dtype)", "scores = scaled + (~allowed).to(scaled.dtype)"),
    mistake("scores multiplied by the mask", "Hidden scores became 0, or another number near it, and exp(0) is 1: they "
            "still get a share. Which score gets none?",
            "scores = scaled * allowed", "scores = scaled.masked_fill(~allowed, 0.0)",
            "scores = scaled.masked_fill(~allowed, 1e-9)", "scores = scaled.masked_fill(~allowed, -1.0)"),
    mistake("mask after the softmax", "Hidden weights were set to 0 after the softmax, so the others no longer sum to "
            "1. When must a key be taken out so that the rest share 1?",
            "scores = scaled\nweights = stable_softmax(scores) * allowed"),
    mistake("mask after the softmax, then divided again", "Hidden weights were set to 0 after the softmax and the rest "
            "divided by its sum. Where the hidden keys have by far the best scores, nothing is left to divide. Which "
            "step comes first?",
            _AGAIN + "total = rest.sum(-1, keepdim=True)\nweights = rest / torch.where(total == 0, 1.0, total)",
            _AGAIN + "weights = rest / (rest.sum(-1, keepdim=True) + 1e-9)",
            _AGAIN + "weights = rest / rest.sum(-1, keepdim=True)"),
    mistake("fill that is not low enough", "A hidden key won, because the visible scores were lower still than the "
            "number that was filled in, or added. Which number is lower than every score?",
            "scores = scaled.masked_fill(~allowed, -1e4)", "scores = scaled.masked_fill(~allowed, -10.0)",
            "scores = scaled.masked_fill(~allowed, -100.0)", "scores = scaled.masked_fill(~allowed, -1e3)",
            "scores = scaled.masked_fill(~allowed, -1e4)\nweights = torch.softmax(scores, -1)",
            "scores = scaled + (~allowed).to(scaled.dtype) * -1e4",
            "scores = scaled + (~allowed).to(scaled.dtype) * -1e3",
            "scores = scaled.masked_fill(~allowed, -1e4)\n"
            "weights = stable_softmax(scores) * allowed.any(-1, keepdim=True)",
            "scores = scaled.masked_fill(~allowed, -1e3)\n"
            "weights = stable_softmax(scores) * allowed.any(-1, keepdim=True)"),
    mistake("mask times infinity", "0 times infinity is NaN, so every visible score is lost. How else can -inf be put "
            "where the mask is False?",
            "scores = scaled + (1 - allowed.to(scaled.dtype)) * -torch.inf\nweights = torch.softmax(scores, -1)",
            "scores = scaled + (1 - allowed.to(scaled.dtype)) * -torch.inf"),
    mistake("one mask for all queries", "All queries were given the same mask. The mask has a row for each query: "
            "which axis was merged or dropped?",
            "every = allowed.expand(scaled.shape).all(-2, keepdim=True)\n"
            "scores = scaled.masked_fill(~every, -torch.inf)",
            "some = allowed.expand(scaled.shape).any(-2, keepdim=True)\nscores = scaled.masked_fill(~some, -torch.inf)",
            "scores = scaled.masked_fill(~allowed[..., :1, :], -torch.inf)",
            "scores = scaled.masked_fill(~allowed[..., -1:, :], -torch.inf)"),
    mistake("one mask for all batches", "Every sequence or head was given the mask of the first one. What do the "
            "leading axes of the mask say?",
            "first = allowed.flatten(0, -3)[0] if allowed.dim() > 2 else allowed\n"
            "scores = scaled.masked_fill(~first, -torch.inf)"),
    mistake("mask transposed", "The mask is read with its two axes swapped. Which of them belongs to the queries?",
            "scores = scaled.masked_fill(~allowed.mT, -torch.inf)"),
    mistake("queries masked instead of keys", "Whole rows were hidden, not single keys. Along which axis does a query "
            "choose?", "scores = scaled.masked_fill(~allowed.expand(scaled.shape)[..., :1], -torch.inf)"),
)


ZEROED = mistake(
    "a low number and zeros afterwards",
    "The hidden weights are zero in the end, but where the visible scores are below the number that was filled in, or "
    "added, the hidden keys took all of the weight first: nothing is left. Which number is lower than every score?",
    *(f"scores = scaled.masked_fill(~allowed, {fill})\nweights = stable_softmax(scores) * allowed"
      for fill in (-1e4, -1e3, -100.0, -10.0)),
)


def if_given(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Return the mistakes of `scores` as they are made where `attn_mask` may be None: inside an `if`."""
    found = "scores = scaled if attn_mask is None else "
    return tuple(
        replace(one, versions=tuple(v.replace("scores = ", found) if isinstance(v, str) else v for v in one.versions))
        for one in mistakes
    )


SCALED_LATE = mistake("mask before the scale", "The hidden scores were scaled after they had been filled in, so a "
                      "scale of 0 or below brings them back. Which of the two steps must come last?",
                      "scaled = products\nscores = scaled.masked_fill(~allowed, -1e9) * factor\n"
                      "late = scores.nan_to_num(nan=-torch.inf, neginf=-torch.inf)\n"
                      "weights = stable_softmax(late) * allowed.any(-1, keepdim=True)",
                      "scaled = products\nlate = scaled.masked_fill(~allowed, -torch.inf) * factor\n"
                      "scores = late.nan_to_num(nan=-torch.inf, neginf=-torch.inf)")

EMPTY_ROWS = (
    mistake("NaN on an empty row", "A query that may see nothing got NaN: its maximum is -inf, and -inf - (-inf) is "
            "not a number. What should it get?", "weights = torch.softmax(scores, -1)"),
    mistake("uniform on an empty row", "A query that may see nothing got the mean of everything that it may not see: "
            "all its scores are equally low. What should it get?", "scores = scaled.masked_fill(~allowed, -1e9)",
            "scores = scaled.masked_fill(~allowed, torch.finfo(scaled.dtype).min)",
            "weights = torch.softmax(scores, -1).nan_to_num(nan=1.0 / scores.shape[-1])"),
    mistake("NaN repaired too late", "The values are right, but the gradient of a query that may see nothing is NaN: "
            "it was made on the way and replaced only afterwards. Can it be avoided instead?",
            "bias = torch.zeros_like(scaled).masked_fill(~allowed, -torch.inf)\nscores = scaled + bias\n"
            "weights = torch.softmax(scores, -1).nan_to_num()"),
    mistake("a large number added", "On a row that may see nothing, the large number stands at every key and cancels: "
            "hidden keys share as if there were no mask. What should such a row give?",
            "scores = scaled + (~allowed).to(scaled.dtype) * -1e9\nweights = torch.softmax(scores, -1)",
            "scores = scaled + torch.where(allowed, 0.0, -1e9).to(scaled.dtype)"),
    mistake("mask used for empty rows only", "Queries that may see nothing give zeros, but the others still attend to "
            "what is hidden from them. Where do single keys get hidden?",
            "scores = scaled\nweights = stable_softmax(scores) * allowed.any(-1, keepdim=True)"),
    mistake("one empty row empties all", "One query that may see nothing turned all others to zeros. Each query is its "
            "own: over which axis do you test for emptiness?",
            "weights = stable_softmax(scores) * allowed.any(-1).all()",
            "empty = (scores == -torch.inf).all(-1).any()\n"
            "weights = torch.where(empty, torch.zeros_like(scores), stable_softmax(scores))"),
    mistake("the first key decides for the row", "Queries that may not see the first key give zeros. Which rows may "
            "see nothing at all?", "weights = stable_softmax(scores) * allowed[..., :1]",
            "weights = stable_softmax(scores) * allowed[..., -1:]"),
)

ALWAYS_CAUSAL = mistake("always causal", "Each query sees only keys up to its own position, though nobody asked for "
                        "it. Where does that mask come from?",
                        "later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)\n"
                        "weights = stable_softmax(scores.masked_fill(later, -torch.inf))",
                        "later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)\n"
                        "weights = stable_softmax(scores.masked_fill(later, -1e9))")
