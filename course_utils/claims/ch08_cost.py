"""Checks of the claims of chapter 08 about orders of cost."""

from course_utils.attention import linear_attention, linformer_attention
from course_utils.claims._inputs import draw, draws, power
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import attention_flops, count_flops, fit_exponent, largest_tensor

WIDTH = 768


def share(n: int, d: int = WIDTH) -> float:
    """Return the share of a layer's FLOPs that the products are: 4 n^2 d beside 24 n d^2."""
    products = attention_flops(1, 12, n, n, d // 12, d // 12)
    return products / (products + 24 * n * d * d)


@recomputes("08-32")
def attention_takes_n_squared_d() -> Finding:
    """O(n^2 d) time and O(n^2) space; the projections' O(n d^2), and h heads."""
    lengths = (256, 1024)
    products = tuple(attention_flops(1, 8, n, n, 64, 64) for n in lengths)
    layer = tuple(flops + 8 * n * 512**2 for flops, n in zip(products, lengths, strict=True))
    weights = 8 * 1024**2
    return weigh(
        f"products n^{power(lengths, products):.1f}, with projections "
        f"n^{power(lengths, layer):.1f} up to 1,024 tokens; 8 heads keep {weights:,} weights "
        f"at n=1024",
        holds=power(lengths, layer) > 1.9,
        amended=abs(power(lengths, products) - 2) < 1e-6,
    )


@recomputes("08-36")
def quadratic_cost_is_the_main_bottleneck() -> Finding:
    """Its share of a layer of width 768, by length: half at n = 6d, a third of attention at 2d."""
    shares = {n: share(n) for n in (512, 2 * WIDTH, 6 * WIDTH, 8 * 6 * WIDTH)}
    return weigh(
        "share of a layer: " + ", ".join(f"{part:.0%} at n={n:,}" for n, part in shares.items()),
        holds=shares[512] > 0.5,
        amended=abs(shares[6 * WIDTH] - 0.5) < 1e-6,
    )


@recomputes("08-39", "08-49", "08-51")
def cost_is_quadratic_in_length() -> Finding:
    """FLOPs counted at three lengths; the share of a layer below and above n = 6d."""
    lengths, counts = (64, 128, 256), []
    for n in lengths:
        x = draw(1, 2, n, 8)
        counts.append(count_flops(lambda x: (x @ x.mT).softmax(-1) @ x, x))
    power = fit_exponent(lengths, counts)
    return weigh(
        f"n^{power:.2f}; of a layer of width 768 {share(128):.0%} at n=128, "
        f"{share(2 * WIDTH):.0%} at "
        f"2d, {share(6 * WIDTH):.0%} at 6d, {share(8192):.0%} at 8,192",
        holds=abs(power - 2) < 0.01 and share(8192) > 0.5,
    )


@recomputes("08-11")
def linear_attention_costs_n_d_squared() -> Finding:
    """FLOPs against n and d; from which n they are fewer than softmax attention's."""
    counts = {}
    for n, d in ((64, 16), (256, 16), (64, 64)):
        counts[n, d] = count_flops(
            linear_attention, *draws((1, 1, n, d), (1, 1, n, d), (1, 1, n, d))
        )
    in_n = power((64, 256), (counts[64, 16], counts[256, 16]))
    in_d = power((16, 64), (counts[64, 16], counts[64, 64]))
    equal = 4 * 64 * 64 * 64  # n = d = 64
    return weigh(
        f"n^{in_n:.2f} d^{in_d:.2f}; at n = d_k = 64 {counts[64, 64]:,} against {equal:,}",
        holds=abs(in_n - 1) < 0.05 and abs(in_d - 2) < 0.1 and counts[64, 64] < 1.05 * equal,
    )


@recomputes("08-37")
def linear_attention_takes_n_d_space() -> Finding:
    """The largest tensor by length; the state of d_k x d_v numbers."""
    lengths = (256, 1024, 4096)
    made = [largest_tensor(linear_attention, *[draw(1, 1, n, 16)] * 3) for n in lengths]
    return weigh(
        f"largest tensor n^{fit_exponent(lengths, made):.2f}; a state of {16 * 16} numbers a head",
        holds=abs(fit_exponent(lengths, made) - 1) < 0.05,
    )


@recomputes("08-44")
def linformer_costs_n_k() -> Finding:
    """FLOPs against the length n and the number of mixtures k."""
    counts = {}
    for n, k in ((128, 8), (512, 8), (128, 32)):
        x, E = draw(n, 16), draw(n, k, seed=1)
        counts[n, k] = count_flops(linformer_attention, x, x, x, E, E)
    in_n = power((128, 512), (counts[128, 8], counts[512, 8]))
    in_k = power((8, 32), (counts[128, 8], counts[128, 32]))
    return weigh(
        f"n^{in_n:.2f} k^{in_k:.2f}, times d", holds=max(abs(in_n - 1), abs(in_k - 1)) < 0.05
    )


@recomputes("08-42")
def table_of_complexities() -> Finding:
    """The orders of the table: full n^2 d, window n w d, linear n d^2, Linformer n k d."""
    orders = {
        "full": cost_is_quadratic_in_length(),
        "linear": linear_attention_costs_n_d_squared(),
        "Linformer": linformer_costs_n_k(),
    }
    return weigh(
        "; ".join(f"{name}: {found.measured}" for name, found in orders.items()),
        holds=all(found.verdict == "confirmed" for found in orders.values()),
    )
