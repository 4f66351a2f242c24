"""The picture of chapter 14: a digit in patches, and what the class token reads."""

from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from course_utils.plain_validation import check_instance, check_int
from course_utils.widgets._assets import module, style


class PatchExplorer(anywidget.AnyWidget):
    """The widget that ``patch_explorer`` makes; its traits follow the controls."""

    _esm = module("patch_explorer.js")
    _css = style("patch_explorer.css")

    images: "traitlets.List[dict[str, Any]]" = traitlets.List(
        help="For each image its label, and 64 pixels from 0 to 16."
    ).tag(sync=True)
    models: "traitlets.List[dict[str, Any]]" = traitlets.List(
        help="For each model its patch, and its weights: base64 of float16, with their layout."
    ).tag(sync=True)
    layers = traitlets.Int(help="Layers of each model.").tag(sync=True)
    heads = traitlets.Int(help="Heads of each layer.").tag(sync=True)
    image = traitlets.Int(0, help="Which of the images, from 0.").tag(sync=True)
    patch = traitlets.Int(help="Side of a patch.").tag(sync=True)
    layer = traitlets.Int(1, help="The layer that is looked at, from 1.").tag(sync=True)
    head = traitlets.Int(1, help="The head that is looked at, from 1.").tag(sync=True)
    positions = traitlets.Bool(True, help="Whether the positions are added.").tag(sync=True)
    shuffle = traitlets.Int(0, help="The number of an order of the patches; 0: as they stand.").tag(
        sync=True
    )

    @traitlets.validate("image", "layer", "head", "shuffle")
    def _inside(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, int(proposal["value"])
        ranges = {
            "image": (0, len(self.images) - 1),
            "layer": (1, self.layers),
            "head": (1, self.heads),
            "shuffle": (0, 99),
        }
        low, high = ranges[name]
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low} to {high}, got {value}")
        return value

    @traitlets.validate("patch")
    def _known(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        known = [one["patch"] for one in self.models]
        if value not in known:
            raise ValueError(f"patch must be one of {', '.join(map(str, known))}, got {value}")
        return value

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
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

    Raises:
        TypeError: A setting has an unknown name or is not an int, or `positions` is not a bool.
        ValueError: A setting is out of its range.
    """
    check_instance(bool, positions=positions)
    known = {"image", "patch", "layer", "head", "shuffle"}
    if unknown := sorted(settings.keys() - known):
        raise TypeError(f"settings must be among {', '.join(sorted(known))}, got {unknown[0]!r}")
    check_int(**settings)
    sizes = record["settings"]
    kept = ("patch", "layout", "weights")
    widget = PatchExplorer(
        images=record["pictures"],
        models=[{name: run[name] for name in kept} for run in record["runs"]],
        layers=sizes["num_layers"],
        heads=sizes["num_heads"],
        positions=positions,
    )
    for name, value in ({"patch": record["runs"][0]["patch"]} | settings).items():
        widget.set_trait(name, value)
    return widget
