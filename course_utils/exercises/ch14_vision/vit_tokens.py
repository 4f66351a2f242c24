"""Exercise: what enters a Vision Transformer."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake, without
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.patches import PATCHES
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.softmax import RANDOM
from course_utils.models import vit_tokens

RIGHT = """
def vit_tokens(images, patch, W_e, b_e, class_token, positions):
    batch, channels, height, width = images.shape
    rows = height // patch
    columns = width // patch
    grid = images.reshape(batch, channels, rows, patch, columns, patch)
    turned = grid.permute(0, 2, 4, 1, 3, 5)
    patches = turned.reshape(batch, rows * columns, channels * patch * patch)
    projected = patches @ W_e
    embedded = projected + b_e
    first = class_token.expand(batch, 1, -1)
    tokens = torch.cat([first, embedded], 1)
    out = tokens + positions
    return out
"""


def _made(*shape: int, patch: int, width: int, dtype: str = "float64", spread: bool = False) -> Make:
    """Return a maker of images (B, C, h, w), the patch, and parameters of a model of that width."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        _, channels, height, across = shape
        size, number = channels * patch * patch, (height // patch) * (across // patch)
        images = normal(g, *shape, dtype=kind)
        W_e = normal(g, size, width, size=size**-0.5, dtype=kind)
        b_e, class_token = normal(g, width, dtype=kind), normal(g, width, dtype=kind)
        positions = normal(g, 1 + number, width, dtype=kind)
        if spread:
            images, W_e, positions = strided(images), strided(W_e), strided(positions)
        return images, patch, W_e, b_e, class_token, positions

    return make


EXERCISE = exercise(
    vit_tokens,
    right=RIGHT,
    asks="Embed the patches, put the class token in front, and add a position to each.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("one image of 2 × 4 pixels, patches of 2 × 2, width 3", _made(1, 1, 2, 4, patch=2, width=3),
             gradient="equal"),
        case("2 images, 3 channels, 4 × 6 pixels, patches of 2 × 2, width 5", _made(2, 3, 4, 6, patch=2, width=5),
             gradient="equal"),
        case("9 × 6 pixels, patches of 3 × 3", _made(3, 2, 9, 6, patch=3, width=7)),
        case("a matrix as wide as it is high", _made(2, 1, 4, 6, patch=2, width=4)),
        case("every size is 4", _made(4, 1, 4, 4, patch=2, width=4)),
        case("patches of one pixel", _made(2, 3, 2, 5, patch=1, width=4)),
        case("one patch: two tokens", _made(2, 2, 3, 3, patch=3, width=5)),
        case("width 1", _made(2, 1, 4, 2, patch=2, width=1)),
        case("wider than a patch", _made(2, 1, 4, 8, patch=2, width=11)),
        case("non-contiguous tensors", _made(2, 3, 4, 6, patch=2, width=6, spread=True)),
        case("float32", _made(2, 3, 8, 4, patch=4, width=5, dtype="float32")),
        case("bfloat16", _made(2, 1, 4, 6, patch=2, width=3, dtype="bfloat16")),
    ),
    mistakes=(
        *without(PATCHES, "the pixels changed"),
        mistake("the pixels changed", "The numbers of the pixels were changed before they were embedded.",
                "patches = turned.reshape(batch, rows * columns, -1) / 255",
                "patches = 2 * turned.reshape(batch, rows * columns, -1) - 1"),
        mistake("class token last", "The class token comes after the patches. Which row of `positions` is its own, "
                "and so where does it stand?", "tokens = torch.cat([embedded, first], 1)",
                "out = torch.cat([tokens[:, 1:] + positions[1:], first + positions[0]], 1)",
                "out = torch.cat([tokens[:, 1:] + positions[:-1], first + positions[-1]], 1)"),
        mistake("class token added to the patches", "The class token was added to every patch. It is a token of its "
                "own: how many are there then?", "tokens = embedded + first\nout = tokens + positions[1:]",
                "tokens = torch.cat([first, embedded + first], 1)"),
        mistake("class token left out", "There is no class token, or only zeros in its place. How many tokens does an "
                "image of N patches have?", "out = embedded + positions[1:]", "out = embedded + positions[:-1]",
                "out = embedded", "first = torch.zeros_like(embedded[:, :1])", "out = embedded + positions"),
        mistake("one class token for the whole batch", "The class token has a batch of 1, the patches one of B, and "
                "`cat` does not broadcast. How does every image get one of its own, without a copy?",
                "first = class_token.view(1, 1, -1)"),
        mistake("joined along another axis", "Class token and patches were joined along the batch or the width. Which "
                "axis of (B, N, d_model) counts the tokens?", "tokens = torch.cat([first, embedded])"),
        mistake("class token without a position", "The class token came as it is. Whose is row 0 of `positions`?",
                "out = torch.cat([tokens[:, :1], tokens[:, 1:] + positions[1:]], 1)",
                "out = torch.cat([tokens[:, :1], tokens[:, 1:] + positions[:-1]], 1)"),
        mistake("class token's position alone", "Only the class token got its position. Where does a patch learn where "
                "it stands?", "out = torch.cat([tokens[:, :1] + positions[0], tokens[:, 1:]], 1)"),
        mistake("positions added twice", "The patches, or all tokens, got their position twice. How often is one "
                "added?", "out = torch.cat([tokens[:, :1], tokens[:, 1:] + positions[1:]], 1) + positions",
                "out = tokens + 2 * positions"),
        mistake("positions off by one", "Tokens got the position of a neighbour. Row 0 of `positions` is the class "
                "token's: which row is the first patch's?", "out = tokens + positions.roll(1, 0)",
                "out = tokens + positions.roll(-1, 0)"),
        mistake("one position for all", "Every token got the same position, or a mean of them. What would then tell "
                "two patches apart?", "out = tokens + positions[0]", "out = tokens + positions[:1]",
                "out = tokens + positions.mean(0)", "out = tokens + positions[1]"),
        mistake("positions in another order", "The positions are those of other tokens: the table was turned over, "
                "transposed or reshaped.", "out = tokens + positions.flip(0)",
                "out = tokens + positions.mT.reshape(positions.shape)",
                "out = tokens + torch.cat([positions[:1], positions[1:].flip(0)])",
                "later = positions[1:].unflatten(0, (rows, columns)).transpose(0, 1).flatten(0, 1)\n"
                "out = tokens + torch.cat([positions[:1], later])"),
        mistake("positions forgotten", "No token knows where it stands: the patches are a set. Which argument was not "
                "used?", "out = tokens", "out = tokens + 0.0 * positions"),
        mistake("positions for one image only", "One image has its positions, the others have none. The same table "
                "serves every image of the batch.",
                "out = torch.cat([tokens[:1] + positions, tokens[1:]])",
                "out = torch.cat([tokens[:-1], tokens[-1:] + positions])"),
        mistake("positions not added", "The positions were multiplied, subtracted or set beside the tokens. What is "
                "done with them, number by number?", "out = tokens * positions", "out = tokens - positions",
                "out = torch.cat([tokens, positions.expand_as(tokens)], -1)", "out = tokens * (1 + positions)"),
        mistake("bias on the class token", "The bias was added to the class token as well. It belongs to the "
                "embedding of patches: which token is not one?",
                "tokens = torch.cat([first, projected], 1) + b_e", "tokens = torch.cat([first + b_e, embedded], 1)"),
        mistake("bias forgotten", "The patches were embedded without their bias, or it went to the class token alone.",
                "embedded = projected", "embedded = projected - b_e",
                "tokens = torch.cat([first + b_e, projected], 1)"),
        mistake("the embedding reshaped, not transposed", "The embedded patches have the right shape, but their "
                "numbers are mixed: a table with a column for each patch, as a convolution gives it, was reshaped into "
                "one with a row for each. What swaps two axes?",
                "embedded = (projected + b_e).mT.reshape(projected.shape)"),
        mistake("class token embedded", "The class token met a matrix. It is as wide as the model already.",
                "square = W_e.shape[0] == W_e.shape[1]\n"
                "first = (class_token @ W_e if square else class_token * W_e.sum(0)).expand(batch, 1, -1)",
                "square = W_e.shape[0] == W_e.shape[1]\n"
                "first = (class_token @ W_e if square else class_token * W_e.sum(0)).expand(batch, 1, -1) + b_e"),
        mistake("mean of the patches for the class token", "What stands in front comes from the patches. The class "
                "token is learned, and the same for every image.", "first = embedded.mean(1, keepdim=True)",
                "first = embedded[:, :1]"),
        mistake("class token for the first image only", "One image has the class token, the others have zeros. Each "
                "sequence of the batch begins with it.",
                "first = F.pad(class_token[None, None], (0, 0, 0, 0, 0, batch - 1))",
                "first = F.pad(class_token[None, None], (0, 0, 0, 0, batch - 1, 0))"),
        mistake("matrices transposed", "The matrix was transposed before it was used, as for the weight of an "
                "`nn.Linear`, or read in another order. Here its rows already belong to the numbers of a patch.",
                "projected = F.linear(patches, W_e if W_e.shape[0] == W_e.shape[1] else W_e.reshape(W_e.mT.shape))",
                "projected = patches @ W_e.mT.reshape(W_e.shape)"),
        mistake("normalised", "Lengths or spreads were evened out. A layer norm belongs in the block that follows.",
                "out = F.layer_norm(tokens + positions, positions.shape[1:])",
                "out = F.layer_norm(tokens, positions.shape[1:]) + positions",
                "embedded = F.layer_norm(projected + b_e, b_e.shape)",
                "embedded = F.normalize(projected + b_e, dim=-1)"),
        mistake("scaled by the root of the width", "The tokens were multiplied by √d_model, as word embeddings are in "
                "chapter 11. A Vision Transformer does not.",
                "embedded = (projected + b_e) * math.sqrt(len(b_e))",
                "out = tokens * math.sqrt(len(b_e)) + positions"),
        mistake("bent", "The embedded patches went through an activation. The embedding is a matrix and a bias.",
                "embedded = (projected + b_e).relu()", "embedded = F.gelu(projected + b_e)",
                "embedded = (projected + b_e).tanh()"),
        mistake("the class token alone returned", "Only one token came back. That is what a classifier reads at the "
                "end; what enters the first block?", "return out[:, 0]", "return out[:, :1]"),
        *without((squeezed("return out{}"),), "return out.squeeze(1)"),  # there are two tokens at least
        cut_off("first = class_token.detach().expand(batch, 1, -1)", "out = tokens + positions.detach()",
                "projected = patches @ W_e.detach()", "embedded = projected + b_e.detach()",
                "projected = patches.detach() @ W_e", "return out.detach()"),
        replace(RANDOM, says="Two calls with the same inputs differ: something random, such as dropout, happens "
                "inside. What enters the first block?",
                versions=("out = torch.dropout(tokens + positions, 0.1, True)",)),
        overwritten(*writing(vit_tokens, 0, 2, 3, 4, 5)),
        *other_kinds("out"),
        lower_precision(vit_tokens, "projected = (patches.float() @ W_e.float()).to(images.dtype)"),
    ),
    hints=(
        "How many tokens does an image of N patches become, and how many rows does `positions` have?",
        "You have `patchify`. One matrix product embeds all its patches; the bias belongs to them alone.",
        "The class token is one vector for all images: `expand` gives each image its own, with an axis of one token.",
        "Join class token and patches along the axis of tokens, the class token first; then add `positions`, which "
        "broadcasts over the batch.",
    ),
)
