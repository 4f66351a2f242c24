"""Calls of what reads images."""

from call_table import Call, floats

from course_utils import models

SIZES = {"image_size": 4, "patch": 2, "num_classes": 3, "d_model": 8, "num_heads": 2}


def vit() -> models.VisionTransformer:
    return models.VisionTransformer(**SIZES, num_layers=1)


CALLS = (
    Call(models.VisionTransformer, lambda: SIZES | {"num_layers": 1}),
    *(
        Call(read, lambda: {"self": vit(), "images": floats(2, 1, 4, 4)})
        for read in (
            models.VisionTransformer.forward,
            models.VisionTransformer.tokens,
            models.VisionTransformer.states,
            models.VisionTransformer.weights,
        )
    ),
)
