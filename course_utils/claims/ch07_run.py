"""Checks of the claims of chapter 07 about modules, demonstrations and figures."""

import math

import torch
from torch.nn import functional as F

from course_utils.claims._inputs import draw, draws, largest, refused
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.positions import (
    SinusoidalPositions,
    relative_positions,
    rope_split_halves,
    sinusoidal_encoding,
)


@recomputes("07-26")
def table_is_cut_by_the_first_axis() -> Finding:
    """A table (length, 1, d) cut with pe[:x.size(0)] and with pe[:x.size(1), 0], x batch-first."""
    table = sinusoidal_encoding(50, 8).double()[:, None]
    x = draw(3, 6, 8)
    wrong = x + table[: x.size(0)]
    right = x + table[: x.size(1), 0]
    same = bool((wrong - x).std(dim=1).max() < 1e-12)
    return weigh(
        f"cut by the batch, all positions of a text get one encoding: {same}; right cut "
        f"{largest(right - x, sinusoidal_encoding(6, 8).double()):.0e} off",
        holds=largest(wrong, right) < 1e-9,
    )


@recomputes("07-27")
def embeddings_are_multiplied_by_the_root() -> Finding:
    """By sqrt(d_model), d=512: from deviation 1 and from d^-0.5, against the encoding's."""
    positions = float(sinusoidal_encoding(512, 512).square().mean().sqrt())
    sizes = [float((draw(4000, 512) * start * math.sqrt(512)).std()) for start in (1, 512**-0.5)]
    return weigh(
        f"{sizes[0]:.1f} against {positions:.3f} ({sizes[0] / positions:.0f} times) from "
        f"deviation 1; {sizes[1]:.1f} from d^-0.5",
        holds=sizes[0] < 3 * positions,
        amended=sizes[1] < 3 * positions,
    )


@recomputes("07-28")
def clamped_distances() -> Finding:
    """clamp(j - i, -k, k) + k for k=2 and five positions."""
    index = torch.arange(5)
    table = (index - index[:, None]).clamp(-2, 2) + 2
    ours = relative_positions(index, index).clamp(-2, 2) + 2
    return weigh(
        f"first row {table[0].tolist()}, last {table[-1].tolist()}",
        holds=torch.equal(table, ours) and table[0].tolist() == [2, 3, 4, 4, 4],
    )


@recomputes("07-30")
def sinusoidal_module() -> Finding:
    """Inputs (B, L, d); odd widths, and texts longer than a table."""
    x = draw(2, 6, 8).float()
    off = largest(SinusoidalPositions().embed(x, torch.arange(6)) - x, sinusoidal_encoding(6, 8))
    odd = refused(sinusoidal_encoding, 6, 7)
    long = refused(lambda: x + sinusoidal_encoding(5, 8))
    return weigh(
        f"{off:.0e} off the formula; width 7: {odd}; 6 tokens, a table of 5: {long}",
        holds=off < 1e-6,
    )


@recomputes("07-33")
def rotation_encodes_relative_positions() -> Finding:
    """Shapes after the rotation, and the scores of one query and key at equal distances."""
    q, k = draws((1, 1, 1, 8), (1, 1, 1, 8))

    def score(m: int) -> float:
        turned = rope_split_halves(q, torch.tensor([m]))
        return float((turned * rope_split_halves(k, torch.tensor([m + 4]))).sum())

    scores = [score(m) for m in (0, 10, 500)]
    return weigh(
        f"at a distance of 4 from 0, 10 and 500: {', '.join(f'{s:.6f}' for s in scores)}",
        holds=max(scores) - min(scores) < 1e-6,
    )


@recomputes("07-34")
def picture_of_the_bias_of_rope() -> Finding:
    """Scores of random q and k at each position, against one q and one k everywhere."""
    positions = torch.arange(32)
    spread = {}
    for name, (q, k) in {
        "drawn anew": draws((1, 1, 32, 16), (1, 1, 32, 16)),
        "the same": [x.expand(1, 1, 32, 16) for x in draws((16,), (16,))],
    }.items():
        scores = (rope_split_halves(q, positions) @ rope_split_halves(k, positions).mT)[0, 0]
        within = torch.stack([scores.diagonal(o).var() for o in range(-16, 17)]).mean()
        spread[name] = float(within / scores.var())
    return weigh(
        "share of the variance at one distance: "
        + ", ".join(f"{name} {share:.0%}" for name, share in spread.items()),
        holds=spread["drawn anew"] < 0.1,
    )


@recomputes("07-36")
def encodings_are_unique() -> Finding:
    """The least distance of two among 3,000 positions at d=512, and the longest wavelength."""
    table = sinusoidal_encoding(3000, 512).double()
    least = float(torch.pdist(table).min())
    wave = 2 * math.pi * 10000 ** (510 / 512)
    return weigh(
        f"least distance {least:.2f} among 3,000; the longest wave repeats after {wave:,.0f}",
        holds=least > 0.1,
    )


@recomputes("07-38")
def neighbours_have_similar_encodings() -> Finding:
    """Cosines at distance 1, 10, 100 and 1,000 (d=512)."""
    table = sinusoidal_encoding(1001, 512).double()
    near = [float(F.cosine_similarity(table[0], table[k], dim=0)) for k in (1, 10, 100, 1000)]
    return weigh(
        ", ".join(f"{cosine:.3f}" for cosine in near),
        holds=near[0] > 0.9 and near == sorted(near)[::-1],
    )
