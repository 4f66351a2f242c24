"""A mixture of experts: each token is sent to a few of many feed-forward layers.

Source: Shazeer et al. 2017, Outrageously Large Neural Networks, Eq. 1 and 3 to 5,
    https://arxiv.org/abs/1701.06538; the balance loss is Fedus et al. 2022, Switch Transformers,
    Eq. 4 to 6, https://arxiv.org/abs/2101.03961, for k choices as Mixtral has it
Ours / theirs: gates = G(x);  index = which experts;  experts = E_i
Differs: no noise on the logits and no capacity: no token is dropped
Same contract as: Σ_e g_e(x) Expert_e(x) over all experts, with g_e = 0 for those not chosen
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils.plain_validation import check_at_least
from course_utils.validation import check_float, check_integers, check_same_dtype, check_shape

Expert = Callable[[Tensor], Tensor]


def route_top_k(
    logits: Float[Tensor, "N E"], k: int
) -> tuple[Int[Tensor, "N k"], Float[Tensor, "N k"]]:
    """Return the k experts of each token, the likeliest first, and how much each of them counts.

    The gates are the softmax over the chosen logits alone: the one over all experts, renormalised.

    Args:
        logits: How well each expert suits each token.
        k: How many experts a token has.

    Raises:
        ValueError: k is not from 1 to the number of experts.
    """
    check_float("N E", logits=logits)
    check_at_least(1, k=k)
    if k > logits.shape[1]:
        raise ValueError(f"k must be from 1 to {logits.shape[1]} experts, got {k}")
    chosen, index = logits.topk(k, dim=-1)
    return index, chosen.softmax(dim=-1)


def mix_experts(
    x: Float[Tensor, "N d"],
    experts: Sequence[Expert],
    index: Int[Tensor, "N k"],
    gates: Float[Tensor, "N k"],
) -> Float[Tensor, "N d"]:
    """Return Σ_j gates[n, j] · experts[index[n, j]](x_n), where an expert sees only its own rows.

    Args:
        x: The tokens.
        experts: Functions of rows (n, d) that treat each row for itself; they keep d.
        index: Which experts each token goes to; none twice.
        gates: How much each of them counts.

    Raises:
        ValueError: index names no expert.
    """
    if not hasattr(experts, "__len__") or not all(callable(expert) for expert in experts):
        raise TypeError(f"experts must be a list of functions, got {type(experts).__name__}")
    check_same_dtype("N width", x=x, gates=gates)
    check_integers("N k", index=index)
    check_shape((x.shape[0], gates.shape[1]), index=index, gates=gates)
    _check_index(index, len(experts))
    out = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        rows, choice = (index == number).nonzero(as_tuple=True)
        if len(rows):
            out = out.index_add(0, rows, gates[rows, choice].unsqueeze(-1) * expert(x[rows]))
    return out


def load_balance_loss(logits: Float[Tensor, "N E"], index: Int[Tensor, "N k"]) -> Float[Tensor, ""]:
    """Return E · Σ_e f_e P_e: 1 where all experts are used equally, E where all tokens go to one.

    f_e is the share of the choices that fell on expert e, P_e its mean probability. Only P carries
    a gradient: counts have none.

    Args:
        logits: How well each expert suits each token.
        index: Which experts each token went to.

    Raises:
        ValueError: There are no tokens, or index names no expert.
    """
    check_float("N E", logits=logits)
    check_integers("N k", index=index)
    check_shape((logits.shape[0], index.shape[1]), index=index)
    if not index.numel():
        raise ValueError("there must be at least one token and one choice, got none")
    num_experts = logits.shape[1]
    _check_index(index, num_experts)
    shares = F.one_hot(index, num_experts).to(logits.dtype).mean(dim=(0, 1))
    return num_experts * (shares * logits.softmax(dim=-1).mean(dim=0)).sum()


def _check_index(index: Tensor, experts: int) -> None:
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < experts:
        raise ValueError(
            f"index must name one of {experts} experts, "
            f"got from {int(index.min())} to {int(index.max())}"
        )
