"""Checks of the claims of chapter 11 about norms, activations and cost."""

from collections.abc import Callable
from statistics import mean

from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import scaled_dot_product_attention
from course_utils.claims._inputs import draw, draws, growth, largest, recorded
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import count_flops


def _loss(order: str, warm_up: int, rate: float) -> float:
    about = {"order": order, "warm_up": warm_up, "learning_rate": rate}
    return float(mean(run["loss"] for run in recorded("chapter_11_dates", "warm_up", **about)))


@recomputes("11-13", "11-27")
def norm_first_is_stable() -> Finding:
    """Twelve layers, recorded: without warm-up at a high rate, with it, and at a lower rate."""
    told = {
        f"{how} at {rate}": (_loss("post-norm", steps, rate), _loss("pre-norm", steps, rate))
        for how, steps, rate in (
            ("without warm-up", 0, 0.003),
            ("with warm-up", 100, 0.003),
            ("without warm-up", 0, 0.001),
        )
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
