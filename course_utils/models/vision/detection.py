"""A small DETR: five object queries find one to three digits on a canvas.

Source: Carion et al. 2020, End-to-End Object Detection with Transformers (DETR),
    https://arxiv.org/abs/2005.12872
Differs: a centre and no box, one head, two layers that read the image and no encoder, a stem of
    four convolutions, losses at the last layer alone
"""

from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import attention_weights
from course_utils.attention.vision.object_queries import object_query_attention
from course_utils.data.digit_scenes import Scenes
from course_utils.models.vision.matching import match_queries

QUERIES, WIDTH, GRID = 5, 64, 6
NOTHING = 10
FAR, RARE = 5.0, 0.2  # weight of a distance, and of a query that finds nothing


class ReadingLayer(nn.Module):
    """Self-attention among the queries, cross-attention to the image, then a feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.talk = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        shape = (3, WIDTH, WIDTH)
        self.W = nn.Parameter(torch.randn(shape) / WIDTH**0.5)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(
        self,
        x: Float[Tensor, "B Q d"],
        query_position: Float[Tensor, "Q d"],
        memory: Float[Tensor, "B S d"],
        memory_position: Float[Tensor, "S d"],
    ) -> Float[Tensor, "B Q d"]:
        """Return what each query holds after the layer."""
        normed = self.norms[0](x)
        asks = normed + query_position
        x = x + self.talk(asks, asks, normed, need_weights=False)[0]
        places = query_position, memory, memory_position
        x = x + self.out(object_query_attention(self.norms[1](x), *places, *self.W))
        return x + self.feed_forward(self.norms[2](x))


class Detector(nn.Module):
    """Canvases in; out, for each query, the scores of ten digits and "nothing", and a centre.

    Args:
        alike: Whether all queries begin the same, and stay so.
    """

    def __init__(self, *, alike: bool = False) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1, stride=2), nn.ReLU(),
            nn.Conv2d(32, WIDTH, 3, padding=1), nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1, stride=2),
        )  # fmt: skip
        self.memory_norm = nn.LayerNorm(WIDTH)
        self.memory_position = nn.Parameter(torch.randn(GRID * GRID, WIDTH) * 0.3)
        self.query_position = nn.Parameter(torch.randn(1 if alike else QUERIES, WIDTH))
        self.layers = nn.ModuleList(ReadingLayer() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)
        self.digit = nn.Linear(WIDTH, NOTHING + 1)
        self.centre = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2))

    def forward(
        self, images: Float[Tensor, "B 1 h w"]
    ) -> tuple[Float[Tensor, "B Q 11"], Float[Tensor, "B Q 2"]]:
        """Return each query's scores, and its centre as shares of the canvas."""
        x = self.states(images)[-1]
        return self.digit(x), self.centre(x).sigmoid()

    def states(self, images: Float[Tensor, "B 1 h w"]) -> list[Float[Tensor, "B Q d"]]:
        """Return what the queries hold before each layer, and normed after the last."""
        memory, x = self.memory(images), images.new_zeros(len(images), QUERIES, WIDTH)
        states = [x]
        for layer in self.layers:
            states.append(layer(states[-1], self.queries(), memory, self.memory_position))
        return [*states[:-1], self.norm(states[-1])]

    def memory(self, images: Float[Tensor, "B 1 h w"]) -> Float[Tensor, "B S d"]:
        """Return the image as a sequence of 36 tokens."""
        return self.memory_norm(self.stem(images).flatten(2).mT)

    def queries(self) -> Float[Tensor, "Q d"]:
        """Return the object queries."""
        return self.query_position.expand(QUERIES, -1)

    @torch.no_grad()
    def weights(self, images: Float[Tensor, "B 1 h w"]) -> Float[Tensor, "B Q 6 6"]:
        """Return where on the canvas each query attends in the last layer."""
        last = cast(ReadingLayer, self.layers[-1])
        x, memory = self.states(images)[-2], self.memory(images)
        normed = last.norms[0](x)
        asks = normed + self.queries()
        x = x + last.talk(asks, asks, normed, need_weights=False)[0]
        query = (last.norms[1](x) + self.queries()) @ last.W[0]
        key = (memory + self.memory_position) @ last.W[1]
        return attention_weights(query, key).unflatten(-1, (GRID, GRID))


def matched(
    scores: Float[Tensor, "B Q 11"], centres: Float[Tensor, "B Q 2"], scenes: Scenes, how: str
) -> Int[Tensor, "B 3"]:
    """Return the query that each digit gets; the columns of digits that are not there cost nothing.

    Args:
        scores: As the detector gives them.
        centres: As the detector gives them.
        scenes: What stands on the canvases.
        how: "optimal", or "cheapest": each digit takes its cheapest query.
    """
    if how not in ("optimal", "cheapest"):
        raise ValueError(f'how must be "optimal" or "cheapest", got {how!r}')
    probability = scores.detach().softmax(dim=-1)
    named = probability.gather(-1, scenes.labels.unsqueeze(1).expand(-1, QUERIES, -1))
    far = torch.cdist(centres.detach(), scenes.centres, p=1)
    cost = (FAR * far - named) * scenes.present.unsqueeze(1)
    return match_queries(cost) if how == "optimal" else cost.argmin(dim=1)


def detection_loss(
    scores: Float[Tensor, "B Q 11"],
    centres: Float[Tensor, "B Q 2"],
    scenes: Scenes,
    how: str = "optimal",
) -> Float[Tensor, ""]:
    """Return the loss: classification for all queries, distance for those that got a digit.

    Args:
        scores: As the detector gives them.
        centres: As the detector gives them.
        scenes: What stands on the canvases.
        how: As in `matched`.
    """
    query, present = matched(scores, centres, scenes, how), scenes.present
    wanted = torch.full(scores.shape[:2], NOTHING)
    row = torch.arange(len(query)).unsqueeze(-1).expand_as(query)
    wanted[row[present], query[present]] = scenes.labels[present]
    weight = torch.ones(NOTHING + 1).index_fill_(0, torch.tensor([NOTHING]), RARE)
    naming = F.cross_entropy(scores.flatten(0, 1), wanted.flatten(), weight=weight)
    off = centres[row[present], query[present]] - scenes.centres[present]
    return naming + FAR * off.abs().sum(dim=-1).mean()
