"""Exercise: 32 weights from 20 bytes."""

from collections.abc import Callable
from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten, writing
from course_utils.exercises.shared.precision import rounded_off
from course_utils.models import dequantize_q4_1
from torch import Tensor

RIGHT = """
def dequantize_q4_1(blocks):
    head = blocks[:, :4]
    halves = head.contiguous().view(torch.float16)
    wide = halves.float()
    d = wide[:, 0:1]
    m = wide[:, 1:2]
    packed = blocks[:, 4:]
    low = packed & 15
    high = packed >> 4
    levels = torch.cat([low, high], 1)
    q = levels.float()
    weights = d * q + m
    return weights
"""


def _written(d: Tensor, m: Tensor, packed: Tensor) -> Tensor:
    """Return blocks with these two numbers (n, 1) and these bytes (n, 16)."""
    return torch.cat([torch.cat([d, m], 1).half().view(torch.uint8), packed], 1)


def _random(g: torch.Generator, n: int) -> Tensor:
    return torch.randint(0, 256, (n, 16), generator=g).to(torch.uint8)


def _blocks(
    n: int,
    d: Callable[[Tensor], Tensor] = lambda x: 0.1 * x,
    m: Callable[[Tensor], Tensor] = lambda x: x,
    packed: Callable[[Tensor], Tensor] = lambda x: x,
    cut: Callable[[Tensor], Tensor] = lambda x: x,
) -> Make:
    """Make blocks of random bytes; d and m are made from normal numbers, and what is cut from the table is given."""
    return lambda g: (cut(_written(d(normal(g, n, 1)), m(normal(g, n, 1)), packed(_random(g, n)))),)


def _counted(g: torch.Generator) -> tuple[Tensor]:
    number = torch.arange(16, dtype=torch.uint8)
    return (_written(torch.tensor([[0.5]]), torch.tensor([[-2.0]]), ((15 - number) * 16 + number).unsqueeze(0)),)


def _off(x: Tensor) -> Tensor:
    """Return a size that no float16 with few digits has, of either sign."""
    return x + 0.3 * x.sign()


def _wider(table: Tensor) -> Tensor:
    """Return the rows as part of a wider table."""
    return torch.cat([table[:, :2] ^ 37, table, table[:, 2:4] ^ 85], 1)[:, 2:22]


def _rounded(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the weights are right to about as many digits as 16 bits hold."""
    right = dequantize_q4_1(*args)
    return bool((got - right).abs().max() < 5e-3 * right.abs().max()) and not torch.equal(got, right)


def _other_levels(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the weights are d·q + m of other levels q, and not only of the right ones in another order."""
    d, m = args[0][:, :4].contiguous().view(torch.float16).double().split(1, 1)
    row = d.flatten().abs() > 0
    levels, right = (((x.double() - m) / d)[row] for x in (got, dequantize_q4_1(*args)))
    whole = bool(row.any()) and bool(((levels - levels.round()).abs() < 1e-2).all())
    return whole and not torch.equal(levels.round().sort(-1).values, right.round().sort(-1).values)


def _moved(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the weights of each block are right, but for their order."""
    return torch.allclose(got.sort(-1).values, dequantize_q4_1(*args).sort(-1).values)


def _too_many(args: tuple[Any, ...], got: Tensor) -> str | None:
    for row, block in enumerate(got.detach()):
        if len(block.unique()) > 16:
            return f"Block {row} holds {len(block.unique())} different numbers."
    return None


_AXIS = "return weights{}"

EXERCISE = exercise(
    dequantize_q4_1,
    right=RIGHT,
    asks="Turn blocks of 20 bytes into 32 weights each: d·q + m.",
    minutes=10,
    difficulty=2,
    importance=4,
    cases=(
        case("one block with d = 0.5 and m = -2, whose levels count up and then down", _counted),
        case("3 blocks", _blocks(3)),
        case("d below 0, m above", _blocks(5, lambda x: -0.1 * _off(x.abs()), lambda x: _off(x.abs()))),
        case("d above 0, m below", _blocks(5, lambda x: 0.1 * _off(x.abs()), lambda x: -_off(x.abs()))),
        case("as many blocks as weights in a block", _blocks(32)),
        case("d and m of one size", _blocks(4, lambda x: _off(x), lambda x: _off(x))),
        case("d = 0", _blocks(3, torch.zeros_like)),
        case("m = 0", _blocks(3, m=torch.zeros_like)),
        case("levels of 0 and 15 alone", _blocks(4, packed=lambda x: (x & 1) * 15 + (x & 16) * 15)),
        case("weights of tens of thousands", _blocks(4, lambda x: 3000 + 100 * x, lambda x: 6e4 - 50 * x.abs()),
             tolerance=3e-6),
        case("weights so small that float16 has few digits left", _blocks(4, lambda x: 3e-6 * _off(x),
                                                                          lambda x: 2e-5 * _off(x))),
        case("every second row of a table", _blocks(9, cut=lambda table: table[::2])),
        case("the last rows of a table", _blocks(9, cut=lambda table: table[5:])),
        case("rows that are part of a wider table", _blocks(4, cut=_wider)),
        case("one block", _blocks(1)),
        case("100 blocks", _blocks(100)),
    ),
    mistakes=(
        NOTHING,
        mistake("nibbles as neighbours", "The two levels of a byte came out side by side. In this format a byte's low "
                "four bits are weight j: which weight are its high four?",
                "levels = torch.stack([low, high], 2).flatten(1)"),
        mistake("high nibble first", "The levels of the high and the low four bits have changed places. Which of the "
                "two belong to the first 16 weights?", "low = packed >> 4\nhigh = packed & 15"),
        mistake("only one nibble of each byte", "Only the low or only the high four bits of the bytes were used. How "
                "many weights do 16 bytes hold?", "levels = low", "levels = high", "high = low",
                "low = packed >> 4", "high = packed & 15"),
        mistake("a byte for one weight", "A whole byte was taken for a level. How many bits has each weight?",
                "levels = packed", "levels = torch.cat([packed, packed], 1)", "low = packed",
                "low = packed\nhigh = packed"),
        mistake("the high nibble not shifted", "The levels of the high four bits are 16 times as large as they should "
                "be: they kept their place in the byte. What brings them down?", "high = packed & 240",
                "high = packed & 240\nlevels = torch.cat([high, low], 1)"),
        mistake("cut in another place than the middle", "A byte was not cut into four and four bits. Which mask keeps "
                "four bits, and by how many is the rest shifted?", "low = packed & 7", "high = packed >> 3",
                "high = packed // 15", "low = packed % 15", "low = packed & 16", "high = packed >> 5",
                "low = packed & 7\nhigh = packed >> 3", "low = packed % 15\nhigh = packed // 15", "low = packed & 31",
                "low = packed % 10\nhigh = packed // 10"),
        mistake("levels that are not whole", "A byte was divided, and the fraction stayed. Which division gives whole "
                "levels?", "high = packed / 16", "high = (packed.float() - low) / 15"),
        mistake("bytes lost", "Too few or too many bytes were taken for levels. Where do they begin and end?",
                "packed = blocks[:, 4:19]", "packed = blocks[:, 5:]", "packed = blocks[:, 3:]",
                "packed = blocks[:, 2:]", "packed = blocks[:, 4:18]", "packed = blocks", "packed = blocks[:, 4:16]",
                "weights = (d * q + m) * (torch.arange(32) % 16 < 15)"),
        mistake("8 subtracted", "8 was subtracted from the levels (in uint8, 3 - 8 is 251). Q4_0, a format without m, "
                "needs that. What does m do here?",
                "q = levels.float() - 8", "weights = d * (q - 8)", "q = (levels - 8).float()",
                "q = levels.float() - 7.5", "q = levels.float() - 7"),
        mistake("d and m exchanged", "d and m have changed places. Which of them comes first in the block, and which "
                "multiplies?", "d = wide[:, 1:2]\nm = wide[:, 0:1]"),
        mistake("m subtracted", "m was subtracted, as in the formats whose names end in _K. What does this one do with "
                "it?", "weights = d * q - m", "weights = m - d * q", "weights = d * (q - m)"),
        mistake("m scaled too", "m was multiplied by d as well. Is it a number of steps, or the weight at level 0?",
                "weights = d * (q + m)"),
        mistake("m left out", "The weights begin at 0: m does nothing. What is the weight at level 0?",
                "weights = d * q"),
        mistake("d left out", "The levels were added to m as they are. How large is a step?", "weights = q + m",
                "weights = m * q"),
        mistake("d taken for something else", "d is not used as the size of one step, by which a level is multiplied. "
                "It is stored ready for use: it needs no division.", "weights = d * q / 15 + m",
                "weights = (d - m) * q / 15 + m", "weights = q / d + m", "weights = d * q / 16 + m",
                "weights = (q + m) / d"),
        mistake("signed bytes", "Levels of 8 and more came out negative. A signed byte keeps its sign when it is "
                "shifted: from where to where do the levels run?",
                "high = packed.contiguous().view(torch.int8) >> 4", "q = levels.float() - 16 * (levels > 7)",
                "high = packed.contiguous().view(torch.int8) // 16",
                "signed = packed.contiguous().view(torch.int8)\nlow = signed.fmod(16)\nhigh = signed.div(16).trunc()"),
        mistake("bytes converted instead of reread", "A byte of d or m was taken for a number from 0 to 255. Two bytes "
                "together are the bits of one float16: what rereads bits without changing them?",
                "wide = head[:, ::2].float()", "wide = head.float()", "wide = head[:, 1::2].float()",
                "halves = head.half()", "halves = head[:, :2].to(torch.float16)",
                "wide = head[:, ::2].float() + head[:, 1::2].float()"),
        mistake("bytes in the wrong order", "The two bytes of d, or of m, were read the other way round. Little-endian "
                "means: which of the two comes first?",
                "halves = head[:, [1, 0, 3, 2]].view(torch.float16)"),
        mistake("bits read as another type", "The bits of d and m were read as bfloat16, as an integer or as one "
                "float32. Which type do these 16 bits have?",
                "halves = head.contiguous().view(torch.bfloat16)", "halves = head.contiguous().view(torch.int16)",
                "halves = head.contiguous().view(torch.uint16)",
                "halves = head.contiguous().view(torch.float32).expand(-1, 2)",
                "halves = (head.contiguous().view(torch.int16).float() / 32768)",
                "halves = head.contiguous().view(torch.uint16).half()"),
        mistake("bytes of another place", "d, m or the levels were read from other bytes. Which of the 20 bytes are d, "
                "which are m, and which hold the levels?",
                "head = blocks[:, 16:]\npacked = blocks[:, :16]", "head = blocks[:, 16:]",
                "packed = blocks[:, :16]", "packed = blocks[:, 2:18]", "packed = blocks[:, 3:19]",
                "m = d", "d = wide[:, 1:2]", "head = blocks[:, 1:5]", "head = blocks[:, 2:6]",
                "m = blocks[:, 1:3].contiguous().view(torch.float16).float()"),
        mistake("d and m of one block for all", "All blocks were given the d and m of one of them. Which axis counts "
                "the blocks?", "d = wide[:1, 0:1]\nm = wide[:1, 1:2]", "d = wide[0, 0]\nm = wide[0, 1]",
                "d = wide[-1:, 0:1]\nm = wide[-1:, 1:2]", "d = wide[0, 0]", "m = wide[0, 1]"),
        mistake("the axis of d and m lost", "d and m have one number per block, on an axis that meets the 32 weights "
                "instead of the blocks. Which shape lets a number meet a row?", "d = wide[:, 0]\nm = wide[:, 1]",
                "d = wide[:, 0]", "m = wide[:, 1]", "weights = d.squeeze() * q + m.squeeze()"),
        rounded_off(dequantize_q4_1, "weights = (d * q + m).round()", "weights = (d * q + m).round(decimals=2)"),
        mistake("float16 arithmetic", "Right only to three digits, or infinite: a product or a sum was computed in 16 "
                "bits. d and m are stored in float16; in which type is d·q + m computed?",
                "weights = (halves[:, 0:1] * levels.half() + halves[:, 1:2]).float()",
                "weights = (halves[:, 0:1] * levels.half()).float() + m", "weights = d * q.half() + m.bfloat16()",
                "wide = halves.bfloat16().float()", "weights = (d * q + m).half().float()",
                "weights = (halves[:, 0:1] * levels + halves[:, 1:2]).float()",
                "weights = (d * q).half().float() + m", "weights = (d * q + m).bfloat16().float()",
                matches=_rounded),
        mistake("weights in another order", "The weights are right, but in another order. Which level belongs to "
                "weight 0, and which to weight 16?", "levels = torch.cat([low, high], 1).flip(1)",
                "levels = torch.cat([low.flip(1), high.flip(1)], 1)", "return weights.flip(0)",
                "levels = torch.cat([low, high.flip(1)], 1)",
                "levels = torch.stack([low, high], 2).mT.reshape(-1, 16, 2).flatten(1).flip(1)",
                matches=_moved),
        mistake("another shape", "The weights have another shape than (n, 32). Each block is a row.",
                _AXIS.format(".flatten()"), _AXIS.format(".unflatten(1, (2, 16))"), _AXIS.format(".mT"),
                _AXIS.format(".unsqueeze(0)"), _AXIS.format(".unflatten(1, (2, 16)).mT"), _AXIS.format("[0]"),
                _AXIS.format(".unflatten(1, (2, 16)).flatten(0, 1)"), "levels = torch.cat([low, high], 0)",
                "levels = torch.stack([low, high])", _AXIS.format(".squeeze()"), _AXIS.format(".squeeze(0)")),
        mistake("the levels instead of the weights", "The levels came back, or d and m besides. What is wanted are the "
                "weights alone.", "return levels", "return q, d, m", "return levels, d, m", "return weights, d, m",
                "return levels.float()"),
        mistake("another dtype", "The numbers are right, but not of dtype float32. Which dtype is asked for?",
                "return weights.half()", "return weights.double()", "return weights.bfloat16()",
                "weights = d.double() * q + m"),
        mistake("not a tensor", "The weights came as a list or as an array of numpy. One tensor is asked for.",
                "return weights.tolist()", "return list(weights)", "return weights.numpy()", "return [weights]",
                "return weights.flatten().tolist()"),
        overwritten(*writing(dequantize_q4_1, 0), "levels = torch.cat([low, packed.bitwise_right_shift_(4)], 1)",
                    "packed = blocks[:, 4:].bitwise_and_(15)"),
        mistake("other levels", "d and m are right, but the levels are not those in the low and the high four bits of "
                "the bytes. Print the levels of one block.", matches=_other_levels),
    ),
    laws=(Law("four bits tell at most 16 weights apart", _too_many),),
    hints=(
        "Take one byte, 0xA3 = 163. Which level is in its low four bits, which in its high four, and to which two of "
        "the 32 weights do they belong?",
        "`view(dtype)` rereads the same bits as another type: four bytes of uint8 become two numbers of float16. What "
        "does `to(dtype)` do instead?",
        "Slice with `0:1` rather than `0`, so that d and m stay columns (n, 1) and meet whole rows. `& 15` keeps four "
        "bits, `>> 4` moves the other four down, and `torch.cat` puts the two halves one after the other. Convert all "
        "of it to float32 before you multiply.",
    ),
)
