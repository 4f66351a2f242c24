"""The picture of chapter 12: what a model and one step of its training cost, by part."""

from typing import Any

import traitlets

from course_utils.plain_validation import check_instance
from course_utils.widgets.traits import Choice, CourseWidget, Flag

_POWERS = [2**power for power in range(18)]
_HEADS = [1, 2, 4, 6, 8, 12, 16, 20, 25, 32, 40, 64, 96, 128]
CHOICES: dict[str, list[float]] = {
    "d_model": [64, 128, 256, 512, 768, 1024, 1600, 2048, 4096, 5120, 8192, 12288, 16384],
    "num_layers": [1, 2, 4, 6, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 126],
    "num_heads": [*_HEADS],
    "num_kv_heads": [*_HEADS],
    "d_ff": [256, 512, 1024, 2048, 3072, 4096, 6400, 8192, 11008, 14336, 28672, 49152, 53248],
    "vocab_size": [96, 512, 4096, 30522, 32000, 50257, 128256, 256000],
    "num_positions": [0, 128, 512, 514, 1024, 2048],
    "num_tokens": [*_POWERS[5:]],
    "batch": [*_POWERS[:12]],
    "trained": [0.0006, 0.01, 0.1, 0.5, 1],
    "train_tokens": [1e9, 1e10, 3e10, 1e11, 3e11, 1e12, 2e12, 5e12, 1.5e13],
    "petaflops": [0.01, 0.1, 0.4, 1, 4, 10, 40, 100, 400, 1000, 4000],
}
"""The places of each slider."""

SHAPE = (
    "vocab_size", "d_model", "num_layers", "d_ff", "num_heads", "num_kv_heads",
    "num_positions", "form", "num_tokens",
)  # fmt: skip
_SHAPES: dict[str, tuple[Any, ...]] = {
    "GPT-2": (50257, 768, 12, 3072, 12, 12, 1024, "gpt", 1024),
    "GPT-2 XL": (50257, 1600, 48, 6400, 25, 25, 1024, "gpt", 1024),
    "GPT-3": (50257, 12288, 96, 49152, 96, 96, 2048, "gpt", 2048),
    "BERT-base": (30522, 768, 12, 3072, 12, 12, 514, "gpt", 512),
    "BERT-large": (30522, 1024, 24, 4096, 16, 16, 514, "gpt", 512),
    "Llama 7B": (32000, 4096, 32, 11008, 32, 32, 0, "llama", 2048),
    "Llama 2 70B": (32000, 8192, 80, 28672, 64, 8, 0, "llama", 4096),
    "Llama 3 8B": (128256, 4096, 32, 14336, 32, 8, 0, "llama", 8192),
    "Llama 3.1 405B": (128256, 16384, 126, 53248, 128, 8, 0, "llama", 8192),
}
PRESETS = {name: dict(zip(SHAPE, shape, strict=True)) for name, shape in _SHAPES.items()}
"""Published shapes, and the length each was trained at; BERT without its pooler."""

VIEWS = ("parameters", "operations", "bytes")


class CostExplorer(CourseWidget, page="cost_explorer"):
    """The widget that ``cost_explorer`` makes; its traits follow the controls."""

    choices = traitlets.Dict(CHOICES, help="The places of each slider.")
    presets = traitlets.Dict(PRESETS, help="Published shapes by name.")
    vocab_size = traitlets.Int(50257, help="Tokens known.")
    d_model = traitlets.Int(768, help="Width of the stream.")
    num_layers = traitlets.Int(12, help="Layers.")
    d_ff = traitlets.Int(3072, help="Width inside the feed-forward part.")
    num_heads = traitlets.Int(12, help="Query heads.")
    num_kv_heads = traitlets.Int(12, help="Heads of keys and values.")
    num_positions = traitlets.Int(1024, help="Learned positions; 0 for none.")
    form = Choice(("gpt", "llama"), "gpt", help="Biases and tied, or gated.")
    num_tokens = traitlets.Int(1024, help="Length of a text in a step.")
    batch = traitlets.Int(8, help="Texts in a step.")
    mixed = Flag(False, help="Whether 16 bits are used where they can be.")
    optimizer = Choice(("sgd", "momentum", "adam"), "adam", help="Its states.")
    trained = traitlets.Float(1.0, help="Share of the parameters that is trained.")
    recompute = Flag(False, help="Whether layers are recomputed in the backward pass.")
    train_tokens = traitlets.Float(3e11, help="Tokens of the whole training.")
    petaflops = traitlets.Float(100.0, help="10^15 operations per second, sustained.")
    view = Choice(VIEWS, "bytes", help="What the table shows by part.")

    @traitlets.validate(*CHOICES)
    def _listed(self, proposal: dict[str, Any]) -> float:
        name, value = proposal["trait"].name, proposal["value"]
        if value not in CHOICES[name]:
            listed = ", ".join(f"{place:g}" for place in CHOICES[name])
            raise ValueError(f"{name} must be one of {listed}, got {value:g}")
        return float(value) if isinstance(value, float) else int(value)

    def __repr__(self) -> str:
        return f"CostExplorer(width {self.d_model}, {self.num_layers} layers, {self.view})"


def cost_explorer(preset: str = "GPT-2", **settings: Any) -> CostExplorer:
    """Show what a model and one step of its training cost: parameters, operations, bytes.

    Args:
        preset: A model of ``PRESETS`` to begin with.
        **settings: Other traits to begin with, for example ``batch``, ``mixed`` or ``view``.
    """
    check_instance(str, preset=preset)
    if preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    allowed = {*CHOICES, "form", "mixed", "optimizer", "recompute", "view"}
    if unknown := sorted(set(settings) - allowed):
        raise TypeError(
            f"settings must be among {', '.join(sorted(allowed))}, got {', '.join(unknown)}"
        )
    shape: dict[str, Any] = PRESETS[preset]
    return CostExplorer(**shape | settings)
