"""Exercise: the bytes that one rank sends."""

from typing import Any

from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake, without
from course_utils.checking.recipe import Function
from course_utils.distributed import communication_bytes
from course_utils.exercises.shared.counts import INTEGER, SIZE
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.exercises.shared.refusals import SAYS, fitting, refusal

RIGHT = """
def communication_bytes(scheme, world_size, batch, num_tokens, num_heads, num_kv_heads, d_k, bytes_per_element,
                        backward=False):
    others = world_size - 1
    sequences = batch
    tokens = num_tokens // world_size
    width = d_k
    size = bytes_per_element
    heads = num_heads
    kv_heads = num_kv_heads
    is_backward = backward
    kept = 2
    one_head = sequences * tokens * width * size
    block = kept * kv_heads * one_head
    there = others
    home = world_size if others else 0
    way_back = there * block + home * block
    ring = way_back if is_backward else there * block
    exchanged = 2 * heads + 2 * kv_heads
    away = exchanged * one_head * others // world_size
    ulysses = away
    summed = heads * one_head * world_size
    passes = 2
    tensor = passes * summed * others // world_size
    known = {"ring": ring, "ulysses": ulysses, "tensor": tensor}
    fits = scheme in known
    complaint = ValueError("the scheme must be ring, ulysses or tensor")
    if not fits:
        raise complaint
    total = known[scheme]
    return total
"""


def _case(name: str, scheme: str, *sizes: int, backward: bool = False, run: Function | None = fitting) -> Case:
    called = name + (", backward" if backward else "")
    return case(called, given(scheme, *sizes, *([True] if backward else [])), run=run)


def _by_default(
    scheme: Any, world_size: int, batch: int, num_tokens: int, num_heads: int, num_kv_heads: int, d_k: int,
    bytes_per_element: int, backward: bool = True,
) -> int:  # fmt: skip
    """Count the backward pass where nothing is said."""
    sizes = (world_size, batch, num_tokens, num_heads, num_kv_heads, d_k, bytes_per_element)
    return communication_bytes(scheme, *sizes, backward)


def _some_number(scheme: str, unit: Any) -> Any:
    """Return whether a count for this scheme is a whole number of units."""

    def holds(args: tuple[Any, ...], got: Any) -> bool:
        ranks, batch, tokens, heads, kv_heads, d_k, size = args[1:8]
        one = batch * tokens * d_k * size
        return bool(args[0] == scheme and ranks > 1 and got > 0 and got % unit(one, ranks, heads, kv_heads) == 0)

    return holds


_RING, _GROUPED, _EVEN = (4, 3, 20, 5, 1, 14, 2), (4, 3, 24, 20, 4, 7, 2), (3, 5, 21, 12, 6, 10, 4)
_LARGE = (8, 1, 2**20, 32, 8, 128, 2)

EXERCISE = exercise(
    communication_bytes,
    right=RIGHT,
    asks="Count the bytes that one rank sends for one layer's attention, in a ring, by Ulysses, or with split heads.",
    minutes=20,
    difficulty=4,
    importance=4,
    cases=(
        _case("a ring of 4, 5 heads share one", "ring", *_RING),
        _case("a ring of 4, 5 heads share one", "ring", *_RING, backward=True),
        _case("a ring of 2, one head of each", "ring", 2, 1, 64, 1, 1, 8, 8),
        _case("a ring of 2, one head of each", "ring", 2, 1, 64, 1, 1, 8, 8, backward=True),
        _case("a ring of one", "ring", 1, 3, 20, 6, 3, 7, 2),
        _case("a ring of one", "ring", 1, 3, 20, 6, 3, 7, 2, backward=True),
        _case("Ulysses, 4 ranks, 20 heads, 4 of keys", "ulysses", *_GROUPED),
        _case("Ulysses, 4 ranks, 20 heads, 4 of keys", "ulysses", *_GROUPED, backward=True),
        _case("Ulysses, 3 ranks, 12 heads, 6 of keys", "ulysses", *_EVEN),
        _case("Ulysses, one rank", "ulysses", 1, 2, 9, 4, 2, 5, 4),
        _case("split heads, 4 ranks, 20 heads, 4 of keys", "tensor", *_GROUPED),
        _case("split heads, 4 ranks, 20 heads, 4 of keys", "tensor", *_GROUPED, backward=True),
        _case("split heads, 3 ranks, 12 heads, 6 of keys", "tensor", *_EVEN),
        _case("split heads, 2 ranks", "tensor", 2, 1, 64, 4, 4, 8, 8),
        _case("split heads, one rank", "tensor", 1, 2, 9, 4, 2, 5, 4, backward=True),
        *(_case(f"{name}, a million tokens on 8 ranks", name, *_LARGE, run=None) for name in ("ring", "ulysses",
        "tensor")),
        *(_case(f"{name}, a million tokens on 8 ranks", name, *_LARGE, backward=True, run=None)
          for name in ("ring", "ulysses")),
        case("a count that float32 cannot hold", given("ring", 7, 3, 7 * 30011, 61, 61, 127, 3)),
        *(case(f"the scheme {name!r}", given(name, *_GROUPED), run=refusal, says=SAYS)
          for name in ("rings", "Ring", "", "all-gather")),
    ),
    mistakes=(
        NOTHING,
        mistake("H for H_kv", "In the ring or in Ulysses' exchange keys and values were counted with the query heads. "
                "How many heads do they have?", "kv_heads = num_heads", "block = kept * heads * one_head",
                "exchanged = 4 * heads", "exchanged = 3 * heads + kv_heads"),
        mistake("H_kv for H", "Queries or outputs were counted with the heads of keys and values. How many heads ask?",
                "heads = num_kv_heads", "exchanged = 4 * kv_heads", "exchanged = heads + 3 * kv_heads",
                "summed = kv_heads * one_head * world_size"),
        mistake("gradients that do not come home", "In the ring's backward pass the gradients of keys and values make "
                "as many rotations as these. After them a block's gradients are with a neighbour of the rank that owns "
                "it: what is still missing?", "home = others"),
        mistake("no gradients sent", "In the ring's backward pass only keys and values travel. Every rank adds to the "
                "gradients of each block: how does their sum get to its owner?", "way_back = there * block",
                "is_backward = False"),
        mistake("gradients alone", "In the ring's backward pass only gradients travel. The scores are computed again: "
                "what is needed for that?", "way_back = home * block"),
        mistake("forward and backward together", "With backward=True the forward pass is counted too. Only the "
                "backward pass is wanted.", "ring = way_back + there * block if is_backward else there * block",
                "ulysses = away * (1 + is_backward)", "tensor = passes * (1 + is_backward) * summed * others // "
                "world_size"),
        mistake("nothing sent backward", "The backward pass of Ulysses or of the split heads sends nothing. Which "
                "gradients does a rank lack?", "ulysses = 0 if is_backward else away",
                "tensor = 0 if is_backward else passes * summed * others // world_size"),
        mistake("the backward pass by default", "Without the last argument it is the backward pass that is counted. "
                "Which default does the signature name?", _by_default),
        mistake("backward the wrong way round", "The two passes are exchanged. Which of them does backward=True ask "
                "for?", "is_backward = not backward"),
        mistake("a P-th rotation", "Keys and values make one rotation too many. After how many has every rank held "
                "every block?", "there = world_size"),
        mistake("one rotation only", "Only one rotation is counted. How many are there before every rank has held "
                "every block?", "there = min(others, 1)"),
        mistake("one rank sends to itself", "A single rank was counted as a sender. To whom would it send?",
                "home = world_size"),
        mistake("divided too early", "A division of whole numbers came before the product, and the remainder was lost. "
                "In which order is nothing lost?", "away = others // world_size * exchanged * one_head"),
        mistake("the sum of one rank's tokens", "The all-reduce was counted for the tokens of one rank. Here every "
                "rank has all of them: how long is what is summed?", "summed = heads * one_head"),
        mistake("half an all-reduce", "The sum was counted with one pass round the ring. After it each rank has the "
                "finished sum of one part only: how do the others get it?", "passes = 1"),
        mistake("an all-reduce by sending everything", "Every rank sent its whole output to all others. A ring "
                "all-reduce sends one part at a time: how much is a part?",
                "tensor = summed * others", "tensor = passes * summed * others"),
        mistake("the whole output twice", "The sum was counted as twice the output, whatever the number of ranks. A "
                "rank's own part need not be sent: which share is left?", "tensor = passes * summed if others else 0"),
        mistake("bytes of all ranks", "These are the bytes of all ranks together. Count what one of them sends.",
                "total = known[scheme] * world_size", "tokens = num_tokens"),
        mistake("its own share sent too", "What a rank keeps for itself was counted as sent. Which part of its tokens' "
                "heads do the others need?", "away = exchanged * one_head", "away = exchanged * one_head if others "
                "else 0"),
        mistake("only its own share sent", "One part was counted as sent. To how many other ranks does a part go?",
                "away = exchanged * one_head // world_size"),
        mistake("the output stays away", "In Ulysses the output is not brought back. Who needs all heads of a token "
                "afterwards?", "exchanged = heads + 2 * kv_heads"),
        mistake("only the queries and the output", "In Ulysses keys and values were forgotten. What does a rank need "
                "of all tokens to attend with its heads?", "exchanged = 2 * heads"),
        mistake("keys alone", "Only keys, or only values, were counted. What else does a block hold?", "kept = 1"),
        mistake("queries sent round", "In the ring the queries travel too. What stays where it is?", "kept = 3",
                "block = (kept * kv_heads + heads) * one_head"),
        mistake("the batch left out", "The bytes are those of one sequence. Each sequence has tokens of its own.",
                "sequences = 1"),
        mistake("the width left out", "A key was counted as one number. How many is it?", "width = 1"),
        mistake("the width divided by the heads", "The width was divided by the number of heads. Of what is d_k the "
                "width?", "width = d_k // num_heads", "width = d_k / num_heads"),
        *SIZE,
        mistake("each scheme known by another name", "A name that is not one of the three was served. Callers wait for "
                "a ValueError.", "fits = True\ntotal = known.get(scheme, ring)", "fits = True\n"
                "total = known.get(scheme, tensor)", "fits = True\ntotal = known.get(scheme, 0)",
                "fits = True\ntotal = known.get(scheme)"),
        mistake("another error than ValueError", "An unknown scheme ends in another error, for example the KeyError of "
                "a dict. Callers wait for a ValueError.", "fits = True", 'complaint = TypeError("")',
                'complaint = AssertionError("")', 'complaint = Exception("")', 'complaint = LookupError("")'),
        *without(INTEGER, "return total / 1e3", "return total / 1e6", "return total / 1e9"),
        mistake("refused though it fits", "One of the three schemes is refused. What are they called?",
                'known = {"ring": ring, "Ulysses": ulysses, "tensor": tensor}',
                'known = {"Ring": ring, "Ulysses": ulysses, "Tensor": tensor}', 'fits = scheme in ("ring", "ulysses")',
                "fits = scheme in known and world_size > 1"),
        mistake("another number of rotations", "The block that goes round is right, but not how often it is handed on. "
                "Count the rotations of keys and values, and those of their gradients.",
                matches=_some_number("ring", lambda one, P, H, K: 2 * K * one // P)),
        mistake("another number of heads exchanged", "What is sent of one head is right, but not the number of heads. "
                "Four tensors change places: how many heads has each?",
                matches=_some_number("ulysses", lambda one, P, H, K: one * (P - 1) // P**2)),
        mistake("another number of passes", "The parts that go round are right, but not how many of them. How often "
                "does the tensor that is summed go round the ring?",
                matches=_some_number("tensor", lambda one, P, H, K: H * one // P)),
    ),
    hints=(
        "Count one head of one rank's tokens first: batch · n/P · d_k numbers, times their bytes. All three schemes "
        "are multiples of it.",
        "Ring: two tensors of H_kv heads, handed on P - 1 times. Backward, their gradients travel as well, and must "
        "arrive where they belong.",
        "Ulysses: four tensors change places (which have H heads, which H_kv?), and of each a rank keeps its own "
        "1/P.",
        "An all-reduce on a ring is P - 1 rotations that add and P - 1 that hand round, each of 1/P of the tensor.",
    ),
)
