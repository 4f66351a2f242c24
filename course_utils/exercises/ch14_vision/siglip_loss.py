"""Exercise: the loss that judges each pair of image and text alone."""

import math
from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake, only
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.models import siglip_loss
from torch import Tensor

RIGHT = """
def siglip_loss(images, texts, log_scale, bias):
    left = F.normalize(images, dim=-1)
    right = F.normalize(texts, dim=-1)
    scale = log_scale.exp()
    cosines = left @ right.mT
    own = torch.eye(len(images), dtype=images.dtype)
    logits = cosines * scale + bias
    labels = 2 * own - 1
    signed = labels * logits
    logs = F.logsigmoid(signed)
    total = -logs.sum()
    loss = total / len(images)
    return loss
"""


def _made(
    batch: int, width: int, scale: float, bias: float, size: float = 1.0, dtype: str = "float64",
    alike: float = 0.0, spread: bool = False,
) -> Make:
    """Return a maker of images, texts, the logarithm of the scale, and the bias."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        images = normal(g, batch, width, size=size, dtype=kind)
        texts = alike * images + normal(g, batch, width, size=size, dtype=kind)
        numbers = (torch.tensor(number, dtype=kind) for number in (math.log(scale), bias))
        return (strided(images), strided(texts), *numbers) if spread else (images, texts, *numbers)

    return make


def _by_hand(g: torch.Generator) -> tuple[Any, ...]:
    images = torch.tensor([[3.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    texts = torch.tensor([[1.0, 0.0], [4.0, 4.0]], dtype=torch.float64)
    return images, texts, torch.tensor(math.log(2.0)).double(), torch.tensor(-1.0).double()


def _opposite(g: torch.Generator) -> tuple[Any, ...]:
    """Make partners that are as unlike as can be, so that a probability becomes 0."""
    images = normal(g, 5, 4, dtype=torch.float32)
    return images, -images, torch.tensor(math.log(1e4)), torch.tensor(-10.0)


def _below_zero(args: tuple[Any, ...], out: Tensor) -> str | None:
    low = out.detach().min().item()
    return f"The loss is {low:.4g}; a sum of -log σ cannot be below zero." if low < -1e-9 else None


def _both(line: str) -> str:
    return f"left = {line.format('images')}\nright = {line.format('texts')}"


_SOFTMAX = "-(logits.log_softmax(1).diagonal() + logits.log_softmax(0).diagonal()).mean()"
EXERCISE = exercise(
    siglip_loss,
    right=RIGHT,
    asks="Judge every pair of the table alone: a partner should have a large logit, a stranger a small one.",
    minutes=10,
    difficulty=3,
    importance=4,
    cases=(
        case("3 pairs of width 4, scale 2, bias -1", _made(3, 4, 2.0, -1.0, size=100.0), gradient="equal"),
        case("2 pairs of width 2, by hand", _by_hand, gradient="equal"),
        case("the paper's start: scale 10, bias -10", _made(6, 5, 10.0, -10.0), gradient="equal"),
        case("scale 1, bias 0", _made(4, 6, 1.0, 0.0), gradient="equal"),
        case("scale 0.5, bias 2.5", _made(5, 3, 0.5, 2.5), gradient="equal"),
        case("partners alike", _made(6, 5, 5.0, -3.0, alike=2.0), gradient="equal"),
        case("4 pairs of width 4", _made(4, 4, 3.0, -2.0), gradient="equal"),
        case("long vectors", _made(3, 5, 2.5, 1.5, size=1e4), gradient="finite"),
        case("short vectors", _made(5, 3, 2.5, -1.5, size=1e-3), gradient="finite"),
        case("logits of thousands", _made(5, 7, 1e4, -1e3), gradient="finite"),
        case("one pair: no stranger", _made(1, 4, 2.0, -0.5), gradient="equal"),
        case("width 1", _made(4, 1, 0.8, 0.3), gradient="finite"),
        case("non-contiguous inputs", _made(4, 6, 2.0, -1.0, spread=True)),
        case("float32", _made(5, 8, 10.0, -10.0, dtype="float32"), gradient="equal"),
        case("float32, opposite partners, scale 10,000", _opposite, gradient="finite"),
    ),
    mistakes=(
        mistake("softmax instead of sigmoid", "A row, or a column, of the table sums to 1, as in CLIP's loss. Here "
                "nothing is shared between pairs: which function makes a probability of one logit?",
                f"loss = {_SOFTMAX} / 2", f"loss = {_SOFTMAX}", "loss = -logits.log_softmax(1).diagonal().mean()",
                "loss = -logits.log_softmax(0).diagonal().mean()", "logs = signed.log_softmax(1)",
                "logs = labels * logits.log_softmax(1)"),
        mistake("mean over all pairs", "The sum was divided by all N² pairs. By how many does the formula divide, so "
                "that a partner's own term keeps its weight in a larger batch?", "loss = -logs.mean()",
                "loss = total / len(images) / max(len(images) - 1, 1)"),
        mistake("sum undivided", "This is the sum over all pairs, and grows with the batch. By what is it divided?",
                "loss = total"),
        mistake("divided by another number", "The sum was divided by something other than the number of images.",
                "loss = total / images.shape[1]", "loss = total / (2 * len(images))",
                "loss = total / max(len(images) - 1, 1)"),
        mistake("only the partners", "Only the diagonal of the table was judged. What keeps all logits from growing "
                "for ever, for partners and strangers alike?", "loss = -logs.diagonal().mean()",
                "total = -(logs * own).sum()", "loss = -(logs * own).mean()", "loss = -logs.diagonal().sum()"),
        mistake("only the strangers", "The diagonal of the table was left out. Who should have a large logit?",
                "total = -(logs * (1 - own)).sum()"),
        mistake("labels 0 and 1", "Strangers have the label 0 here, so that their logit plays no part, or the "
                "partner's counts alone. Which label turns a logit's sign round?", "labels = own",
                "logs = labels * F.logsigmoid(logits)"),
        mistake("labels the other way round", "Partners have the label of strangers: the loss falls as they become "
                "less alike. Which pairs have the label +1?", "labels = 1 - 2 * own", "signed = -labels * logits",
                "labels = 1 - own"),
        mistake("all pairs partners", "Every pair has the label +1. Which pairs of the table belong together?",
                "signed = logits"),
        mistake("the sign", "The loss is negative. The logarithm of a probability is below 0: what makes a loss of it?",
                "total = logs.sum()", "return -loss"),
        mistake("exponential of the scale left out", "`log_scale` itself multiplies the cosines. It is a logarithm, "
                "so that a step can never make the scale negative: what turns it into the scale?",
                "scale = log_scale"),
        mistake("divided by the scale", "The cosines were divided. A larger scale makes logits larger; CLIP's "
                "temperature does it the other way round.", "scale = (-log_scale).exp()",
                "logits = cosines / scale + bias", "logits = cosines / log_scale + bias"),
        mistake("scale left out", "Whatever `log_scale` is, the loss is the same. What multiplies the cosines?",
                "logits = cosines + bias"),
        mistake("another power of the scale", "The scale acts twice, or as a root, or to another base.",
                "logits = cosines * scale**2 + bias", "scale = (log_scale / 2).exp()", "scale = 10**log_scale",
                "scale = torch.exp2(log_scale)"),
        mistake("scale limited", "A large scale was cut, as CLIP does above 100. Here it is used as it is given.",
                "scale = log_scale.exp().clamp(max=100)", "logits = (cosines * scale + bias).clamp(-50, 50)"),
        mistake("bias left out", "Whatever `bias` is, the loss is the same. Where is it added?",
                "logits = cosines * scale"),
        mistake("bias scaled too", "The bias was multiplied by the scale. Which of the two comes first?",
                "logits = (cosines + bias) * scale",
                "logits = cosines * (log_scale + bias).exp()"),
        mistake("bias subtracted", "The bias was subtracted. At -10, what should it do to the logit of a stranger?",
                "logits = cosines * scale - bias"),
        mistake("bias as a logarithm", "The exponential of the bias was added. Only the scale is given as a logarithm.",
                "logits = cosines * scale + bias.exp()"),
        mistake("bias added after the label", "The bias has the same sign for partners and for strangers. Is it part "
                "of the logit, or added behind it?", "signed = labels * cosines * scale + bias",
                "logits = cosines * scale\nsigned = labels * logits + bias"),
        mistake("bias for strangers alone", "The bias acts on strangers alone, or on partners alone. Every logit has "
                "it.", "logits = cosines * scale + bias * (1 - own)", "logits = cosines * scale + bias * own"),
        mistake("no normalisation", "Lengths play a part: long vectors have large products. What makes a product a "
                "cosine?", _both("{}"), "left = images", "right = texts"),
        mistake("normalised over the batch", "The lengths were taken over the pairs, or over everything. Each row has "
                "a length of its own: over which axis?", _both("F.normalize({}, dim=0)"), _both("{0} / {0}.norm()"),
                "left = F.normalize(images, dim=0)", "right = F.normalize(texts, dim=0)"),
        mistake("another length", "The rows were divided by something other than their length: which root of which sum "
                "is that?", _both("F.normalize({}, p=1, dim=-1)"),
                _both("{0} / {0}.square().sum(-1, keepdim=True)"), _both("F.layer_norm({0}, {0}.shape[1:])"),
                _both("{}.softmax(-1)")),
        mistake("too much added to the length", "Short vectors do not come out with length 1: something was added to "
                "their length. What is small against every length that matters?",
                _both("{0} / ({0}.norm(dim=-1, keepdim=True) + 1e-3)"), _both("F.normalize({}, dim=-1, eps=1e-2)"),
                _both("{0} / ({0}.norm(dim=-1, keepdim=True) + 1e-6)")),
        mistake("scaled by √d too", "The cosines were divided by a root as well. That is attention's scale; here "
                "`log_scale` alone does it.", "logits = cosines * scale / math.sqrt(images.shape[1]) + bias"),
        mistake("features instead of pairs", "Features were compared with features. How many rows and columns has the "
                "table of cosines?", "cosines = left.mT @ right\n"
                "own = torch.eye(images.shape[1], dtype=images.dtype)"),
        mistake("compared with its own kind", "Images met images, or texts met texts. Which two encoders are to be "
                "brought together?", "cosines = left @ left.mT", "cosines = right @ right.mT"),
        mistake("another's partner", "The diagonal is not where the partners are marked. Which text belongs to image "
                "i?", "own = torch.eye(len(images), dtype=images.dtype).roll(1, 0)",
                "own = torch.eye(len(images), dtype=images.dtype).flip(0)"),
        mistake("distance instead of cosine", "Distances were compared. A cosine is the product of two vectors of "
                "length 1.", "cosines = -torch.cdist(left, right)",
                "cosines = -(left.unsqueeze(1) - right).square().sum(-1)"),
        mistake("both directions added", "The table was judged along its rows and along its columns, and counted "
                "twice. A pair's logit is the same whoever asks: how often is it judged?", "total = -2 * logs.sum()",
                "logs = F.logsigmoid(labels * logits) + F.logsigmoid(labels * logits.mT)"),
        mistake("half of the table", "Only the pairs on one side of the diagonal were judged. Is image 0 with text 1 "
                "the same pair as image 1 with text 0?", "logs = F.logsigmoid(signed).triu()",
                "logs = F.logsigmoid(signed).tril()"),
        mistake("strangers weigh as much as partners", "Partners and strangers were averaged each for themselves. In "
                "the formula every pair has the same weight: there are N - 1 strangers for each partner.",
                "loss = -(logs * own).sum() / own.sum() - (logs * (1 - own)).sum() / (1 - own).sum().clamp(min=1)",
                "loss = -((logs * own).sum() / own.sum() + (logs * (1 - own)).sum() / (1 - own).sum().clamp(min=1)) "
                "/ 2",
                "logs = F.logsigmoid(signed) * (1 + (len(images) - 1) * own)",
                "logs = F.logsigmoid(signed) * (1 + len(images) * own)",
                "logs = F.logsigmoid(signed) * (1 + (len(images) - 2) * own)"),
        mistake("sigmoid, then log", "A probability became 0 before its logarithm was taken, or was kept from it by a "
                "small number. Which function does both at once?", "logs = signed.sigmoid().log()",
                "logs = (signed.sigmoid() + 1e-12).log()",
                "logs = signed.sigmoid().clamp(min=1e-9).log()", "logs = -(1 + (-signed).exp()).log()",
                "logs = (signed.sigmoid() + 1e-6).log()"),
        mistake("the probability itself", "Probabilities were added up, not their logarithms.",
                "logs = signed.sigmoid()", "logs = signed.sigmoid() - 1"),
        mistake("sigmoid twice", "A sigmoid was taken of what is a probability already. What does torch's loss do with "
                "the logits it is given?", "signed = labels * logits.sigmoid()",
                "logits = (cosines * scale + bias).sigmoid()"),
        mistake("a margin instead of a sigmoid", "Partners are to win by a margin: that is a hinge loss.",
                "logs = -(1 - signed).relu()"),
        mistake("squared differences", "Logits, or probabilities, were compared with the labels by squared "
                "differences.", "logs = -(logits - labels).square()", "logs = -(logits.sigmoid() - own).square()",
                "logs = -(cosines - own).square()"),
        mistake("in bits", "The loss is in bits. Nats are asked for: which logarithm is that?",
                "return loss / math.log(2)"),
        mistake("not one number", "There is a loss for each pair, or for each image. One number is asked for, a tensor "
                "without axes.", "return -logs", "return -logs.sum(1)", "return loss.unsqueeze(0)"),
        mistake("a Python number", "The loss came back as a Python number, through which nothing can be learned.",
                "return float(loss)"),
        cut_off("return loss.detach()", "scale = log_scale.detach().exp()", "scale = math.exp(log_scale)",
                "logits = cosines * scale + bias.detach()", "logits = cosines * scale + float(bias)",
                "cosines = left @ right.detach().mT", "cosines = left.detach() @ right.mT"),
        overwritten(*writing(siglip_loss, 0, 1)),
        *only(other_kinds("loss"), "nothing returned", "another dtype"),
        lower_precision(siglip_loss, "logits = (cosines * scale + bias).float()",
                        "logits = (cosines * scale + bias).float().to(images.dtype)"),
    ),
    laws=(Law("a sum of -log σ is never negative", _below_zero),),
    hints=(
        "N images and N texts make a table of N × N cosines. How many of them belong together, and where do they "
        "stand?",
        "Scale the rows to length 1 first. A logit is exp(log_scale) times a cosine, plus the bias.",
        "σ(logit) is the probability that a pair belongs together. For a stranger it is 1 - σ(logit): of which logit "
        "is that the σ?",
        "`F.logsigmoid` of label times logit, for the whole table; its sum, with the other sign, is divided by N.",
    ),
)
