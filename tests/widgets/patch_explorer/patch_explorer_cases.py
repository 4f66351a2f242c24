"""Values that the patch explorer must read as Python does: probabilities, weights, orders."""

import base64
import math
from typing import Any

import numpy as np
import torch

from course_utils.measure import read_record
from course_utils.models import VisionTransformer, patchify

RECORD = "chapter_14_explorer"


def order(count: int, shuffle: int) -> list[int]:
    """Return which patch stands at each place after a shuffle; 0 leaves them in order."""
    places, state = list(range(count)), shuffle
    for i in range(count - 1, 0, -1) if shuffle else ():
        for _ in range(3):
            state = state * 16807 % 2147483647
        j = state % (i + 1)
        places[i], places[j] = places[j], places[i]
    return places


def model(record: dict[str, Any], patch: int) -> VisionTransformer:
    """Return the model of a record that has this patch, in float64."""
    sizes = {n: record["settings"][n] for n in ("d_model", "num_heads", "num_layers", "d_ff")}
    made = VisionTransformer(8, patch=patch, num_classes=10, **sizes)
    run = next(run for run in record["runs"] if run["patch"] == patch)
    numbers = torch.from_numpy(np.frombuffer(base64.b64decode(run["weights"]), "<f2").copy())
    parts = numbers.split([math.prod(shape) for _, shape in run["layout"]])
    pairs = zip(run["layout"], parts, strict=True)
    made.load_state_dict({name: part.reshape(shape) for (name, shape), part in pairs})
    return made.double()


@torch.no_grad()
def read(
    record: dict[str, Any], image: int, patch: int, shuffle: int, positions: bool
) -> dict[str, Any]:
    """Return the probabilities, and every row of the class token: [layer][head][token]."""
    seen, pixels = model(record, patch), record["pictures"][image]["pixels"]
    whole = torch.tensor(pixels, dtype=torch.float64).view(1, 1, 8, 8) / 16
    pieces = patchify(whole, patch)
    across = 8 // patch
    moved = pieces[:, order(pieces.shape[1], shuffle)].view(1, across, across, patch, patch)
    if not positions:
        seen.positions.zero_()
    shown = moved.transpose(2, 3).reshape(1, 1, 8, 8)
    rows = [weights[0, :, 0].tolist() for weights in seen.weights(shown)]
    return {"probabilities": seen(shown)[0].softmax(-1).tolist(), "rows": rows}


def cases() -> list[dict[str, Any]]:
    """Both patches, in order and shuffled, with positions and without."""
    record = read_record(RECORD)
    views: list[dict[str, Any]] = [
        {"image": image, "patch": patch, "shuffle": shuffle, "positions": positions}
        for patch in (2, 4)
        for image, shuffle, positions in (
            (0, 0, True),
            (7, 3, True),
            (13, 0, False),
            (13, 5, False),
        )
    ]
    return [{**view, **read(record, **view)} for view in views]
