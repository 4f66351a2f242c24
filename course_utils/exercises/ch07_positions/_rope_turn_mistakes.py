"""What goes wrong in the turning itself: the four products and their signs."""

from collections.abc import Callable

from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch07_positions._rope_wrong import build

Turn = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def _first_overwritten(u: Tensor, v: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    u = u * cos - v * sin
    return u, u * sin + v * cos


def _second_overwritten(u: Tensor, v: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    v = u * sin + v * cos
    return u * cos - v * sin, v


def sign_mistakes(pairing: str) -> tuple[Misconception, ...]:
    """Return mistakes in the four products."""

    def other(name: str, says: str, turn: Turn, *also: Turn) -> Misconception:
        versions = tuple(build(pairing, turn=version) for version in also)
        return Misconception(name, build(pairing, turn=turn), says, also=versions)

    return (
        Misconception(
            "identity: nothing is turned",
            lambda x, positions, base=10000.0: x.clone(),
            "The output is x itself: no vector was turned. What should happen to a token at "
            "position 1?",
            also=(lambda x, positions, base=10000.0: x + 0 * x,),
        ),
        other(
            "negative angle",
            "Everything turns the wrong way round. Scores still depend on the distance, so nobody "
            "notices until weights are exchanged. To which side does the exercise turn (1, 0)?",
            lambda u, v, c, s: (u * c + v * s, v * c - u * s),
        ),
        other(
            "both signs plus",
            "Vectors change their length: the signs of the four products make no rotation. Exactly "
            "one of them is subtracted: which?",
            lambda u, v, c, s: (u * c + v * s, u * s + v * c),
            lambda u, v, c, s: (u * c - v * s, v * c - u * s),
        ),
        other(
            "a reflection instead of a rotation",
            "Every pair keeps its length but is mirrored: one of its members has the wrong sign. "
            "What should become of (u, v) at position 0?",
            lambda u, v, c, s: (u * c + v * s, u * s - v * c),
            lambda u, v, c, s: (v * s - u * c, u * s + v * c),
            lambda u, v, c, s: (u * c - v * s, -u * s - v * c),
        ),
        other(
            "sin and cos swapped",
            "At position 0 the vectors should stay as they are, and they do not. What are the sine "
            "and the cosine of 0?",
            lambda u, v, c, s: (u * s - v * c, u * c + v * s),
            lambda u, v, c, s: (u * s + v * c, v * s - u * c),
            lambda u, v, c, s: (u * s - v * c, v * s + u * c),
        ),
        other(
            "the second half of the rotation has sin and cos swapped",
            "One member of each pair is right, the other is not: write both lines of the rotation "
            "out for u = 1 and v = 0.",
            lambda u, v, c, s: (u * c - v * s, u * c + v * s),
            lambda u, v, c, s: (u * s - v * c, u * s + v * c),
        ),
        other(
            "members multiplied, not mixed",
            "The two members of a pair never meet: each is only multiplied by a number. A rotation "
            "takes two products to make each of them.",
            lambda u, v, c, s: (u * c, v * c),
            lambda u, v, c, s: (u * c, v * s),
            lambda u, v, c, s: (u * s, v * c),
            lambda u, v, c, s: (u * s, v * s),
            lambda u, v, c, s: (-v * s, u * s),
        ),
        other(
            "a new member used to make the other",
            "The first member is overwritten before the second is made from it. Both lines must "
            "read the pair as it was.",
            _first_overwritten,
            _second_overwritten,
        ),
        other(
            "members of a pair swapped",
            "The two new members of each pair stand in each other's place.",
            lambda u, v, c, s: (u * s + v * c, u * c - v * s),
            lambda u, v, c, s: (v * c - u * s, v * s + u * c),
        ),
        other(
            "only one member of each pair turned",
            "One member of each pair is right, the other did not meet its partner. Turning a pair "
            "changes both, each by two products.",
            lambda u, v, c, s: (u * c - v * s, v),
            lambda u, v, c, s: (u, u * s + v * c),
            lambda u, v, c, s: (u * c - v * s, v * c),
            lambda u, v, c, s: (u * c, u * s + v * c),
        ),
        other(
            "sines and cosines added to x",
            "Numbers were added to x, as sinusoidal encodings are. RoPE adds nothing: at every "
            "position the zero vector stays zero.",
            lambda u, v, c, s: (u + s, v + c),
            lambda u, v, c, s: (u + c, v + s),
        ),
        other(
            "turned twice",
            "Every vector is turned by twice the angle. Where does it happen a second time?",
            lambda u, v, c, s: (
                u * (c * c - s * s) - v * 2 * s * c,
                u * 2 * s * c + v * (c * c - s * s),
            ),
        ),
    )
