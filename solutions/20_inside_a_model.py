# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---
# %%
from collections import defaultdict

import torch
from torch.nn import functional as F
from types import SimpleNamespace

from course_utils import attention, data, interpretability
from course_utils.attention import causal_mask, masked_softmax, merge_heads
from course_utils.interpretability import mean_ablate, role_share, without_key, logit_lens, direct_attribution, copying_score, composition_score, attention_entropy, rank_correlation

# %%
EPS = 1e-5  # what the norms of this model add under their roots
def unchanged(part, layer, x):
    """Leave every part as it is."""
    return x


def taps(x, edit=unchanged, layer=0, start=0, past=None):
    """Run the stream (B, T, 576) through the layers from `layer` on, keeping what each part returns.

    `edit(part, layer, x)` may change it. The tokens are at positions `start` and behind; the keys
    and values of those before are in `past`, which an earlier call has kept.
    """
    kept, end = defaultdict(dict), start + x.shape[1]
    places, visible = torch.arange(start, end), causal_mask(x.shape[1], end, start)

    def part(name, number, x):
        kept[name][number] = x = edit(name, number, x)
        return x

    for number, one in enumerate(model.layers[layer:], layer):
        rows = one.attention.in_proj(one.attention_norm(x)).unflatten(-1, (15, 64))
        query, key, value = rows.transpose(1, 2).split([9, 3, 3], dim=1)
        query, key = model.positions.rotate(query, key, places, places)
        query, key = part("queries", number, query), part("keys", number, key)
        value = part("values", number, value)
        if start:
            before = (past[name][number][..., :start, :] for name in ("keys", "values"))
            before = (one.expand(len(x), -1, -1, -1) for one in before)
            key, value = (torch.cat(pair, dim=2) for pair in zip(before, (key, value), strict=True))
        key, value = (one.repeat_interleave(3, dim=1) for one in (key, value))
        weights = part("weights", number, masked_softmax(query @ key.mT / 8, visible))
        heads = part("heads", number, weights @ value)
        x = x + one.attention.out_proj(merge_heads(heads))
        x = part("state", number, x + one.feed_forward(one.feed_forward_norm(x)))
    return model.out(model.last_norm(x)), kept


def read(tokens, edit=unchanged):
    """Run the model on tokens (B, T) of one length."""
    return taps(model.token(tokens), edit)
# %%
def five_texts():
    """Return the tokens (256,) of five texts by name."""
    text = {name: tokenizer.encode(one) for name, one in data.installed_texts().items()}
    begins = {"housing": ("sklearn", 0), "network": ("sklearn", 700), "classes": ("help", 0), "course": ("course", 0), "more course": ("course", 600)}
    return {name: text[where][begin : begin + 256] for name, (where, begin) in begins.items()}


def roles(weights, tokens):
    """Return what share of its weight each head (..., T, T) puts on keys of three roles."""
    length = len(tokens)
    rows, columns = torch.arange(length)[:, None], torch.arange(length)
    same = torch.zeros(length, length, dtype=torch.bool)
    same[:, 1:] = tokens[:, None] == tokens[:-1]
    chosen = {"first": columns == 0, "previous": columns == rows - 1, "induction": same & (columns <= rows)}
    return {
        name: role_share(weights, (which & (rows >= 32)).expand(length, length))
        for name, which in chosen.items()
    }


def token_losses(tokens, scores):
    """Return the loss at each position (T - 1,) of one text."""
    return F.cross_entropy(scores[0, :-1], tokens[1:], reduction="none")


def heads_set_to(means, heads):
    """Return an edit that sets heads, given as pairs (layer, head), to their rows of `means` (30, 9, 64)."""
    listed = defaultdict(list)
    for layer, head in heads:
        listed[layer].append(head)

    def edit(part, layer, x):
        if part == "heads" and layer in listed:
            return mean_ablate(x, listed[layer], means[layer][None, :, None])
        return x

    return edit


def stacked(kept, name):
    """Return a part of all layers as one tensor (B, 30, …)."""
    return torch.stack(list(kept[name].values()), dim=1)


def words():
    """Return the tokens that are a space and a lower-case word of three letters or more."""
    names = ((i, tokenizer.decode([i])) for i in range(1000, 20000))
    return [i for i, name in names if name[:1] == " " and len(name) > 3 and name[1:].isalpha() and name.islower()]


def repeated_words(length, seed):
    """Return a line end and then random words (1 + 2 length,), the second half like the first."""
    known = torch.tensor(words())
    drawn = torch.randperm(len(known), generator=torch.Generator().manual_seed(seed))[:length]
    return torch.cat([tokenizer.encode("\n"), known[drawn], known[drawn]])


# %%
def two_runs(template, count, seed=0):
    """Return sentences of two names as tokens (N, T), with the other name repeated, and places."""
    drawn = data.two_names(template, count, seed)
    clean, other = (torch.stack([tokenizer.encode(getattr(one, kind)) for one in drawn]) for kind in ("text", "other"))
    taker, giver = (torch.cat([tokenizer.encode(" " + getattr(one, kind)) for one in drawn]) for kind in ("object", "subject"))
    places = (clean == giver[:, None]).int()
    return SimpleNamespace(
        tokens=clean, other=other, object=taker, subject=giver, end=clean.shape[1] - 1,
        second=clean.shape[1] - 1 - places.flip(1).argmax(1), first=places.argmax(1),
        named=(clean == taker[:, None]).int().argmax(1),
    )


def difference(scores, runs):
    """Return how much more the object's name scores than the subject's at the end (N,)."""
    last = scores[:, -1]
    return (last.gather(1, runs.object[:, None]) - last.gather(1, runs.subject[:, None]))[:, 0]


def attributed(kept, runs):
    """Return the direct parts of that difference: heads (N, 30, 9), feed-forward (N, 30), embedding (N,)."""
    heads, state = stacked(kept, "heads")[..., -1, :], stacked(kept, "state")[:, :, -1]
    W_O = torch.stack([one.attention.out_proj.weight.mT for one in model.layers]).unflatten(1, (9, 64))
    unembed, gain = model.out.weight, model.last_norm.weight
    direction = unembed[runs.object] - unembed[runs.subject]
    found = direct_attribution(heads, W_O, state[:, -1], gain, direction, EPS)
    embedding = model.token(runs.tokens[:, -1])
    streams = torch.cat([embedding[:, None], state], dim=1)
    attention_out = torch.einsum("bnhk,nhkd->bnd", heads, W_O)
    fed = streams.diff(dim=1) - attention_out
    size = (state[:, -1].square().mean(-1) + EPS).sqrt()
    projected = lambda x: ((x * gain) * direction.unsqueeze(1)).sum(-1) / size[:, None]
    return found, projected(fed), projected(embedding[:, None])[:, 0]


def heads_at_end(kept, runs, replaced):
    """Return the difference (N, 30, 9) where one head at a time is replaced at the end.

    `replaced` (N or 1, 30, 9, 64) holds what each head returns there instead.
    """
    table, count = torch.zeros(len(runs.tokens), 30, 9), len(runs.tokens)
    several = SimpleNamespace(object=runs.object.repeat(9), subject=runs.subject.repeat(9))
    past = {name: {n: one.repeat(9, 1, 1, 1) for n, one in kept[name].items()} for name in ("keys", "values")}
    streams = {**{n + 1: one for n, one in kept["state"].items()}, 0: model.token(runs.tokens)}
    for layer in range(30):

        def edit(part, number, x):
            if part == "heads" and number == layer:
                x = x.unflatten(0, (9, count)).clone()
                for head in range(9):
                    x[head, :, head, 0] = replaced[:, layer, head]
                x = x.flatten(0, 1)
            return x

        stream = streams[layer][:, -1:].repeat(9, 1, 1)
        scores, _ = taps(stream, edit, layer, runs.end, past)
        table[:, layer] = difference(scores, several).view(9, count).T
    return table
