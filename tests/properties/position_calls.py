"""Calls of the position schemes, at the places where each acts, and of the table of RoPE."""

import torch
from call_table import Call, floats

from course_utils import positions

B, H, L, D = 2, 4, 3, 6


def _places() -> dict[str, torch.Tensor]:
    return {"query_positions": torch.arange(L), "key_positions": torch.arange(L)}


def _pair() -> dict[str, torch.Tensor]:
    return {"query": floats(B, H, L, D), "key": floats(B, H, L, D)} | _places()


def _scheme(name: str):
    sizes = {
        "PositionScheme": {},
        "AlibiPositions": {"num_heads": H},
        "DebertaPositions": {"num_heads": H, "d_k": D, "max_distance": 2},
        "LearnedPositions": {"max_length": 5, "d_model": D},
        "PartialRotaryPositions": {"width": 4},
        "RotaryPositions": {"d_k": D},
        "ShawPositions": {"d_k": D, "max_distance": 2},
        "SinusoidalPositions": {},
        "T5Positions": {"num_heads": H, "num_buckets": 8, "max_distance": 16},
    }
    return getattr(positions, name), sizes[name]


def _scheme_calls():
    """Yield each scheme's constructor and the places where it acts itself."""
    inputs = {
        "embed": lambda: {"x": floats(B, L, D), "positions": torch.arange(L)},
        "turn": _pair,
        "bias": _pair,
        "value_term": lambda: {"weights": floats(B, H, L, L).softmax(-1)} | _places(),
    }
    for name in sorted(positions.__all__):
        if not name.endswith("Positions") and name != "PositionScheme":
            continue
        kind, sizes = _scheme(name)
        if "__init__" in vars(kind):
            yield Call(kind, lambda sizes=sizes: sizes)
        for place, given in inputs.items():
            if place in vars(kind):
                yield Call(
                    vars(kind)[place],
                    lambda kind=kind, sizes=sizes, given=given: {"self": kind(**sizes)} | given(),
                )


CALLS = (
    *_scheme_calls(),
    Call(positions.RopeTable, lambda: {"d_k": D}),
    Call(
        positions.RopeTable.turn,
        lambda: {
            "self": positions.RopeTable(D),
            "x": floats(B, H, L, D),
            "positions": torch.arange(L),
        },
    ),
)
