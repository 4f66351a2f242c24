"""Exercise: the selective scan of a state space model, token by token."""

import torch
from course_utils.attention import selective_scan
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake, saying
from course_utils.exercises.shared.kinds import (
    batch_mixed,
    cut_off,
    other_kinds,
    overwritten,
    squeezed,
    through_numpy,
    writing,
)  # fmt: skip
from course_utils.exercises.shared.precision import lower_precision
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


_RUNNING_ON = """
def selective_scan(x, delta, A, B, C, D):
    state, found = torch.zeros_like(A), []
    for b in range(x.shape[0]):
        rows = []
        for t in range(x.shape[1]):
            state = (delta[b, t].unsqueeze(-1) * A).exp() * state + torch.outer(delta[b, t] * x[b, t], B[b, t])
            rows.append(state @ C[b, t] + D * x[b, t])
        found.append(torch.stack(rows))
    return torch.stack(found)
"""

EXERCISE = exercise(
    selective_scan,
    right=RIGHT,
    asks="Run every channel's recurrence, with the step size that each token chooses.",
    minutes=12,
    difficulty=4,
    importance=4,
    cases=(
        case("a batch of 3 tokens", _made(2, 3, 4, 5), gradient="equal"),
        case("every size 3", _made(3, 3, 3, 3), gradient="equal"),
        case("one token", _made(1, 1, 2, 3)),
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
                "does it do where delta A is below -2?", "keep = 1 + step.unsqueeze(-1) * A"),
        mistake("another rule than the exponential", "The fade is a fraction in delta A, as in the implicit or the "
                "bilinear rule of other state space models. What is exact for a constant rate A?",
                "keep = 1 / (1 - step.unsqueeze(-1) * A)",
                "keep = (1 + step.unsqueeze(-1) * A / 2) / (1 - step.unsqueeze(-1) * A / 2)",
                "keep = (1 + step.unsqueeze(-1) * A / 2) / (1 - step.unsqueeze(-1) * A / 2)\n"
                "added = force.unsqueeze(-1) * write.unsqueeze(-2) / (1 - step.unsqueeze(-1) * A / 2)",
                "keep = 1 / (1 - step.unsqueeze(-1) * A)\n"
                "added = force.unsqueeze(-1) * write.unsqueeze(-2) / (1 - step.unsqueeze(-1) * A)"),
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
        mistake("A one for all channels or numbers", "All channels, or all n numbers of a channel, fade at one and "
                "the same rate. Which shape does A have?", "keep = (step.unsqueeze(-1) * A[:1]).exp()",
                "keep = (step.unsqueeze(-1) * A.mean(0)).exp()", "keep = (step.unsqueeze(-1) * A[:, :1]).exp()",
                "keep = (step.unsqueeze(-1) * A.mean(1, keepdim=True)).exp()",
                "keep = (step.unsqueeze(-1) * A.mean()).exp()"),
        mistake("A not used", "The state fades by the step size alone. Which argument says how fast each number fades?",
                "keep = (-step.unsqueeze(-1) * torch.ones_like(A)).exp()",
                "keep = 1 - step.unsqueeze(-1) * torch.ones_like(A)"),
        mistake("x through a function", "x went through a function first, as in the block around Mamba's scan. It "
                "comes ready for use.", *(f"force = step * {call}(x[:, t])\ndirect = D * {call}(x)" for call in (
                    "F.silu", "F.softplus", "F.relu", "F.gelu", "torch.tanh")),
                "force = step * F.silu(x[:, t])"),
        mistake("D forgotten", "Nothing of x goes straight to the output. What is D for?", "out = scanned"),
        mistake("D without x", "D was added as it is, or x without D. What does D multiply?", "direct = D",
                "direct = x"),
        mistake("D meets something else", "D multiplies numbers other than x. What goes straight to the output?",
                "direct = D * delta * x", "out = D * (scanned + x)", "out = D * scanned", "direct = D * x[:, :1]",
                "direct = D.sum() * x", "direct = D.mean() * x"),
        mistake("D inside the state", "D times x was written into the state, or read through C. What goes past the "
                "state?", "added = force.unsqueeze(-1) * write.unsqueeze(-2) + (D * x[:, t]).unsqueeze(-1)\n"
                "out = scanned", "force = step * x[:, t] + D * x[:, t]\nout = scanned"),
        mistake("D counted twice", "x goes straight to the output twice. How often does D times x belong there?",
                "out = scanned + 2 * direct"),
        mistake("a residual inside", "x itself was added to the output. The residual connection stands around the "
                "scan; what does D do with x?", "out = scanned + direct + x"),
        mistake("delta one for all tokens", "Every token has the same step size. What makes the scan selective?",
                "step = delta[:, 0]", "step = delta.mean(1)", "step = delta[:, -1]",
                *(f"step = delta{one}\nwrite = B{one}\nweights = C{one}" for one in ("[:, 0]", ".mean(1)"))),
        mistake("delta one for all channels", "All channels share a step size. Which shape does delta have?",
                "step = delta[:, t].mean(-1, keepdim=True).expand(-1, x.shape[-1])",
                "step = delta[:, t, :1].expand(-1, x.shape[-1])"),
        mistake("B or C one for all tokens", "Every token is written, or read, with the same vector. Which of them "
                "come from the token?", "write = B[:, 0]", "weights = C[:, 0]", "write = B.mean(1)",
                "weights = C.mean(1)", "weights = C[:, -1]", "write = B[:, 0]\nweights = C[:, 0]"),
        mistake("B not used", "The token is written alike into all n numbers of a channel. Which vector says how much "
                "each of them gets?", "write = torch.ones_like(B[:, t])"),
        mistake("the step of another token", "The state fades, or the token is written, by the step size of the token "
                "before or after. Whose delta is it that decides when token t comes?",
                "keep = (delta[:, max(t - 1, 0)].unsqueeze(-1) * A).exp()",
                "keep = (delta[:, min(t + 1, x.shape[1] - 1)].unsqueeze(-1) * A).exp()",
                "step = delta[:, max(t - 1, 0)]", "step = delta[:, min(t + 1, x.shape[1] - 1)]",
                "force = delta[:, max(t - 1, 0)] * x[:, t]"),
        mistake("the token before written", "What enters the state at token t is the x of the token before. Which x is "
                "the newest in h_t?", "force = step * (x[:, t - 1] if t else torch.zeros_like(x[:, t]))",
                "force = step * x[:, max(t - 1, 0)]",
                "force = delta[:, t - 1] * x[:, t - 1] if t else torch.zeros_like(x[:, t])\nwrite = B[:, max(t - 1, "
                "0)]",
                "force = step * x[:, t - 1] if t else torch.zeros_like(x[:, t])\nwrite = B[:, max(t - 1, 0)]"),
        mistake("another start than 0", "Before the first token the state is not 0, or the first token is written in "
                "another way than those that follow. What is h before anything was seen?",
                "start = torch.ones(x.shape[0], x.shape[2], A.shape[1], dtype=x.dtype)",
                "start = x[:, 0].unsqueeze(-1) * B[:, 0].unsqueeze(-2)",
                "force = step * x[:, t] if t else x[:, t]", "force = step * x[:, t] if t else torch.zeros_like(x[:, "
                "t])"),
        mistake("channels added together", "Every channel has the same state: what is written was added up over the "
                "channels. What does each of the d channels keep for itself?",
                "added = (force.unsqueeze(-1) * write.unsqueeze(-2)).sum(1, keepdim=True).expand(-1, x.shape[2], -1)",
                "added = (force.unsqueeze(-1) * write.unsqueeze(-2)).mean(1, keepdim=True).expand(-1, x.shape[2], -1)"),
        mistake("B and C swapped", "The token is written with C and read with B. Which of them belongs to the input?",
                "write = C[:, t]\nweights = B[:, t]"),
        mistake("B for C", "The state is read, or written, with the wrong one of B and C.", "weights = B[:, t]",
                "write = C[:, t]"),
        mistake("a token late", "Each row holds what the token before it has read. Which rows are these, if they are "
                "counted from the first token?", "scanned = torch.stack([torch.zeros_like(rows[0]), *rows[:-1]], 1)",
                "scanned = torch.stack([*rows[1:], torch.zeros_like(rows[0])], 1)",
                "scanned = torch.stack([*rows[1:], rows[-1]], 1)"),
        mistake("not causal", "Tokens of the future are in the sums. Which tokens may be written when token t is read?",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    total = (delta.unsqueeze(-1) * A).cumsum(1)\n"
                "    ages = (total.unsqueeze(2) - total.unsqueeze(1)).exp()\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    return torch.einsum('btsdn,bsdn,btn->btd', ages, added, C) + D * x",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    total = (delta.unsqueeze(-1) * A).cumsum(1)\n"
                "    ages = (-(total.unsqueeze(2) - total.unsqueeze(1)).abs()).exp()\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    return torch.einsum('btsdn,bsdn,btn->btd', ages, added, C) + D * x"),
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
                "    return ((gone * (added / gone).cumsum(1)) @ C.unsqueeze(-1)).squeeze(-1) + D * x",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    gone = (delta.unsqueeze(-1) * A).cumsum(1).exp()\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    return ((gone * (added / (gone + 1e-12)).cumsum(1)) @ C.unsqueeze(-1)).squeeze(-1) + D * x",
                "def selective_scan(x, delta, A, B, C, D):\n"
                "    gone = (delta.unsqueeze(-1) * A).cumsum(1).exp()\n"
                "    added = (delta * x).unsqueeze(-1) * B.unsqueeze(-2)\n"
                "    return ((gone * (added / gone.clamp(min=1e-12)).cumsum(1)) @ C.unsqueeze(-1)).squeeze(-1) + D * "
                "x"),
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
        mistake("the last token alone returned", "Only what the last token reads came back. What is asked for each "
                "token?", "return out[:, -1]", "return out[:, -1:]"),
        mistake("the state returned too", "The last state came back as well, as Mamba's own function can do. Only the "
                "output is asked for.", "return out, states[-1]"),
        mistake("the states returned", "The states came back. What does C make of them, and what does D add?",
                "return torch.stack(states[1:], 1)", "return torch.stack(states, 1)", "return states[-1]"),
        mistake("tokens before sequences", "The result has the tokens before the sequences of the batch. Along which "
                "axis are the rows put together?", "return out.transpose(0, 1)"),
        mistake("channels before tokens", "The result has the channels before the tokens, as Mamba's own scan has. "
                "Which order has (batch, L, d)?", "return out.mT"),
        *saying((batch_mixed("write = B[:1, t]", "weights = C[:1, t].expand(len(x), -1)", "step = delta[:1, t]",
                    "states = [start[:1]]\nadded = (force.unsqueeze(-1) * write.unsqueeze(-2))[:1]", _RUNNING_ON),),
                {"the sequences of a batch mixed": "One sequence's numbers were used for all, or the state of one went "
                 "on into the next. Each sequence begins with a state of zeros and has tokens of its own."}),
        mistake("the past cut off from the gradient", "The values are right, but each token learns from its own step "
                "alone: the state that it starts from counts as a constant. Which line detaches it?",
                "past = states[-1].detach()"),
        cut_off("step = delta[:, t].detach()", "keep = (step.unsqueeze(-1) * "
                "A.detach()).exp()", "write = B[:, t].detach()", "direct = D.detach() * x",
                "direct = D * x.detach()"),
        through_numpy("x, delta, A, B, C, D = (torch.from_numpy(part.detach().numpy()) for part in (x, delta, A, B, "
                "C, D))\n"
                      "start = torch.zeros(x.shape[0], x.shape[2], A.shape[1], dtype=x.dtype)"),
        squeezed("return out{}"),
        overwritten(*writing(selective_scan, 0, 1, 2, 3, 4, 5)),
        *other_kinds("out"),
        lower_precision(selective_scan, "scanned = torch.stack(rows, 1).float().to(x.dtype)"),
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
