"""Llama and its descendants: the GPT with other parts.

Source: Touvron et al. 2023, LLaMA: Open and Efficient Foundation Language Models, section 2.2,
    https://arxiv.org/abs/2302.13971; modeling_llama.py of
    https://github.com/huggingface/transformers
Ours / theirs: design = the family, see llama_families.py
Differs: theirs rounds angles and norms to float32, whatever the dtype of the model
Same contract as: LlamaForCausalLM with the base 10000; of other families with their design
"""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from course_utils.models.gpt.gpt import GPT
from course_utils.models.gpt.layer import CausalAttention, Sizes
from course_utils.models.released.families.llama_design import Design, LayerKind
from course_utils.models.released.layers.llama_attention import LlamaAttention
from course_utils.models.released.llama_weights import from_llama, to_llama
from course_utils.validation import check_instance, check_num_heads

__all__ = ["Llama", "from_llama", "to_llama"]


class Llama(GPT):
    """A GPT with RoPE, RMSNorm, gated feed-forward layers and no biases.

    Args:
        num_tokens: Size of the vocabulary.
        d_model: Width of the stream.
        num_heads: Query heads of each layer.
        design: The parts in which a family differs from the first Llama.
        **sizes: All others as GPT takes them; d_ff is about 8/3 · d_model in the source. A window
            is that of every layer.

    Raises:
        ValueError: A window is given where the design has its own.
    """

    def __init__(
        self,
        num_tokens: int,
        *,
        d_model: int,
        num_heads: int,
        design: Design | None = None,
        **sizes: Any,
    ) -> None:
        design = Design() if design is None else design
        check_instance(Design, design=design)
        window = sizes.get("window")
        if window is not None and design.kinds != (LayerKind(),):
            raise ValueError(f"window must be None where the design has its own, got {window}")
        self.design, self.layer = design, design.layer  # GPT's own __init__ asks for them
        check_num_heads(num_heads, d_model if design.d_k is None else num_heads)
        d_k = d_model // num_heads if design.d_k is None else design.d_k
        sizes |= {"d_model": d_model, "num_heads": num_heads, "positions": design.positions(d_k)}
        super().__init__(num_tokens, **sizes)
        if design.embedding is not nn.Embedding:
            self.token = design.embedding(num_tokens, d_model)
        if design.tied:
            self.out.weight = self.token.weight

    def _attention(self, number: int, sizes: Sizes, **given: Any) -> CausalAttention:
        kind = self._kind(number) if self.window is None else LayerKind(self.window)
        made = kind.attention or LlamaAttention
        return made(sizes, design=self.design, kind=kind, **given)

    def _kind(self, number: int) -> LayerKind:
        return self.design.kinds[number % len(self.design.kinds)]

    def _read(self, *where: Any, **how: Any) -> Float[Tensor, "B T num_tokens"]:
        scores, last = super()._read(*where, **how), self.design.last_scores
        return scores if last is None else last(scores)

    def _norm(self, d_model: int) -> nn.Module:
        return self.design.norm(d_model, self.design.eps)

    def _feed_forward(self, number: int, d_model: int, d_ff: int) -> nn.Module:
        return (self._kind(number).feed_forward or self.design.feed_forward)(d_model, d_ff)
