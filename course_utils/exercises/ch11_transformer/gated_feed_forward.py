"""Exercise: the feed-forward layer of Llama, in which one half gates the other."""

from course_utils.checking.exercise import case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import TOKENS, cut_off, multiplied, other_kinds, overwritten, random_inside
from course_utils.models import gated_feed_forward

RIGHT = """
def gated_feed_forward(x, W_gate, W_up, W_down):
    gate = x @ W_gate
    up = x @ W_up
    opened = torch.sigmoid(gate)
    bent = gate * opened
    product = bent * up
    back = product @ W_down
    out = back
    return out
"""

EXERCISE = exercise(
    gated_feed_forward,
    right=RIGHT,
    asks="Widen twice, pass one through SiLU, multiply the two entry by entry, and bring the product back.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("2 sequences of 3 tokens, width 4, hidden 7", batch=(2, 3), d_model=4, d_ff=7, gradient="equal"),
        case("one token, width 3, hidden 5", d_model=3, d_ff=5, gradient="equal"),
        case("every size is 4", batch=(4, 4), d_model=4, d_ff=4),
        case("a hidden layer that is narrower", batch=(3,), d_model=6, d_ff=2),
        case("one feature", batch=(2,), d_model=1, d_ff=1),
        case("three leading axes", batch=(2, 1, 3), d_model=3, d_ff=5),
        case("large numbers", batch=(2, 3), d_model=3, d_ff=5, size=12.0, dtype="float32", gradient="finite"),
        case("non-contiguous inputs", batch=(2, 3), d_model=4, d_ff=7, strided=True),
        case("float32", batch=(2, 3), d_model=4, d_ff=7, dtype="float32"),
        case("bfloat16", batch=(2, 3), d_model=4, d_ff=7, dtype="bfloat16"),
    ),
    mistakes=(
        mistake("gate and up exchanged", "SiLU was applied to the other half: weights copied from a Llama would give a "
                "different model. Which matrix makes the input of SiLU?", "gate = x @ W_up\nup = x @ W_gate"),
        mistake("a sigmoid gate", "The gate is σ(z), as in the first gated layers (GLU). Here it is SiLU: what is σ(z) "
                "multiplied by?", "bent = opened"),
        mistake("GELU as the gate", "The gate is GELU, which makes it GEGLU, as in T5 v1.1. What is SiLU?",
                "bent = F.gelu(gate)", "bent = F.gelu(gate, approximate='tanh')"),
        mistake("ReLU as the gate", "The gate is ReLU, which makes it ReGLU. What is SiLU?",
                "bent = gate.clamp_min(0)"),
        mistake("an exponential that overflows", "Where z is large, of either sign, NaN comes out, or comes back: e to "
                "the power z has become infinite, and infinity over infinity is nothing. Which function does it all "
                "at once?", "opened = gate.exp() / (1 + gate.exp())", "bent = gate * gate.exp() / (1 + gate.exp())",
                "opened = 1 / (1 + torch.exp(-gate))", "bent = gate / (1 + torch.exp(-gate))"),
        mistake("another function as the gate", "The gate is another function. SiLU takes its name from the sigmoid: "
                "what does the sigmoid multiply?", "bent = torch.tanh(gate)",
                "opened = torch.sigmoid(1.702 * gate)", "bent = F.softplus(gate)", "opened = torch.tanh(gate)",
                "bent = F.mish(gate)", "bent = torch.softmax(gate, -1)", "opened = torch.sigmoid(-gate)",
                "bent = gate * opened * (1 - opened)", "bent = F.hardswish(gate)", "bent = F.elu(gate)",
                "opened = 1 / (1 - torch.exp(-gate))", "opened = 1 / (1 + torch.exp(gate))",
                "opened = torch.softmax(gate, -1)", "opened = F.hardsigmoid(gate)", "bent = -gate * opened",
                "bent = F.logsigmoid(gate)", "bent = gate.exp() / (1 + gate.exp()).square()",
                "opened = 1 / (1 + torch.exp(-gate.abs()))", "bent = gate * gate.exp()", "bent = F.leaky_relu(gate)",
                "bent = gate + opened", "bent = gate.square() * opened"),
        mistake("the gate cut off", "Large numbers were cut off on the way to the gate, so what it lets through stops "
                "growing. What is cut off in the formula?", *(f"bent = gate.clamp(-{n}, {n}) * opened" for n in (
                    10, 20, 30, 50, 88))),
        mistake("no activation", "Nothing is bent: the product of two linear maps alone. What does the gate pass "
                "through?", "bent = gate"),
        mistake("SiLU on the product", "SiLU was applied after the two halves were multiplied. Which of them does it "
                "bend?", "bent = gate\nproduct = F.silu(gate * up)"),
        mistake("SiLU on both halves", "Both halves were bent. One carries what is let through as it is: which?",
                "product = bent * F.silu(up)"),
        mistake("SiLU on the input", "SiLU bends x itself, before the product. What passes through it?",
                "gate = F.silu(x) @ W_gate\nbent = gate", "up = F.silu(x) @ W_up", "gate = F.silu(x) @ W_gate"),
        mistake("the halves brought back first", "Each half was brought back to the width of the stream, and they met "
                "there. How wide are they when they meet?", "out = (bent @ W_down) * (up @ W_down)"),
        mistake("SiLU on the output", "SiLU bends what leaves the layer, so it could hardly subtract from the stream.",
                "bent = gate\nout = F.silu(back)", "out = F.silu(back)"),
        mistake("the halves added", "The halves were added. What does a gate do to what it lets through?",
                "product = bent + up"),
        mistake("the gate left out", "Only one half is used; the other changes nothing.", "product = bent",
                "product = up", "product = F.silu(up)", "product = opened"),
        mistake("the gate used twice", "The same half is on both sides of the product. Where is the other matrix?",
                "up = gate", "product = bent * gate", "gate = x @ W_up"),
        mistake("a product of matrices instead of entries", "The halves were multiplied as matrices: tokens were "
                "mixed. Which product keeps every token to itself?", "product = (bent @ up.mT) @ up"),
        mistake("the input added", "The input was added to the output. The residual belongs to the layer around this "
                "one. What is asked for here?", "out = x + back"),
        mistake("a matrix transposed", "A matrix was applied transposed, as an `nn.Linear` keeps its own. Which axis "
                "of W_gate has the width of the stream here?", "gate = x @ W_gate.mT", "up = x @ W_up.mT",
                "back = product @ W_down.mT", "gate = x @ W_gate.mT\nup = x @ W_up.mT\nback = product @ W_down.mT",
                "gate = F.linear(x, W_gate)\nup = F.linear(x, W_up)\nback = F.linear(product, W_down)",
                "gate = F.linear(x, W_gate)"),
        mistake("a wide matrix on the way back", "One of the matrices that widen was used to bring the product back, "
                "turned round. Which matrix is as long as the hidden layer?", "back = product @ W_up.mT",
                "back = product @ W_gate.mT"),
        mistake("not brought back", "The product is as wide as the hidden layer. How wide is the stream that it will "
                "be added to?", "out = product"),
        mistake("the matrices gated", "The matrices were multiplied with each other before they met a token, so "
                "nothing depends on the token but one product. What does each of them make of x first?",
                "product = x @ (F.silu(W_gate) * W_up)", "product = x @ F.silu(W_gate) * (x @ W_up)",
                "product = x @ (W_gate * W_up)"),
        mistake("one gate for all", "The gate of one token, of one hidden number or their average was used for all. "
                "How many gates does a token have?", "product = bent[..., :1, :] * up", "product = bent[..., :1] * up",
                "product = bent.mean(-1, keepdim=True) * up", "product = bent.mean(-2, keepdim=True) * up",
                "product = bent[:1] * up"),
        mistake("a hidden number left out", "One number of the hidden layer has no effect. Where does your loop, or "
                "your slice, begin and end?", "back = product[..., :-1] @ W_down[:-1]",
                "back = product[..., 1:] @ W_down[1:]"),
        random_inside("back = torch.dropout(product, 0.1, True) @ W_down", "out = torch.dropout(back, 0.1, True)"),
        overwritten("out = x.copy_(back)", "out = x.add_(back)", "out = back + x.zero_()"),
        cut_off("return out.detach()", "product = bent.detach() * up", "product = bent * up.detach()",
                "opened = torch.sigmoid(gate).detach()", "gate = x.detach() @ W_gate", "up = x.detach() @ W_up",
                "back = product.detach() @ W_down"),
        *TOKENS,
        *other_kinds("out"),
        multiplied(gated_feed_forward, "return out / 2", "return 2 * out"),
    ),
    hints=(
        "Two matrices widen the same x. What happens to one of the results before they meet?",
        "SiLU is z·σ(z), also called Swish. Written with `exp`, it must survive z of hundreds, of either sign, and so "
        "must its derivative: torch has functions that do.",
        "The two halves meet entry by entry (`*`), and one matrix brings the product back.",
    ),
)
