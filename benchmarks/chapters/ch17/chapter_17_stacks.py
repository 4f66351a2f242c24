"""Write down what each layer of published stacks is, from configurations in `transformers`.

Where the library's default is not the published model, or the library lacks it, the model's own
configuration was read, and the source says so. Nothing is downloaded:

    python -m benchmarks.chapters.ch17.chapter_17_stacks
"""

from collections import Counter

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from benchmarks.recording import Row, Script

FULL, DELTA, MAMBA = "full attention", "gated delta rule", "Mamba"
NAMED = {
    "gemma2": ("Gemma 2 2B", {"sliding_attention": "window of 4,096"}),
    "gemma3_text": ("Gemma 3 1B", {"sliding_attention": "window"}),
    "gpt_oss": ("gpt-oss 120B", {"sliding_attention": "window of 128"}),
    "olmo3": ("Olmo 3 7B", {"sliding_attention": "window of 4,096"}),
    "recurrent_gemma": (
        "RecurrentGemma 2B",
        {"linear_attention": "RG-LRU", "sliding_attention": "window of 2,048"},
    ),
    "jamba": ("Jamba v0.1", {"linear_attention": MAMBA}),
    "zamba": (
        "Zamba 7B",
        {"linear_attention": MAMBA, "hybrid": "Mamba and one shared attention block"},
    ),
    "falcon_h1": ("Falcon-H1 (default)", {"hybrid": "attention and Mamba-2 side by side"}),
    "qwen3_next": ("Qwen3-Next 80B", {"linear_attention": DELTA, "full_attention": "gated full"}),
    "olmo_hybrid": ("Olmo Hybrid 7B", {"linear_attention": DELTA}),
    "deepseek_v32": ("DeepSeek-V3.2", {"indexed_attention": "attention to selected tokens"}),
}
READ = (
    ("MiniMax-Text-01", [*["lightning attention"] * 7, FULL] * 10, "its config.json"),
    (
        "Nemotron-H 8B",
        [
            {"M": "Mamba-2", "*": FULL, "-": "feed-forward"}[sign]
            for sign in "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
        ],
        "its configuration's default",
    ),
    ("Bamba 9B", [FULL if at in (9, 18, 27) else "Mamba-2" for at in range(32)], "its config.json"),
)


def stack(model: str, layers: list[str], source: str) -> Row:
    """Return one line of the record: the layers of each kind, and where the full ones stand."""
    full = [place for place, layer in enumerate(layers, 1) if layer.endswith(("full", FULL))]
    counts = dict(Counter(layers))
    return {
        "model": model, "layers": len(layers), "counts": counts, "full": full, "source": source
    }  # fmt: skip


def main() -> None:
    """Read every configuration."""
    script = Script(__file__, __doc__)
    runs = []
    for kind, (model, words) in NAMED.items():
        layers = [
            {"full_attention": FULL, **words}[one] for one in CONFIG_MAPPING[kind]().layer_types
        ]
        runs.append(stack(model, layers, f"transformers, {kind}"))
    script.record(
        what="what each layer of published stacks is",
        settings={},
        versions={"transformers": transformers.__version__},
        runs=[*runs, *(stack(*one) for one in READ)],
    )


if __name__ == "__main__":
    main()
