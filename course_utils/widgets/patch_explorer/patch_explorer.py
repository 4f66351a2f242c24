"""The picture of chapter 14: a digit in patches, and what the class token reads."""

from collections.abc import Mapping
from typing import Any

import traitlets

from course_utils.widgets.traits import CourseWidget, Flag, Items, Whole


class PatchExplorer(CourseWidget, page="patch_explorer"):
    """The widget that ``patch_explorer`` makes; its traits follow the controls."""

    images = Items(help="For each image its label, and 64 pixels from 0 to 16.")
    models = Items(help="For each model its patch, and its weights in base64 with their layout.")
    layers = Whole(0, help="Layers of each model.")
    heads = Whole(0, help="Heads of each layer.")
    image = Whole(0, 0, lambda self: len(self.images) - 1, help="Which of the images, from 0.")
    patch = Whole(0, help="Side of a patch.")
    layer = Whole(1, 1, lambda self: self.layers, help="The layer that is looked at, from 1.")
    head = Whole(1, 1, lambda self: self.heads, help="The head that is looked at, from 1.")
    positions = Flag(True, help="Whether the positions are added.")
    shuffle = Whole(0, 0, 99, help="The number of an order of the patches; 0: as they stand.")

    @traitlets.validate("patch")
    def _known(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        known = [one["patch"] for one in self.models]
        if value not in known:
            raise ValueError(f"patch must be one of {', '.join(map(str, known))}, got {value}")
        return value

    def __repr__(self) -> str:
        return (
            f"PatchExplorer(a {self.images[self.image]['label']}, patch={self.patch}, "
            f"layer={self.layer}, head={self.head}, positions={self.positions}, "
            f"shuffle={self.shuffle})"
        )


def patch_explorer(
    record: Mapping[str, Any], *, positions: bool = True, **settings: int
) -> PatchExplorer:
    """Show an image in patches, the tokens they make, and where a head's class token looks.

    Args:
        record: As ``course_utils.measure.read_record("chapter_14_explorer")`` returns it: pictures,
            and runs that carry the weights of a model.
        positions: Whether the positions are added to the tokens at first.
        **settings: Other traits: image, patch, layer, head, shuffle.
    """
    known = {"image", "patch", "layer", "head", "shuffle"}
    if unknown := sorted(settings.keys() - known):
        raise TypeError(f"settings must be among {', '.join(sorted(known))}, got {unknown[0]!r}")
    sizes = record["settings"]
    kept = ("patch", "layout", "weights")
    return PatchExplorer(
        images=record["pictures"],
        models=[{name: run[name] for name in kept} for run in record["runs"]],
        layers=sizes["num_layers"],
        heads=sizes["num_heads"],
        positions=positions,
        **{"patch": record["runs"][0]["patch"]} | settings,
    )
