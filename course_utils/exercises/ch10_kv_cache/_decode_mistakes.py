"""What goes wrong when new queries meet a cache: which slots they see."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch10_kv_cache._decode_wrong import build, everything, past


def _nan_free(cache: Tensor, length: int, new: int) -> Tensor:
    return cache.nan_to_num(0.0)


def _emptied(cache: Tensor, length: int, new: int) -> Tensor:
    """Put zeros into the free slots, and keep them."""
    free = torch.arange(cache.shape[2]).unsqueeze(-1) >= length
    return cache.masked_fill(free, 0.0)


def _wiped(query: Tensor, cache_key: Tensor, cache_value: Tensor, length: int) -> Tensor:
    cache_key[:, :, length:] = 0.0
    cache_value[:, :, length:] = 0.0
    out: Tensor = build()(query, cache_key, cache_value, length)
    return out


def _position_in_batch(own: Tensor, place: Tensor, new: int) -> Tensor:
    return place <= own - own[0]


def _faintly(low: float) -> Function:
    """Return attention that gives hidden scores a number in place of -inf."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        scores = query @ key.mT * query.shape[-1] ** -0.5
        weights = scores.masked_fill(~mask, low).softmax(-1)
        return torch.matmul(weights, value)

    return build(attend)


SLOTS = (
    Misconception(
        "hidden scores not low enough",
        _faintly(-100.0),
        "Later positions got a low score, but scores may be lower still, and then the future takes "
        "all the weight. Which number is below every score?",
        also=(_faintly(-1e4),),
    ),
    Misconception(
        "a chunk whose mask begins at the first key",
        build(sees=_position_in_batch),
        "The first of the new queries sees only the first key of the cache, as if it stood at "
        "position 0: so does `is_causal=True` where there are more keys than queries. At which "
        "position does it stand?",
        also=(
            lambda q, k, v, n: torch.nn.functional.scaled_dot_product_attention(
                q, k[:, :, :n], v[:, :, :n], is_causal=True
            ),
        ),
    ),
    Misconception(
        "no mask inside a chunk",
        build(sees=lambda own, place, new: place >= 0),
        "The earlier of several new queries read the keys of the later ones. They came together; "
        "does the first of them know what comes next?",
    ),
    Misconception(
        "the whole memory read",
        build(keys=everything, sees=lambda own, place, new: place >= 0),
        "Slots behind `length` were attended to. Memory that was taken in advance holds anything: "
        "which slots are filled?",
        also=(
            build(keys=_nan_free, sees=lambda own, place, new: place >= 0),
            build(keys=everything, sees=lambda own, place, new: place <= own + place.numel() - new),
        ),
    ),
    Misconception(
        "free slots taken for tokens of zeros",
        build(keys=_emptied, sees=lambda own, place, new: place >= 0),
        "The free slots take part as keys of zeros. A score of 0 is a score: it gets a share of "
        "the weights. Which slots should not be there at all?",
    ),
    Misconception(
        "free slots multiplied by a weight of zero",
        build(keys=everything, sees=past),
        "NaN came out: the free slots are hidden by a mask, but they are still read, and 0 times "
        "NaN is NaN. How is a slot not read at all?",
        also=(
            build(
                attend=lambda q, k, v, m: (
                    ((q @ k.mT) / q.shape[-1] ** 0.5).masked_fill(~m, -1e9).softmax(-1) @ v
                ),
                keys=everything,
            ),
        ),
    ),
    Misconception(
        "free slots wiped in the caller's cache",
        _wiped,
        "The free slots of the cache were overwritten. Reading a cache changes nothing in it: is "
        "there a way to leave them out?",
    ),
    Misconception(
        "the newest token does not see itself",
        build(sees=lambda own, place, new: place < own),
        "A query does not see its own key. Its keys and values are in the cache already: up to "
        "which slot may it look?",
        also=(
            build(keys=lambda c, n, new: c[:, :, : n - 1]),
            build(sees=lambda own, place, new: place < own[0] + 0 * own),
            build(
                keys=lambda c, n, new: c[:, :, : n - new], sees=lambda own, place, new: place >= 0
            ),
        ),
    ),
    Misconception(
        "one slot too many",
        build(
            keys=lambda c, n, new: c[:, :, : n + 1], sees=lambda own, place, new: place <= own + 1
        ),
        "One slot more than is filled was read, or a query sees the key behind its own. The last "
        "of `length` tokens stands in slot `length - 1`.",
        also=(
            build(sees=lambda own, place, new: place <= own + 1),
            build(
                keys=lambda c, n, new: c[:, :, : n + new], sees=lambda own, place, new: place >= 0
            ),
            build(
                keys=lambda c, n, new: c[:, :, : n + new],
                sees=lambda own, place, new: place <= own + new,
            ),
        ),
    ),
    Misconception(
        "only the new tokens read",
        build(
            keys=lambda c, n, new: c[:, :, n - new : n],
            sees=lambda own, place, new: place <= own - own[0],
        ),
        "The queries see only the keys that came with them. What was the cache kept for?",
        also=(
            build(
                keys=lambda c, n, new: c[:, :, n - new : n],
                sees=lambda own, place, new: place >= 0,
            ),
        ),
    ),
    Misconception(
        "the last slots of the memory read",
        build(keys=lambda c, n, new: c[:, :, -n:]),
        "The last slots of the memory were read instead of the first. Where do the filled ones "
        "stand?",
        also=(build(values=lambda c, n, new: c[:, :, -n:]),),
    ),
    Misconception(
        "the first token lost",
        build(sees=lambda own, place, new: (place <= own) & (place > 0)),
        "The very first token is never seen. Slots count from 0.",
        also=(
            build(sees=lambda own, place, new: (place <= own) & (place > own - own[-1])),
            build(keys=lambda c, n, new: c[:, :, 1:n], sees=lambda own, place, new: place < own),
            build(keys=lambda c, n, new: c[:, :, 1 : n + 1]),
        ),
    ),
    Misconception(
        "each query sees only its own key",
        build(sees=lambda own, place, new: place == own),
        "Each query reads its own value and nothing else. What may it look back to?",
    ),
    Misconception(
        "the future instead of the past",
        build(sees=lambda own, place, new: place >= own),
        "The mask is turned round: queries see their own key and those after it.",
        also=(
            build(sees=lambda own, place, new: place > own),
            build(sees=lambda own, place, new: place >= own - own[0]),
        ),
    ),
    Misconception(
        "the mask of a prompt, backwards",
        build(sees=lambda own, place, new: place <= own.flip(0)),
        "The first new query sees what the last one may see, and the other way round. Which row "
        "belongs to which position?",
        also=(build(sees=lambda own, place, new: (place <= own).flip(1)),),
    ),
    Misconception(
        "values of other slots than keys",
        build(values=lambda c, n, new: c[:, :, :n].flip(2)),
        "The weights meet values of other tokens. Key and value of a token stand in the same slot.",
        also=(
            build(values=lambda c, n, new: c[:, :, :n].roll(1, 2)),
            build(values=lambda c, n, new: c[:, :, :n].roll(-1, 2)),
        ),
    ),
)
