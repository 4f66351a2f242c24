"""Wrong rotations, written here from scratch: none passes, and each is called what it is."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.checking.judge import judge
from course_utils.exercises import find
from course_utils.positions import rope_interleaved as interleaved

PAIRINGS = ("rope_interleaved", "rope_split_halves")


def turn(name: str, x: Tensor, angles: Tensor) -> Tensor:
    c, s = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    u, v = (x[..., 0::2], x[..., 1::2]) if name == PAIRINGS[0] else x.chunk(2, dim=-1)
    pair = (u * c - v * s, u * s + v * c)
    return torch.stack(pair, -1).flatten(-2) if name == PAIRINGS[0] else torch.cat(pair, -1)


def angles(x: Tensor, positions: Tensor, base: float) -> Tensor:
    speed = float(base) ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    made = positions.unsqueeze(-1) * speed
    return made.unsqueeze(1) if positions.dim() == 2 else made


def identity(name, x, positions, base):
    return x


def one_frequency(name, x, positions, base):
    return turn(name, x, angles(x, positions, base)[..., :1].expand(*x.shape[:-1], -1))


def last_frequency(name, x, positions, base):
    return turn(name, x, angles(x, positions, base)[..., -1:].expand(*x.shape[:-1], -1))


def other_pairing(name, x, positions, base):
    other = PAIRINGS[1 - PAIRINGS.index(name)]
    return turn(other, x, angles(x, positions, base))


def opposite_ends(name, x, positions, base):
    first, second = x.chunk(2, dim=-1)
    pairs = torch.cat((first, second.flip(-1)), dim=-1)
    first, second = turn(PAIRINGS[1], pairs, angles(x, positions, base)).chunk(2, dim=-1)
    return torch.cat((first, second.flip(-1)), dim=-1)


def positions_ignored(name, x, positions, base):
    return turn(name, x, angles(x, torch.arange(x.shape[-2]), base))


def offset_ignored(name, x, positions, base):
    return turn(name, x, angles(x, positions - positions[..., :1], base))


def negative_angle(name, x, positions, base):
    return turn(name, x, -angles(x, positions, base))


NAMED = (
    (identity, "identity: nothing is rotated"),
    (one_frequency, "one frequency"),
    (last_frequency, "one frequency"),
    (other_pairing, "the other pairing"),
    (opposite_ends, "wrong pairs"),
    (positions_ignored, "positions ignored"),
    (offset_ignored, "positions counted from the first token"),
    (negative_angle, "negative angle"),
)


@pytest.mark.thorough
@pytest.mark.parametrize("name", PAIRINGS)
@pytest.mark.parametrize(("wrong", "called"), NAMED, ids=[wrong.__name__ for wrong, _ in NAMED])
def test_a_wrong_rotation_is_named(name, wrong, called) -> None:
    report = judge(find(name), lambda x, p, base=10000.0: wrong(name, x, p, base))
    assert (report.status, report.misconception) == ("misconception", called)


@pytest.mark.parametrize("name", PAIRINGS)
def test_the_rotation_of_this_file_is_right_otherwise(name) -> None:
    report = judge(find(name), lambda x, p, base=10000.0: turn(name, x, angles(x, p, base)))
    assert report.passed, report.says


@pytest.mark.parametrize("name", PAIRINGS)
@pytest.mark.parametrize("seed", range(5))
def test_no_other_frequencies_pass(name, seed) -> None:
    def answer(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        factor = torch.rand(x.shape[-1] // 2, generator=torch.Generator().manual_seed(seed)) + 0.5
        return turn(name, x, angles(x, positions, base) * factor)

    report = judge(find(name), answer)
    assert report.misconception == "other angles than position times frequency"


COARSE = (
    lambda positions, speed, dtype: positions.to(dtype)[..., None] * speed.to(dtype),
    lambda positions, speed, dtype: positions.to(dtype).float()[..., None] * speed,
    lambda positions, speed, dtype: positions.double()[..., None] * speed.to(dtype).double(),
    lambda positions, speed, dtype: (positions.float()[..., None] * speed.float()).to(dtype),
)


@pytest.mark.parametrize("name", PAIRINGS)
@pytest.mark.parametrize("coarse", COARSE, ids=("all", "positions", "frequencies", "angles"))
def test_angles_in_the_dtype_of_x_are_named(name, coarse) -> None:
    def answer(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        speed = base ** (-torch.arange(0, x.shape[-1], 2).double() / x.shape[-1])
        made = coarse(positions, speed, x.dtype)
        return turn(name, x, made.unsqueeze(1) if positions.dim() == 2 else made)

    report = judge(find(name), answer)
    assert (report.misconception, report.case) == (
        "angles in low precision",
        "bfloat16 at positions 256 to 1001",
    )


def test_rotated_values_are_named() -> None:
    def answer(query, key, value, at, of, base=10000.0):
        width = value.shape[-1] - value.shape[-1] % 2
        turned = torch.cat((interleaved(value[..., :width], of, base), value[..., width:]), -1)
        return F.scaled_dot_product_attention(
            interleaved(query, at, base), interleaved(key, of, base), turned
        )

    report = judge(find("rope_interleaved_attention"), answer)
    assert report.misconception == "value rotated too"
