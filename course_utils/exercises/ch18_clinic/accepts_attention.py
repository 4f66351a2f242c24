"""Exercise: a test that accepts every right attention and refuses the faults of published ones."""

from course_utils.checking.exercise import exercise
from course_utils.checking.mistakes import adding, mistake
from course_utils.clinic import accepts_attention
from course_utils.exercises.shared.planted import VERDICT, global_random, planted
from course_utils.exercises.shared.planted import attempt as attempt
from course_utils.exercises.shared.planted import caught as caught
from course_utils.exercises.shared.planted import close as close
from course_utils.exercises.shared.planted import copied as copied
from course_utils.exercises.shared.planted import draw as draw
from course_utils.exercises.shared.planted import near as near
from course_utils.exercises.shared.planted import shape as shape
from torch import Tensor
from torch.nn import functional as functional

RIGHT = """
def accepts_attention(attention):
    implementation = attention
    generator = torch.Generator().manual_seed(0)
    L, S, d_k, d_v = 5, 7, 4, 6
    leads = ((2,),)
    size = 1.0
    answers = []
    for lead in leads:
        query = size * draw(generator, *lead, L, d_k)
        key = size * draw(generator, *lead, S, d_k)
        value = draw(generator, *lead, S, d_v)
        mask = torch.rand(L, S, generator=generator) < 0.5
        mask[1] = False
        masks = (None, mask)
        for attn_mask in masks:
            given = (query, key, value, attn_mask)
            want = scaled_dot_product_attention(query, key, value, attn_mask)
            handed = copied(given)
            out = attempt(implementation, *handed)
            kept = all(torch.equal(a, b) for a, b in zip(handed, given) if a is not None)
            same = close(out, want)
            answers.append(kept and same)
    accepted = all(answers)
    return accepted
"""


def own(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float, low: float) -> Tensor:
    """Attend by a formula of somebody's own; an empty row is what `low` makes of it."""
    scores = query @ key.mT * scale
    scores = scores if mask is None else scores.masked_fill(~mask, low)
    return scores.softmax(-1) @ value


def outside(mask: Tensor) -> Tensor:
    """Return the mask with its empty rows opened."""
    return mask | ~mask.any(-1, keepdim=True)


_SAME_NAN = "same = shape(out) == want.shape and torch.allclose(out, want, rtol=0, atol=1e-8, equal_nan=True)"

EXERCISE = exercise(
    accepts_attention,
    right=RIGHT,
    asks="Write a test that accepts every right scaled dot-product attention and refuses every faulty one.",
    minutes=14,
    difficulty=3,
    importance=5,
    callable_apart=False,  # a fault that changes its input has to be seen by the test
    cases=planted("accepts_attention"),
    mistakes=(
        *adding(VERDICT, {"equality to the last bit": (
            "want = functional.scaled_dot_product_attention(query, key, value, attn_mask).nan_to_num(0.0)\n"
            "same = torch.equal(out, want) if shape(out) else False",),
            "errors that escape": ("out = caught(RuntimeError, implementation, *handed)",
                                   "out = caught((RuntimeError, ValueError), implementation, *handed)")}),
        global_random("query = torch.randn(*lead, L, d_k, dtype=torch.float64)"),
        mistake("too much room", "Faults that change the numbers are forgiven: the tolerance is far larger than "
                "rounding.", *(f"same = near(out, want, {room})" for room in (0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 1.5))),
        mistake("inputs that are all alike", "The average of equal values is that value, whatever the weights, and "
                "equal scores stay equal, whatever their scale. Which numbers must differ, and by how much? Or are "
                "they not compared at all?",
                "value = torch.ones(*lead, S, d_v, dtype=torch.float64)",
                "value = torch.zeros(*lead, S, d_v, dtype=torch.float64)",
                "value = torch.ones(*lead, S, d_v, dtype=torch.float64)\nmask[1] = True",
                "query = torch.ones(*lead, L, d_k, dtype=torch.float64)\n"
                "key = torch.ones(*lead, S, d_k, dtype=torch.float64)",
                "key = torch.ones(*lead, S, d_k, dtype=torch.float64)",
                "query = torch.zeros(*lead, L, d_k, dtype=torch.float64)", "size = 1e-6", "size = 1e-9"),
        mistake("sizes that are equal", "An implementation that takes the root of the wrong size was accepted. Are two "
                "of your sizes the same number? Or does the comparison leave more room than rounding needs?",
                "L, S, d_k, d_v = 5, 5, 5, 5", "L, S, d_k, d_v = 5, 7, 6, 6", "L, S, d_k, d_v = 5, 4, 4, 6",
                "L, S, d_k, d_v = 4, 4, 4, 4", "L, S, d_k, d_v = 6, 6, 6, 6"),
        mistake("one key", "There is one key, and a softmax over one number is 1 whatever the number. How many keys "
                "does it take for a scale to show?", "L, S, d_k, d_v = 5, 1, 4, 6"),
        mistake("width 1", "With queries of width 1, roots and powers of the width are all 1. Which width tells them "
                "apart?", "L, S, d_k, d_v = 5, 7, 1, 6"),
        mistake("no mask tried", "No mask hides anything in this test, so whatever is done with one goes unnoticed. "
                "Which inputs does an attention have?", "masks = (None,)", "masks = (None, None)",
                "mask = torch.ones(L, S, dtype=torch.bool)\nmask[1] = True"),
        mistake("a mask at every call", "The mask may be left out, and this test never does. What is an attention to "
                "do without one?", "masks = (mask,)", "masks = (torch.ones(L, S, dtype=torch.bool), mask)"),
        mistake("no empty row", "No query of this test sees nothing, and that row is where many attentions go wrong. "
                "What does the contract promise for it?", "mask[1] = True",
                "mask = causal_mask(L, S, S - L)\nmask[1] = mask[1]", "mask = causal_mask(L, S)\nmask[1] = mask[1]",
                "rows = slice(None) if attn_mask is None else attn_mask.any(-1)\n"
                "same = shape(out) == want.shape and close(out[..., rows, :], want[..., rows, :])"),
        mistake("NaN counts as right", "The test accepts NaN where it should find zeros. How does its comparison treat "
                "NaN?", "same = shape(out) == want.shape and not ((out - want).abs() > 1e-8).any()",
                "same = shape(out) == want.shape and close(out.nan_to_num(0.0), want)"),
        mistake("NaN expected on an empty row", "The test's own formula gives NaN where a query sees nothing, so it "
                "refuses implementations that give zeros there. What does the contract say?",
                f"want = own(query, key, value, attn_mask, 1 / math.sqrt(d_k), -torch.inf)\n{_SAME_NAN}"),
        mistake("the mean expected on an empty row", "The test's own formula gives the mean of all values where a "
                "query sees nothing. What does the contract say?",
                "want = own(query, key, value, attn_mask, 1 / math.sqrt(d_k), -1e9)"),
        mistake("a wrong scale expected", "The test's own formula scales differently from the contract, so right "
                "implementations are refused. By what are the scores divided?",
                *(f"want = scaled_dot_product_attention(query, key, value, attn_mask, scale={scale})"
                  for scale in ("1.0", "1 / d_k", "d_v**-0.5", "S**-0.5"))),
        mistake("the mask read the other way round", "The test takes True for hidden. In this course, and in PyTorch's "
                "operator, True means may attend.", "want = scaled_dot_product_attention(query, key, value, "
                "None if attn_mask is None else ~attn_mask)"),
        mistake("a changed input not noticed", "An implementation that writes into its input was accepted. What do the "
                "inputs hold after the call, and with what can that be compared?",
                "kept = True", "handed = given", "kept = torch.equal(handed[1], key)",
                "kept = torch.equal(handed[0], query)", "kept = torch.equal(handed[0], query) and "
                "torch.equal(handed[1], key) and torch.equal(handed[2], value)",
                "kept = attn_mask is None or torch.equal(handed[3], attn_mask)"),
        mistake("inputs of another dtype", "The implementations are promised float64, and some of them take nothing "
                "else. Which dtype do these inputs have?",
                "query = draw(generator, *lead, L, d_k).float()\nkey = draw(generator, *lead, S, d_k).float()\n"
                "value = draw(generator, *lead, S, d_v).float()\nsame = near(out, want, 1e-5)"),
        mistake("too many tokens", "The implementations are promised at most 64 tokens, and some of them take no more.",
                "L, S, d_k, d_v = 70, 80, 4, 6", "L, S, d_k, d_v = 5, 100, 4, 6", "L, S, d_k, d_v = 128, 128, 4, 6"),
        mistake("too many leading axes", "The contract names zero to two axes before the tokens; here there are more.",
                "leads = ((2, 3, 2),)", "leads = ((1, 2, 3),)", "leads = ((), (2,), (2, 3), (2, 3, 2))"),
        mistake("a mask that is not boolean", "The contract promises boolean masks, and some implementations take no "
                "others. What do 0 and minus infinity become under a boolean rule?",
                "zeros = torch.zeros(L, S, dtype=torch.float64)\n"
                "given = (query, key, value, attn_mask if attn_mask is None else "
                "zeros.masked_fill(~attn_mask, -torch.inf))"),
    ),
    hints=(
        "You need something to compare with, inputs, and a comparison. The package has a right attention: which inputs "
        "would make each of the faults give a different number?",
        "If the widths of keys and values are the same number, nobody can see which of the two was used. The same goes "
        "for the number of keys.",
        "Try each set of inputs without a mask and with one. One of the queries should see nothing at all.",
        "Hand in copies, and look at them afterwards. And an implementation that raises is to be refused, not to end "
        "your test: which Python statement is made for that?",
        "A comparison to rounding says False for NaN if it asks whether the distance is small, and True if it asks "
        "whether it is not large.",
    ),
)  # fmt: skip
