"""Checks of the claims of chapter 07."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.attention import scaled_dot_product_attention
from course_utils.claims._inputs import attend, attend_causally, draw, draws, largest, refused
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.positions import (
    LearnedPositions,
    SinusoidalPositions,
    is_permutation_equivariant,
    relative_positions,
    rope_interleaved,
    rope_split_halves,
    shaw_scores,
    shift_matrix,
    sinusoidal_encoding,
    to_split_halves,
)

ORDER = torch.tensor([2, 0, 3, 1])


@recomputes("07-01")
def relative_module_leaves_its_scores() -> Finding:
    """q_i.k_j without a_ij, against S_ij = q_i.(k_j + a_ij)/sqrt(d)."""
    query, key, table = draws((1, 2, 4, 6), (1, 2, 4, 6), (5, 6))
    off = largest(query @ key.mT / math.sqrt(6), shaw_scores(query, key, table, 2))
    return weigh(f"Shaw's scores are {off:.2f} away", holds=off < 1e-6)


@recomputes("07-02")
def relative_embeddings_are_a_bias() -> Finding:
    """A vector for each distance gives q_i.a_ij, which depends on the query; a scalar is a bias."""
    key, table = draws((1, 1, 4, 6), (5, 6))
    a = table[relative_positions(torch.arange(4), torch.arange(4)).clamp(-2, 2) + 2]
    queries = draws((1, 1, 4, 6), (1, 1, 4, 6), seed=5)
    added = [shaw_scores(q, key, table, 2) - q @ key.mT / math.sqrt(6) for q in queries]
    term = torch.einsum("bhid,ijd->bhij", queries[0], a) / math.sqrt(6)
    moved, off, gathered = largest(*added), largest(added[0], term), 1024 * 1024 * 64 * 4
    return weigh(
        f"what is added changes with the query by {moved:.2f}, and is q_i.a_ij within {off:.0e}; "
        f"the naive gather n*n*d_head takes {gathered / 2**20:.0f} MiB at n=1024, d_head=64 in "
        "fp32",
        holds=moved < 1e-9,
        amended=off < 1e-9,
    )


@recomputes("07-04", "07-18", "07-32", "07-35", "07-37")
def sinusoids_shift_linearly() -> Finding:
    """PE(pos+k, 2i) = PE(pos, 2i)cos(kw) + PE(pos, 2i+1)sin(kw), and the cosine's row; a matrix."""
    table = sinusoidal_encoding(40, 16).double()
    k = 7
    position, w = torch.arange(40.0).double()[:, None], 10000.0 ** (-torch.arange(0, 16, 2) / 16)
    formula = torch.stack([torch.sin(position * w), torch.cos(position * w)], -1).flatten(1)
    sine, cosine = table[:-k, ::2], table[:-k, 1::2]
    even = sine * torch.cos(k * w) + cosine * torch.sin(k * w)
    odd = cosine * torch.cos(k * w) - sine * torch.sin(k * w)
    rows = torch.stack([even, odd], -1).flatten(1)
    moved = table[:-k] @ shift_matrix(k, 16).double()
    off = [largest(x, table[k:]) for x in (rows, moved)] + [largest(table, formula)]
    return weigh(
        f"both rows within {off[0]:.0e}, as one matrix for all positions {off[1]:.0e}; the formula "
        f"{off[2]:.0e}",
        holds=max(off) < 1e-5,
    )


@recomputes("07-05", "07-19", "07-31")
def learned_positions_end() -> Finding:
    """A table of 100 learned vectors at position 100: nothing was learned for it."""
    layer = nn.Embedding(100, 8)
    inside = layer(torch.arange(100)).shape
    beyond = refused(layer, torch.tensor(100))
    ours = refused(LearnedPositions(100, 8).embed, draw(1, 101, 8).float(), torch.arange(101))
    return weigh(
        f"positions 0 to 99 {tuple(inside)}; 100: {beyond or 'runs'} in torch's, {ours} in ours",
        holds=beyond == "IndexError" and bool(ours),
    )


@recomputes("07-09")
def rope_is_relative() -> Finding:
    """Scores of one q and k at all pairs of positions; the two pairings of channels."""
    positions = torch.arange(12)
    q, k = (x.expand(1, 1, 12, 8) for x in draws((8,), (8,)))
    scores = rope_split_halves(q, positions) @ rope_split_halves(k, positions).mT
    spread = max(float(scores[0, 0].diagonal(o).std()) for o in range(-8, 9))
    other = to_split_halves(rope_interleaved(q, positions))
    off = largest(other, rope_split_halves(to_split_halves(q), positions))
    return weigh(
        f"along each diagonal the scores spread by {spread:.0e}; neighbouring pairs are halves "
        f"permuted, {off:.0e}",
        holds=max(spread, off) < 1e-6,
    )


@recomputes("07-10")
def rope_that_counts_from_zero_generates() -> Finding:
    """One token at a time, each rotated as position 0, against all at once."""
    x = draw(1, 1, 6, 8)
    positions = torch.arange(6)
    turned = rope_split_halves(x, positions)
    steps = [rope_split_halves(token, torch.arange(1)) for token in x.split(1, 2)]
    right = map(rope_split_halves, x.split(1, 2), positions.split(1))
    off = [largest(torch.cat(list(way), 2), turned) for way in (steps, right)]
    return weigh(
        f"from 0 each step: {off[0]:.2f} off; with an offset {off[1]:.0e}", holds=off[0] < 1e-9
    )


@recomputes("07-11")
def rope_has_an_integer_base_and_2048_positions() -> Finding:
    """Base 10000 as int, a float such as 500000.0 (LLaMA-3), positions past 2048."""
    x = draw(1, 1, 2, 8)
    far = torch.tensor([2048, 100_000])
    fine = [bool(rope_split_halves(x, far, base).isfinite().all()) for base in (10000, 500000.0)]
    table = sinusoidal_encoding(2048, 8)
    return weigh(
        f"bases 10000 and 500000.0 past 2048 run: {fine}; a table of {len(table)} rows ends there",
        holds=not fine[1],
        amended=fine[0],
    )


@recomputes("07-14", "07-29")
def self_attention_is_permutation_invariant() -> Finding:
    """f(Px) = f(x), or f(Px) = P f(x); pooled; and keys and values moved together."""
    x, query = draw(1, 4, 6), draw(1, 2, 6, seed=1)
    moved = x[:, ORDER]
    invariant = largest(attend(moved), attend(x))
    pooled = largest(attend(moved).mean(1), attend(x).mean(1))
    cross = largest(*(scaled_dot_product_attention(query, keys, keys) for keys in (moved, x)))
    return weigh(
        f"equivariant: {is_permutation_equivariant(attend, x, ORDER)}; unmoved outputs differ by "
        f"{invariant:.2f}; pooled {pooled:.0e}, K and V of cross-attention {cross:.0e}",
        holds=invariant < 1e-9,
    )


@recomputes("07-15")
def two_sentences_without_positions() -> Finding:
    """The cat sat on the mat; the mat sat on the cat. Then under a causal mask."""
    word = dict(zip(["the", "cat", "sat", "on", "mat"], draw(5, 8), strict=True))
    first, second = (
        torch.stack([word[w] for w in text.split()])[None]
        for text in ("the cat sat on the mat", "the mat sat on the cat")
    )
    cat, causal = (
        largest(way(first)[0, 1], way(second)[0, 5]) for way in (attend, attend_causally)
    )
    return weigh(
        f'the vector of "cat" differs by {cat:.0e}; under a causal mask by {causal:.2f}',
        holds=cat < 1e-12,
    )


@recomputes("07-22")
def rope_turns_both_by_one_position() -> Finding:
    """q~=R(theta)n q, k~=R(theta)n k, theta=10000^(-2i/d): q at m, k at n gives q^T R_{n-m} k."""
    q, k = draws((1, 1, 1, 8), (1, 1, 1, 8))

    def score(m: int, n: int) -> float:
        turned = [rope_split_halves(x, torch.tensor([at])) for x, at in ((q, m), (k, n))]
        return float((turned[0] * turned[1]).sum())

    right, relative, both = score(3, 8), score(0, 8 - 3), score(8, 8)
    return weigh(
        f"q at 3, k at 8: {right:.3f}, and q^T R_5 k {relative:.3f}; both at n: {both:.3f}, the "
        f"plain product {float((q * k).sum()):.3f}",
        holds=abs(both - right) < 1e-6,
        amended=abs(relative - right) < 1e-6,
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
