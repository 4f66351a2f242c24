"""One attention layer over words, or over the states of an LSTM that has read them.

Source: Jain and Wallace 2019, Attention is not Explanation, section 3, https://arxiv.org/abs/1902.10186
Ours / theirs: vectors = h;  weights = α;  the score is additive, as in Bahdanau et al. 2015
"""

from typing import cast

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_utils.attention import masked_softmax
from course_utils.data.two_languages import LANGUAGES, vocabulary
from course_utils.models.tokens import embedded
from course_utils.validation import check_instance

WIDTH = 48


class PooledClassifier(nn.Module):
    """A weighted average of words or states, and a linear layer that classifies it.

    Args:
        encoder: "words" weights each word by itself; "lstm" weights the states of an LSTM that
            reads in both directions, so that each state depends on all words.
    """

    def __init__(self, encoder: str) -> None:
        super().__init__()
        check_instance(str, encoder=encoder)
        if encoder not in ("words", "lstm"):
            raise ValueError(f'encoder must be "words" or "lstm", got {encoder!r}')
        self.token = nn.Embedding(len(vocabulary()[0]), WIDTH)
        self.lstm = None
        self.project = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())
        if encoder == "lstm":
            self.lstm = nn.LSTM(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)
        self.score = nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1, bias=False)
        )
        self.out = nn.Linear(WIDTH, len(LANGUAGES))

    def embed(self, tokens: Int[Tensor, "B S"]) -> Float[Tensor, "B S d"]:
        """Return the vector of each word: what `encode` takes."""
        return embedded(self.token, tokens)

    def encode(
        self, words: Float[Tensor, "B S d"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S d"]:
        """Return what is averaged; a hidden word is invisible to an LSTM too."""
        if self.lstm is None:
            return self.project(words)
        return self.lstm(words * mask[..., None])[0]

    def weights(
        self, vectors: Float[Tensor, "B S d"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S"]:
        """Return the weight of each vector; hidden ones have none."""
        return masked_softmax(cast(Tensor, self.score(vectors))[..., 0], mask)

    def classify(
        self, weights: Float[Tensor, "B S"], vectors: Float[Tensor, "B S d"]
    ) -> Float[Tensor, "B classes"]:
        """Return the score of each language for these weights, wherever they come from."""
        return self.out((weights[:, None] @ vectors)[:, 0])

    def forward(
        self, tokens: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B classes"]:
        """Return the score of each language.

        Args:
            tokens: Documents.
            mask: True where a word is real.
        """
        vectors = self.encode(self.embed(tokens), mask)
        return self.classify(self.weights(vectors, mask), vectors)
