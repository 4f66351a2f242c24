"""Mistakes with frequencies, angles and rotations.

The lines speak of the steps

    width = d_model
    used = float(base)
    pairs = torch.arange(width // 2, dtype=torch.float64)
    exponents = 2 * pairs / width
    frequencies = used**-exponents
    places = torch.arange(num_positions, dtype=torch.float64)
    angles = places.unsqueeze(-1) * frequencies
    cosines = angles.cos()
    sines = angles.sin()

`FREQUENCIES` and `ANGLES` serve a table of sines, the matrix that shifts it, and RoPE. `rotation`
serves both pairings of RoPE; its lines also speak of `x`, of `given`, the positions as they come,
in float64, and of

    u, v = x[..., 0::2], x[..., 1::2]
    first = u * cosines - v * sines
    second = u * sines + v * cosines
    turned = torch.stack((first, second), dim=-1).flatten(-2)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Case, Law, case
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import Mistake, adding, mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import cut_off, multiplied, other_kinds, overwritten
from course_utils.exercises.shared.precision import lower_precision


def made_dtype(result: str) -> Mistake:
    """Return the mistake of a table, called so in the lines, that is right but not of torch's default dtype."""
    return mistake("another dtype", "The numbers are right, but not of torch's default float dtype, so a sum with them "
                   "changes the dtype of everything that follows. Which dtype has what you return, and where does it "
                   "come from?",
                   *(f"return {result}.to(torch.{dtype})" for dtype in ("float64", "float16", "bfloat16")))


# Angles made in float32 are as right as others near by: at position p they are off by about 1e-7 p.
ROUNDING = 1e-4

FREQUENCIES = (
    mistake("one frequency", "All pairs run at one speed, so near cannot be told from far. How does the angle depend "
            "on the number of the pair?", "exponents = 0 * pairs", "exponents = 0 * pairs + 1",
            "exponents = 0 * pairs + 2 / width", "exponents = 0 * pairs + (width - 2) / width"),
    mistake("exponent i instead of 2i", "The frequencies fall too slowly from pair to pair. With i the number of the "
            "pair, 2i is divided by the width: the last pair comes near 1/base.", "exponents = pairs / width"),
    mistake("exponent 4i instead of 2i", "The frequencies fall too fast. `arange(0, width, 2)` is 2i already; is it "
            "doubled again, or the width halved?", "exponents = 4 * pairs / width"),
    mistake("exponent not divided by the width", "From the second pair on hardly anything turns: the frequencies fall "
            "by a whole power of the base from pair to pair. What divides 2i?",
            "exponents = 2 * pairs", "exponents = pairs"),
    mistake("pairs counted from 1", "The first pair turns by less than 1 radian per position. Which power of the base "
            "is 1?", "exponents = 2 * (pairs + 1) / width", "exponents = (2 * pairs + 1) / width"),
    mistake("divided by the width less 2", "2i is divided by less than the whole width, as fairseq and tensor2tensor "
            "do, so that the last frequency is exactly 1/base. By what does the exercise divide?",
            "exponents = 2 * pairs / max(width - 2, 2)", "exponents = 2 * pairs / max(width - 1, 1)"),
    mistake("multiplied by the power instead of divided", "The pairs turn faster and faster. Does the power of the "
            "base divide the position? Which sign has its exponent then?", "exponents = -2 * pairs / width"),
    mistake("frequencies in reverse", "The slowest pair comes first. Pair 0 should turn by 1 radian per position.",
            "exponents = (2 * pairs / width).flip(0)"),
    mistake("no power of the base", "The frequencies are not powers of the base: print them. That of pair 0 is 1, and "
            "from pair to pair they fall by a constant factor.",
            "frequencies = 1 / (used * exponents.clamp(min=1 / used))", "frequencies = torch.exp(-exponents)",
            "frequencies = 1 / (1 + used * exponents)", "frequencies = 1 / (used * exponents + 1e-9)",
            "frequencies = 1 / (1 + exponents)", "frequencies = 1 / (1 + pairs)", "frequencies = 1 - exponents"),
    mistake("the logarithm to another base", "The base is written as exp(log(base)), with an exp and a log that do not "
            "undo each other. Which logarithm belongs to `exp`?",
            "frequencies = torch.exp(-exponents * math.log10(used))",
            "frequencies = torch.exp2(-exponents * math.log(used))",
            "frequencies = torch.exp(-exponents * math.log2(used))",
            "frequencies = 10 ** (-exponents * math.log(used))"),
    mistake("base hard-coded", "Every base gives the same result. Where is the argument used?",
            "used = 10000.0", "used = 1000.0"),
)

IN_TURNS = mistake(
    "angles in whole turns or degrees",
    "The angles of all pairs are off by one constant factor. They are radians: nothing multiplies position times "
    "frequency.",
    *(
        f"angles = places.unsqueeze(-1) * frequencies * {factor}"
        for factor in ("2 * math.pi", "math.pi", "math.pi / 180", "180 / math.pi", "0.5 / math.pi")
    ),
)

ANGLES = (
    IN_TURNS,
    mistake("base inside the power", "The position stands under the power together with the base. Only the base is "
            "raised; the angle is proportional to the position.",
            "angles = (places / used).unsqueeze(-1).abs() ** exponents",
            "angles = places.unsqueeze(-1).abs() ** exponents / used",
            "angles = places.unsqueeze(-1).abs() ** frequencies"),
)


@dataclass(frozen=True)
class Pairing:
    """The way pairs are found in the features, put back, and how angles are repeated to match.

    Attributes:
        split: The line that finds the two members of all pairs.
        join: What puts the members `{0}` and `{1}` back.
        partner: Where the partner of a feature is.
        members: Does what the line says.
    """

    split: str
    join: str
    partner: str
    members: Callable[[Tensor], tuple[Tensor, ...]]

    @property
    def put_back(self) -> str:
        """The line that puts the rotated members back."""
        return f"turned = {self.join.format('first', 'second')}"

    def wide(self, twice: "Pairing", crossed: "Pairing") -> str:
        """Return the line that works at full width, with each angle twice and the members crossed."""
        cos, sin = (twice.join.format(wave, wave) for wave in ("cosines", "sines"))
        other = crossed.join.format("-v", "u")
        return f"{crossed.split}\ncos, sin = {cos}, {sin}\nturned = x * cos + {other} * sin"


INTERLEAVED = Pairing(
    "u, v = x[..., 0::2], x[..., 1::2]",
    "torch.stack(({0}, {1}), dim=-1).flatten(-2)",
    "the next one",
    lambda x: (x[..., 0::2], x[..., 1::2]),
)
SPLIT_HALVES = Pairing(
    "u, v = x.chunk(2, dim=-1)",
    "torch.cat(({0}, {1}), dim=-1)",
    "half the width further on",
    lambda x: x.chunk(2, dim=-1),
)

_TURNING = (
    mistake("negative angle", "Everything is rotated the wrong way round. Scores still depend on the distance, so "
            "nobody notices until weights are exchanged. To which side does the exercise rotate (1, 0)?",
            "first = u * cosines + v * sines\nsecond = v * cosines - u * sines"),
    mistake("both sines with the same sign", "Vectors change their length: the signs of the four products do not make "
            "a rotation. Exactly one of them is subtracted: which?",
            "first = u * cosines + v * sines", "second = v * cosines - u * sines"),
    mistake("a reflection instead of a rotation", "Every pair keeps its length but is mirrored: one of its members has "
            "the wrong sign. What should become of (u, v) at position 0?",
            "first = u * cosines + v * sines\nsecond = u * sines - v * cosines", "first = v * sines - u * cosines",
            "second = -u * sines - v * cosines"),
    mistake("sin and cos swapped", "At position 0 the vectors should stay as they are, and they do not. What are the "
            "sine and the cosine of 0?", "first = u * sines - v * cosines\nsecond = u * cosines + v * sines",
            "first = u * sines + v * cosines\nsecond = v * sines - u * cosines"),
    mistake("the second half of the rotation has sin and cos swapped", "One member of each pair is right, the other is "
            "not: write both lines of the rotation out for u = 1 and v = 0.",
            "second = u * cosines + v * sines", "first = u * sines - v * cosines"),
    mistake("members multiplied, not mixed", "The two members of a pair never meet: each is only multiplied by a "
            "number. A rotation takes two products to make each of them.", "first = u * cosines\nsecond = v * cosines",
            "first = u * cosines\nsecond = v * sines", "first = u * sines\nsecond = v * cosines",
            "first = u * sines\nsecond = v * sines", "first = -v * sines\nsecond = u * sines",
            "first = u * cosines - u * sines\nsecond = v * cosines + v * sines",
            "first = u * cosines + u * sines\nsecond = v * cosines - v * sines",
            "first = u * cosines + u * sines\nsecond = v * cosines + v * sines"),
    mistake("a new member used to make the other", "The first member is overwritten before the second is made from it. "
            "Both lines must read the pair as it was.",
            "first = u * cosines - v * sines\nu = first\nsecond = u * sines + v * cosines",
            "v = u * sines + v * cosines\nfirst = u * cosines - v * sines\nsecond = v"),
    mistake("members of a pair swapped", "The two new members of each pair have changed places.",
            "first = u * sines + v * cosines\nsecond = u * cosines - v * sines",
            "first = v * cosines - u * sines\nsecond = v * sines + u * cosines"),
    mistake("only one member of each pair rotated", "One member of each pair is right, the other did not meet its "
            "partner. Turning a pair changes both, each by two products.",
            "second = v", "first = u", "second = v * cosines", "first = u * cosines"),
    mistake("sines and cosines added to x", "Numbers were added to x, as sinusoidal encodings are. RoPE adds nothing: "
            "at every position the zero vector stays zero.",
            "first = u + sines\nsecond = v + cosines", "first = u + cosines\nsecond = v + sines"),
    mistake("rotated twice", "Every vector is rotated by twice the angle. Where does it happen a second time?",
            "angles = 2 * places.unsqueeze(-1) * frequencies"),
)

_SPEEDS = (
    mistake("one pair never rotated", "One of the pairs stays as it is at every position: its frequency is 0, or it "
            "was left out of the loop. How many pairs are there?",
            "frequencies = used**-exponents * (pairs < len(pairs) - 1)",
            "frequencies = used**-exponents * (pairs > 0)"),
    mistake("width of another axis", "The exponent is divided by the size of an axis other than that of the features.",
            "exponents = 2 * pairs / x.shape[-2]", "exponents = 2 * pairs / x.shape[1]",
            "exponents = 2 * pairs / x.shape[0]"),
    mistake("base cut to a whole number", "Whole bases work, others are rounded to a whole number. A base that is "
            "stretched for longer texts has fractions: where are they lost?",
            "used = float(int(base))", "used = float(round(base))"),
    mistake("angles halved", "The angles of all pairs are half as large as they should be. What divides position times "
            "frequency?", "angles = places.unsqueeze(-1) * frequencies / 2"),
)

_PLACES = (
    mistake("positions ignored", "The tokens are rotated as if they stood at 0, 1, 2, ..., whatever `positions` says. "
            "A decoder that goes on after a cache hands over its true positions there.",
            "given = torch.arange(x.shape[-2]).double()"),
    mistake("positions counted along another axis", "All tokens of a sequence are rotated alike: the angles run along "
            "the heads or the batch. Which axis of (B, H, L, d_k) holds the tokens?",
            "places = torch.arange(x.shape[1]).double().view(1, -1, 1)",
            "places = torch.arange(x.shape[0]).double().view(-1, 1, 1)",
            "places = given.unsqueeze(-1) if given.dim() == 1 else given.unsqueeze(1)",
            "places = given.view(-1, 1, 1) if given.dim() == 1 else given.unsqueeze(1)"),
    mistake("positions from 1", "Every token is rotated as if it stood one place further on or back. Positions are "
            "given: is anything to be added to them?",
            "given = positions.double() + 1", "given = positions.double() - 1"),
    mistake("positions counted from the first token", "The first token is never rotated, wherever it stands: its "
            "position was taken away from all. After a cache it is not 0.",
            "given = positions.double() - positions[..., :1]",
            "given = positions.double() - positions.amin(-1, keepdim=True)"),
    mistake("positions of the first sequence for all", "All sequences are rotated by the positions of one. With shape "
            "(B, L) each has its own.",
            "places = given[0] if given.dim() == 2 else given", "places = given[-1] if given.dim() == 2 else given"),
    mistake("a row of positions for each head instead of each sequence", "With positions (B, L) the rows meet the "
            "heads, not the sequences. Where must an axis of size 1 stand so that (B, L, d_k/2) fits (B, H, L, d_k/2)?",
            "places = given"),
    mistake("positions transposed", "Token l of sequence b gets the position of token b of sequence l.",
            "square = given.dim() == 2 and given.shape[0] == given.shape[1]\n"
            "flipped = given.mT if square else given\nplaces = flipped.unsqueeze(1) if given.dim() == 2 else given"),
    mistake("real positions cut to whole numbers", "Positions need not be whole: interpolation makes 0.25 of 1. Where "
            "are they cut?", "given = positions.long().double()", "given = positions.double().round()",
            "given = positions.double().ceil()"),
    mistake("a table with too few rows", "A table of angles was made with as many rows as there are tokens, and a "
            "position lies beyond its end. Which positions can the tokens after a cache have?",
            "given = torch.arange(x.shape[-2]).double()[positions.long()]",
            "given = F.embedding(positions.long(), torch.arange(x.shape[-2]).double().unsqueeze(-1)).squeeze(-1)"),
    mistake("the sign of positions lost", "Negative positions are rotated as if they were positive, or as if they were "
            "0.", "given = positions.double().abs()", "given = positions.double().clamp(min=0)"),
    mistake("positions put in order", "The positions were sorted or reversed, so tokens exchange their places. They "
            "come in any order.", "given = positions.double().sort(-1).values", "given = positions.double().flip(-1)"),
    mistake("positions as a share of the length", "The angles shrink with the length of the sequence: positions were "
            "divided by it, or by the largest of them.",
            "given = positions.double() / x.shape[-2]", "given = positions.double() / positions.max().clamp(min=1)"),
)


def rotation(own: Pairing, other: Pairing) -> tuple[Mistake, ...]:
    """Return the mistakes of RoPE in a pairing; those that know a family by its marks come last."""
    return (
        mistake("identity: nothing is rotated", "The output is x itself: no vector was rotated. What should happen to "
                "a token at position 1?", "turned = x.clone()"),
        *_TURNING,
        *FREQUENCIES,
        *_SPEEDS,
        *ANGLES,
        *_PLACES,
        *_pairs(own, other),
        *_kinds(own),
        *_families(own),
    )


def rotated(reference: Function, own: Pairing, other: Pairing) -> dict[str, Any]:
    """Return what both exercises of RoPE hand over: right answer, cases, mistakes and laws."""
    right = f"""
def {reference.__name__}(x, positions, base=10000.0):
    width = x.shape[-1]
    used = float(base)
    pairs = torch.arange(width // 2, dtype=torch.float64)
    exponents = 2 * pairs / width
    frequencies = used**-exponents
    given = positions.double()
    places = given.unsqueeze(1) if given.dim() == 2 else given
    angles = places.unsqueeze(-1) * frequencies
    cosines = angles.cos().to(x.dtype)
    sines = angles.sin().to(x.dtype)
    {own.split}
    first = u * cosines - v * sines
    second = u * sines + v * cosines
    {own.put_back}
    return turned
"""
    mistakes = (
        *rotation(own, other),
        multiplied(reference, "return turned / math.sqrt(width)"),
        lower_precision(reference, "return turned.half().to(x.dtype)", "return turned.bfloat16().to(x.dtype)"),
    )
    return {"right": right, "cases": ROTATION_CASES, "mistakes": mistakes, "laws": ROTATION_LAWS}


def _kinds(own: Pairing) -> tuple[Mistake, ...]:
    return (
        *adding(other_kinds("turned"), {"another dtype": (
            "cosines = angles.cos()\nsines = angles.sin()",
            "cosines = angles.cos().float()\nsines = angles.sin().float()"
        )}),
        overwritten(f"{own.put_back}\nturned = x.copy_(turned)"),
        cut_off("return turned.detach()", f"x = x.detach()\n{own.split}"),
        mistake("a frequency for each feature instead of each pair", "The two members of a pair are rotated by "
                "different angles, so vectors change their length. Both share the frequency of their pair: how many "
                "frequencies are there?", *(
                    f"every = places.unsqueeze(-1) * used ** (-{power} / width)\n"
                    f"a, b = {own.split.split(' = ')[1].replace('x', 'every')}\n"
                    f"first = u * a.cos().to(x.dtype) - v * {one}.sin().to(x.dtype)\n"
                    f"second = u * {other}.sin().to(x.dtype) + v * b.cos().to(x.dtype)"
                    for power in ("torch.arange(width).double()", "2 * torch.arange(width).double()")
                    for one, other in ("ab", "ba"))),
        mistake("cosines and sines in 16 bits", "The angles are right, but their cosines or sines have three digits at "
                "most, whatever dtype x has, so the vectors change a little. Where do the tables lose the others?",
                *(f"cosines = angles.cos().{kind}().to(x.dtype)\nsines = angles.sin().{kind}().to(x.dtype)"
                  for kind in ("half", "bfloat16"))),
    )


def _pairs(own: Pairing, other: Pairing) -> tuple[Mistake, ...]:
    return (
        mistake("the other pairing",
                "Vectors are rotated by the right angles, but in the planes of the other pairing. Here a feature's "
                f"partner is {own.partner}.", f"{other.split}\n{other.put_back}"),
        mistake("pairs not put back where they were", "The pairs are found and rotated, but the result has its "
                "features in another order than x. Which operation undoes the way they were taken apart?",
                other.put_back),
        mistake("wrong pairs: taken apart one way, put back another", "The members of a pair are taken from one "
                "pairing and put back as if they came from the other. Check with a vector of width 4 where each "
                "feature ends up.", other.split),
        mistake("angles laid out for the other pairing", "Each feature finds its partner, but the two members of a "
                "pair are rotated by different angles. In which order must the angles be repeated to the full width?",
                own.wide(twice=other, crossed=own)),
        mistake(
            "partners of the other pairing",
            "The angles are laid out right, but a feature is mixed with the partner that the other pairing gives it. "
            f"Here it is {own.partner}.",
            own.wide(twice=own, crossed=other),
        ),
        mistake(
            "only part of the features rotated",
            "Some features stay as they were at every position. GPT-NeoX rotates only a part of each head; how many "
            "are to be rotated here?",
            *(
                f"angles = places.unsqueeze(-1) * frequencies * (pairs < max({share} * len(pairs), 1))"
                for share in (0.5, 0.0, 0.25)
            ),
        ),
        mistake("only the first head rotated", "Only the first head is rotated. Does a position mean something else to "
                "the others?", f"{own.put_back}\nturned = torch.cat((turned[:, :1], x[:, 1:]), dim=1)"),
    )


def _families(own: Pairing) -> tuple[Mistake, ...]:
    opposite = "turned = torch.cat((first, second.flip(-1)), dim=-1)"
    return (
        mistake("angles in low precision", "In a low precision far tokens are rotated by wrong angles, though near "
                "ones seem right: whole numbers above 256 have gaps in bfloat16, and frequencies are rounded too. In "
                "which dtype are positions, frequencies and angles kept until the cosine is taken?",
                "given = positions.to(x.dtype)\nfrequencies = (used**-exponents).to(x.dtype)",
                "given = positions.to(x.dtype)", "frequencies = (used**-exponents).to(x.dtype).double()",
                "angles = (places.unsqueeze(-1) * frequencies).to(x.dtype)",
                "given = positions.to(x.dtype).float()\nfrequencies = (used**-exponents).to(x.dtype)",
                "given = positions.bfloat16()", "frequencies = (used**-exponents).bfloat16()",
                "angles = (places.unsqueeze(-1) * frequencies).bfloat16()",
                "given = positions.bfloat16()\nfrequencies = (used**-exponents).bfloat16()", matches=_coarse(own)),
        mistake("other angles than position times frequency", "The right pairs are rotated, but by other angles than "
                "position · base^(-2i/d_k). Print the angles of a token at position 1: pair 0 rotates by 1 radian.",
                "angles = (places.unsqueeze(-1) * frequencies).square()",
                "angles = (places.unsqueeze(-1) * frequencies).tanh()", "angles = places.unsqueeze(-1) + frequencies",
                matches=_other_angles(own)),
        mistake(
            "wrong pairs",
            "Every vector keeps its length, so something is rotated, but not the pairs that the exercise names. Here a "
            f"feature's partner is {own.partner}.",
            f"u, v = x[..., : width // 2], x[..., width // 2 :].flip(-1)\n{opposite}",
            f"{own.split.replace('x', 'x.roll(1, -1)')}\n{own.put_back}.roll(-1, -1)",
            matches=_other_pairs(own),
        ),
    )


def _angles(pairing: Pairing, x: Tensor, out: Tensor, room: float = 1e-4) -> Tensor | None:
    """Return by how much each pair was rotated, or None where a pair changed its length."""
    (u, v), (a, b) = (pairing.members(t.detach().double()) for t in (x, out))
    before, after = u.square() + v.square(), a.square() + b.square()
    if not bool(((before - after).abs() <= room * before + 1e-9).all()):
        return None
    return torch.atan2(u * b - v * a, u * a + v * b)


def _coarse(pairing: Pairing) -> Callable[[tuple[Any, ...], Tensor], bool]:
    """Return whether the right pairs are rotated, by whatever angles, in a low precision."""
    return lambda args, got: args[0].dtype.itemsize == 2 and _angles(pairing, args[0], got, room=0.05) is not None


def _other_angles(pairing: Pairing) -> Callable[[tuple[Any, ...], Tensor], bool]:
    """Return whether the right pairs are rotated, all heads alike, by wrong angles."""

    def matches(args: tuple[Any, ...], got: Tensor) -> bool:
        angles = _angles(pairing, args[0], got)
        if angles is None or not bool((angles.abs() > 1e-3).any()):
            return False
        circle = torch.stack((angles.cos(), angles.sin()))
        return bool((circle - circle[:, :, :1]).abs().max() < 0.02)

    return matches


def _other_pairs(pairing: Pairing) -> Callable[[tuple[Any, ...], Tensor], bool]:
    """Return whether every vector keeps its length while the right pairs do not keep theirs."""

    def matches(args: tuple[Any, ...], got: Tensor) -> bool:
        x = args[0]
        if x.shape[-1] < 4 or x.dtype.itemsize == 2 or not bool(got.isfinite().all()):
            return False
        return _length_lost(args, got) is None and _angles(pairing, x, got) is None

    return matches


def _length_lost(args: tuple[Any, ...], out: Tensor) -> str | None:
    before, after = args[0].double().norm(dim=-1), out.detach().double().norm(dim=-1)
    wrong = ~((before - after).abs() <= 0.02 * before)
    if not bool(wrong.any()):
        return None
    where = tuple(int(i) for i in wrong.nonzero()[0])
    return f"The vector at {list(where)} had the length {before[where]:.4g} and has {after[where]:.4g} now."


def _moved_at_zero(args: tuple[Any, ...], out: Tensor) -> str | None:
    x, positions = args[:2]
    start = positions == 0
    at_zero = (start[:, None] if start.dim() == 2 else start).expand(x.shape[:3])
    moved = ((x - out).double().abs().amax(-1) > 0.02) & at_zero
    if not bool(moved.any()):
        return None
    where = [int(i) for i in moved.nonzero()[0]]
    return f"The token at {where} stands at position 0 and was changed."


ROTATION_LAWS = (
    Law("a token at position 0 is not rotated", _moved_at_zero),
    Law("a rotation keeps the length of every vector", _length_lost),
)


def _at(*shape: int, at: Any, base: float | None = None, dtype: str = "float64") -> Make:
    """Make x, positions, and a base if one is given."""

    def make(generator: torch.Generator) -> tuple[Any, ...]:
        x = normal(generator, *shape, dtype=getattr(torch, dtype))
        return (x, torch.tensor(at)) if base is None else (x, torch.tensor(at), base)

    return make


def _from_a_stream(generator: torch.Generator) -> tuple[Any, ...]:
    """Make x as `split_heads` does: the heads of a token side by side in memory."""
    x, positions = _at(2, 5, 3, 6, at=[[4, 5, 6, 7, 8], [0, 9, 1, 8, 2]])(generator)
    return x.transpose(1, 2), positions


def _near(name: str, *shape: int, at: Any, gradient: str = "", **more: Any) -> Case:
    return case(name, _at(*shape, at=at, **more), gradient=gradient, tolerance=ROUNDING)


# Gradients in float32, where frequencies made in float32 differ by no more than rounding.
ROTATION_CASES = (
    _near("one head of width 2 at positions 0, 1, 2, 3", 1, 1, 4, 2, at=[0, 1, 2, 3]),
    _near("one head of width 4 at positions 0, 1, 2", 1, 1, 3, 4, at=[0, 1, 2]),
    _near("two sequences, three heads", 2, 3, 5, 6, at=[0, 1, 2, 3, 4], dtype="float32", gradient="equal"),
    _near("positions 7 to 10: the middle of a sequence", 2, 3, 4, 8, at=[7, 8, 9, 10]),
    _near("positions out of order", 1, 2, 5, 6, at=[12, 0, 5, 5, 3]),
    _near(
        "positions of shape (2, 4), one row for each sequence",
        *(2, 3, 4, 6),
        at=[[0, 1, 2, 3], [5, 6, 4, 2]],
        dtype="float32",
        gradient="equal",
    ),
    _near("as many sequences as heads", 3, 3, 4, 6, at=[[0, 1, 2, 3], [4, 5, 6, 7], [2, 4, 9, 1]]),
    _near("as many sequences as heads and as tokens", 3, 3, 3, 4, at=[[0, 1, 2], [7, 5, 3], [4, 8, 6]]),
    _near("as many sequences as tokens", 4, 2, 4, 6, at=[3, 1, 4, 2]),
    _near("real positions", 2, 3, 4, 6, at=[0.5, 1.25, 2.75, 7.1]),
    _near("real positions for each sequence", 2, 3, 3, 4, at=[[0.25, 0.5, 0.75], [10.5, 3.3, 1.9]]),
    _near("negative positions", 1, 2, 4, 6, at=[-3, -2, -1, 0]),
    _near("base=12.5", 2, 3, 4, 6, at=[0, 2, 4, 6], base=12.5),
    _near("base=50, a whole number", 1, 2, 5, 8, at=[1, 2, 3, 4, 5], base=50),
    _near("one token at position 9: a decoder's step", 2, 3, 1, 8, at=[9]),
    _near("width 16, positions to 60", 1, 2, 4, 16, at=[0, 20, 40, 60]),
    _near("one sequence, positions of shape (1, 3)", 1, 2, 3, 6, at=[[2, 5, 8]]),
    case("positions in the thousands", _at(1, 2, 4, 8, at=[511, 512, 2048, 5000]), tolerance=0.01),
    case("heads that were split from a stream: other strides", _from_a_stream, tolerance=ROUNDING),
    _near("float64 and positions of each sequence", 2, 3, 4, 8, at=[[0, 3, 6, 9], [1, 0, 8, 4]]),
    case("bfloat16", _at(2, 3, 4, 6, at=[0, 1, 2, 5], dtype="bfloat16")),
    case("bfloat16 at positions 256 to 1001", _at(1, 2, 4, 16, at=[256, 257, 1000, 1001], dtype="bfloat16")),
)
