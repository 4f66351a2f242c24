"""Exercise: from a model's configuration to the bytes of its cache per token, and each layer's reach."""

from typing import Any

from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.counts import SIZE
from course_utils.measure import cache_plan

RIGHT = """
def cache_plan(config, bytes_per_element=2):
    family = config["model_type"]
    layers = range(config["num_hidden_layers"])
    heads = config["num_attention_heads"]
    shared = config.get("num_key_value_heads")
    kv_heads = heads if shared is None else shared
    split = config["hidden_size"] // heads
    own = {"qwen3": 128, "gemma3_text": 256, "gpt_oss": 64}.get(family)
    stated = config.get("head_dim", own)
    width = split if stated is None else stated
    kept = 2
    plain = kept * kv_heads * width
    is_latent = family == "deepseek_v3"
    latent = config.get("kv_lora_rank", 0) + config.get("qk_rope_head_dim", 0)
    numbers = latent if is_latent else plain
    window = config.get("sliding_window")
    has_windows = config.get("use_sliding_window", False)
    first = config.get("max_window_layers", 28)
    every = config.get("sliding_window_pattern", 6)
    late = [has_windows and at >= first for at in layers]
    most = [(at + 1) % every != 0 for at in layers]
    turns = [at % 2 == 0 for at in layers]
    none = [False for at in layers]
    implied = {"qwen3": late, "gemma3_text": most, "gpt_oss": turns}.get(family, none)
    kinds = config.get("layer_types")
    near = [one == "sliding_attention" for one in kinds] if kinds else implied
    reach = [window if one else None for one in near]
    growing = near.count(False)
    size = bytes_per_element
    total = growing * numbers * size
    return total, reach
"""

_FULL, _NEAR = "full_attention", "sliding_attention"
_SIZES = {"hidden_size": 840, "num_attention_heads": 12, "num_key_value_heads": 4, "num_hidden_layers": 7}
_LATENT = {
    "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
}  # fmt: skip


def _model(name: str, family: str, *without: str, size: int | None = None, **fields: Any) -> Case:
    """Return a case of one configuration: sizes that all have, without some of them, and more fields."""
    more = () if size is None else (size,)
    config = {"model_type": family, **_SIZES, "max_position_embeddings": 40960, **fields}
    return case(name, lambda generator: ({k: v for k, v in config.items() if k not in without}, *more))


EXERCISE = exercise(
    cache_plan,
    right=RIGHT,
    asks="Read from a configuration by how many bytes the cache grows with each token, and what each layer sees.",
    minutes=15,
    difficulty=3,
    importance=4,
    parts=("bytes_per_token", "reach"),
    cases=(
        _model("Llama, fewer heads of keys and values", "llama", num_key_value_heads=3, num_hidden_layers=5),
        _model("Llama without num_key_value_heads", "llama", "num_key_value_heads"),
        _model("Llama, num_key_value_heads and head_dim are null", "llama", num_key_value_heads=None, head_dim=None),
        _model("Llama with a head_dim of its own", "llama", head_dim=96),
        _model("Llama with a window that its layers do not use", "llama", sliding_window=4096),
        _model("Llama with the switch of another family", "llama", use_sliding_window=True, sliding_window=4096,
               max_window_layers=2),
        _model("numbers of one byte", "llama", size=1),
        _model("numbers of 4 bytes", "llama", size=4),
        _model("Qwen 3 without head_dim", "qwen3", sliding_window=None),
        _model("Qwen 3 with head_dim", "qwen3", head_dim=80, num_hidden_layers=9),
        _model("Qwen 3, windows switched off", "qwen3", use_sliding_window=False, sliding_window=4096,
               max_window_layers=3),
        _model("Qwen 3, windows left unsaid", "qwen3", sliding_window=4096, max_window_layers=5),
        _model("Qwen 3, windows from layer 3 on", "qwen3", use_sliding_window=True, sliding_window=4096,
               max_window_layers=3),
        _model("Qwen 3, 30 layers, max_window_layers left out", "qwen3", use_sliding_window=True,
               sliding_window=2048, num_hidden_layers=30),
        _model("Gemma 3 without layer_types and head_dim", "gemma3_text", sliding_window=512, num_hidden_layers=14),
        _model("Gemma 3, 26 layers, wide heads", "gemma3_text", sliding_window=1024, num_hidden_layers=26,
               head_dim=320, num_key_value_heads=1),
        _model("Gemma 3, one layer in 4 is full", "gemma3_text", sliding_window=512, sliding_window_pattern=4,
               num_hidden_layers=10),
        _model("Gemma 3 with layer_types", "gemma3_text", sliding_window=512, num_hidden_layers=5,
               layer_types=[_FULL, _FULL, _NEAR, _FULL, _NEAR]),
        _model("gpt-oss without layer_types", "gpt_oss", "head_dim", sliding_window=128, num_hidden_layers=9),
        _model("gpt-oss with everything", "gpt_oss", sliding_window=128, head_dim=64, num_hidden_layers=4,
               layer_types=[_FULL, _NEAR, _NEAR, _NEAR]),
        _model("layer_types is null", "gpt_oss", sliding_window=96, layer_types=None, head_dim=48),
        _model("every layer has a window", "gpt_oss", sliding_window=256, num_hidden_layers=3,
               layer_types=[_NEAR] * 3),
        _model("DeepSeek V3", "deepseek_v3", num_hidden_layers=61, num_key_value_heads=12, **_LATENT),
        _model("DeepSeek V3, another rank", "deepseek_v3", **(_LATENT | {"kv_lora_rank": 200, "qk_rope_head_dim": 24})),
    ),
    mistakes=(
        *SIZE,
        mistake("keys and values counted once", "The bytes of a token are half of what they should be. Two things are "
                "kept of every token: which?", "kept = 1"),
        mistake("queries kept too", "The bytes of a token are too many by those of its queries. Who reads an old query "
                "again?", "plain = (kept * kv_heads + heads) * width"),
        mistake("another unit", "The bytes were divided into kilobytes or megabytes, or counted for a whole text. "
                "Plain bytes of one token are asked for.", "return total // 1024, reach", "return total // 1000, reach",
                "return total // 2**20, reach",
                'return total * config.get("max_position_embeddings", 1), reach'),
        mistake("query heads counted", "The cache was given a key for each query head. Which field says how many heads "
                "of keys and values there are, and what if it is missing?", "kv_heads = heads",
                'kv_heads = config["num_attention_heads"]'),
        mistake("missing heads taken for a number", "Where `num_key_value_heads` is left out, a number was made up. A "
                "file from before shared heads has none: how many keys did its layers keep?",
                *(f"kv_heads = {number} if shared is None else shared" for number in (1, 2, 8))),
        mistake("the width always split from the stream", "The width of a head was taken from the stream, also where "
                "the file states another. What does `head_dim` say?", "width = split"),
        mistake("the family's own width forgotten", "Where `head_dim` is left out, the stream was divided among the "
                "heads. That is Llama's default: what is the default of the other families?",
                'stated = config.get("head_dim")', "own = None"),
        mistake("one default width for all families", "Where `head_dim` is left out, every family got the same width. "
                "Each configuration class has its own default, and one divides the stream.",
                *(f"own = {number}" for number in (64, 80, 128, 256))),
        mistake("a fixed width for Llama", "Where `head_dim` is left out, Llama's heads got a width that is another "
                "family's. In Llama the heads share the stream: how wide is each?", "split = 64", "split = 128",
                "split = 256"),
        mistake("the stream divided among the shared heads", "The stream was divided by the number of heads of keys "
                "and values. Which heads, laid side by side, are as wide as the stream?",
                'split = config["hidden_size"] // kv_heads'),
        mistake("the file's width not read", "The family's default stands where the file has a `head_dim`. Which of "
                "the two comes first?", "stated = own", 'stated = own or config.get("head_dim")'),
        mistake("latent attention overlooked", "This family keeps no keys and values of heads. Which two fields say "
                "how wide the one vector is that all heads share?", "numbers = plain"),
        mistake("the latent counted twice", "The vector of latent attention was counted as a key and as a value. Keys "
                "and values are both made from it: how often is it kept?",
                "numbers = 2 * latent if is_latent else plain"),
        mistake("the latent counted per head", "Each head was given a latent vector of its own. How many does a layer "
                "of latent attention keep?", "numbers = heads * latent if is_latent else plain",
                "numbers = kv_heads * latent if is_latent else plain",
                'turned = config.get("qk_rope_head_dim", 0)\n'
                "numbers = latent + (heads - 1) * turned if is_latent else plain"),
        mistake("the rotated part left out", "Latent attention keeps more than the compressed vector: RoPE cannot be "
                "applied to it. What is kept beside it?", 'latent = config.get("kv_lora_rank", 0)'),
        mistake("the rotated part counted with the width of a head", "The part that is kept beside the latent vector "
                "is as wide as what is rotated. Which field is that?",
                'latent = config.get("kv_lora_rank", 0) + config.get("qk_nope_head_dim", 0)',
                'latent = config.get("kv_lora_rank", 0) + config.get("v_head_dim", 0)'),
        mistake("what is made from the latent", "Keys and values of all heads were counted. They are made again from "
                "the latent vector whenever they are read: what is kept?",
                'made = [config.get(f"{one}_head_dim", 0) for one in ("qk_nope", "qk_rope", "v")]\n'
                "numbers = kv_heads * sum(made) if is_latent else plain"),
        mistake("the rank of the queries", "Queries are compressed too, but nothing of them is kept. Whose rank "
                "counts?", 'latent = config.get("q_lora_rank", 0) + config.get("qk_rope_head_dim", 0)',
                'latent = config.get("kv_lora_rank", 0) + config.get("q_lora_rank", 0)'),
        mistake("windows that are switched off", "The file has a window, and says elsewhere that it is not used, or "
                "does not say that it is. Which field switches it on?", "has_windows = True",
                "has_windows = window is not None", 'has_windows = config.get("use_sliding_window", True)'),
        mistake("windows in the first layers", "The first layers got the window, the later ones none. Does "
                "`max_window_layers` say where windows end, or where they begin?",
                "late = [has_windows and at < first for at in layers]"),
        mistake("windows from the wrong layer on", "The windows begin a layer too late or too early. Layers are "
                "counted from 0: is the layer with the number `max_window_layers` the first that has one?",
                "late = [has_windows and at > first for at in layers]",
                "late = [has_windows and at >= first - 1 for at in layers]"),
        mistake("max_window_layers not read", "Every layer got the window, or the windows begin where the default "
                "says. From which layer on does this file have them?", "late = [has_windows for at in layers]",
                "first = 28", "first = 0"),
        mistake("the pattern begins with the full layer", "The full layers are one place too early. Counted from 1, "
                "which layers are full: the first of each group, or the last?",
                "most = [at % every != 0 for at in layers]\nturns = [at % 2 == 1 for at in layers]",
                "most = [at % every != 0 for at in layers]", "turns = [at % 2 == 1 for at in layers]"),
        mistake("one layer of the group has the window", "Near and far layers are exchanged: one in so many is full, "
                "and all others have the window.", "most = [(at + 1) % every == 0 for at in layers]"),
        mistake("the length of the pattern not read", "The full layers come every sixth time, or every other. How "
                "often does the file say, if it says it?", "every = 6", "every = 2",
                "most = [at % every != 5 for at in layers]"),
        mistake("one full layer in all", "Only the last layer came out full. A full layer ends each group, not only "
                "the stack: how many groups are there?", "most = [at != len(layers) - 1 for at in layers]"),
        mistake("layer_types not read", "The file lists the kind of each layer. A rule of the family is only for files "
                "that do not.", "near = implied"),
        mistake("no list, no windows", "Without `layer_types` every layer was taken for full. Some families have a "
                "rule for such files: which layers of Gemma 3 and gpt-oss have a window?", "implied = none",
                "most = [False for at in layers]", "turns = [False for at in layers]"),
        mistake("every layer has the window", "All layers got the window because the file has one. Which of them use "
                "it?",
                "near = [window is not None for at in layers]", "most = [True for at in layers]",
                "turns = [True for at in layers]"),
        mistake("layers with a window counted too", "All layers were counted. Behind a full window, what does one more "
                "token add to such a layer, and what does it drop?", "growing = len(near)",
                'growing = config["num_hidden_layers"]'),
        mistake("what the windows hold counted too", "The cache of the layers with a window was added whole. It is "
                "there, but does one more token make it larger?",
                "total = (growing + near.count(True) * (window or 0)) * numbers * size"),
        mistake("layers with a window counted alone", "The layers that were counted are those whose cache stops "
                "growing. Which are the others?", "growing = near.count(True)"),
        mistake("the layers left out", "These are the bytes of one layer. How many layers keep the token?",
                "growing = 1", "growing = min(near.count(False), 1)"),
        mistake("the own token counted apart", "The window is one too wide or too narrow. `sliding_window` is how many "
                "tokens are seen: is the query's own among them?",
                "reach = [window - 1 if one else None for one in near]",
                "reach = [window + 1 if one else None for one in near]"),
        mistake("a number for no limit", "A layer that sees every earlier token has a number as its reach. The longest "
                "text that a model is meant for is no window: `None` says that there is none.",
                'reach = [window if one else config.get("max_position_embeddings") for one in near]',
                "reach = [window if one else 0 for one in near]", "reach = [window if one else -1 for one in near]",
                "reach = [window if one else math.inf for one in near]"),
        mistake("near and far exchanged", "Layers with a window came out without one, and the others with it. Which "
                "kind has the `sliding_window`?", "reach = [None if one else window for one in near]"),
        mistake("the window of layers without one", "A layer without a window got the file's `sliding_window` as its "
                "reach. For which layers does that field speak?", "reach = [window for one in near]"),
        mistake("one reach for the model", "One reach came back, or one for each kind. Layers differ: return a list "
                "with an entry for each layer, in order.", "return total, window", "return total, sorted({*near})",
                "return total, reach[:1]", "return total, list(dict.fromkeys(reach))"),
        mistake("the list turned round", "The list begins with the last layer. Which is the first layer: the one that "
                "reads the embedding, or the one before the output?", "return total, reach[::-1]"),
        mistake("the two results exchanged", "First the bytes, then the list of reaches: the two came the other way "
                "round.", "return reach, total"),
        mistake("one of two results", "Only one of the two results came back. Return the bytes and the list of "
                "reaches.", "return total", "return reach"),
    ),
    hints=(
        "Three questions: which layers keep every token, how many numbers such a layer keeps of one, and how many "
        "bytes a number takes. Their product is the first result.",
        "The kinds of layers: the list of the file if there is one, else the rule of the family. A layer with a window "
        "does not grow.",
        "The numbers: a key and a value for each head of keys and values. `config.get(name, default)` gives the "
        "family's default where a field is missing. In DeepSeek V3 it is one vector, from two fields.",
    ),
)  # fmt: skip
