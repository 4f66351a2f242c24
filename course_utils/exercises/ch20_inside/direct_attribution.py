"""Exercise: a difference of two logits as a sum over the heads."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import left_in, multiplied, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.interpretability import direct_attribution
from torch import Tensor

RIGHT = """
def direct_attribution(head_outputs, W_O, final_state, gain, direction, eps):
    outputs = head_outputs
    matrices = W_O
    written = torch.einsum("bnhk,nhkd->bnhd", outputs, matrices)
    whole = final_state
    room = eps
    square = whole.square().mean(-1)
    size = (square + room).sqrt()
    divisor = size[:, None, None, None]
    normed = written / divisor
    weight = gain
    scaled = normed * weight
    towards = direction
    contributions = torch.einsum("bnhd,bd->bnh", scaled, towards)
    return contributions
"""


def _made(
    batch: int, layers: int, heads: int, d_k: int, d: int, eps: float = 1e-5, size: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> Make:  # fmt: skip
    """Make heads and streams of which the heads wrote a part only, of another size in each prompt."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        outputs, matrices = normal(g, batch, layers, heads, d_k), normal(g, layers, heads, d_k, d)
        stream = torch.einsum("bnhk,nhkd->bd", outputs, matrices) + 2 * normal(g, batch, d) + 0.5
        stream = stream * torch.linspace(0.5, 2.0, batch, dtype=torch.float64)[:, None] * size
        gain = 0.4 + normal(g, d).abs()
        return *(x.to(dtype) for x in (outputs, matrices, stream, gain, normal(g, batch, d))), eps

    return make


def _one_silent(g: torch.Generator) -> tuple[Any, ...]:
    outputs, *others = _made(2, 2, 3, 4, 5)(g)
    outputs[:, 1, 2] = 0.0
    return outputs, *others


def _no_stream(g: torch.Generator) -> tuple[Any, ...]:
    outputs, matrices, stream, *others, _ = _made(2, 2, 3, 4, 5)(g)
    stream[1] = 0.0
    return outputs, matrices, stream, *others, 0.1


def _both_signs(g: torch.Generator) -> tuple[Any, ...]:
    outputs, matrices, stream, gain, *others = _made(2, 3, 2, 4, 5)(g)
    return outputs, matrices, stream, gain * torch.tensor([1.0, -1.0, 2.0, -0.5, 0.0], dtype=torch.float64), *others


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(one) if isinstance(one, Tensor) and one.dim() > 1 else one for one in _made(2, 3, 4, 5, 6)(g))


def _same_direction(g: torch.Generator) -> tuple[Any, ...]:
    """Make prompts that ask about the same two tokens."""
    *others, direction, eps = _made(3, 2, 4, 2, 5)(g)
    return *others, direction[:1].expand(3, -1).clone(), eps


_HEADS = 'heads = torch.einsum("bnhk,nhkd->bd", outputs, matrices)\n'
_ONE = "divisor = {}[:, None, None, None]"
_CENTRED = "written = written - written.mean(-1, keepdim=True)"

EXERCISE = exercise(
    direct_attribution,
    right=RIGHT,
    asks="Split a difference of two logits into what each head wrote, with the norm of the whole stream kept fixed.",
    minutes=10,
    difficulty=3,
    importance=5,
    cases=(
        case("one prompt, one layer, 2 heads", _made(1, 1, 2, 3, 4)),
        case("2 prompts, 3 layers, 4 heads", _made(2, 3, 4, 5, 6)),
        case("3 prompts, 2 layers, 5 heads", _made(3, 2, 5, 4, 7)),
        case("an eps of .5", _made(2, 3, 2, 4, 5, eps=0.5)),
        case("streams of 1e-3", _made(2, 3, 2, 4, 5, eps=1e-6, size=1e-3)),
        case("gains of both signs, and one of 0", _both_signs),
        case("a head that wrote nothing", _one_silent),
        case("a stream of zeros", _no_stream),
        case("one direction for all prompts", _same_direction),
        case("every size is 3", _made(3, 3, 3, 3, 3)),
        case("one head", _made(3, 2, 1, 4, 5)),
        case("one layer", _made(2, 1, 3, 4, 5)),
        case("one feature in a head", _made(2, 3, 4, 1, 5)),
        case("one feature in the stream", _made(2, 3, 4, 5, 1)),
        case("streams of thousands", _made(2, 3, 2, 4, 5, size=3e3)),
        case("heads as wide as the stream", _made(2, 3, 4, 5, 5)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(3, 4, 5, 6, 8, dtype=torch.float32), tolerance=1e-4),
    ),
    mistakes=(
        mistake("each part normed by itself", "Each head's part was divided by its own size: small parts become as "
                "large as big ones, and the parts do not sum to the difference of logits. What does the model's norm "
                "divide by?",
                "normed = written / (written.square().mean(-1, keepdim=True) + room).sqrt()",
                "scaled = F.rms_norm(written, written.shape[-1:], weight, room)",
                "normed = F.normalize(written, dim=-1)", "normed = written / written.norm(dim=-1, keepdim=True)",
                "normed = written / written.square().mean(-1, keepdim=True).sqrt()",
                "outputs = head_outputs / (head_outputs.square().mean(-1, keepdim=True) + eps).sqrt()\nnormed = "
                "written"),
        mistake("no divisor", "The parts were not divided: they sum to the difference of the logits of a stream that "
                "has not been normed. What does the last norm divide by?", "normed = written"),
        mistake("the sum of the heads normed", "The divisor is the size of what the heads wrote together, or of a "
                "layer's heads. The embedding and the feed-forward layers wrote into the stream, too: whose size does "
                "the norm see?", f"{_HEADS}whole = heads",
                "divisor = (written.sum(2).square().mean(-1) + room).sqrt()[:, :, None, None]",
                "divisor = (written.sum(1).square().mean(-1) + room).sqrt()[:, None, :, None]",
                "divisor = (written.cumsum(1).sum(2).square().mean(-1) + room).sqrt()[:, :, None, None]",
                "divisor = (written.square().mean((1, 2, 3)) + room).sqrt()[:, None, None, None]",
                f"{_HEADS}whole = final_state - heads", f"{_HEADS}whole = final_state + heads",
                "whole = written.mean((1, 2))", "divisor = (written.square().sum((1, 2, 3)) + room).sqrt()"
                "[:, None, None, None]", "whole = written[:, -1].sum(1)", "whole = written.sum(2)[:, 0]"),
        mistake("one size for all prompts", "Prompts were divided by the same number: by the batch's, or by that of "
                "one prompt. Each has a stream of its own.", "divisor = (final_state.square().mean() + room).sqrt()",
                "divisor = size.mean()", "divisor = size[0]", "divisor = size[-1]",
                "divisor = (final_state.mean(0).square().mean() + room).sqrt()",
                "size = (whole.square().mean(0).mean() + room).sqrt().expand(len(whole))", "divisor = size.sum()",
                "divisor = final_state.norm()", "divisor = size.max()",
                "divisor = (whole.square().mean(0) + room).sqrt()", "divisor = (whole.square().mean(0) + "
                "room).sqrt().mean()"),
        mistake("the sum of squares instead of their mean", "The divisor is the stream's length, the root of a sum. "
                "The norm takes the root of a mean: which number stays the same for twice as many features of the same "
                "kind?", "square = whole.square().sum(-1)", _ONE.format("whole.norm(dim=-1)"),
                _ONE.format("(whole.norm(dim=-1) + room)")),
        mistake("eps outside the root", "eps was added to the root. Where a stream is small, that is another number: "
                "the root of 1e-6 is 1e-3. What is eps added to?", "size = square.sqrt() + room"),
        mistake("eps left out", "A stream of zeros is divided by 0. What keeps the divisor away from it?",
                "room = 0.0"),
        mistake("eps as a lower limit", "A lower limit keeps the divisor away from 0, where the formula changes every "
                "divisor a little. What does the formula do with eps?", "size = square.clamp(min=room).sqrt()",
                "size = square.sqrt().clamp(min=room)"),
        mistake("eps squared", "eps stands under the root as it is, not its square.",
                "size = (square + room**2).sqrt()"),
        mistake("eps subtracted", "eps was subtracted. Which way should it push the divisor?",
                "size = (square - room).sqrt()"),
        mistake("the eps that was given is ignored", "With another eps the result stays what it was. Where is the "
                "argument used?", *(f"room = {one}" for one in ("1e-5", "1e-6", "1e-8", "1e-12"))),
        mistake("divided by the variance", "The parts were divided by the mean square: by the root of it twice, or "
                "without a root.", "size = square + room", "normed = written / divisor / divisor",
                "contributions = torch.einsum('bnhd,bd->bnh', scaled, towards) / size[:, None, None]",
                "size = square"),
        mistake("the root taken twice", "The divisor is the root of a root. How often is it taken?",
                "size = (square + room).sqrt().sqrt()"),
        mistake("multiplied by the spread", "The parts were multiplied by the stream's size. Which way does a norm "
                "push "
                "large streams?", "normed = written * divisor"),
        mistake("the mean absolute value", "The size is the mean of the absolute values. What happens to each number "
                "before the mean is taken?", "size = whole.abs().mean(-1) + room", "size = whole.abs().mean(-1)"),
        mistake("the square of the mean", "The mean was taken first and squared then. Numbers of both signs cancel "
                "that way: which comes first?", "square = whole.mean(-1).square()"),
        mistake("LayerNorm", "A mean was subtracted, or the spread was taken around it. The last norm here is an "
                "RMSNorm: what does it leave alone?", "whole = final_state - final_state.mean(-1, keepdim=True)",
                "square = whole.var(-1, unbiased=False)", "square = whole.var(-1)",
                "size = whole.std(-1) + room", "size = whole.std(-1)",
                "normed = (written - written.mean(-1, keepdim=True)) / divisor",
                "whole = final_state - final_state.mean(-1, keepdim=True)\n"
                "normed = (written - written.mean(-1, keepdim=True)) / divisor",
                "normed = (written - whole.mean(-1)[:, None, None, None]) / divisor",
                "whole = final_state - final_state.mean(-1, keepdim=True)\n"
                "normed = (written - final_state.mean(-1)[:, None, None, None]) / divisor",
                "scaled = F.layer_norm(written, written.shape[-1:], weight, eps=room)"),
        mistake("the gain inside the norm", "The stream was multiplied by the gain before its size was taken. Which "
                "comes first in a norm?", "whole = final_state * gain"),
        mistake("no gain", "The norm's gain plays no part. What does a model multiply the normed stream by?",
                "weight = torch.ones_like(gain)", "scaled = normed"),
        mistake("the gain used twice", "The features were multiplied by the gain once too often.",
                "weight = gain * gain", "towards = direction * gain", "written = torch.einsum('bnhk,nhkd->bnhd', "
                "outputs, matrices) * gain"),
        mistake("1 added to the gain", "The gain was taken as an offset from 1, as some models store it. Here it is "
                "the factor itself.", "weight = 1 + gain"),
        mistake("gain added", "The gain was added. What does it do to each feature?", "scaled = normed + weight"),
        mistake("divided by the gain", "The features were divided by the gain. What does a norm do with it?",
                "scaled = normed / weight"),
        mistake("the first direction for all", "One prompt's direction was used for all, or their mean. Each prompt "
                "asks about its own two tokens.", "towards = direction[:1].expand_as(direction)",
                "towards = direction[-1:].expand_as(direction)", "towards = direction.mean(0).expand_as(direction)",
                "towards = direction.sum(0).expand_as(direction)",
                "contributions = scaled @ direction[0]", "contributions = (scaled @ direction.mT).sum(-1)",
                "towards = direction.flip(0)", "towards = direction.roll(1, 0)",
                "contributions = (scaled @ direction.mT).mean(-1)"),
        mistake("a result for each pair of prompts", "Every prompt's parts met every prompt's direction. Which of them "
                "belong together?", "contributions = scaled @ direction.mT",
                "contributions = torch.einsum('bnhd,cd->bnhc', scaled, towards)"),
        mistake("no direction", "The features were added up, or their size was taken. Which way do two logits differ?",
                "contributions = scaled.sum(-1)", "contributions = scaled.norm(dim=-1)",
                "contributions = scaled.mean(-1)",
                "towards = torch.ones_like(direction)", "contributions = scaled.square().sum(-1)"),
        mistake("multiplied by the normed stream", "Each part was multiplied by the stream, or compared with it. A "
                "part "
                "is divided by the stream's size, and meets the direction only.",
                "scaled = written * F.rms_norm(whole, whole.shape[-1:], weight, room)[:, None, None]",
                "normed = written * whole[:, None, None] / divisor", "towards = final_state",
                "towards = direction * final_state", "towards = F.rms_norm(whole, whole.shape[-1:], weight, room)",
                "normed = written / whole[:, None, None]"),
        mistake("a divisor without axes", "There is one size for each prompt, but it was laid along the last axis of "
                "the parts. Which axes must it get first?", "divisor = size",
                "contributions = torch.einsum('bnhd,bd->bnh', written * weight, towards) / size",
                "divisor = size[:, None]", "divisor = size[:, None, None]",
                "contributions = torch.einsum('bnhd,bd->bnh', written * weight, towards) / size[:, None]"),
        mistake("direction brought to length 1", "The direction was divided by its length, or the parts were. Do the "
                "parts still sum to a difference of logits?", "towards = F.normalize(direction, dim=-1)",
                "contributions = F.cosine_similarity(scaled, towards[:, None, None], dim=-1)",
                "contributions = torch.einsum('bnhd,bd->bnh', scaled, towards) / towards.norm(dim=-1)[:, None, None]"),
        mistake("sign", "Every contribution has the opposite sign. Which token's row is positive in the direction?",
                "towards = -direction", "return -contributions"),
        mistake("the sign lost", "A head that speaks against the token has a negative contribution.",
                "return contributions.abs()", "return contributions.relu()", "return contributions.square()"),
        mistake("heads summed", "The heads of a layer were added up, or all of them. Each has a contribution of its "
                "own.", "return contributions.sum(-1)", "return contributions.sum((1, 2))",
                "return contributions.sum(1)",
                "return contributions.mean(-1)", "return contributions.sum()",
                "return contributions.sum(-1, keepdim=True).expand_as(contributions)",
                "return contributions.sum(1, keepdim=True).expand_as(contributions)",
                "written = torch.einsum('bnhk,nhkd->bnd', outputs, matrices)[:, :, None]"),
        mistake("averaged over the prompts", "The prompts were averaged, or added up. Each has its own contributions.",
                "return contributions.mean(0)", "return contributions.sum(0)",
                "return contributions.mean(0, keepdim=True).expand_as(contributions)"),
        mistake("shares", "The contributions were divided by their sum or their largest. They are in logits, and sum, "
                "with the other parts, to the difference.",
                "return contributions / contributions.sum((1, 2), keepdim=True)",
                "return contributions / contributions.abs().sum((1, 2), keepdim=True)",
                "return contributions / contributions.sum(-1, keepdim=True)",
                "return contributions / contributions.abs().amax((1, 2), keepdim=True)",
                "return contributions / (final_state * direction).sum(-1)[:, None, None]",
                "return contributions / (F.rms_norm(final_state, final_state.shape[-1:], gain, eps) * direction)"
                ".sum(-1)[:, None, None]", "return contributions.flatten(1).softmax(-1).view_as(contributions)",
                "return contributions.softmax(-1)"),
        mistake("running sums", "Each layer has what it wrote and all that was written below it. A contribution is "
                "what one head wrote.", "return contributions.cumsum(1)", "return contributions.cumsum(-1)",
                "return contributions.flatten(1).cumsum(1).view_as(contributions)"),
        mistake("a neighbour's W_O", "A head's output met the matrix of another head, or of another layer. Which of "
                "them belong together?", "matrices = W_O.roll(1, 1)", "matrices = W_O.roll(-1, 1)",
                "matrices = W_O.roll(1, 0)", "matrices = W_O.roll(-1, 0)", "matrices = W_O.flip(1)",
                "matrices = W_O.flip(0)", "outputs = head_outputs.roll(1, 2)", "matrices = W_O.flip(0).flip(1)"),
        mistake("one W_O for all", "The matrix of one head, or of one layer, was used for all, or their mean.",
                "matrices = W_O[:1].expand_as(W_O)", "matrices = W_O[:, :1].expand_as(W_O)",
                "matrices = W_O[-1:].expand_as(W_O)", "matrices = W_O[:1, :1].expand_as(W_O)",
                "matrices = W_O.mean(1, keepdim=True).expand_as(W_O)", "matrices = W_O.sum(1, "
                "keepdim=True).expand_as(W_O)",
                "matrices = W_O.mean(0, keepdim=True).expand_as(W_O)", "matrices = W_O.sum(0, "
                "keepdim=True).expand_as(W_O)",
                "written = torch.einsum('bnhk,mgkd->bnhd', outputs, matrices)",
                "written = torch.einsum('bnhk,ngkd->bnhd', outputs, matrices)",
                "written = torch.einsum('bnhk,mhkd->bnhd', outputs, matrices)"),
        mistake("every head's matrix met every head's output", "The outputs of a layer were summed or averaged over "
                "its heads before they met a matrix. Each head has its own.",
                "outputs = head_outputs.mean(2, keepdim=True).expand_as(head_outputs)",
                "outputs = head_outputs.sum(2, keepdim=True).expand_as(head_outputs)",
                "outputs = head_outputs.sum(1, keepdim=True).expand_as(head_outputs)",
                "outputs = head_outputs.mean(1, keepdim=True).expand_as(head_outputs)"),
        mistake("one prompt's heads for all", "The outputs of one prompt were used for all, or those of others.",
                "outputs = head_outputs[:1].expand_as(head_outputs)", "outputs = head_outputs.flip(0)",
                "outputs = head_outputs.mean(0, keepdim=True).expand_as(head_outputs)",
                "outputs = head_outputs[-1:].expand_as(head_outputs)"),
        mistake("W_O transposed", "Rows and columns of the matrices are exchanged. On which side does a row vector "
                "stand?", "written = torch.einsum('bnhk,nhdk->bnhd', outputs, matrices)",
                "written = torch.einsum('bnhd,nhkd->bnhk', outputs, matrices)",
                "matrices = W_O.mT", "matrices = W_O.reshape(*W_O.shape[:2], W_O.shape[3], W_O.shape[2]).mT"),
        mistake("layers and heads exchanged", "The axes of layers and heads are the wrong way round.",
                "return contributions.mT", "return contributions.reshape(len(contributions), contributions.shape[2], "
                "-1)",
                "matrices = W_O.transpose(0, 1)", "outputs = head_outputs.transpose(1, 2)"),
        mistake("output with other axes", "The values are right, but the result must have the axes (B, n, H).",
                "return contributions.flatten(1)", "return contributions.permute(1, 2, 0)",
                "return contributions.permute(2, 1, 0)", "return contributions.flatten()",
                "return contributions.transpose(0, 1)", "return contributions[0]"),
        mistake("features not summed", "There is a number for every feature. Which product sums over them?",
                "contributions = scaled * towards[:, None, None]", "contributions = scaled",
                "return contributions, scaled"),
        mistake("mean instead of sum", "The features' products were averaged. What does a dot product do with them?",
                "contributions = (scaled * towards[:, None, None]).mean(-1)"),
        mistake("the residual shared out", "What the heads did not write was given to them in equal parts. The "
                "embedding and the feed-forward layers have contributions of their own.",
                "rest = final_state - torch.einsum('bnhk,nhkd->bd', outputs, matrices)\n"
                "normed = (written + rest[:, None, None] / (written.shape[1] * written.shape[2])) / divisor",
                "normed = (written + whole[:, None, None]) / divisor", "normed = whole[:, None, None] / divisor"),
        mistake("the effect of removal", "This is how the difference changes when a head is taken out and the norm is "
                "taken anew. Here the norm stays that of the whole stream.",
                "kept = whole[:, None, None] - written\n"
                "before = F.rms_norm(whole, whole.shape[-1:], gain, eps)[:, None, None]\n"
                "scaled = before - F.rms_norm(kept, kept.shape[-1:], gain, eps)"),
        overwritten(*writing(direct_attribution, 0, 1, 2, 3, 4), "whole = final_state.mul_(1.0)\n"
                    "towards = direction.mul_(gain)\nweight = torch.ones_like(gain)",
                    "whole = final_state\nsquare = whole.square_().mean(-1)"),
        squeezed("return contributions{}"), left_in("return contributions{}"),
        multiplied(direct_attribution, "return 2 * contributions"),
        lower_precision(direct_attribution, "written = torch.einsum('bnhk,nhkd->bnhd', outputs.float(), "
                        "matrices.float()).to(outputs.dtype)"),
        *other_kinds("contributions"),
    ),
    hints=(
        "One head of one prompt: which vector of length d did it write into the stream? It is a row vector times a "
        "matrix.",
        "The norm divides the whole stream by one number, r. A sum divided by r is the sum of its parts divided by the "
        "same r. Which argument is the whole stream?",
        "What the norm leaves is multiplied by the gain, and a logit is its product with a row of the unembedding. "
        "What is the product with the difference of two rows?",
    ),
)
