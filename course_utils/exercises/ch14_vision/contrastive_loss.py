"""Exercise: the loss that brings two encoders together."""

from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake, only
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.models import contrastive_loss
from torch import Tensor

RIGHT = """
def contrastive_loss(a, b, temperature):
    size_a = torch.linalg.vector_norm(a, dim=-1, keepdim=True)
    size_b = torch.linalg.vector_norm(b, dim=-1, keepdim=True)
    left = a / size_a.masked_fill(size_a == 0, 1.0)
    right = b / size_b.masked_fill(size_b == 0, 1.0)
    divisor = temperature
    cosines = left @ right.mT
    logits = cosines / divisor
    rows = logits.log_softmax(1)
    columns = logits.log_softmax(0)
    forth = -rows.diagonal()
    back = -columns.diagonal()
    total = forth.mean() + back.mean()
    loss = total / 2
    return loss
"""


def _made(
    batch: int, width: int, temperature: float, size: float = 1.0, dtype: str = "float64",
    learned: bool = False, alike: float = 0.0, zeros: bool = False, spread: bool = False,
) -> Make:
    """Return a maker of a, b and the temperature; `alike` is how much of a is in b."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        a = normal(g, batch, width, size=size, dtype=kind)
        b = alike * a + normal(g, batch, width, size=size, dtype=kind)
        if zeros:
            a[0], b[-1] = 0.0, 0.0
        given = torch.tensor(temperature, dtype=kind) if learned else temperature
        return (strided(a), strided(b), given) if spread else (a, b, given)

    return make


def _by_hand(g: torch.Generator) -> tuple[Any, ...]:
    a = torch.tensor([[3.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    return a, torch.tensor([[1.0, 0.0], [4.0, 4.0]], dtype=torch.float64), 0.5


def _opposite(g: torch.Generator) -> tuple[Any, ...]:
    """Make partners that are as unlike as can be, while others are alike."""
    a = normal(g, 5, 4, dtype=torch.float32)
    return a, -a, 0.01


def _below_zero(args: tuple[Any, ...], out: Tensor) -> str | None:
    low = out.detach().min().item()
    return f"The loss is {low:.4g}; a mean of -log p cannot be below zero." if low < -1e-6 else None


_NORMALISED = "left = {}\nright = {}"


def _both(line: str) -> str:
    return _NORMALISED.format(line.format("a"), line.format("b"))


def _logits(line: str) -> str:
    return f"logits = {line}"


_OTHERS = "own = torch.eye(len(a), dtype=torch.bool)\n"
_WITHOUT = "logits.masked_fill(own, -torch.inf)"
EXERCISE = exercise(
    contrastive_loss,
    right=RIGHT,
    asks="Average two cross-entropies of cosines / temperature: each a_i finds its b_i, and each b_i its a_i.",
    minutes=10,
    difficulty=3,
    importance=5,
    cases=(
        case("3 pairs of width 4, temperature 0.7", _made(3, 4, 0.7, size=100.0), gradient="equal"),
        case("2 pairs of width 2, by hand", _by_hand, gradient="finite"),
        case("a temperature that is learned, 0.3", _made(4, 3, 0.3, size=100.0, learned=True), gradient="equal"),
        case("temperature 1, a whole number", _made(4, 6, 1)),
        case("temperature 2.5", _made(5, 3, 2.5)),
        case("partners alike", _made(6, 5, 0.2, alike=2.0)),
        case("4 pairs of width 4", _made(4, 4, 0.5)),
        case("long vectors", _made(3, 5, 0.4, size=1e4)),
        case("short vectors", _made(5, 3, 0.4, size=1e-3), tolerance=1e-4),
        case("temperature 0.004", _made(5, 7, 0.004), gradient="finite", tolerance=1e-5),
        case("temperature 0.01, learned", _made(5, 7, 0.01, learned=True, alike=1.0), gradient="finite",
             tolerance=1e-5),
        case("one pair: 0", _made(1, 4, 0.5), gradient="equal"),
        case("width 1", _made(4, 1, 0.8)),
        case("a row of zeros in each", _made(4, 3, 0.6, zeros=True), gradient="finite"),
        case("non-contiguous inputs", _made(4, 6, 0.5, spread=True)),
        case("float32", _made(5, 8, 0.1, dtype="float32")),
        case("float32, opposite partners, temperature 0.01", _opposite),
        case("bfloat16", _made(4, 6, 0.7, dtype="bfloat16", learned=True)),
    ),
    mistakes=(
        mistake("one direction only", "Only one of the two asks. Each a looks for its b, and each b for its a: which "
                "half is missing?", "loss = forth.mean()", "loss = back.mean()"),
        mistake("the two directions added", "The loss is twice as large as it should be: the two cross-entropies were "
                "added, and their mean is asked for.", "loss = total"),
        mistake("no normalisation", "Lengths play a part: long vectors have large products. What makes a product a "
                "cosine?", _NORMALISED.format("a", "b"), "left = a", "right = b"),
        mistake("normalised over the batch", "The lengths were taken over the pairs, or over everything. Each row has "
                "a length of its own: over which axis?", _both("F.normalize({}, dim=0)"),
                _both("{0} / {0}.norm()"), "left = F.normalize(a, dim=0)", "right = F.normalize(b, dim=0)"),
        mistake("another length", "The rows were divided by something other than their length: which root of which sum "
                "is that?", _both("F.normalize({}, p=1, dim=-1)"), _both("{0} / {0}.square().sum(-1, keepdim=True)"
                ".clamp(min=1e-30)"), _both("{0} / {0}.abs().amax(-1, keepdim=True).clamp(min=1e-30)"),
                _both("F.layer_norm({0}, {0}.shape[1:])"), _both("{0}.softmax(-1)"),
                _both("F.normalize({0} - {0}.mean(0), dim=-1)"),
                _both("F.normalize({0} - {0}.mean(-1, keepdim=True), dim=-1)")),
        mistake("NaN on a row of zeros", "A row of zeros was divided by its length. What should it stay, and by what "
                "could you divide it instead?", "left = a / size_a\nright = b / size_b", "left = a / size_a",
                "right = b / size_b"),
        mistake("NaN repaired too late", "The values are right, but the gradient of a row of zeros is NaN: the root of "
                "a sum of squares has no slope at 0. Which torch function computes lengths and handles this case?",
                "size_a = a.square().sum(-1, keepdim=True).sqrt()\nsize_b = b.square().sum(-1, keepdim=True).sqrt()",
                "size_a = a.square().sum(-1, keepdim=True).sqrt().clamp(min=1e-12)\n"
                "size_b = b.square().sum(-1, keepdim=True).sqrt().clamp(min=1e-12)"),
        mistake("a row of zeros left out", "Pairs with a row of zeros were left out, or set to 0. They count like all "
                "others: all their cosines are 0.", "full = ((size_a > 0) & (size_b > 0)).squeeze(-1)\n"
                "total = forth[full].mean() + back[full].mean()",
                "full = ((size_a > 0) & (size_b > 0)).squeeze(-1)\ntotal = (forth * full).mean() + "
                "(back * full).mean()"),
        mistake("too much added to the length", "Short vectors do not come out with length 1: something was added to "
                "their length. What is small against every length that matters?",
                "left = a / (size_a + 1e-3)\nright = b / (size_b + 1e-3)", "left = a / (size_a + 1e-6)\n"
                "right = b / (size_b + 1e-6)", _both("F.normalize({}, dim=-1, eps=1e-2)"),
                "left = a / (size_a + 1e-2)\nright = b / (size_b + 1e-2)",
                "left = a / (size_a + 1e-5)\nright = b / (size_b + 1e-5)"),
        mistake("the table normalised", "The rows of the table were brought to length 1, and not the vectors. Whose "
                "lengths must play no part?", "cosines = F.normalize(a @ b.mT, dim=-1)",
                "cosines = F.normalize(a @ b.mT, dim=0)"),
        mistake("temperature in one direction", "Only one of the two cross-entropies is of cosines / temperature. The "
                "two ask of the same table: which logits have they in common?", "rows = cosines.log_softmax(1)",
                "columns = cosines.log_softmax(0)"),
        mistake("temperature on the loss", "The loss itself was multiplied or divided by the temperature. Where does "
                "it act, before the softmax or behind it?", "loss = total / 2 * divisor",
                "loss = total / 2 * divisor**2", "loss = total / 2 / divisor"),
        mistake("temperature multiplied", "A smaller temperature makes the choice softer here. It divides: what should "
                "0.01 do to the difference of two cosines?", _logits("cosines * temperature")),
        mistake("temperature ignored", "Whatever the temperature is, the loss is the same. Where does it act, so that "
                "the normalisation does not undo it?", "divisor = 1.0",
                "left = F.normalize(a / temperature, dim=-1)\ndivisor = 1.0"),
        mistake("temperature as a logarithm", "The exponential or logarithm of the temperature was taken. CLIP learns "
                "a logarithm; here the temperature itself is given.", "logits = cosines * math.exp(temperature)",
                "logits = cosines / math.exp(temperature)", "logits = cosines * torch.as_tensor(temperature).exp()",
                "logits = cosines / torch.as_tensor(temperature).exp()"),
        mistake("another power of the temperature", "The temperature acts twice, or as a root.",
                "divisor = temperature**2", "divisor = temperature**0.5", "divisor = 2 * temperature"),
        mistake("temperature limited", "A low temperature was replaced by a larger one, as CLIP does with a scale "
                "above 100. Here it is used as it is given.",
                "divisor = torch.as_tensor(temperature).clamp(min=0.01)", "divisor = torch.as_tensor(temperature)"
                ".clamp(min=0.01, max=1.0)", "divisor = torch.as_tensor(temperature).clamp(min=0.05)",
                "divisor = torch.as_tensor(temperature).clamp(min=0.1)", "divisor = temperature + 1e-2",
                "logits = (cosines / divisor).clamp(max=50)"),
        mistake("scaled by √d too", "The cosines were divided by a root as well. That is attention's scale; here the "
                "temperature alone divides.", "logits = cosines / divisor / math.sqrt(a.shape[1])",
                "logits = cosines / math.sqrt(a.shape[1])", "logits = cosines / divisor * math.sqrt(a.shape[1])"),
        mistake("sum for mean", "This grows with the batch: it is a sum over the pairs. By what must it be divided?",
                "total = forth.sum() + back.sum()", "total = forth.sum() + back.mean()",
                "total = 2 * (forth.sum() + back.sum())"),
        mistake("divided by another number", "The sum was divided by a number other than that of the pairs, and of the "
                "two directions.", "loss = (forth.sum() + back.sum()) / len(a) ** 2 / 2",
                "loss = (forth.sum() + back.sum()) / len(a) ** 2", "loss = total / 4",
                "loss = (forth.sum() + back.sum()) / a.shape[1] / 2",
                "loss = (forth.sum() + back.sum()) / (2 * max(len(a) - 1, 1))"),
        mistake("own partner left out", "The right partner is missing from those that are compared, so that the "
                "loss can fall below 0. Over which partners does the softmax run?",
                f"{_OTHERS}rows = logits - {_WITHOUT}.logsumexp(1, keepdim=True)\n"
                f"columns = logits - {_WITHOUT}.logsumexp(0, keepdim=True)",
                f"{_OTHERS}rows = logits - {_WITHOUT}.logsumexp(1, keepdim=True)"),
        mistake("another's partner", "The partner of row i was taken from another row. Which entries of the table are "
                "the right ones?", "forth = -rows.roll(1, 0).diagonal()\nback = -columns.roll(1, 0).diagonal()",
                "forth = -rows[:, 0]\nback = -columns[0]", "forth = -rows.flip(0).diagonal()\n"
                "back = -columns.flip(0).diagonal()"),
        mistake("the best partner instead of its own", "The largest cosine of a row was taken for its partner's. Whose "
                "logarithm counts?", "forth = -rows.amax(1)\nback = -columns.amax(0)"),
        mistake("label smoothing", "The strangers have a share in the target, as with label smoothing. Who alone is "
                "right?",
                *(f"forth = -({1 - share} * rows.diagonal() + {share} * rows.mean(1))\n"
                  f"back = -({1 - share} * columns.diagonal() + {share} * columns.mean(0))" for share in (0.1, 0.2))),
        mistake("similarities for targets", "What was asked for is not the partner: the targets are a softmax of "
                "similarities inside each kind. Which answer is right for row i, and how surely?",
                *(f"alike = ((left @ left.mT + right @ right.mT) / 2 {by}).softmax(-1)\n"
                  f"forth = -(alike{one} * rows).sum(1)\nback = -(alike{other} * columns).sum(0)"
                  for by in ("* divisor", "/ divisor") for one, other in (("", ""), (".mT", ".mT")))),
        mistake("all pairs averaged", "Every entry of the table counts, not only the partners.",
                "forth = -rows\nback = -columns"),
        mistake("one softmax over all pairs", "The whole table sums to 1. Each row sums to 1 on its own.",
                "rows = logits.flatten().log_softmax(0).view_as(logits)\ncolumns = rows"),
        mistake("features instead of pairs", "Features were compared with features. How many rows and columns has the "
                "table of cosines?", "cosines = left.mT @ right", "cosines = left @ right if left.shape[0] == "
                "left.shape[1] else left.mT @ right"),
        mistake("compared with its own kind", "Rows of a met rows of a, or of b those of b. Which two encoders are to "
                "be brought together?", "cosines = left @ left.mT", "cosines = right @ right.mT",
                "rows = (torch.cat([logits, (left @ left.mT / divisor).fill_diagonal_(-torch.inf)], 1))"
                ".log_softmax(1)[:, : len(a)]",
                "rows = (torch.cat([logits, (left @ left.mT / divisor).fill_diagonal_(-torch.inf)], 1))"
                ".log_softmax(1)[:, : len(a)]\n"
                "columns = (torch.cat([logits, (right @ right.mT / divisor).fill_diagonal_(-torch.inf)], 0))"
                ".log_softmax(0)[: len(a)]",
                "rows = (left @ left.mT / divisor).log_softmax(1)\n"
                "columns = (right @ right.mT / divisor).log_softmax(0)"),
        mistake("distance instead of cosine", "Distances were compared. A cosine is the product of two vectors of "
                "length 1.", "cosines = -(left.unsqueeze(1) - right).square().sum(-1)",
                "cosines = -torch.cdist(left, right)"),
        mistake("sigmoid instead of softmax", "Each pair is judged by itself, as in SigLIP. Here the partners' "
                "probabilities sum to 1.", "rows = F.logsigmoid(logits)\ncolumns = F.logsigmoid(logits)",
                f"{_OTHERS}loss = -F.logsigmoid(logits.where(own, -logits)).mean()",
                f"{_OTHERS}loss = -F.logsigmoid(logits.where(own, -logits)).sum() / len(a)"),
        mistake("a margin instead of a softmax", "Partners are to win by a margin: that is a triplet loss.",
                f"{_OTHERS}loss = (1 + logits - logits.diagonal().unsqueeze(1)).masked_fill(own, 0.0).relu().mean()",
                *(f"loss = ({margin} + {scores} - {scores}.diagonal().unsqueeze(1)).relu().mean()"
                  for margin in (1, 0.2) for scores in ("logits", "cosines")),
                *(f"{_OTHERS}over = ({margin} + {scores} - {scores}.diagonal().unsqueeze(1)).relu() + "
                  f"({margin} + {scores} - {scores}.diagonal()).relu()\nloss = over.masked_fill(own, 0.0).{end}"
                  for margin in (1.0, 0.2) for scores in ("logits", "cosines")
                  for end in ("mean()", "sum()", "sum() / len(a)", "sum() / len(a) / 2"))),
        mistake("no softmax", "The cosines of the partners were averaged. What keeps them from all being 1, for "
                "partners and strangers alike?", "rows = logits\ncolumns = logits",
                "loss = (1 - cosines.diagonal()).mean()", "loss = -cosines.diagonal().mean()",
                "loss = (1 - cosines.diagonal()).mean() / divisor", "loss = -cosines.diagonal().mean() / divisor"),
        mistake("softmax, then log", "A probability became 0 before its logarithm was taken. Which function does both "
                "at once?", "rows = logits.softmax(1).log()\ncolumns = logits.softmax(0).log()",
                "rows = logits.exp() / logits.exp().sum(1, keepdim=True)\nrows = rows.log()\n"
                "columns = (logits.exp() / logits.exp().sum(0, keepdim=True)).log()",
                "rows = (logits.softmax(1) + 1e-9).log()\ncolumns = (logits.softmax(0) + 1e-9).log()",
                "rows = (logits.softmax(1) + 1e-12).log()\ncolumns = (logits.softmax(0) + 1e-12).log()",
                "rows = logits.softmax(1).clamp(min=1e-9).log()\ncolumns = logits.softmax(0).clamp(min=1e-9).log()",
                "rows = (logits.softmax(1) + 1e-8).log()\ncolumns = (logits.softmax(0) + 1e-8).log()"),
        mistake("softmax twice", "A softmax was taken of what is a softmax already. What does torch's cross-entropy do "
                "with the logits it is given?", "rows = logits.softmax(1).log_softmax(1)\n"
                "columns = logits.softmax(0).log_softmax(0)",
                "logits = (cosines / divisor).softmax(1)"),
        mistake("the probability itself", "The probability of the partner was averaged, not its logarithm.",
                "rows = logits.softmax(1)\ncolumns = logits.softmax(0)"),
        mistake("the sign", "The loss gets smaller as partners become less alike. What is missing?", "return -loss",
                "logits = -cosines / divisor"),
        mistake("in bits", "The loss is in bits. Nats are asked for: which logarithm is that?",
                "return loss / math.log(2)"),
        mistake("perplexity", "This is the exponential of the loss. The mean of the logarithms is asked for.",
                "return loss.exp()"),
        mistake("not one number", "There is a loss for each pair or direction. One number is asked for, a tensor "
                "without axes.", "return (forth + back) / 2", "return loss.unsqueeze(0)", "return forth, back",
                "return forth.mean(), back.mean()"),
        mistake("a Python number", "The loss came back as a Python number, through which nothing can be learned.",
                "return float(loss)"),
        cut_off("return loss.detach()", "divisor = torch.as_tensor(temperature).detach()",
                "divisor = float(temperature)", "cosines = left @ right.detach().mT",
                "cosines = left.detach() @ right.mT", "left = a / size_a.masked_fill(size_a == 0, 1.0)"
                ".detach()\nright = b / size_b.masked_fill(size_b == 0, 1.0).detach()"),
        mistake("each direction teaches one side", "The values are right, but in each direction those that are chosen "
                "among were taken as constants, so that each side learns by half. Which of the two in a product "
                "should carry a gradient?", "rows = (left @ right.detach().mT / divisor).log_softmax(1)\n"
                "columns = (left.detach() @ right.mT / divisor).log_softmax(0)"),
        overwritten(*writing(contrastive_loss, 0, 1)),
        *only(other_kinds("loss"), "nothing returned", "another dtype"),
        lower_precision(contrastive_loss, "logits = (cosines.float() / divisor).to(a.dtype)"),
    ),
    laws=(Law("a mean of -log p is never negative", _below_zero),),
    hints=(
        "B vectors of each kind make a table of B × B cosines. Where in it do the partners stand?",
        "Bring each row to length 1 first. `F.normalize` does it along one axis, and leaves zeros alone; which axis "
        "holds the features?",
        "Divided by the temperature, the cosines are logits. Row i is a question with B answers, of which answer i is "
        "right: which loss is that?",
        "The columns are the same question the other way round: the same table transposed. The mean of the two "
        "cross-entropies is the loss.",
    ),
)
