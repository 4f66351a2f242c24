"""Exercise: the selective scan of a state space model, token by token."""

import torch
from course_utils.attention import selective_scan
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, squeezed
from torch import Tensor

RIGHT = """
def selective_scan(x, delta, A, B, C, D):
    start = torch.zeros(x.shape[0], x.shape[2], A.shape[1], dtype=x.dtype)
    states = [start]
    rows = []
    for t in range(x.shape[1]):
        step = delta[:, t]
        keep = (step.unsqueeze(-1) * A).exp()
        force = step * x[:, t]
        write = B[:, t]
        added = force.unsqueeze(-1) * write.unsqueeze(-2)
        past = states[-1]
        new = keep * past + added
        read = new
        weights = C[:, t]
        row = (read @ weights.unsqueeze(-1)).squeeze(-1)
        states.append(new)
        rows.append(row)
    scanned = torch.stack(rows, 1)
    direct = D * x
    out = scanned + direct
    return out
"""


def _made(batch: int, L: int, d: int, n: int, *, delta: float = 1.0, size: float = 1.0, dtype: str = "float64",
          apart: bool = False, D: float | None = None) -> Make:
    """Return a maker of a sequence whose step sizes are below `delta`, and of rates from -0.2 to -1."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        x, B, C = (normal(g, batch, L, width, size=size, dtype=kind) for width in (d, n, n))
        steps = (delta * torch.rand(batch, L, d, generator=g, dtype=torch.float64) + 0.01).to(kind)
        A = (-0.2 - 0.8 * torch.rand(d, n, generator=g, dtype=torch.float64)).to(kind)
        through = normal(g, d, dtype=kind) + 1.0 if D is None else torch.full((d,), D, dtype=kind)
        made = x, steps, A, B, C, through
        return tuple(strided(part) if part.dim() > 1 else part for part in made) if apart else made

    return make


EXERCISE = exercise(
    selective_scan,
    right=RIGHT,
    asks="Run every channel's recurrence, with the step size that each token chooses.",
    minutes=12,
    difficulty=4,
    importance=4,
    cases=(
        case("one token", _made(1, 1, 2, 3)),
        case("two tokens, without D", _made(1, 2, 2, 3, D=0.0)),
        case("every size 3", _made(3, 3, 3, 3), gradient="equal"),
        case("a batch of 5 tokens", _made(2, 5, 3, 4), gradient="equal"),
        case("one channel, one number of state", _made(2, 4, 1, 1)),
        case("step sizes near 0", _made(2, 5, 3, 2, delta=0.01)),
        case("large step sizes", _made(2, 6, 3, 2, delta=6.0)),
        case("non-contiguous inputs", _made(2, 5, 3, 4, apart=True)),
        case("float32", _made(2, 7, 4, 3, dtype="float32"), tolerance=1e-4),
        case("bfloat16", _made(2, 3, 4, 2, dtype="bfloat16"), tolerance=0.4),
        case("300 tokens, delta · A down to -16", _made(1, 300, 2, 2, delta=16.0), gradient="finite"),
    ),
    mistakes=(
        mistake("Euler's step for A", "The state is multiplied by 1 + delta A. That is the beginning of a series: what "
                "does it do where delta A is below -2?", "keep = 1 + step.unsqueeze(-1) * A",
                "keep = 1 / (1 - step.unsqueeze(-1) * A)",
                "keep = (1 + step.unsqueeze(-1) * A / 2) / (1 - step.unsqueeze(-1) * A / 2)"),
        mistake("another function than the exponential", "The fade is another function of delta A. How much is left of "
                "something that decays at the rate A for a time delta?",
                "keep = (step.unsqueeze(-1) * A).sigmoid()", "keep = torch.exp2(step.unsqueeze(-1) * A)",
                "keep = (step.unsqueeze(-1) * A).tanh() + 1", "keep = step.unsqueeze(-1) * A"),
        mistake("exact for B too", "What is written is the exact integral, (exp(delta A) - 1) / A · B. Mamba is exact "
                "for A and takes one step of Euler's for B: what stands in place of the integral?",
                "added = ((step.unsqueeze(-1) * A).expm1() / A) * x[:, t].unsqueeze(-1) * write.unsqueeze(-2)",
                "added = ((keep - 1) / A) * x[:, t].unsqueeze(-1) * write.unsqueeze(-2)",
                "added = ((keep - 1) / A) * force.unsqueeze(-1) * write.unsqueeze(-2)"),
        mistake("B without delta", "The token is written at full size, whatever its step size. What happens to a token "
                "with a step size near 0?", "force = x[:, t]"),
        mistake("delta twice", "The step size multiplies what is written twice. How often does it belong there?",
                "force = step * step * x[:, t]", "write = step.mean(-1, keepdim=True) * B[:, t]"),
        mistake("fade without delta", "The state fades by exp(A), whatever the step size. How does a token decide how "
                "much is forgotten?", "keep = A.exp()"),
        mistake("nothing fades", "The state keeps everything. What is it multiplied by before a token is added?",
                "keep = torch.ones_like(step.unsqueeze(-1) * A)"),
        mistake("the wrong sign of A", "The state grows. A is below 0 already, so what becomes of a second minus?",
                "keep = (-step.unsqueeze(-1) * A).exp()"),
        mistake("A taken for a logarithm", "A was sent through an exponential first, as models store it. Here it comes "
                "below 0, ready for use.", "keep = (-step.unsqueeze(-1) * A.exp()).exp()",
                "keep = (step.unsqueeze(-1) * A.exp()).exp()"),
        mistake("softplus inside", "The step size went through softplus once more. It is positive already.",
                "step = F.softplus(delta[:, t])", "step = delta[:, t].exp()", "step = delta[:, t].sigmoid()"),
        mistake("D forgotten", "Nothing of x goes straight to the output. What is D for?", "out = scanned"),
        mistake("D without x", "D was added as it is, or x without D. What does D multiply?", "direct = D",
                "direct = x"),
        mistake("D meets something else", "D multiplies numbers other than x. What goes straight to the output?",
                "direct = D * delta * x", "out = D * (scanned + x)", "out = D * scanned", "direct = D * x[:, :1]",
                "direct = D.sum() * x", "direct = D.mean() * x"),
        mistake("delta one for all tokens", "Every token has the same step size. What makes the scan selective?",
                "step = delta[:, 0]", "step = delta.mean(1)", "step = delta[:, -1]"),
        mistake("delta one for all channels", "All channels share a step size. Which shape does delta have?",
                "step = delta[:, t].mean(-1, keepdim=True).expand(-1, x.shape[-1])",
                "step = delta[:, t, :1].expand(-1, x.shape[-1])"),
        mistake("B or C one for all tokens", "Every token is written, or read, with the same vector. Which of them "
                "come from the token?", "write = B[:, 0]", "weights = C[:, 0]", "write = B.mean(1)",
                "weights = C.mean(1)", "weights = C[:, -1]", "write = B[:, 0]\nweights = C[:, 0]"),
        mistake("B and C swapped", "The token is written with C and read with B. Which of them belongs to the input?",
                "write = C[:, t]\nweights = B[:, t]"),
        mistake("B for C", "The state is read, or written, with the wrong one of B and C.", "weights = B[:, t]",
                "write = C[:, t]"),
        mistake("read before the write", "A token does not see itself. Which state does C_t meet, h_t or the one "
                "before?", "read = past", "read = keep * past"),
        mistake("fade after the write", "The new token is faded too. What is multiplied by exp(delta A)?",
                "new = keep * (past + added)"),
        mistake("the state not handed on", "Every token starts from zeros. What of the state before it?",
                "past = start"),
        mistake("the fade and its complement", "What is written is weighted by what is forgotten, as an average would "
                "do. Which number multiplies the token instead?", "new = keep * past + (1 - keep) * added",
                "added = (1 - keep) * x[:, t].unsqueeze(-1) * write.unsqueeze(-2)",
                "force = (1 - (-step).exp()) * x[:, t]"),
        mistake("a gate behind the scan", "The output went through a function at the end. Mamba's gate stands around "
                "the scan, not inside.", "out = F.silu(scanned + direct)", "out = F.silu(scanned) + direct",
                "out = (scanned + direct) * F.silu(x)"),
        mistake("division by a running product", "The sums were divided by the product of all fades so far. What "
                "is that product after 300 tokens, and what is 0 divided by it?",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    gone = (delta.unsqueeze(-1) * A).cumsum(1).exp()\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    return ((gone * (added / gone).cumsum(1)) @ C.unsqueeze(-1)).squeeze(-1) + D * x",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    gone = (delta.unsqueeze(-1) * A).exp().cumprod(1)\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    return ((gone * (added / gone).cumsum(1)) @ C.unsqueeze(-1)).squeeze(-1) + D * x",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    total = (delta.unsqueeze(-1) * A).cumsum(1)\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    return ((total.exp() * (added * (-total).exp()).cumsum(1)) @ C.unsqueeze(-1)).squeeze(-1) + D * x",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    total = (delta.unsqueeze(-1) * A).cumsum(1)\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    gone = total.exp() + 1e-12\n"
                "    return ((gone * (added / gone).cumsum(1)) @ C.unsqueeze(-1)).squeeze(-1) + D * x"),
        mistake("a product over later tokens made before the mask", "The fades between all pairs of tokens were taken "
                "of the future too, where they grow without bound. What is 0 times infinity, in the gradient too?",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    total = (delta.unsqueeze(-1) * A).cumsum(1)\n"
                "    ages = (total.unsqueeze(2) - total.unsqueeze(1)).exp()\n"
                "    past = torch.ones(x.shape[1], x.shape[1]).tril()[..., None, None].to(x.dtype)\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    return torch.einsum('btsdn,bsdn,btn->btd', ages * past, added, C) + D * x",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    total = (delta.unsqueeze(-1) * A).cumsum(1)\n"
                "    past = torch.ones(x.shape[1], x.shape[1]).tril()[..., None, None] > 0\n"
                "    ages = torch.where(past, (total.unsqueeze(2) - total.unsqueeze(1)).exp(), 0.0)\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    return torch.einsum('btsdn,bsdn,btn->btd', ages, added, C) + D * x"),
        mistake("a mean over the state", "The n numbers of a channel were averaged, or added up without C. How does C "
                "read them?", "row = (read * weights.unsqueeze(-2)).mean(-1)", "row = read.sum(-1)",
                "row = read.mean(-1)"),
        mistake("from the end to the start", "The scan runs backwards. Which tokens may the first one see?",
                "scanned = torch.stack(rows[::-1], 1)",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    back = [part.flip(1) for part in (x, delta)]\n"
                "    sides = [part.flip(1) for part in (B, C)]\n"
                "    return right(*back, A, *sides, D).flip(1)"),
        batch_mixed("write = B[:1, t]", "weights = C[:1, t].expand(len(x), -1)", "step = delta[:1, t]",
                    "states = [start[:1]]\nadded = (force.unsqueeze(-1) * write.unsqueeze(-2))[:1]"),
        cut_off("past = states[-1].detach()", "step = delta[:, t].detach()", "keep = (step.unsqueeze(-1) * "
                "A.detach()).exp()", "write = B[:, t].detach()", "direct = D.detach() * x",
                "direct = D * x.detach()"),
        squeezed("return out{}"),
    ),
    hints=(
        "One state of (batch, d, n), zeros at first, and a loop over the tokens: fade, add, read.",
        "`delta[:, t]` is (batch, d) and A is (d, n): with one more axis at the end, they meet in (batch, d, n), the "
        "exponent of the fade.",
        "What is added is an outer product: `delta * x`, one number per channel, and `B[:, t]`, one for each of the n.",
        "C_t reads each channel's n numbers, the new token among them: a sum over the last axis. D times x is added "
        "to it.",
    ),
)


def right(*given: Tensor) -> Tensor:
    """Return what is right, for mistakes that turn the inputs around."""
    return selective_scan(*given)
