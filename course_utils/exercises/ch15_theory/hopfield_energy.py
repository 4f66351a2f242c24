"""Exercise: the energy that a step of a modern Hopfield network lowers."""

from course_utils.attention import hopfield_energy
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.mistakes import mistake, saying
from course_utils.exercises.ch15_theory.hopfield_update import CLAMPED, EASY, HARD, memory
from course_utils.exercises.shared.kinds import (
    cut_off,
    left_in,
    other_kinds,
    overwritten,
    squeezed,
    through_numpy,
    writing,
)
from course_utils.exercises.shared.precision import lower_precision
from torch import Tensor

RIGHT = """
def hopfield_energy(state, patterns, beta):
    products = state @ patterns.mT
    scaled = beta * products
    scores = scaled
    total = torch.logsumexp(scores, -1)
    match = total / beta
    own = state.square().sum(-1) / 2
    number = patterns.shape[0]
    count = math.log(number) / beta
    largest = patterns.square().sum(-1).amax()
    bound = largest / 2
    slope = own - match
    floor = count + bound
    energy = slope + floor
    return energy
"""


def _below_zero(args: tuple[object, ...], out: Tensor) -> str | None:
    lowest = out.detach().double().min().item()
    return f"The lowest energy is {lowest:.4g}." if lowest < -0.01 else None


_NORMS = "torch.linalg.vector_norm(patterns, dim=-1)"
EXERCISE = exercise(
    hopfield_energy,
    right=RIGHT,
    asks="Give the energy of a state: -(1/β) ln Σ exp(β x·ξ) + ½ ξ·ξ + (1/β) ln N + ½ M².",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        *EASY,
        case("β = 0.05", memory(2, N=5, d=3, beta=0.05)),
        case("β = 50", memory(4, N=6, d=5, beta=50.0)),
        *HARD,
    ),
    mistakes=(
        mistake("patterns taken for columns", "One axis of `patterns` was taken for the other: in the products, in N "
                "or in M. The paper keeps one pattern in a column, and here each is a row: which axis has d entries?",
                "products = state @ patterns", "number = patterns.shape[1]",
                "largest = patterns.square().sum(0).amax()", "products = state @ patterns.reshape(patterns.mT.shape)",
                "products = state @ patterns\nlargest = patterns.square().sum(0).amax()"),
        mistake("no shift before exp", "Scores in the thousands give infinity or NaN: their exponentials overflow. The "
                "logarithm brings them back too late. Which function does both at once?",
                "total = scores.exp().sum(-1).log()", "total = (scores.exp().sum(-1) + 1e-12).log()",
                "total = scores.exp().mean(-1).log()\ncount = 0.0",
                "total = scores.exp().sum(-1).clamp(max=1e300).log()"),
        mistake("shifted by another number than the row's maximum", "Some rows overflow, or all of their exponentials "
                "become 0: what is subtracted before `exp` is not the row's own maximum. Which maximum does each row "
                "need?", "total = (scores - scores.max()).exp().sum(-1).log() + scores.max()"),
        mistake("the shift not added back", "A maximum was subtracted before `exp` and is missing from the result. "
                "What is ln Σ exp(s - m), in terms of ln Σ exp(s)?",
                "total = (scores - scores.amax(-1, keepdim=True)).exp().sum(-1).log()"),
        mistake("the shift added back in another unit", "What was subtracted before `exp` and what was added back "
                "after the logarithm are not the same number: only one of them is a multiple of β. In which of the two "
                "places is the result divided by it?",
                "match = (scores - scores.amax(-1, keepdim=True)).exp().sum(-1).log() / beta + scores.amax(-1)",
                "total = (scores - scores.amax(-1, keepdim=True)).exp().sum(-1).log() + products.amax(-1)"),
        mistake("the logarithm not divided by β", "One of the logarithms, or both, was not divided by β. As β grows, "
                "-(1/β) ln Σ exp(β s) comes near the largest s: what does it come near without the factor?",
                "match = total", "count = math.log(number)", "match = total\ncount = math.log(number)",
                "match = total * beta", "match = total * beta\ncount = math.log(number) * beta",
                "count = math.log(number) * beta", "match = total\ncount = math.log(number) * beta",
                "match = total * beta\ncount = math.log(number)"),
        mistake("β in another term", "β stands beside one of the squares, or divides it. Which of the four terms does "
                "it belong to?", "own = beta * state.square().sum(-1) / 2", "bound = beta * largest / 2",
                "own = state.square().sum(-1) / (2 * beta)", "bound = largest / (2 * beta)",
                "own = beta * state.square().sum(-1) / 2\nbound = beta * largest / 2"),
        mistake("beta not used", "The scores were not multiplied by β before the logarithm was taken. Where does it "
                "stand in the formula, besides 1/β?", "scores = products",
                "scores = products\nmatch = total\ncount = math.log(number)"),
        mistake("beta divides", "A large β makes the energy smoother here. It is an inverse temperature: what does it "
                "do to the differences between scores?", "scores = products / beta",
                "scores = products / beta\nmatch = total * beta\ncount = math.log(number) * beta"),
        mistake("scaled by √d too", "The scores were divided by a root as well. That scale is attention's default; "
                "here β alone says how sharp the valleys are.", "scores = beta * products / math.sqrt(state.shape[-1])",
                "scores = products / math.sqrt(state.shape[-1])", "scores = beta * products / state.shape[-1]",
                "scores = scaled / math.sqrt(state.shape[-1])\nmatch = total * math.sqrt(state.shape[-1]) / beta",
                "scores = scaled / math.sqrt(state.shape[-1])\nmatch = total * math.sqrt(state.shape[-1]) / beta\n"
                "count = math.log(number) * math.sqrt(state.shape[-1]) / beta"),
        mistake("a sign flipped", "At least one of the four terms has the wrong sign. A state that matches a pattern "
                "lies low, a long state lies high, and the two constants lift the lowest point: which one pulls the "
                "other way?", "slope = own + match", "slope = -own - match", "floor = bound - count",
                "floor = count - bound", "floor = -count - bound", "slope = match - own\nfloor = -count - bound",
                "slope = match - own", "slope = match - own\nfloor = bound - count"),
        mistake("a ½ lost", "Both squares stand in the formula with a factor ½. Which one lost it, or was it put "
                "elsewhere?", "own = state.square().sum(-1)", "bound = largest",
                "own = state.square().sum(-1)\nbound = largest", "slope = own - match / 2",
                "floor = count / 2 + bound", "bound = largest / 4", "own = state.square().sum(-1) / 4"),
        mistake("a constant lost", "A constant is missing, or both are. Which two terms of the formula do not depend "
                "on the state?", "floor = 0.0", "floor = bound",
                "floor = count", "floor = count + bound - bound.detach()"),
        mistake("a term of the state's lost", "The energy lacks one of the two terms that change with the state. Which "
                "one draws it towards the patterns, and which one keeps it from running away?", "slope = -match",
                "slope = own", "slope = match"),
        mistake("a term counted twice", "One of the four terms was added twice. Each counts once.",
                "floor = 2 * count + bound", "slope = own - 2 * match"),
        mistake("M instead of M²", "The largest norm was not squared, or squared twice. Which power of it stands in "
                "the formula, and which one do you have?",
                f"largest = {_NORMS}.amax()", "largest = patterns.square().sum(-1).amax() ** 2"),
        mistake("another M", "M is the largest norm of a single pattern. Over which axis is a norm taken, over which "
                "the maximum, and of what?", "largest = patterns.square().amax()", "largest = patterns.square().sum()",
                "largest = patterns.square().sum(-1).mean()", "largest = patterns.square().sum(-1).amin()",
                "largest = patterns[0].square().sum()", "largest = patterns[-1].square().sum()",
                "largest = patterns.square().sum(-1).sum() / patterns.shape[1]", "largest = patterns.abs().amax()",
                "largest = patterns.abs().sum(-1).amax() ** 2", "largest = state.square().sum(-1).amax()",
                "largest = state.square().sum(-1)", "largest = patterns.square().mean(-1).amax()",
                f"largest = {_NORMS}.mean() ** 2", f"largest = {_NORMS}.sum() ** 2",
                "largest = torch.linalg.matrix_norm(patterns.double(), 2).to(patterns.dtype) ** 2",
                "largest = products.amax(-1)", "largest = patterns.amax() ** 2"),
        mistake("another N", "The constant with N has another size or function in it. What does N count, and "
                "which logarithm is the inverse of exp?",
                "number = state.shape[0]", "number = patterns.numel()",
                "number = patterns.shape[0] + 1", "count = number / beta", "count = math.log2(number) / beta",
                "count = math.log10(number) / beta", "count = math.log(number + 1) / beta",
                "count = math.sqrt(number) / beta", "count = math.log(number / beta)",
                "count = math.log(number * beta) / beta", "count = math.log(beta) / number"),
        mistake("the length not squared", "The state enters by its length, or by the sum of its entries. Which product "
                "is ξ·ξ?", "own = torch.linalg.vector_norm(state, dim=-1) / 2", "own = state.sum(-1).square() / 2",
                "own = state.sum(-1) / 2", "own = state.abs().sum(-1) / 2",
                "own = torch.linalg.vector_norm(state, dim=-1)"),
        mistake("mean over the features", "The squares of the state were averaged. What is ξ·ξ?",
                "own = state.square().mean(-1) / 2", "own = state.square().mean(-1)"),
        mistake("norm over the batch", "The squares of all states were added together. Each state has its own energy: "
                "which axis is summed?", "own = state.square().sum() / 2"),
        mistake("products between the states", "Every state met every other in the term for its length. With which "
                "vector is the product of ξ asked?", "own = state @ state.mT / 2",
                "own = (state @ state.mT).sum(-1) / 2", "own = state @ state.mT"),
        mistake("one sum over all states", "The logarithm was taken of a sum over all states, or over them instead of "
                "the patterns. What does each state sum over?", "total = torch.logsumexp(scores, 0)",
                "total = torch.logsumexp(scores.flatten(), 0)", "total = torch.logsumexp(scores, -2)"),
        mistake("the maximum instead of the logarithm", "The best score alone counts. That is where β → ∞ ends: which "
                "smooth maximum stands in the formula?", "match = products.amax(-1)", "total = scores.amax(-1)"),
        mistake("the average instead of the logarithm", "The scores were averaged by the softmax, or plainly, or added "
                "up. The energy's slope holds the softmax; the energy itself holds which function of the sum?",
                "match = (torch.softmax(scores, -1) * products).sum(-1)", "match = products.mean(-1)",
                "match = products.sum(-1)", "total = torch.log_softmax(scores, -1).sum(-1)",
                "total = torch.softmax(scores, -1).sum(-1)", "total = scores.sum(-1)"),
        mistake("no logarithm", "A sum of exponentials stands in the energy as it is. What brings it back to the size "
                "of a score?", "total = scores.exp().sum(-1)"),
        mistake("the classical network's energy", "This is the energy of an earlier network, a sum of powers "
                "of the matches, such as the squares of 1982. What takes the place of the power in the modern one?",
                "energy = -products.square().sum(-1) / 2", "match = products.square().sum(-1) / 2",
                "energy = -products.square().sum(-1)", "energy = -products.pow(3).sum(-1)",
                "energy = own - products.square().sum(-1) / 2"),
        mistake("cosine similarity", "The lengths of patterns or state play no part in the products: these are "
                "cosines. What does a dot product do with the lengths?",
                "products = F.normalize(state, dim=-1) @ F.normalize(patterns, dim=-1).mT",
                "products = state @ F.normalize(patterns, dim=-1).mT",
                "products = F.normalize(state, dim=-1) @ patterns.mT"),
        mistake("distance instead of dot product", "Each pattern is scored by its distance from the state. A dot "
                "product also grows with the lengths: which operation multiplies entry by entry and adds up?",
                "products = -(state.unsqueeze(-2) - patterns).square().sum(-1)",
                "products = -(state.unsqueeze(-2) - patterns).square().sum(-1) / 2",
                "products = -(state.unsqueeze(-2) - patterns).square().sum(-1) / 2\nslope = -match\nfloor = 0.0",
                "products = -(state.unsqueeze(-2) - patterns).square().sum(-1) / 2\nslope = -match"),
        CLAMPED,
        mistake("one energy for all", "One number came back for all states, or all got that of the first. Each state "
                "has its own energy: which axes are left?", "return energy.sum()", "return energy.mean()",
                "return energy.reshape(-1)[0].expand(energy.shape)", "return energy.reshape(-1)[0]"),
        mistake("the gradient instead of the energy", "This is state minus update, the energy's slope. The energy "
                "itself is one number for each state.", "return state - torch.softmax(scores, -1) @ patterns",
                "return torch.softmax(scores, -1) @ patterns - state"),
        cut_off("own = state.detach().square().sum(-1) / 2", "match = total.detach() / beta",
                "largest = patterns.detach().square().sum(-1).amax()", "products = state @ patterns.detach().mT",
                "products = state.detach() @ patterns.mT", "largest = patterns.square().sum(-1).amax().item()",
                "energy = (own - match + count + bound).detach()", "bound = largest.detach() / 2"),
        through_numpy("return torch.from_numpy(energy.detach().numpy())"),
        overwritten(*writing(hopfield_energy, 0, 1)),
        *saying((squeezed("return energy{}"),), {
            "squeeze takes too many axes": "With one state an axis is lost: `squeeze()` without a number removes every "
                "axis of size 1, and with a number an axis that is not always of size 1. Which one did you mean?",
        }),
        left_in("return energy{}"),
        *other_kinds("energy"),
        lower_precision(hopfield_energy, "products = (state.float() @ patterns.float().mT).to(state.dtype)"),
    ),
    laws=(Law("the two constants keep the energy from going below 0", _below_zero),),
    hints=(
        "Four terms, and the last two are the same for every state. Write each on its own line.",
        "The sum in the first runs over the patterns. For large scores its exponentials overflow: torch has one "
        "function for the logarithm of a sum of exponentials.",
        "Which of the four are divided by β? Both logarithms, and nothing else.",
        "M² is the largest squared length of a pattern: square, sum over the features, then the maximum over the "
        "patterns.",
    ),
)
