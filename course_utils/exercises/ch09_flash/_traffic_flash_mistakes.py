"""What goes wrong when the traffic of flash attention is counted."""

import math
from collections.abc import Callable
from typing import Any

from course_utils.checking.exercise import Function, Misconception
from course_utils.measure.traffic import hbm_traffic

Count = Callable[[int, int, int], Any]


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _keys(n: int, d: int, m: int) -> int:
    return _up(m, 4 * d)


def _blocks(n: int, d: int, m: int) -> int:
    return _up(n, _keys(n, d, m))


def flash(count: Count) -> Function:
    """Return the right counts with another one for flash attention."""
    return lambda n, d, m: (hbm_traffic(n, d, m)[0], count(n, d, m))


def _blocked(blocks: Count) -> Function:
    """Return the right counts with another number of blocks."""
    return flash(lambda n, d, m: 2 * n * d + blocks(n, d, m) * (3 * n * d + 4 * n))


def mistake(name: str, says: str, first: Function, *rest: Function) -> Misconception:
    return Misconception(name, first, says, also=rest)


BLOCKS = (
    mistake(
        "keys a block rounded down",
        "The number of keys a block was rounded down. The algorithm says ⌈M / 4d⌉; and what would "
        "a memory smaller than 4d hold?",
        _blocked(lambda n, d, m: _up(n, max(1, m // (4 * d)))),
        _blocked(lambda n, d, m: _up(n, m // (4 * d))),
        _blocked(lambda n, d, m: _up(n, max(1, round(m / (4 * d))))),
        _blocked(lambda n, d, m: max(1, n // max(1, m // (4 * d)))),
    ),
    mistake(
        "the short last block dropped",
        "The number of blocks was rounded down: the keys left over are never read. How many "
        "blocks does it take to hold all N?",
        _blocked(lambda n, d, m: n // _keys(n, d, m)),
        _blocked(lambda n, d, m: max(1, n // _keys(n, d, m))),
        _blocked(lambda n, d, m: round(n / _keys(n, d, m))),
        _blocked(lambda n, d, m: n // _keys(n, d, m) + 1),
    ),
    mistake(
        "blocks not rounded",
        "A fraction of a block was counted. A block is loaded whole or not at all: which two "
        "quotients are rounded up?",
        flash(lambda n, d, m: int(2 * n * d + n / (m / (4 * d)) * (3 * n * d + 4 * n))),
        flash(lambda n, d, m: int(2 * n * d + n / _keys(n, d, m) * (3 * n * d + 4 * n))),
        _blocked(lambda n, d, m: math.ceil(n / (m / (4 * d)))),
        _blocked(lambda n, d, m: _up(4 * n * d, m)),
        _blocked(lambda n, d, m: int(n / (m / (4 * d)))),
        _blocked(lambda n, d, m: n / _keys(n, d, m)),
    ),
    mistake(
        "another share of the memory",
        "Another number of keys a block was taken than ⌈M / 4d⌉. Blocks of queries, keys, values "
        "and output share the memory, and each row takes d elements.",
        _blocked(lambda n, d, m: _up(n, _up(m, d))),
        _blocked(lambda n, d, m: _up(n, _up(m, 2 * d))),
        _blocked(lambda n, d, m: _up(n, _up(m, 3 * d))),
        _blocked(lambda n, d, m: _up(n, _up(m, 4))),
        _blocked(lambda n, d, m: _up(n, m)),
        _blocked(lambda n, d, m: _up(n, _up(m, 5 * d))),
        _blocked(lambda n, d, m: _up(n, _up(m, 6 * d))),
        _blocked(lambda n, d, m: _up(n, _up(m, 8 * d))),
        _blocked(lambda n, d, m: _up(n, _up(m, 16 * d))),
        _blocked(lambda n, d, m: _up(n, _up(m * d, 4))),
        _blocked(lambda n, d, m: _up(n, _up(m, 4 * d * d))),
        _blocked(lambda n, d, m: _up(n, _up(m // 2, 4 * d))),
        _blocked(lambda n, d, m: _up(n, _up(m // 4, 4 * d))),
    ),
    mistake(
        "the block of queries taken for that of keys",
        "The block was made no larger than d. That limit holds for B_r, the queries a block; T_c "
        "counts blocks of B_c keys.",
        _blocked(lambda n, d, m: _up(n, min(_keys(n, d, m), d))),
        _blocked(lambda n, d, m: _up(n, max(_keys(n, d, m), d))),
    ),
    mistake(
        "the number of keys a block taken for the number of blocks",
        "The traffic was multiplied by the keys a block, not by the blocks. How often are all "
        "queries read?",
        _blocked(_keys),
        _blocked(lambda n, d, m: _keys(n, d, m) * _blocks(n, d, m)),
        _blocked(lambda n, d, m: _blocks(n, d, m) ** 2),
        _blocked(lambda n, d, m: n),
    ),
)
FLASH = (
    mistake(
        "queries and output counted once",
        "The queries and the output were counted for a single block of keys. For how many blocks "
        "does the inner loop go over all of them?",
        flash(lambda n, d, m: 2 * n * d + 3 * n * d + 4 * n),
        flash(lambda n, d, m: 4 * n * d),
        flash(lambda n, d, m: 4 * n * d + 4 * n),
        flash(lambda n, d, m: 2 * n * d + 3 * n * d + _blocks(n, d, m) * 4 * n),
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * 3 * n * d + 4 * n),
    ),
    mistake(
        "keys and values left out",
        "Keys and values are read too, each of them once. They are not counted, or only one is.",
        flash(lambda n, d, m: _blocks(n, d, m) * (3 * n * d + 4 * n)),
        flash(lambda n, d, m: n * d + _blocks(n, d, m) * (3 * n * d + 4 * n)),
    ),
    mistake(
        "keys and values read for every block",
        "Keys and values were counted again for every block. In this algorithm the outer loop "
        "goes over them: how often does a block of keys come in?",
        flash(lambda n, d, m: _blocks(n, d, m) * (5 * n * d + 4 * n)),
        flash(lambda n, d, m: 3 * n * d + _blocks(n, d, m) * (3 * n * d + 4 * n)),
        flash(lambda n, d, m: 4 * n * d + _blocks(n, d, m) * (3 * n * d + 4 * n)),
    ),
    mistake(
        "the later algorithm",
        "Here the queries stay and keys and values are read again for every block: that is "
        "FlashAttention-2. The exercise counts algorithm 1 of the first paper.",
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * 2 * n * d),
        flash(lambda n, d, m: 2 * n * d + n + _blocks(n, d, m) * 2 * n * d),
        flash(lambda n, d, m: n * d + _blocks(n, d, m) * 2 * n * d),
    ),
    mistake(
        "the output written but not read",
        "The running output is read, rescaled and written for every block of keys. How many "
        "tables of N × d is that together with the queries?",
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * (2 * n * d + 4 * n)),
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * (n * d + 4 * n)),
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * (4 * n * d + 4 * n)),
        flash(lambda n, d, m: 3 * n * d + _blocks(n, d, m) * (2 * n * d + 4 * n)),
    ),
    mistake(
        "l and m left out",
        "Two numbers a query are read and written for every block too, l and m. They are not all "
        "counted.",
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * 3 * n * d),
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * (3 * n * d + 2 * n)),
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * (3 * n * d + n)),
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * (3 * n * d + 3 * n)),
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * (3 * n * d + 4)),
        flash(lambda n, d, m: 2 * n * d + _blocks(n, d, m) * (3 * n * d + 4 * n * d)),
    ),
    mistake(
        "the order of growth alone",
        "N²d² / M is how the traffic grows, not how much it is. The exercise counts every term.",
        flash(lambda n, d, m: n * n * d * d // m),
        flash(lambda n, d, m: _up(n * n * d * d, m)),
        flash(lambda n, d, m: 4 * n * n * d * d // m),
        flash(lambda n, d, m: n * n * d * d / m),
    ),
    mistake(
        "tables of N × N in flash",
        "N × N numbers were counted for flash attention. Which table of that size leaves the fast "
        "memory?",
        flash(lambda n, d, m: hbm_traffic(n, d, m)[1] + n * n),
        flash(lambda n, d, m: hbm_traffic(n, d, m)[0]),
        flash(lambda n, d, m: hbm_traffic(n, d, m)[1] + 2 * n * n),
    ),
)
