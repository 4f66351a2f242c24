"""A layer that normalises what its parts return, not what they are given, as in OLMo 2.

Source: OLMo Team 2024, 2 OLMo 2 Furious, https://arxiv.org/abs/2501.00656
Ours / theirs: attention_norm, feed_forward_norm = post_attention_layernorm,
    post_feedforward_layernorm
Same contract as: Olmo2DecoderLayer of transformers
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.models.gpt.layer import GPTLayer


class NormAfterLayer(GPTLayer):
    """A layer whose two parts read the stream as it is; what they return is normalised and added.

    Arguments are those of `GPTLayer`.
    """

    def forward(
        self, x: Float[Tensor, "B T d_model"], *where: object
    ) -> Float[Tensor, "B T d_model"]:
        """Return the stream after the layer; `where` is passed on to the attention."""
        x = x + self.attention_norm(self.attention(x, *where))
        return x + self.feed_forward_norm(self.feed_forward(x))
