"""Checks of the claims of chapter 12 about objectives and dropout."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.claims._inputs import draw
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.models import mask_tokens


@recomputes("12-07")
def dropout_is_applied() -> Finding:
    """A layer with self.dropout that forward never calls: two passes in training mode."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dropout = nn.Dropout(0.5)

        def forward(self, x: Tensor) -> Tensor:
            return x + torch.tanh(x)

    layer = Layer().train()
    same = torch.equal(layer(draw(3, 4)), layer(draw(3, 4)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        called = torch.equal(layer.dropout(layer(draw(3, 4))), layer.dropout(layer(draw(3, 4))))
    return weigh(
        f"two passes in training mode are equal: {same}; with the call: {called}",
        holds=not same,
        amended=not called,
    )


@recomputes("12-13")
def bert_masks_15_percent() -> Finding:
    """What becomes of 200,000 tokens: [MASK], another, unchanged but selected."""
    tokens = torch.randint(5, 1000, (200, 1000), generator=torch.Generator().manual_seed(0))
    inputs, labels = mask_tokens(tokens, 4, 1000, [0], torch.Generator().manual_seed(1))
    chosen = labels >= 0
    hidden = inputs == 4
    other = (inputs != tokens) & ~hidden
    kept = chosen & (inputs == tokens)
    parts = [100 * float(part.double().mean()) for part in (chosen, hidden, other, kept)]
    return weigh(
        f"{parts[0]:.0f} % selected; {parts[1]:.0f} % become [MASK], {parts[2]:.1f} % another, "
        f"{parts[3]:.1f} % stay",
        holds=abs(parts[1] - 15) < 0.5,
        amended=abs(parts[0] - 15) < 0.5,
    )


@recomputes("12-14")
def next_sentence_loss() -> Finding:
    """-log P(IsNext) for all pairs, against -log(1 - P) for those that do not follow."""
    follows = torch.tensor([1.0, 0.0] * 50)
    told = {}
    for name in ("printed", "both"):
        logit = torch.zeros((), requires_grad=True)
        for _ in range(400):
            loss = F.softplus(-logit)
            if name == "both":
                loss = (follows * loss + (1 - follows) * F.softplus(logit)).mean()
            (slope,) = torch.autograd.grad(loss, logit)
            logit = (logit - slope).detach().requires_grad_()
        told[name] = float(logit.sigmoid().detach())
    return weigh(
        f"trained as printed, P(IsNext) goes to {told['printed']:.3f} for every pair; with both "
        f"terms to {told['both']:.3f}",
        holds=abs(told["printed"] - 0.5) < 0.1,
        amended=abs(told["both"] - 0.5) < 0.01,
    )
