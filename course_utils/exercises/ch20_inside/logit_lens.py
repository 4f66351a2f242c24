"""Exercise: the last layer's view of a stream that is not finished."""

from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake, without
from course_utils.exercises.shared.kinds import (
    NOTHING,
    cut_off,
    fixed_axes,
    other_dtype,
    overwritten,
    squeezed,
    writing,
)
from course_utils.exercises.shared.norms import EPS, SPREAD, one_for_all, over_another_axis
from course_utils.exercises.shared.precision import lower_precision
from course_utils.interpretability import logit_lens
from torch import Tensor

RIGHT = """
def logit_lens(states, gain, unembed, token, eps):
    x = states
    room = eps
    centred = x
    variance = centred.square().mean(-1, keepdim=True)
    spread = (variance + room).sqrt()
    normed = centred / spread
    weight = gain
    scaled = normed * weight
    words = unembed
    out = scaled @ words.mT
    asked = token
    own = out[..., asked].unsqueeze(-1)
    above = out > own
    rank = above.sum(-1)
    logs = out.log_softmax(-1)
    log_prob = logs[..., asked]
    return rank, log_prob
"""


def _made(
    *batch: int, d: int = 4, words: int = 7, token: int = 2, eps: float = 1e-5, size: float = 1.0,
    large: float = 1.0, dtype: torch.dtype = torch.float64,
) -> Make:  # fmt: skip
    """Make states of a size, and rows of the unembedding of a size."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        states = normal(g, *batch, d, size=size) + 0.3 * size
        gain = 0.4 + normal(g, d).abs()
        return states.to(dtype), gain.to(dtype), normal(g, words, d, size=large).to(dtype), token, eps

    return make


def _tied(g: torch.Generator) -> tuple[Any, ...]:
    """Make words that share a feature, so that their logits are exactly equal."""
    states = torch.tensor([[3, 1, -2], [-1, 2, 5], [2, -3, 1], [0, 0, 0]], dtype=torch.float64)
    feature = torch.tensor([0, 1, 0, 2, 2, 0, 1, 0, 2])
    unembed = torch.eye(3, dtype=torch.float64)[feature] * 0.5
    return states, 0.5 + torch.rand(3, generator=g, dtype=torch.float64), unembed, 5, 1e-5


def _one_zero(g: torch.Generator) -> tuple[Any, ...]:
    states, *others = _made(3, d=5, words=6, token=3)(g)
    states[1] = 0.0
    return states, *others


def _with_opposed_gains(g: torch.Generator) -> tuple[Any, ...]:
    states, gain, *others = _made(2, 3, d=5, words=8, token=4)(g)
    return states, gain * torch.tensor([1.0, -1.0, 3.0, 0.1, -2.0], dtype=torch.float64), *others


def _not_a_logarithm(args: tuple[Any, ...], got: tuple[Tensor, Tensor]) -> str | None:
    high = got[1].detach().max().item() if got[1].numel() else 0.0
    return f"The largest log-probability is {high:.4g}, above 0." if high > 1e-6 else None


_LAYER_NORM = "centred = x - x.mean(-1, keepdim=True)"
_LOGS = "logs = out.log_softmax({})"
_LENGTH = "spread = centred.norm(dim=-1, keepdim=True)"

EXERCISE = exercise(
    logit_lens,
    right=RIGHT,
    asks="Read states of any layer with the last norm and the unembedding: a token's rank and log-probability.",
    minutes=8,
    difficulty=2,
    importance=5,
    parts=("rank", "log_prob"),
    cases=(
        case("one state, 5 words", _made(words=5), gradient="equal"),
        case("a batch of shape (2, 3): width 4, 7 words", _made(2, 3), gradient="equal"),
        case("one axis before the features, 9 words", _made(5, d=3, words=9, token=1), gradient="equal"),
        case("words with equal logits", _tied),
        case("an eps of .5", _made(3, 2, d=6, words=5, eps=0.5), gradient="equal"),
        case("states of 1e-3", _made(4, d=5, words=6, size=1e-3, eps=1e-6), gradient="equal"),
        case("one state of zeros", _one_zero, gradient="equal"),
        case("gains of both signs", _with_opposed_gains, gradient="equal"),
        case("logits up to 10⁴", _made(2, 3, d=5, words=8, token=4, large=4e3), gradient="finite"),
        case("the first word", _made(2, 4, d=3, words=6, token=0)),
        case("the last word", _made(2, 4, d=3, words=6, token=5)),
        case("every size is 4", _made(4, 4, 4, d=4, words=4)),
        case("one axis, every size is 5", _made(5, d=5, words=5)),
        case("three leading axes", _made(2, 1, 3, d=6, words=4, token=1)),
        case("leading axes (1, 3, 1)", _made(1, 3, 1, d=5, words=6)),
        case("one word, one feature", _made(3, d=1, words=1, token=0)),
        case("many words, wide states", _made(3, 2, d=24, words=300, token=17)),
        case("states of thousands", _made(2, 3, d=5, words=6, size=3e3)),
        case("non-contiguous inputs", lambda g: tuple(
            strided(one) if isinstance(one, Tensor) and one.dim() > 1 else one for one in _made(3, 4, d=6)(g))),
        case("float32", _made(2, 3, d=8, words=11, dtype=torch.float32), gradient="finite", tolerance=1e-4),
        case("float32, logits up to 10⁴", _made(3, d=6, words=9, large=4e3, dtype=torch.float32), gradient="finite",
             tolerance=1e-4),
    ),
    mistakes=(
        NOTHING,
        mistake("rank not whole", "The rank is a count of words: its dtype should be `long`. What did it become?",
                "return rank.to(x.dtype), log_prob", "return rank.float(), log_prob", "return rank.int(), log_prob"),
        other_dtype("return rank, log_prob.float()", "return rank, log_prob.double()", "return rank, log_prob.half()"),
        mistake("the two results swapped", "Rank and log-probability came in the other order.",
                "return log_prob, rank"),
        mistake("no norm", "The states went to the unembedding as they are. What stands between the last layer and it "
                "in the model?", "normed = centred", "scaled = x", "scaled = centred * weight"),
        mistake("no gain", "The norm's gain plays no part. What does a model multiply the normed stream by?",
                "scaled = normed", "weight = torch.ones_like(gain)"),
        mistake("the gain on the wrong side", "The states were multiplied by the gain before they were normed, or "
                "divided by it. To what does a norm apply its gain?", "centred = x * gain\nscaled = normed",
                "scaled = normed / weight"),
        mistake("1 added to the gain", "The gain was taken as an offset from 1, as some models store it. Here it is "
                "the factor itself.", "weight = 1 + gain"),
        mistake("gain added", "The gain was added. What does it do to each feature?", "scaled = normed + weight"),
        mistake("the gain used twice", "The features were multiplied by the gain once too often.",
                "weight = gain * gain", "words = unembed * gain"),
        mistake("LayerNorm", "The mean of each state was subtracted, or the spread taken around it. The last norm here "
                "is an RMSNorm: what does it leave alone?", _LAYER_NORM,
                "variance = x.var(-1, keepdim=True, unbiased=False)",
                "variance = x.var(-1, keepdim=True)" + "\nspread = (variance + room).sqrt()",
                f"{_LAYER_NORM}\nvariance = x.var(-1, keepdim=True)",
                f"{_LAYER_NORM}\nspread = x.std(-1, keepdim=True) + room",
                "scaled = F.layer_norm(x, x.shape[-1:], eps=eps)",
                f"{_LAYER_NORM}\nscaled = normed"),
        *without(EPS, "the eps that was given is ignored", "another eps than the one asked for",
                 "spread = (centred.std(-1, keepdim=True) + room).sqrt()"),
        mistake("the eps that was given is ignored", "With another eps the result stays what it was. Where is the "
                "argument used?", *(f"room = {size}" for size in ("1e-5", "1e-6", "1e-8", "1e-12"))),
        *adding(without(SPREAD, "a softmax", "the input added", "nothing returned", "a list", "another dtype",
                        "cut off from the gradient", "not divided"), {
            "the sum of squares instead of their mean": (
                _LENGTH, f"{_LENGTH} + room", "normed = F.normalize(centred, dim=-1)",
                "normed = F.normalize(centred, dim=-1, eps=eps)",
                "variance = centred.square().sum(-1, keepdim=True)\nspread = variance.sqrt() + room")}),
        over_another_axis("variance = centred.square().mean({}, keepdim=True)"),
        one_for_all("variance = {}.square().mean(-1, keepdim=True)"),
        mistake("normed twice", "The states went through the norm twice. A stream before the last norm is given: how "
                "often does the model norm it before it reads the words off?",
                "scaled = F.rms_norm(normed * weight, x.shape[-1:], weight, room)",
                "scaled = F.rms_norm(normed, x.shape[-1:], weight, room)",
                "x = F.rms_norm(states, states.shape[-1:], gain, eps)", "x = F.rms_norm(states, states.shape[-1:])",
                "x = F.layer_norm(states, states.shape[-1:])", "x = F.normalize(states, dim=-1)"),
        mistake("the token counted among those above it", "The token itself was counted: the best word should have the "
                "rank 0.", "rank = above.sum(-1) + 1", "above = out >= own"),
        mistake("words with an equal logit counted", "Words with the same logit as the token count as above it. How "
                "many are strictly larger?", "rank = (out >= own).sum(-1) - 1",
                "rank = (out >= own).sum(-1) - 1 + 0 * above.sum(-1)"),
        mistake("rank from below", "The rank counts from the other end: the words with a smaller logit. Which word has "
                "the "
                "rank 0?",
                "above = out < own", "above = out <= own", "rank = (~above).sum(-1)", "rank = (~above).sum(-1) - 1",
                "rank = len(words) - above.sum(-1)",
                "rank = out.argsort(-1).argsort(-1)[..., asked]"),
        mistake("argsort once", "`argsort` gives the word at each rank, not the rank of each word. What was read at "
                "the place of the token?", "rank = out.argsort(-1, descending=True)[..., asked]",
                "rank = out.argsort(-1)[..., asked]", "rank = out.topk(out.shape[-1]).indices[..., asked]"),
        mistake("equal logits ranked by a sort", "Among words with the same logit, the sort decided which comes first. "
                "How many are strictly larger?",
                "rank = out.argsort(dim=-1, descending=True, stable=True).argsort(-1)[..., asked]",
                "rank = out.argsort(-1, descending=True).argsort(-1)[..., asked]",
                "rank = out.flip(-1).argsort(dim=-1, descending=True, stable=True).argsort(-1).flip(-1)[..., asked]",
                "rank = out.shape[-1] - 1 - out.argsort(dim=-1, stable=True).argsort(-1)[..., asked]"),
        mistake("a rank from probabilities", "Probabilities that have become 0 are all equal, so that words with "
                "different logits share a rank. Which numbers tell them apart?",
                "chance = out.softmax(-1)\nabove = chance > chance[..., asked, None]",
                "chance = out.softmax(-1)\nrank = chance.argsort(-1, descending=True).argsort(-1)[..., asked]",
                "chance = out.softmax(-1)\nabove = chance > chance[..., asked, None]\n"
                "logs = out.softmax(-1).log()"),
        mistake("softmax, then log", "Large logits give an infinite logarithm, NaN or a bound: `exp` became infinite, "
                "or a probability 0, before the logarithm was taken. Which function does both at once?",
                "logs = out.softmax(-1).log()", "logs = out - out.exp().sum(-1, keepdim=True).log()",
                "logs = (out.exp() / out.exp().sum(-1, keepdim=True)).log()",
                *(f"logs = (out.softmax(-1) + {one}).log()" for one in ("1e-9", "1e-12", "1e-10", "1e-8")),
                *(f"logs = out.softmax(-1).clamp(min={one}).log()" for one in ("1e-9", "1e-12", "1e-10", "1e-30"))),
        mistake("the probability itself", "This is the token's probability. Its logarithm is asked for.",
                "logs = out.softmax(-1)"),
        mistake("the logit itself", "The token's logit came back. What makes a probability of it?", "logs = out",
                "logs = out - out.amax(-1, keepdim=True)", "logs = out - out.mean(-1, keepdim=True)"),
        mistake("softmax applied twice", "A softmax was taken of what had been through one.",
                "logs = out.softmax(-1).log_softmax(-1)", "logs = out.softmax(-1).softmax(-1)"),
        mistake("sigmoid instead of softmax", "Each logit was squashed on its own. What must a word's probability know "
                "of the others?", "logs = F.logsigmoid(out)", "logs = out.sigmoid()"),
        mistake("log odds", "This is the logarithm of p / (1 - p). What is asked for is that of p.",
                "log_prob = out[..., asked] - out[..., torch.arange(len(words)) != asked].logsumexp(-1)",
                "log_prob = (logs[..., asked].exp()).logit()"),
        mistake("sign", "The log-probability is positive: it is the loss of the token. Which sign does the logarithm "
                "of a probability have?", "log_prob = -logs[..., asked]"),
        mistake("in bits", "The log-probability is in bits, or in powers of ten. Nats are asked for: which logarithm "
                "is that?", "log_prob = logs[..., asked] / math.log(2)", "log_prob = logs[..., asked] / math.log(10)"),
        mistake("softmax over another axis", "The probabilities of different states sum to 1. Which axis holds the "
                "words?", *map(_LOGS.format, ("0", "1", "2", "-2")),
                "logs = out - out.flatten().logsumexp(0)", "logs = out.flatten().log_softmax(0).view(out.shape)",
                *(f"logs = out.softmax({axis})" for axis in ("0", "1", "-2"))),
        mistake("words counted over several states", "The comparison was summed over another axis than the words, or "
                "over several. Each state has a rank of its own.", "rank = above.sum()", "rank = above.sum(0)",
                "rank = above.sum(-2)", "rank = above.sum(1)", "rank = above.sum(-1).sum(-1)",
                "rank = above.sum().expand(x.shape[:-1])", "rank = above.sum(0)[..., asked]"),
        mistake("one number for several states", "States were averaged, or one was used for all. Each has its own rank "
                "and its own probability.", "rank = above.sum(-1)[..., -1]\nlog_prob = logs[..., -1, asked]",
                "rank = above.sum(-1)[0]\nlog_prob = logs[0, ..., asked]",
                "log_prob = logs[..., asked].mean()", "log_prob = logs[..., asked].sum()",
                "log_prob = logs[..., asked].mean(-1)", "log_prob = logs[..., asked].mean(0)",
                "out = (scaled @ words.mT).mean(tuple(range(x.dim() - 1)))",
                "x = states.mean(0)", "x = states[:1].expand_as(states)",
                "x = states.reshape(-1, states.shape[-1])[-1].expand_as(states)"),
        mistake("another word", "The results are those of another word than `token`.", "asked = 0", "asked = -1",
                "asked = token - 1", "asked = (token + 1) % len(words)", "asked = len(words) - 1 - token"),
        mistake("a row instead of the token's column", "The token was looked up on the axis of the states. On which "
                "axis "
                "are the words?", "own = out[asked]", "log_prob = logs[asked]",
                "own = out[asked]\nlog_prob = logs[asked]"),
        mistake("the best word", "These are the results of the word with the largest logit. Which word is asked about?",
                "log_prob = logs.amax(-1)", "rank = out.argmax(-1)", "rank = out.argmax(-1)\nlog_prob = logs.amax(-1)",
                "own = out.amax(-1, keepdim=True)"),
        mistake("all words", "There is a number for every word. How many does each state have?",
                "log_prob = logs", "rank = out.argsort(-1, descending=True).argsort(-1)\nlog_prob = logs",
                "rank = out.argsort(-1, descending=True).argsort(-1)", "rank = above.long()",
                "rank = above", "rank = above\nlog_prob = logs", "rank = out.argsort(-1, descending=True)"),
        mistake("a rank as a share", "The rank was divided by the number of words. A count is asked for.",
                "rank = above.sum(-1) / len(words)", "rank = above.double().mean(-1)"),
        mistake("cosine similarity", "States or words were brought to length 1 before they met. Does the unembedding "
                "divide by the lengths of its rows?", "words = F.normalize(unembed, dim=-1)",
                "out = F.normalize(scaled, dim=-1) @ F.normalize(unembed, dim=-1).mT"),
        mistake("scaled as attention is", "The logits were divided by the root of the width, as scores of attention "
                "are. Does the model's last product do that?", "out = scaled @ words.mT / x.shape[-1] ** 0.5",
                "out = scaled @ words.mT / x.shape[-1]", "out = scaled @ words.mT * x.shape[-1] ** 0.5"),
        mistake("the unembedding not transposed", "The product used the columns of the unembedding as words. Which "
                "axis of it counts the words?", "words = unembed.mT", "out = scaled @ unembed",
                "out = scaled @ unembed.reshape(x.shape[-1], -1)"),
        mistake("not whole numbers and tensors", "Each result should be a tensor with the states' leading axes, also "
                "where there are none.", "return rank.tolist(), log_prob", "return rank.tolist(), log_prob.tolist()",
                "return int(rank), float(log_prob)", "return rank.item(), log_prob",
                "return (rank, log_prob) if rank.dim() else (rank.item(), log_prob.item())",
                "return (rank, log_prob) if rank.dim() else (rank.item(), log_prob)"),
        mistake("an axis of size 1 left in", "There is an axis of size 1 too many. Which operation ends with a number, "
                "and not with a vector of one?", "return rank.unsqueeze(-1), log_prob.unsqueeze(-1)",
                "return rank, log_prob.unsqueeze(-1)", "return rank.unsqueeze(-1), log_prob",
                "return rank.unsqueeze(0), log_prob.unsqueeze(0)"),
        squeezed("return rank{}, log_prob{}", "return rank, log_prob{}"),
        fixed_axes("rank = torch.tensor([(row > one).sum() for row, one in zip(out, out[..., asked])])",
                   "rank = torch.tensor([int((row > one).sum()) for row, one in zip(out, out[..., asked])])",
                   "rank = above.sum(1)\nlog_prob = logs[:, asked]", "rank = above.sum(2)\nlog_prob = logs[:, :, "
                   "asked]",
                   "out = torch.einsum('bld,vd->blv', scaled, words)", "out = torch.einsum('bd,vd->bv', scaled, words)",
                   "batch, length, width = states.shape\nx = states", "batch, width = states.shape\nx = states"),
        overwritten(*writing(logit_lens, 0, 1, 2), "x = states.div_((states.square().mean(-1, True) + eps).sqrt())\n"
                    "normed = x", "scaled = states.copy_(normed * weight)"),
        mistake("nothing but one result", "Two results are asked for: the rank, and the log-probability.",
                "return log_prob", "return rank"),
        cut_off("return rank, log_prob.detach()", "x = states.detach()", "spread = (variance + room).sqrt().detach()",
                "return rank, torch.from_numpy(log_prob.detach().numpy())"),
        lower_precision(logit_lens, "x = states.float()\ngain = gain.float()\nunembed = unembed.float()\n"
                        "log_prob = logs[..., asked].to(states.dtype)"),
    ),
    laws=(Law("no log-probability is above 0", _not_a_logarithm),),
    hints=(
        "What does the model do with the stream after its last layer? Do the same with these states: the norm with its "
        "gain, then one product with the unembedding.",
        "The rank counts: how many logits of a row are larger than the token's own? A comparison gives True and False, "
        "and a sum counts the Trues.",
        "The logarithm of a softmax is a difference of two numbers, and there is a function that never takes the "
        "logarithm of a probability that has become 0.",
    ),
)
