"""Exercise: the Performer's positive features."""

from typing import Any

from course_utils.attention import positive_random_features
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, fixed_axes, other_kinds, overwritten
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import multiple
from torch import Tensor

RIGHT = """
def positive_random_features(x, projection):
    root = x.shape[-1] ** 0.25
    scaled = x / root
    along = scaled @ projection.mT
    half = 0.5 * scaled.square().sum(-1, keepdim=True)
    power = along - half
    made = torch.exp(power)
    lifted = made
    mean = math.sqrt(projection.shape[0])
    out = lifted / mean
    return out
"""


def _something_added(args: tuple[Any, ...], got: Tensor) -> bool:
    right, got = positive_random_features(*args), got.detach()
    if got.shape != right.shape or got.numel() < 2:
        return False
    small = got - right
    return 0.0 < float(small.flatten()[0]) <= 0.1 and float(small.max() - small.min()) <= 1e-3 * float(small.max())


EXERCISE = exercise(
    positive_random_features,
    right=RIGHT,
    asks="Make features with φ(q)·φ(k) near exp(q·k/√d): exp(w·x' - |x'|²/2)/√m.",
    minutes=10,
    difficulty=3,
    importance=3,
    cases=(
        case("3 vectors of width 4, 4 rows", L=3, d=4, m=4),
        case("5 vectors of width 3, 7 rows", L=5, d=3, m=7, gradient="equal"),
        case("leading axes (2, 3)", batch=(2, 3), L=5, d=6, m=4, gradient="equal"),
        case("width 9, 2 rows", batch=(4,), L=2, d=9, m=2),
        case("one row", batch=(2,), L=5, d=4, m=1),
        case("one vector of width 1", L=1, d=1, m=3),
        case("every size is 4: a transpose keeps the shape", batch=(4,), L=4, d=4, m=4),
        case("vectors of zeros: 1/√m everywhere", batch=(2,), L=3, d=5, size=0.0, projection=lambda g: normal(g, 6, 5)),
        case("long vectors", batch=(2,), L=5, d=16, size=3.0, projection=lambda g: normal(g, 8, 16)),
        case("non-contiguous inputs", batch=(2,), L=6, d=4, m=5, strided=True),
        case("float32", batch=(2,), L=5, d=16, m=6, dtype="float32", tolerance=1e-4),
    ),
    mistakes=(
        mistake("√d missing", "x was not scaled, so the features estimate exp(q·k). Attention's scores are q·k/√d: "
                "which share of that root belongs to each of the two?", "root = 1.0"),
        mistake("another root of d", "x was divided by another power of d than its fourth root. Query and key are each "
                "divided once: what comes out for their product?",
                "root = math.sqrt(x.shape[-1])", "root = float(x.shape[-1])", "root = x.shape[-1] ** 0.125",
                "root = x.shape[-1] ** -0.25", "root = x.shape[-1] ** 1 / 4", "scaled = x / x.shape[-1] ** 1 / 4",
                "root = x.shape[-2] ** 0.25", "root = x.shape[0] ** 0.25", "root = x.shape[-1] ** (1 / 3)",
                "root = x.shape[-1] ** -0.5", "root = 2 * math.sqrt(x.shape[-1])"),
        mistake("scale in one of the two terms", "Only one of w·x' and |x'|²/2 was taken of the scaled x. Which x "
                "belongs in both?", "half = 0.5 * x.square().sum(-1, keepdim=True)", "along = x @ projection.mT",
                "root = 1.0\nhalf = 0.5 * x.square().sum(-1, keepdim=True) / math.sqrt(x.shape[-1])",
                "half = 0.5 * scaled.square().sum(-1, keepdim=True) / x.shape[-1] ** 0.25"),
        mistake("no positive form", "Sines and cosines can be negative, and so can the weights that are made of them. "
                "The positive form has one exponential for each row: of what?", "made = torch.exp(half) * along.cos()",
                "made = torch.exp(half) * torch.cat((along.sin(), along.cos()), -1)",
                "made = torch.exp(half) * along.sin()", "made = along.cos()", "made = along"),
        mistake("both signs of every row", "There are two features for each row, one with each sign. That is the "
                "hyperbolic form: how many are asked for?",
                "made = torch.cat((torch.exp(along - half), torch.exp(-along - half)), -1)\n"
                "mean = math.sqrt(2 * projection.shape[0])", "made = along.cosh() * torch.exp(-half)"),
        mistake("the length not taken off", "|x'|²/2 is missing, so long vectors get features that are far too large. "
                "The mean of exp(w·x') over normal w is not 1: what is it?", "half = 0.0"),
        mistake("half of the length wrong", "Something other than half of the squared length was subtracted. Is it "
                "squared, summed over the features, and halved once?",
                "half = scaled.square().sum(-1, keepdim=True)", "half = 0.5 * scaled.norm(dim=-1, keepdim=True)",
                "half = scaled.norm(dim=-1, keepdim=True)", "half = 0.5 * scaled.square().mean(-1, keepdim=True)",
                "half = 0.25 * scaled.square().sum(-1, keepdim=True)",
                "half = scaled.square().sum(-1, keepdim=True) / 2**0.5",
                "half = 2 * scaled.square().sum(-1, keepdim=True)", "half = 0.5 * scaled.sum(-1, keepdim=True)",
                "half = 0.5 * scaled.abs().sum(-1, keepdim=True)",
                "half = (0.5 * scaled).square().sum(-1, keepdim=True)",
                "half = 0.5 * scaled.sum(-1, keepdim=True).square()"),
        mistake("the axis of the length lost", "Each vector has one length, and here it meets the features of all: the "
                "lengths lie along the axis of the features, or do not fit it. What keeps an axis that is summed?",
                "half = 0.5 * scaled.square().sum(-1)", "half = 0.5 * scaled.norm(dim=-1).square()",
                "half = scaled.square().sum(-1)", "half = scaled.square().sum(-1)\nmean = 1.0",
                "half = 0.5 * x.square().sum(-1)"),
        mistake("the length of something else", "What was subtracted is not each vector's own squared length. Each row "
                "of x has one: which axis is summed over?",
                "half = 0.5 * scaled.square().sum(-2, keepdim=True).mean(-1, True)",
                "half = 0.5 * projection.square().sum(-1)", "half = 0.5 * scaled.square().sum()",
                "half = 0.5 * scaled.square().sum((-2, -1), keepdim=True)",
                "half = 0.5 * scaled.square().sum(-1, keepdim=True) + 0.5 * projection.square().sum(-1)",
                "half = 0.5 * along.square()"),
        mistake("the length added", "The squared length was added, as sines and cosines need it. Here the mean of "
                "exp(w·x') is exp(|x'|²/2) too large: which sign corrects it?",
                "half = -0.5 * scaled.square().sum(-1, keepdim=True)"),
        mistake("sign of the product flipped", "The features rise where x points away from a row. Which sign does w·x' "
                "have?", "along = -(scaled @ projection.mT)"),
        mistake("√m missing", "φ(q)·φ(k) is a sum of m products and not their mean. What must each feature be divided "
                "by, so that the product of two is divided by m?", "mean = 1.0"),
        mistake("divided by something other than √m", "All features are too large or too small by the same factor, so "
                "φ(q)·φ(k) is not a mean of m products. What must each of the two be divided by for that?",
                "mean = float(projection.shape[0])",
                "mean = math.sqrt(projection.shape[1])", "mean = math.sqrt(2 * projection.shape[0])",
                "mean = projection.shape[0] ** 0.25", "mean = 1 / math.sqrt(projection.shape[0])",
                "mean = math.sqrt(x.shape[-2])", matches=lambda args,
                got: multiple(positive_random_features(*args), got)),
        mistake("√m inside the exponential", "The exponent was divided by √m, and not the feature. φ(q)·φ(k) is to be "
                "a mean of m products: what has to be divided?",
                "power = (along - half) / math.sqrt(projection.shape[0])\nmean = 1.0",
                "made = torch.exp(along) / math.sqrt(projection.shape[0]) - half"),
        mistake("projection transposed", "The columns of the projection were taken for the random vectors. It is (m, "
                "d): which of its axes meets the features of x?", "along = scaled @ projection"),
        mistake("a stabiliser", "The largest exponent was taken off, or the features were made to sum to 1. In "
                "attention such a factor cancels; here the features themselves are asked for.",
                "power = along - half - along.amax(-1, keepdim=True)",
                "power = along - half - along.amax((-2, -1), keepdim=True)",
                "power = along - half - (along - half).amax(-1, keepdim=True)",
                "power = along - half - (along - half).amax((-2, -1), keepdim=True)",
                "power = along - half - along.max()", "made = (along - half).softmax(-1)",
                "power = along - half - (along - half).max()", "made = (along - half).softmax(-1)\nmean = 1.0"),
        mistake("an epsilon", "Something small was added to every feature, as the Performer's code does against a sum "
                "of 0. No stabiliser is asked for here.",
                "lifted = made + 1e-4", "lifted = made + 1e-6", "lifted = made + 1e-3", matches=_something_added),
        mistake("another function than exp", "The features are not exponentials. Only exp turns a sum of exponents "
                "into a product of features.",
                "made = torch.relu(along)", "made = torch.relu(along) + 1e-3", "made = F.elu(along - half) + 1",
                "made = F.softplus(along - half)", "made = torch.sigmoid(along - half)", "made = along - half",
                "made = torch.exp(along) - half", "made = torch.pow(2.0, along - half)", "made = F.elu(along) + 1",
                "made = torch.relu(along) + 1e-3\nmean = 1.0", "out = along - half - math.log(mean)",
                "out = along - half", "made = F.relu(along - half)"),
        mistake("rows brought to length 1", "The rows of the projection, or x itself, were scaled besides. Their "
                "lengths are part of the draw: they are used as they are given.",
                "along = scaled @ F.normalize(projection, dim=-1).mT",
                "along = scaled @ projection.mT / math.sqrt(projection.shape[0])",
                "along = scaled @ projection.mT / math.sqrt(projection.shape[1])",
                "along = scaled @ F.normalize(projection, dim=-1).mT * math.sqrt(projection.shape[1])",
                "root = x.norm(dim=-1, keepdim=True)", "scaled = F.normalize(x, dim=-1) / root",
                "along = scaled @ F.normalize(projection, dim=0).mT"),
        cut_off(
            "scaled = x.detach() / root",
            "along = scaled @ projection.detach().mT",
            "half = 0.5 * scaled.detach().square().sum(-1, keepdim=True)",
            "out = (lifted / mean).detach()",
            "scaled = x.detach() / root\nalong = scaled @ projection.detach().mT",
        ),
        mistake("a projection of its own",
                "Two calls with the same inputs differ: the rows are drawn inside. The random "
                "vectors are given, the same for queries and keys: where are they?",
                "along = scaled @ torch.randn_like(projection).mT",
                detects=lambda trace: trace.used_global_random, even_if_right=False),
        batch_mixed("scaled = x[:1].expand(x.shape) / root if x.dim() > 2 else x / root",
                    "along = (scaled[:1] if x.dim() > 2 else scaled) @ projection.mT"),
        fixed_axes("along = torch.einsum('bld,md->blm', scaled, projection)",
                   "along = torch.einsum('bhld,md->bhlm', scaled, projection)",
                   "along = torch.einsum('nd,md->nm', scaled, projection)",
                   "along = torch.einsum('ld,md->lm', scaled, projection)"),
        overwritten("scaled = x.div_(root)", "scaled = x.mul_(x.shape[-1] ** -0.25)"),
        *other_kinds("out"),
        lower_precision(positive_random_features, "along = (scaled.float() @ projection.float().mT).to(x.dtype)"),
    ),
    hints=(
        "The product of two features is an exponential of a sum. What must be taken off each, so that the mean over "
        "normal w is exp(q'·k') and no more?",
        "q·k/√d = q'·k' if query and key are both divided by the same number. Which one?",
        "The projection has a row for each feature: how far x' reaches along each is a product of (L, d) and (d, m). "
        "|x'|² is one number per vector: keep its axis.",
        "φ(q)·φ(k) should be a mean over m rows, not a sum: split the division between the two features.",
    ),
)
