"""Checks of the claims of chapter 11."""

from collections.abc import Callable
from functools import partial
from statistics import mean

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import cross_attention, padding_mask, scaled_dot_product_attention
from course_utils.claims._inputs import (
    attend,
    attend_causally,
    draw,
    draws,
    growth,
    largest,
    leak,
    recorded,
)
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import count_flops
from course_utils.models import decoder_layer, encoder_layer

norm = partial(F.layer_norm, normalized_shape=(8,))


def crossed(x: Tensor, memory: Tensor) -> Tensor:
    """Return cross-attention of x over the encoder's output."""
    return scaled_dot_product_attention(x, memory, memory)


def stub(x: Tensor, memory: Tensor) -> Tensor:
    """Return what a published decoder computes instead of cross-attention."""
    return attend(x)


def layer(x: Tensor, memory: Tensor, cross: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return a decoder layer with this cross-attention."""
    return decoder_layer(x, memory, attend_causally, cross, torch.tanh, (norm, norm, norm), True)


def _sees(cross: Callable[[Tensor, Tensor], Tensor]) -> tuple[bool, float]:
    """Return whether the encoder is read, and the gradient of output 2 to later tokens."""
    x, memory = (t.requires_grad_() for t in draws((1, 6, 8), (1, 5, 8)))
    out = layer(x, memory, cross)[0, 2].square().sum()
    to_x, to_memory = torch.autograd.grad(out, (x, memory), allow_unused=True)
    return to_memory is not None and bool(to_memory.any()), float(to_x[0, 3:].abs().max())


@recomputes("11-07")
def decoder_layer_reads_the_encoder() -> Finding:
    """The gradient of the published layer to the encoder's output, and that of cross-attention."""
    read, right = _sees(stub)[0], _sees(crossed)[0]
    return weigh(
        f"gradient to the encoder's output: {'some' if read else 'None'}; with queries from the "
        f"decoder, keys and values from the encoder: {'some' if right else 'None'}",
        holds=read,
    )


@recomputes("11-08")
def decoder_layer_is_causal() -> Finding:
    """The gradient of output 2 to later tokens, through the stub, which has no mask."""
    published, right = _sees(stub)[1], _sees(crossed)[1]
    return weigh(f"{published:.2f} through the stub, {right:g} without it", holds=published == 0)


@recomputes("11-17")
def layer_with_cross_attention_is_right() -> Finding:
    """The encoder is read, and later tokens are not."""
    read, later = _sees(crossed)
    return weigh(
        f"encoder read: {read}; gradient to later tokens {later:g}", holds=read and later == 0
    )


@recomputes("11-11", "11-14")
def cross_attention_of_another_width() -> Finding:
    """n_q x n_kv weights, n_q x d outputs; a context of width 6; hidden padding."""
    x, context, W_q, W_k, W_v = draws((1, 5, 8), (1, 7, 6), (8, 4), (6, 4), (6, 4))
    query, key, value = x @ W_q, context @ W_k, context @ W_v
    weights = (query @ key.mT).softmax(-1)
    out = cross_attention(x, context, W_q, W_k, W_v)
    mask = padding_mask(torch.tensor([4]), 7)[:, 0]
    other = value.clone()
    other[:, 4:] = 100
    hidden = largest(*(scaled_dot_product_attention(query, key, v, mask) for v in (value, other)))
    return weigh(
        f"weights {tuple(weights.shape[1:])}, output {tuple(out.shape[1:])}; padding moves it by "
        f"{hidden:g}",
        holds=weights.shape[1:] == (5, 7) and out.shape[1:] == (5, 4) and hidden == 0,
    )


@recomputes("11-15", "11-16")
def layers_are_pre_norm() -> Finding:
    """norm(x + part(x)), as the code of both layers has it, against both orders."""
    x = draw(1, 5, 8)
    first = norm(x + attend(x))
    code = norm(first + torch.tanh(first))
    equal = {
        name: torch.allclose(code, encoder_layer(x, attend, torch.tanh, norm, norm, pre))
        for name, pre in (("pre-norm", True), ("post-norm", False))
    }
    return weigh(f"allclose: {equal}", holds=equal["pre-norm"])


@recomputes("11-24")
def transformer_returns_language_model_output() -> Finding:
    """The width of what comes out, and whether later tokens move it."""
    x = draw(1, 6, 8)

    def published(x: Tensor) -> Tensor:
        return encoder_layer(x, attend, torch.tanh, norm, norm, False)

    def right(x: Tensor) -> Tensor:
        return encoder_layer(x, attend_causally, torch.tanh, norm, norm, False) @ draw(
            8, 50, seed=2
        )

    return weigh(
        f"{tuple(published(x).shape)}: no vocabulary; later tokens move earlier outputs by "
        f"{leak(published, x):.2f}; with a head and a causal mask {tuple(right(x).shape)}, "
        f"{leak(right, x):g}",
        holds=leak(published, x) == 0,
        amended=leak(right, x) == 0,
    )


@recomputes("11-25")
def final_norm_follows() -> Finding:
    """Measure what a last LayerNorm changes after post-norm blocks and after pre-norm ones."""
    x = 3 * draw(1, 5, 8)
    outs = [encoder_layer(x, attend, torch.tanh, norm, norm, pre) for pre in (False, True)]
    post, pre = (largest(norm(out), out) for out in outs)
    return weigh(f"post-norm {post:.0e}, pre-norm {pre:.2f}", holds=post > 1e-3, amended=pre > 1e-3)


def _loss(order: str, warm_up: int, rate: float) -> float:
    about = {"order": order, "warm_up": warm_up, "learning_rate": rate}
    return float(mean(run["loss"] for run in recorded("chapter_11_dates", "warm_up", **about)))


@recomputes("11-13", "11-27")
def norm_first_is_stable() -> Finding:
    """Twelve layers, recorded: without warm-up at a high rate, with it, and at a lower rate."""
    told = {
        f"{'with' if steps else 'without'} warm-up at {rate}": (
            _loss("post-norm", steps, rate),
            _loss("pre-norm", steps, rate),
        )
        for steps, rate in ((0, 0.003), (100, 0.003), (0, 0.001))
    }
    apart = [post - pre for post, pre in told.values()]
    return weigh(
        "loss of post-norm and pre-norm: "
        + "; ".join(f"{post:.2f} and {pre:.2f} {name}" for name, (post, pre) in told.items()),
        holds=apart[0] > 0.4 and max(apart[1:]) < apart[0] / 3,
    )


@recomputes("11-18")
def activation_by_name() -> Finding:
    """Relu if the name is "relu", else GELU: what "swish" gives."""

    def named(name: str) -> Callable[[Tensor], Tensor]:
        return F.relu if name == "relu" else F.gelu

    x = draw(9)
    swish = largest(named("swish")(x), F.silu(x))
    right = largest(named("relu")(x), F.relu(x)) + largest(named("gelu")(x), F.gelu(x))
    return weigh(
        f'"swish" is {swish:.2f} from swish, {largest(named("swish")(x), F.gelu(x)):g} from GELU',
        holds=swish < 1e-9,
        amended=right == 0,
    )


@recomputes("11-19")
def cross_attention_costs_the_product() -> Finding:
    """O(n_q n_k d): FLOPs when each doubles."""

    def cost(n_q: int, n_k: int, d: int) -> int:
        return count_flops(scaled_dot_product_attention, *draws((n_q, d), (n_k, d), (n_k, d)))

    powers = [
        growth(lambda n_q: cost(n_q, 24, 8), 16, 32),
        growth(lambda n_k: cost(16, n_k, 8), 24, 48),
        growth(lambda d: cost(16, 24, d), 8, 16),
    ]
    return weigh(
        f"n_q^{powers[0]:.1f} n_k^{powers[1]:.1f} d^{powers[2]:.1f}",
        holds=all(abs(exponent - 1) < 0.05 for exponent in powers),
    )
