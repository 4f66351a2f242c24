"""Exercise: a test that accepts every right attention with a cache, whatever the cache is."""

from collections.abc import Sequence
from typing import Any

from course_utils.checking.exercise import exercise
from course_utils.checking.mistakes import mistake, without
from course_utils.clinic import accepts_cache
from course_utils.exercises.shared.planted import VERDICT, global_random, planted
from course_utils.exercises.shared.planted import attempt as attempt
from course_utils.exercises.shared.planted import caught as caught
from course_utils.exercises.shared.planted import close as close
from course_utils.exercises.shared.planted import draw as draw
from course_utils.exercises.shared.planted import near as near
from course_utils.exercises.shared.planted import shape as shape

RIGHT = """
def accepts_cache(attend):
    implementation = attend
    generator = torch.Generator().manual_seed(0)
    H, T, d_k, d_v = 3, 7, 4, 6
    batches = (2, 1)
    plans = (((1, 3, 1, 2), (3, 1, 2, 1)),)
    answers = []
    for plan in plans:
        texts = [tuple(draw(generator, B, H, T, d) for d in (d_k, d_k, d_v)) for B in batches]
        mask = causal_mask(T, T, 0)
        expected = [scaled_dot_product_attention(*text, mask) for text in texts]
        caches = [None for _ in texts]
        order = turns(plan[: len(texts)])
        for i, start, end in order:
            whole = texts[i]
            piece = tuple(x[..., start:end, :] for x in whole)
            handed = (*piece, caches[i])
            result = attempt(implementation, *handed)
            out, caches[i] = pair(result)
            want = expected[i][..., start:end, :]
            same = close(out, want)
            answers.append(same)
    accepted = all(answers)
    return accepted
"""


def turns(plan: Sequence[Sequence[int]], one_by_one: bool = False) -> list[tuple[int, int, int]]:
    """Return which piece of which text comes when: text, start, end; in turns, or one text after the other."""
    pieces = [
        (number, i, sum(cut[:number]), sum(cut[: number + 1]))
        for i, cut in enumerate(plan)
        for number in range(len(cut))
    ]
    return [(i, start, end) for _, i, start, end in (pieces if one_by_one else sorted(pieces))]


def pair(result: Any) -> tuple[Any, Any]:
    """Return the output and the cache of a call; nothing where it raised."""
    return (None, None) if result is None else result


_PLAIN = "want = scaled_dot_product_attention"
_SAME_CUTS = "plans = ((({0}), ({0})),)"


def _cut(*pieces: int) -> str:
    """Return the line that cuts every text like this."""
    return _SAME_CUTS.format("".join(f"{piece}, " for piece in pieces).strip())


EXERCISE = exercise(
    accepts_cache,
    right=RIGHT,
    asks="Write a test that accepts every right attention with a cache and refuses every faulty one.",
    minutes=22,
    difficulty=4,
    importance=4,
    cases=planted("accepts_cache"),
    mistakes=(
        *without(VERDICT, "errors that escape", "equality to the last bit"),
        mistake("equality to the last bit", "Right implementations that compute in another order are refused: their "
                "last digits differ. How much room does rounding need?",
                "same = shape(out) == shape(want) and torch.allclose(out, want, rtol=1e-15, atol=1e-15)"),
        mistake("errors that escape", "An error of the implementation ended the test as well. What should the test say "
                "of an implementation that raises?", "result = implementation(*handed)",
                "result = caught(RuntimeError, implementation, *handed)",
                "result = caught((RuntimeError, TypeError), implementation, *handed)"),
        global_random("texts = [tuple(torch.randn(B, H, T, d, dtype=torch.float64) for d in (d_k, d_k, d_v)) "
                      "for B in batches]"),
        mistake("too much room", "Faults that change the numbers are forgiven: the tolerance is far larger than "
                "rounding.", *(f"same = near(out, want, {room})" for room in (0.1, 0.3, 0.5, 1.0, 1.5, 2.0))),
        mistake("one token at a time", "Every call hands in a single token, so what an implementation does with "
                "several is not tried. What does a prompt look like?", _cut(1, 1, 1, 1, 1, 1, 1)),
        mistake("only the first call counts", "Only the first call of each text is made, or looked at, so the cache "
                "that it returns plays no part. What is it for?", _cut(7), "same = start > 0 or close(out, want)"),
        mistake("what the first call must hide", "An attention was accepted that sees ahead in its first call. Does "
                "this test begin a text with several tokens, and does it compare what comes out for them?",
                _cut(1, 3, 1, 2), _cut(1, 2, 4), _cut(1, 6), "same = end < T or close(out, want)"),
        mistake("several tokens in the first call only", "After the first call, every call hands in a single token. "
                "What must a later call of several tokens hide?", _cut(3, 1, 1, 1, 1), _cut(4, 1, 1, 1), _cut(6, 1)),
        mistake("one text", "Only one text is ever read. What might an implementation keep that belongs to no cache?",
                "batches = (2,)\nplans = (((1, 3, 1, 2),), )", "batches = (1,)\nplans = (((3, 1, 2, 1),), )",
                "batches = (2,)\nplans = (((3, 1, 3),), )"),
        mistake("one text after the other", "A text is read to its end before the next one begins. What if two are "
                "under way, in turns?",
                *(f"batches = ({B},)\nplans = (((1, 3, 1, 2),), ((3, 1, 2, 1),))" for B in (2, 1)),
                "order = turns(plan[: len(texts)], one_by_one=True)"),
        mistake("one form of cache demanded", "An implementation was refused for the form of its cache. What does the "
                "contract say about what it is?",
                "out, caches[i] = pair(result if isinstance(result, tuple) and isinstance(result[1], tuple) else None)",
                "out, caches[i] = pair(result if isinstance(result, tuple) and isinstance(result[1], list) else None)",
                "out, caches[i] = pair(result if isinstance(result, tuple) and isinstance(result[1], dict) else None)"),
        mistake("a cache used twice", "The same cache was handed in twice. The first call may have changed it: what "
                "may the contract's caches be used for?",
                "first = attempt(implementation, *handed)\nresult = first and attempt(implementation, *handed)"),
        mistake("no causal mask expected", "The test expects every token to see all that has been handed in so far. "
                "What may a token see in one causal pass?",
                f"{_PLAIN}(piece[0], whole[1][..., :end, :], whole[2][..., :end, :])"),
        mistake("only its own piece expected", "The test expects each piece to be a text of its own. What has come "
                "before it?", f"{_PLAIN}(*piece, causal_mask(end - start, end - start, 0))"),
        mistake("a wrong scale expected", "The test's own formula scales differently from the contract, so right "
                "implementations are refused. By what are the scores divided?",
                "expected = [scaled_dot_product_attention(*text, mask, scale=1.0) for text in texts]"),
        mistake("only the last output compared", "Only the last output of each piece is compared. Which tokens of one "
                "causal pass have an output?", "same = shape(out) == want.shape and close(out[..., -1:, :], want[..., "
                "-1:, :])"),
        mistake("inputs of another dtype", "The implementations are promised float64, and some of them take nothing "
                "else. Which dtype do these inputs have?",
                "piece = tuple(x[..., start:end, :].float() for x in whole)\nsame = near(out, want, 1e-3)"),
        mistake("another number of axes", "The contract names four axes: batch, heads, tokens, width. Some "
                "implementations take no other number.", "piece = tuple(x[0, ..., start:end, :] for x in whole)\n"
                "same = close(out, want[0])"),
        mistake("a call without tokens", "The contract promises at least one new token in each call, and some "
                "implementations take no fewer.", _cut(3, 0, 4), _cut(0, 3, 4)),
        mistake("too many tokens", "The implementations are promised at most 64 tokens, and some of them have room for "
                "no more.", "H, T, d_k, d_v = 3, 80, 4, 6\nplans = (((1, 3, 70, 6), (3, 1, 1, 75)),)"),
    ),
    hints=(
        "What is right is one causal pass over the whole text. How can the same text be handed over, and what is to be "
        "the same, however that is done?",
        "Cut it so that the first call and a later one have several tokens, and others a single one. Which fault shows "
        "in which of them?",
        "Two texts in progress at the same time, of different batch sizes: whose past does each of them see?",
        "Hand back to an implementation just what it gave you for that text, once, and never look inside.",
        "Everything that calls an implementation, or takes apart what it returns, goes in a `try`.",
    ),
)  # fmt: skip


