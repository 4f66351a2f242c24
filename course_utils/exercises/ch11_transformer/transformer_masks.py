"""Exercise: who sees whom in the encoder, in the decoder, and between them."""

from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make
from course_utils.checking.mistakes import mistake, saying, without
from course_utils.exercises.shared.kinds import NOTHING, batch_mixed, overwritten
from course_utils.exercises.shared.masks import PAST
from course_utils.models import transformer_masks
from torch import Tensor

RIGHT = """
def transformer_masks(source, target, pad_id):
    read = source != pad_id
    written = target != pad_id
    i = torch.arange(target.shape[1]).unsqueeze(-1)
    j = torch.arange(target.shape[1])
    past = j <= i
    encoder = read[:, None, None, :]
    keys = written[:, None, None, :]
    decoder = keys & past
    cross = read[:, None, None, :]
    masks = encoder, decoder, cross
    return masks
"""
_THREE = ("encoder", "decoder", "cross")
_LENGTHS = "{0} = torch.arange({1}.shape[1]) < ({1} != pad_id).sum(-1, keepdim=True)"
_UP_TO = "{0} = ({1} != pad_id).long().cumprod(-1).bool()"
_TWO = (("read", "source"), ("written", "target"))
_ADDED = (
    "hide = lambda mask: torch.zeros(mask.shape).masked_fill({}, {})\n"
    "return hide(encoder), hide(decoder), hide(cross)"
)


def _each(line: str) -> tuple[str, ...]:
    """Write a return with a line for all three masks, and for each alone."""
    chosen = (_THREE, *((name,) for name in _THREE))
    return tuple(
        "return " + ", ".join(line.format(name) if name in some else name for name in _THREE) for some in chosen
    )


def _made(batch: int, num_source: int, num_target: int, pad_id: int = 0, where: str = "right") -> Make:
    """Make tokens of which some are padding: on the right, on the left, anywhere, none, or all of a row."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        return _tokens(g, batch, num_source, 0), _tokens(g, batch, num_target, 1), pad_id

    def _tokens(g: torch.Generator, count: int, length: int, more: int) -> Tensor:
        tokens = torch.randint(4, 9, (count, length), generator=g)
        place = torch.arange(length).expand(count, -1)
        filled = (torch.arange(count).unsqueeze(-1) + more) % length + 1
        padding = {
            "right": place >= filled,
            "left": place < length - filled,
            "anywhere": (torch.rand(count, length, generator=g) < 0.4) & (place % 4 != 2),
            "none": place < 0,
            "a whole row": (torch.arange(count) == count - 1).unsqueeze(-1).expand(-1, length),
        }[where]
        return tokens.masked_fill(padding, pad_id)

    return make


def _unlike(args: tuple[Any, ...], got: Any) -> str | None:
    for name, one, want in zip(_THREE, got, transformer_masks(*args), strict=True):
        wrong = (one != want).nonzero()
        if len(wrong):
            b, _, query, key = wrong[0].tolist()
            verb = "sees" if bool(one[b, 0, query, key]) else "does not see"
            return f"In the mask of the {name}, sequence {b}: query {query} {verb} key {key}."
    return None


EXERCISE = exercise(
    transformer_masks,
    right=RIGHT,
    asks="Make the masks for the encoder, for the decoder, and for cross-attention.",
    minutes=12,
    difficulty=2,
    importance=5,
    parts=_THREE,
    cases=(
        case("2 sequences, 4 source tokens, 3 target tokens", _made(2, 4, 3)),
        case("3 sequences, 3 source tokens, 5 target tokens", _made(3, 3, 5)),
        case("every size is 4", _made(4, 4, 4)),
        case("no padding", _made(2, 5, 3, where="none")),
        case("padding on the left", _made(3, 5, 4, where="left")),
        case("padding anywhere", _made(4, 7, 6, where="anywhere")),
        case("pad_id=6", _made(3, 6, 4, pad_id=6)),
        case("a row of padding alone", _made(2, 3, 4, where="a whole row")),
        case("one token each", _made(2, 1, 1)),
        case("one sequence", _made(1, 6, 2, where="anywhere")),
    ),
    mistakes=(
        mistake("numbers instead of booleans", "The masks hold numbers. Added to scores, 1 and 0 hide nothing, and `~` "
                "and `&` mean something else on them or fail. Which dtype can only say yes or no?",
                *_each("{}.float()"), *_each("{}.long()"), *_each("{}.int()"), _each("{}.double()")[0],
                _each("{}.to(torch.uint8)")[0]),
        mistake("numbers to add instead of booleans", "These are numbers to be added to scores. The exercise asks for "
                "the masks themselves: True where a key may be seen. From them, such numbers can be made for any "
                "dtype; what does `&` do with -inf?", _ADDED.format("~mask", "-torch.inf"), _ADDED.format("~mask",
                "-1e9"),
                _ADDED.format("mask", "-torch.inf"), _ADDED.format("mask", "-1e9"),
                _ADDED.format("~mask", "torch.finfo(torch.float32).min")),
        mistake("PyTorch's masks", "These are the masks that `nn.Transformer` takes: padding and future apart, and "
                "True where a key is hidden. Here a mask says all of it at once: what does True allow?",
                "return ~read, torch.zeros(past.shape).masked_fill(~past, -torch.inf), ~read",
                "return ~read, ~past, ~read", "return ~read, ~written, ~read", "return ~read, past, ~read"),
        mistake("inverted", "True and False are exchanged, in a mask or in one of its conditions: True marks what is "
                "hidden. Some libraries use that convention; here, as in torch's SDPA, what does True allow?",
                *_each("~{}"), "read = source == pad_id\nwritten = target == pad_id", "read = source == pad_id",
                "written = target == pad_id", "decoder = ~(keys & past)", "return ~encoder, decoder, ~cross"),
        *without(saying(PAST, {
            "own key hidden": "A token of the target does not see itself, so the first one sees nothing. The target "
            "was shifted before it came here: is a token its own future?",
            "one key of the future seen": "Every token of the target sees the one after it, which it has to predict. "
            "Which diagonal is the last one allowed?",
        })),
        mistake("the decoder not causal", "The decoder's mask hides padding alone, and is the same for all queries. "
                "What may a token not see besides?", "decoder = keys"),
        mistake("the encoder causal", "In the encoder a token sees only what comes before it. The source is read "
                "whole before anything is written: what is there to hide?",
                "encoder = read[:, None, None, :] & torch.ones(2 * [source.shape[1]], dtype=torch.bool).tril()",
                "encoder = read[:, None, None, :] & torch.ones(2 * [source.shape[1]], dtype=torch.bool).tril()\n"
                "cross = encoder"),
        mistake("the cross mask causal", "The decoder sees more of the source with every token that it writes. Where "
                "does the past of a target token lie in another language?",
                "cross = encoder & torch.ones(target.shape[1], source.shape[1], dtype=torch.bool).tril()"),
        mistake("the cross mask made from the target", "The mask of the look at the encoder has a place for each "
                "target token, or hides where the target is padding. Whose keys are asked there?",
                "cross = keys", "cross = decoder", "cross = encoder & written[:, None, :, None]", "cross = past",
                "cross = encoder & keys if encoder.shape == keys.shape else encoder"),
        mistake("queries masked too", "Queries that are padding see nothing. Their results are thrown away later; a "
                "mask says which keys are seen. Along which axis do the keys lie?",
                "encoder = read[:, None, None, :] & read[:, None, :, None]",
                "decoder = keys & past & written[:, None, :, None]",
                "encoder = read[:, None, None, :] & read[:, None, :, None]\n"
                "decoder = keys & past & written[:, None, :, None]",
                "encoder = read[:, None, None, :] & read[:, None, :, None]\n"
                "decoder = keys & past & written[:, None, :, None]\n"
                "cross = read[:, None, None, :] & written[:, None, :, None]"),
        mistake("queries masked instead of keys", "The masks hide rows instead of columns: a query that is padding "
                "sees nothing, and padding is seen by all others. Along which axis do the keys lie?",
                "encoder = read[:, None, :, None]", "keys = written[:, None, :, None]",
                "cross = read[:, None, :, None]",
                "encoder = read[:, None, :, None]\nkeys = written[:, None, :, None]\ncross = read[:, None, :, None]"),
        mistake("padding taken from lengths", "Tokens were counted, and that many of the first positions called real: "
                "that is right only where padding is on the right. Which tokens are padding here?",
                *(_LENGTHS.format(*one) for one in _TWO), "\n".join(_LENGTHS.format(*one) for one in _TWO)),
        mistake("everything after the first padding left out", "A token behind a padding is not seen. Padding may be "
                "anywhere: place by place, what is there?",
                *(_UP_TO.format(*one) for one in _TWO), "\n".join(_UP_TO.format(*one) for one in _TWO)),
        mistake("padding shifted by one", "The key after a padding is hidden, or the one before it: a sequence was cut "
                "or rolled by one token. Which place does a token have in the mask?",
                *(f"{mask} = {tokens}.roll({n}, 1) != pad_id" for mask, tokens in _TWO for n in (1, -1)),
                *("\n".join(f"{mask} = {tokens}.roll({n}, 1) != pad_id" for mask, tokens in _TWO) for n in (1, -1))),
        batch_mixed(
            *(f"{mask} = ({tokens} != pad_id)[:1].expand_as({tokens})" for mask, tokens in _TWO),
            "\n".join(f"{mask} = ({tokens} != pad_id)[:1].expand_as({tokens})" for mask, tokens in _TWO),
            "return encoder, decoder[:1].expand_as(decoder), cross",
            *("\n".join(f"{mask} = ({tokens} != pad_id).{all_}(0, True).expand_as({tokens})" for mask, tokens in _TWO)
              for all_ in ("any", "all")),
            "decoder = keys.any(0, True) & past", "decoder = keys[:1] & past",
        ),
        mistake("padding always 0", "Padding was recognised by the number 0. Which number is it called with?",
                "read = source != 0", "written = target != 0", "read = source != 0\nwritten = target != 0",
                "read = source.bool()\nwritten = target.bool()"),
        mistake("padding compared by size", "Every number up to that of padding was taken for padding. Which numbers "
                "are?", "read = source > pad_id", "written = target > pad_id",
                "read = source > pad_id\nwritten = target > pad_id",
                "read = source < pad_id\nwritten = target < pad_id"),
        mistake("padding seen", "The mask of the encoder and that of the look at it hide no padding. Who would learn "
                "from it?", "read = torch.ones_like(source, dtype=torch.bool)",
                "read = torch.ones_like(source, dtype=torch.bool)\n"
                "written = torch.ones_like(target, dtype=torch.bool)"),
        mistake("padding seen in the decoder", "The decoder's mask hides the future, but no padding. What does a token "
                "learn from padding before it?",
                "written = torch.ones_like(target, dtype=torch.bool)",
                "decoder = past.expand(len(target), 1, -1, -1)", "decoder = past", "decoder = past[None, None]"),
        mistake("padding seen in the encoder", "The encoder's mask hides nothing. Which tokens of the source are none?",
                "encoder = torch.ones_like(read)[:, None, None, :]", "encoder = torch.ones_like(read)"),
        mistake("padding seen from the decoder", "The mask of the look at the encoder hides nothing. What did the "
                "encoder make of the padding?", "cross = torch.ones_like(encoder)",
                "cross = torch.ones(len(target), 1, target.shape[1], source.shape[1], dtype=torch.bool)"),
        mistake("one condition enough", "In the decoder a key is seen when it is not padding or when it lies in the "
                "past. Does one of the two suffice?", "decoder = keys | past"),
        mistake("empty rows filled", "A row of padding alone was given keys to see. An empty row is a legal mask: the "
                "softmax has to cope with it. What may be seen there?", *_each("{0} | ~{0}.any(-1, keepdim=True)")[1:],
                "masks = [mask | ~mask.any(-1, keepdim=True) for mask in (encoder, decoder, cross)]\n"
                "return tuple(masks)",
                "read = (source != pad_id) | (source == pad_id).all(-1, True)",
                "written = (target != pad_id) | (target == pad_id).all(-1, True)",
                *(f"{mask} = ({tokens} != pad_id) | ((torch.arange({tokens}.shape[1]) == 0) & "
                  f"({tokens} == pad_id).all(-1, True))" for mask, tokens in _TWO),
                "\n".join(f"{mask} = ({tokens} != pad_id) | ({tokens} == pad_id).all(-1, True)"
                          for mask, tokens in _TWO),
                "decoder = keys & past | (j == i)", "decoder = keys & past | (j == 0)"),
        mistake("source and target exchanged", "The encoder's mask was made from the target, or the decoder's from the "
                "source. Which of them does the encoder read?", "read = target != pad_id\nwritten = source != pad_id",
                "read = target != pad_id", "written = source != pad_id",
                "decoder = read[:, None, None, :] & torch.ones(2 * [source.shape[1]], dtype=torch.bool).tril()",
                "source, target = target, source\nread = source != pad_id"),
        mistake("a triangle as long as the source", "The table of past and future was made from the source's length. "
                "Who writes from left to right?", "past = torch.ones(2 * [source.shape[1]], dtype=torch.bool).tril()",
                "past = torch.ones(target.shape[1], source.shape[1], dtype=torch.bool).tril()"),
        mistake("a loop that leaves one out", "One row or column of a mask was never filled, all else is right. Which "
                "numbers does your `range` give?",
                *(f"{mask}[{place}] = False\nreturn masks" for mask, place in (
                    ("decoder", "..., 0, :"), ("decoder", "..., -1, :"), ("decoder", "..., 0"), ("decoder", "..., -1"),
                    ("encoder", "..., 0"), ("encoder", "..., -1"), ("cross", "..., 0"), ("cross", "..., -1"))),
                *(f"encoder[{place}] = cross[{place}] = False\nreturn masks" for place in ("..., 0", "..., -1"))),
        overwritten("read = source.masked_fill_(source == pad_id, -1) != -1",
                    "written = target.masked_fill_(target == pad_id, -1) != -1",
                    "read = source.masked_fill_(source == pad_id, -1) != -1\n"
                    "written = target.masked_fill_(target == pad_id, -1) != -1",
                    "read = source.sub_(pad_id) != 0"),
        NOTHING,
        mistake("another number of masks", "Three masks are asked for, one after the other, in a tuple. How many came, "
                "and in what?", "return encoder, decoder", "return decoder", "return encoder", "return decoder, cross",
                "return encoder, decoder, cross, past"),
        mistake("the masks in another order", "The three masks are right, but come in another order: encoder, decoder, "
                "cross.", "return encoder, cross, decoder", "return decoder, encoder, cross",
                "return decoder, cross, encoder"),
        mistake("axes missing", "A mask lacks the axes of heads or queries, so it is laid over the scores' wrong axes. "
                "Scores have the axes (B, H, L, S): where do the 1s go?",
                "encoder = read\ncross = read", "encoder = read[:, None, :]\ncross = read[:, None, :]",
                "encoder = read[:, None, :]\ndecoder = written[:, None, :] & past\ncross = read[:, None, :]",
                "decoder = written[:, None, :] & past", "encoder = read", "cross = read",
                "encoder = read\ndecoder = written[:, None, :] & past\ncross = read",
                "encoder = read[:, None, :]", "cross = read[:, None, :]"),
        mistake("axes spread out", "A mask has a row for each query where one row serves all, or a size where 1 would "
                "do. It means the same, but takes L times the memory. Which axes does it depend on?",
                "encoder = read[:, None, None, :].expand(-1, 1, source.shape[1], -1)",
                "cross = read[:, None, None, :].expand(-1, 1, target.shape[1], -1)",
                "encoder = read[:, None, None, :].expand(-1, 1, source.shape[1], -1)\n"
                "cross = read[:, None, None, :].expand(-1, 1, target.shape[1], -1)",
                "encoder = read[:, None, None, :].expand(-1, 1, source.shape[1], -1)\ncross = encoder"),
    ),
    laws=(Law("a key is seen where it is not padding, in the decoder also only up to the query", _unlike),),
    hints=(
        "For each of the three: who asks, and whose keys are asked? Padding matters only among the keys.",
        "`tokens != pad_id` has the axes (B, keys). Scores have (B, H, L, S): where do two axes of size 1 go?",
        "Only the decoder's own mask knows of a future: combine its padding with a causal table using `&`.",
        "The third mask is asked by target tokens, but its keys are those of the encoder.",
    ),
)
