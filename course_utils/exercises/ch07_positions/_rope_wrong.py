"""RoPE with exchangeable steps, for both pairings: a mistake exchanges one of them."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checking.exercise import Function

Split = Callable[[Tensor], tuple[Tensor, Tensor]]
Join = Callable[[Tensor, Tensor], Tensor]


def neighbours(x: Tensor) -> tuple[Tensor, Tensor]:
    """Pair feature 2i with 2i + 1."""
    return x[..., 0::2], x[..., 1::2]


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Pair feature i with i + d_k/2."""
    return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]


def woven(u: Tensor, v: Tensor) -> Tensor:
    """Put pairs side by side."""
    return torch.stack((u, v), dim=-1).flatten(-2)


def chained(u: Tensor, v: Tensor) -> Tensor:
    """Put all first members before all second ones."""
    return torch.cat((u, v), dim=-1)


PAIRINGS: dict[str, tuple[Split, Join]] = {
    "interleaved": (neighbours, woven),
    "split halves": (halves, chained),
}


def rotate(u: Tensor, v: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Turn a pair, as it should be done."""
    return u * cos - v * sin, u * sin + v * cos


def powers(x: Tensor, base: float) -> Tensor:
    """Return the right frequencies."""
    pair = torch.arange(x.shape[-1] // 2, dtype=torch.float64)
    return torch.as_tensor(base, dtype=torch.float64) ** (-2 * pair / x.shape[-1])


def given(x: Tensor, positions: Tensor) -> Tensor:
    """Return the positions as (L,) or, one row for each sequence, as (B, 1, L)."""
    return positions.unsqueeze(1) if positions.dim() == 2 else positions


def product(place: Tensor, speed: Tensor, base: float) -> Tensor:
    """Return the right angles."""
    return place.double().unsqueeze(-1) * speed


def build(
    pairing: str,
    place: Callable[[Tensor, Tensor], Tensor] = given,
    speed: Callable[[Tensor, float], Tensor] = powers,
    angle: Callable[[Tensor, Tensor, float], Tensor] = product,
    turn: Callable[..., tuple[Tensor, Tensor]] = rotate,
    split: Split | None = None,
    join: Join | None = None,
    after: Callable[..., Tensor] = lambda out, x, positions: out,
    base: Callable[[float], float] = lambda base: base,
) -> Function:
    """Return RoPE with some of its steps exchanged.

    Args:
        pairing: The right one, "interleaved" or "split halves".
        place: The positions that are used, from x and positions.
        speed: The frequency of each pair, from x and base.
        angle: The angles, from those two and base.
        turn: What becomes of the two members of a pair.
        split: How the members are found.
        join: How they are put back.
        after: What is done to the result.
        base: The base that is used.
    """
    own_split, own_join = PAIRINGS[pairing]
    split, join = split or own_split, join or own_join

    def rope(x: Tensor, positions: Tensor, base_given: float = 10000.0) -> Tensor:
        used = base(base_given)
        turned = angle(place(x, positions), speed(x, used), used)
        cos, sin = turned.cos().to(x.dtype), turned.sin().to(x.dtype)
        out: Tensor = after(join(*turn(*split(x), cos, sin)), x, positions)
        return out

    return rope


def full_width(repeat: Callable[[Tensor], Tensor], swap: Callable[[Tensor], Tensor]) -> Function:
    """Return x · cos + swapped x · sin, with the angles repeated to the full width."""

    def rope(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        turned = repeat(product(given(x, positions), powers(x, base), base))
        return x * turned.cos().to(x.dtype) + swap(x) * turned.sin().to(x.dtype)

    return rope


def twice(angles: Tensor) -> Tensor:
    """Write all angles, then all again."""
    return torch.cat((angles, angles), dim=-1)


def each_twice(angles: Tensor) -> Tensor:
    """Write each angle twice."""
    return angles.repeat_interleave(2, dim=-1)


def crossed(pairing: str) -> Function:
    """Return the swap of a pairing: (-v, u)."""
    split, join = PAIRINGS[pairing]

    def swap(x: Tensor) -> Tensor:
        u, v = split(x)
        return join(-v, u)

    return swap


def pair_angles(pairing: str, x: Tensor, out: Tensor) -> Tensor | None:
    """Return by how much each pair was turned, or None where a pair changed its length."""
    (u, v), (a, b) = (PAIRINGS[pairing][0](t.detach().double()) for t in (x, out))
    before, after = u.square() + v.square(), a.square() + b.square()
    if not bool(((before - after).abs() <= 1e-4 * before + 1e-9).all()):
        return None
    return torch.atan2(u * b - v * a, u * a + v * b)
