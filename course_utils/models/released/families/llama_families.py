"""Current families of open models, each as the parts in which it differs from the first Llama.

Source: Llama 3: https://arxiv.org/abs/2407.21783;  Mistral 7B: https://arxiv.org/abs/2310.06825;
    Qwen 2: https://arxiv.org/abs/2407.10671;  Qwen 3: https://arxiv.org/abs/2505.09388;
    Gemma 2: https://arxiv.org/abs/2408.00118;  Gemma 3: https://arxiv.org/abs/2503.19786;
    gpt-oss: https://arxiv.org/abs/2508.10925;  OLMo 2: https://arxiv.org/abs/2501.00656;  OLMo 3:
    https://arxiv.org/abs/2512.13961;  SmolLM 3: https://huggingface.co/blog/smollm3;  Phi-3:
    https://arxiv.org/abs/2404.14219
Ours / theirs: kinds = layer_types with sliding_window;  cap = attn_logit_softcapping
Differs: what differs inside a family (head width, scale, window, base) is that of one released
    model or the defaults of its class of configurations, as named below; a config.json brings its
    own, see llama_config.py
Same contract as: the classes ...ForCausalLM of transformers
"""

from dataclasses import replace
from functools import partial

from torch import nn
from torch.nn import functional as F

from course_utils.attention.core.soft_cap import soft_cap
from course_utils.models.released.families.llama_design import Design, LayerKind, no_positions
from course_utils.models.released.families.llama_rope import configured_rope
from course_utils.models.released.layers.clamped_experts import ClampedExperts
from course_utils.models.released.layers.composed_heads import SinkAttention, capped_attention
from course_utils.models.released.layers.gated_layer import GatedLayer
from course_utils.models.released.layers.gemma_parts import (
    CentredNorm,
    SandwichLayer,
    ScaledEmbedding,
)
from course_utils.models.released.layers.norm_after import NormAfterLayer
from course_utils.positions import RotaryPositions

LLAMA_3 = Design(  # Llama 3.1 8B
    eps=1e-5,
    positions=configured_rope(
        {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
         "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    ),
)  # fmt: skip

MISTRAL = Design(eps=1e-5, kinds=(LayerKind(window=4096),))  # Mistral 7B v0.1

QWEN_2 = Design(bias=True, positions=partial(RotaryPositions, base=1e6))  # Qwen 2 7B

QWEN_3 = replace(QWEN_2, bias=False, head_norm=nn.RMSNorm, d_k=128)  # Qwen 3 8B

GEMMA_2 = Design(  # Gemma 2 9B
    d_k=256,
    scale=256**-0.5,
    kinds=(LayerKind(window=4096), LayerKind()),
    norm=CentredNorm,
    layer=SandwichLayer,
    feed_forward=partial(GatedLayer, partial(F.gelu, approximate="tanh")),
    embedding=ScaledEmbedding,
    tied=True,
    attend=partial(capped_attention, cap=50.0),
    last_scores=partial(soft_cap, cap=30.0),
)

GEMMA_3 = replace(  # Gemma 3 1B
    GEMMA_2,
    positions=partial(RotaryPositions, base=1e6),
    kinds=(*[LayerKind(window=512, positions=RotaryPositions)] * 5, LayerKind()),
    head_norm=CentredNorm,
    attend=None,
    last_scores=None,
)

GPT_OSS = Design(  # gpt-oss-20b
    d_k=64,
    eps=1e-5,
    bias=True,
    out_bias=True,
    positions=configured_rope(
        {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0, "beta_fast": 32.0,
         "beta_slow": 1.0, "truncate": False, "original_max_position_embeddings": 4096}
    ),
    kinds=(LayerKind(window=128), LayerKind()),
    attend=SinkAttention,
    feed_forward=partial(ClampedExperts, num_experts=32, per_token=4),
)  # fmt: skip

OLMO_2 = Design(  # Olmo2Config
    eps=1e-5,
    layer=NormAfterLayer,
    head_norm=nn.RMSNorm,
    joint_norm=True,
)

OLMO_3 = replace(  # Olmo3Config
    OLMO_2,
    positions=partial(RotaryPositions, base=500000.0),
    kinds=(*[LayerKind(window=4096)] * 3, LayerKind()),
)

SMOLLM_3 = Design(  # SmolLM3Config
    positions=partial(RotaryPositions, base=2e6),
    kinds=(*[LayerKind()] * 3, LayerKind(positions=no_positions)),
    tied=True,
)

PHI_3 = Design(eps=1e-5)  # Phi3Config

FAMILIES = {
    "llama": LLAMA_3,
    "mistral": MISTRAL,
    "qwen2": QWEN_2,
    "qwen3": QWEN_3,
    "gemma2": GEMMA_2,
    "gemma3_text": GEMMA_3,
    "gpt_oss": GPT_OSS,
    "olmo2": OLMO_2,
    "olmo3": OLMO_3,
    "smollm3": SMOLLM_3,
    "phi3": PHI_3,
}
"""By the `model_type` of a config.json; families whose layers are of other kinds (latent attention,
states, two widths of heads) have no entry here but a reader each, see llama_config.py."""
