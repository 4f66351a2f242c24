"""Mistakes in a step of the online softmax, alone or inside attention in tiles.

The lines speak of `m`, `l` and `acc`, the state so far, of a tile's `scores` and `value`, and of

    top = scores.amax(-1)
    m_new = torch.maximum(m, top)
    shift = m_new.masked_fill(m_new == -torch.inf, 0.0)
    correction = (m - shift).exp()
    powers = (scores - shift.unsqueeze(-1)).exp()
    l_new = l * correction + powers.sum(-1)
    acc_new = acc * correction.unsqueeze(-1) + powers @ value
    state = m_new, l_new, acc_new

where m, l, top, m_new, shift and correction hold one number per query.
"""

from course_utils.checking.mistakes import mistake

_OWN = "own = top.masked_fill(top == -torch.inf, 0.0)\n"
_UPSIDE = "upside = (shift - m.masked_fill(m == -torch.inf, 0.0)).exp()\n"
_KEPT = "correction = torch.ones_like(m)"
_OLD_POWERS = "powers = (scores - m.masked_fill(m == -torch.inf, 0.0).unsqueeze(-1)).exp()"

FACTORS = (
    mistake("acc not rescaled", "The running maximum moved and l followed it, but acc is still measured against the "
            "old one. What do the two sums have in common?", "acc_new = acc + powers @ value"),
    mistake("l not rescaled", "acc followed the new maximum, but l is still measured against the old one. Both are "
            "sums of the same exponentials: what happens to each term?", "l_new = l + powers.sum(-1)"),
    mistake("nothing rescaled", "The new terms are measured against the new maximum, the old ones against the old one, "
            "and they are added as if they were alike. By which factor do they differ?", _KEPT),
    mistake("the maximum of the tile alone", "Each tile is measured against its own maximum, and the sums are added. A "
            "sum over all tiles needs one measure: which maximum holds for everything seen so far?",
            f"m_new = top\n{_KEPT}", f"{_OWN}{_KEPT}\npowers = (scores - own.unsqueeze(-1)).exp()",
            f"{_OWN}powers = (scores - own.unsqueeze(-1)).exp()", "m_new = top",
            f"{_OWN}correction = (m - own).exp()\npowers = (scores - own.unsqueeze(-1)).exp()"),
    mistake("the factor upside down", "Where the maximum rises, the old sums grow. They were measured against a "
            "smaller number, so each of their terms was too large: which way does the factor go?",
            _UPSIDE + "correction = upside", _UPSIDE + "acc_new = acc * upside.unsqueeze(-1) + powers @ value",
            _UPSIDE + "l_new = l * upside + powers.sum(-1)",
            "acc_new = acc / correction.unsqueeze(-1) + powers @ value", "correction = (m_new - m).exp()"),
    mistake("the factor applied twice", "The old sums shrink by the square of the factor: it was applied twice. Once "
            "the maximum has moved, each old term needs one correction.",
            "acc_new = acc * correction.square().unsqueeze(-1) + powers @ value",
            "l_new = l * correction.square() + powers.sum(-1)", "correction = (m - shift).exp().square()"),
    mistake("no exponential in the factor", "The old sums were multiplied by a difference or a ratio of the maxima. "
            "They hold exponentials of scores: what does a shift of a score do to its exponential?",
            "correction = m.masked_fill(m == -torch.inf, 0.0) - shift",
            "acc_new = acc * (m.masked_fill(m == -torch.inf, 0.0) - shift).unsqueeze(-1) + powers @ value",
            "correction = m.masked_fill(m == -torch.inf, 0.0) / shift"),
    mistake("the factor on the new terms", "The factor was applied to the tile that comes in. The new terms are "
            "measured against the new maximum already: which are not?",
            f"{_KEPT}\npowers = (scores - shift.unsqueeze(-1)).exp() * (m - shift).exp().unsqueeze(-1)"),
    mistake("the new terms against the old maximum", "The tile's exponentials are taken against the maximum from "
            "before the tile. Which maximum are l and acc measured against once the step is done?",
            _OLD_POWERS, f"{_KEPT}\n{_OLD_POWERS}"),
    mistake("no maximum subtracted", "The exponentials are taken of the scores as they are. What becomes of exp(1000), "
            "and of exp(-1000) in a row where every score is as low?",
            f"{_KEPT}\npowers = scores.exp()", "powers = scores.exp()"),
    mistake("powers of another base", "Powers of 2 were taken where powers of e are meant. They agree only if the "
            "scores were multiplied by log₂ e before, and m is then in another unit too.",
            "correction = torch.exp2(m - shift)\npowers = torch.exp2(scores - shift.unsqueeze(-1))",
            "powers = torch.exp2(scores - shift.unsqueeze(-1))", "correction = torch.exp2(m - shift)"),
    mistake("one maximum for all rows", "All rows carry the same maximum. A row whose scores are far below it would be "
            "lost to rounding: over which axis is the maximum taken?",
            "m_new = torch.maximum(m.amax(), scores.amax()).expand_as(m)", "m_new = torch.maximum(m, scores.amax())",
            "m_new = torch.maximum(m, top.amax(-1, keepdim=True))"),
    mistake("a maximum of at least 0", "The maximum is never below 0. Where all scores are near -2,000 every "
            "exponential is then 0: from which value must a running maximum start?",
            "m_new = torch.maximum(m, top).clamp(min=0.0)", "m_new = torch.maximum(m.nan_to_num(neginf=0.0), top)"),
)

SUMS = (
    mistake("m of the tile returned", "l and acc are right, but the m that comes back is the tile's own maximum. The "
            "next step takes it for the one that l and acc are measured against.", "state = top, l_new, acc_new"),
    mistake("l replaced", "l holds the sum of this tile alone. What became of the tiles before it?",
            "l_new = powers.sum(-1)"),
    mistake("acc replaced", "acc holds the values of this tile alone. What became of the tiles before it?",
            "acc_new = powers @ value", "correction = torch.zeros_like(m)"),
    mistake("l is not a sum", "l grew by the tile's mean, its largest term or a count instead of the sum of its "
            "exponentials. What will acc be divided by in the end?", "l_new = l * correction + powers.mean(-1)",
            "l_new = l * correction + powers.amax(-1)", "l_new = l * correction + powers.shape[-1]",
            "l_new = l * correction + 1", "l_new = l * correction + powers.square().sum(-1)", "l_new = l * correction"),
    mistake("acc without the weights", "The values were added without their weights, or divided by the number of keys. "
            "What does each value count in the sum?",
            "acc_new = acc * correction.unsqueeze(-1) + value.sum(-2, keepdim=True)",
            "acc_new = acc * correction.unsqueeze(-1) + powers @ value / powers.shape[-1]",
            "acc_new = acc * correction.unsqueeze(-1) + powers.sum(-1, keepdim=True) * value.mean(-2, keepdim=True)"),
    mistake("acc normalised", "acc came back divided by l. The next step would add to it terms that were not divided: "
            "when is the division due?", "state = m_new, l_new, acc_new / l_new.unsqueeze(-1)",
            "acc_new = (acc * (l * correction).unsqueeze(-1) + powers @ value) / l_new.unsqueeze(-1)"),
)
