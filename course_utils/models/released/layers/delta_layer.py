"""The gated delta rule as the attention of a layer, as Qwen 3-Next and Qwen 3.5 have it.

Source: Yang, Kautz, Hatamizadeh 2025, Gated Delta Networks,
    https://arxiv.org/abs/2412.06464; the order of its parts is that of modeling_qwen3_next.py of
    https://github.com/huggingface/transformers
Ours / theirs: in_proj, gate, write, fade = in_proj_qkv, in_proj_z, in_proj_b, in_proj_a;  conv =
    conv1d;  taps = linear_conv_kernel_dim;  alpha = exp(g)
Differs: with a cache, tokens are read one after the other, where theirs reads a prompt in chunks
Same contract as: Qwen3NextGatedDeltaNet of transformers
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import gated_delta_rule, gated_delta_step, merge_heads, split_heads
from course_utils.models.gpt.layer import Sizes, linear
from course_utils.models.released.layers.latent_layer import check_no_parts
from course_utils.models.released.layers.state_cache import StateCache
from course_utils.validation import check_at_least, check_instance

Past = tuple[Tensor, Tensor]  # the inputs of the last taps - 1 tokens, and the state
EPS = 1e-6  # under the root of the lengths to which queries and keys are brought


class GatedDeltaNet(nn.Module):
    """Short convolution, unit queries and keys, gated delta rule, norm and gate of what was read.

    Args:
        d_model: Width of the stream.
        key_heads: Heads of queries and keys; each serves as many heads of values as any other.
        value_heads: Heads of values, each with a state of its own.
        d_k: Width of a head's queries and keys.
        d_v: Width of a head's values.
        taps: How many tokens the convolution sees, the token itself among them.
        eps: What the norm adds under its root.
    """

    def __init__(
        self, d_model: int, *, key_heads: int, value_heads: int, d_k: int, d_v: int, taps: int,
        eps: float,
    ) -> None:  # fmt: skip
        super().__init__()
        check_at_least(1, key_heads=key_heads, d_k=d_k, d_v=d_v, taps=taps)
        if value_heads % key_heads:
            raise ValueError(f"key_heads must divide value_heads {value_heads}, got {key_heads}")
        self.key_heads, self.value_heads, self.d_k, self.d_v = key_heads, value_heads, d_k, d_v
        self.widths = (key_heads * d_k, key_heads * d_k, value_heads * d_v)
        mixed = sum(self.widths)
        self.in_proj = linear(d_model, mixed, bias=False)
        self.conv = nn.Conv1d(mixed, mixed, taps, groups=mixed, bias=False)
        self.write = linear(d_model, value_heads, bias=False)
        self.fade: nn.Module = linear(d_model, value_heads, bias=False)
        self.A_log = nn.Parameter(torch.zeros(value_heads))
        self.dt_bias = nn.Parameter(torch.ones(value_heads))
        self.gate: nn.Module = linear(d_model, value_heads * d_v, bias=False)
        self.norm = nn.RMSNorm(d_v, eps)
        self.out_proj = linear(value_heads * d_v, d_model, bias=False)

    def empty(self, batch: int, **place: Any) -> Past:
        """Return what there is before the first token: zeros.

        Args:
            batch: How many sequences there are.
            **place: Its dtype and device.
        """
        recent = torch.zeros(batch, self.conv.kernel_size[0] - 1, sum(self.widths), **place)
        return recent, torch.zeros(batch, self.value_heads, self.d_k, self.d_v, **place)

    def forward(
        self, x: Float[Tensor, "B T d_model"], past: Past | None = None
    ) -> tuple[Float[Tensor, "B T d_model"], Past | None]:
        """Return what each token reads, and what there is after the last.

        Args:
            x: The stream of the tokens.
            past: What there is before them; None is nothing, and nothing is returned then.
        """
        recent = self.empty(len(x), dtype=x.dtype, device=x.device)[0] if past is None else past[0]
        seen = torch.cat((recent, self.in_proj(x)), dim=1)
        mixed = F.silu(self.conv(seen.mT).mT)
        query, key, value = mixed.split(self.widths, dim=-1)
        query, key = (self._unit(one) for one in (query, key))
        value = split_heads(value, self.value_heads)
        read, state = self._read(
            query * self.d_k**-0.5, key, value, self._kept(x), self.write(x).sigmoid().mT,
            None if past is None else past[1],
        )  # fmt: skip
        left = None if state is None else (seen[:, seen.shape[1] - recent.shape[1] :], state)
        gate = split_heads(self.gate(x), self.value_heads)
        return self.out_proj(merge_heads(self.norm(read) * self._opened(gate))), left

    def _kept(self, x: Tensor) -> Tensor:
        """Return how much each token leaves of its heads' states, from 0 to 1."""
        return (-self.A_log.exp() * F.softplus(self.fade(x) + self.dt_bias)).exp().mT

    def _opened(self, gate: Tensor) -> Tensor:
        return F.silu(gate)

    def _read(
        self, query: Tensor, key: Tensor, value: Tensor, alpha: Tensor, beta: Tensor,
        state: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Return what the tokens read and, if there was a state, the one that they leave."""
        if state is None:
            return gated_delta_rule(query, key, value, alpha, beta), None
        return in_steps(query, key, value, alpha.unsqueeze(-1), beta, state)

    def _unit(self, rows: Tensor) -> Tensor:
        """Return heads of length 1, each as often as it serves heads of values."""
        heads = split_heads(rows, self.key_heads)
        heads = heads * torch.rsqrt(heads.square().sum(dim=-1, keepdim=True) + EPS)
        return heads.repeat_interleave(self.value_heads // self.key_heads, dim=1)


def in_steps(
    query: Float[Tensor, "B H T d_k"],
    key: Float[Tensor, "B H T d_k"],
    value: Float[Tensor, "B H T d_v"],
    kept: Float[Tensor, "B H T #d_k"],
    beta: Float[Tensor, "B H T"],
    state: Float[Tensor, "B H d_k d_v"],
) -> tuple[Float[Tensor, "B H T d_v"], Float[Tensor, "B H d_k d_v"]]:
    """Return what the tokens read, one after the other from a state, and the state they leave.

    Args:
        query: What each token asks for.
        key: Where it writes.
        value: What the key should find from now on.
        kept: How much is left of each row of the state, or of all of them.
        beta: How much of the difference is written.
        state: What the past left.
    """
    read = []
    rows = (one.unbind(2) for one in (query, key, value, kept, beta))
    for q, k, v, a, b in zip(*rows, strict=True):
        found, state = gated_delta_step(q, k, v, torch.ones_like(b), b, a.unsqueeze(-1) * state)
        read.append(found)
    return torch.stack(read, dim=2), state


class DeltaLayerAttention(nn.Module):
    """The attention of most layers of Qwen 3-Next and Kimi Linear, which has no positions.

    Args:
        sizes: d_model, and two numbers of heads that the delta rule has no use for.
        attend: Must be None, as must `mask`: there are no scores.
        mask: See there.
        mixer: Makes what it is from d_model and the widths.
        **widths: As the mixer takes them; `design` and `kind` are not looked at.
    """

    window = None

    def __init__(
        self, sizes: Sizes, *, attend: Callable[..., Tensor] | None = None,
        mask: Callable[[int], Tensor] | None = None,
        mixer: Callable[..., GatedDeltaNet] = GatedDeltaNet, **widths: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        check_no_parts("a state", attend=attend, mask=mask)
        own = {name: width for name, width in widths.items() if name not in ("design", "kind")}
        self.delta = mixer(sizes[0], **own)

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        scheme: nn.Module,
        positions: Tensor,
        first: Int[Tensor, " B"] | None = None,
        cache: StateCache | None = None,
        fresh: bool = True,
    ) -> Float[Tensor, "B T d_model"]:
        """Return what each token reads; arguments are those of `CausalAttention`."""
        if first is not None:  # what is zero writes nothing
            real = torch.arange(x.shape[1], device=x.device) >= first.unsqueeze(-1)
            x = x * real.unsqueeze(-1)
        if cache is None:
            return self.delta(x)[0]
        check_instance(StateCache, cache=cache)
        found, left = self.delta(x, cache.held)
        cache.replace(left, x.shape[1])
        return found

    def new_cache(
        self, batch: int, room: int, made: Callable[..., Any] | None = None, **place: Any
    ) -> StateCache:
        """Return the state of no tokens; arguments are those of `CausalAttention.new_cache`.

        Raises:
            ValueError: The model was given a kind of cache, which would hold keys and values.
        """
        check_no_parts("a state", cache=made)
        return StateCache(*self.delta.empty(batch, **place))
