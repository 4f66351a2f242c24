"""Exercise: queries, keys and values from one sequence."""

import math
from typing import Any

from course_utils.attention import project_qkv
from course_utils.checking.compare import equal
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import mistake, saying, without
from course_utils.exercises.shared.kinds import (
    cut_off,
    left_in,
    other_parts,
    overwritten,
    squeezed,
    through_numpy,
    writing,
)
from course_utils.exercises.shared.projections import projections
from torch import Tensor

RIGHT = """
def project_qkv(x, W_q, W_k, W_v):
    query = x @ W_q
    key = x @ W_k
    value = x @ W_v
    return query, key, value
"""


def _multiples(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether each part is the right one times a number."""
    for part, want in zip(got, project_qkv(*args), strict=True):
        top = want.abs().argmax()
        factor = (part.detach().flatten()[top] / want.flatten()[top]).item()
        if not math.isfinite(factor) or not equal(part.detach(), factor * want):
            return False
    return True


def _shifted(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether each part is the right one plus a number."""
    pairs = zip(got, project_qkv(*args), strict=True)
    return all(equal(part.detach(), want + (part - want).detach().median()) for part, want in pairs)


def _any_matrices(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether each part is the sequence times one of the matrices, transposed or not."""
    x, *matrices = args
    choices: list[Tensor] = [*matrices, *(W.mT for W in matrices)]
    fitting = [x @ W for W in choices if W.shape[0] == x.shape[-1]]
    return all(any(equal(part.detach(), other) for other in fitting) for part in got)


def _with(*changes: str) -> tuple[str, ...]:
    """Return versions that change the sequence before it is projected."""
    return tuple(f"x = {change}\nquery = x @ W_q" for change in changes)


def _each(*changes: str) -> tuple[str, ...]:
    """Return versions that change all three before they are returned; `{}` is one of them."""
    return tuple("return " + ", ".join(change.format(one) for one in ("query", "key", "value")) for change in changes)


def _one(*changes: str) -> tuple[str, ...]:
    """Return versions that change one of the three; `{}` is its product."""
    return tuple(
        f"{name} = {change.format(f'(x @ {W})')}"
        for change in changes
        for name, W in (("query", "W_q"), ("key", "W_k"), ("value", "W_v"))
    )


_PLAIN = "torch.softmax((x @ W_q) @ (x @ W_k).mT / math.sqrt(W_q.shape[1]), -1) @ (x @ W_v)"

EXERCISE = exercise(
    project_qkv,
    right=RIGHT,
    asks="Make the queries, keys and values of one sequence, each by a matrix of its own.",
    minutes=5,
    difficulty=1,
    importance=5,
    parts=("query", "key", "value"),
    cases=(
        # All sizes are equal: a mistake with axes gives numbers here, and can be named by them.
        case("3 sequences, 3 positions, all widths 3", batch=(3,), L=3, d_model=3, d_k=3, d_v=3, gradient="equal"),
        case("2 sequences, 5 positions, widths 6, 4 and 7", batch=(2,), L=5, d_model=6, d_k=4, d_v=7, gradient="equal"),
        case("values narrower than keys", batch=(2,), L=4, d_model=6, d_k=5, d_v=2),
        case("heads as wide as the stream, values too", batch=(2,), L=3, d_model=4, d_k=4, d_v=4),
        case("wider than the stream", batch=(3,), L=2, d_model=4, d_k=7, d_v=9),
        case("one sequence", batch=(1,), L=4, d_model=5, d_k=3, d_v=6),
        case("one position", batch=(3,), L=1, d_model=5, d_k=2, d_v=4),
        case("every width 1", batch=(2,), L=3, d_model=1, d_k=1, d_v=1),
        case("large inputs", x=lambda g: normal(g, 2, 3, 5, size=1e4), d_model=5, d_k=4, d_v=6),
        case("non-contiguous inputs", batch=(2,), L=4, d_model=6, d_k=3, d_v=5, strided=True),
        case("float32", batch=(2,), L=4, d_model=8, d_k=3, d_v=5, dtype="float32"),
        case("bfloat16", batch=(2,), L=3, d_model=4, d_k=2, d_v=5, dtype="bfloat16"),
    ),
    mistakes=(
        mistake("returned in another order", "The three are there, but not in the order query, key, value. The caller "
                "unpacks them by place.", "return key, query, value", "return query, value, key",
                "return value, key, query", "return key, value, query", "return value, query, key"),
        *without(
            projections(
                "x",
                "x",
                "x",
                also={
                    "one made from another": ("query = x @ W_q @ W_k.mT\nkey = x",),
                    "normalised": (
                        *_each("F.layer_norm({0}, {0}.shape[-1:])", "F.normalize({}, dim=-1)"),
                        *_with("x - x.mean(1, keepdim=True)"),
                        "return F.layer_norm(query, query.shape[-1:]), F.layer_norm(key, key.shape[-1:]), value",
                        "return query.softmax(-1), key.softmax(-1), value",
                        "return query.softmax(-1), key.softmax(-2), value",
                        "return F.normalize(query, dim=-1), F.normalize(key, dim=-1), value",
                    ),
                },
            ),
            "matrices exchanged",  # what comes back is in another order
        ),
        mistake("another sequence or matrix than meant", "At least one of the three was made by the wrong matrix, or "
                "by a transposed one. Write down for query, key and value: made by what?",
                "query = x @ W_k.mT", matches=_any_matrices),
        mistake("cut as if all were equally wide", "Values were cut as if they were as wide as keys. A value may be "
                "wider or narrower: where do the columns of each matrix end?",
                "return (x @ torch.cat([W_q, W_k, W_v], dim=1)).chunk(3, dim=-1)",
                "return (x @ torch.cat([W_q, W_k, W_v], dim=1)).split(W_q.shape[1], dim=-1)",
                "value = (x @ W_v)[..., : W_q.shape[1]]"),
        mistake(
            "the matrices changed",
            "The sequence meets other matrices than those given: something is done to them first. They are learned; "
            "use them as they are.",
            *(
                f"W_q, W_k, W_v = [{change} for W in (W_q, W_k, W_v)]\nquery = x @ W_q"
                for change in ("W.abs()", "W.softmax(-1)", "W.softmax(0)", "W + 1", "torch.linalg.qr(W).Q")
            ),
            "query = x @ (W_q + 1)",
        ),
        mistake("scaled already", "A result is a multiple of what it should be. The scale belongs to the scores; a "
                "projection is a matrix product and nothing else.",
                "query = x @ W_q / math.sqrt(W_q.shape[1])", matches=_multiples),
        mistake("something added", "Every number of a result is off by the same, as by a bias. There is no bias here: "
                "only the product.", *_one("{} + 1"), matches=_shifted),
        mistake("random numbers inside", "Two calls with the same inputs differ: something random, such as dropout, "
                "happens inside.", *_each("torch.dropout({}, 0.1, True)"),
                detects=lambda trace: trace.used_global_random, even_if_right=False),
        mistake("a nonlinearity on top", "The projections were bent: something is applied after the product. A "
                "projection is linear: what does it do to 2·x?",
                *_each("{}.relu()", "{}.tanh()", "{}.sigmoid()", "F.gelu({})", "{}.softmax(-1)"),
                *_one("{}.relu()", "{}.tanh()", "{}.softmax(-1)")),
        mistake("the sequence added on top", "`x` was added to its own projection. The residual connection goes around "
                "the whole attention, not here.", *_each("x + {}"), "value = x + x @ W_v"),
        mistake("attention done already", "An average of values came back, not the values. What comes after the "
                "projections is another function's work.", f"value = {_PLAIN}", f"return {_PLAIN}"),
        mistake("last two axes swapped", "A result was returned transposed. The scores swap the axes of the key when "
                "they need it; here each keeps (B, L, width).", *_each("{}.mT"), "return query.mT, key, value",
                "return query, key.mT, value"),
        mistake(
            "sequences or positions mixed",
            "Rows of `x` were added or averaged, or one was used for all. Each position of each sequence is projected "
            "by itself.",
            *_with(
                *("x.mean(0, keepdim=True).expand_as(x)", "x.mean(1, keepdim=True).expand_as(x)"),
                *("x[:1].expand_as(x)", "x[:, :1].expand_as(x)", "x[:, -1:].expand_as(x)"),
                *("x.transpose(0, 1)", "x.flip(1)", "x.roll(1, 1)", "x.roll(-1, 1)", "x.cumsum(1)", "x.mT @ x"),
                *("x.reshape(x.shape[1], x.shape[0], -1)", "x.transpose(0, 1).reshape(x.shape)"),
                *("x[0]", "x.mean(1)", "x.flatten(0, 1)"),
            ),
            "return query, key, value.mean(1, keepdim=True)",
        ),
        *saying((left_in("return query{}, key{}, value{}"), squeezed("return query{}, key{}, value{}")), {
            "an axis of size 1 left in": "There is one axis too many, as if for a head. With a single head each of the "
                "three keeps the axes of `x`: (B, L, width).",
            "squeeze takes too many axes": "With one sequence, one position or one feature an axis is lost: "
                "`squeeze()` without a number removes every axis of size 1.",
        }),
        mistake("stacked into one tensor", "The three came back as one tensor. Return them one by one: a value may "
                "have another width, so they cannot always be stacked.",
                *(f"return torch.stack([query, key, value], {axis})" for axis in (0, 1, 2)),
                "return torch.cat([query, key, value], -1)"),
        mistake("one position left out", "Some positions are all zeros: the loop does not reach them. Where does it "
                "begin, and where does it end?",
                *(f"return tuple(torch.cat({kept}) for part in (query, key, value))" for kept in (
                    "[part[:, :-1], 0 * part[:, -1:]], 1", "[0 * part[:, :1], part[:, 1:]], 1",
                    "[part[:1], 0 * part[1:]]", "[part[:-1], 0 * part[-1:]]"))),
        mistake("one of the three missing", "Two results came back, or one. Query, key and value are asked for.",
                "return query, key", "return key, value", "return query, value", "return query"),
        cut_off("return query.detach(), key.detach(), value.detach()", *_with("x.detach()"),
                *(f"{name} = x @ {W}.detach()" for name, W in (("query", "W_q"), ("key", "W_k"), ("value", "W_v"))),
                *(f"return {', '.join(one + '.detach()' if one == cut else one for one in ('query', 'key', 'value'))}"
                  for cut in ("query", "key", "value"))),
        overwritten(*writing(project_qkv, 0)),
        through_numpy("return tuple(torch.from_numpy(part.detach().numpy()) for part in (query, key, value))"),
        *other_parts("query", "key", "value"),
    ),
    hints=(
        "Nothing but three matrix products. Each matrix has as many rows as a position of `x` has ... what?",
        "`x` is (B, L, d_model), a matrix (d_model, width), a result (B, L, width). On which side of `x` does the "
        "matrix stand?",
        "All three are made from `x` itself, and come back as a tuple in the order of the matrices.",
    ),
)
