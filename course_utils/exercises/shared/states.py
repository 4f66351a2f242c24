"""Mistakes with a state that fades and is handed on: in retention, the delta rule, WKV.

The lines of `FADING` speak of `decay` (H,), one number a head, of `query` and `value`, and of the steps

    rate = decay[:, None, None]
    ages = place.unsqueeze(-1) - place
    powers = rate ** ages.clamp(min=0)
    faded = powers.tril()
    weights = products * default * faded

Those of `LEFT_OUT` speak of `new_state` and `out`.
"""

from course_utils.checking.mistakes import Mistake, mistake
from course_utils.checking.recipe import Function

FADING = (
    mistake("nothing fades", "Old tokens count as much as new ones. By which power of the decay is a token of the past "
            "weighed?", "faded = torch.ones_like(powers).tril()"),
    mistake("own token left out", "A token does not see itself: what it reads was written before it. Which comes first "
            "at each token, the write or the read?", "faded = powers.tril(-1)",
            "faded = (rate ** (ages - 1).clamp(min=0)).tril(-1)"),
    mistake("own token faded", "Even the newest token is faded once. How many steps lie between a token and itself?",
            "powers = rate ** (ages + 1).clamp(min=0)"),
    mistake("|n - m|", "Each query also sees the tokens after it, faded by their distance. Which of the two orders of "
            "n and m may count?", "faded = rate ** ages.abs()"),
    mistake("not causal", "Tokens of the future are in the sum. What must be 0 above the diagonal?", "faded = powers",
            "faded = rate ** ages", "faded = rate ** -ages"),
    mistake("the future instead of the past", "Each query sees what comes after it. Which side of the diagonal belongs "
            "to the past?", "faded = powers.tril().mT", "faded = powers.triu()"),
    mistake("only its own token", "Each token reads what it wrote itself, and nothing older. What of the tokens before "
            "it?", "faded = powers.tril().triu()"),
    mistake("the oldest kept best", "The fade runs backwards: the oldest token counts most. How does the exponent "
            "depend on n - m?", "powers = (rate ** place).expand(-1, len(place), -1)",
            "powers = rate ** (place[-1] - ages).clamp(min=0)"),
    mistake("faded by a place instead of an age", "The fade depends on one place alone: on the query's, or on how far "
            "the key is from the end. How long ago was each key written when a query reads it?",
            "powers = (rate ** place.unsqueeze(-1)).expand(-1, -1, len(place))",
            "powers = (rate ** (place[-1] - place)).expand(-1, len(place), -1)",
            "powers = (rate ** (place + 1).unsqueeze(-1)).expand(-1, -1, len(place))"),
    mistake("decay with the wrong sign", "The past grows instead of fading. Is the exponent n - m or m - n?",
            "powers = rate ** -ages.clamp(min=0)"),
    mistake("decay taken for a rate", "The decay was used in an exponential. It is what is left of the past after one "
            "step: how often is it multiplied with itself?", "powers = (-rate * ages.clamp(min=0)).exp()"),
    mistake("another function of the age", "The fade is not the decay to the power of the age: it is a product, a "
            "quotient, or a power with another exponent. What is left after two steps, if one step leaves γ of it?",
            "powers = rate * ages.clamp(min=0)", "powers = rate ** (2 * ages.clamp(min=0))",
            "powers = rate / (1 + ages.clamp(min=0))", "powers = rate ** (ages.clamp(min=0) / 2)",
            "powers = rate ** ages.clamp(min=0).square()", "powers = (rate.log2() * ages.clamp(min=0)).exp()",
            "powers = (rate.log10() * ages.clamp(min=0)).exp()"),
    mistake("a moving average", "What a token writes was weighed by 1 - γ, as in a moving average. Retention writes it "
            "in full: what does each token add?", "faded = powers.tril() * (1 - rate)"),
    mistake("what is lost taken for what is kept", "1 - decay was used as the decay. Which share of the past does a "
            "head of decay 0.9 still hold one token later?", "rate = 1 - decay[:, None, None]"),
    mistake("decay along the wrong axis", "The decays are not those of the heads: they lie along another axis, or one "
            "serves all. Each head has its own: at which axis of (B, H, n, m) must they stand?", "rate = decay",
            "rate = decay[:, None]", "rate = decay[:1, None, None]", "rate = decay.mean().reshape(1, 1, 1)",
            "rate = decay[-1:, None, None]", "rate = decay[:, None, None, None]",
            "rate = decay.flip(0)[:, None, None]"),
    mistake("decays of its own", "The decays are RetNet's own series, whatever was handed over. Which argument holds "
            "them?", "rate = (1 - 2.0 ** (-5 - torch.arange(len(decay)))).to(decay.dtype)[:, None, None]",
            "rate = torch.full_like(decay, 0.9)[:, None, None]"),
    mistake("γⁿ · γ⁻ᵐ", "The power of n - m was split into one of n and one of -m. What becomes of 0.1 to the power of "
            "-60 in float32, and of its product with a number that has vanished?",
            "powers = rate ** place.unsqueeze(-1) * rate ** -place", "faded = rate ** place.unsqueeze(-1) * (rate ** "
            "-place).expand(-1, len(place), -1).tril()",
            "powers = (rate.log() * place.unsqueeze(-1)).exp() / (rate.log() * place).exp()",
            "forth = rate.expand(-1, len(place), -1).cumprod(1)\npowers = forth / forth.mT",
            "back = rate ** -place.unsqueeze(-1)\n"
            "weights = ((query * rate ** place.unsqueeze(-1)) @ (key * back).mT * default).tril()",
            "forth = rate ** place.unsqueeze(-1)\nweights = ((query * forth) @ (key / forth).mT * default).tril()",
            "forth = rate ** (place + 1).unsqueeze(-1)\n"
            "weights = ((query * forth) @ (key / forth).mT * default).tril()"),
    mistake("powers made before the mask", "Powers of the decay were taken for the future too, where they grow without "
            "bound, and were struck out only then. What is 0 times infinity, in the gradient too?",
            "powers = rate ** ages", "powers = torch.ones_like(rate)\nfaded = rate ** ages * (ages >= 0)",
            "powers = torch.ones_like(rate)\nfaded = torch.where(ages >= 0, rate ** ages, 0.0)"),
    mistake("a softmax in retention", "The weights of a row come out of a softmax. Retention has none: what is a "
                "weight here?",
            "weights = (products * default).masked_fill(ages < 0, -torch.inf).softmax(-1) * faded",
            "weights = (products * default * faded).masked_fill(ages < 0, -torch.inf).softmax(-1)",
            "weights = (products * default + powers.log()).masked_fill(ages < 0, -torch.inf).softmax(-1)",
            "weights = (products * default).softmax(-1) * faded"),
    mistake("the fade added to the scores", "The fade, or its logarithm, was added to the scores. That is a factor "
            "only under an exponential, and retention has none: how does a score fade?",
            "weights = (products * default + powers.log()).tril()", "weights = (products * default + faded).tril()",
            "weights = (products * default + powers.log().nan_to_num(neginf=0.0)).tril()"),
    mistake("normalised rows", "The weights of a row were divided by their sum. Who asked for a normaliser?",
            "weights = products * default * faded\nweights = weights / weights.sum(-1, keepdim=True)",
            "weights = products * default * faded\nweights = weights / weights.abs().sum(-1, keepdim=True)",
            "weights = products * default * faded\n"
            "weights = weights / weights.abs().sum(-1, keepdim=True).clamp(min=1)",
            "weights = products * default * faded\n"
            "weights = weights / weights.sum(-1, keepdim=True).abs().clamp(min=1)",
            "weights = products * default * faded / faded.sum(-1, keepdim=True)",
            "weights = products * default * faded / faded.sum(-1, keepdim=True).sqrt()",
            "weights = products * default * faded / (place + 1).unsqueeze(-1)"),
)

SCALED = (
    mistake("no scale", "The scores are not scaled. By what does q·k grow with d_k?", "default = 1.0"),
    mistake("divided by d_k", "The scores are divided by too much. d_k is the variance of q·k; what is its standard "
            "deviation?", "default = 1 / query.shape[-1]"),
    mistake("multiplied by the root of d_k", "The scale makes the scores larger, not smaller. Which way should it push "
            "them?", "default = math.sqrt(query.shape[-1])"),
    mistake("the root of the wrong size", "The scale is a root, but not of the width of query and key. Over how many "
            "products does one score sum?", "default = 1 / math.sqrt(value.shape[-1])",
            "default = 1 / math.sqrt(query.shape[-2])", "default = 1 / math.sqrt(query.shape[1])",
            "default = 1 / math.sqrt(query.shape[1] * query.shape[-1])"),
)

COMPARED = (
    mistake("query and key swapped", "The keys ask and the queries answer. Which of the two is summed together with "
            "the values?", "products = key @ query.mT"),
    mistake("the wrong two compared", "The scores do not come from queries and keys: one of the two was used twice. "
            "Which two are compared with each other?", "products = query @ query.mT", "products = key @ key.mT"),
    mistake("query and key through a function", "Queries and keys, or their scores, went through a function first. "
            "They are used as given: may a score be negative here?", "products = F.silu(query) @ F.silu(key).mT",
            "products = (F.elu(query) + 1) @ (F.elu(key) + 1).mT", "products = F.relu(query) @ F.relu(key).mT",
            "products = (query @ key.mT).relu()", "products = (query @ key.mT).exp()", "products = (query @ "
            "key.mT).abs()", "products = query.softmax(-1) @ key.softmax(-1).mT"),
    mistake("query and key brought to length 1", "Query or key was normalised. Their lengths take part in the scores: "
            "what asks for that step?", "products = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT",
            "products = F.normalize(query, dim=-1) @ key.mT", "products = query @ F.normalize(key, dim=-1).mT"),
)


def in_place(*versions: str | Function) -> Mistake:
    """Return the mistake of writing into the state that was given."""
    return mistake("the state changed in place", "The state that was handed over was overwritten. Whoever keeps it, to "
                   "go another way or to differentiate, loses it: which line writes in place?", *versions)


def returned(*versions: str) -> Mistake:
    """Return the mistake of a state that does not hold the new tokens."""
    return mistake("the old state returned", "What comes back, or a part of it, is what was handed over, faded at "
                "most. What have the new tokens added to it?", *versions)


def cut_off(*versions: str) -> Mistake:
    """Return the mistake of a state through which nothing can be learned."""
    return mistake("the state cut off from the gradient", "The values are right, but no gradient comes back through "
                "the state, so nothing learns across it. What cuts the thread?", *versions)


LEFT_OUT = (
    mistake("not all parts returned", "A part of the result is missing. What does the next call need besides the "
            "output?", "return out", "return new_state"),
    mistake("results in another order", "The results come back in another order. In which order are they asked for?",
            "return new_state, out"),
)
