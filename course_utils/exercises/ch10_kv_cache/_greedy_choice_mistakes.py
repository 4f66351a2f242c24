"""What goes wrong when a model writes greedily: which token is chosen."""

from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._greedy_wrong import build


def _first_only(logits: Tensor) -> Tensor:
    return logits[:1, -1:].argmax(-1).expand(len(logits), 1)


def _over_all(logits: Tensor) -> Tensor:
    """Take the best entry of all sequences together."""
    best = logits[:, -1].argmax() % logits.shape[-1]
    return best.view(1, 1).expand(len(logits), 1)


def _second(logits: Tensor) -> Tensor:
    return logits[:, -1:].topk(2, -1).indices[..., 1]


def _drawn(logits: Tensor) -> Tensor:
    return logits[:, -1].softmax(-1).multinomial(1)


CHOICES = (
    Misconception(
        "logits of the first position",
        build(lambda logits: logits[:, :1].argmax(-1)),
        "The first new token comes from the logits of another position than the prompt's last. "
        "Which row has seen the whole prompt?",
        also=(
            build(lambda logits: logits[:, -2:].argmax(-1)[:, :1]),
            build(lambda logits: logits.mean(1, keepdim=True).argmax(-1)),
            build(lambda logits: logits.sum(1, keepdim=True).argmax(-1)),
            build(lambda logits: logits.amax(1, keepdim=True).argmax(-1)),
        ),
    ),
    Misconception(
        "predictions for the prompt itself",
        lambda model, prompt, n: model(prompt, None)[0].argmax(-1)[:, :n],
        "Every row of the prompt's logits was taken for a new token. All rows but the last predict "
        "tokens that the prompt has already; the next token needs the one before it to be read.",
        also=(lambda model, prompt, n: model(prompt, None)[0].argmax(-1)[:, -n:],),
    ),
    Misconception(
        "the least likely token",
        build(lambda logits: logits[:, -1:].argmin(-1)),
        "The token with the smallest logit was taken.",
    ),
    Misconception(
        "not the best token",
        build(_second),
        "Another token than the likeliest was taken. Greedy means the best one at each step.",
        also=(
            build(lambda logits: logits[:, -1:].abs().argmax(-1)),
            build(lambda logits: logits[:, -1:, 1:].argmax(-1)),
            build(lambda logits: logits[:, -1:, :-1].argmax(-1)),
            build(lambda logits: (logits[:, -1:].argmax(-1) + 1) % logits.shape[-1]),
        ),
    ),
    Misconception(
        "one choice for all sequences",
        build(_first_only),
        "All sequences of the batch go on with the same token. Over which axis is the best one "
        "sought, and which axes stay?",
        also=(
            build(_over_all),
            build(lambda x: x.mean(0, keepdim=True)[:, -1:].argmax(-1).expand(len(x), 1)),
        ),
    ),
    Misconception(
        "tokens drawn at random",
        build(_drawn),
        "The tokens were drawn at random. Greedy decoding draws nothing: it gives the same text "
        "every time.",
        sign=lambda trace: trace.used_global_random,
    ),
)
