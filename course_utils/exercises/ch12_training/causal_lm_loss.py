"""Exercise: the loss of a model that predicts the next token."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.losses import LOSS, NOTHING_COUNTS, one_class, predictions, reached
from course_utils.models import causal_lm_loss

RIGHT = """
def causal_lm_loss(logits, tokens, pad_id):
    guesses = logits[:, :-1]
    target = tokens[:, 1:]
    counts = target != pad_id
    index = target.masked_fill(~counts, 0).unsqueeze(-1)
    logs = guesses.log_softmax(-1)
    right = logs.gather(-1, index).squeeze(-1)
    losses = -right
    kept = losses.masked_fill(~counts, 0.0)
    number = counts.sum().clamp(min=1)
    loss = kept.sum() / number
    return loss
"""


def _by_hand(generator: torch.Generator) -> tuple[Any, ...]:
    logits = torch.tensor([[[0.0, 0.0], [1.0, 3.0], [5.0, 0.0]]], dtype=torch.float64)
    return logits, torch.tensor([[0, 1, 0]]), -100


EXERCISE = exercise(
    causal_lm_loss,
    right=RIGHT,
    asks="Average the cross-entropy of each next token over the targets that are not padding.",
    minutes=8,
    difficulty=2,
    importance=5,
    cases=(
        case("one sequence of 3 tokens, two classes", _by_hand, gradient="equal"),
        case("2 sequences of 5 tokens, 7 classes, no padding", predictions((2, 5, 7)), gradient="equal"),
        case("3 sequences of 4, 6 and 2 tokens", predictions((3, 6, 5), (4, 6, 2)), gradient="equal"),
        case("padding is token 3", predictions((4, 5, 6), (3, 5, 2, 4), pad_id=3)),
        case("padding is the last token", predictions((3, 7, 4), (4, 2, 7), pad_id=3)),
        case("padding is -100 in the tokens", predictions((2, 6, 5), (4, 5), pad_id=-100)),
        case("padding inside the sequences", predictions((3, 8, 5), (8, 6, 7), pad_id=2, inside=True),
             gradient="equal"),
        case("a token that starts a sequence is padding, too",
             lambda g: (normal(g, 2, 4, 5), torch.tensor([[0, 3, 1, 0], [0, 0, 4, 2]]), 0)),
        case("a sequence of one token among longer ones", predictions((3, 5, 6), (1, 5, 3))),
        case("every size is 4", predictions((4, 4, 4), (2, 4, 3, 4))),
        case("logits of 10⁴", predictions((2, 4, 5), (3, 4), size=1e4), gradient="equal"),
        case("one class", predictions((2, 3, 1), pad_id=-1)),
        case("one class, which is padding", lambda g: (normal(g, 2, 3, 1), torch.zeros(2, 3, dtype=torch.long), 0)),
        case("one target that counts", predictions((2, 5, 6), (2, 1))),
        case("two tokens: one target each", predictions((3, 2, 5)), gradient="equal"),
        case("what comes back, even if nothing counts", predictions((2, 4, 5), (3, 4)), run=reached,
             says=NOTHING_COUNTS),
        case("nothing but padding", predictions((2, 4, 5), (1, 0)), gradient="equal"),
        case("one token: no target", predictions((3, 1, 5)), gradient="equal"),
        case("non-contiguous inputs", predictions((3, 5, 4), (5, 2, 4), spread=True), gradient="equal"),
        case("float32", predictions((2, 9, 11), (5, 9), dtype=torch.float32)),
        case("a class at -inf", one_class(-torch.inf, -1)),
        case("NaN in the logits", one_class(torch.nan, -1)),
    ),
    mistakes=(
        mistake("no shift", "Each position is trained to predict the token that it was just given: a copy would be "
                "perfect. Which token should position 0 predict?",
                "guesses = logits\ntarget = tokens"),
        mistake("shifted the wrong way", "Each position is trained to predict the token before it. Which of the two "
                "loses its first position, and which its last?", "guesses = logits[:, 1:]\ntarget = tokens[:, :-1]"),
        mistake("shifted by two", "Each position predicts the token after the next.",
                "guesses = logits[:, :-2]\ntarget = tokens[:, 2:]"),
        mistake("the last token predicts the first", "The tokens were rolled, so that the last position has a target: "
                "the first token. What comes after the last one?",
                "guesses = logits\ntarget = tokens.roll(-1, 1)"),
        mistake("shifted along the batch", "Sequences were shifted, not tokens. Which axis runs along a sequence?",
                "guesses = logits[:-1]\ntarget = tokens[1:]"),
        mistake("shifted after flattening", "The last token of a sequence is made to predict the first of the next "
                "one. What comes first, cutting off or flattening?",
                "guesses = logits.flatten(0, 1)[:-1].unsqueeze(0)\ntarget = tokens.flatten()[1:].unsqueeze(0)"),
        mistake("a target left out", "One target of each sequence does not count, the first or the last. A sequence of "
                "T tokens has T - 1 targets.", "guesses = logits[:, 1:-1]\ntarget = tokens[:, 2:]",
                "guesses = logits[:, :-2]\ntarget = tokens[:, 1:-1]"),
        mistake("only the last token", "Only the last token is predicted. Which other positions know what comes next?",
                "guesses = logits[:, -2:-1]\ntarget = tokens[:, -1:]"),
        mistake("padding looked for in the inputs", "A position counts if what it reads is not padding: then a "
                "sequence is trained to go on with padding. Which of the two may not be padding, what is read or what "
                "is predicted?", "counts = tokens[:, :-1] != pad_id\nindex = target.clamp(min=0).unsqueeze(-1)",
                "number = (tokens[:, :-1] != pad_id).sum().clamp(min=1)",
                "counts = (target != pad_id) & (tokens[:, :-1] != pad_id)\n"
                "number = (tokens[:, :-1] != pad_id).sum().clamp(min=1)"),
        mistake("padding left out on either side", "A position does not count if it reads padding. Whatever it reads, "
                "its target counts if it is a token.",
                "counts = (target != pad_id) & (tokens[:, :-1] != pad_id)"),
        mistake("the first token counted", "The sum is divided by the number of all tokens. How many of them are "
                "predicted?", "number = (tokens != pad_id).sum().clamp(min=1)", "number = tokens.numel()"),
        mistake("smoothed targets",
                "A share of the target went to the other classes. Here the right token has all of it.",
                "losses = -(0.9 * right + 0.1 * logs.mean(-1))", "losses = -(0.95 * right + 0.05 * logs.mean(-1))"),
        mistake("the padding's class left out", "The class of the padding was taken out of the softmax. Among all V "
                "classes it is one like any other.",
                "logs = guesses.masked_fill(torch.arange(guesses.shape[-1]) == pad_id, -torch.inf).log_softmax(-1)"),
        *LOSS,
    ),
    hints=(
        "Write the tokens of one sequence in a row and the logits below them. Draw an arrow from each position to the "
        "token that it must predict. Which position has no arrow, and which token?",
        "Cut the last position off the logits and the first off the tokens. From there on, nothing is shifted.",
        "`log_softmax`, then `gather` the entry of each target. An index must be a class, so padding needs a valid one "
        "first: its loss is thrown away anyway.",
        "Set the losses at padding to 0, add up, and divide by how many targets are left, but at least by 1.",
    ),
)
