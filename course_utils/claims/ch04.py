"""Checks of the claims of chapter 04."""

import torch

from course_utils.attention import project_qkv, scaled_dot_product_attention, soft_lookup
from course_utils.claims._inputs import draw, draws, largest
from course_utils.claims.figures import arithmetic, said
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import attention_flops, qkv_parameters

BERT = 768  # BERT-base: 12 layers of width 768
BERT_PARAMETERS = (
    (30_522 + 512 + 2) * BERT + 2 * BERT + 12 * (12 * BERT**2 + 13 * BERT) + BERT**2 + BERT
)


@recomputes("04-03")
def attention_works_like_a_database() -> Finding:
    """A lookup returns one value; attention a mix of all, and one only where scores are sharp."""
    keys, values = torch.eye(3).double(), draw(3, 2)
    soft, sharp = (
        largest(soft_lookup(keys, keys, values, temperature), values) for temperature in (1.0, 1e-3)
    )
    return weigh(
        f"off the stored value by {soft:.2f} at temperature 1, by {sharp:.0e} at 0.001",
        holds=soft < 1e-6,
        amended=sharp < 1e-6,
    )


def _shares(n: int, d: int = BERT) -> tuple[int, int, int, int]:
    """Return the FLOPs of the QKV projections, W_O, the two products and the rest of a layer."""
    products = attention_flops(1, 12, n, n, d // 12, d // 12)
    return 6 * n * d * d, 2 * n * d * d, products, 16 * n * d * d


QKV, OUT, PRODUCTS, FFN = _shares(512)
LAYER = qkv_parameters(BERT, 12, 64, 64, False)
# fmt: off
arithmetic("04-06", "{:.2f GFLOP}", said(f"{6 * 512 * 768**2}", 3 * 12 * (2 * 512 * 768 * 64)))
arithmetic("04-07", "{:.0%} of attention at n=512 ({:.2f} of {:.2f GFLOP} with W_O; {:.0%} "
    "without W_O), {:.1%} of the layer with FFN",
    said("20%", QKV / (QKV + OUT + PRODUCTS)), *(QKV / 1e9, QKV + OUT + PRODUCTS),
    QKV / (QKV + PRODUCTS), QKV / (QKV + OUT + PRODUCTS + FFN))
arithmetic("04-09", "3*768^2 = {:,} a layer; {:.1f} M in 12; {:.1%} of {:,} (110 M)",
    said("1,769,472", LAYER), said("21.2", 12 * LAYER / 1e6),
    said("19%", 12 * LAYER / BERT_PARAMETERS), BERT_PARAMETERS)
arithmetic("04-13", "{:,} and {:,}",
    said("327,680", 2 * 5 * 512 * 64), said("983,040", 3 * 2 * 5 * 512 * 64))
# fmt: on


@recomputes("04-08")
def products_dominate_for_longer_sequences() -> Finding:
    """Where QK^T and AV pass the projections, and the whole layer; their share at n=512."""
    lengths = range(64, 8192, 64)
    passes_qkv = next(n for n in lengths if _shares(n)[2] >= _shares(n)[0])
    passes_all = next(n for n in lengths if 2 * _shares(n)[2] >= sum(_shares(n)))
    qkv, out, products, _ = _shares(512)
    in_attention, in_layer = products / (qkv + out + products), products / sum(_shares(512))
    return weigh(
        f"QKV at n = 1.5 d = {passes_qkv}, the layer at n = 6 d = {passes_all}; at n=512 "
        f"{in_attention:.0%} of attention and {in_layer:.0%} of the layer",
        holds=in_layer > 0.5,
        amended=passes_qkv == 1.5 * BERT and passes_all == 6 * BERT,
    )


@recomputes("04-10")
def queries_keys_and_values_are_equal() -> Finding:
    """Q=K=V=XW: symmetric scores, whose diagonal leads; three matrices: neither."""
    x, W_q, W_k, W_v = draws((6, 64), (64, 64), (64, 64), (64, 64))
    told = []
    for matrices in ((W_q, W_q, W_q), (W_q, W_k, W_v)):
        query, key, value = project_qkv(x, *matrices)
        scores = query @ key.mT
        itself = torch.equal(scores.argmax(-1), torch.arange(6))
        told += [largest(scores, scores.mT) < 1e-6, itself]
    runs = scaled_dot_product_attention(query, key, value).shape == x.shape
    return weigh(
        f"one matrix: symmetric {told[0]}, each looks at itself most {told[1]}; three: {told[2]}, "
        f"{told[3]}; all from X: {runs}",
        holds=not (told[0] and told[1]),
        amended=runs and not told[2],
    )
